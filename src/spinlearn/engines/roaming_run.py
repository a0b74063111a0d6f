"""RoamingRun: walkers that change their levels, from cooling to the last measured round.

Phases: *ladder* (a pilot is cooled, `engines/ladder.py`), *weights* or *burn-in* (walkers spread
over the levels until they have travelled), *production* (until the errors are small enough).
Walkers of even number start in the ground state where a cut gives it, the others are cooled.

How walkers move over the levels between sweeps is told in `engines/rounds.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.density import LevelEnergies, exchanged_eta, integrated_log_z, overlaps
from spinlearn.analysis.energy_bins import EnergyBins
from spinlearn.core.array_checks import check_numbers, within
from spinlearn.core.arrays import BoolArray, FloatArray, StateArray
from spinlearn.engines.cluster_walkers import ClusterWalkers
from spinlearn.engines.ladder import COLDEST, cool
from spinlearn.engines.sampling_run import PRODUCTION, SamplingRun
from spinlearn.engines.start import cold_regions, region_tries, spread, spread_levels
from spinlearn.engines.tallies import BLOCKS, Tallies, blocks_by_energy
from spinlearn.engines.trips import Trips
from spinlearn.engines.walker_group import Walkers

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
    coldest_level: ClassVar[float] = COLDEST

    trips: Trips
    trips_before = 0  # production
    occupancy: FloatArray
    met: FloatArray

    # -- ladder --------------------------------------------------------------------------------

    def _set_up(self) -> None:
        """Cool a pilot, place the levels, spread the walkers, set up the sums."""
        plan, model = self.plan, self.model
        self.groups = self._new_groups()
        capacity = sum(group.n_walkers for group in self.groups)
        limit = max(capacity // 2 - len(self.requested), 1)
        ladder = cool(
            self.groups, model, self.requested, limit, lambda f: self._report("ladder", 0.1 * f),
            by_parts=False, late=lambda: self._late(0.15),
        )  # fmt: skip
        self.betas, self.log_z_first = ladder.betas, ladder.log_z_first
        self.log_z_first_error = ladder.log_z_first_error
        self.first_cold = ladder.first_cold
        ground = None if self._minimum is None else self._minimum.labels.copy()
        lowest = ladder.lowest
        if ground is not None:
            lowest = min(lowest, float(model.energy(ground)))
        self.lay_out(EnergyBins.of(model, ladder.means, ladder.deviations, lowest))
        self._collect_regions(np.concatenate([g.states() for g in self.groups]), ground)
        spread(self.groups, self.betas, ground)
        self._begin()
        if plan.dynamics == "drawn":
            moments = LevelEnergies.of(ladder.means, ladder.deviations)
            self.eta = -integrated_log_z(self.betas, moments)
        self.phase = self.settling

    def _new_groups(self) -> list[Walkers]:
        return [self.plan.kind(self.model, seed) for seed in self.seeds[: self.plan.n_groups]]

    def lay_out(self, bins: EnergyBins) -> None:
        if not self.groups:
            self.groups = self._new_groups()
            for group in self.groups:
                group.use_ladder(self.betas)
        fitting = blocks_by_energy(self.model, bins)
        self.n_blocks = fitting or BLOCKS[-1]
        self.tallies = Tallies.empty(
            self.model, self.betas, self.requested, bins, self.n_blocks,
            by_energy=fitting > 0, by_level=fitting == 0,
        )  # fmt: skip
        self.round_steps = ROUND_STEPS
        self.max_sweeps = self.plan.max_sweeps or MAX_SWEEPS
        self._begin()

    def _collect_regions(self, cold: StateArray, ground: StateArray | None) -> None:
        """Give all groups the regions in which cold labellings differ."""
        self.regions, _ = cold_regions(self.model, cold, ground, self.library_seed)
        self.tries = self._usual_tries
        for group in self.groups:
            group.use_regions(self.regions)

    @property
    def _usual_tries(self) -> int:
        if self.plan.kind is ClusterWalkers:  # redraws cost more than swaps
            return min(ROAMING_TRIES, region_tries(self.model, self.regions))
        return ROAMING_TRIES

    def _begin(self) -> None:
        self.trips = Trips(self.groups, len(self.betas))
        self.occupancy = np.zeros(len(self.betas))
        self.met = np.zeros((len(self.betas), 2))

    # -- weights and burn-in -----------------------------------------------------------------------

    def _settle(self) -> None:
        needed = 0.5 * sum(group.n_walkers for group in self.groups)
        while not self.stopped:
            occupancy, met = self._advance(measure=False)
            self.met += met
            self.rounds += 1
            if self.phase == "weights":
                self._learn(occupancy)
            self.trips.update()
            travelled = self.trips.count >= needed and self.rounds >= MIN_WEIGHT_ROUNDS
            if travelled or self.sweeps >= 0.5 * self.max_sweeps:
                break
            if self._late(0.4):
                # What follows is for the answer of now: a run with more time goes on from here.
                self._save(now=True)
                self.saves = False
                break
            self._report(self.phase, 0.1 + 0.3 * min(self.trips.count / needed, 1.0))
            self._save()
        if self.stopped:
            return
        self.burn_rounds, self.rounds = self.rounds, 0
        self.burn = self._burn_after(self.burn_rounds)
        self.trips_before = self.trips.count
        self.phase = PRODUCTION
        self.next_check = self._first_check
        self._begin()

    @property
    def _first_check(self) -> int:
        return FIRST_CHECK if self.tallies.levels is None else FIRST_LEVEL_CHECK

    def _burn_after(self, rounds: int) -> int:
        """Rounds of production that are thrown away, after so many before it."""
        return int(SHORTEST * rounds) + 10 if self.plan.dynamics == "drawn" else 0

    def _learn(self, occupancy: FloatArray) -> None:
        """Stochastic approximation of eta: less weight for levels that are visited often."""
        assert self.eta is not None
        share = occupancy / occupancy.mean()
        gain = max(FIRST_GAIN / (1 + self.rounds / 40), 0.02)
        self.eta -= gain * np.clip(share - 1, *LEARNED)
        self.eta -= self.eta[0]

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
            self.trips.update()
            measured = self.rounds - self.burn
            used_up = self.sweeps >= self.max_sweeps
            due = measured >= self.next_check or used_up
            if due:
                self.next_check = int(CHECK_GROWTH * measured) + 1
                self.worst = self._worst_error()
            precise = self.worst <= self.tol_or_default
            done = precise or used_up or self._late(1.0)
            ratio = self.tol_or_default / self.worst if self.worst > 0 else 1.0
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
        eta = self._ensemble() if self.tallies.levels is None else None
        return self.tallies.worst_error(self.model, self.betas, eta, self.wanted)

    # -- result --------------------------------------------------------------------------------

    def _ensemble(self) -> FloatArray | None:
        """eta: given to walkers that draw their level, found from the energies otherwise."""
        if self.plan.dynamics == "drawn":
            return self.eta
        return exchanged_eta(self.tallies.histogram, self.betas, self.tallies.energies)

    def finished(self) -> bool:
        reached = self.worst <= self.tol_or_default or self.sweeps >= self.max_sweeps
        return self.phase == PRODUCTION and reached

    def unsettled(self) -> BoolArray:
        """Levels that walkers have not visited often enough, or that do not overlap."""
        n_levels = len(self.betas)
        if n_levels > 1 and self.trips_before + self.trips.count < FEWEST_TRIPS:
            # Nobody knows what the levels beyond the gap weigh.
            return np.ones(n_levels, dtype=np.bool_)
        apart = ~overlaps(self.betas, self.tallies.energies)
        found = np.zeros(n_levels, dtype=np.bool_)
        found[1:] |= apart
        found[:-1] |= apart
        rhat = self.tallies.series.split_rhat()
        return np.asarray(found | (np.nan_to_num(rhat, nan=1.0) > MEMORY))

    def _diagnostics(self) -> dict[str, Any]:
        total = max(float(self.occupancy.mean()), 1.0)
        return {
            **super()._diagnostics(),
            "round_trips": self.trips.count,
            "exchange_rates": self.met[:-1, 1] / np.maximum(self.met[:-1, 0], 1),
            "occupancy": self.occupancy / total,
        }

    def own_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {
            "been_hot": np.concatenate(self.trips.been_hot),
            "been_cold": np.concatenate(self.trips.been_cold),
            "occupancy": self.occupancy,
            "met": self.met,
        }
        if self.plan.dynamics == "drawn":
            arrays["eta"] = self.occupancy if self.eta is None else self.eta
        return {"trips": self.trips.count, "trips_before": self.trips_before}, arrays

    def check_numbers(self, header: dict[str, Any]) -> None:
        # Rounds that are thrown away are not counted in the limit until they are over.
        whole = self.max_sweeps // self.round_sweeps + 1
        most = max(whole, self._burn_after(whole) + 1)
        before = most if header["phase"] == PRODUCTION else 0
        check_numbers(header, {"rounds": (int, 0, most), "burn_rounds": (int, 0, before)})
        burn, earliest, latest = 0, 0, 0
        if header["phase"] == PRODUCTION:
            burn = self._burn_after(header["burn_rounds"])
            measured = max(header["rounds"] - burn, 0)
            earliest = measured + 1
            latest = max(self._first_check, int(CHECK_GROWTH * measured) + 1)
        check_numbers(
            header,
            {
                "burn": (int, burn, burn),
                "next_check": (int, earliest, latest),
                "tries": (int, self._usual_tries, self._usual_tries),
            },
        )
        walkers = sum(group.n_walkers for group in self.groups)
        check_numbers(
            header["own"],
            {
                "trips": (int, 0, walkers * header["rounds"]),
                "trips_before": (int, 0, walkers * header["burn_rounds"]),
            },
        )

    def measured_rounds(self, header: dict[str, Any]) -> tuple[int, int]:
        measured = max(header["rounds"] - header["burn"], 0)
        return (measured, measured) if header["phase"] == PRODUCTION else (0, 0)

    def levels_of(self, group: Walkers) -> npt.NDArray[np.int32] | None:
        return None if self.plan.dynamics == "drawn" else spread_levels(group, len(self.betas))

    def put_own_state(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        walkers = sum(group.n_walkers for group in self.groups)
        steps = (self.rounds + self.burn_rounds) * self.round_steps
        for name in ("occupancy", "met"):
            within(f"own_{name}", arrays[name], 0, (1 + 1e-9) * walkers * steps)
        if "eta" in arrays:
            span = self.model.energy_scale * float(self.betas[-1] - self.betas[0])
            most = span + FIRST_GAIN * (LEARNED[1] - LEARNED[0]) * (self.rounds + self.burn_rounds)
            within("own_eta", arrays["eta"], -most, most)
        self.eta = arrays.get("eta")
        self.occupancy, self.met = arrays["occupancy"], arrays["met"]
        self.trips.count, self.trips_before = header["trips"], header["trips_before"]
        ends = np.cumsum([group.n_walkers for group in self.groups])[:-1]
        self.trips.been_hot = np.split(arrays["been_hot"], ends)
        self.trips.been_cold = np.split(arrays["been_cold"], ends)
