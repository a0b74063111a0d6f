"""Walkers on the free nodes of a model alone; clamps act on their neighbours as fields.

ClusterWalkers       Swendsen-Wang clusters: couplings >= 0, fields
ClassClusterWalkers  the same under a term in the sizes of classes (balanced cut, tables): clusters
                     draw their class one after the other, and two classes are exchanged everywhere
MetropolisWalkers    one node at a time by Metropolis' rule: every pair cost
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.level_sums import LevelSums
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import (
    Group,
    bond_thresholds,
    cluster_model,
    cluster_reason,
    kernel_model,
    random_states,
)
from spinlearn.core.model import PottsModel
from spinlearn.engines.regions import Regions
from spinlearn.engines.walker_group import Walkers

EXCHANGE_DISTANCES = (1, 2, 4)  # in the ladder, of the walkers paired after every sweep


class FreeWalkers(Walkers):
    """Any number of walkers, int8 [R, n_free]."""

    default_walkers: ClassVar[int] = 64
    any_number: ClassVar[bool] = True

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._clusters, self._sizes, self._free = cluster_model(model)
        self.put_states(random_states(model, self.n_walkers, seed))

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
        super().use_ladder(other._betas)

    def _group(self) -> Group:
        return Group(
            self._states,
            self.active,
            self.levels,
            self.repeats,
            self._betas,
            self._thresholds,
            self.stream,
        )

    def sweep(self, n_sweeps: int) -> None:
        nothing = np.zeros((0, 0, self._model.n_states), dtype=np.float32)
        rows = np.full(self.n_walkers, -1, dtype=np.int64)
        self._sweep(n_sweeps, rows, nothing, nothing[:, :, 0], nothing[:, :, 0])

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """One sweep; adds the averages over the draw of every cluster (improved estimators)."""
        self._sweep(1, rows, sums.nodes, sums.undecided, sums.edges)
        sums.count(rows[self.active], self.repeats[self.active])

    def _sweep(self, n_sweeps: int, *measured: npt.NDArray[Any]) -> None:
        from spinlearn.kernels.cluster import sweep_clusters

        sweep_clusters(self._group(), self._clusters, self._sizes, n_sweeps, *measured)

    def exchange_components(self, low: int) -> None:
        """Exchanges between neighbours in the ladder, and further ones from place `low` on."""
        from spinlearn.kernels.exchange import exchange_neighbors

        # From the hottest to the coldest walker that is active.
        order = self.active[np.argsort(self.levels[self.active], kind="stable")]
        betas = self._betas[self.levels[order]]
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
        from spinlearn.kernels.regions import redraw_regions

        if self._regions.count:
            regions = self._regions.ptr, self._region_nodes
            redraw_regions(self._group(), self._clusters, regions, n_tries, self.region_moves)


class ClassClusterWalkers(ClusterWalkers):
    """Any number of walkers moved by clusters under a term in the class sizes."""

    @staticmethod
    def unsupported(model: PottsModel) -> str | None:
        return cluster_reason(model)

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._all_nodes = kernel_model(model)

    def energies(self) -> FloatArray:
        from spinlearn.kernels.node_moves import energies_of

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
        from spinlearn.kernels.node_moves import metropolis_sweeps

        betas = self._betas[self.levels]
        metropolis_sweeps(self._states, self.active, betas, self._clusters, self.stream, n_sweeps)

    def energies(self) -> FloatArray:
        if self._model.is_potts:
            return super().energies()
        return np.asarray(self._model.energy(self.active_states()))

    def move_regions(self, n_tries: int) -> None:
        if self._model.is_potts:  # else an exchange of states costs edges inside too
            super().move_regions(n_tries)
