"""Round: some steps of one group of walkers, measured or not.

How walkers move over the levels between sweeps (the `dynamics` of a plan):

drawn       each draws its level from P(t | E) = exp(eta_t - beta_t E) / W(E)
exchanged   walkers of neighbouring levels change places (replica exchange)
components  a walker stays at its level; neighbours exchange the components in which they differ
held        every level on its own
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.engines.tallies import Sample, Tallies
from spinlearn.engines.walker_group import Walkers

HOT_STRIDE = 4  # steps from one exchange to the next where sweeps alone forget everything:
MELTING = 4  # levels and more before the cold ones


# Occupancy of the levels, exchanges tried and done, and samples of the energy.
RoundResult = tuple[FloatArray, FloatArray, list[Sample]]


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """How often every level is swept, (K,) each."""

    strides: npt.NDArray[np.int64]  # steps from one sweep to the next
    repeats: npt.NDArray[np.int64]  # sweeps in the place of one

    @classmethod
    def even(cls, n_levels: int, repeats: int = 1) -> Pace:
        """As many sweeps of every level at every step."""
        ones = np.ones(n_levels, dtype=np.int64)
        return cls(ones, repeats * ones)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """Some steps of one group; `blocks` are those of its walkers.

    Groups have blocks of their own, so threads add to different rows of the tallies.
    """

    group: Walkers
    blocks: npt.NDArray[np.int64]
    measure: bool
    tallies: Tallies
    dynamics: str
    betas: FloatArray
    eta: FloatArray | None  # of levels that are drawn
    steps: int
    tries: int  # of region moves per step
    first_cold: int  # level
    first_step: int  # of the run
    pace: Pace | None  # of the levels; None: one sweep at every step

    def __call__(self) -> RoundResult:
        """Do it."""
        from spinlearn.kernels.levels import draw_levels, exchange_levels

        group = self.group
        occupancy, met = np.zeros(len(self.betas)), np.zeros((len(self.betas), 2))
        samples = []
        pinned = self.dynamics in ("components", "held")
        for step in range(self.steps):
            if self.pace is not None:
                due = (self.first_step + step) % self.pace.strides[group.levels] == 0
                group.active = np.flatnonzero(due)
                group.repeats = self.pace.repeats[group.levels]
            self._sweep()
            last = step == self.steps - 1
            if self.measure and (last or pinned):
                samples.append(self._sample())
            if self.dynamics == "held":
                continue
            if self.dynamics == "components":
                if (self.first_step + step) % HOT_STRIDE:
                    melting = self.first_cold - MELTING
                    group.active = group.active[group.levels[group.active] >= melting]
                group.move_regions(self.tries)
                group.exchange_components(self.first_cold)
                continue
            group.move_regions(self.tries)
            energies = group.energies()
            if self.dynamics == "drawn":
                draw_levels(energies, self.betas, self.eta, group.levels, occupancy, group.stream)
            else:
                exchange_levels(energies, self.betas, group.levels, met, group.stream)
            group.apply_levels()
        return occupancy, met, samples

    def _sweep(self) -> None:
        group, levels = self.group, self.tallies.levels
        if not self.measure or levels is None:
            group.sweep(group.sweeps_per_step)
            return
        rows = self.tallies.row_of_level[group.levels]
        rows = np.where(rows >= 0, self.blocks * levels.n_rows + rows, -1)
        group.sweep_and_measure(rows, levels)

    def _sample(self) -> Sample:
        group, active = self.group, self.group.active
        energies = group.energies()
        if self.tallies.sums is not None:
            self.tallies.sums.add(group.active_states(), energies, self.blocks[active])
        return energies, group.levels[active], self.blocks[active]
