"""What belief propagation knows of a model before it is sampled: energies, laws, labellings.

It is off by a few per cent where the graph has loops, and blind to valleys other than its own, so
nothing of it enters an average; but walkers that start from its law have little to forget.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from spinlearn.engines.messages.belief_propagation import BeliefPropagation
from spinlearn.errors import ConvergenceWarning, StoppedError
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.phases import COARSE_SIZE, refined_grid, temperature_grid
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress

TOL = 1e-3  # of messages
MAX_SWEEPS = 60


def rough_messages(
    model: PottsModel, temperatures: FloatArray, stop: Callable[[], bool] = lambda: False
) -> Equilibrium | None:
    """Belief propagation to a thousandth; None where it does not apply, or `stop` says yes."""
    engine = BeliefPropagation(tol=TOL, max_sweeps=MAX_SWEEPS)
    if engine.unsupported(model) is not None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = engine.run(model, temperatures, callback=lambda _: stop())
    except StoppedError:
        return None
    return rough if len(rough.temperatures) == len(temperatures) else None


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """At the inverse temperatures `betas`, ascending."""

    betas: FloatArray
    energies: FloatArray
    marginals: FloatArray  # (K, n, q)

    @classmethod
    def of(cls, model: PottsModel, betas: FloatArray, stop: Callable[[], bool]) -> Self | None:
        """None where messages cannot carry the model, or `stop` says yes before they are done."""
        with np.errstate(divide="ignore"):
            rough = rough_messages(model, 1 / betas, stop)
        return None if rough is None else cls(betas, rough.mean_energy, rough.marginals)

    def draw(self, betas: FloatArray, random: np.random.Generator) -> StateArray:
        """Labellings by the law at the nearest temperature, node by node, int8 (levels, n)."""
        states = np.empty((len(betas), self.marginals.shape[1]), dtype=np.int8)
        for state, beta in zip(states, betas, strict=True):
            law = self.marginals[int(np.argmin(np.abs(self.betas - beta)))]
            state[:] = np.sum(random.random((len(law), 1)) > np.cumsum(law[:, :-1], axis=1), axis=1)
        return states


def approximate_grid(model: PottsModel, callback: Callback | None = None) -> FloatArray:
    """A grid of the three phases as messages see them, or else as mean-field theory does."""
    coarse = temperature_grid(model, COARSE_SIZE)
    start = Progress(phase="temperatures", fraction=0.0)
    rough = rough_messages(model, coarse, lambda: callback is not None and bool(callback(start)))
    return temperature_grid(model) if rough is None else refined_grid(rough)
