"""Groups of walkers: the same few methods over the kernel that is fastest for the model.

BitWalkers       256 walkers in the bits of words: equal positive couplings, no fields, q <= 8
ClusterWalkers   64 walkers moved by Swendsen-Wang clusters: couplings >= 0, fields
LockstepWalkers  64 walkers side by side: couplings of either sign, fields, q <= 64

Every walker sits at a level of a temperature ladder and is swept at that level's temperature. A
group has its own random stream, so results do not depend on which thread runs it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import FREE, PottsModel
from spinlearn.engines.regions import Regions

Arrays = dict[str, npt.NDArray[Any]]


class Walkers(Protocol):
    """A group of R walkers of one model."""

    n_walkers: ClassVar[int]
    sweeps_per_step: ClassVar[int]  # between two draws of the levels
    cooling_sweeps: ClassVar[int]  # at every level while the ladder is built
    region_moves: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int32]
    stream: npt.NDArray[np.uint64]

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        """Walkers in random labellings, with a random stream of their own."""

    def use_ladder(self, betas: FloatArray) -> None:
        """Set the ladder; all walkers go to its first level."""

    def apply_levels(self) -> None:
        """Make the next sweeps run at the temperatures of `levels`."""

    def sweep(self, n_sweeps: int) -> None:
        """Let every walker visit all free nodes `n_sweeps` times."""

    def use_regions(self, regions: Regions) -> None:
        """Set the regions that `move_regions` tries."""

    def move_regions(self, n_tries: int) -> None:
        """Try to exchange two classes on `n_tries` random regions."""

    def energies(self) -> FloatArray:
        """E of every walker, (R,)."""

    def states(self) -> StateArray:
        """Labellings of all walkers, (R, n)."""

    def put_states(self, states: StateArray) -> None:
        """Replace the labellings of all walkers."""


class BitWalkers:
    """256 walkers, one per bit."""

    n_walkers: ClassVar[int] = 256
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """Why the bit-sliced kernel cannot treat the model, or None."""
        if model.n_states > 8:
            return "more than 8 states"
        if len(model.couplings) == 0 or model.couplings[0] <= 0:
            return "no positive couplings"
        if np.any(model.couplings != model.couplings[0]):
            return "couplings differ"
        if np.any(model.fields != 0):
            return "node fields"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees) > 15:
            return "more than 15 neighbours"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels import bits
        from spinlearn.kernels.rng import make_stream

        self._kernel = bits
        self._model = model
        graph = model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        self._edges = np.ascontiguousarray(graph.edges)
        self._max_degree = int(graph.degrees.max())
        self._unit = float(model.couplings[0])
        self._cut = np.empty(self.n_walkers, dtype=np.int64)
        self.stream = make_stream(seed)
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        self._betas = betas * self._unit
        self._digits = self._kernel.acceptance_digits(self._betas, self._max_degree)
        self._planes = np.empty(self._max_degree * 32 * 4, dtype=np.uint64)
        self.levels[:] = 0
        self.apply_levels()

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

    def use_regions(self, regions: Regions) -> None:
        self._regions = regions
        self.region_moves = np.zeros(regions.count, dtype=np.int64)

    def move_regions(self, n_tries: int) -> None:
        regions = self._regions
        if regions.count == 0:
            return
        betas = self._betas[self.levels]
        if self._model.n_states == 2:
            self._kernel.bits_flip_regions(
                self._spins,
                regions.ptr,
                regions.nodes,
                regions.border_ptr,
                regions.borders,
                betas,
                n_tries,
                self._cut,
                self.region_moves,
                self.stream,
            )
            return
        states = self.states()
        _swap_on_regions(self, self._model, regions, states, betas / self._unit, n_tries)
        self.put_states(states)

    def energies(self) -> FloatArray:
        planes = self._kernel.plane_count(self._model.n_states)
        self._kernel.bits_energies(self._spins, planes, self._edges, self._cut)
        return np.asarray(self._unit * self._cut, dtype=np.float64)

    def states(self) -> StateArray:
        from spinlearn.kernels.ensemble import unpack_bits

        states = np.empty((self.n_walkers, self._model.n_nodes), dtype=np.int8)
        unpack_bits(self._spins, self._kernel.plane_count(self._model.n_states), states)
        return states

    def put_states(self, states: StateArray) -> None:
        self._spins = self._kernel.pack_states(states, self._model.n_states)


class LockstepWalkers:
    """64 walkers side by side, int8 [n, 64]."""

    n_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """Why the lockstep kernel cannot treat the model, or None."""
        if model.n_states > 64:
            return "more than 64 states"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees, initial=0) > 10_000:
            return "more than 10000 neighbours"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels import lockstep
        from spinlearn.kernels.rng import make_stream

        self._kernel = lockstep
        self._model = model
        graph = model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        self._edge_u = np.ascontiguousarray(graph.edges[:, 0])
        self._edge_v = np.ascontiguousarray(graph.edges[:, 1])
        fields = model.fields if np.any(model.fields != 0) else None
        high, low, low_bits, flat_fields, unit = lockstep.quantize(
            model.couplings[graph.edge_ids], self._indptr, fields
        )
        self._terms = (high, low, low_bits, flat_fields)
        self._unit = unit
        self._fields = model.fields if fields is not None else np.empty((0, model.n_states))
        self.stream = make_stream(seed)
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        self._betas = betas
        self.levels[:] = 0
        self.apply_levels()

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

    def use_regions(self, regions: Regions) -> None:
        self._regions = regions
        self.region_moves = np.zeros(regions.count, dtype=np.int64)

    def move_regions(self, n_tries: int) -> None:
        if self._regions.count == 0:
            return
        states = self.states()
        _swap_on_regions(
            self, self._model, self._regions, states, self._betas[self.levels], n_tries
        )
        self.put_states(states)

    def energies(self) -> FloatArray:
        return _energies(self._model, self.states(), self._edge_u, self._edge_v, self._fields)

    def states(self) -> StateArray:
        return np.ascontiguousarray(self._states.reshape(self._model.n_nodes, self.n_walkers).T)

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states.T).ravel()


class ClusterWalkers:
    """64 walkers moved by clusters; clamps act on clusters as fields."""

    n_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 1
    cooling_sweeps: ClassVar[int] = 6

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """Why cluster moves are not valid for the model, or None."""
        if np.any(model.couplings < 0):
            return "negative couplings"
        if not is_potts(model):
            return "another pair cost than 1 - identity"
        return None

    def __init__(self, model: PottsModel, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels.rng import make_stream

        self._model = model
        free = FreePart.of(model)
        self._nodes, self._fields = free.nodes, free.fields
        self._field_nodes = np.flatnonzero(np.any(free.fields != 0, axis=1)).astype(np.uint32)
        self._free_u = np.ascontiguousarray(free.edges[:, 0]).astype(np.uint32)
        self._free_v = np.ascontiguousarray(free.edges[:, 1]).astype(np.uint32)
        self._free_couplings = free.couplings
        self._edge_u = np.ascontiguousarray(model.graph.edges[:, 0])
        self._edge_v = np.ascontiguousarray(model.graph.edges[:, 1])
        self._all_fields = (
            model.fields if np.any(model.fields != 0) else np.empty((0, model.n_states))
        )
        self._parent = np.empty(len(free.nodes), dtype=np.int32)
        self._law_row = np.empty(len(free.nodes), dtype=np.int32)
        self._law = np.empty((len(self._field_nodes), model.n_states))
        self.stream = make_stream(seed)
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        self._betas = np.ascontiguousarray(betas, dtype=np.float64)
        bonded = -np.expm1(-np.multiply.outer(betas, self._free_couplings))
        self._thresholds = np.minimum(bonded * 2.0**32, 2.0**32 - 1).astype(np.uint32)
        self.levels[:] = 0

    def apply_levels(self) -> None:
        """The levels are read by every sweep."""

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.cluster_walkers import sweep_clusters

        sweep_clusters(
            self._states,
            self.levels,
            self._betas,
            self._thresholds,
            self._free_u,
            self._free_v,
            self._fields,
            self._field_nodes,
            self._parent,
            self._law_row,
            self._law,
            self.stream,
            n_sweeps,
        )

    def use_regions(self, regions: Regions) -> None:
        self._regions = regions
        self.region_moves = np.zeros(regions.count, dtype=np.int64)

    def move_regions(self, n_tries: int) -> None:
        if self._regions.count == 0:
            return
        states = self.states()
        _swap_on_regions(
            self, self._model, self._regions, states, self._betas[self.levels], n_tries
        )
        self.put_states(states)

    def energies(self) -> FloatArray:
        return _energies(self._model, self.states(), self._edge_u, self._edge_v, self._all_fields)

    def states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (self.n_walkers, 1))
        whole[:, self._nodes] = self._states
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._nodes])


def _energies(
    model: PottsModel,
    states: StateArray,
    edge_u: npt.NDArray[np.int32],
    edge_v: npt.NDArray[np.int32],
    fields: FloatArray,
) -> FloatArray:
    """E of labellings (R, n)."""
    from spinlearn.kernels.ensemble import walker_energies

    energies = np.empty(len(states))
    walker_energies(states, edge_u, edge_v, model.couplings, fields, energies)
    return energies


def _swap_on_regions(
    group: Any,
    model: PottsModel,
    regions: Regions,
    states: StateArray,
    betas: FloatArray,
    n_tries: int,
) -> None:
    """Region moves on labellings (R, n), in place."""
    from spinlearn.kernels.regions import swap_on_regions

    fields = model.fields if np.any(model.fields != 0) else np.empty((0, model.n_states))
    swap_on_regions(
        states.reshape(-1),
        len(states),
        1,
        states.shape[1],
        model.n_states,
        regions.ptr,
        regions.nodes,
        regions.border_ptr,
        regions.borders,
        regions.border_couplings,
        fields,
        betas,
        n_tries,
        group.region_moves,
        group.stream,
    )


def walkers_for(model: PottsModel) -> type[Walkers] | str:
    """The fastest kind of walkers for a model, or why there is none."""
    kinds: tuple[Any, ...] = (BitWalkers, ClusterWalkers, LockstepWalkers)
    for kind in kinds:
        reason = kind.unsupported(model)
        if reason is None:
            found: type[Walkers] = kind
            return found
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
