"""One run of belief propagation: starts that follow a ladder of temperatures, the best kept.

The cooled start first goes down the ladder in haste, and leaves its ln Z on every rung. Then every
heated start goes up, and is looked at closely only where its ln Z is larger than any before, until
it has become the cooled one. At last the cooled start goes down again, and is looked at where
nothing better is known. (In large models it is looked at the first time.)
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spinlearn.engines.checkpoint import Checkpoint, Saved, misfit, rows_like
from spinlearn.engines.messages.layout import MessageLayout, has_one_fixed_point
from spinlearn.engines.messages.potts import PottsMessages, Reading
from spinlearn.engines.messages.propagation import ABOVE, Propagation, Settled, Settling
from spinlearn.engines.messages.tables import TableMessages
from spinlearn.errors import StoppedError
from spinlearn.minimizers import minimize
from spinlearn.minimizers.annealing import class_annealing
from spinlearn.model.arrays import FloatArray
from spinlearn.model.phases import SPAN, mean_field_temperature
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress

if TYPE_CHECKING:
    from spinlearn.engines.messages.belief_propagation import BeliefPropagation

RATIO = 1.2  # of neighbouring temperatures of the ladder
STEP = 3e-4  # relative, to either side of T, for the derivative of <E>
FINE_TOL = 1e-7  # of messages, from which on it is taken to one side only
SAME = 1e-6  # relative difference of ln Z within which fixed points are the same,
SAME_ENERGY = 1e-3  # and of <E>, which is not stationary
MANY_MESSAGES = 200_000  # from which time is saved where that costs little
REPORT_SECONDS = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """What messages say at one temperature, and which start led them there.

    `pairs` are laws of pairs, if they were asked for.
    """

    marginals: FloatArray
    agreement: FloatArray
    temperature: float
    reading: Reading
    settled: Settled
    heat_capacity: float
    start: int
    pairs: FloatArray | None = None

    @property
    def log_partition(self) -> float:
        """Bethe ln Z."""
        return self.reading.log_partition(self.temperature)

    def beats(self, other: FixedPoint) -> bool:
        """Whether this one is the better of two fixed points at one temperature."""
        if self.settled.settled != other.settled.settled:
            return self.settled.settled
        if np.isfinite(self.log_partition):
            return self.log_partition > other.log_partition
        mine, its = self.reading, other.reading
        return (mine.least_energy, -mine.log_count) < (its.least_energy, -its.log_count)  # T = 0

    def numbers(self) -> list[float]:
        """All that is a number."""
        told = (*astuple(self.reading), *astuple(self.settled))
        return [self.temperature, self.heat_capacity, self.start, *map(float, told)]

    @classmethod
    def of(cls, marginals: FloatArray, agreement: FloatArray, numbers: FloatArray) -> FixedPoint:
        """One whose `numbers` were saved."""
        temperature, capacity, start, energy, least, count, *told = numbers.tolist()
        broken, settled, residual, sweeps, damped = told
        reading = Reading(energy, least, count, int(broken))
        end = Settled(bool(settled), residual, int(sweeps), bool(damped))
        return cls(marginals, agreement, temperature, reading, end, capacity, int(start))


@dataclass(frozen=True, slots=True)
class Pass:
    """One way along the ladder: a start, and whether it is looked at closely."""

    start: int
    closely: bool


class MessageRun:
    """All starts of one run, at temperatures in any order.

    Of the edges `edge_ids` pairs of states are wanted, too; nothing is then saved.
    """

    def __init__(
        self,
        settings: BeliefPropagation,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        edge_ids: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self.settings, self.model, self.callback = settings, model, callback
        self.edge_ids, self.root = edge_ids, root
        self.layout = MessageLayout.of(model)
        self.wanted = sorted(set(wanted.tolist()), reverse=True)
        self.ladder = self._ladder()
        few = self.layout.n_slots <= MANY_MESSAGES
        n_starts = settings.n_starts or (2 if few else 1)
        if has_one_fixed_point(self.layout, min(self.wanted)):
            n_starts = 1  # all would lead there
        heated = range(1, n_starts)
        self.passes = [Pass(0, True), *(Pass(start, True) for start in heated)]
        if heated and few:
            # Where the ladder costs little beside what is looked at, it is cheaper to know first
            # who leads.
            self.passes = [Pass(0, False), *self.passes[1:], self.passes[0]]
        self.found: dict[float, FixedPoint] = {}
        # <E> and ln Z of every start on every rung, NaN where it has not been
        self.known: FloatArray = np.full((n_starts, len(self.ladder), 2), np.nan)
        self.under_way, self.rung = 0, -1  # the pass, and the last rung that it has left
        self.kept: dict[str, Any] = {}  # its messages there
        self.labelled: Any = None  # the labelling from which a heated start began
        self.sweeps = 0
        self.cut_short = False
        self.checkpoint = Checkpoint(
            settings.checkpoint if edge_ids is None else None, settings.checkpoint_seconds, model,
            self.wanted, root.entropy, root.spawn_key, settings.name, settings.n_starts,
            settings.minimizer, settings.tol, settings.max_sweeps, settings.schedule,
        )  # fmt: skip
        self.started = self.reported = perf_counter()
        self.before = 0.0
        self.propagation = Propagation(
            self.layout,
            Settling(
                float(settings.tol), int(settings.max_sweeps), settings.schedule, self._report
            ),
        )

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return self.before + perf_counter() - self.started

    def rows(self) -> dict[float, FixedPoint]:
        """The best fixed point at every temperature, or at those reached before a stop."""
        saved = self.checkpoint.load()
        if saved is not None:
            self._restore(saved)
        if self._asked_to_stop():
            self.propagation.settling.stopped = True
        while self.under_way < len(self.passes) and not self.propagation.stopped:
            if self._follow(self.passes[self.under_way]):
                self.under_way, self.rung, self.kept = self.under_way + 1, -1, {}
        self.cut_short = self.under_way < len(self.passes)
        self.checkpoint.save(self._state, now=self.cut_short)
        if not self.found:
            raise StoppedError("stopped before messages settled at any temperature")
        if not self.cut_short and self.callback is not None:
            self.callback(Progress(phase="belief propagation", fraction=1.0))
        return self.found

    def fixed_points(self, temperature: float) -> list[float]:
        """ln Z of the distinct fixed points on the rung at or above a temperature, best first."""
        rung = max((k for k, t in enumerate(self.ladder) if t >= temperature), default=0)
        distinct: list[FloatArray] = []
        for own in self.known[:, rung]:
            if not np.isnan(own[0]) and not any(_same(own, other) for other in distinct):
                distinct.append(own)
        return sorted((float(own[1]) for own in distinct), reverse=True)

    # -- one pass --------------------------------------------------------------------------------

    def _follow(self, way: Pass) -> bool:
        """Take a start along the ladder from where it is; false if it was stopped."""
        rungs, propagation = self._rungs(way), self.propagation
        if way.start == 0:
            self.labelled = None
        if self.rung >= 0:
            propagation.restore(self.kept, self.ladder[rungs[self.rung]])
        elif way.start == 0:
            propagation.start(self.root)
        else:
            self.labelled = self._labelling(way.start)
            propagation.start_from(self.labelled, self.ladder[rungs[0]])
        for step in range(self.rung + 1, len(rungs)):
            rung = rungs[step]
            if way == Pass(0, True) and self._left_behind(rung):
                return True
            settled = self._settle(self.ladder[rung], hasty=True)
            if propagation.stopped:
                return False
            kept = propagation.messages.arrays()
            reading = self._read()[2]
            own = np.array([reading.energy, reading.log_partition(self.ladder[rung])])
            if way.start > 0 and settled.settled and _same(own, self.known[0, rung]):
                return True  # the same fixed point as that of the cooled start, from here on
            self.known[way.start, rung] = own
            onward = rungs[step + 1] if step + 1 < len(rungs) else None
            if way.closely:
                for temperature in self._between(rung, onward, way.start):
                    propagation.restore(kept, self.ladder[rung])
                    self._measure(temperature, way.start)
                    if propagation.stopped:
                        return False
            # As a run does that is taken up here: sums of beliefs are then summed anew, and the
            # last digits of those that were kept up to date would differ.
            propagation.restore(kept, self.ladder[rung])
            self.rung, self.kept = step, kept
            self.checkpoint.save(self._state)
        return True

    def _rungs(self, way: Pass) -> range:
        """The rungs of the ladder in the order in which a start comes to them."""
        rungs = range(len(self.ladder))
        if way.start > 0:
            return rungs[::-1]
        # To the first rung that is colder than all that is asked for.
        return rungs[: sum(t > min(self.wanted) for t in self.ladder) + 1]

    def _between(self, rung: int, onward: int | None, start: int) -> list[float]:
        """Temperatures from this rung to the next at which the start may be the best there is."""
        here = self.ladder[rung]
        if start == 0:
            low = -1.0 if onward is None else self.ladder[onward]
            high = np.inf if rung == 0 else here
            close = [t for t in self.wanted if low < t <= high]
            ends = [rung] if onward is None else [rung, onward]
            # Others have passed here, so that a row that is missing is this start's to give.
            return [t for t in close if t not in self.found or any(self._leads(0, r) for r in ends)]
        high = np.inf if onward is None else self.ladder[onward]
        low = -1.0 if rung == len(self.ladder) - 1 else here
        return [t for t in self.wanted if low <= t < high and self._leads(start, rung)]

    def _left_behind(self, rung: int) -> bool:
        """Whether heated starts have seen to everything from this rung of the ladder on."""
        above = self.ladder[rung - 1] if rung else np.inf
        seen_to = all(t in self.found for t in self.wanted if t <= above)
        return seen_to and not any(self._leads(0, r) for r in range(rung, len(self.ladder)))

    def _leads(self, start: int, rung: int) -> bool:
        """Whether no start is known to have a larger ln Z on this rung."""
        log_z = self.known[:, rung, 1]
        return bool(log_z[start] >= np.nanmax(log_z)) if not np.isnan(log_z[start]) else False

    def _labelling(self, start: int) -> Any:
        """A labelling of low energy, another for every start."""
        key = (*self.root.spawn_key, start)
        sequence = np.random.SeedSequence(self.root.entropy, spawn_key=key)
        seed = int(sequence.generate_state(1)[0])
        if start == 1:
            return minimize(self.model, self.settings.minimizer, seed).labels
        return class_annealing(self.model, n_sweeps=100, n_runs=1, seed=seed).labels

    def _settle(self, temperature: float, hasty: bool = False) -> Settled:
        settled = self.propagation.settle(temperature, hasty=hasty)
        self.sweeps += settled.sweeps
        return settled

    def _measure(self, temperature: float, start: int) -> None:
        """Settle at a temperature and keep what is found if it is the best so far."""
        beside = self._beside(temperature)
        settled = self._settle(temperature)
        if self.propagation.stopped:
            return
        marginals, agreement, reading = self._read()
        if temperature == 0 and not settled.settled and self.labelled is not None:
            # The labelling that the start began from, as if nothing else were possible.
            u, v = self.model.graph.edges.T
            surely = np.eye(self.model.n_states)[self.labelled[self.layout.order]]
            broken = self.layout.write_marginals(surely, marginals)
            apart = np.sum(marginals[u] * marginals[v], axis=1)
            same = self.labelled[u] == self.labelled[v]
            agreement = np.where(self.layout.at_u >= 0, same, apart)
            energy = float(self.model.energy(self.labelled))
            reading = Reading(energy, energy, 0.0, broken)
        if len(beside) == 1:
            beside[temperature] = reading.energy
        slope = 0.0  # d<E>/dT
        if beside:
            (high, above), (low, below) = sorted(beside.items(), reverse=True)
            slope = (above - below) / (high - low)
        point = FixedPoint(
            marginals,
            agreement,
            temperature,
            reading,
            settled,
            heat_capacity=max(slope, 0.0),
            start=start,
            pairs=None if self.edge_ids is None else self.propagation.pair_laws(self.edge_ids),
        )
        known = self.found.get(temperature)
        if known is None or point.beats(known):
            self.found[temperature] = point

    def _beside(self, temperature: float) -> dict[float, float]:
        """<E> beside a temperature: on both sides, above only in haste or in large models."""
        if not 0 < temperature < np.inf:
            return {}
        both = self.layout.n_slots <= MANY_MESSAGES and self.settings.tol <= FINE_TOL
        energies = {}
        for factor in (1 + STEP, 1 - STEP) if both else (1 + STEP,):
            self._settle(factor * temperature)
            energies[factor * temperature] = self._read()[2].energy
        return energies

    def _read(self) -> tuple[FloatArray, FloatArray, Reading]:
        """Probabilities (n, q), agreements (m,) and sums that the present messages give."""
        marginals = np.empty((self.model.n_nodes, self.model.n_states))
        agreement = np.empty(self.model.graph.n_edges)
        return marginals, agreement, self.propagation.read(marginals, agreement)

    def _ladder(self) -> list[float]:
        """From where nothing is ordered down to a fortieth of that, whatever is asked for."""
        top = ABOVE * mean_field_temperature(self.model)
        if top <= 0:
            spread = float(np.max(np.ptp(self.model.fields, axis=1), initial=0.0))
            top = spread if spread > 0 else 1.0
        count = 1 + int(np.ceil(np.log(SPAN) / np.log(RATIO)))
        return [float(top / RATIO**k) for k in range(count)]

    # -- reports, checkpoints --------------------------------------------------------------------

    def _asked_to_stop(self) -> bool:
        if self.callback is None:
            return False
        self.reported = perf_counter()
        done = self.under_way + (self.rung + 1) / (len(self.ladder) + 1)
        fraction = min(done / len(self.passes), 0.99)
        return bool(self.callback(Progress(phase="belief propagation", fraction=fraction)))

    def _report(self) -> bool:
        if self.callback is None or perf_counter() - self.reported < REPORT_SECONDS:
            return False
        return self._asked_to_stop()

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        header = {
            "under_way": self.under_way, "rung": self.rung, "sweeps": self.sweeps,
            "seconds": self.seconds, "rows": len(self.found), "kept": list(self.kept),
        }  # fmt: skip
        points = list(self.found.values())
        names = ("marginals", "agreement")
        arrays = {f"row_{name}": np.array([getattr(p, name) for p in points]) for name in names}
        arrays["row_numbers"] = np.array([point.numbers() for point in points])
        arrays |= {f"kept_{name}": values for name, values in self.kept.items()}
        return header, {"known": self.known} | arrays

    def _restore(self, saved: Saved) -> None:
        header, model = saved.header, self.model
        self.under_way, self.rung = int(header["under_way"]), int(header["rung"])
        self.sweeps, self.before = int(header["sweeps"]), float(header["seconds"])
        ways = self.passes[self.under_way :][:1]  # none if all are over
        if not 0 <= self.under_way <= len(self.passes) or not (
            -1 <= self.rung < (len(self._rungs(ways[0])) if ways else 0)
        ):
            raise misfit("it is at no place of the run's way")
        self.known[:] = saved.part({"known": self.known})["known"]
        if self.rung >= 0:
            kind = PottsMessages if "messages" in header["kept"] else TableMessages
            self.kept = saved.part(kind(self.layout).arrays(), "kept_", beliefs=(-SAME, 1 + SAME))
        if header["rows"] == 0:
            return
        like = {
            "marginals": np.empty((model.n_nodes, model.n_states)),
            "agreement": np.empty(model.graph.n_edges),
            "numbers": np.empty(11),
        }
        rows = rows_like(int(header["rows"]), like)
        found = saved.part(rows, "row_", marginals=(-SAME, 1 + SAME), agreement=(-SAME, 1 + SAME))
        for parts in zip(*found.values(), strict=True):
            point = FixedPoint.of(*parts)
            self.found[point.temperature] = point
        if not set(self.found) <= set(self.wanted):
            raise misfit("temperatures are not those asked for")


def _same(one: FloatArray, other: FloatArray) -> bool:
    """Whether <E> and ln Z are those of one fixed point."""
    limits = np.array([SAME_ENERGY, SAME]) * (1 + np.abs(one))
    return bool(np.all(np.abs(one - other) <= limits))
