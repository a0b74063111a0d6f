"""Whole labellings at a few temperatures by population annealing (Hukushima & Iba 2003).

A population of walkers is cooled from infinite temperature. At every step from beta to beta' the
walkers are copied in proportion to exp(-(beta' - beta) E) and then swept at beta', so that the
population follows the Boltzmann law however the energy landscape divides it between valleys. Steps
are of STEP standard deviations of the energy. Correct for large populations; several independent
groups show by their spread how far that holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Seed
from spinlearn.engines.walkers import Walkers, walkers_for

STEP = 1.0
MAX_RATIO = 1.25  # of neighbouring temperatures, where the energy hardly fluctuates
READ_SWEEPS = 2  # times the cooling sweeps, between two readings


def cooled_labellings(
    model: PottsModel,
    temperatures: FloatArray,
    *,
    n_samples: int,
    n_groups: int = 4,
    seed: Seed = None,
) -> Iterator[tuple[float, StateArray]]:
    """Labellings (at least n_samples, n) at each positive temperature, from hot to cold.

    Parameters
    ----------
    model : PottsModel
    temperatures : float array
        Positive, in any order; infinity is allowed.
    n_samples : int
    n_groups : int
        Independent populations; their labellings are stacked in equal parts.
    seed : int, SeedSequence or None
    """
    kind = walkers_for(model)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    children = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key).spawn(n_groups)
    groups = [_Population(kind(model, child), child) for child in children]
    reads = max(-(-n_samples // (n_groups * kind.default_walkers)), 1)
    for temperature in np.unique(temperatures)[::-1].tolist():
        parts = []
        for group in groups:
            group.cool(1 / temperature)
            parts += group.read(reads)
        yield temperature, np.concatenate(parts)


class _Population:
    """One group of walkers, at one temperature, copied as it cools."""

    def __init__(self, walkers: Walkers, seed: np.random.SeedSequence) -> None:
        self.walkers = walkers
        self.generator = np.random.default_rng(seed.spawn(1)[0])
        self.beta = 0.0
        walkers.use_ladder(np.array([0.0]))

    def cool(self, target: float) -> None:
        """Go down to the inverse temperature `target`."""
        while self.beta < target:
            energies = self.walkers.energies()
            spread = float(energies.std())
            step = STEP / spread if spread > 0 else target - self.beta
            beta = self.beta + step
            if self.beta > 0:
                beta = min(beta, self.beta * MAX_RATIO)
            beta = min(beta, target)
            self._copy(energies, beta - self.beta)
            self.beta = beta
            self.walkers.use_ladder(np.array([beta]))
            self.walkers.sweep(self.walkers.cooling_sweeps)

    def _copy(self, energies: FloatArray, step: float) -> None:
        """Systematic resampling: a walker gets the whole part of its expected number of copies."""
        weights = np.exp(-step * (energies - energies.min()))
        n = len(weights)
        ends = np.cumsum(weights) / weights.sum() * n
        chosen = np.searchsorted(ends, np.arange(n) + self.generator.random())
        chosen = np.minimum(chosen, n - 1)
        self.walkers.put_states(np.ascontiguousarray(self.walkers.states()[chosen]))

    def read(self, n_reads: int) -> list[StateArray]:
        """The labellings of all walkers, a few times."""
        found = []
        for _ in range(n_reads):
            self.walkers.sweep(READ_SWEEPS * self.walkers.cooling_sweeps)
            found.append(self.walkers.states())
        return found
