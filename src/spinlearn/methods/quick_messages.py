"""Quick belief propagation: from the disordered phase down to one temperature, in haste.

For choices, where several models are compared and only their probabilities at one temperature
matter; `spinlearn.engines.BeliefPropagation` gives averages that are settled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spinlearn.analysis.temperature_grid import mean_field_temperature
from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.propagation import Propagation
from spinlearn.messages.symmetry import Symmetry

RATIO = 1.5  # of neighbouring temperatures on the way
ABOVE = 1.1  # the mean-field temperature, where nothing is ordered
NEAR = 1.1  # no step closer than this above a temperature that is wanted
NOISE = 1e-3  # in the first messages where states are alike, so that one of them can win
TOLERANCE = 1e-4
MAX_SWEEPS = 100


class QuickMessages:
    """Messages of one model.

    Parameters
    ----------
    model : PottsModel
        Its class-level term, if any, quadratic.
    seed : int
        Breaks symmetries, where there are any.
    """

    def __init__(self, model: PottsModel, seed: int = 0) -> None:
        self._model = model
        self._layout = MessageLayout(model)
        self._propagation = Propagation(
            self._layout, tol=TOLERANCE, max_sweeps=MAX_SWEEPS, schedule="residual"
        )
        self._generator = np.random.default_rng(seed) if Symmetry.of(self._layout).exists else None

    def cooled(self, temperature: float) -> FloatArray:
        """Marginals (n, q), cooled from above the ordering temperature."""
        return self.cooled_through([temperature])[0]

    def cooled_through(self, temperatures: Sequence[float]) -> list[FloatArray]:
        """Marginals at several temperatures, descending, on the way down."""
        self._propagation.start(self._generator, NOISE)
        step = ABOVE * mean_field_temperature(self._model)
        found = []
        for temperature in temperatures:
            while step > NEAR * temperature:
                self._propagation.settle(step, hasty=True)
                step /= RATIO
            found.append(self._at(temperature))
            step = min(step, temperature / RATIO)
        return found

    def _at(self, temperature: float) -> FloatArray:
        self._propagation.settle(temperature, hasty=True)
        reading = self._propagation.read()
        return np.asarray(self._layout.free.full_marginals(reading.marginals[None])[0])
