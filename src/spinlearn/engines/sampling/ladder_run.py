"""LadderRun: independent ladders of walkers, one at every level, which stay at their temperature.

With the dynamics `components`, neighbours exchange the parts in which they differ. Half of the
ladders are cooled: from the hottest level to where belief propagation expects classes to freeze,
then on from a draw of its law there. The others start in the coldest labelling known. Averages in
which the two kinds differ have not forgotten their start.
With `held` nothing is exchanged, and every walker starts at random.

Phases: *start*; *burn-in*, until the two kinds of start agree, or come no nearer; *production*,
which begins afresh where energies still drift. Levels on which the answer does not rest are swept
every RARE steps.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from spinlearn.engines.messages.approximation import Approximation
from spinlearn.engines.sampling.density import EnergyBins, exchanged_eta, overlaps
from spinlearn.engines.sampling.equilibration import (
    FALSE_ALARM,
    HASTY_ALARM,
    MAX_DRIFT,
    contrast,
    contrast_limit,
    drift,
    slope_breaks,
)
from spinlearn.engines.sampling.ladder import first_cold_level, place_levels
from spinlearn.engines.sampling.move_sets import cold_regions, region_tries
from spinlearn.engines.sampling.rounds import Tallies, blocks_by_energy, refuse_large_sums
from spinlearn.engines.sampling.run import PRODUCTION, SamplingRun, least_energy
from spinlearn.engines.sampling.walkers import Walkers
from spinlearn.errors import ConvergenceWarning
from spinlearn.kernels.rng import make_stream
from spinlearn.minimizers import minimize
from spinlearn.minimizers.annealing import descend_walkers
from spinlearn.minimizers.minimum import Minimum
from spinlearn.model.arrays import BoolArray, FloatArray, IndexArray, StateArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.kernel_arguments import kernel_model
from spinlearn.model.phases import COARSE_SIZE, temperature_grid

LADDERS = (16, 8)  # fewer for large models
SMALL = 3e5  # nodes and edges times levels, up to which there are more ladders
PILOT_LEVELS = 24  # besides those asked for, at most
ROUND_STEPS = 10
ROUND_WORK = 3e7  # node and edge visits of a round, beyond which it has fewer steps
BURN_STEPS = 12  # of the first window of burn-in
BURN_GROWTH = 1.5  # of a window over the one before
BURN_WINDOWS = 7
HELD_STEPS = 60  # of burn-in where nothing is exchanged
FIRST_CHECK = 16  # steps of production
CHECK_GROWTH = 1.35
AGREED = 0.2  # of a fall in energy: two kinds of start that differ by less are on one side of it
SEPARATE = 5.0  # independent rounds of a ladder: with fewer, what it began with still weighs
UNSTEADY = 4.0  # standard errors by which energies drift where measurements begin again
CLEARLY_HOTTER = 1.2  # times the hottest temperature asked for: levels above are of use
RARE = 8  # steps from one sweep to the next of levels that are of no concern
NEIGHBOURS = 2  # levels on either side of one that matters, which matter too
FEW = 4  # levels, if all depends on so few, are swept many times a step:
FEW_WORK = 5e5  # node and edge visits of a step that they share
FEW_REPEATS = (8, 256)  # least (where a settled answer is asked for) and most sweeps of each
CHEAP = 2_000  # nodes and edges, below which a step has several sweeps
MOST_REPEATS = 8  # of those
PRECISE = 0.7  # of the tolerance: levels with smaller errors are swept rarely
FAR_OFF = 4.0  # times the tolerance: while the largest error is beyond,
LAGGING = 0.5  # levels with errors below this part of it are swept rarely, too
MAX_WORK = 2e10  # node and edge visits of all walkers, about five minutes


class LadderRun(SamplingRun):
    """Ladders with one walker per level."""

    n_seeds: ClassVar[int] = max(LADDERS)
    arrays: ClassVar[tuple[str, ...]] = ("strides", "repeats")
    numbers: ClassVar[tuple[str, ...]] = (
        *SamplingRun.numbers, "joined", "window", "window_round", "apart", "gap", "afresh", "stale",
        "unready", "looks", "settled", "changing",
    )  # fmt: skip

    joined = False  # whether energies of neighbouring levels overlap
    window, window_round = 0, 0  # of burn-in
    apart = 0  # levels at the end of the last window that remembered their start
    gap = 0.0  # energy by which those did where classes melt
    afresh = 0  # times that measurements began again
    stale = False  # whether they are to, at the next round: until then a stop has them
    unready = False  # whether the averages are not to be told yet, however precise they are
    looks = 0  # at the answer
    settled = False  # what was said of it last,
    changing: float | None = None  # and the upper limit of the share that changes

    # -- start ---------------------------------------------------------------------------------

    def _set_up(self) -> None:
        refuse_large_sums(self.model, LADDERS[1], len(self.requested))
        self.phase = "burn-in"
        if self.dynamics == "held":
            self.lay_out(EnergyBins(np.array([0.0, 1.0])))  # bins are not used
            return
        self._report("ladder", 0.02)
        self.log_z_first = len(self.model.free_nodes) * float(np.log(self.model.n_states))
        # Where to look first: at beta = 0, and down to all that are requested. Where only cold ones
        # are, levels above them lead to where walkers forget.
        looked_at = self.requested
        if self.requested[0] > 0:
            grid = temperature_grid(self.model, COARSE_SIZE)[1:]
            above = 1 / grid[grid * self.requested[0] > CLEARLY_HOTTER]
            looked_at = np.concatenate([[0.0], np.sort(above), self.requested])
        expected = Approximation.of(
            self.model, looked_at, lambda: self._report("start", 0.05) or self._late(0.3)
        )
        cold = self._start_cooled() if expected is None else self._start_from(expected)
        # Every other ladder in the coldest labelling known; regions in which cold ones differ.
        minimum = self._minimum.labels
        regions, coldest = cold_regions(self.model, cold, minimum, self.library_seed)
        self._use_regions(regions, region_tries(self.model, regions))
        for group in self.groups[1::2]:
            group.put_states(np.tile(coldest, (len(self.betas), 1)))

    def _start_from(self, expected: Approximation) -> StateArray:
        """Every other ladder by the law of an approximation; its cold labellings and theirs."""
        first = int(self.requested[0] > 0)
        self.betas, self.joined = place_levels(
            expected.betas[first:], expected.energies[first:], float(expected.energies[0])
        )
        means = np.interp(self.betas, expected.betas, expected.energies)
        slopes = -np.gradient(means, self.betas) if len(self.betas) > 1 else np.zeros(1)
        widths = np.sqrt(np.maximum(slopes, 0.0)) + 1e-9 * (self.model.energy_scale or 1.0)
        self._lay_out_levels(means, widths)
        likeliest = expected.marginals.argmax(axis=2).astype(np.int8)
        labellings = [np.unique(likeliest, axis=0)]
        clamped = self.model.clamped >= 0
        for g in range(0, self.n_blocks, 2):
            states = expected.draw(self.betas, np.random.default_rng(self.seeds[g]))
            states[:, clamped] = self.model.clamped[clamped]
            self.groups[g].put_states(states)
            labellings.append(self._cooled(self.groups[g]))
        return np.concatenate(labellings)

    def _cooled(self, group: Walkers) -> StateArray:
        """Walkers of a ladder, each come from the one before it; the labellings of the cold ones.

        Belief propagation knows one valley; whoever is cooled falls into one of several. Where it
        says that classes freeze, walkers come from above all the same: they may do so further down.
        """
        drawn = group.states()
        states = drawn.copy()
        for level in range(1, len(self.betas)):
            before = drawn if level == self.first_cold + 1 else states
            states[level] = before[level - 1]
            group.active = np.array([level])
            group.put_active_states(states[level : level + 1])
            group.sweep(group.cooling_sweeps)
            states[level] = group.active_states()[0]
        group.active = np.arange(group.n_walkers)
        return np.asarray(states[self.first_cold + 1 :])

    def _start_cooled(self) -> StateArray:
        """The same with a pilot that is cooled, one walker for every ladder."""
        pilot = self.kind(self.model, self.pilot_seed, LADDERS[1])
        ladder = self._cool([pilot], PILOT_LEVELS, by_parts=True)
        self._lay_out_levels(ladder.means, ladder.deviations)
        for g in range(0, self.n_blocks, 2):
            # Neighbouring levels start from different walkers, hence in different valleys.
            states = np.stack([s[(g + k) % len(s)] for k, s in enumerate(ladder.states)])
            self.groups[g].put_states(states)
        return np.concatenate(ladder.states[self.first_cold :])

    def _lay_out_levels(self, means: FloatArray, widths: FloatArray) -> None:
        """Sums and groups, by what is expected of the energies at all levels."""
        lowest = float(min(self._minimum.energy, means.min()))
        self.lay_out(EnergyBins.of(self.model, means, widths, lowest))
        self.first_cold = first_cold_level(widths)

    @cached_property
    def _minimum(self) -> Minimum:
        minimum = least_energy(self.model, lambda: self._late(0.2))
        if minimum is not None:
            return minimum
        # With one seed: T = 0 is the same whatever the seed of the walkers.
        term = self.model.class_penalty
        return minimize(self.model, "auto" if term is None else "hasty", seed=0)

    def lay_out(self, bins: EnergyBins) -> None:
        model, n_levels = self.model, len(self.betas)
        self.n_blocks = LADDERS[0] if n_levels * self.size <= SMALL else LADDERS[1]
        self.groups = [self.kind(model, seed, n_levels) for seed in self.seeds[: self.n_blocks]]
        for group in self.groups:
            group.use_ladder(self.betas, like=self.groups[0])
            group.levels[:] = np.arange(n_levels)
            group.apply_levels()
        self.tallies = Tallies(
            model, self.betas, self.requested, bins, self.n_blocks,
            by_energy=self.joined and blocks_by_energy(model, bins) >= self.n_blocks,
            by_level=True,
        )  # fmt: skip
        step_work = float(self.n_blocks * n_levels * self.size)  # node and edge visits
        steps = ROUND_WORK / max(step_work * self.kind.sweeps_per_step, 1)
        self.round_steps = int(np.clip(steps, 1, ROUND_STEPS))
        # Sweeps of a step: several in small models, where all else costs more than a sweep.
        few = (self.settings.max_sweeps or np.inf) < MOST_REPEATS * FIRST_CHECK
        self.step_sweeps = 1
        if not few and self.dynamics != "held":
            self.step_sweeps = int(np.clip(CHEAP / max(self.size, 1), 1, MOST_REPEATS))
        self.round_sweeps = self.round_steps * self.kind.sweeps_per_step * self.step_sweeps
        self._pace_evenly()
        most = max(int(MAX_WORK / step_work), 2 * FIRST_CHECK)
        self.max_sweeps = self.settings.max_sweeps or most

    def _pace_evenly(self) -> None:
        """All levels alike, but for those above all that are requested, where everything melts."""
        melted = 1 / temperature_grid(self.model)[-1]
        hot = self.betas < min(melted, self.requested[0])
        self.strides = np.where(hot, RARE, 1)
        self.repeats = np.full(len(hot), self.step_sweeps)

    # -- burn-in -------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Windows of growing length, until both kinds of start have the same energies."""
        held = self.dynamics == "held"
        windows = 1 if held else BURN_WINDOWS
        while self.window < windows:
            steps = int(HELD_STEPS if held else BURN_STEPS * BURN_GROWTH**self.window)
            self._burn(-(-steps // self.round_steps), self.window / windows)
            if self.stopped:
                return
            differ = np.flatnonzero(self._apart(HASTY_ALARM) & self._concerned())
            melting = differ[differ <= self.first_cold]
            apart, gap = len(differ), float(np.sum(self._gaps()[melting]))
            enough = self.sweeps >= 0.3 * self.max_sweeps or self._late(0.4)
            stuck = self.window >= 2 and apart >= self.apart and gap >= self.gap
            self.window, self.window_round = self.window + 1, 0
            self.apart, self.gap = apart, gap
            if apart == 0 or enough or stuck:
                break
            if len(melting):  # many sweeps help there, further down only exchanges do
                self._focus_on(melting, np.ones(len(melting)))
        self._pace_evenly()
        moves = np.sum([group.region_moves for group in self.groups], axis=0)
        regions = self.regions.busy(self.model, moves)
        self._use_regions(regions, region_tries(self.model, regions))
        self.burn_rounds, self.rounds = self.rounds, 0
        self.tallies.clear()
        self.phase, self.next_check = PRODUCTION, FIRST_CHECK

    def _burn(self, rounds: int, fraction: float) -> None:
        """A window, of which the second half is looked at."""
        while self.window_round < rounds:
            if self.window_round == 0:
                self.tallies.clear()
            self._advance(measure=2 * self.window_round >= rounds - 1)
            self.rounds += 1
            self.window_round += 1
            self._report("burn-in", 0.1 + 0.2 * fraction)
            self._save()
            if self.stopped or self._late(0.5):
                return

    def _concerned(self) -> BoolArray:
        """Levels on which the answer rests, or all where none is asked for."""
        if self.until is None or self.settings.tol is not None:
            return np.ones(len(self.betas), dtype=np.bool_)
        return self._with_neighbours(self._levels_of(self.until.rests_on(LadderView(self))))

    def _levels_of(self, temperatures: FloatArray) -> IndexArray:
        """The levels of some of the temperatures asked for."""
        with np.errstate(divide="ignore"):
            betas = np.minimum(1 / temperatures, self.requested[-1])
        return np.unique(np.abs(np.subtract.outer(betas, self.betas)).argmin(axis=1))

    def _with_neighbours(self, levels: IndexArray) -> BoolArray:
        marked = np.zeros(len(self.betas), dtype=np.bool_)
        for offset in range(-NEIGHBOURS, NEIGHBOURS + 1):
            marked[np.clip(levels + offset, 0, len(marked) - 1)] = True
        return marked

    def _apart(self, alarm: float) -> BoolArray:
        """Levels whose energies tell how a ladder started, see `equilibration`."""
        means = self.tallies.energies.block_means()
        starts = np.arange(len(means)) % 2
        limit = contrast_limit(len(means), alarm)
        apart = np.zeros(len(self.betas), dtype=np.bool_)
        for k in np.flatnonzero(np.all(np.isfinite(means), axis=0)):
            apart[k] = contrast(means[:, k], starts) > limit
        return apart

    def _gaps(self) -> FloatArray:
        """How far the energies of the two kinds of start are from each other, (K,)."""
        means = self.tallies.energies.block_means()
        return np.asarray(np.abs(means[::2].mean(axis=0) - means[1::2].mean(axis=0)))

    # -- production ----------------------------------------------------------------------------

    def _produce(self) -> None:
        while not self.stopped:
            if self.stale:
                # What was measured so far is burn-in: some barriers fall to many sweeps alone.
                self.afresh, self.stale = self.afresh + 1, False
                self.burn_rounds, self.rounds = self.burn_rounds + self.rounds, 0
                self.tallies.clear()
                self.next_check = FIRST_CHECK
            self._advance(measure=True)
            self.rounds += 1
            done = self._used_up() or self._late(1.0)
            if self.rounds * self.round_steps >= self.next_check or done:
                self.next_check = int(CHECK_GROWTH * self.rounds * self.round_steps) + 1
                done = self._check() or done
                self.stale = not done and self._remembers()
            ratio = self.tolerance / self.worst if self.worst > 0 else 1.0
            ratio = ratio**2 if self.changing is None else 0.25
            progress = 0.3 + 0.7 * min(max(ratio, self.sweeps / self.max_sweeps), 0.99)
            self._report(PRODUCTION, 1.0 if done else progress)
            self._save(now=done)  # more time may follow
            if done:
                break

    def _remembers(self) -> bool:
        """Whether levels that are swept at every step drift, or tell how their ladders started.

        Measurements that begin again must first have gone on for twice as long as before: so no
        more than half of the work is ever thrown away in vain.
        """
        steps = self.rounds * self.round_steps
        if steps < FIRST_CHECK * 2**self.afresh or self.dynamics == "held":
            return False
        if self.sweeps >= 0.3 * self.max_sweeps or self._late(0.5):
            return False
        assert self.tallies.levels is not None
        moved = drift(*self.tallies.energies.halves()) > UNSTEADY
        limit = contrast_limit(self.n_blocks, HASTY_ALARM)
        by_rounds = self.tol is not None and self.rounds >= 2 * SEPARATE
        moved[np.searchsorted(self.betas, self.requested)] |= [
            row.contrast > limit or (by_rounds and row.separate < SEPARATE)
            for row in self.tallies.levels.rows()
        ]
        return bool(np.any(moved & (self.strides == 1)))

    def _check(self) -> bool:
        """Look at the errors; turn to the levels that need it; true if all is well."""
        assert self.tallies.levels is not None
        quality = [(row.worst_error, row.separate) for row in self.tallies.levels.rows()]
        errors, separate = np.array(quality).T
        self.worst = float(errors.max())
        if self.until is None or self.settings.tol is not None:
            least = PRECISE * self.tolerance
            if self.worst > FAR_OFF * self.tolerance:
                least = max(least, LAGGING * self.worst)
            lagging, remembers = errors > least, separate < SEPARATE
            need = lagging | remembers
            rows = np.searchsorted(self.betas, self.requested)
            self._focus_on(rows[need], (errors * lagging)[need])
            self.unready = bool(np.any(remembers))
            if self._precise:
                # What is told in the end may be reweighted: to T = 0, for instance.
                so_far = LadderView(self).equilibrium()
                self.unready = not np.all(so_far.converged | ~np.asarray(so_far.equilibrated))
            return self._precise
        self.looks += 1
        verdict = self.until(LadderView(self), self.looks)
        self.settled, self.changing = verdict.settled, verdict.changing
        self._focus_on(self._levels_of(verdict.temperatures))
        return verdict.settled

    def _focus_on(self, levels: IndexArray, errors: FloatArray | None = None) -> None:
        """Sweep these levels and their neighbours at every step, others rarely.

        A few are swept many times a step, in proportion to the squares of their errors if those
        are given; but of cold ones none, for only what comes from above helps them.
        """
        matter = self._with_neighbours(levels)
        least, most = FEW_REPEATS
        shares = np.ones(len(levels))
        if errors is not None:
            cold = self.first_cold + NEIGHBOURS
            matter[cold : levels.max(initial=0) + 1] = True
            melting = (levels <= cold) & (errors > 0)
            levels, errors = levels[melting], errors[melting]
            least, shares = self.step_sweeps, (errors / errors.max(initial=0.0)) ** 2
        self.strides = np.where(matter, 1, RARE)
        self.repeats = np.full(len(matter), self.step_sweeps)
        if 0 < len(levels) <= FEW:
            often = FEW_WORK * shares / (max(self.size, 1) * shares.sum())
            self.repeats[levels] = np.clip(often, least, most)

    # -- result --------------------------------------------------------------------------------

    def _ensemble(self) -> FloatArray | None:
        tallies = self.tallies
        if tallies.sums is None or not np.all(overlaps(self.betas, tallies.energies)):
            return None
        return exchanged_eta(tallies.histogram, self.betas, tallies.energies)

    def finished(self) -> bool:
        if self.phase != PRODUCTION:
            return False
        return (self.settled if self.tol is None else self._precise) or self._used_up()

    @property
    def _precise(self) -> bool:
        return self.worst <= self.tolerance and not self.unready

    def _used_up(self) -> bool:
        """Whether another round would exceed the limit in sweeps."""
        return self.sweeps * (1 + 1 / max(self.rounds, 1)) > self.max_sweeps

    def unsettled(self) -> BoolArray:
        """Levels whose energies remember their start, drift, or contradict their fluctuations.

        See `equilibration`. Down to the first cold one, walkers have come to every level from above
        and from below. Where those two kinds agree, a fall between two levels is no barrier,
        however steep.
        """
        if self.dynamics == "held":
            return np.zeros(len(self.betas), dtype=np.bool_)
        energies = self.tallies.energies
        unsettled = self._apart(FALSE_ALARM) | (drift(*energies.halves()) > MAX_DRIFT)
        seen = np.flatnonzero(energies.visits > 0)
        means, variances = (moment[seen] for moment in energies.moments())
        gaps = self._gaps()[seen]
        crossed = np.maximum(gaps[1:], gaps[:-1]) < AGREED * np.abs(np.diff(means))
        crossed &= seen[1:] <= self.first_cold
        errors = energies.errors()[seen]
        unsettled[seen] |= slope_breaks(self.betas[seen], means, variances, errors, crossed)
        return unsettled

    def _least(self) -> tuple[Minimum | None, StateArray]:
        """The least energy known once the coldest walkers have been taken down from where they are.

        They go to where no single node can improve them.
        """
        minimum, model = self._minimum, self.model
        if self.dynamics == "held":
            return super()._least()
        if minimum.exact:
            return minimum, minimum.labels[None]
        states = np.concatenate([group.states()[-1:] for group in self.groups])
        descend_walkers(states, model, kernel_model(model), make_stream(self.library_seed))
        energies = np.asarray(model.energy(states))
        lowest = int(np.argmin(energies))
        if energies[lowest] < minimum.energy - model.energy_resolution:
            minimum = replace(minimum, labels=states[lowest], energy=float(energies[lowest]))
        equal = energies <= minimum.energy + model.energy_resolution
        return minimum, np.concatenate([minimum.labels[None], states[equal]])

    def _diagnostics(self) -> dict[str, Any]:
        met = sum((group.exchanged[0] for group in self.groups), np.zeros((len(self.betas), 2)))
        return {
            **super()._diagnostics(),
            "exchange_rates": met[:-1, 1] / np.maximum(met[:-1, 0], 1),
            "burn_in_sweeps": self.burn_rounds * self.round_steps,
            "settled": self.settled,
            "changing": self.changing,
        }


class LadderView:
    """What independent ladders have measured so far, as a `RunView`."""

    def __init__(self, run: LadderRun) -> None:
        assert run.tallies.levels is not None
        self._run, self._sums, self.n_ladders = run, run.tallies.levels, run.n_blocks
        self._blocks = lru_cache(maxsize=1)(self._sums.blocks)  # of a row, for the next move
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said of the result, if at all
            self._whole = replace(run.equilibrium(), evaluate=None, reweights=False)

    def equilibrium(self) -> Equilibrium:
        """Averages over all ladders, with their errors."""
        return self._whole

    def moved(self, weights: FloatArray, temperature: float | None = None) -> Equilibrium:
        """The averages, moved by so many times the deviation of every ladder."""
        free, whole, requested = self._sums.free, self._whole, self._run.requested
        if temperature is not None:
            whole = whole.take(np.flatnonzero(whole.temperatures == temperature)[:1])
        marginals, agreement = whole.marginals.copy(), whole.edge_agreement.copy()
        for t, at in enumerate(whole.temperatures):
            if whole.std_error is None or not np.any(whole.std_error[t]):
                continue  # nothing to doubt
            row = int(np.argmin(np.abs(requested - (1 / at if at else requested[-1]))))
            blocks, _, (nodes, edges) = self._blocks(row)
            there = weights[blocks] - weights[blocks].mean()
            off = free.full_marginals(np.tensordot(there, nodes, axes=1)[None])[0]
            off[self._run.model.clamped >= 0] = 0.0
            marginals[t] = np.clip(marginals[t] + off, 0.0, 1.0)
            moved = np.tensordot(there, edges, axes=1)
            agreement[t, free.edge_ids] = np.clip(agreement[t, free.edge_ids] + moved, 0.0, 1.0)
        return replace(whole, marginals=marginals, edge_agreement=agreement)
