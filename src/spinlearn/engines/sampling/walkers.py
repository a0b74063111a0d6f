"""Groups of walkers of one model: by nodes, clusters or bits, a kind for every model there is.

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

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.sampling.move_sets import Regions, regions_of
from spinlearn.engines.sampling.sums import LevelSums
from spinlearn.files.arrays import Arrays
from spinlearn.kernels import clusters, nodes
from spinlearn.kernels.levels import walker_energies
from spinlearn.kernels.rng import make_stream
from spinlearn.model.arrays import FloatArray, IndexArray, StateArray
from spinlearn.model.kernel_arguments import (
    Group,
    bond_thresholds,
    cluster_model,
    cluster_reason,
    kernel_model,
    random_states,
)
from spinlearn.model.potts import PottsModel

REASONS: dict[str, Callable[[PottsModel], object]] = {
    "a class-level term": lambda model: model.class_penalty is not None,
    "more than 8 states": lambda model: model.n_states > 8,
    "more than 64 states": lambda model: model.n_states > 64,
    "no positive couplings": lambda model: not np.any(model.couplings[:1] > 0),
    "couplings that differ": lambda model: np.any(model.couplings != model.couplings[0]),
    "negative couplings": lambda model: np.any(model.couplings < 0),
    "node fields": lambda model: np.any(model.fields != 0),
    "another pair cost than 1 - identity": lambda model: not model.is_potts,
    "more than 15 neighbours": lambda model: np.max(model.graph.degrees) > 15,
    "more than 10000 neighbours": lambda model: np.max(model.graph.degrees, initial=0) > 10_000,
}
"""What walkers may be unable to treat."""


class Walkers:
    """A group of R walkers of one model: what the kinds share, on labellings (R, n)."""

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int]  # between two moves of the levels
    cooling_sweeps: ClassVar[int]  # at every level while the ladder is built
    refuses: ClassVar[tuple[str, ...]] = ()  # of REASONS, in the order in which they are looked at

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
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
        self.use_regions(regions_of(model, []))
        self._prepare()
        self.put_states(random_states(model, self.n_walkers, seed))

    def _prepare(self) -> None:
        """Set up what this kind needs, before it has any states."""

    @classmethod
    def unsupported(cls, model: PottsModel) -> str | None:
        """What of the model these walkers cannot treat, or None."""
        return next((reason for reason in cls.refuses if REASONS[reason](model)), None)

    def use_ladder(self, betas: FloatArray, like: Walkers | None = None) -> None:
        """Set the ladder; all walkers go to its first level.

        `like` is a group of the same kind and model that may have this ladder already, to share
        what is large.
        """
        self.betas = np.ascontiguousarray(betas, dtype=np.float64)
        self.levels[:] = 0
        self.apply_levels()

    def apply_levels(self) -> None:
        """Make the next sweeps run at the temperatures of `levels`."""

    def arrays(self) -> Arrays:
        """Where the walkers stand, by name, for a checkpoint."""
        return {
            "states": self.states(),
            "levels": self.levels,
            "stream": self.stream,
            "region_moves": self.region_moves,
        }

    def restore(self, arrays: Arrays) -> None:
        """Go on from saved arrays; ladder and regions must have been set."""
        self.put_states(arrays["states"])
        for name in ("levels", "stream", "region_moves"):
            getattr(self, name)[...] = arrays[name]
        self.apply_levels()

    def sweep(self, n_sweeps: int) -> None:
        """Let the active walkers visit all free nodes `n_sweeps` times."""
        raise NotImplementedError

    def sweep_and_measure(self, rows: IndexArray, sums: LevelSums) -> None:
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
        regions = self.regions
        if regions.count == 0:
            return
        states = self.active_states()
        nodes.swap_on_regions(
            states,
            self._model.n_states,
            (regions.ptr, regions.nodes, regions.border_ptr, regions.borders, regions.couplings),
            self._fields,
            self.betas[self.levels[self.active]],
            n_tries,
            self.region_moves,
            self.stream,
        )
        self.put_active_states(states)


class AnyEnergyWalkers(Walkers):
    """Walkers with the energies and region moves of any model, by kernels that know all terms."""

    def _prepare(self) -> None:
        super()._prepare()
        self._all_nodes = kernel_model(self._model)

    def energies(self) -> FloatArray:
        return np.asarray(nodes.energies_of(self.active_states(), self._all_nodes))

    def move_regions(self, n_tries: int) -> None:
        if self.regions.count == 0:
            return
        states = self.active_states()
        nodes.swap_regions(
            states,
            self.betas[self.levels[self.active]],
            (self.regions.ptr, self.regions.nodes),
            self._all_nodes,
            self.stream,
            n_tries,
            self.region_moves,
        )
        self.put_active_states(states)


EXCHANGE_DISTANCES = (1, 2, 4)  # in the ladder, of the walkers paired after every sweep


class FreeWalkers(Walkers):
    """Any number of walkers, int8 [R, n_free]."""

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
    refuses = ("a class-level term", "negative couplings", "another pair cost than 1 - identity")

    def use_ladder(self, betas: FloatArray, like: Walkers | None = None) -> None:
        if like is None or like is self:
            self._thresholds = bond_thresholds(betas, self._free.couplings)
        else:
            assert isinstance(like, ClusterWalkers)
            self._thresholds = like._thresholds  # large: one number per level and edge
        super().use_ladder(betas)

    def _group(self) -> Group:
        own = self._states, self.active, self.levels, self.repeats, self.betas
        return Group(*own, self._thresholds, self.stream)

    def sweep(self, n_sweeps: int) -> None:
        nothing = np.zeros((0, 0, self._model.n_states), dtype=np.float32)
        rows = np.full(self.n_walkers, -1, dtype=np.int64)
        self._sweep(n_sweeps, rows, nothing, nothing[:, :, 0], nothing[:, :, 0])

    def sweep_and_measure(self, rows: IndexArray, sums: LevelSums) -> None:
        """One sweep; adds the averages over the draw of every cluster (improved estimators)."""
        self._sweep(1, rows, sums.nodes, sums.undecided, sums.edges)
        sums.count(rows[self.active], self.repeats[self.active])

    def _sweep(self, n_sweeps: int, *measured: npt.NDArray[Any]) -> None:
        clusters.sweep_clusters(self._group(), self._clusters, self._sizes, n_sweeps, *measured)

    def exchange_components(self, low: int) -> None:
        """Exchanges between neighbours in the ladder, and further ones from place `low` on."""
        # From the hottest to the coldest walker that is active.
        order = self.active[np.argsort(self.levels[self.active], kind="stable")]
        betas = self.betas[self.levels[order]]
        for offset in EXCHANGE_DISTANCES:
            first = 0 if offset == 1 else int(np.searchsorted(self.levels[order], low))
            if first + offset < len(order):
                clusters.exchange_neighbors(
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
        if self.regions.count:
            regions = self.regions.ptr, self._region_nodes
            nodes.redraw_regions(self._group(), self._clusters, regions, n_tries, self.region_moves)


class ClassClusterWalkers(AnyEnergyWalkers, ClusterWalkers):
    """Any number of walkers moved by clusters under a term in the class sizes."""

    @classmethod
    def unsupported(cls, model: PottsModel) -> str | None:
        return cluster_reason(model)


class MetropolisWalkers(FreeWalkers):
    """Any number of walkers moved one node at a time by Metropolis' rule."""

    sweeps_per_step: ClassVar[int] = 5
    cooling_sweeps: ClassVar[int] = 20
    refuses = ("a class-level term",)

    def sweep(self, n_sweeps: int) -> None:
        betas = self.betas[self.levels]
        nodes.metropolis_sweeps(
            self._states, self.active, betas, self._clusters, self.stream, n_sweeps
        )

    def energies(self) -> FloatArray:
        if self._model.is_potts:
            return super().energies()
        return np.asarray(self._model.energy(self.active_states()))


class ParallelWalkers(Walkers):
    """All walkers at the same node at the same step, in the bits of words or lanes of vectors."""

    sweeps_per_step: ClassVar[int] = 4
    cooling_sweeps: ClassVar[int] = 30

    def _prepare(self) -> None:
        from spinlearn.kernels import bits

        self._kernel, graph = bits, self._model.graph
        self._indptr = graph.indptr.astype(np.uint32)
        self._neighbors = graph.neighbors.astype(np.uint32)
        self._free = self._model.free_nodes.astype(np.uint32)


class BitWalkers(ParallelWalkers):
    """256 walkers, one per bit: equal positive couplings, no fields, q <= 8."""

    default_walkers: ClassVar[int] = 256
    refuses = (
        "a class-level term", "more than 8 states", "no positive couplings",
        "couplings that differ", "node fields", "another pair cost than 1 - identity",
        "more than 15 neighbours",
    )  # fmt: skip

    def _prepare(self) -> None:
        super()._prepare()
        self._edges = np.ascontiguousarray(self._model.graph.edges)
        self._max_degree = int(self._model.graph.degrees.max())
        self._n_planes = self._kernel.plane_count(self._model.n_states)
        self._unit = float(self._model.couplings[0])
        self._cut = np.empty(self.n_walkers, dtype=np.int64)

    def use_ladder(self, betas: FloatArray, like: Walkers | None = None) -> None:
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


class LockstepWalkers(ParallelWalkers):
    """64 walkers, int8 [n, 64]: couplings of either sign, fields, q <= 64."""

    refuses = (
        "a class-level term", "more than 64 states", "another pair cost than 1 - identity",
        "more than 10000 neighbours",
    )  # fmt: skip

    def _prepare(self) -> None:
        super()._prepare()
        couplings = self._model.couplings[self._model.graph.edge_ids]
        fields = self._fields if len(self._fields) else None
        *self._terms, self._unit = self._kernel.quantize(couplings, self._indptr, fields)

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


class GeneralWalkers(AnyEnergyWalkers):
    """64 walkers by heat bath and corrected cluster flips, int8 [64, n].

    Normalised and ratio cut, pair-cost tables, couplings of either sign.
    """

    sweeps_per_step: ClassVar[int] = 2
    cooling_sweeps: ClassVar[int] = 12

    def sweep(self, n_sweeps: int) -> None:
        betas = self.betas[self.levels]
        nodes.sweep_walkers(self._states, betas, self._all_nodes, self.stream, n_sweeps, FLIPS)

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
