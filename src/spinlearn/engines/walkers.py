"""Groups of walkers: the same few methods over the kernel that is fastest for a model.

BitWalkers       256 walkers in the bits of words: equal positive couplings, no fields, q <= 8
ClusterWalkers   64 walkers moved by Swendsen-Wang clusters: couplings >= 0, fields
LockstepWalkers  64 walkers side by side: couplings of either sign, fields, q <= 64

Every walker sits at a level of a temperature ladder and is swept at that level's temperature. A
group has its own random stream, so results do not depend on which thread runs it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import FREE, PottsModel
from spinlearn.engines.regions import Regions


class Walkers:
    """A group of R walkers of one model: what the kinds share, on labellings (R, n)."""

    n_walkers: ClassVar[int]
    sweeps_per_step: ClassVar[int]  # between two draws of the levels
    cooling_sweeps: ClassVar[int]  # at every level while the ladder is built

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels.rng import make_stream

        self._model = model
        self._edge_u = np.ascontiguousarray(model.graph.edges[:, 0])
        self._edge_v = np.ascontiguousarray(model.graph.edges[:, 1])
        has_fields = bool(np.any(model.fields != 0))
        self._fields = model.fields if has_fields else np.empty((0, model.n_states))
        self.stream = make_stream(seed)
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """What of the model these walkers cannot treat, or None."""
        raise NotImplementedError

    def use_ladder(self, betas: FloatArray) -> None:
        """Set the ladder; all walkers go to its first level."""
        self._betas = np.ascontiguousarray(betas, dtype=np.float64)
        self.levels[:] = 0
        self.apply_levels()

    def apply_levels(self) -> None:
        """Make the next sweeps run at the temperatures of `levels`."""

    def sweep(self, n_sweeps: int) -> None:
        """Let every walker visit all free nodes `n_sweeps` times."""
        raise NotImplementedError

    def states(self) -> StateArray:
        """Labellings of all walkers, (R, n)."""
        raise NotImplementedError

    def put_states(self, states: StateArray) -> None:
        """Replace the labellings of all walkers."""
        raise NotImplementedError

    def energies(self) -> FloatArray:
        """E of every walker, (R,)."""
        from spinlearn.kernels.ensemble import walker_energies

        energies = np.empty(self.n_walkers)
        walker_energies(
            self.states(),
            self._edge_u,
            self._edge_v,
            self._model.couplings,
            self._fields,
            energies,
        )
        return energies

    def use_regions(self, regions: Regions) -> None:
        """Set the regions that `move_regions` tries."""
        self._regions = regions
        self.region_moves = np.zeros(regions.count, dtype=np.int64)

    def move_regions(self, n_tries: int) -> None:
        """Try to exchange two classes on `n_tries` random regions."""
        from spinlearn.kernels.regions import swap_on_regions

        regions = self._regions
        if regions.count == 0:
            return
        states = self.states()
        swap_on_regions(
            states.reshape(-1),
            self.n_walkers,
            1,
            states.shape[1],
            self._model.n_states,
            regions.ptr,
            regions.nodes,
            regions.border_ptr,
            regions.borders,
            regions.border_couplings,
            self._fields,
            self._betas[self.levels],
            n_tries,
            self.region_moves,
            self.stream,
        )
        self.put_states(states)


class BitWalkers(Walkers):
    """256 walkers, one per bit."""

    n_walkers: ClassVar[int] = 256
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if model.n_states > 8:
            return "more than 8 states"
        if len(model.couplings) == 0 or model.couplings[0] <= 0:
            return "no positive couplings"
        if np.any(model.couplings != model.couplings[0]):
            return "couplings that differ"
        if np.any(model.fields != 0):
            return "node fields"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees) > 15:
            return "more than 15 neighbours"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels import bits

        super().__init__(model, seed)
        self._kernel = bits
        graph = model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        self._edges = np.ascontiguousarray(graph.edges)
        self._max_degree = int(graph.degrees.max())
        self._n_planes = bits.plane_count(model.n_states)
        self._unit = float(model.couplings[0])
        self._cut = np.empty(self.n_walkers, dtype=np.int64)
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        scaled = np.asarray(betas) * self._unit
        self._digits = self._kernel.acceptance_digits(scaled, self._max_degree)
        self._planes = np.empty(self._max_degree * 32 * 4, dtype=np.uint64)
        super().use_ladder(betas)

    def apply_levels(self) -> None:
        nothing = np.zeros(len(self._betas))
        self._kernel.bits_tempering(
            self._cut, self._betas, nothing, self._digits, 0, self.levels, self._planes, self.stream
        )

    def sweep(self, n_sweeps: int) -> None:
        self._kernel.bits_metropolis(
            self._spins,
            self._model.n_states,
            self._indptr,
            self._neighbors,
            self._free,
            self._planes,
            self.stream,
            n_sweeps,
        )

    def move_regions(self, n_tries: int) -> None:
        regions = self._regions
        if self._model.n_states > 2 or regions.count == 0:
            super().move_regions(n_tries)
            return
        self._kernel.bits_flip_regions(
            self._spins,
            regions.ptr,
            regions.nodes,
            regions.border_ptr,
            regions.borders,
            self._betas[self.levels] * self._unit,
            n_tries,
            self._cut,
            self.region_moves,
            self.stream,
        )

    def energies(self) -> FloatArray:
        self._kernel.bits_energies(self._spins, self._n_planes, self._edges, self._cut)
        return np.asarray(self._unit * self._cut, dtype=np.float64)

    def states(self) -> StateArray:
        from spinlearn.kernels.ensemble import unpack_bits

        states = np.empty((self.n_walkers, self._model.n_nodes), dtype=np.int8)
        unpack_bits(self._spins, self._n_planes, states)
        return states

    def put_states(self, states: StateArray) -> None:
        self._spins = self._kernel.pack_states(states, self._model.n_states)


class LockstepWalkers(Walkers):
    """64 walkers side by side, int8 [n, 64]."""

    n_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if model.n_states > 64:
            return "more than 64 states"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees, initial=0) > 10_000:
            return "more than 10000 neighbours"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels import lockstep

        super().__init__(model, seed)
        self._kernel = lockstep
        graph = model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        *self._terms, self._unit = lockstep.quantize(
            model.couplings[graph.edge_ids],
            self._indptr,
            self._fields if len(self._fields) else None,
        )
        self.put_states(random_states(model, self.n_walkers, seed))

    def apply_levels(self) -> None:
        rates = -self._betas[self.levels] * self._unit * self._kernel.LOG2_E
        self._rates = rates.astype(np.float32)

    def sweep(self, n_sweeps: int) -> None:
        self._kernel.lockstep_metropolis(
            self._states,
            self.n_walkers,
            self._model.n_states,
            self._indptr,
            self._neighbors,
            *self._terms,
            self._free,
            self._rates,
            self.stream,
            n_sweeps,
        )

    def states(self) -> StateArray:
        return np.ascontiguousarray(self._states.reshape(self._model.n_nodes, self.n_walkers).T)

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states.T).ravel()


class ClusterWalkers(Walkers):
    """64 walkers moved by clusters; clamps act on clusters as fields."""

    n_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 1
    cooling_sweeps: ClassVar[int] = 6

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if np.any(model.couplings < 0):
            return "negative couplings"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        super().__init__(model, seed)
        free = FreePart.of(model)
        self._free = free
        self._field_nodes = np.flatnonzero(np.any(free.fields != 0, axis=1)).astype(np.uint32)
        self._free_u = np.ascontiguousarray(free.edges[:, 0]).astype(np.uint32)
        self._free_v = np.ascontiguousarray(free.edges[:, 1]).astype(np.uint32)
        self._parent = np.empty(len(free.nodes), dtype=np.int32)
        self._law_row = np.empty(len(free.nodes), dtype=np.int32)
        self._law = np.empty((len(self._field_nodes), model.n_states))
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        bonded = -np.expm1(-np.multiply.outer(betas, self._free.couplings))
        self._thresholds = np.minimum(bonded * 2.0**32, 2.0**32 - 1).astype(np.uint32)
        super().use_ladder(betas)

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.cluster_walkers import sweep_clusters

        sweep_clusters(
            self._states,
            self.levels,
            self._betas,
            self._thresholds,
            self._free_u,
            self._free_v,
            self._free.fields,
            self._field_nodes,
            self._parent,
            self._law_row,
            self._law,
            self.stream,
            n_sweeps,
        )

    def states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (self.n_walkers, 1))
        whole[:, self._free.nodes] = self._states
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._free.nodes])


def walkers_for(model: PottsModel) -> type[Walkers] | str:
    """The fastest kind of walkers for a model, or what of it none can treat."""
    from spinlearn.engines.class_walkers import ClassClusterWalkers, GeneralWalkers

    reason = None
    for kind in (
        BitWalkers,
        ClusterWalkers,
        LockstepWalkers,
        ClassClusterWalkers,
        GeneralWalkers,
    ):
        reason = kind.unsupported(model)
        if reason is None:
            return kind
    return str(reason)


def is_potts(model: PottsModel) -> bool:
    """Whether the pair cost is the paper's 1 - delta."""
    return bool(np.array_equal(model.pair_cost, 1.0 - np.eye(model.n_states)))


def random_states(model: PottsModel, n_walkers: int, seed: np.random.SeedSequence) -> StateArray:
    """Uniform labellings that respect the clamps."""
    generator = np.random.default_rng(seed)
    states = generator.integers(0, model.n_states, (n_walkers, model.n_nodes), dtype=np.int8)
    held = model.clamped != FREE
    states[:, held] = model.clamped[held]
    return states
