"""Walkers for models that no other kind treats: class-level terms, any pair cost.

ClassClusterWalkers   Swendsen-Wang clusters that draw their class one after the other, and
                      exchanges of two classes on all free nodes: couplings >= 0, Potts pair cost,
                      a class term in the sizes of classes (balanced cut, tables)
GeneralWalkers        heat-bath sweeps and corrected Wolff flips: any model (normalised and ratio
                      cut, pair-cost tables, couplings of either sign)
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.level_sums import LevelSums
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import ClusterLayout, GeneralLayout, cluster_reason
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.engines.free_walkers import exchange_pairs
from spinlearn.engines.walker_group import Walkers, random_states

PERMUTATIONS = 5  # tries after every cluster sweep
FLIPS = 4  # of Wolff clusters after every heat-bath sweep


class GeneralWalkers(Walkers):
    """64 walkers by heat bath and corrected cluster flips, int8 [64, n]."""

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 2
    cooling_sweeps: ClassVar[int] = 12

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return None

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._layout = GeneralLayout(model)
        self.put_states(random_states(model, self.n_walkers, seed))

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.classes import sweep_walkers

        a = self._layout
        sweep_walkers(
            self._states, self._betas[self.levels], a.free, a.held, a.indptr, a.neighbors,
            a.weights, a.cut_weights, a.bond_weights, a.pair_cost, a.potts, a.fields, a.term,
            a.volumes, a.cuts, a.tally, a.cost, a.mark, a.queue, self.stream, n_sweeps, FLIPS,
        )  # fmt: skip

    def energies(self) -> FloatArray:
        return general_energies(self._layout, self._states)

    def move_regions(self, n_tries: int) -> None:
        _move_regions(self, self._layout, self._states, n_tries)

    def states(self) -> StateArray:
        return self._states.copy()

    def put_states(self, states: StateArray) -> None:
        self._states = np.array(states, dtype=np.int8, order="C")


class ClassClusterWalkers(Walkers):
    """Any number of walkers moved by clusters under a term in the class sizes.

    Clamps act as fields.
    """

    default_walkers: ClassVar[int] = 64
    sweeps_per_step: ClassVar[int] = 1
    cooling_sweeps: ClassVar[int] = 6
    any_number: ClassVar[bool] = True

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return cluster_reason(model)

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._layout = GeneralLayout(model)
        self._clusters = ClusterLayout(model)
        free = self._clusters.free
        graph = Graph(len(free.nodes), free.edges)
        self._csr = graph.indptr, graph.neighbors, free.couplings[graph.edge_ids]
        self._seen = np.zeros(len(free.nodes), dtype=np.bool_)
        self._volumes = [np.zeros(model.n_states) for _ in range(3)]
        self._law: FloatArray | None = None
        self.permutations = 0
        self.put_states(random_states(model, self.n_walkers, seed))

    def use_ladder(self, betas: FloatArray) -> None:
        self._thresholds = self._clusters.thresholds(betas)
        super().use_ladder(betas)

    def use_ladder_of(self, other: Walkers) -> None:
        assert isinstance(other, ClassClusterWalkers)
        self._thresholds = other._thresholds  # large: one number per level and edge
        super().use_ladder(other._betas)

    def sweep(self, n_sweeps: int) -> None:
        unmeasured = np.full(self.n_walkers, -1, dtype=np.int64)
        self._sweep(n_sweeps, unmeasured, *self._clusters.unmeasured)

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """One sweep; adds the averages over the draw of every cluster (improved estimators)."""
        if self._law is None:
            self._law = np.empty((len(self._clusters.nodes), self._model.n_states))
        self._sweep(1, rows, self._law, sums.nodes, sums.edges)
        sums.count(rows[self.active], self.repeats[self.active])

    def _sweep(self, n_sweeps: int, *measured: npt.NDArray[Any]) -> None:
        from spinlearn.kernels.class_clusters import sweep_class_clusters

        a = self._clusters
        self.permutations += sweep_class_clusters(
            self._states, self.active, self.levels, self._betas, self._thresholds, a.edge_u,
            a.edge_v, a.fields, a.field_nodes, a.term, a.held_volumes, a.volumes, a.parent,
            a.field_row, a.field_sums, a.cluster_size, a.cost, a.single, self.stream, n_sweeps,
            PERMUTATIONS, self.repeats, *measured,
        )  # fmt: skip

    def exchange_components(self, low: int) -> None:
        from spinlearn.kernels.class_clusters import exchange_class_neighbors

        a = self._clusters
        for order, betas, first, offset, counts in exchange_pairs(self, low):
            exchange_class_neighbors(
                self._states, order, betas, first, offset, *self._csr, a.fields, a.term,
                a.held_volumes, *self._volumes, self._seen, a.parent, counts, self.stream,
            )  # fmt: skip

    def energies(self) -> FloatArray:
        return general_energies(self._layout, self.active_states())

    def move_regions(self, n_tries: int) -> None:
        states = self.active_states()
        _move_regions(self, self._layout, states, n_tries)
        self.put_active_states(states)

    def states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (self.n_walkers, 1))
        whole[:, self._clusters.nodes] = self._states
        return whole

    def active_states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (len(self.active), 1))
        whole[:, self._clusters.nodes] = self._states[self.active]
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._clusters.nodes])

    def put_active_states(self, states: StateArray) -> None:
        self._states[self.active] = states[:, self._clusters.nodes]


def general_energies(layout: GeneralLayout, states: StateArray) -> FloatArray:
    """E of labellings (S, n) by the kernels' own arithmetic."""
    from spinlearn.kernels.classes import energies_of

    energies = np.empty(len(states))
    energies_of(
        states, layout.indptr, layout.neighbors, layout.weights, layout.cut_weights,
        layout.pair_cost, layout.fields, layout.term, layout.volumes, layout.cuts, energies,
    )  # fmt: skip
    return energies


def _move_regions(group: Any, layout: GeneralLayout, states: StateArray, n_tries: int) -> None:
    """Exchange two classes on random regions of `group`, in place."""
    from spinlearn.kernels.classes import swap_regions

    regions = group._regions
    if regions.count == 0:
        return
    swap_regions(
        states, group._betas[group.levels[group.active]], regions.ptr, regions.nodes, layout.indptr,
        layout.neighbors, layout.weights, layout.cut_weights, layout.pair_cost, layout.fields,
        layout.term, layout.volumes, layout.cuts, layout.mark, group.stream, n_tries,
        group.region_moves,
    )  # fmt: skip
