"""Groups of walkers: the same few methods over the kernel that is fastest for a model.

BitWalkers       256 walkers in the bits of words: equal positive couplings, no fields, q <= 8
ClusterWalkers   any number of walkers moved by Swendsen-Wang clusters: couplings >= 0, fields
LockstepWalkers  64 walkers side by side: couplings of either sign, fields, q <= 64
NodeWalkers      any number of walkers moved node by node: every pair cost

and those of `spinlearn.engines.class_walkers` for class-level terms and other pair costs.

Every walker sits at a level of a temperature ladder and is swept at that level's temperature. A
group has its own random stream, so results do not depend on which thread runs it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.level_sums import LevelSums
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.core.graph import Graph
from spinlearn.core.model import FREE, PottsModel
from spinlearn.engines.regions import Regions

EXCHANGE_DISTANCES = (1, 2, 4)  # in the ladder, of the walkers paired after every sweep


class Walkers:
    """A group of R walkers of one model: what the kinds share, on labellings (R, n)."""

    default_walkers: ClassVar[int]
    sweeps_per_step: ClassVar[int]  # between two moves of the levels
    cooling_sweeps: ClassVar[int]  # at every level while the ladder is built
    any_number: ClassVar[bool] = False  # of walkers; else the default one

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        from spinlearn.kernels.rng import make_stream

        if n_walkers is not None and not self.any_number:
            raise ValueError(f"{type(self).__name__} come in groups of {self.default_walkers}")
        self.n_walkers = self.default_walkers if n_walkers is None else n_walkers
        self._model = model
        self._edge_u = np.ascontiguousarray(model.graph.edges[:, 0])
        self._edge_v = np.ascontiguousarray(model.graph.edges[:, 1])
        has_fields = bool(np.any(model.fields != 0))
        self._fields = model.fields if has_fields else np.empty((0, model.n_states))
        self.stream = make_stream(seed)
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)
        self.use_regions(Regions.none())

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """What of the model these walkers cannot treat, or None."""
        raise NotImplementedError

    def use_ladder(self, betas: FloatArray) -> None:
        """Set the ladder; all walkers go to its first level."""
        self._betas = np.ascontiguousarray(betas, dtype=np.float64)
        self.levels[:] = 0
        self.apply_levels()

    def use_ladder_of(self, other: Walkers) -> None:
        """Share the ladder of another group of the same kind and model."""
        self.use_ladder(other._betas)

    def apply_levels(self) -> None:
        """Make the next sweeps run at the temperatures of `levels`."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Where the walkers stand, by name, for a checkpoint."""
        return {
            "states": self.states(),
            "levels": self.levels,
            "stream": self.stream,
            "region_moves": self.region_moves,
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from saved arrays; ladder and regions must have been set."""
        self.put_states(arrays["states"])
        for name in ("levels", "stream", "region_moves"):
            getattr(self, name)[...] = arrays[name]
        self.apply_levels()

    def sweep(self, n_sweeps: int) -> None:
        """Let every walker visit all free nodes `n_sweeps` times."""
        raise NotImplementedError

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """Sweep, and add the averages of every walker to its row (< 0 for none)."""
        self.sweep(self.sweeps_per_step)
        sums.add(self.states(), rows)

    def exchange_components(self, low: int) -> None:
        """Let walkers of neighbouring levels exchange regions in which they differ, if they can."""

    def states(self) -> StateArray:
        """Labellings of all walkers, (R, n)."""
        raise NotImplementedError

    def put_states(self, states: StateArray) -> None:
        """Replace the labellings of all walkers."""
        raise NotImplementedError

    def energies(self) -> FloatArray:
        """E of every walker, (R,)."""
        from spinlearn.kernels.measure import walker_energies

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

    default_walkers: ClassVar[int] = 256
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
        if not model.is_potts:
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees) > 15:
            return "more than 15 neighbours"
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        from spinlearn.kernels import bits

        super().__init__(model, seed, n_walkers)
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
        self._kernel.bits_planes(self._digits, len(self._betas), self.levels, self._planes)

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
        states = np.empty((self.n_walkers, self._model.n_nodes), dtype=np.int8)
        self._kernel.unpack_states(self._spins, self._n_planes, states)
        return states

    def put_states(self, states: StateArray) -> None:
        self._spins = self._kernel.pack_states(states, self._model.n_states)


class LockstepWalkers(Walkers):
    """64 walkers side by side, int8 [n, 64]."""

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if model.n_states > 64:
            return "more than 64 states"
        if not model.is_potts:
            return "another pair cost than 1 - identity"
        if np.max(model.graph.degrees, initial=0) > 10_000:
            return "more than 10000 neighbours"
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        from spinlearn.kernels import lockstep

        super().__init__(model, seed, n_walkers)
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


class FreeWalkers(Walkers):
    """Any number of walkers, int8 [R, n_free]; clamps act on their neighbours as fields."""

    any_number: ClassVar[bool] = True

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        free = FreePart.of(model)
        self._free = free
        graph = Graph(len(free.nodes), free.edges)
        self._csr = graph.indptr, graph.neighbors, free.couplings[graph.edge_ids]
        self._seen = np.zeros(len(free.nodes), dtype=np.bool_)
        self._parent = np.empty(len(free.nodes), dtype=np.int32)
        self.exchanged = np.zeros((self.n_walkers, 2))
        self._uncounted = np.zeros((self.n_walkers, 2))
        self.put_states(random_states(model, self.n_walkers, seed))

    def exchange_components(self, low: int) -> None:
        """Exchanges between neighbours in the ladder, and further ones from place `low` on."""
        from spinlearn.kernels.cluster_walkers import exchange_neighbors

        order = np.argsort(self.levels, kind="stable")
        for offset in EXCHANGE_DISTANCES:
            first = 0 if offset == 1 else low
            if first + offset < self.n_walkers:
                exchange_neighbors(
                    self._states,
                    order,
                    self._betas[self.levels[order]],
                    first,
                    offset,
                    *self._csr,
                    self._model.pair_cost,
                    self._free.fields,
                    self._seen,
                    self._parent,
                    self.exchanged if offset == 1 else self._uncounted,
                    self.stream,
                )

    def states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (self.n_walkers, 1))
        whole[:, self._free.nodes] = self._states
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._free.nodes])


class ClusterWalkers(FreeWalkers):
    """Walkers moved by Swendsen-Wang clusters."""

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 1
    cooling_sweeps: ClassVar[int] = 6

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        if model.class_penalty is not None:
            return "a class-level term"
        if np.any(model.couplings < 0):
            return "negative couplings"
        if not model.is_potts:
            return "another pair cost than 1 - identity"
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        free = self._free
        self._field_nodes = np.flatnonzero(np.any(free.fields != 0, axis=1)).astype(np.uint32)
        self._free_u = np.ascontiguousarray(free.edges[:, 0]).astype(np.uint32)
        self._free_v = np.ascontiguousarray(free.edges[:, 1]).astype(np.uint32)
        self._law_row = np.empty(len(free.nodes), dtype=np.int32)
        self._law = np.empty((len(self._field_nodes), model.n_states))
        empty = np.zeros((0, 0), dtype=np.float32)
        self._nothing = (
            np.full(self.n_walkers, -1, dtype=np.int64), empty[:, :, None], empty, empty
        )  # fmt: skip

    def use_ladder(self, betas: FloatArray) -> None:
        self._thresholds = bond_thresholds(betas, self._free.couplings)
        super().use_ladder(betas)

    def use_ladder_of(self, other: Walkers) -> None:
        assert isinstance(other, ClusterWalkers)
        self._thresholds = other._thresholds  # large: one float per level and edge
        super().use_ladder(other._betas)

    def sweep(self, n_sweeps: int) -> None:
        self._sweep(n_sweeps, *self._nothing)

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """One sweep; adds the averages over the draw of every cluster (improved estimators)."""
        self._sweep(1, rows, sums.nodes, sums.undecided, sums.edges)
        sums.count(rows)

    def _sweep(self, n_sweeps: int, *measured: npt.NDArray[Any]) -> None:
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
            *measured,
        )


class NodeWalkers(FreeWalkers):
    """Walkers moved one node at a time by the heat bath, for every pair cost."""

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 1
    cooling_sweeps: ClassVar[int] = 20
    heat_bath: ClassVar[bool] = True

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return None if model.class_penalty is None else "a class-level term"

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._scratch = np.zeros(model.n_states), np.zeros(model.n_states)

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.cluster_walkers import sweep_nodes

        sweep_nodes(
            self._states,
            self.levels,
            self._betas,
            self.heat_bath,
            *self._csr,
            self._model.pair_cost,
            self._free.fields,
            *self._scratch,
            self.stream,
            n_sweeps,
        )

    def energies(self) -> FloatArray:
        if self._model.is_potts:
            return super().energies()
        return np.asarray(self._model.energy(self.states()))

    def move_regions(self, n_tries: int) -> None:
        if self._model.is_potts:  # else an exchange of states costs edges inside too
            super().move_regions(n_tries)


class MetropolisWalkers(NodeWalkers):
    """Walkers moved one node at a time by Metropolis' rule."""

    sweeps_per_step: ClassVar[int] = 5
    heat_bath: ClassVar[bool] = False


def bond_thresholds(betas: FloatArray, couplings: FloatArray) -> npt.NDArray[np.uint32]:
    """Bond probabilities 1 - exp(-beta J) in units of 2^-32, (K, m)."""
    thresholds = np.empty((len(betas), len(couplings)), dtype=np.uint32)
    for row, beta in zip(thresholds, betas, strict=True):
        row[:] = np.minimum(np.floor(-np.expm1(-beta * couplings) * 2.0**32), 2.0**32 - 1)
    return thresholds


def walkers_for(model: PottsModel, *, local: bool = False) -> type[Walkers]:
    """The kind of walkers with the least error per second for a model, of local moves if asked.

    Bits flip a thousand million spins a second, but with more than two states clusters win: on the
    paper's second toy set (q = 3) by a factor of five in time to the same error.
    """
    from spinlearn.engines.class_walkers import ClassClusterWalkers, GeneralWalkers

    kinds: list[type[Walkers]] = [BitWalkers, LockstepWalkers, GeneralWalkers]
    if not local:
        kinds.insert(0 if model.n_states > 2 else 1, ClusterWalkers)
        kinds.insert(-1, ClassClusterWalkers)
    return next(kind for kind in kinds if kind.unsupported(model) is None)


def random_states(model: PottsModel, n_walkers: int, seed: np.random.SeedSequence) -> StateArray:
    """Uniform labellings that respect the clamps."""
    generator = np.random.default_rng(seed)
    states = generator.integers(0, model.n_states, (n_walkers, model.n_nodes), dtype=np.int8)
    held = model.clamped != FREE
    states[:, held] = model.clamped[held]
    return states
