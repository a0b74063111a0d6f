"""LadderRun: independent ladders of walkers, one at every level, which stay at their temperature.

With the dynamics `components`, neighbours exchange the parts in which they differ. Half of the
ladders are cooled, from above to where belief propagation expects classes to freeze and on from
what it expects there, the others start in the coldest labelling known: averages in which the two
kinds differ have not forgotten the start.
With `held` nothing is exchanged, and every walker starts at random.

Phases: *start*; *burn-in*, until the two kinds of start agree, or do not come nearer any more;
*production*, which begins afresh where energies still drift. Levels on which the answer does not
rest are swept every RARE steps.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

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
from spinlearn.engines.sampling.ground_state import deepest, least_energy
from spinlearn.engines.sampling.ladder import first_cold_level, place_levels
from spinlearn.engines.sampling.move_sets import cold_regions, region_tries
from spinlearn.engines.sampling.rounds import Pace, Tallies, blocks_by_energy, refuse_large_sums
from spinlearn.engines.sampling.run import PRODUCTION, SamplingRun
from spinlearn.engines.sampling.walkers import Walkers
from spinlearn.errors import ConvergenceWarning
from spinlearn.files.arrays import Arrays
from spinlearn.minimizers import minimize
from spinlearn.minimizers.minimum import Minimum
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray
from spinlearn.model.equilibrium import Equilibrium
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
FEW = 4  # levels on which all depends: they are swept so often that, in node and edge visits,
FEW_WORK = 5e5  # they cost more than all the rest of a step, but no fewer (where an answer
FEW_REPEATS = (8, 256)  # is asked for) and no more times than this
CHEAP = 2_000  # nodes and edges, below which a step has several sweeps,
MOST_REPEATS = 8  # but no more than this
PRECISE = 0.7  # of the tolerance: levels with smaller errors are swept rarely;
FAR_OFF = 4.0  # times the tolerance: while the largest error is beyond, so are levels
LAGGING = 0.5  # with less than this part of it
MAX_WORK = 2e10  # node and edge visits of all walkers, about five minutes


class LadderRun(SamplingRun):
    """Ladders with one walker per level."""

    n_seeds: ClassVar[int] = max(LADDERS)
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
        if self.dynamics == "held":
            self.lay_out(EnergyBins(np.array([0.0, 1.0])))  # bins are not used
            self.phase = "burn-in"
            return
        self._report("ladder", 0.02)
        self.log_z_first = len(self.model.free_nodes) * float(np.log(self.model.n_states))
        found = Approximation.of(
            self.model, self._places(), lambda: self._report("start", 0.05) or self._late(0.3)
        )
        if found is None:
            self._start_cooled()
        else:
            self._start_from(found)
        self.phase = "burn-in"

    def _places(self) -> FloatArray:
        """Inverse temperatures at which to look first: 0, and down to all that are requested.

        Where only cold ones are, levels above them lead to where walkers forget.
        """
        hottest = self.requested[0]
        if hottest == 0:
            return self.requested
        grid = temperature_grid(self.model, COARSE_SIZE)[1:]
        above = 1 / grid[grid * hottest > CLEARLY_HOTTER]
        return np.concatenate([[0.0], np.sort(above), self.requested])

    def _start_from(self, found: Approximation) -> None:
        """Ladders by the law of an approximation, and in the coldest labelling."""
        first = int(self.requested[0] > 0)
        self.betas, self.joined = place_levels(
            found.betas[first:], found.energies[first:], float(found.energies[0])
        )
        means = np.interp(self.betas, found.betas, found.energies)
        slopes = -np.gradient(means, self.betas) if len(self.betas) > 1 else np.zeros(1)
        widths = np.sqrt(np.maximum(slopes, 0.0)) + 1e-9 * (self.model.energy_scale or 1.0)
        self._lay_out_levels(means, widths)
        likeliest = found.marginals.argmax(axis=2).astype(np.int8)
        labellings = [np.unique(likeliest, axis=0)]
        held = self.model.clamped >= 0
        for g in range(0, self.n_blocks, 2):
            states = found.draw(self.betas, np.random.default_rng(self.seeds[g]))
            states[:, held] = self.model.clamped[held]
            self.groups[g].put_states(states)
            labellings.append(self._cooled(self.groups[g]))
        self._start_coldest(np.concatenate(labellings))

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

    def _start_cooled(self) -> None:
        """The same with a pilot that is cooled, one walker for every ladder."""
        pilot = self.kind(self.model, self.pilot_seed, LADDERS[1])
        ladder = self._cool([pilot], PILOT_LEVELS, by_parts=True)
        self._lay_out_levels(ladder.means, ladder.deviations)
        for g in range(0, self.n_blocks, 2):
            # Neighbouring levels start from different walkers, hence in different valleys.
            states = np.stack([s[(g + k) % len(s)] for k, s in enumerate(ladder.states)])
            self.groups[g].put_states(states)
        self._start_coldest(np.concatenate(ladder.states[self.first_cold :]))

    def _lay_out_levels(self, means: FloatArray, widths: FloatArray) -> None:
        """Sums and groups, by what is expected of the energies at all levels."""
        lowest = float(min(self._minimum.energy, means.min()))
        self.lay_out(EnergyBins.of(self.model, means, widths, lowest))
        self.first_cold = first_cold_level(widths)

    def _start_coldest(self, labellings: StateArray) -> None:
        """Every other ladder in the coldest labelling known; regions in which cold ones differ."""
        model, ground = self.model, self._minimum.labels
        regions, coldest = cold_regions(model, labellings, ground, self.library_seed)
        self._use_regions(regions, region_tries(model, regions))
        for group in self.groups[1::2]:
            group.put_states(np.tile(coldest, (len(self.betas), 1)))

    @cached_property
    def _minimum(self) -> Minimum:
        found = least_energy(self.model, lambda: self._late(0.2))
        if found is not None:
            return found
        # With one seed: T = 0 is the same whatever the seed of the walkers.
        term = self.model.class_penalty
        return minimize(self.model, "auto" if term is None else "hasty", seed=0)

    def lay_out(self, bins: EnergyBins) -> None:
        model, n_levels = self.model, len(self.betas)
        self.n_blocks = LADDERS[0] if n_levels * self.size <= SMALL else LADDERS[1]
        self.groups = [self.kind(model, seed, n_levels) for seed in self.seeds[: self.n_blocks]]
        self.groups[0].use_ladder(self.betas)
        for group in self.groups:
            group.use_ladder_of(self.groups[0])
            group.levels[:] = np.arange(n_levels)
            group.apply_levels()
        self.tallies = Tallies.empty(
            model, self.betas, self.requested, bins, self.n_blocks,
            by_energy=self.joined and blocks_by_energy(model, bins) >= self.n_blocks,
            by_level=True,
        )  # fmt: skip
        step_work = float(self.n_blocks * n_levels * self.size)  # node and edge visits
        steps = ROUND_WORK / max(step_work * self.kind.sweeps_per_step, 1)
        self.round_steps = int(np.clip(steps, 1, ROUND_STEPS))
        self.pace = self._first_pace()
        most = max(int(MAX_WORK / step_work), 2 * FIRST_CHECK)
        self.max_sweeps = self.settings.max_sweeps or most

    def _first_pace(self) -> Pace:
        """All levels alike, but for those above all that are requested, where everything melts."""
        pace = Pace.even(len(self.betas), self._repeats)
        melted = 1 / temperature_grid(self.model)[-1]
        pace.strides[self.betas < min(melted, self.requested[0])] = RARE
        return pace

    @property
    def _repeats(self) -> int:
        """Sweeps of a step: several in small models, where all else costs more than a sweep."""
        few = (self.settings.max_sweeps or np.inf) < MOST_REPEATS * FIRST_CHECK
        if few or self.dynamics == "held":
            return 1
        return int(np.clip(CHEAP / max(self.size, 1), 1, MOST_REPEATS))

    @property
    def round_sweeps(self) -> int:
        """Sweeps of every walker in a round, at least."""
        return super().round_sweeps * self._repeats

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
                self._turn_to(melting, np.ones(len(melting)))
        self.pace = self._first_pace()
        moves = np.sum([group.region_moves for group in self.groups], axis=0)
        regions = self.regions.busy(moves)
        self._use_regions(regions, region_tries(self.model, regions))
        self.burn_rounds, self.rounds = self.rounds, 0
        self.tallies.clear()
        self.phase, self.next_check = PRODUCTION, FIRST_CHECK

    def _burn(self, rounds: int, fraction: float) -> None:
        """A window, of which the second half is looked at."""
        while self.window_round < rounds:
            if self.window_round == 0:
                self.tallies.clear()
            self._advance(measure=2 * self.window_round >= rounds - 1, pace=self.pace)
            self.rounds += 1
            self.window_round += 1
            self._report("burn-in", 0.1 + 0.2 * fraction)
            self._save()
            if self.stopped or self._late(0.5):
                return

    def _concerned(self) -> BoolArray:
        """Levels on which the answer rests, or all where none is asked for."""
        concerned = np.ones(len(self.betas), dtype=np.bool_)
        if self.until is not None and self.settings.tol is None:
            rests_on = self.until.rests_on(LadderView(self))
            concerned = self._with_neighbours(self._levels_of(rests_on))
        return concerned

    def _levels_of(self, temperatures: FloatArray) -> npt.NDArray[np.intp]:
        """The levels of some of the temperatures asked for."""
        with np.errstate(divide="ignore"):
            asked = np.minimum(1 / temperatures, self.requested[-1])
        return np.unique(np.abs(np.subtract.outer(asked, self.betas)).argmin(axis=1))

    def _with_neighbours(self, levels: npt.NDArray[np.intp]) -> BoolArray:
        marked = np.zeros(len(self.betas), dtype=np.bool_)
        for offset in range(-NEIGHBOURS, NEIGHBOURS + 1):
            marked[np.clip(levels + offset, 0, len(marked) - 1)] = True
        return marked

    def _apart(self, alarm: float) -> BoolArray:
        """Levels whose energies tell how a ladder started, see `equilibration`."""
        means = self.tallies.energies.block_means
        starts = np.arange(len(means)) % 2
        limit = contrast_limit(len(means), alarm)
        found = np.zeros(len(self.betas), dtype=np.bool_)
        for k in np.flatnonzero(np.all(np.isfinite(means), axis=0)):
            found[k] = contrast(means[:, k], starts) > limit
        return found

    def _gaps(self) -> FloatArray:
        """How far the energies of the two kinds of start are from each other, (K,)."""
        means = self.tallies.energies.block_means
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
            self._advance(measure=True, pace=self.pace)
            self.rounds += 1
            done = self._used_up() or self._late(1.0)
            if self.rounds * self.round_steps >= self.next_check or done:
                self.next_check = int(CHECK_GROWTH * self.rounds * self.round_steps) + 1
                done = self._check() or done
                self.stale = not done and self._remembers()
            self._report(PRODUCTION, 1.0 if done else self._progress())
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
        moved = drift(*self.tallies.series.halves()) > UNSTEADY
        limit = contrast_limit(self.n_blocks, HASTY_ALARM)
        told = self.tol is not None and self.rounds >= 2 * SEPARATE
        moved[np.searchsorted(self.betas, self.requested)] |= [
            row.contrast > limit or (told and row.separate < SEPARATE)
            for row in self.tallies.levels.qualities()
        ]
        return bool(np.any(moved & (self.pace.strides == 1)))

    def _check(self) -> bool:
        """Look at the errors; turn to the levels that need it; true if all is well."""
        assert self.tallies.levels is not None
        each = self.tallies.levels.worst_errors()
        self.worst = float(each.max())
        rows = np.searchsorted(self.betas, self.requested)
        if self.until is None or self.settings.tol is not None:
            least = PRECISE * self.tol_or_default
            if self.worst > FAR_OFF * self.tol_or_default:
                least = max(least, LAGGING * self.worst)
            qualities = self.tallies.levels.qualities()
            remembers = np.array([row.separate < SEPARATE for row in qualities])
            lagging = each > least
            self._turn_to(rows[lagging | remembers], (each * lagging)[lagging | remembers])
            self.unready = bool(np.any(remembers))
            if self.worst <= self.tol_or_default and not self.unready:
                # What is told in the end may be reweighted: to T = 0, for instance.
                found = LadderView(self).equilibrium()
                self.unready = not np.all(found.converged | ~np.asarray(found.equilibrated))
            return self._precise
        self.looks += 1
        verdict = self.until(LadderView(self), self.looks)
        self.settled, self.changing = verdict.settled, verdict.changing
        self._turn_to(self._levels_of(verdict.temperatures))
        return verdict.settled

    def _turn_to(self, levels: npt.NDArray[np.intp], errors: FloatArray | None = None) -> None:
        """Sweep these levels and their neighbours at every step, others rarely.

        A few are swept many times a step, in proportion to the squares of their errors if those
        are given; but of cold ones none, for only what comes from above helps them.
        """
        self.pace = Pace.even(len(self.betas), self._repeats)
        matter = self._with_neighbours(levels)
        least, most = FEW_REPEATS
        shares = np.ones(len(levels))
        if errors is not None:
            cold = self.first_cold + NEIGHBOURS
            matter[cold : levels.max(initial=0) + 1] = True
            melting = (levels <= cold) & (errors > 0)
            levels, errors = levels[melting], errors[melting]
            least, shares = self._repeats, (errors / errors.max(initial=0.0)) ** 2
        self.pace.strides[~matter] = RARE
        if 0 < len(levels) <= FEW:
            often = FEW_WORK * shares / (max(self.size, 1) * shares.sum())
            self.pace.repeats[levels] = np.clip(often, least, most)

    def _progress(self) -> float:
        ratio = self.tol_or_default / self.worst if self.worst > 0 else 1.0
        if self.changing is not None:
            ratio = 0.5
        return 0.3 + 0.7 * min(max(ratio**2, self.sweeps / self.max_sweeps), 0.99)

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
        return self.worst <= self.tol_or_default and not self.unready

    def _used_up(self) -> bool:
        """Whether another round would exceed the limit in sweeps."""
        return self.sweeps * (1 + 1 / max(self.rounds, 1)) > self.max_sweeps

    def unsettled(self) -> BoolArray:
        """Levels that have not reached equilibrium, as far as energies show."""
        if self.dynamics == "held":
            return np.zeros(len(self.betas), dtype=np.bool_)
        found = self._apart(FALSE_ALARM)
        found |= drift(*self.tallies.series.halves()) > MAX_DRIFT
        return np.asarray(found | self._energy_breaks())

    def _energy_breaks(self) -> BoolArray:
        """Levels whose energies contradict their fluctuations, see `equilibration`.

        Down to the first cold one, walkers have come to every level from above and from below.
        Where those two kinds agree, a fall between two levels is no barrier, however steep.
        """
        energies = self.tallies.energies
        seen = np.flatnonzero(energies.level_counts > 0)
        means, gaps = energies.means[seen], self._gaps()[seen]
        fall = np.abs(np.diff(means))
        crossed = np.maximum(gaps[1:], gaps[:-1]) < AGREED * fall
        crossed &= seen[1:] <= self.first_cold
        broken = np.zeros(len(self.betas), dtype=np.bool_)
        broken[seen] = slope_breaks(
            self.betas[seen], means, energies.variances[seen], energies.errors[seen], crossed
        )
        return broken

    def _least(self) -> tuple[Minimum | None, StateArray | None]:
        if self.dynamics == "held":
            return super()._least()
        coldest = np.concatenate([group.states()[-1:] for group in self.groups])
        return deepest(self.model, self._minimum, coldest, self.library_seed)

    def equilibrium(self) -> Equilibrium:
        """What has been measured so far."""
        return self._measured().equilibrium(self.wanted)

    def _diagnostics(self) -> dict[str, Any]:
        met = sum((group.exchanged[0] for group in self.groups), np.zeros((len(self.betas), 2)))
        return {
            **super()._diagnostics(),
            "exchange_rates": met[:-1, 1] / np.maximum(met[:-1, 0], 1),
            "burn_in_sweeps": self.burn_rounds * self.round_steps,
            "settled": self.settled,
            "changing": self.changing,
        }

    def own_arrays(self) -> Arrays:
        return {"strides": self.pace.strides, "repeats": self.pace.repeats}


BlockMeans = tuple[npt.NDArray[np.int64], FloatArray, FloatArray]


class LadderView:
    """What independent ladders have measured so far, as a `RunView`."""

    def __init__(self, run: LadderRun) -> None:
        self._run = run
        self.n_ladders = run.n_blocks
        self._kept: tuple[int, BlockMeans] | None = None

    def equilibrium(self) -> Equilibrium:
        """Averages over all ladders, with their errors."""
        return self._whole

    @cached_property
    def _whole(self) -> Equilibrium:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said of the result, if at all
            found = self._run.equilibrium()
        return replace(found, evaluate=None, reweights=False)

    def _means_of(self, row: int) -> BlockMeans:
        """Averages of every ladder; those of one row are kept, for the next move."""
        if self._kept is None or self._kept[0] != row:
            assert self._run.tallies.levels is not None
            self._kept = row, self._run.tallies.levels.block_means(row)
        return self._kept[1]

    def moved(self, weights: FloatArray, temperature: float | None = None) -> Equilibrium:
        """The averages, moved by so many times the deviation of every ladder."""
        sums = self._run.tallies.levels
        assert sums is not None
        whole = self._whole
        if temperature is not None:
            whole = whole.take(np.flatnonzero(whole.temperatures == temperature)[:1])
        free = sums.free
        marginals, agreement = whole.marginals.copy(), whole.edge_agreement.copy()
        for t, at in enumerate(whole.temperatures):
            beta = self._run.requested[-1] if at == 0 else 1 / at
            row = int(np.argmin(np.abs(self._run.requested - beta)))
            blocks, nodes, edges = self._means_of(row)
            if whole.std_error is None or not np.any(whole.std_error[t]):
                continue  # nothing to doubt
            there = weights[blocks] - weights[blocks].mean()
            off = free.full_marginals(np.tensordot(there, nodes, axes=1)[None])[0]
            off[self._run.model.clamped >= 0] = 0.0
            marginals[t] = np.clip(marginals[t] + off, 0.0, 1.0)
            moved = np.tensordot(there, edges, axes=1)
            agreement[t, free.edge_ids] = np.clip(agreement[t, free.edge_ids] + moved, 0.0, 1.0)
        return replace(whole, marginals=marginals, edge_agreement=agreement)
