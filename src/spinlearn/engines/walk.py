"""One sampling run: groups of walkers on a ladder, from cooling to the last measured round.

Phases: *ladder* (a pilot is cooled, `engines/ladder.py`), *weights* or *burn-in* (walkers spread
over the levels until they have travelled), *production* (until the errors are small enough).

How walkers move over the levels:

drawn       each draws its level from P(t | E) = exp(eta_t - beta_t E) / W(E)
exchanged   walkers of neighbouring levels change places (replica exchange)
components  a walker stays at its level; neighbours exchange the components in which they differ
held        every level on its own

The walkers fall into independent blocks, whose spread is the error bar. With `components` and
`held` a block is a group with one walker per level; of the former every other group starts in the
coldest labelling known instead of being cooled, so that a memory of the start shows as a spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.density import (
    Density,
    Histogram,
    LevelEnergies,
    exchanged_eta,
    integrated_log_z,
)
from spinlearn.analysis.energy_bins import EnergyBins
from spinlearn.analysis.level_sums import LevelSums
from spinlearn.analysis.reweight import Sums, reweighted
from spinlearn.analysis.series import EnergySeries
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.core.results import Equilibrium
from spinlearn.engines import checkpoint
from spinlearn.engines.enumeration import Enumeration
from spinlearn.engines.ground_state import least_energy
from spinlearn.engines.ladder import COLDEST, HURRY, cool, requested_levels, typical_coupling
from spinlearn.engines.node_walkers import NodeWalkers
from spinlearn.engines.regions import Regions, harvest
from spinlearn.engines.sampled import Measured, temperature_zero
from spinlearn.engines.walker_group import Walkers
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.minimizers.minimum import Minimum

BLOCKS = (32, 16, 8)  # independent parts of walkers that share a group; fewer to save memory
LADDERS = (16, 8)  # groups with one walker per level; fewer for large models
SMALL = 3e5  # nodes and edges times levels, up to which there are more ladders
MAX_SUM_BYTES = 1.5e9
MAX_COLUMNS = 150_000  # sums kept per energy bin: marginals and edges
MAX_LEVELS = 48  # of a ladder with components, beyond what is asked for
REGION_TRIES = (4, 40)  # per step: least, and most where a sweep costs much more
ROUND_STEPS = 10
ROUND_WORK = 3e7  # node and edge visits of a round, beyond which it has fewer steps
HARVESTED = 256  # cooled labellings in which regions are looked for
QUENCH = 10.0  # beta times the typical coupling at which they lose their thermal noise
QUENCH_SWEEPS = 20
MIN_WEIGHT_ROUNDS = 200
BURN_STEPS = 60  # of walkers that stay at their level, before anything is measured
FIRST_CHECK = 250  # rounds of production before errors are looked at
FIRST_LEVEL_CHECK = 8  # the same where rounds are averages themselves
RESTART = 2  # times the burn-in: then, if the run will be a long one, all so far is burn-in too
SHORTEST = 0.1  # of the rounds of the weights phase: production that is thrown away first


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings of a run, whatever the engine."""

    engine: str
    kind: type[Walkers]
    dynamics: str
    tol: float
    max_seconds: float | None
    max_sweeps: int
    n_groups: int
    n_jobs: int
    checkpoint: Any
    checkpoint_seconds: float

    def __post_init__(self) -> None:
        for name, least in (("tol", 0.0), ("max_sweeps", 1), ("n_groups", 1), ("n_jobs", -1)):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not value >= least or value == 0:
                raise InvalidInputError(f"{name}={value!r} is out of range: give a number > 0")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidInputError(f"max_seconds={self.max_seconds!r}: give a number > 0 or None")
        if self.n_groups not in (1, 2, 4, 8):
            raise InvalidInputError(
                f"n_groups={self.n_groups}: error bars are taken over {BLOCKS[-1]} or more blocks "
                "of walkers, shared evenly by the groups; use 1, 2, 4 or 8"
            )

    @property
    def pinned(self) -> bool:
        """Whether every walker stays at its level."""
        return self.dynamics in ("components", "held")


def columns(model: PottsModel) -> int:
    """Sums kept per energy bin and block."""
    return model.n_nodes * (model.n_states - 1) + model.graph.n_edges


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
            self._restore(*saved)
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
        return self.phase == "production" and self.energies.counts.sum() > 0

    # -- ladder --------------------------------------------------------------------------------

    def _climb(self) -> None:
        """Cool a pilot, place the levels, spread the walkers, set up the sums."""
        plan, model = self.plan, self.model
        if plan.dynamics == "held":
            self.betas, self.log_z_first, self.first_cold = self.requested, 0.0, 0
            self._lay_out(EnergyBins(np.array([0.0, 1.0])))  # bins are not used
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
            self._lay_out(bins)
            cold = np.concatenate(ladder.states[self.first_cold :])
            self._collect_regions(cold, ground)
            self._fill(ladder.states)
        else:
            self.groups = pilot
            self._lay_out(bins)
            self._collect_regions(np.concatenate([g.states() for g in pilot]), ground)
            self._spread(ground)
        self._begin(-integrated_log_z(self.betas, _moments(ladder.means, ladder.deviations)))

    def _lay_out(self, bins: EnergyBins) -> None:
        """Groups of walkers (if they come one per level) and empty sums."""
        plan, model, n_levels = self.plan, self.model, len(self.betas)
        row_bytes = 4.0 * bins.n_coarse * columns(model)
        fits = columns(model) <= MAX_COLUMNS and BLOCKS[-1] * row_bytes <= MAX_SUM_BYTES
        by_energy = fits and plan.dynamics != "held"
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
            fitting = [b for b in BLOCKS if b * row_bytes <= MAX_SUM_BYTES]
            self.n_blocks = fitting[0] if by_energy else BLOCKS[-1]
        self.sums = Sums.empty(model, bins, self.n_blocks) if by_energy else None
        by_level = plan.pinned or not by_energy
        self.levels = self._level_sums(len(self.requested)) if by_level else None
        self.row_of_level = np.full(n_levels, -1, dtype=np.int64)
        self.row_of_level[np.searchsorted(self.betas, self.requested)] = np.arange(
            len(self.requested)
        )
        self.histogram = Histogram.empty(bins)
        self.energies = LevelEnergies.empty(n_levels)
        self.series = EnergySeries(self.n_blocks, n_levels)
        work = sum(g.n_walkers for g in self.groups) * (model.n_nodes + model.graph.n_edges)
        steps = ROUND_WORK / max(work * plan.kind.sweeps_per_step, 1)
        self.round_steps = int(np.clip(steps, 1, ROUND_STEPS)) if plan.pinned else ROUND_STEPS

    def _level_sums(self, n_rows: int) -> LevelSums:
        free, model = FreePart.of(self.model), self.model
        needed = LevelSums.bytes_needed(free, self.n_blocks, n_rows)
        if needed > 2 * MAX_SUM_BYTES:
            raise UnsupportedModelError(
                f"sums for {n_rows} temperatures, {model.n_nodes} nodes with {model.n_states} "
                f"states and {model.graph.n_edges} edges need {needed / 1e9:.1f} GB: ask for "
                "fewer temperatures or use a sparser graph"
            )
        return LevelSums(free, self.n_blocks, n_rows)

    def _collect_regions(self, cold: StateArray, ground: StateArray | None) -> None:
        """Regions in which cold labellings, freed of thermal noise, differ."""
        generator = np.random.default_rng(self.library_seed)
        chosen = generator.permutation(len(cold))[:HARVESTED]
        cold = cold[np.sort(chosen)]
        if self.plan.pinned:
            quenched = NodeWalkers(self.model, self.library_seed, len(cold))
            quenched.put_states(cold)
            quenched.use_ladder(np.array([QUENCH / typical_coupling(self.model)]))
            quenched.sweep(QUENCH_SWEEPS // HURRY if self._late(0.15) else QUENCH_SWEEPS)
            cold = quenched.states()
        self.regions = harvest(self.model, cold, ground, generator)
        known = cold if ground is None else np.concatenate([cold, ground[None]])
        self.coldest = known[np.argmin(self.model.energy(known))]
        for group in self.groups:
            group.use_regions(self.regions)
        border = max(len(self.regions.borders) / max(self.regions.count, 1), 1.0)
        work = (self.model.n_nodes + self.model.graph.n_edges) / (2 * border)
        self.tries = int(np.clip(work, *REGION_TRIES)) if self.plan.pinned else REGION_TRIES[0]

    def _spread(self, ground: StateArray | None) -> None:
        """Spread the walkers over the levels; half of them start in the state a cut gives."""
        for group in self.groups:
            states = group.states()
            if ground is not None:
                states[::2] = ground
            group.use_ladder(self.betas)
            group.put_states(states)
            group.levels[:] = np.arange(group.n_walkers) * len(self.betas) // group.n_walkers
            group.apply_levels()
            group.sweep(20)

    def _fill(self, states: list[StateArray]) -> None:
        """Even groups start where the pilot was at their level, odd ones in the coldest state."""
        for g, group in enumerate(self.groups):
            # Neighbouring levels start from different walkers, hence in different valleys.
            own = np.stack([s[(g + k) % len(s)] for k, s in enumerate(states)])
            if g % 2:
                own[:] = self.coldest
            group.put_states(own)

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
        self.next_check = FIRST_CHECK if self.levels is None else FIRST_LEVEL_CHECK
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
        for sums in (self.sums, self.levels, self.histogram, self.energies, self.series):
            if sums is not None:
                sums.clear()

    def _worst_error(self) -> float:
        """Largest standard error of a marginal over the requested temperatures."""
        if self.levels is not None:
            return float(self.levels.worst_errors().max())
        assert self.sums is not None
        density = Density.of(self.histogram, self.betas, self._ensemble())
        thermal = density.thermal(self.wanted, temperature_zero(self.model))
        return float(reweighted(self.sums, density, thermal.probability).std_error.max(initial=0.0))

    def _ensemble(self) -> FloatArray:
        """eta: given to walkers that draw their level, found from the energies otherwise."""
        if self.plan.dynamics == "drawn":
            assert self.eta is not None
            return self.eta
        return exchanged_eta(self.histogram, self.betas, self.energies)

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
            work.append(_Round(self, group, blocks, measure))
        if self.plan.n_jobs == 1 or len(self.groups) == 1:
            results = [one() for one in work]
        else:
            from joblib import Parallel, delayed

            threads = Parallel(n_jobs=self.plan.n_jobs, require="sharedmem")
            results = threads(delayed(one)() for one in work)
        occupancy, met, samples = (list(part) for part in zip(*results, strict=True))
        for one, group_samples in zip(work, samples, strict=True):
            for energies, levels in group_samples:
                self.histogram.add(energies)
                self.energies.add(energies, levels)
                self.series.add(energies, one.blocks, levels)
        if measure:
            self.series.end_round()
            if self.levels is not None:
                self.levels.end_round()
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
        levels = None if self.levels is None else self.levels.averages()
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
            histogram=self.histogram,
            energies=self.energies,
            sums=self.sums,
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
            "split_rhat": self.series.split_rhat(),
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
        arrays: checkpoint.Arrays = {
            "betas": self.betas,
            "bin_edges": self.histogram.bins.edges,
            "been_hot": np.concatenate(self.trips.been_hot),
            "been_cold": np.concatenate(self.trips.been_cold),
            "occupancy": self.occupancy,
            "met": self.met,
        }
        if self.eta is not None:
            arrays["eta"] = self.eta
        for prefix, values in self._saved_sums().items():
            arrays |= {f"{prefix}_{k}": v for k, v in values.items()}
        arrays |= {f"regions_{k}": v for k, v in self.regions.arrays().items()}
        for k, group in enumerate(self.groups):
            arrays |= {f"group{k}_{name}": v for name, v in group.arrays().items()}
        header = {
            "phase": self.phase,
            "rounds": self.rounds,
            "burn": self.burn,
            "burn_rounds": self.burn_rounds,
            "next_check": self.next_check,
            "first_cold": self.first_cold,
            "tries": self.tries,
            "trips": self.trips.count,
            "log_z_first": self.log_z_first,
            "worst": self.worst if np.isfinite(self.worst) else None,
            "seconds": self.seconds,
        }
        checkpoint.save(path, self.identity, header, arrays)
        self.saved = perf_counter()

    def _saved_sums(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        parts = {
            "histogram": {"counts": self.histogram.counts, "energy": self.histogram.energy},
            "energies": self.energies.arrays(),
            "series": self.series.arrays(),
        }
        if self.sums is not None:
            parts["sums"] = self.sums.arrays()
        if self.levels is not None:
            parts["levels"] = self.levels.arrays()
        return parts

    def _restore(self, header: dict[str, Any], arrays: checkpoint.Arrays) -> None:
        self.phase, self.rounds, self.burn = header["phase"], header["rounds"], header["burn"]
        self.burn_rounds, self.next_check = header["burn_rounds"], header["next_check"]
        self.first_cold, self.tries = header["first_cold"], header["tries"]
        self.log_z_first = header["log_z_first"]
        self.worst = np.inf if header["worst"] is None else header["worst"]
        self.seconds = header["seconds"]
        self.betas, self.eta = arrays["betas"], arrays.get("eta")
        self.occupancy, self.met = arrays["occupancy"], arrays["met"]
        self.regions = Regions(**{k[8:]: v for k, v in arrays.items() if k.startswith("regions_")})
        if not self.plan.pinned:
            seeds = self.seeds[: self.plan.n_groups]
            self.groups = [self.plan.kind(self.model, seed) for seed in seeds]
        self._lay_out(EnergyBins(arrays["bin_edges"]))
        for prefix, values in self._saved_sums().items():
            for name, array in values.items():
                array[...] = arrays[f"{prefix}_{name}"]
        self.trips = Trips(self.groups, len(self.betas))
        self.trips.count = header["trips"]
        begin = 0
        for k, group in enumerate(self.groups):
            group.use_regions(self.regions)
            if not self.plan.pinned:
                group.use_ladder(self.betas)
            group.restore({n: arrays[f"group{k}_{n}"] for n in group.arrays()})
            end = begin + group.n_walkers
            self.trips.been_hot[k][:] = arrays["been_hot"][begin:end]
            self.trips.been_cold[k][:] = arrays["been_cold"][begin:end]
            begin = end


Sample = tuple[FloatArray, npt.NDArray[np.int32]]  # energies and levels of a group


@dataclass(frozen=True, slots=True)
class _Round:
    """Some steps of one group; `blocks` are those of its walkers.

    Groups have blocks of their own, so threads add to different rows of the sums.
    """

    walk: Walk
    group: Walkers
    blocks: npt.NDArray[np.int64]
    measure: bool

    def __call__(self) -> tuple[FloatArray, FloatArray, list[Sample]]:
        """Occupancy of the levels, exchanges tried and done, and samples of the energy."""
        from spinlearn.kernels.levels import draw_levels, exchange_levels

        walk, group = self.walk, self.group
        occupancy, met = np.zeros(len(walk.betas)), np.zeros((len(walk.betas), 2))
        samples = []
        for step in range(walk.round_steps):
            self._sweep()
            last = step == walk.round_steps - 1
            if self.measure and (last or walk.plan.pinned):
                samples.append(self._sample())
            if walk.plan.dynamics == "held":
                continue
            group.move_regions(walk.tries)
            if walk.plan.dynamics == "components":
                group.exchange_components(walk.first_cold)
                continue
            energies = group.energies()
            if walk.plan.dynamics == "drawn":
                draw_levels(energies, walk.betas, walk.eta, group.levels, occupancy, group.stream)
            else:
                exchange_levels(energies, walk.betas, group.levels, met, group.stream)
            group.apply_levels()
        return occupancy, met, samples

    def _sweep(self) -> None:
        walk, group = self.walk, self.group
        if not self.measure or walk.levels is None:
            group.sweep(group.sweeps_per_step)
            return
        rows = walk.row_of_level[group.levels]
        rows = np.where(rows >= 0, self.blocks * walk.levels.n_rows + rows, -1)
        group.sweep_and_measure(rows, walk.levels)

    def _sample(self) -> Sample:
        energies = self.group.energies()
        if self.walk.sums is not None:
            self.walk.sums.add(self.group.states(), energies, self.blocks)
        return energies, self.group.levels.copy()


class Trips:
    """Counts journeys of walkers from the hottest level to the coldest and back."""

    def __init__(self, groups: list[Walkers], n_levels: int) -> None:
        self.groups, self.last = groups, n_levels - 1
        self.been_cold = [np.zeros(g.n_walkers, dtype=bool) for g in groups]
        self.been_hot = [np.zeros(g.n_walkers, dtype=bool) for g in groups]
        self.count = 0

    def update(self) -> None:
        """Look where the walkers are now."""
        for group, cold, hot in zip(self.groups, self.been_cold, self.been_hot, strict=True):
            at_hot, at_cold = group.levels == 0, group.levels == self.last
            self.count += int(np.sum(cold & at_hot))
            hot |= at_hot
            cold &= ~at_hot
            cold |= at_cold & hot


def _moments(means: FloatArray, deviations: FloatArray) -> LevelEnergies:
    ones = np.ones(len(means))
    return LevelEnergies(ones, means, deviations**2 + means**2)
