"""NodeWalkers: walkers moved one node at a time, for every pair cost."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.engines.free_walkers import FreeWalkers


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
            self.active,
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
        return np.asarray(self._model.energy(self.active_states()))

    def move_regions(self, n_tries: int) -> None:
        if self._model.is_potts:  # else an exchange of states costs edges inside too
            super().move_regions(n_tries)


class MetropolisWalkers(NodeWalkers):
    """Walkers moved one node at a time by Metropolis' rule."""

    sweeps_per_step: ClassVar[int] = 5
    heat_bath: ClassVar[bool] = False
