"""Walkers: by nodes, clusters or bits, and which of them suits a model.

Walkers: groups of walkers of one model, a kind for every model there is.

Every walker sits at a level of a temperature ladder and is swept at that level's temperature. A
group has its own random stream, so results do not depend on which thread runs it.

BitWalkers           256 walkers in the bits of words: equal positive couplings, no fields, q <= 8
ClusterWalkers       any number of walkers moved by Swendsen-Wang clusters: couplings >= 0, fields
LockstepWalkers      64 walkers in the lanes of vectors: couplings of either sign, fields, q <= 64
ClassClusterWalkers  clusters under a term in the sizes of classes (balanced cut, tables): they draw
                     their class one after the other, and two classes are exchanged everywhere
GeneralWalkers       64 walkers by heat bath, with corrected cluster flips: any model
MetropolisWalkers    any number, one node at a time by Metropolis' rule: chosen by name

In bits and lanes all walkers are at the same node at the same step. Those of any number hold the
free nodes alone; clamps act on their neighbours as fields.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.sampling.move_sets import Regions
from spinlearn.engines.sampling.sums import LevelSums
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.kernel_arguments import (
    Group,
    KernelModel,
    bond_thresholds,
    cluster_model,
    cluster_reason,
    kernel_model,
    random_states,
)
from spinlearn.model.potts import PottsModel


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
        # Components met and exchanged by the hotter walker: with the next level, and further on.
        self.exchanged = np.zeros((2, self.n_walkers, 2))
        self.levels = np.zeros(self.n_walkers, dtype=np.int32)
        self.active = np.arange(self.n_walkers)  # walkers that sweeps and exchanges move
        self.repeats = np.ones(self.n_walkers, dtype=np.int64)  # sweeps in the place of one
        self.use_regions(Regions.none())
        self._prepare()
        self.put_states(random_states(model, self.n_walkers, seed))

    def _prepare(self) -> None:
        """Set up what this kind needs, before it has any states."""

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        """What of the model these walkers cannot treat, or None."""
        raise NotImplementedError

    def use_ladder(self, betas: FloatArray) -> None:
        """Set the ladder; all walkers go to its first level."""
        self.betas = np.ascontiguousarray(betas, dtype=np.float64)
        self.levels[:] = 0
        self.apply_levels()

    def use_ladder_of(self, other: Walkers) -> None:
        """Share the ladder of another group of the same kind and model."""
        self.use_ladder(other.betas)

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
        """Let the active walkers visit all free nodes `n_sweeps` times."""
        raise NotImplementedError

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """Sweep, and add the averages of every active walker to its row (< 0 for none)."""
        self.sweep(self.sweeps_per_step)
        only = np.full_like(rows, -1)
        only[self.active] = rows[self.active]
        sums.add(self.states(), only)

    def exchange_components(self, low: int) -> None:
        """Let walkers of neighbouring levels exchange regions in which they differ, if they can."""

    def states(self) -> StateArray:
        """Labellings of all walkers, (R, n)."""
        raise NotImplementedError

    def put_states(self, states: StateArray) -> None:
        """Replace the labellings of all walkers."""
        raise NotImplementedError

    def active_states(self) -> StateArray:
        """Labellings of the active walkers, (active, n)."""
        return self.states()[self.active]

    def put_active_states(self, states: StateArray) -> None:
        """Replace the labellings of the active walkers."""
        whole = self.states()
        whole[self.active] = states
        self.put_states(whole)

    def energies(self) -> FloatArray:
        """E of every active walker, (active,)."""
        from spinlearn.kernels.levels import walker_energies

        states, energies = self.active_states(), np.empty(len(self.active))
        terms = self._edge_u, self._edge_v, self._model.couplings, self._fields
        walker_energies(states, *terms, energies)
        return energies

    def use_regions(self, regions: Regions) -> None:
        """Set the regions that `move_regions` tries."""
        self.regions = regions
        self.region_moves = np.zeros(regions.count, dtype=np.int64)

    def move_regions(self, n_tries: int) -> None:
        """Try to exchange two classes on `n_tries` random regions."""
        from spinlearn.kernels.nodes import swap_on_regions

        if self.regions.count == 0:
            return
        states = self.active_states()
        swap_on_regions(
            states,
            self._model.n_states,
            tuple(self.regions.arrays().values()),
            self._fields,
            self.betas[self.levels[self.active]],
            n_tries,
            self.region_moves,
            self.stream,
        )
        self.put_active_states(states)

    def _swap_regions(self, states: StateArray, model: KernelModel, n_tries: int) -> None:
        """Exchange two classes on random regions of the active walkers' states, any energy."""
        from spinlearn.kernels.nodes import swap_regions

        regions = self.regions
        if regions.count:
            swap_regions(
                states,
                self.betas[self.levels[self.active]],
                (regions.ptr, regions.nodes),
                model,
                self.stream,
                n_tries,
                self.region_moves,
            )


EXCHANGE_DISTANCES = (1, 2, 4)  # in the ladder, of the walkers paired after every sweep


class FreeWalkers(Walkers):
    """Any number of walkers, int8 [R, n_free]."""

    default_walkers: ClassVar[int] = 64
    any_number: ClassVar[bool] = True

    def _prepare(self) -> None:
        self._clusters, self._sizes, self._free = cluster_model(self._model)

    def states(self) -> StateArray:
        return self._whole(self._states)

    def active_states(self) -> StateArray:
        return self._whole(self._states[self.active])

    def _whole(self, free_states: StateArray) -> StateArray:
        whole = np.tile(self._model.clamped, (len(free_states), 1))
        whole[:, self._free.nodes] = free_states
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._free.nodes])

    def put_active_states(self, states: StateArray) -> None:
        self._states[self.active] = states[:, self._free.nodes]


class ClusterWalkers(FreeWalkers):
    """Any number of walkers moved by clusters: couplings >= 0, fields."""

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

    def use_ladder(self, betas: FloatArray) -> None:
        self._thresholds = bond_thresholds(betas, self._free.couplings)
        super().use_ladder(betas)

    def use_ladder_of(self, other: Walkers) -> None:
        assert isinstance(other, ClusterWalkers)
        self._thresholds = other._thresholds  # large: one number per level and edge
        super().use_ladder(other.betas)

    def _group(self) -> Group:
        own = self._states, self.active, self.levels, self.repeats, self.betas
        return Group(*own, self._thresholds, self.stream)

    def sweep(self, n_sweeps: int) -> None:
        nothing = np.zeros((0, 0, self._model.n_states), dtype=np.float32)
        rows = np.full(self.n_walkers, -1, dtype=np.int64)
        self._sweep(n_sweeps, rows, nothing, nothing[:, :, 0], nothing[:, :, 0])

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """One sweep; adds the averages over the draw of every cluster (improved estimators)."""
        self._sweep(1, rows, sums.nodes, sums.undecided, sums.edges)
        sums.count(rows[self.active], self.repeats[self.active])

    def _sweep(self, n_sweeps: int, *measured: npt.NDArray[Any]) -> None:
        from spinlearn.kernels.clusters import sweep_clusters

        sweep_clusters(self._group(), self._clusters, self._sizes, n_sweeps, *measured)

    def exchange_components(self, low: int) -> None:
        """Exchanges between neighbours in the ladder, and further ones from place `low` on."""
        from spinlearn.kernels.clusters import exchange_neighbors

        # From the hottest to the coldest walker that is active.
        order = self.active[np.argsort(self.levels[self.active], kind="stable")]
        betas = self.betas[self.levels[order]]
        for offset in EXCHANGE_DISTANCES:
            first = 0 if offset == 1 else int(np.searchsorted(self.levels[order], low))
            if first + offset < len(order):
                exchange_neighbors(
                    self._states,
                    order,
                    betas,
                    first,
                    offset,
                    self._clusters,
                    self._sizes,
                    self.exchanged[int(offset > 1)],
                    self.stream,
                )

    def use_regions(self, regions: Regions) -> None:
        super().use_regions(regions)
        place = np.zeros(self._model.n_nodes, dtype=np.int32)
        place[self._model.free_nodes] = np.arange(len(self._model.free_nodes))
        self._region_nodes = place[regions.nodes]

    def move_regions(self, n_tries: int) -> None:
        """Redraw random regions: clusters inside them, in the fields of all that is around."""
        from spinlearn.kernels.nodes import redraw_regions

        if self.regions.count:
            regions = self.regions.ptr, self._region_nodes
            redraw_regions(self._group(), self._clusters, regions, n_tries, self.region_moves)


class ClassClusterWalkers(ClusterWalkers):
    """Any number of walkers moved by clusters under a term in the class sizes."""

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return cluster_reason(model)

    def _prepare(self) -> None:
        super()._prepare()
        self._all_nodes = kernel_model(self._model)

    def energies(self) -> FloatArray:
        from spinlearn.kernels.nodes import energies_of

        return np.asarray(energies_of(self.active_states(), self._all_nodes))

    def move_regions(self, n_tries: int) -> None:
        states = self.active_states()
        self._swap_regions(states, self._all_nodes, n_tries)
        self.put_active_states(states)


class MetropolisWalkers(FreeWalkers):
    """Any number of walkers moved one node at a time by Metropolis' rule."""

    sweeps_per_step: ClassVar[int] = 5
    cooling_sweeps: ClassVar[int] = 20

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return None if model.class_penalty is None else "a class-level term"

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.nodes import metropolis_sweeps

        betas = self.betas[self.levels]
        metropolis_sweeps(self._states, self.active, betas, self._clusters, self.stream, n_sweeps)

    def energies(self) -> FloatArray:
        if self._model.is_potts:
            return super().energies()
        return np.asarray(self._model.energy(self.active_states()))

    def move_regions(self, n_tries: int) -> None:
        if self._model.is_potts:  # else an exchange of states costs edges inside too
            super().move_regions(n_tries)


class BitWalkers(Walkers):
    """256 walkers, one per bit: equal positive couplings, no fields, q <= 8."""

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

    def _prepare(self) -> None:
        from spinlearn.kernels import bits

        self._kernel, model, graph = bits, self._model, self._model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        self._edges = np.ascontiguousarray(graph.edges)
        self._max_degree = int(graph.degrees.max())
        self._n_planes = bits.plane_count(model.n_states)
        self._unit = float(model.couplings[0])
        self._cut = np.empty(self.n_walkers, dtype=np.int64)

    def use_ladder(self, betas: FloatArray) -> None:
        scaled = np.asarray(betas) * self._unit
        self._digits = self._kernel.acceptance_digits(scaled, self._max_degree)
        self._planes = np.empty(self._max_degree * 32 * 4, dtype=np.uint64)
        super().use_ladder(betas)

    def apply_levels(self) -> None:
        self._kernel.bits_planes(self._digits, len(self.betas), self.levels, self._planes)

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
        regions = self.regions
        if self._model.n_states > 2 or regions.count == 0:
            super().move_regions(n_tries)
            return
        self._kernel.bits_flip_regions(
            self._spins,
            (regions.ptr, regions.nodes, regions.border_ptr, regions.borders),
            self.betas[self.levels] * self._unit,
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
    """64 walkers, int8 [n, 64]: couplings of either sign, fields, q <= 64."""

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

    def _prepare(self) -> None:
        from spinlearn.kernels import bits as lockstep

        self._kernel, model, graph = lockstep, self._model, self._model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = model.free_nodes.astype(np.uint32)
        *self._terms, self._unit = lockstep.quantize(
            model.couplings[graph.edge_ids],
            self._indptr,
            self._fields if len(self._fields) else None,
        )

    def apply_levels(self) -> None:
        rates = -self.betas[self.levels] * self._unit * self._kernel.LOG2_E
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


MOST_BIT_NODES = 5_000
FLIPS = 4  # of Wolff clusters after every heat-bath sweep


class GeneralWalkers(Walkers):
    """64 walkers by heat bath and corrected cluster flips, int8 [64, n].

    Normalised and ratio cut, pair-cost tables, couplings of either sign.
    """

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 2
    cooling_sweeps: ClassVar[int] = 12

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return None

    def _prepare(self) -> None:
        self._kernel_model = kernel_model(self._model)

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.nodes import sweep_walkers

        betas = self.betas[self.levels]
        sweep_walkers(self._states, betas, self._kernel_model, self.stream, n_sweeps, FLIPS)

    def energies(self) -> FloatArray:
        from spinlearn.kernels.nodes import energies_of

        return np.asarray(energies_of(self._states, self._kernel_model))

    def move_regions(self, n_tries: int) -> None:
        self._swap_regions(self._states, self._kernel_model, n_tries)

    def states(self) -> StateArray:
        return self._states.copy()

    def put_states(self, states: StateArray) -> None:
        self._states = np.array(states, dtype=np.int8, order="C")


def walkers_for(model: PottsModel, *, local: bool = False) -> type[Walkers]:
    """The kind of walkers with the least error per second for a model, of local moves if asked.

    Bits flip a thousand million spins a second, but with more than two states clusters win: on the
    paper's second toy set (q = 3) by a factor of five in time to the same error. So they do where
    the model is so large that walkers do not travel from its hottest to its coldest energies; on a
    lattice of 64 x 64 nodes bits still come closer to equilibrium in the same time.
    """
    kinds: list[type[Walkers]] = [BitWalkers, LockstepWalkers, GeneralWalkers]
    if not local:
        bits = model.n_states == 2 and model.n_nodes <= MOST_BIT_NODES
        kinds.insert(1 if bits else 0, ClusterWalkers)
        kinds.insert(-1, ClassClusterWalkers)
    return next(kind for kind in kinds if kind.unsupported(model) is None)
