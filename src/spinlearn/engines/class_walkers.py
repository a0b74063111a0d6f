"""GeneralWalkers: walkers of any model, by heat bath and corrected Wolff flips."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import kernel_model, random_states
from spinlearn.core.model import PottsModel
from spinlearn.engines.walker_group import Walkers

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

    def __init__(
        self, model: PottsModel, seed: np.random.SeedSequence, n_walkers: int | None = None
    ) -> None:
        super().__init__(model, seed, n_walkers)
        self._kernel_model = kernel_model(model)
        self.put_states(random_states(model, self.n_walkers, seed))

    def sweep(self, n_sweeps: int) -> None:
        from spinlearn.kernels.node_moves import sweep_walkers

        betas = self._betas[self.levels]
        sweep_walkers(self._states, betas, self._kernel_model, self.stream, n_sweeps, FLIPS)

    def energies(self) -> FloatArray:
        from spinlearn.kernels.node_moves import energies_of

        return np.asarray(energies_of(self._states, self._kernel_model))

    def move_regions(self, n_tries: int) -> None:
        self._swap_regions(self._states, self._kernel_model, n_tries)

    def states(self) -> StateArray:
        return self._states.copy()

    def put_states(self, states: StateArray) -> None:
        self._states = np.array(states, dtype=np.int8, order="C")
