"""FreeWalkers: any number of walkers, on the free nodes of a model alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.engines.walker_group import Walkers, random_states

EXCHANGE_DISTANCES = (1, 2, 4)  # in the ladder, of the walkers paired after every sweep


class FreeWalkers(Walkers):
    """Any number of walkers, int8 [R, n_free]; clamps act on their neighbours as fields."""

    any_number: ClassVar[bool] = True

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        free = ConditionedModel.of(model)
        self._free = free
        graph = Graph(len(free.nodes), free.edges)
        self._csr = graph.indptr, graph.neighbors, free.couplings[graph.edge_ids]
        self._edge_ids = graph.edge_ids
        self._seen = np.zeros(len(free.nodes), dtype=np.bool_)
        self._parent = np.empty(len(free.nodes), dtype=np.int32)
        self.put_states(random_states(model, self.n_walkers, seed))

    def exchange_components(self, low: int) -> None:
        """Exchanges between neighbours in the ladder, and further ones from place `low` on."""
        from spinlearn.kernels.cluster_walkers import exchange_neighbors

        for order, betas, first, offset, counts in exchange_pairs(self, low):
            exchange_neighbors(
                self._states,
                order,
                betas,
                first,
                offset,
                *self._csr,
                self._model.pair_cost,
                self._free.fields,
                self._seen,
                self._parent,
                counts,
                self.stream,
            )

    def states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (self.n_walkers, 1))
        whole[:, self._free.nodes] = self._states
        return whole

    def active_states(self) -> StateArray:
        whole = np.tile(self._model.clamped, (len(self.active), 1))
        whole[:, self._free.nodes] = self._states[self.active]
        return whole

    def put_states(self, states: StateArray) -> None:
        self._states = np.ascontiguousarray(states[:, self._free.nodes])

    def put_active_states(self, states: StateArray) -> None:
        self._states[self.active] = states[:, self._free.nodes]


def exchange_pairs(
    group: Walkers, low: int
) -> Iterator[tuple[npt.NDArray[np.intp], FloatArray, int, int, FloatArray]]:
    """Arguments of the exchanges between active walkers, one distance in the ladder after another.

    The walkers from the hottest to the coldest with their betas, the first place that takes part,
    the distance, and where components met and exchanged are counted.
    """
    order = group.active[np.argsort(group.levels[group.active], kind="stable")]
    betas = group._betas[group.levels[order]]
    for offset in EXCHANGE_DISTANCES:
        first = 0 if offset == 1 else int(np.searchsorted(group.levels[order], low))
        if first + offset < len(order):
            yield order, betas, first, offset, group.exchanged[int(offset > 1)]
