"""LockstepWalkers: 64 walkers side by side in vectors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import StateArray
from spinlearn.core.model import PottsModel
from spinlearn.engines.walker_group import Walkers, random_states


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
