"""NodeDescent: labellings taken down to where no single node can improve them.

Every energy, class-level terms included, by the heat bath of `spinlearn.kernels.classes` at a
temperature so low that only the lowest states have weight; ties are drawn.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.class_layout import GeneralLayout
from spinlearn.core.model import PottsModel

MAX_DESCENT = 1000  # sweeps; every one lowers the energy, so this only guards against rounding


class NodeDescent:
    """Sweeps of single nodes over labellings (R, n) of one model, in the work space of a thread."""

    def __init__(self, model: PottsModel, stream: np.ndarray) -> None:
        self.scale = max(model.energy_scale, 1e-200)
        self.layout = GeneralLayout(model)
        self.stream = stream

    def energies(self, states: StateArray) -> FloatArray:
        """E of every labelling, (R,)."""
        from spinlearn.kernels.classes import energies_of

        a = self.layout
        energies = np.empty(len(states))
        energies_of(
            states, a.indptr, a.neighbors, a.weights, a.cut_weights, a.pair_cost, a.fields, a.term,
            a.volumes, a.cuts, energies,
        )  # fmt: skip
        return energies

    def sweep(self, states: StateArray, beta: float, n_flips: int = 0) -> None:
        """Heat bath of every free node in turn, then flips of Wolff clusters; in place."""
        from spinlearn.kernels.classes import sweep_walkers

        a = self.layout
        sweep_walkers(
            states, np.full(len(states), beta), a.free, a.held, a.indptr, a.neighbors, a.weights,
            a.cut_weights, a.bond_weights, a.pair_cost, a.potts, a.fields, a.term, a.volumes,
            a.cuts, a.tally, a.cost, a.mark, a.queue, self.stream, 1, n_flips,
        )  # fmt: skip

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
