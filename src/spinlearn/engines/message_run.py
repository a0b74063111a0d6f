"""One run of belief propagation: starts that follow a ladder of temperatures, the best kept.

The cooled start first goes down the ladder in haste, and leaves its ln Z on every rung. Then every
heated start goes up, and is looked at closely only where its ln Z is larger than any before, until
it has become the cooled one. At last the cooled start goes down again, and is looked at where
nothing better is known. (In large models it is looked at the first time.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from spinlearn.analysis.temperature_grid import SPAN, mean_field_temperature
from spinlearn.core.array_checks import FINITE, check_numbers, kinds_of, same_arrays, within
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.engines import checkpoint
from spinlearn.engines.saved_state import restoring
from spinlearn.errors import StoppedError
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.potts_messages import PottsMessages, is_two_valued
from spinlearn.messages.propagation import Propagation
from spinlearn.messages.reading import Reading, labelling_reading
from spinlearn.messages.reweighted import SecondOpinion
from spinlearn.messages.settling import Settled
from spinlearn.messages.symmetry import Symmetry
from spinlearn.messages.table_messages import TableMessages
from spinlearn.messages.uniqueness import has_one_fixed_point
from spinlearn.minimizers import minimize
from spinlearn.minimizers.class_annealing import class_annealing

if TYPE_CHECKING:
    from spinlearn.engines.belief_propagation import BeliefPropagation

RATIO = 1.2  # of neighbouring temperatures of the ladder
NOISE = 1e-3  # in the first messages where states are alike, so that one of them can win
STEP = 3e-4  # relative, to either side of T, for the derivative of <E>
FINE_TOL = 1e-7  # of messages, from which on it is taken to one side only
SAME = 1e-6  # relative difference of ln Z within which fixed points are the same,
SAME_ENERGY = 1e-3  # and of <E>, which is not stationary
MANY_MESSAGES = 200_000  # from which time is saved where that costs little
REPORT_SECONDS = 0.1
ROUNDING = 1e-6  # of a probability
LENIENT = 2.0  # times the bound of energies, which probabilities that are approximate may exceed
TINY = float(np.finfo(np.float64).smallest_subnormal)
MANY_SWEEPS = 2**53  # more than any run can make


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """The best fixed point at one temperature; arrays are over the free part of the model.

    `start` is the number of the start that led to it, `broken` the number of nodes whose
    probabilities were averaged over states that are alike; `extra` is what a reader returned.
    """

    marginals: FloatArray
    agreement: FloatArray
    energy: float
    heat_capacity: float
    least_energy: float
    log_count: float
    log_partition: float
    settled: bool
    residual: float
    sweeps: int
    damped: bool
    start: int
    broken: int
    extra: Any = None

    def beats(self, other: Row) -> bool:
        """Whether this one is the better of two fixed points at one temperature."""
        if self.settled != other.settled:
            return self.settled
        if np.isfinite(self.log_partition):
            return self.log_partition > other.log_partition
        mine, its = (self.least_energy, -self.log_count), (other.least_energy, -other.log_count)
        return mine < its  # T = 0


@dataclass(frozen=True, slots=True)
class Pass:
    """One way along the ladder: a start, and whether it is looked at closely."""

    start: int
    closely: bool


class MessageRun:
    """All starts of one run.

    Parameters
    ----------
    settings : BeliefPropagation
    model : PottsModel
    wanted : float array
        Temperatures, in any order.
    root : SeedSequence
    callback : callable or None
    reader : callable, optional
        What else to read from the messages at every temperature.
    """

    def __init__(
        self,
        settings: BeliefPropagation,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        reader: Callable[[Propagation], Any] | None = None,
    ) -> None:
        self.settings, self.model, self.callback, self.reader = settings, model, callback, reader
        self.layout = MessageLayout(model)
        self.symmetry = Symmetry.of(self.layout)
        self.wanted = sorted(set(wanted.tolist()), reverse=True)
        self.ladder = self._ladder()
        self.root = root
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
        self.found: dict[float, Row] = {}
        # <E> and ln Z of every start on every rung, NaN where it has not been
        self.known: FloatArray = np.full((n_starts, len(self.ladder), 2), np.nan)
        self.under_way, self.rung = 0, -1  # the pass, and the last rung that it has left
        self.kept: dict[str, Any] = {}  # its messages there
        self.labelled: Any = None  # the labelling from which a heated start began
        self.sweeps = 0
        self.cut_short = False
        self.identity = checkpoint.fingerprint(
            model, self.wanted, root.entropy, root.spawn_key, settings.name, settings.n_starts,
            settings.minimizer, settings.tol, settings.max_sweeps, settings.schedule,
        )  # fmt: skip
        self.started = self.saved = self.reported = perf_counter()
        self.before = 0.0
        self.propagation = Propagation(
            self.layout,
            tol=float(settings.tol),
            max_sweeps=int(settings.max_sweeps),
            schedule=settings.schedule,
            stop=self._report,
        )

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        return self.before + perf_counter() - self.started

    def rows(self) -> dict[float, Row]:
        """The best fixed point at every temperature, or at those reached before a stop."""
        path = self.settings.checkpoint
        saved = None if path is None else checkpoint.load(path, self.identity)
        if saved is not None:
            self._restore(*saved)
        if self._asked_to_stop():
            self.propagation.settling.stopped = True
        while self.under_way < len(self.passes) and not self.propagation.stopped:
            if self._follow(self.passes[self.under_way]):
                self.under_way, self.rung, self.kept = self.under_way + 1, -1, {}
        self.cut_short = self.under_way < len(self.passes)
        self._save(now=self.cut_short)
        if not self.found:
            raise StoppedError("stopped before messages settled at any temperature")
        if not self.cut_short and self.callback is not None:
            self.callback(Progress(phase="belief propagation", fraction=1.0))
        return self.found

    def doubts(self) -> dict[float, FloatArray]:
        """What a second opinion says of the free nodes at the temperatures found, hottest first."""
        opinion, found = SecondOpinion(self.layout), {}
        for temperature in sorted(self.found, reverse=True):
            row = self.found[temperature]
            found[temperature] = opinion.doubt(row.marginals, temperature)
            if not row.settled:  # nothing can be said for what still moves
                found[temperature] = np.ones(len(row.marginals))
        return found

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
            generator = np.random.default_rng(self.root) if self.symmetry.exists else None
            propagation.start(generator, NOISE)
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
            kept = propagation.arrays()
            reading = propagation.read()
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
            self._save(now=False)
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
        """A labelling of low energy, of the free nodes; another for every start."""
        key = (*self.root.spawn_key, start)
        sequence = np.random.SeedSequence(self.root.entropy, spawn_key=key)
        seed = int(sequence.generate_state(1)[0])
        if start == 1:
            found = minimize(self.model, self.settings.minimizer, seed)
        else:
            found = class_annealing(self.model, n_sweeps=100, n_runs=1, seed=seed)
        return found.labels[self.layout.free.nodes]

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
        reading = self.propagation.read()
        if temperature == 0 and not settled.settled and self.labelled is not None:
            reading = labelling_reading(self.layout, self.labelled)
        if len(beside) == 1:
            beside[temperature] = reading.energy
        marginals, broken = self.symmetry.averaged(reading.marginals)
        row = Row(
            marginals=marginals,
            agreement=reading.agreement,
            energy=reading.energy,
            heat_capacity=_slope(beside),
            least_energy=reading.least_energy,
            log_count=reading.log_count,
            log_partition=reading.log_partition(temperature),
            settled=settled.settled,
            residual=settled.residual,
            sweeps=settled.sweeps,
            damped=settled.damped,
            start=start,
            broken=int(broken.sum()),
            extra=None if self.reader is None else self.reader(self.propagation),
        )
        known = self.found.get(temperature)
        if known is None or row.beats(known):
            self.found[temperature] = row

    def _beside(self, temperature: float) -> dict[float, float]:
        """<E> beside a temperature: on both sides, above only in haste or in large models."""
        if not 0 < temperature < np.inf:
            return {}
        both = self.layout.n_slots <= MANY_MESSAGES and self.settings.tol <= FINE_TOL
        energies = {}
        for factor in (1 + STEP, 1 - STEP) if both else (1 + STEP,):
            self._settle(factor * temperature)
            energies[factor * temperature] = self.propagation.read().energy
        return energies

    def _ladder(self) -> list[float]:
        """From where nothing is ordered down to a fortieth of that, whatever is asked for."""
        top = 1.1 * mean_field_temperature(self.model)
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

    def _save(self, now: bool) -> None:
        path = self.settings.checkpoint
        due = now or perf_counter() - self.saved >= self.settings.checkpoint_seconds
        if path is None or not due or self.reader is not None:
            return
        header = {
            "under_way": self.under_way, "rung": self.rung, "sweeps": self.sweeps,
            "seconds": self.seconds,
        }  # fmt: skip
        names = [f.name for f in fields(Row) if f.name != "extra"]
        arrays = {f"row_{n}": np.array([getattr(r, n) for r in self.found.values()]) for n in names}
        arrays["temperatures"] = np.array(list(self.found))
        arrays["known"] = self.known
        arrays |= {f"kept_{name}": values for name, values in self.kept.items()}
        checkpoint.save(path, self.identity, header, arrays)
        self.saved = perf_counter()

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        with restoring():
            self._check_place(header, arrays)
            self._check_rows(arrays)
            self._take_up(header, arrays)

    def _check_place(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Whether a saved state is at a place of this run's way, with the messages from there."""
        check_numbers(header, {"under_way": (int, 0, len(self.passes))})
        way = self.passes[header["under_way"] :][:1]  # none if all are over
        last = len(self._rungs(way[0])) - 1 if way else -1
        check_numbers(
            header,
            {
                "rung": (int, -1, last),
                "sweeps": (int, 0, MANY_SWEEPS),
                "seconds": (float, 0.0, FINITE),
            },
        )
        same_arrays(arrays, {"known": (np.float64, self.known.shape)})
        self._check_known(header, arrays["known"])
        if header["rung"] < 0:
            return
        fast = "kept_messages" in arrays and is_two_valued(self.model)
        empty = (PottsMessages if fast else TableMessages)(self.layout)
        same_arrays(arrays, kinds_of(empty.arrays()), "kept_")
        _check_shares("kept_beliefs", arrays["kept_beliefs"])
        if fast:
            # Those of single precision may be too small for it.
            least = 0.0 if arrays["kept_messages"].dtype == np.float32 else TINY
            within("kept_messages", arrays["kept_messages"], least, 1 + ROUNDING)
        else:
            for name in ("kept_energies", "kept_logs"):
                within(name, arrays[name], -FINITE, FINITE)

    def _check_known(self, header: dict[str, Any], known: FloatArray) -> None:
        """Starts have been where they were sent, and those to come nowhere yet."""
        there = ~np.isnan(known[..., 0])
        if np.any(np.isnan(known[..., 1]) == there):
            raise ValueError("known has energies without ln Z")
        within("known", known[there], -FINITE, FINITE)
        scale = LENIENT * self.model.energy_scale
        within("known", known[there][:, 0], -scale, scale)
        under_way, first = header["under_way"], self.passes[0]
        if np.any(there[under_way + 1 :]):  # heated starts go in their order
            raise ValueError("known holds starts that have not begun")
        left = []
        if under_way > 0 and not first.closely:
            left.append(there[0, : len(self._rungs(first))])
        if under_way < len(self.passes):
            way = self.passes[under_way]
            left.append(there[way.start, self._rungs(way)[: header["rung"] + 1]])
        if not all(np.all(rungs) for rungs in left):
            raise ValueError("known lacks rungs that were left")

    def _check_rows(self, arrays: Arrays) -> None:
        """Whether saved fixed points are of this run's temperatures, and such as can be."""
        free, rows = self.layout.free, len(arrays["temperatures"])
        nodes, q, edges = len(free.nodes), self.model.n_states, len(free.edges)
        temperatures = arrays["temperatures"]
        same_arrays(arrays, {"temperatures": (np.float64, (rows,))})
        if not set(temperatures.tolist()) <= set(self.wanted) or len(set(temperatures)) < rows:
            raise ValueError("temperatures are not those asked for")
        scale = LENIENT * self.model.energy_scale
        ranges: dict[str, tuple[type, tuple[int, ...], float, float]] = {
            "marginals": (float, (nodes, q), -ROUNDING, 1 + ROUNDING),
            "agreement": (float, (edges,), -ROUNDING, 1 + ROUNDING),
            "energy": (float, (), -scale, scale),
            "heat_capacity": (float, (), 0.0, FINITE),
            "least_energy": (float, (), -FINITE, FINITE),
            "log_count": (float, (), -FINITE, FINITE),
            "log_partition": (float, (), -np.inf, np.inf),
            "settled": (bool, (), False, True),
            "residual": (float, (), 0.0, np.inf),
            "sweeps": (int, (), 0, MANY_SWEEPS),
            "damped": (bool, (), False, True),
            "start": (int, (), 0, len(self.known) - 1),
            "broken": (int, (), 0, nodes),
        }
        for name, (kind, shape, low, high) in ranges.items():
            # An array of no rows knows neither its type nor its width.
            expected = (kind, (rows, *shape)) if rows else (float, (0,))
            same_arrays(arrays, {f"row_{name}": expected})
            within(f"row_{name}", arrays[f"row_{name}"], low, high)
        if rows == 0:
            return
        _check_shares("row_marginals", arrays["row_marginals"])
        columns = (arrays[f"row_{n}"].tolist() for n in ("least_energy", "log_count"))
        said = arrays["row_log_partition"].tolist()
        for T, least, count, log_z in zip(temperatures.tolist(), *columns, said, strict=True):
            bethe = Reading(np.empty(0), np.empty(0), 0.0, least, count).log_partition(T)
            if not np.isclose(bethe, log_z, rtol=ROUNDING):
                raise ValueError("row_log_partition is not that of row_log_count")

    def _take_up(self, header: dict[str, Any], arrays: Arrays) -> None:
        self.under_way, self.rung = int(header["under_way"]), int(header["rung"])
        self.sweeps, self.before = int(header["sweeps"]), float(header["seconds"])
        for k, temperature in enumerate(arrays["temperatures"].tolist()):
            parts = {n.removeprefix("row_"): v[k] for n, v in arrays.items() if n[:4] == "row_"}
            parts = {n: v.item() if v.ndim == 0 else v for n, v in parts.items()}
            self.found[temperature] = Row(**parts)
        self.known[:] = arrays["known"]
        self.kept = {n.removeprefix("kept_"): v for n, v in arrays.items() if n[:5] == "kept_"}


def _same(one: FloatArray, other: FloatArray) -> bool:
    """Whether <E> and ln Z are those of one fixed point."""
    limits = np.array([SAME_ENERGY, SAME]) * (1 + np.abs(one))
    return bool(np.all(np.abs(one - other) <= limits))


def _check_shares(name: str, values: FloatArray) -> None:
    """Probabilities of the states of a node sum to 1."""
    within(name, values, -ROUNDING, 1 + ROUNDING)
    within(f"sums of {name}", values.sum(axis=-1), 1 - ROUNDING, 1 + ROUNDING)


def _slope(energies: dict[float, float]) -> float:
    """d<E>/dT from <E> at two temperatures, never below zero; zero if there are none."""
    if not energies:
        return 0.0
    (high, above), (low, below) = sorted(energies.items(), reverse=True)
    return max((above - below) / (high - low), 0.0)
