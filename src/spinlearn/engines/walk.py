"""One sampling run: groups of walkers on a ladder, from cooling to the last measured round.

Phases: *ladder* (a pilot is cooled, `engines/ladder.py`), *weights* or *burn-in* (walkers spread
over the levels until they have travelled), *production* (until the errors are small enough).

How walkers move over the levels between sweeps is told in `engines/rounds.py`.

The walkers fall into independent blocks, whose spread is the error bar. With `components` and
`held` a block is a group with one walker per level; of the former every other group starts in the
coldest labelling known instead of being cooled, so that a memory of the start shows as a spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from spinlearn.analysis.density import LevelEnergies, exchanged_eta, integrated_log_z
from spinlearn.analysis.energy_bins import EnergyBins
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.engines import checkpoint
from spinlearn.engines.enumeration import Enumeration
from spinlearn.engines.ground_state import least_energy
from spinlearn.engines.ladder import COLDEST, HURRY, cool, requested_levels
from spinlearn.engines.plan import Plan
from spinlearn.engines.regions import Regions
from spinlearn.engines.rounds import Round
from spinlearn.engines.run_state import put_state, state_of
from spinlearn.engines.sampled import Measured
from spinlearn.engines.start import (
    QUENCH_SWEEPS,
    REGION_TRIES,
    cold_regions,
    fill,
    region_tries,
    spread,
)
from spinlearn.engines.tallies import BLOCKS, Tallies, blocks_by_energy
from spinlearn.engines.trips import Trips
from spinlearn.engines.walker_group import Walkers
from spinlearn.errors import StoppedError
from spinlearn.minimizers.minimum import Minimum

LADDERS = (16, 8)  # groups with one walker per level; fewer for large models
SMALL = 3e5  # nodes and edges times levels, up to which there are more ladders
MAX_LEVELS = 48  # of a ladder with components, beyond what is asked for
ROUND_STEPS = 10
ROUND_WORK = 3e7  # node and edge visits of a round, beyond which it has fewer steps
MIN_WEIGHT_ROUNDS = 200
BURN_STEPS = 60  # of walkers that stay at their level, before anything is measured
FIRST_CHECK = 250  # rounds of production before errors are looked at
FIRST_LEVEL_CHECK = 8  # the same where rounds are averages themselves
RESTART = 2  # times the burn-in: then, if the run will be a long one, all so far is burn-in too
SHORTEST = 0.1  # of the rounds of the weights phase: production that is thrown away first


class Walk:
    """The walkers, the ladder, the weights and the sums, saved as plain arrays."""

    def __init__(
        self,
        plan: Plan,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
    ) -> None:
        self.plan, self.model, self.wanted, self.callback = plan, model, wanted, callback
        # Levels on their own have nothing to gain from a shorter ladder.
        coldest = 1e-6 if plan.dynamics == "held" else COLDEST
        self.requested = requested_levels(model, wanted, coldest)
        self.library_seed, self.pilot_seed, *self.seeds = root.spawn(2 + max(LADDERS))
        self.identity = checkpoint.fingerprint(
            model, wanted.tolist(), root.entropy, root.spawn_key, plan.engine, plan.kind.__name__,
            plan.dynamics, plan.max_sweeps, plan.n_groups,
        )  # fmt: skip
        self.started = self.saved = perf_counter()
        self.seconds: dict[str, float] = {}
        self.stopped = False
        self.phase, self.rounds, self.next_check = "ladder", 0, 0
        self.burn, self.burn_rounds = 0, 0  # rounds dropped in production, and before it
        self.tries = 0  # of region moves per step
        self.worst, self.fraction = np.inf, 0.0
        self.eta: FloatArray | None = None
        self.groups: list[Walkers] = []

    def result(self) -> Equilibrium:
        """Run all phases from wherever the checkpoint left off."""
        if len(self.model.free_nodes) == 0:
            return self._nothing_free()
        saved = None
        if self.plan.checkpoint is not None:
            saved = checkpoint.load(self.plan.checkpoint, self.identity)
        if saved is None:
            self._timed("ladder", self._climb)
        else:
            put_state(self, *saved)
        try:
            if self.phase == "weights" and not self.stopped:
                self._timed("weights", self._learn_weights)
            if self.phase == "burn-in" and not self.stopped:
                self._timed("burn-in", self._burn_in)
            if self.phase == "production" and not self.stopped:
                self._timed("production", self._produce)
        except KeyboardInterrupt:
            if not self._has_measured:
                raise
        if not self._has_measured:
            raise StoppedError("stopped before anything was measured")
        return self._measured().equilibrium(self.wanted)

    def _nothing_free(self) -> Equilibrium:
        """One labelling is left: no sampling."""
        exact = Enumeration().run(self.model, self.wanted, callback=self.callback)
        return replace(
            exact,
            engine=self.plan.engine,
            std_error=np.zeros_like(exact.marginals),
            agreement_std_error=np.zeros_like(exact.edge_agreement),
        )

    @property
    def _has_measured(self) -> bool:
        return self.phase == "production" and self.tallies.energies.counts.sum() > 0

    # -- ladder --------------------------------------------------------------------------------

    def _climb(self) -> None:
        """Cool a pilot, place the levels, spread the walkers, set up the sums."""
        plan, model = self.plan, self.model
        if plan.dynamics == "held":
            self.betas, self.log_z_first, self.first_cold = self.requested, 0.0, 0
            self.lay_out(EnergyBins(np.array([0.0, 1.0])))  # bins are not used
            self.regions = Regions.none()
            self._begin(np.zeros(len(self.betas)))
            return
        pilot: list[Walkers]
        if plan.kind.any_number:
            size = 64 if model.n_nodes <= 5000 else 16
            pilot = [plan.kind(model, self.pilot_seed, size)]
        else:
            pilot = [plan.kind(model, seed) for seed in self.seeds[: plan.n_groups]]
        capacity = sum(group.n_walkers for group in pilot)
        limit = MAX_LEVELS if plan.pinned else max(capacity // 2 - len(self.requested), 1)
        ladder = cool(
            pilot, model, self.requested, limit, lambda f: self._report("ladder", 0.1 * f),
            by_parts=plan.pinned, late=lambda: self._late(0.15),
        )  # fmt: skip
        self.betas, self.log_z_first = ladder.betas, ladder.log_z_first
        self.first_cold = ladder.first_cold
        ground = None if self._minimum is None else self._minimum.labels.copy()
        lowest = ladder.lowest
        if ground is not None:
            lowest = min(lowest, float(model.energy(ground)))
        bins = EnergyBins.of(model, ladder.means, ladder.deviations, lowest)
        if plan.pinned:
            self.lay_out(bins)
            cold = np.concatenate(ladder.states[self.first_cold :])
            self._collect_regions(cold, ground)
            fill(self.groups, ladder.states, self.coldest)
        else:
            self.groups = pilot
            self.lay_out(bins)
            self._collect_regions(np.concatenate([g.states() for g in pilot]), ground)
            spread(self.groups, self.betas, ground)
        self._begin(-integrated_log_z(self.betas, _moments(ladder.means, ladder.deviations)))

    def lay_out(self, bins: EnergyBins) -> None:
        """Groups of walkers (if they come one per level) and empty sums."""
        plan, model, n_levels = self.plan, self.model, len(self.betas)
        fitting = blocks_by_energy(model, bins)
        by_energy = fitting > 0 and plan.dynamics != "held"
        if plan.pinned:
            size = n_levels * (model.n_nodes + model.graph.n_edges)
            self.n_blocks = LADDERS[0] if size <= SMALL else LADDERS[1]
            seeds = self.seeds[: self.n_blocks]
            self.groups = [plan.kind(model, seed, n_levels) for seed in seeds]
            self.groups[0].use_ladder(self.betas)
            for group in self.groups:
                group.use_ladder_of(self.groups[0])
                group.levels[:] = np.arange(n_levels)
                group.apply_levels()
        else:
            self.n_blocks = fitting if by_energy else BLOCKS[-1]
        self.tallies = Tallies.empty(
            model, self.betas, self.requested, bins, self.n_blocks,
            by_energy=by_energy, by_level=plan.pinned or not by_energy,
        )  # fmt: skip
        work = sum(g.n_walkers for g in self.groups) * (model.n_nodes + model.graph.n_edges)
        steps = ROUND_WORK / max(work * plan.kind.sweeps_per_step, 1)
        self.round_steps = int(np.clip(steps, 1, ROUND_STEPS)) if plan.pinned else ROUND_STEPS

    def _collect_regions(self, cold: StateArray, ground: StateArray | None) -> None:
        """Give all groups the regions in which cold labellings differ."""
        sweeps, self.tries = 0, REGION_TRIES[0]
        if self.plan.pinned:
            sweeps = QUENCH_SWEEPS // HURRY if self._late(0.15) else QUENCH_SWEEPS
        found = cold_regions(self.model, cold, ground, self.library_seed, sweeps)
        self.regions, self.coldest = found
        for group in self.groups:
            group.use_regions(self.regions)
        if self.plan.pinned:
            self.tries = region_tries(self.model, self.regions)

    def _begin(self, eta: FloatArray) -> None:
        """Leave the ladder phase."""
        self.trips = Trips(self.groups, len(self.betas))
        self.occupancy = np.zeros(len(self.betas))
        self.met = np.zeros((len(self.betas), 2))
        if self.plan.dynamics == "drawn":
            self.phase, self.eta = "weights", eta
        else:
            self.phase = "burn-in"

    # -- weights and burn-in -----------------------------------------------------------------------

    def _learn_weights(self) -> None:
        """Stochastic approximation of eta until walkers have travelled the whole ladder."""
        assert self.eta is not None
        needed = 0.5 * sum(group.n_walkers for group in self.groups)
        while not self.stopped:
            occupancy = self._advance(measure=False)
            self.rounds += 1
            share = occupancy / occupancy.mean()
            gain = max(0.5 / (1 + self.rounds / 40), 0.02)
            self.eta -= gain * np.clip(share - 1, -1, 3)
            self.eta -= self.eta[0]
            self.trips.update()
            if self._travelled(needed):
                break
            self._report("weights", 0.1 + 0.3 * min(self.trips.count / needed, 1.0))
            self._save()
        self._start_production(int(SHORTEST * self.rounds) + 10)

    def _burn_in(self) -> None:
        """Let walkers forget their start."""
        needed = 0.5 * sum(group.n_walkers for group in self.groups)
        steps = BURN_STEPS if self.plan.pinned else np.inf
        while not self.stopped:
            self._advance(measure=False)
            self.rounds += 1
            self.trips.update()
            done = self.rounds * self.round_steps >= steps or self._late(0.25)
            if done or (not self.plan.pinned and self._travelled(needed)):
                break
            share = self.rounds * self.round_steps / steps
            if not self.plan.pinned:
                share = min(self.trips.count / needed, 1.0)
            self._report("burn-in", 0.1 + 0.3 * share)
            self._save()
        self._start_production(0)

    def _travelled(self, needed: float) -> bool:
        travelled = self.trips.count >= needed and self.rounds >= MIN_WEIGHT_ROUNDS
        return travelled or self.sweeps >= 0.5 * self.plan.max_sweeps or self._late(0.4)

    def _start_production(self, burn: int) -> None:
        if self.stopped:
            return
        self.burn_rounds, self.burn = self.rounds, burn
        self.phase, self.rounds = "production", 0
        self.next_check = FIRST_CHECK if self.tallies.levels is None else FIRST_LEVEL_CHECK
        self.trips = Trips(self.groups, len(self.betas))
        self.met[:] = 0

    # -- production ----------------------------------------------------------------------------

    def _produce(self) -> None:
        """Measure until the errors are small enough."""
        while not self.stopped:
            # Not at the end of a round: one that was stopped keeps what it has measured.
            if self.rounds == RESTART * self.burn_rounds and self._is_long():
                self._forget()
            self.rounds += 1
            if self.rounds <= self.burn:
                self._advance(measure=False)
                continue
            self.occupancy += self._advance(measure=True)
            self.trips.update()
            measured = self.rounds - self.burn
            done = self.sweeps >= self.plan.max_sweeps or self._late(1.0)
            if measured >= self.next_check or done:
                self.next_check = int(1.3 * measured) + 1
                self.worst = self._worst_error()
                done = done or self.worst <= self.plan.tol
            ratio = self.plan.tol / self.worst if self.worst > 0 else 1.0
            self._report("production", 1.0 if done else 0.4 + 0.6 * min(ratio**2, 0.99))
            self._save(now=done and self.worst > self.plan.tol)  # more time may follow
            if done:
                break

    def _is_long(self) -> bool:
        """Whether the first errors of walkers that stay at their level call for a long run."""
        return self.plan.pinned and self.burn == 0 and self.plan.tol < 0.7 * self.worst

    def _forget(self) -> None:
        """The run is a long one: what was measured so far counts as burn-in."""
        self.burn, self.next_check = self.rounds, FIRST_LEVEL_CHECK
        self.tallies.clear()

    def _worst_error(self) -> float:
        """Largest standard error of a marginal over the requested temperatures."""
        eta = self._ensemble() if self.tallies.levels is None else None
        return self.tallies.worst_error(self.model, self.betas, eta, self.wanted)

    def _ensemble(self) -> FloatArray:
        """eta: given to walkers that draw their level, found from the energies otherwise."""
        if self.plan.dynamics == "drawn":
            assert self.eta is not None
            return self.eta
        return exchanged_eta(self.tallies.histogram, self.betas, self.tallies.energies)

    @property
    def sweeps(self) -> int:
        """Sweeps of every walker in this phase."""
        return int(self.rounds * self.round_steps * self.plan.kind.sweeps_per_step)

    def _advance(self, *, measure: bool) -> FloatArray:
        """A round of all groups; summed level occupancy."""
        per_group = self.n_blocks // len(self.groups)
        work = []
        for g, group in enumerate(self.groups):
            blocks = g * per_group + np.arange(group.n_walkers) % per_group
            work.append(
                Round(
                    group=group,
                    blocks=blocks,
                    measure=measure,
                    tallies=self.tallies,
                    dynamics=self.plan.dynamics,
                    betas=self.betas,
                    eta=self.eta,
                    steps=self.round_steps,
                    tries=self.tries,
                    first_cold=self.first_cold,
                )
            )
        if self.plan.n_jobs == 1 or len(self.groups) == 1:
            results = [one() for one in work]
        else:
            from joblib import Parallel, delayed

            threads = Parallel(n_jobs=self.plan.n_jobs, require="sharedmem")
            results = threads(delayed(one)() for one in work)
        occupancy, met, samples = (list(part) for part in zip(*results, strict=True))
        for one, group_samples in zip(work, samples, strict=True):
            self.tallies.add(group_samples, one.blocks)
        if measure:
            self.tallies.end_round()
        self.met += np.sum(met, axis=0)
        return np.asarray(np.sum(occupancy, axis=0))

    # -- time, progress, result ----------------------------------------------------------------

    def _timed(self, phase: str, work: Callable[[], None]) -> None:
        began = perf_counter()
        try:
            work()
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + perf_counter() - began

    def _late(self, share: float) -> bool:
        limit = self.plan.max_seconds
        return limit is not None and perf_counter() - self.started > share * limit

    def _report(self, phase: str, fraction: float) -> bool:
        self.fraction = max(self.fraction, fraction)
        worst = self.worst if np.isfinite(self.worst) else None
        progress = Progress(phase=phase, fraction=self.fraction, worst_error=worst)
        if self.callback is not None and self.callback(progress):
            self.stopped = True
        return self.stopped

    @cached_property
    def _minimum(self) -> Minimum | None:
        return least_energy(self.model)

    def _measured(self) -> Measured:
        tallies = self.tallies
        levels = None if tallies.levels is None else tallies.levels.averages()
        held = self.plan.dynamics == "held"
        diagnostics = self._diagnostics()
        if levels is not None:
            diagnostics |= {
                "block_spread": levels.spread,
                "effective_samples": levels.effective_samples,
            }
        return Measured(
            model=self.model,
            engine=self.plan.engine,
            tol=self.plan.tol,
            betas=self.betas,
            eta=None if held else self._ensemble(),
            log_z_first=self.log_z_first,
            histogram=tallies.histogram,
            energies=tallies.energies,
            sums=tallies.sums,
            levels=levels,
            rows=self.requested,
            minimum=self._minimum,
            diagnostics=diagnostics,
        )

    def _diagnostics(self) -> dict[str, Any]:
        total = max(float(self.occupancy.mean()), 1.0)
        exchanged = self.met + sum(
            (getattr(group, "exchanged", 0.0) for group in self.groups if self.plan.pinned),
            np.zeros(2),
        )
        return {
            "walkers": f"{len(self.groups)} x {self.groups[0].n_walkers} {self.plan.kind.__name__}",
            "levels_are": self.plan.dynamics,
            "ladder": 1 / np.maximum(self.betas, 1e-300),
            "regions": self.regions.count,
            "region_moves": int(sum(g.region_moves.sum() for g in self.groups)),
            "sweeps": self.sweeps,
            "round_trips": self.trips.count,
            "exchange_rates": exchanged[:-1, 1] / np.maximum(exchanged[:-1, 0], 1),
            "occupancy": self.occupancy / total,
            "split_rhat": self.tallies.series.split_rhat(),
            "worst_std_error": self.worst,
            "seconds": dict(self.seconds),
        }

    # -- checkpoint ----------------------------------------------------------------------------

    def _save(self, now: bool = False) -> None:
        path = self.plan.checkpoint
        waited = perf_counter() - self.saved >= self.plan.checkpoint_seconds
        due = now or self.stopped or waited
        if path is None or not due:
            return
        checkpoint.save(path, self.identity, *state_of(self))
        self.saved = perf_counter()


def _moments(means: FloatArray, deviations: FloatArray) -> LevelEnergies:
    ones = np.ones(len(means))
    return LevelEnergies(ones, means, deviations**2 + means**2)
