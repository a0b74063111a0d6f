"""ClusterWalkers: walkers moved by Swendsen-Wang clusters."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.level_sums import LevelSums
from spinlearn.core.arrays import FloatArray
from spinlearn.core.class_layout import bond_thresholds
from spinlearn.core.model import PottsModel
from spinlearn.engines.free_walkers import FreeWalkers
from spinlearn.engines.regions import Regions
from spinlearn.engines.walker_group import Walkers


class ClusterWalkers(FreeWalkers):
    """Any number of walkers moved by clusters: couplings >= 0, fields."""

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
        self._place = np.zeros(len(free.nodes), dtype=np.int8)
        self._region_law = np.empty(model.n_states)
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

    def use_regions(self, regions: Regions) -> None:
        super().use_regions(regions)
        place = np.zeros(self._model.n_nodes, dtype=np.int32)
        place[self._model.free_nodes] = np.arange(len(self._model.free_nodes))
        self._region_nodes = place[regions.nodes]

    def move_regions(self, n_tries: int) -> None:
        """Redraw random regions: clusters inside them, in the fields of all that is around."""
        from spinlearn.kernels.regions import redraw_regions

        if self._regions.count == 0:
            return
        indptr, neighbors, weights = self._csr
        redraw_regions(
            self._states,
            self.active,
            self.levels,
            self._betas,
            self._thresholds,
            self._regions.ptr,
            self._region_nodes,
            indptr,
            neighbors,
            self._edge_ids,
            weights,
            self._free.fields,
            n_tries,
            self.repeats,
            self._place,
            self._parent,
            self._region_law,
            self.region_moves,
            self.stream,
        )

    def sweep(self, n_sweeps: int) -> None:
        self._sweep(n_sweeps, *self._nothing)

    def sweep_and_measure(self, rows: npt.NDArray[np.int64], sums: LevelSums) -> None:
        """One sweep; adds the averages over the draw of every cluster (improved estimators)."""
        self._sweep(1, rows, sums.nodes, sums.undecided, sums.edges)
        sums.count(rows[self.active], self.repeats[self.active])

    def _sweep(self, n_sweeps: int, *measured: npt.NDArray[Any]) -> None:
        from spinlearn.kernels.cluster_walkers import sweep_clusters

        sweep_clusters(
            self._states,
            self.active,
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
            self.repeats,
            *measured,
        )
