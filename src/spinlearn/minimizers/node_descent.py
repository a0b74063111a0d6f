"""NodeDescent: labellings taken down to where no single node can improve them.

Every energy, class-level terms included, by the heat bath of `spinlearn.kernels.node_moves` at a
temperature so low that only the lowest states have weight; ties are drawn.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import kernel_model
from spinlearn.core.model import PottsModel

MAX_DESCENT = 1000  # sweeps; every one lowers the energy, so this only guards against rounding


class NodeDescent:
    """Sweeps of single nodes over labellings (R, n) of one model, in the work space of a thread."""

    def __init__(self, model: PottsModel, stream: np.ndarray) -> None:
        self.scale = max(model.energy_scale, 1e-200)
        self.model = kernel_model(model)
        self.stream = stream

    def energies(self, states: StateArray) -> FloatArray:
        """E of every labelling, (R,)."""
        from spinlearn.kernels.node_moves import energies_of

        return np.asarray(energies_of(states, self.model))

    def sweep(self, states: StateArray, beta: float, n_flips: int = 0) -> None:
        """Heat bath of every free node in turn, then flips of Wolff clusters; in place."""
        from spinlearn.kernels.node_moves import sweep_walkers

        betas = np.full(len(states), beta)
        sweep_walkers(states, betas, self.model, self.stream, 1, n_flips)

    def descend(self, states: StateArray) -> int:
        """Node moves at T = 0 until no labelling gains, in place; the number of sweeps."""
        current, energies = states.copy(), self.energies(states)
        sweeps = 0
        while sweeps < MAX_DESCENT:
            self.sweep(current, 1e12 / self.scale)  # no weight but for the lowest states
            sweeps += 1
            now = self.energies(current)
            better = now < energies - 1e-12 * self.scale
            states[better], energies[better] = current[better], now[better]
            if not np.any(better):
                break
        return sweeps
