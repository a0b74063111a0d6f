"""RoamingRun: walkers that change their levels, from cooling to the last measured round.

Phases: *ladder* (a pilot is cooled, `ladder.py`), *weights* or *burn-in* (walkers spread
over the levels until they have travelled), *production* (until the errors are small enough).
Walkers of even number start in the ground state where a cut gives it, the others are cooled.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from spinlearn.engines.sampling.density import (
    EnergyBins,
    Thermal,
    exchanged_eta,
    integrated_log_z,
    overlaps,
)
from spinlearn.engines.sampling.move_sets import cold_regions, region_tries
from spinlearn.engines.sampling.rounds import BLOCKS, Tallies, blocks_by_energy
from spinlearn.engines.sampling.run import PRODUCTION, SamplingRun
from spinlearn.engines.sampling.sums import reweighted
from spinlearn.engines.sampling.walkers import ClusterWalkers
from spinlearn.model.arrays import BoolArray, FloatArray

MAX_GROUPS = 16
ROAMING_TRIES = 4  # of region moves per step
ROUND_STEPS = 10
MIN_WEIGHT_ROUNDS = 200
FIRST_CHECK = 250  # rounds of production before errors are looked at
FIRST_LEVEL_CHECK = 8  # the same where rounds are averages themselves
CHECK_GROWTH = 1.3
SHORTEST = 0.1  # of the rounds of the weights phase: production that is thrown away first
FIRST_GAIN = 0.5  # of eta
LEARNED = (-1.0, 3.0)  # least and most of the excess of visits that counts in a round
MAX_SWEEPS = 200_000
MEMORY = 1.2  # split R-hat of energies above which walkers have not mixed
FEWEST_TRIPS = 8  # of all walkers since the start: with fewer the ladder has not been crossed


class RoamingRun(SamplingRun):
    """Walkers that draw their level, or exchange it with others."""

    n_seeds: ClassVar[int] = MAX_GROUPS
    numbers: ClassVar[tuple[str, ...]] = (*SamplingRun.numbers, "trips", "trips_before")

    arrays: ClassVar[tuple[str, ...]] = ("been_hot", "been_cold", "occupancy", "met", "eta")

    trips, trips_before = 0, 0  # from the hottest level to the coldest and back; before production
    been_hot: BoolArray  # of all walkers,
    been_cold: BoolArray  # since they were hot
    occupancy: FloatArray
    met: FloatArray

    # -- ladder --------------------------------------------------------------------------------

    def _set_up(self) -> None:
        """Cool a pilot, place the levels, spread the walkers, set up the sums."""
        model = self.model
        self._new_groups()
        limit = max(self._n_walkers // 2 - len(self.requested), 1)
        ladder = self._cool(self.groups, limit, by_parts=False)
        ground = None if self._minimum is None else self._minimum.labels.copy()
        lowest = ladder.lowest
        if ground is not None:
            lowest = min(lowest, float(model.energy(ground)))
        self.lay_out(EnergyBins.of(model, ladder.means, ladder.deviations, lowest))
        cold = np.concatenate([group.states() for group in self.groups])
        regions, _ = cold_regions(model, cold, ground, self.library_seed)
        tries = ROAMING_TRIES
        if self.kind is ClusterWalkers:  # redraws cost more than swaps
            tries = min(tries, region_tries(model, regions))
        self._use_regions(regions, tries)
        for group in self.groups:  # spread over the levels, half of them in the ground state
            states = group.states()
            if ground is not None:
                states[::2] = ground
            group.use_ladder(self.betas)
            group.put_states(states)
            group.levels[:] = np.arange(group.n_walkers) * len(self.betas) // group.n_walkers
            group.apply_levels()
            group.sweep(20)
        self.phase = "burn-in"
        if self.dynamics == "drawn":
            self.eta = -integrated_log_z(self.betas, ladder.means, ladder.deviations**2)
            self.phase = "weights"

    def _new_groups(self) -> None:
        self.groups = [self.kind(self.model, s) for s in self.seeds[: self.settings.n_groups]]

    def lay_out(self, bins: EnergyBins) -> None:
        if not self.groups:
            self._new_groups()
            for group in self.groups:
                group.use_ladder(self.betas)
        fitting = blocks_by_energy(self.model, bins)
        self.n_blocks = fitting or BLOCKS[-1]
        self.tallies = Tallies(
            self.model, self.betas, self.requested, bins, self.n_blocks,
            by_energy=fitting > 0, by_level=fitting == 0,
        )  # fmt: skip
        self.round_steps = ROUND_STEPS
        self.round_sweeps = ROUND_STEPS * self.kind.sweeps_per_step
        self.max_sweeps = self.settings.max_sweeps or MAX_SWEEPS
        self.been_hot, self.been_cold = np.zeros((2, self._n_walkers), dtype=np.bool_)
        self.occupancy, self.met = np.zeros(len(self.betas)), np.zeros((len(self.betas), 2))
        self.eta = np.zeros(len(self.betas))

    @property
    def _n_walkers(self) -> int:
        return sum(group.n_walkers for group in self.groups)

    # -- weights and burn-in -----------------------------------------------------------------------

    def _settle(self) -> None:
        needed = 0.5 * self._n_walkers
        while not self.stopped:
            occupancy, met = self._advance(measure=False)
            self.met += met
            self.rounds += 1
            if self.dynamics == "drawn":
                # Stochastic approximation: less weight for levels that are visited often.
                excess = np.clip(occupancy / occupancy.mean() - 1, *LEARNED)
                self.eta -= max(FIRST_GAIN / (1 + self.rounds / 40), 0.02) * excess
                self.eta -= self.eta[0]
            self._count_trips()
            travelled = self.trips >= needed and self.rounds >= MIN_WEIGHT_ROUNDS
            if travelled or self.sweeps >= 0.5 * self.max_sweeps:
                break
            if self._late(0.4):
                # What follows is for the answer of now: a run with more time goes on from here.
                self._save(now=True)
                self.saves = False
                break
            self._report(self.phase, 0.1 + 0.3 * min(self.trips / needed, 1.0))
            self._save()
        if self.stopped:
            return
        self.burn_rounds, self.rounds = self.rounds, 0
        if self.dynamics == "drawn":
            self.burn = int(SHORTEST * self.burn_rounds) + 10
        self.phase = PRODUCTION
        self.next_check = FIRST_CHECK if self.tallies.levels is None else FIRST_LEVEL_CHECK
        self.trips, self.trips_before = 0, self.trips
        for seen in (self.been_hot, self.been_cold, self.occupancy, self.met):
            seen[...] = 0

    def _count_trips(self) -> None:
        """Look where the walkers are now."""
        levels = np.concatenate([group.levels for group in self.groups])
        at_hot, at_cold = levels == 0, levels == len(self.betas) - 1
        self.trips += int(np.sum(self.been_cold & at_hot))
        self.been_hot |= at_hot
        self.been_cold &= ~at_hot
        self.been_cold |= at_cold & self.been_hot

    # -- production ----------------------------------------------------------------------------

    def _produce(self) -> None:
        """Measure until the errors are small enough."""
        while not self.stopped:
            self.rounds += 1
            if self.rounds <= self.burn:
                self._advance(measure=False)
                continue
            occupancy, met = self._advance(measure=True)
            self.occupancy += occupancy
            self.met += met
            self._count_trips()
            measured = self.rounds - self.burn
            used_up = self.sweeps >= self.max_sweeps
            due = measured >= self.next_check or used_up
            if due:
                self.next_check = int(CHECK_GROWTH * measured) + 1
                self.worst = self._worst_error()
            precise = self.worst <= self.tolerance
            done = precise or used_up or self._late(1.0)
            ratio = self.tolerance / self.worst if self.worst > 0 else 1.0
            self._report(PRODUCTION, 1.0 if done else 0.4 + 0.6 * min(ratio**2, 0.99))
            self._save(now=done and not precise)  # more time may follow
            if done and not due:
                # A look that the clock asks for, told and not saved: from few rounds errors seem
                # small, and a run that goes on would take them for reached.
                self.worst = self._worst_error()
            if done:
                break

    def _worst_error(self) -> float:
        """Largest standard error of an average over the requested temperatures."""
        tallies = self.tallies
        if tallies.levels is not None:
            return max(row.worst_error for row in tallies.levels.rows())
        assert tallies.sums is not None
        thermal = Thermal.of(
            tallies.histogram, self.betas, self._ensemble(), self.wanted, self.model
        )
        return float(reweighted(tallies.sums, thermal).std_error.max(initial=0.0))

    # -- result --------------------------------------------------------------------------------

    def _ensemble(self) -> FloatArray:
        """eta: given to walkers that draw their level, found from the energies otherwise."""
        if self.dynamics == "drawn":
            return self.eta
        return exchanged_eta(self.tallies.histogram, self.betas, self.tallies.energies)

    def finished(self) -> bool:
        reached = self.worst <= self.tolerance or self.sweeps >= self.max_sweeps
        return self.phase == PRODUCTION and reached

    def unsettled(self) -> BoolArray:
        """Levels that walkers have not visited often enough, or that do not overlap."""
        n_levels = len(self.betas)
        if n_levels > 1 and self.trips_before + self.trips < FEWEST_TRIPS:
            # Nobody knows what the levels beyond the gap weigh.
            return np.ones(n_levels, dtype=np.bool_)
        apart = ~overlaps(self.betas, self.tallies.energies)
        ends = np.append(False, apart) | np.append(apart, False)
        rhat = self.tallies.energies.split_rhat()
        return np.asarray(ends | (np.nan_to_num(rhat, nan=1.0) > MEMORY))

    def _diagnostics(self) -> dict[str, Any]:
        total = max(float(self.occupancy.mean()), 1.0)
        return {
            **super()._diagnostics(),
            "round_trips": self.trips,
            "exchange_rates": self.met[:-1, 1] / np.maximum(self.met[:-1, 0], 1),
            "occupancy": self.occupancy / total,
        }
