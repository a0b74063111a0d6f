"""Replica exchange over cluster and local moves, with its one-replica cases.

Several independent ladders (`engines/ladder.py`) run the same scheme: every slot is swept at its
own temperature (Swendsen-Wang, or heat bath where couplings are negative), cold slots try to
exchange two classes on whole regions (`engines/regions.py`), and neighbouring slots exchange the
components in which they differ. Averages are means over ladders of improved estimators at the
requested slots; energies of all slots give one density of states (histogram reweighting, Ferrenberg
& Swendsen 1989), by which kept labellings are weighted for temperatures asked for later, and for
T = 0.

Standard errors come from the spread of all rounds of all ladders, times one factor per temperature
by which ladder means differ more than their rounds explain, averaged with the spread of the ladder
means of each entry alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray, StateArray, temperature_array
from spinlearn.core.free_part import FreePart, class_term_reason
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.protocols import Callback, Progress, Seed
from spinlearn.core.results import Equilibrium
from spinlearn.core.settings import Settings
from spinlearn.engines.ground_state import ground_state
from spinlearn.engines.ladder import (
    Ladder,
    Layout,
    Replicas,
    Sums,
    bond_thresholds,
    choose_ladder,
    some_regions,
)
from spinlearn.engines.limits import heat_capacity, log_partition
from spinlearn.engines.regions import Regions, harvest
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    StoppedError,
    UnsupportedModelError,
)

ROUND_WORK = 8e6  # node and edge visits of one ladder in a round
ROUND_STEPS = (12, 60)  # least and most sweeps of a round
BURN_IN = 30  # sweeps of every ladder before the first round, at least
MIN_ROUNDS = 4
COOLED = 4  # walkers cooled to fill the slots of a ladder
COOLING_SWEEPS = 4  # per slot
HARVESTED = 128  # cold labellings in which regions are looked for
QUENCH = 10.0  # beta times the typical coupling at which they lose their thermal noise
QUENCH_SWEEPS = 20
BEST_REGIONS = 32  # kept after the burn-in
REGION_TRIES = 40  # at most, per sweep and cold slot; fewer where a sweep is cheaper than that
EXCHANGES = (1, 2, 4)  # distances of the slots that are paired after every sweep
HOT_EVERY = 4  # sweeps between two of the slots above the transition
HOT_CORRELATION = 0.4  # of the energies of two sweeps, below which a slot counts as such
MAX_GAP = 6.0  # of the energies of two slots, in standard deviations, to be called overlapping
KEPT_BYTES = 1 << 26  # labellings kept for other temperatures
KEPT_TAKES = 1000  # of every ladder
KEPT_BLOCKS = 4  # of them, for error bars
COLDEST = 1e-3  # times the typical coupling; below, T counts as 0


@dataclass(kw_only=True)
class Tempering(Settings):
    """Replica exchange, for graphs too wide for an exact answer.

    Parameters
    ----------
    tol : float
        Stop when the largest standard error of a marginal, over nodes and temperatures, is below.
    max_seconds : float or None
        Stop after this time even if `tol` is not reached.
    max_sweeps : int
        Stop after this many sweeps of every slot.
    moves : {"auto", "cluster", "local"}
        Swendsen-Wang needs couplings >= 0 and the Potts pair cost; "auto" uses it where it can.
    n_ladders : int
        Independent ladders, at least 2; their spread is the error bar.
    n_jobs : int
        Threads. The result does not depend on it.
    """

    tol: float = 0.01
    max_seconds: float | None = None
    max_sweeps: int = 20_000
    moves: str = "auto"
    n_ladders: int = 8
    n_jobs: int = 1

    name: ClassVar[str] = "tempering"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the moves asked for cannot treat the model, or None."""
        if self.moves not in ("auto", "cluster", "local"):
            raise InvalidInputError(
                f"moves={self.moves!r} is unknown: use 'auto', 'cluster' or 'local'"
            )
        reason = class_term_reason(model)
        return reason or (_no_clusters(model) if self.moves == "cluster" else None)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures."""
        wanted = temperature_array(temperatures)
        _refuse(self.unsupported(model), "use moves='local' or moves='auto'")
        moves = self.moves
        if moves == "auto":
            moves = "local" if _no_clusters(model) else "cluster"
        return _run(_Plan(self, moves, exchange=True), model, wanted, seed, callback)


@dataclass(kw_only=True)
class SwendsenWang(Settings):
    """Swendsen-Wang at every temperature on its own; parameters as in `Tempering`."""

    tol: float = 0.01
    max_seconds: float | None = None
    max_sweeps: int = 20_000
    n_ladders: int = 8
    n_jobs: int = 1

    name: ClassVar[str] = "swendsen_wang"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why clusters cannot treat the model, or None."""
        return class_term_reason(model) or _no_clusters(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures."""
        wanted = temperature_array(temperatures)
        _refuse(self.unsupported(model), "use engine='tempering' or engine='metropolis'")
        return _run(_Plan(self, "cluster", exchange=False), model, wanted, seed, callback)


@dataclass(kw_only=True)
class Metropolis(Settings):
    """Metropolis at every temperature on its own; parameters as in `Tempering`."""

    tol: float = 0.01
    max_seconds: float | None = None
    max_sweeps: int = 20_000
    n_ladders: int = 8
    n_jobs: int = 1

    name: ClassVar[str] = "metropolis"

    def unsupported(self, model: PottsModel) -> str | None:
        """None, as local moves treat every model, but for class-level terms."""
        return class_term_reason(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures."""
        wanted = temperature_array(temperatures)
        return _run(_Plan(self, "metropolis", exchange=False), model, wanted, seed, callback)


def _no_clusters(model: PottsModel) -> str | None:
    if not np.array_equal(model.pair_cost, 1.0 - np.eye(model.n_states)):
        return "the pair cost is not 1 - identity, so there are no Swendsen-Wang clusters"
    if np.any(model.couplings < 0):
        return "some couplings are negative, so there are no Swendsen-Wang clusters"
    return None


def _refuse(reason: str | None, remedy: str) -> None:
    if reason is not None:
        raise UnsupportedModelError(f"{reason}: {remedy}")


# -- one run -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Which scheme a run follows."""

    settings: Tempering | SwendsenWang | Metropolis
    moves: str
    exchange: bool

    @property
    def name(self) -> str:
        return self.settings.name


def _run(
    plan: _Plan, model: PottsModel, wanted: FloatArray, seed: Seed, callback: Callback | None
) -> Equilibrium:
    settings = plan.settings
    for name, value in (
        ("tol", settings.tol),
        ("max_sweeps", settings.max_sweeps),
        ("max_seconds", settings.max_seconds),
    ):
        if value is not None and not value > 0:
            raise InvalidInputError(f"{name}={value!r} must be positive")
    if settings.n_ladders < 2:
        raise InvalidInputError(
            f"n_ladders={settings.n_ladders}: at least 2 are needed, their spread is the error bar"
        )
    free = FreePart.of(model)
    if len(free.nodes) == 0:
        return _nothing_free(plan.name, free, wanted)
    run = _Run(plan, Layout.of(free), wanted, seed, callback)
    run.prepare()
    run.produce()
    return run.equilibrium()


class _Run:
    """One run: the ladders, their sums, and where it stands."""

    def __init__(
        self,
        plan: _Plan,
        layout: Layout,
        wanted: FloatArray,
        seed: Seed,
        callback: Callback | None,
    ) -> None:
        self.plan, self.layout, self.wanted, self.callback = plan, layout, wanted, callback
        self.settings = plan.settings
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        # A copy: spawning must not change the caller's sequence.
        copy = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key)
        self.pilot_seed, self.library_seed, *self.seeds = copy.spawn(2 + self.settings.n_ladders)
        self.started = perf_counter()
        self.seconds: dict[str, float] = {}
        self.fraction = 0.0
        self.stopped = False
        self.zero = wanted < COLDEST * layout.energy_unit
        self.betas_wanted = np.unique(1 / wanted[~self.zero])  # 1/inf = 0

    # -- preparation ---------------------------------------------------------------------------

    def prepare(self) -> None:
        """Choose the ladder, fill the slots, collect regions, burn in."""
        slots = self.betas_wanted
        if np.any(self.zero):
            coldest = slots[-1] if len(slots) else 0.0
            slots = np.append(slots, max(2 * coldest, 6 / self.layout.energy_unit))
        if self.plan.exchange:
            self.ladder = choose_ladder(self.layout, self.plan.moves, slots, self.pilot_seed)
        else:
            nothing = np.zeros(len(slots))
            self.ladder = Ladder(slots, nothing, nothing, 0.0)
        self._lap("ladder")
        self._report("ladder", 0.05)
        betas = self.ladder.betas
        rows = np.full(len(betas), -1, dtype=np.int64)
        rows[np.searchsorted(betas, self.betas_wanted)] = np.arange(len(self.betas_wanted))
        thresholds = bond_thresholds(self.layout, betas) if self.plan.moves == "cluster" else None
        visits = len(betas) * (self.layout.model.n_nodes + self.layout.model.graph.n_edges)
        self.round_steps = int(np.clip(ROUND_WORK / max(visits, 1), *ROUND_STEPS))
        self.round_steps -= self.round_steps % HOT_EVERY
        self.members = [
            _Member(self.plan, self.layout, self.ladder, rows, thresholds, seed)
            for seed in self.seeds
        ]
        cold: list[StateArray] = []
        for part in self._each(_Member.start):
            cold.extend(part)
        self._lap("start")
        self._report("start", 0.1)
        if self.plan.exchange and self._potts and not self.stopped:
            self._collect_regions(cold)
            self._lap("regions")
            self._report("regions", 0.15)
        if not self.stopped:
            steps = max(BURN_IN, self.round_steps)
            self._each(partial(_Member.advance, steps=steps))
            self._rest_hot_slots()
            self._keep_best_regions()
            self._lap("burn_in")
            self._report("burn-in", 0.2)

    @property
    def _potts(self) -> bool:
        model = self.layout.model
        return bool(np.array_equal(model.pair_cost, 1.0 - np.eye(model.n_states)))

    def _collect_regions(self, cold: list[StateArray]) -> None:
        """Regions in which cold labellings, freed of thermal noise, differ."""
        generator = np.random.default_rng(self.library_seed)
        chosen = generator.permutation(len(cold))[: min(HARVESTED, len(cold))]
        quenched = Replicas(self.layout, "local", len(chosen), self.library_seed)
        for k, state in zip(chosen, quenched.states, strict=True):
            state[:] = cold[k]
        quenched.use(np.full(len(chosen), QUENCH / self.layout.energy_unit))
        for _ in range(QUENCH_SWEEPS):
            quenched.step()
        model = self.layout.ghost
        regions = harvest(model, quenched.states, ground_state(model), generator)
        for member in self.members:
            member.use_regions(regions)

    def _rest_hot_slots(self) -> None:
        """Slots at the hot end whose energy forgets itself in a sweep are swept less often."""
        if not self.plan.exchange:
            return
        series = np.stack([np.stack(m.series) for m in self.members])  # (ladders, steps, K)
        series = series[:, series.shape[1] // 2 :]
        excess = series - series.mean(axis=(0, 1))
        covariance = np.mean(excess[:, 1:] * excess[:, :-1], axis=(0, 1))
        slow = np.flatnonzero(covariance > HOT_CORRELATION * np.mean(excess**2, axis=(0, 1)))
        hot = int(slow[0]) if len(slow) else len(self.ladder.betas) - 1
        for member in self.members:
            member.hot = member.low = hot

    def _keep_best_regions(self) -> None:
        """Keep the regions that moved most, large ones first; frozen from here on."""
        regions = self.members[0].regions
        if regions is None:
            return
        score = sum(m.moved for m in self.members) * np.sqrt(np.diff(regions.ptr))
        best = np.sort(np.argsort(-score, kind="stable")[:BEST_REGIONS])
        best = best[score[best] > 0]
        for member in self.members:
            member.use_regions(some_regions(regions, best if len(best) else np.arange(1)))

    # -- production ----------------------------------------------------------------------------

    def produce(self) -> None:
        """Rounds of all ladders until the errors are small enough."""
        self.totals = _Totals(self.layout, self.ladder, len(self.betas_wanted), self.members)
        rounds = discarded = steps = 0
        self.round_limit = max(self.settings.max_sweeps // self.round_steps, 1)
        next_check = MIN_ROUNDS
        while not self.stopped:
            try:
                self._each(partial(_Member.advance, steps=self.round_steps, measure=True))
            except KeyboardInterrupt:
                if self.totals.rounds == 0:
                    raise
                break
            self.totals.add_round(self.members)
            rounds += 1
            steps += self.round_steps
            share = self._budget_share(rounds)
            worst = np.inf
            if self.totals.rounds >= MIN_ROUNDS and (rounds >= next_check or share >= 1):
                next_check = rounds + max(rounds // 8, 1)
                worst = self.totals.worst_error()
                if worst <= self.settings.tol and np.any(self.zero):
                    worst = max(worst, float(self._kept().averages(0.0).std_error.max()))
                share = max(share, min((self.settings.tol / max(worst, 1e-9)) ** 2, 0.99))
            if worst <= self.settings.tol or share >= 1:
                break
            self._report("production", 0.2 + 0.79 * share)
            # The first rounds are burn-in too, and more of them when the run will be a long one.
            if rounds >= 16 * discarded and rounds >= MIN_ROUNDS and share < 0.3:
                discarded = rounds
                self.totals.clear()
        self.sweeps, self.discarded = steps, discarded * self.round_steps
        self._lap("production")

    def _budget_share(self, rounds: int) -> float:
        share = rounds / self.round_limit
        if self.settings.max_seconds is not None:
            elapsed = perf_counter() - self.started
            share = max(share, elapsed / max(self.settings.max_seconds, 1e-9))
        return share

    def _each(self, work: Any) -> list[Any]:
        """Let every ladder do its work, on as many threads as allowed."""
        if self.settings.n_jobs == 1:
            return [work(member) for member in self.members]
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.settings.n_jobs, require="sharedmem")
        return list(parallel(delayed(work)(member) for member in self.members))

    def _lap(self, phase: str) -> None:
        self.seconds[phase] = perf_counter() - self.started - sum(self.seconds.values())

    def _report(self, phase: str, fraction: float) -> None:
        self.fraction = max(self.fraction, fraction)
        if self.callback is not None and self.callback(
            Progress(phase=phase, fraction=self.fraction)
        ):
            self.stopped = True

    # -- result --------------------------------------------------------------------------------

    def equilibrium(self) -> Equilibrium:
        """What the rounds so far say."""
        totals, plan = self.totals, self.plan
        if totals.rounds == 0:
            raise StoppedError("stopped by the callback before anything was measured")
        levels = totals.averages(self.ladder, plan.exchange)
        kept = self._kept(levels)
        result = _assemble(kept, self.wanted, self.zero, self.betas_wanted, levels)
        self._report("done", 1.0)
        _warn(result, self.settings.tol)
        return result

    def _kept(self, levels: _Levels | None = None) -> _Kept:
        return _Kept(
            free=self.layout.free,
            states=[m.kept_states() for m in self.members],
            energies=[np.concatenate(m.kept_energies) for m in self.members],
            lowest=self.totals.lowest,
            ladder=self.ladder,
            log_z=None if levels is None else levels.log_z,
            density=None if levels is None else levels.density,
            tol=self.settings.tol,
            engine=self.plan.name,
            diagnostics={} if levels is None else self._diagnostics(levels),
        )

    def _diagnostics(self, levels: _Levels) -> dict[str, Any]:
        met = np.sum([m.replicas.exchanged for m in self.members], axis=0)
        rate = met[:-1, 1] / np.maximum(met[:-1, 0], 1)
        return {
            "moves": self.plan.moves,
            "ladders": len(self.members),
            "ladder": 1 / np.maximum(self.ladder.betas, 1e-300),
            "swap_rates": rate if self.plan.exchange else np.zeros(0),
            "resting_slots": self.members[0].hot,
            "sweeps": self.sweeps,
            "sweeps_dropped": self.discarded,
            "rounds": self.totals.rounds,
            "regions": 0 if self.members[0].regions is None else self.members[0].regions.count,
            "region_moves": int(sum(int(m.moved.sum()) for m in self.members)),
            "ladder_spread": levels.spread,
            "split_rhat": self.totals.split_rhat(),
            "effective_samples": levels.effective,
            "seconds": dict(self.seconds),
        }


class _Member:
    """One of the independent ladders: replicas, sums of the round, kept labellings."""

    def __init__(
        self,
        plan: _Plan,
        layout: Layout,
        ladder: Ladder,
        rows: npt.NDArray[np.int64],
        thresholds: npt.NDArray[np.uint32] | None,
        seed: np.random.SeedSequence,
    ) -> None:
        self.plan, self.layout, self.ladder = plan, layout, ladder
        own, self.cooling_seed = seed.spawn(2)
        self.replicas = Replicas(layout, plan.moves, len(ladder.betas), own)
        self.replicas.use(ladder.betas, thresholds)
        self.sums = Sums.empty(layout, rows)
        self.regions: Regions | None = None
        self.moved = np.zeros(0, dtype=np.int64)
        self.tries = 0
        self.hot, self.low = 0, ladder.first_cold  # slots that rest; first that moves regions
        self.n_steps = 0
        self.series: list[FloatArray] = []
        self.forget(plan.settings.n_ladders)

    def forget(self, n_members: int) -> None:
        """Drop the kept labellings."""
        self.kept: list[StateArray] = []
        self.kept_energies: list[FloatArray] = []
        self.kept_every = 1
        self.kept_limit = int(
            np.clip(KEPT_BYTES / n_members / self.replicas.states.size, 2, KEPT_TAKES)
        )

    def start(self) -> list[StateArray]:
        """Fill the slots by walkers cooled through all of them; labellings of the cold slots."""
        if not self.plan.exchange:
            return []  # a random start, as in the textbooks
        betas = self.ladder.betas
        walkers = Replicas(self.layout, self.plan.moves, COOLED, self.cooling_seed)
        cold: list[StateArray] = []
        for k, beta in enumerate(betas):
            walkers.use(np.full(COOLED, beta))
            for _ in range(COOLING_SWEEPS):
                walkers.step()
            # Neighbouring slots start from different walkers, hence in different valleys.
            self.replicas.states[k] = walkers.states[k % COOLED]
            if k >= self.ladder.first_cold:
                cold.extend(walkers.states.copy())
        return cold

    def use_regions(self, regions: Regions) -> None:
        """Set the regions that the cold slots try to move."""
        self.regions = regions if regions.count else None
        self.moved = np.zeros(regions.count, dtype=np.int64)
        graph = self.layout.model.graph
        border = max(len(regions.borders) / max(regions.count, 1), 1.0)
        self.tries = int(np.clip((graph.n_nodes + graph.n_edges) / (2 * border), 1, REGION_TRIES))

    def advance(self, *, steps: int, measure: bool = False) -> None:
        """Sweeps of all slots, each followed by region moves and exchanges."""
        replicas, low = self.replicas, self.low
        n_slots = len(replicas.betas)
        self.sums.clear()
        self.series = []
        for _ in range(steps):
            self.n_steps += 1
            everything = self.n_steps % HOT_EVERY == 0
            first = 0 if everything else self.hot
            replicas.energies[:first] = np.nan
            replicas.step(
                first, self.sums if measure else None, with_edges=measure and self.n_steps % 2 == 0
            )
            self.series.append(replicas.energies.copy())
            if measure and everything:
                self._keep()
            if not self.plan.exchange:
                continue
            if self.regions is not None:
                replicas.move_regions(self.regions, low, self.tries, self.moved)
            for offset in EXCHANGES:
                if offset == 1:
                    replicas.exchange(first, 1, -1)
                elif low + offset < n_slots:
                    replicas.exchange(low, offset, -1)

    def _keep(self) -> None:
        """Keep the labellings of all slots now and then; every other one goes when it is full."""
        if self.n_steps % (HOT_EVERY * self.kept_every):
            return
        self.kept.append(self.replicas.states[:, : self.layout.model.n_nodes].copy())
        self.kept_energies.append(self.replicas.energies + self.layout.constant)
        if len(self.kept) > self.kept_limit:
            self.kept = self.kept[1::2]
            self.kept_energies = self.kept_energies[1::2]
            self.kept_every *= 2

    def kept_states(self) -> StateArray:
        """All kept labellings, (S, n_free)."""
        return np.concatenate(self.kept)


# -- sums over rounds and ladders ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Levels:
    """Averages at the requested slots (R of them) and the density of states."""

    marginals: FloatArray
    std_error: FloatArray
    agreement: FloatArray
    agreement_error: FloatArray
    mean_energy: FloatArray
    variance: FloatArray
    log_z: FloatArray | None  # of every slot
    density: tuple[FloatArray, FloatArray] | None  # energies, ln D of the energy bins
    spread: FloatArray
    effective: FloatArray


class _Totals:
    """Round averages added up: per ladder their sum, over all of them the sum of squares."""

    def __init__(self, layout: Layout, ladder: Ladder, n_rows: int, members: list[_Member]) -> None:
        n, q, m = layout.model.n_nodes, layout.model.n_states, layout.model.graph.n_edges
        self.layout, self.n_rows, self.members = layout, n_rows, members
        self.n_slots = len(ladder.betas)
        self.rows = members[0].sums.rows
        count = len(members)
        self.node_sums = np.zeros((count, n_rows, n, q), dtype=np.float32)
        self.edge_sums = np.zeros((count, n_rows, m), dtype=np.float32)
        self.node_squares = np.zeros((n_rows, n, q))
        self.edge_squares = np.zeros((n_rows, m))
        self.edges = _bin_edges(ladder)
        self.lowest = np.full(count, np.inf)
        self.clear()

    def clear(self) -> None:
        """Forget all rounds so far (not the lowest energies)."""
        for values in (self.node_sums, self.edge_sums, self.node_squares, self.edge_squares):
            values[:] = 0
        self.histogram = np.zeros(len(self.edges) + 1)
        self.bin_energy = np.zeros(len(self.edges) + 1)
        self.energy_means: list[FloatArray] = []  # of every round: (ladders, slots)
        self.energy_squares = np.zeros(self.n_slots)
        self.rounds = 0
        self.samples = np.zeros(self.n_slots, dtype=np.int64)  # of a round, by slot
        for member in self.members:
            member.forget(len(self.members))

    def add_round(self, members: list[_Member]) -> None:
        """Take over what every ladder measured in one round."""
        means = []
        for g, member in enumerate(members):
            for row in range(self.n_rows):
                p, c = member.sums.marginals(row), member.sums.agreements(row)
                self.node_sums[g, row] += p
                self.edge_sums[g, row] += c
                self.node_squares[row] += p.astype(np.float64) ** 2
                self.edge_squares[row] += c.astype(np.float64) ** 2
            energies = np.stack(member.series) + self.layout.constant  # (steps, K)
            self.lowest[g] = min(self.lowest[g], float(np.nanmin(energies)))
            means.append(np.nanmean(energies, axis=0))
            self.energy_squares += np.nanmean(energies**2, axis=0)
            self.samples = np.sum(np.isfinite(energies), axis=0)
            taken = energies[np.isfinite(energies)]
            bins, count = np.searchsorted(self.edges, taken), len(self.histogram)
            self.histogram += np.bincount(bins, minlength=count)
            self.bin_energy += np.bincount(bins, weights=taken, minlength=count)
        self.energy_means.append(np.stack(means))
        self.rounds += 1

    def worst_error(self) -> float:
        """Largest standard error of a marginal."""
        spread, effective = self._quality()
        worst = 0.0
        for row in range(self.n_rows):
            error = self._error(self.node_sums[:, row], self.node_squares[row], spread[row])
            worst = max(worst, float(np.sqrt(error.max() + effective[row] ** -2)))
        return worst

    def averages(self, ladder: Ladder, reweight: bool) -> _Levels:
        """Means and standard errors; densities of states from the energies of all slots."""
        spread, effective = self._quality()
        total = self.rounds * len(self.members)
        marginals = self.node_sums.sum(axis=0, dtype=np.float64) / total
        marginals /= marginals.sum(axis=2, keepdims=True)  # one, but for rounding
        errors, agreement_errors = np.empty_like(marginals), np.empty_like(self.edge_squares)
        for row in range(self.n_rows):
            floor = effective[row] ** -2
            error = self._error(self.node_sums[:, row], self.node_squares[row], spread[row])
            errors[row] = np.sqrt(error + floor)
            error = self._error(self.edge_sums[:, row], self.edge_squares[row], spread[row])
            agreement_errors[row] = np.sqrt(error + floor)
        slots = np.flatnonzero(self.rows >= 0)
        means = np.mean(self.energy_means, axis=(0, 1))
        mean = means[slots]
        variance = np.maximum(self.energy_squares[slots] / total - mean**2, 0.0)
        log_z, density = None, None
        if reweight:
            seen = self.histogram > 0
            energies = self.bin_energy[seen] / self.histogram[seen]
            log_density, log_z, overlap = _density_of_states(
                self.histogram[seen],
                energies,
                ladder.betas,
                self.samples.astype(np.float64),
                means,
                np.maximum(self.energy_squares / total - means**2, 0.0),
            )
            log_density += ladder.log_z_first
            log_z += ladder.log_z_first
            density = energies, log_density
            if overlap:  # then all slots together know each energy better than its own slot
                exponents = log_density - np.multiply.outer(ladder.betas[slots], energies)
                chance = np.exp(exponents - _logsumexp(exponents)[:, None])
                mean = chance @ energies
                variance = np.maximum(chance @ energies**2 - mean**2, 0.0)
        return _Levels(
            marginals=marginals,
            std_error=errors,
            agreement=self.edge_sums.sum(axis=0, dtype=np.float64) / total,
            agreement_error=agreement_errors,
            mean_energy=mean,
            variance=variance,
            log_z=log_z,
            density=density,
            spread=spread,
            effective=effective,
        )

    def _error(
        self, sums: npt.NDArray[np.float32], squares: FloatArray, spread: float
    ) -> FloatArray:
        """Squared standard errors of entries, from ladder sums (G, ...) and the sum of squares."""
        within, between = self._variances(sums, squares)
        return 0.5 * (within * spread + between)

    def _variances(
        self, sums: npt.NDArray[np.float32], squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of the mean from all rounds as if independent, and from the ladders."""
        count = len(sums)
        total = count * self.rounds
        ladder_means = sums.astype(np.float64) / self.rounds
        mean = ladder_means.mean(axis=0)
        within = np.maximum(squares / total - mean**2, 0.0) / max(total - 1, 1)
        between = ladder_means.var(axis=0, ddof=1) / count
        return within, between

    def _quality(self) -> tuple[FloatArray, FloatArray]:
        """Per row: how much more ladders differ than rounds explain; effective samples."""
        spread, effective = np.ones(self.n_rows), np.ones(self.n_rows)
        slots = np.flatnonzero(self.rows >= 0)
        rounds = np.stack(self.energy_means)[:, :, slots]  # (rounds, G, R)
        total = self.rounds * len(self.members)
        variance = self.energy_squares[slots] / total - rounds.mean(axis=(0, 1)) ** 2
        of_rounds = rounds.reshape(total, -1).var(axis=0, ddof=1)
        samples = self.samples[slots]
        for row in range(self.n_rows):
            within, between = self._variances(self.node_sums[:, row], self.node_squares[row])
            top, bottom = float(between.sum()), float(within.sum())
            if bottom > 0:
                spread[row] = max(1.0, top / bottom)
            correlated = 1.0
            if of_rounds[row] > 0 and variance[row] > 0:
                correlated = max(1.0, samples[row] * of_rounds[row] / variance[row])
            effective[row] = max(total * samples[row] / (correlated * spread[row]), 1.0)
        return spread, effective

    def split_rhat(self) -> FloatArray:
        """Split R-hat of the round averages of the energy, at the requested slots."""
        slots = np.flatnonzero(self.rows >= 0)
        half = self.rounds // 2
        if half < 2:
            return np.full(len(slots), np.nan)
        rounds = np.stack(self.energy_means)[:, :, slots]
        chains = np.concatenate([rounds[:half], rounds[self.rounds - half :]], axis=1)
        within = chains.var(axis=0, ddof=1).mean(axis=0)
        between = chains.mean(axis=0).var(axis=0, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rhat = np.sqrt((half - 1) / half + between / within)
        return np.where(within > 0, rhat, 1.0)


def _bin_edges(ladder: Ladder) -> FloatArray:
    """Edges between energy bins, 1/20 of the local standard deviation of the energy wide."""
    order = np.argsort(ladder.means)
    means, deviations = ladder.means[order], ladder.deviations[order]
    low, high = means[0] - 6 * deviations[0], means[-1] + 5 * deviations[-1]
    grid = np.linspace(low, high, 4001)
    widths = np.maximum(np.interp(grid, means, deviations) / 20, max(high - low, 1e-300) / 20_000)
    length = np.concatenate([[0.0], np.cumsum(np.diff(grid) / widths[1:])])
    return np.interp(np.arange(0.0, length[-1], 1.0), length, grid)


def _density_of_states(
    histogram: FloatArray,
    energies: FloatArray,
    betas: FloatArray,
    samples: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> tuple[FloatArray, FloatArray, bool]:
    """ln D of the bins, ln Z of the slots, up to ln Z of the first; whether all slots overlap.

    Stationary point of sum_b h_b ln sum_k n_k exp(f_k - beta_k E_b) - sum_k n_k f_k, which is
    convex in f = -ln Z; n_k is the number of samples of slot k. The first guess integrates <E>, and
    is kept where neighbouring slots are too far apart for their energies to overlap.
    """
    exponents = -np.multiply.outer(betas, energies)  # (K, B)
    expected = samples / samples.sum()
    offered = exponents + np.log(expected)[:, None]
    share = histogram / histogram.sum()
    width = np.diff(betas)
    steps = 0.5 * (means[1:] + means[:-1]) * width + np.diff(variances) * width**2 / 12
    f = np.concatenate([[0.0], np.cumsum(steps)])
    gaps = width * (np.sqrt(variances[1:]) + np.sqrt(variances[:-1]))
    iterations = 100 if np.all(gaps < MAX_GAP) else 0

    def value(f: FloatArray) -> tuple[float, FloatArray]:
        weight = _logsumexp((f[:, None] + offered).T)
        return float(share @ weight - expected @ f), weight

    now, log_weight = value(f)
    for _ in range(iterations):
        chance = np.exp(f[:, None] + offered - log_weight)  # P(k | b)
        occupied = chance @ share
        slope = occupied - expected
        if np.abs(slope).max() < 1e-10:
            break
        curvature = np.diag(occupied) - (chance * share) @ chance.T
        curvature[np.diag_indices_from(curvature)] += 1e-12
        step = np.zeros(len(f))  # the first is fixed
        step[1:] = -np.linalg.solve(curvature[1:, 1:], slope[1:]) if len(f) > 1 else 0.0
        size = 1.0
        while True:
            then, weight = value(f + size * step)
            if then <= now + 1e-13 * abs(now) or size < 1e-3:
                break
            size *= 0.5
        f, now, log_weight = f + size * step, then, weight
    log_density = np.log(share) - log_weight
    log_z = _logsumexp(log_density + exponents) if iterations else -f
    return log_density - log_z[0], log_z - log_z[0], iterations > 0


def _logsumexp(values: FloatArray) -> FloatArray:
    """Over the last axis."""
    top = values.max(axis=-1, keepdims=True)
    return np.asarray((top + np.log(np.exp(values - top).sum(axis=-1, keepdims=True)))[..., 0])


# -- results -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kept:
    """Labellings of all slots with their energies, by ladder: averages at any temperature."""

    free: FreePart
    states: list[StateArray]
    energies: list[FloatArray]
    lowest: FloatArray  # energy seen by every ladder
    ladder: Ladder
    log_z: FloatArray | None
    density: tuple[FloatArray, FloatArray] | None
    tol: float
    engine: str
    diagnostics: dict[str, Any] = field(default_factory=dict)

    def weights(self, temperature: float) -> list[FloatArray]:
        """Weight of every labelling, by ladder; they add up to one."""
        ground = min(float(e.min()) for e in self.energies)
        if temperature == 0:
            limit = ground + self.free.model.energy_resolution
            weights = [(e <= limit).astype(np.float64) for e in self.energies]
        else:
            assert self.log_z is not None
            betas = self.ladder.betas
            logs = [
                -(e - ground) / temperature
                - _logsumexp(-self.log_z - np.multiply.outer(e - ground, betas) - ground * betas)
                for e in self.energies
            ]
            top = max(float(w.max()) for w in logs)
            weights = [np.exp(w - top) for w in logs]
        total = sum(float(w.sum()) for w in weights)
        return [w / total for w in weights]

    def thermal(self, temperature: float) -> tuple[float, float, float]:
        """Mean and variance of the energy and ln sum exp(-(E - E_min)/T)."""
        assert self.density is not None
        energies, log_density = self.density
        ground = float(self.lowest.min())
        excess = energies - ground
        if temperature == 0:
            lowest = excess <= max(self.free.model.energy_resolution, 0.0)
            log_count = float(_logsumexp(log_density[lowest])) if np.any(lowest) else np.nan
            return ground, 0.0, log_count
        exponents = log_density - excess / temperature
        log_total = float(_logsumexp(exponents))
        chance = np.exp(exponents - log_total)
        mean = float(chance @ excess)
        return ground + mean, max(float(chance @ excess**2) - mean**2, 0.0), log_total

    def averages(self, temperature: float) -> _Reweighted:
        """Averages over the kept labellings, with the jackknife over ladders."""
        weights = self.weights(temperature)
        n, q, count = self.states[0].shape[1], self.free.model.n_states, len(weights)
        u, v = self.free.edges.T
        # Blocks of consecutive labellings of every ladder.
        nodes = np.zeros((count, KEPT_BLOCKS, n, q))
        edges = np.zeros((count, KEPT_BLOCKS, len(u)))
        share = np.zeros((count, KEPT_BLOCKS))
        for g, (states, weight) in enumerate(zip(self.states, weights, strict=True)):
            used = np.flatnonzero(weight > 1e-9 * weight.max(initial=0.0))
            block_of = used * KEPT_BLOCKS // len(weight)
            for block in range(KEPT_BLOCKS):
                mine = used[block_of == block]
                share[g, block] = weight[mine].sum()
                for at in range(0, len(mine), 256):
                    some, w = states[mine[at : at + 256]], weight[mine[at : at + 256]]
                    for x in range(q):
                        nodes[g, block, :, x] += w @ (some == x)
                    edges[g, block] += w @ (some[:, u] == some[:, v])
        # One over the effective number of labellings.
        floor = min(sum(float((w**2).sum()) for w in weights), 1.0)
        marginals, error = _jackknife(nodes, share, floor)
        agreement, agreement_error = _jackknife(edges, share, floor)
        return _Reweighted(marginals, error, agreement, agreement_error)


@dataclass(frozen=True, slots=True)
class _Reweighted:
    marginals: FloatArray
    std_error: FloatArray
    agreement: FloatArray
    agreement_error: FloatArray


def _jackknife(parts: FloatArray, share: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Mean of weighted sums (ladders, blocks, ...), and its error as in `_Totals`.

    The error is 1 where one ladder has all the weight.
    """
    whole = parts.sum(axis=(0, 1)) / share.sum()

    def deleted(parts: FloatArray, share: FloatArray) -> FloatArray:
        left = (share.sum() - share).reshape(-1, *[1] * (parts.ndim - 1))
        without = (parts.sum(axis=0) - parts) / left
        count = len(parts)
        deviations = without - without.mean(axis=0)
        return np.asarray((count - 1) / count * np.sum(deviations**2, axis=0))

    by_ladder = share.sum(axis=1)
    if np.any(by_ladder.sum() - by_ladder <= 1e-9):
        return whole, np.ones_like(whole)
    between = deleted(parts.sum(axis=1), by_ladder)
    within = deleted(parts.reshape(share.size, *parts.shape[2:]), share.ravel())
    spread = max(1.0, float(between.sum()) / max(float(within.sum()), 1e-300))
    return whole, np.minimum(np.sqrt(0.5 * (within * spread + between) + floor**2), 1.0)


def _assemble(
    kept: _Kept,
    wanted: FloatArray,
    zero: BoolArray,
    betas_wanted: FloatArray | None,
    levels: _Levels | None,
) -> Equilibrium:
    """Requested slots as measured; T = 0 and other temperatures from the kept labellings."""
    free = kept.free
    model = free.model
    n, q, m = len(free.nodes), model.n_states, len(free.edges)
    marginals, errors = np.empty((len(wanted), n, q)), np.empty((len(wanted), n, q))
    agreement, agreement_errors = np.empty((len(wanted), m)), np.empty((len(wanted), m))
    mean, variance = np.empty(len(wanted)), np.zeros(len(wanted))
    log_z = np.empty(len(wanted))
    trusted = np.ones(len(wanted), dtype=bool)
    done: dict[float, _Reweighted] = {}
    for t, temperature in enumerate(wanted):
        value = 0.0 if zero[t] else float(temperature)
        if kept.density is not None:
            mean[t], variance[t], log_z[t] = kept.thermal(value)  # requested slots: measured
        if levels is not None and betas_wanted is not None and not zero[t]:
            row = int(np.searchsorted(betas_wanted, 1 / temperature))
            marginals[t], errors[t] = levels.marginals[row], levels.std_error[row]
            agreement[t], agreement_errors[t] = levels.agreement[row], levels.agreement_error[row]
            mean[t], variance[t] = levels.mean_energy[row], levels.variance[row]
            continue
        if value not in done:
            done[value] = kept.averages(value)
        one = done[value]
        marginals[t], errors[t] = one.marginals, one.std_error
        agreement[t], agreement_errors[t] = one.agreement, one.agreement_error
        if zero[t]:
            mean[t] = kept.lowest.min()
            trusted[t] = _ground_found(kept)
        else:
            coldest, hottest = kept.ladder.betas[-1], kept.ladder.betas[0]
            trusted[t] = hottest * (1 - 1e-9) <= 1 / value <= coldest * (1 + 1e-9)
    all_errors = free.full_marginals(errors)
    held = model.clamped != FREE
    all_errors[:, held] = 0.0
    all_marginals = free.full_marginals(marginals)
    ground = float(kept.lowest.min())
    limits = np.where(zero, 0.0, wanted)
    return Equilibrium(
        model=model,
        temperatures=wanted,
        marginals=all_marginals,
        edge_agreement=free.full_agreement(agreement, all_marginals),
        mean_energy=mean,
        heat_capacity=heat_capacity(variance, limits),
        log_partition=None if kept.density is None else log_partition(ground, log_z, limits),
        std_error=all_errors,
        agreement_std_error=_full_agreement_error(free, agreement_errors, all_errors),
        converged=trusted & (errors.max(axis=(1, 2), initial=0.0) <= kept.tol),
        engine=kept.engine,
        diagnostics=kept.diagnostics,
        evaluate=None if kept.density is None else partial(_evaluate, kept),
    )


def _evaluate(kept: _Kept, temperatures: FloatArray) -> Equilibrium:
    """Averages at other temperatures by reweighting the kept labellings."""
    wanted = temperature_array(temperatures)
    result = _assemble(kept, wanted, wanted == 0, None, None)
    _warn(result, kept.tol)
    return result


def _ground_found(kept: _Kept) -> bool:
    """Whether the lowest energy is likely the least: all ladders saw it, a cut confirms it."""
    resolution = kept.free.model.energy_resolution
    lowest = float(kept.lowest.min())
    kept_lowest = min(float(e.min()) for e in kept.energies)
    if kept_lowest > lowest + resolution or float(kept.lowest.max()) > lowest + resolution:
        return False
    ground = ground_state(kept.free.model)
    if ground is None:
        return True
    # The cut works with rounded capacities, hence the wider margin.
    margin = 1e-6 * float(np.abs(kept.free.model.couplings).sum()) + resolution
    return lowest <= float(kept.free.model.energy(ground)) + margin


def _full_agreement_error(
    free: FreePart, free_error: FloatArray, marginal_error: FloatArray
) -> FloatArray:
    """Errors of all agreements: at a clamped end, that of the other end's marginal."""
    model = free.model
    errors = np.zeros((len(free_error), model.graph.n_edges))
    errors[:, free.edge_ids] = free_error
    u, v = model.graph.edges.T
    for one, other in ((u, v), (v, u)):
        border = np.flatnonzero((model.clamped[one] == FREE) & (model.clamped[other] != FREE))
        errors[:, border] = marginal_error[:, one[border], model.clamped[other[border]]]
    return errors


def _nothing_free(name: str, free: FreePart, wanted: FloatArray) -> Equilibrium:
    """All nodes are clamped: there is one labelling."""
    count = len(wanted)
    marginals = free.full_marginals(np.zeros((count, 0, free.model.n_states)))
    agreement = free.full_agreement(np.zeros((count, 0)), marginals)
    return Equilibrium(
        model=free.model,
        temperatures=wanted,
        marginals=marginals,
        edge_agreement=agreement,
        mean_energy=np.full(count, free.constant),
        heat_capacity=np.zeros(count),
        log_partition=log_partition(free.constant, np.zeros(count), wanted),
        std_error=np.zeros_like(marginals),
        agreement_std_error=np.zeros_like(agreement),
        converged=np.ones(count, dtype=bool),
        engine=name,
        evaluate=partial(_nothing_free, name, free),
    )


def _warn(result: Equilibrium, tol: float) -> None:
    if np.all(result.converged):
        return
    assert result.std_error is not None
    missed = ~result.converged
    worst = float(result.std_error[missed].max())
    listed = ", ".join(f"{t:g}" for t in np.unique(result.temperatures[missed]))
    warnings.warn(
        f"not converged to tol={tol:g} at T = {listed} (standard error up to {worst:.2g}): "
        "raise max_seconds or max_sweeps, or ask for higher temperatures",
        ConvergenceWarning,
        stacklevel=4,
    )
