"""Belief propagation: an approximation by messages along edges, in time linear in their number.

Exact on trees; on other graphs the fixed points of the messages are the stationary points of the
Bethe free energy (Yedidia, Freeman & Weiss 2005), and describe one valley of the energy each. One
start is cooled from the disordered phase, another is heated from a labelling of least energy; of
the fixed points found at a temperature the one with the largest Bethe ln Z is kept. Temperatures
lie on a fixed ladder that the model determines, and those asked for branch off it, so that the
answer at one temperature does not depend on which others were asked for. Beyond HUGE_MESSAGES there
is one start, cooled through the temperatures asked for themselves (`cooled_averages`).

A run (`MessageRun`) passes over the ladder several times. The cooled start first goes down in
haste, and leaves its ln Z on every rung. Then every heated start goes up, and is looked at closely
only where its ln Z is larger than any before, until it has become the cooled one. At last the
cooled start goes down again, and is looked at where nothing better is known. (In large models it is
looked at the first time.)
"""

from __future__ import annotations

import warnings
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import takewhile
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.checkpoint import Checkpoint, Saved, misfit, refuse_existing, rows_like
from spinlearn.engines.messages.cooling import ABOVE, cooled_averages, follow
from spinlearn.engines.messages.layout import MessageLayout, has_one_fixed_point
from spinlearn.engines.messages.potts import PottsMessages, Reading
from spinlearn.engines.messages.propagation import SCHEDULES, Propagation, Settled, Settling
from spinlearn.engines.messages.tables import TableMessages
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    StoppedError,
    UnsupportedModelError,
)
from spinlearn.minimizers import MINIMIZERS, minimize
from spinlearn.minimizers.annealing import class_annealing
from spinlearn.model.arrays import BoolArray, FloatArray, integer_array, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.phases import SPAN, mean_field_temperature
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Progress, Seed, seed_sequence
from spinlearn.model.settings import Settings

HUGE_MESSAGES = 500_000  # beyond which one cooled start is followed and nothing kept on the way
RATIO = 1.2  # of neighbouring temperatures of the ladder
STEP = 3e-4  # relative, to either side of T, for the derivative of <E>
FINE_TOL = 1e-7  # of messages, from which on it is taken to one side only
SAME = np.array([1e-3, 1e-6])  # relative differences of <E>, which is not stationary, and of ln Z
ROUNDING = 1e-6  # of saved probabilities
MANY_MESSAGES = 200_000  # from which time is saved where that costs little
REPORT_SECONDS = 0.1


@dataclass(kw_only=True)
class BeliefPropagation(Settings):
    """Approximate averages by messages along the edges, for graphs of any width and size.

    Exact on trees. Elsewhere errors are of unknown size, but thousands of points take about a
    second. Class sizes enter as a field that follows the messages. Two starts are compared, one
    cooled and one heated, and the solution with the larger ln Z is kept.

    Parameters
    ----------
    n_starts : int or None, default None
        1 cools from the disordered phase only; 2 also heats up from a labelling of least energy
        (`spinlearn.minimize`); more heat up from further labellings of low energy. None is 2, and 1
        beyond some half a million messages, where the second may double the time.
    minimizer : str, default "auto"
        How the labelling of least energy is found, see `spinlearn.minimize`.
    tol : float, default 1e-8
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int, default 400
        At one temperature.
    schedule : {"residual", "sequential"}, default "residual"
        Whether a sweep visits first the nodes whose messages have changed most, or all in order.
    checkpoint, checkpoint_seconds
        See `Tempering`.

    References
    ----------
    J. S. Yedidia, W. T. Freeman and Y. Weiss, Constructing free-energy approximations and
    generalized belief propagation algorithms, IEEE Trans. Inf. Theory 51, 2282 (2005).

    Examples
    --------
    A chain is a tree, so its averages are exact:

    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import BeliefPropagation
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = BeliefPropagation().run(model, [1.0])
    >>> found.kind.value, found.marginals[0, :, 0].round(4).tolist()
    ('approximate', [1.0, 0.7311, 0.6068])
    """

    n_starts: int | None = None
    minimizer: str = "auto"
    tol: float = 1e-8
    max_sweeps: int = 400
    schedule: str = "residual"
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "belief_propagation"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why a term in whole classes cannot be a field, or None."""
        penalty = model.class_penalty
        if penalty is None or penalty.kind == "quadratic":
            return None
        return (
            f"the model has a class-level term ({penalty.kind}) that is not quadratic in class "
            "sizes, which messages cannot carry: use engine='multicanonical' or "
            "'population_annealing', or energy='modularity' or 'balanced_cut'"
        )

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Averages of the best solutions; the `seed`, None is 0, decides how symmetries break."""
        wanted = temperature_array(temperatures)
        self._check(model)
        root = seed_sequence(0 if seed is None else seed)
        large = 2 * model.graph.n_edges > HUGE_MESSAGES
        once = large and self.n_starts in (None, 1) and wanted.min() > 0
        if once:
            refuse_existing(self.checkpoint, f"{self.name} of so large a model")
            averages = cooled_averages(self, model, wanted, root, callback)
        else:
            run = MessageRun(self, model, wanted, root, callback)
            rows = run.rows()
            averages = run.averages([t for t in wanted.tolist() if t in rows])
        settled, residuals = averages.converged, averages.diagnostics["residual"]
        if not np.all(settled):
            worst = max(r for r, still in zip(residuals, settled, strict=True) if not still)
            warnings.warn(
                f"messages did not settle at {int(np.sum(~settled))} of {len(settled)} "
                f"temperatures (they still change by {worst:.2g}): use engine='generalized_bp' or "
                "a sampler such as 'tempering' there, raise max_sweeps, or leave these out",
                ConvergenceWarning,
                stacklevel=2,
            )
        again = partial(replace(self, checkpoint=None).run, model, seed=root)
        if once:
            averages = averages.at([float(t) for t in wanted if t in averages.temperatures])
        return replace(averages, evaluate=again)

    def pair_marginals(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        edge_ids: npt.ArrayLike,
        *,
        seed: Seed = None,
    ) -> FloatArray:
        """Joint laws p_uv(s_u, s_v; T) of a model at temperatures, (T, ids, q, q).

        `edge_ids` are rows of ``model.graph.edges``.
        """
        wanted = temperature_array(temperatures)
        self._check(model)
        ids = np.atleast_1d(integer_array(edge_ids, "edge_ids"))
        n_edges = model.graph.n_edges
        if len(ids) and (ids.min() < 0 or ids.max() >= n_edges):
            raise InvalidInputError(
                f"edge_ids name edge {ids.min() if ids.min() < 0 else ids.max()}, but the graph "
                f"has edges 0 to {n_edges - 1}"
            )
        root = seed_sequence(0 if seed is None else seed)
        rows = MessageRun(self, model, wanted, root, None, ids).rows()
        return np.stack([np.asarray(rows[t].pairs) for t in wanted.tolist()])

    def _check(self, model: PottsModel) -> None:
        for name in ("n_starts", "max_sweeps"):
            value = getattr(self, name)
            if value is None and name == "n_starts":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise InvalidInputError(
                    f"{name}={value!r} is out of range: give a whole number > 0"
                )
        for name, known in (("minimizer", ("auto", *MINIMIZERS)), ("schedule", SCHEDULES)):
            if getattr(self, name) not in known:
                raise InvalidInputError(
                    f"{name}={getattr(self, name)!r} is unknown: use one of "
                    f"{', '.join(map(repr, known))}"
                )
        if not isinstance(self.tol, (int, float, np.number)) or not 0 < self.tol < 1:
            raise InvalidInputError(f"tol={self.tol!r} is out of range: give a number in (0, 1)")
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """What messages say at one temperature, and which start led them there."""

    marginals: FloatArray
    agreement: FloatArray
    temperature: float
    reading: Reading
    settled: Settled
    heat_capacity: float
    start: int
    pairs: FloatArray | None = None  # laws of pairs, if they were asked for

    def beats(self, other: FixedPoint) -> bool:
        """Whether this one is the better of two fixed points at one temperature."""
        if self.settled.settled != other.settled.settled:
            return self.settled.settled
        mine, its = self.reading, other.reading
        log_z = mine.log_partition(self.temperature)
        if np.isfinite(log_z):
            return log_z > its.log_partition(self.temperature)
        return (mine.least_energy, -mine.log_count) < (its.least_energy, -its.log_count)  # T = 0


class Pass(NamedTuple):
    """One way along the ladder."""

    start: int
    closely: bool  # whether it is looked at the temperatures asked for
    rungs: range


class MessageRun:
    """All starts of one run; pairs of states too of the edges `edge_ids`, with nothing saved."""

    def __init__(
        self,
        settings: BeliefPropagation,
        model: PottsModel,
        temperatures: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        edge_ids: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self.settings, self.model, self.callback = settings, model, callback
        self.edge_ids, self.root = edge_ids, root
        self.layout = MessageLayout.of(model)
        self.temperatures = sorted(set(temperatures.tolist()), reverse=True)
        # From where nothing is ordered down to a fortieth of that, whatever is asked for.
        top = ABOVE * mean_field_temperature(model)
        if top <= 0:
            top = float(np.max(np.ptp(model.fields, axis=1), initial=0.0)) or 1.0
        count = 1 + int(np.ceil(np.log(SPAN) / np.log(RATIO)))
        self.ladder = [float(top / RATIO**k) for k in range(count)]
        few = self.layout.n_slots <= MANY_MESSAGES
        n_starts = settings.n_starts or (2 if few else 1)
        if has_one_fixed_point(self.layout, self.temperatures[-1]):
            n_starts = 1  # all would lead there
        # To the first rung that is colder than all that is asked for.
        down = range(min(sum(t > self.temperatures[-1] for t in self.ladder) + 1, count))
        up = range(count)[::-1]
        heated = [Pass(start, True, up) for start in range(1, n_starts)]
        self.passes = [Pass(0, True, down), *heated]
        if heated and few:
            # Where the ladder costs little beside what is looked at, it is cheaper to know first
            # who leads.
            self.passes = [Pass(0, False, down), *heated, Pass(0, True, down)]
        self.points: dict[float, FixedPoint] = {}  # the best so far
        # <E> and ln Z of every start on every rung, NaN where it has not been
        self.known: FloatArray = np.full((n_starts, count, 2), np.nan)
        self.under_way, self.rung = 0, -1  # the pass, and the last of its rungs that it has left
        self.kept: dict[str, Any] = {}  # its messages there
        self.checkpoint = Checkpoint(
            settings.checkpoint if edge_ids is None else None, settings.checkpoint_seconds, model,
            self.temperatures, root.entropy, root.spawn_key, settings.name, settings.n_starts,
            settings.minimizer, settings.tol, settings.max_sweeps, settings.schedule,
        )  # fmt: skip
        self.started, self.reported = perf_counter(), -np.inf
        self.settling = Settling(
            float(settings.tol), int(settings.max_sweeps), settings.schedule, self._report
        )
        self.propagation = Propagation(self.layout, self.settling)
        # Probabilities (n, q) and agreements (m,) that the present messages give
        self.read_out = np.empty((model.n_nodes, model.n_states)), np.empty(model.graph.n_edges)

    def rows(self) -> dict[float, FixedPoint]:
        """The best fixed point at every temperature, or at those reached before a stop."""
        saved = self.checkpoint.load()
        if saved is not None:
            self._restore(saved)
        self.settling.stopped = self._report()
        while self.under_way < len(self.passes) and not self.settling.stopped:
            self._follow(*self.passes[self.under_way])
            if not self.settling.stopped:
                self.under_way, self.rung, self.kept = self.under_way + 1, -1, {}
        cut_short = self.under_way < len(self.passes)
        self.checkpoint.save(self._state, now=cut_short)
        if not self.points:
            raise StoppedError("stopped before messages settled at any temperature")
        if not cut_short and self.callback is not None:
            self.callback(Progress(phase="belief propagation", fraction=1.0))
        return self.points

    def averages(self, temperatures: list[float]) -> Equilibrium:
        """What the best fixed points say at these temperatures."""
        points = [self.points[t] for t in temperatures]
        fixed_points = []  # ln Z of the distinct ones on the rung at or above, best first
        for temperature in temperatures:
            rung = max((k for k, t in enumerate(self.ladder) if t >= temperature), default=0)
            distinct: list[FloatArray] = []
            for known in self.known[:, rung]:
                if not (np.isnan(known[0]) or any(_same(known, other) for other in distinct)):
                    distinct.append(known)
            fixed_points.append(sorted((float(known[1]) for known in distinct), reverse=True))
        return Equilibrium(
            model=self.model,
            temperatures=np.array(temperatures),
            marginals=np.array([p.marginals for p in points]),
            edge_agreement=np.array([p.agreement for p in points]),
            mean_energy=np.array([p.reading.energy for p in points]),
            heat_capacity=np.array([p.heat_capacity for p in points]),
            log_partition=np.array([p.reading.log_partition(p.temperature) for p in points]),
            converged=np.array([p.settled.settled for p in points]),
            engine=self.settings.name,
            kind=Kind.APPROXIMATE,
            diagnostics={
                "start": ["heated" if p.start else "cooled" for p in points],
                "residual": [p.settled.residual for p in points],
                "sweeps": [p.settled.sweeps for p in points],
                "damped": [p.settled.damped for p in points],
                "fixed_points": list(map(len, fixed_points)),
                "fixed_points_log_partition": fixed_points,
                "broken_symmetry": [p.reading.broken for p in points],
                "cut_short": self.under_way < len(self.passes),
                "all_sweeps": self.propagation.sweeps,
                "seconds": perf_counter() - self.started,
            },
        )

    # -- one pass --------------------------------------------------------------------------------

    def _follow(self, start: int, closely: bool, rungs: range) -> None:
        """Take a start on along its rungs, until stopped or at the fixed point of another start."""
        messages, ladder, labelled = self.propagation, self.ladder, None
        if self.rung >= 0:
            messages.restore(self.kept, ladder[rungs[self.rung]])
        elif start == 0:
            messages.start(self.root)
        else:
            # A labelling of low energy, another for every start.
            key = (*self.root.spawn_key, start)
            sequence = np.random.SeedSequence(self.root.entropy, spawn_key=key)
            seed = int(sequence.generate_state(1)[0])
            if start == 1:
                labelled = minimize(self.model, self.settings.minimizer, seed).labels
            else:
                labelled = class_annealing(self.model, n_sweeps=100, n_runs=1, seed=seed).labels
            messages.start(labels=labelled, temperature=ladder[rungs[0]])
        way: Any = rungs[self.rung + 1 :]
        if start == 0 and closely:
            way = takewhile(self._is_open, way)
        for temperature, settled in follow(messages, (ladder[rung] for rung in way)):
            step = self.rung + 1
            rung, onward = rungs[step], rungs[step + 1 : step + 2]
            kept = messages.state()
            reading = messages.messages.read(*self.read_out)
            known = np.array([reading.energy, reading.log_partition(temperature)])
            if start > 0 and settled.settled and _same(known, self.known[0, rung]):
                return  # the same fixed point as that of the cooled start, from here on
            self.known[start, rung] = known
            for branch in self._branches(start, rung, *onward) if closely else ():
                messages.restore(kept, temperature)
                self._measure(branch, start, labelled)
                if self.settling.stopped:
                    return
            # As a run does that is taken up here: sums of beliefs are then summed anew, and the
            # last digits of those that were kept up to date would differ.
            messages.restore(kept, temperature)
            self.rung, self.kept = step, kept
            self.checkpoint.save(self._state)

    def _leads(self, start: int) -> BoolArray:
        """The rungs on which no start is known to have a larger ln Z than this one, (rungs,)."""
        log_z = self.known[:, :, 1]
        return np.asarray(log_z[start] >= np.fmax.reduce(log_z))

    def _is_open(self, rung: int) -> bool:
        """Whether heated starts have not seen to everything from this rung of the ladder on."""
        above = self.ladder[rung - 1] if rung else np.inf
        missing = any(t <= above and t not in self.points for t in self.temperatures)
        return missing or bool(np.any(self._leads(0)[rung:]))

    def _branches(self, start: int, rung: int, onward: int | None = None) -> list[float]:
        """Temperatures from this rung to the next at which the start may be the best there is."""
        here, leads = self.ladder[rung], self._leads(start)
        end = None if onward is None else self.ladder[onward]
        if start == 0:
            low, high = -1.0 if end is None else end, np.inf if rung == 0 else here
            best = leads[rung] or (onward is not None and leads[onward])
            # Others have passed here, so that a row that is missing is this start's to give.
            near = [t for t in self.temperatures if low < t <= high]
            return [t for t in near if best or t not in self.points]
        low, high = -1.0 if rung == len(self.ladder) - 1 else here, np.inf if end is None else end
        return [t for t in self.temperatures if low <= t < high and leads[rung]]

    def _measure(self, temperature: float, start: int, labelled: Any) -> None:
        """Settle at a temperature and keep what is there if it is the best so far."""
        # <E> beside it: on both sides, above only in haste or in large models
        energies: dict[float, float] = {}
        if 0 < temperature < np.inf:
            both = self.layout.n_slots <= MANY_MESSAGES and self.settings.tol <= FINE_TOL
            for factor in (1 + STEP, 1 - STEP) if both else (1 + STEP,):
                self.propagation.settle(factor * temperature)
                reading = self.propagation.messages.read(*self.read_out)
                energies[factor * temperature] = reading.energy
        settled = self.propagation.settle(temperature)
        if self.settling.stopped:
            return
        reading = self.propagation.messages.read(*self.read_out)
        marginals, agreement = (values.copy() for values in self.read_out)
        if temperature == 0 and not settled.settled and labelled is not None:
            # The labelling that the start began from, as if nothing else were possible.
            u, v = self.model.graph.edges.T
            surely = np.eye(self.model.n_states)[labelled[self.layout.order]]
            broken = self.layout.write_marginals(surely, marginals)
            apart = np.sum(marginals[u] * marginals[v], axis=1)
            agreement = np.where(self.layout.at_u >= 0, labelled[u] == labelled[v], apart)
            energy = float(self.model.energy(labelled))
            reading = Reading(energy, energy, 0.0, broken)
        if len(energies) == 1:
            energies[temperature] = reading.energy
        slope = 0.0  # d<E>/dT
        if energies:
            (high, above), (low, below) = sorted(energies.items(), reverse=True)
            slope = (above - below) / (high - low)
        pairs = None if self.edge_ids is None else self.propagation.pair_laws(self.edge_ids)
        point = FixedPoint(
            marginals, agreement, temperature, reading, settled, max(slope, 0.0), start, pairs
        )
        if temperature not in self.points or point.beats(self.points[temperature]):
            self.points[temperature] = point

    # -- reports, checkpoints --------------------------------------------------------------------

    def _report(self) -> bool:
        """Whether the caller wants to stop, who is asked now and then."""
        if self.callback is None or perf_counter() - self.reported < REPORT_SECONDS:
            return False
        self.reported = perf_counter()
        done = self.under_way + (self.rung + 1) / (len(self.ladder) + 1)
        fraction = min(done / len(self.passes), 0.99)
        return bool(self.callback(Progress(phase="belief propagation", fraction=fraction)))

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        header = {
            "under_way": self.under_way, "rung": self.rung, "sweeps": self.propagation.sweeps,
            "seconds": perf_counter() - self.started, "rows": len(self.points),
            "kept": list(self.kept),
        }  # fmt: skip
        points = self.points.values()
        numbers = [
            [p.temperature, p.heat_capacity, p.start, *astuple(p.reading), *astuple(p.settled)]
            for p in points
        ]
        arrays = {
            "known": self.known,
            "row_marginals": np.array([p.marginals for p in points]),
            "row_agreement": np.array([p.agreement for p in points]),
            "row_numbers": np.array(numbers, dtype=np.float64),
        }
        return header, arrays | {f"kept_{name}": values for name, values in self.kept.items()}

    def _restore(self, saved: Saved) -> None:
        header, model = saved.header, self.model
        self.under_way, self.rung = int(header["under_way"]), int(header["rung"])
        self.propagation.sweeps = int(header["sweeps"])
        self.started -= float(header["seconds"])
        passes = self.passes[self.under_way :][:1]  # none if all are over
        if not 0 <= self.under_way <= len(self.passes) or not (
            -1 <= self.rung < (len(passes[0].rungs) if passes else 0)
        ):
            raise misfit("it is at no place of the run's way")
        self.known[:] = saved.part({"known": self.known})["known"]
        probability = (-ROUNDING, 1 + ROUNDING)
        if self.rung >= 0:
            kind = PottsMessages if "messages" in header["kept"] else TableMessages
            fresh: Any = kind(self.layout)
            like = {name: getattr(fresh, name) for name in fresh.state}
            self.kept = saved.part(like, "kept_", beliefs=probability)
        if header["rows"] == 0:
            return
        like = {
            "marginals": np.empty((model.n_nodes, model.n_states)),
            "agreement": np.empty(model.graph.n_edges),
            "numbers": np.empty(11),
        }
        rows = saved.part(
            rows_like(int(header["rows"]), like), "row_",
            marginals=probability, agreement=probability,
        )  # fmt: skip
        for marginals, agreement, numbers in zip(*rows.values(), strict=True):
            temperature, capacity, start, energy, least, count, *rest = numbers.tolist()
            broken, settled, residual, sweeps, damped = rest
            reading = Reading(energy, least, count, int(broken))
            end = Settled(bool(settled), residual, int(sweeps), bool(damped))
            self.points[temperature] = FixedPoint(
                marginals, agreement, temperature, reading, end, capacity, int(start)
            )
        if not set(self.points) <= set(self.temperatures):
            raise misfit("temperatures are not those asked for")


def _same(one: FloatArray, other: FloatArray) -> bool:
    """Whether <E> and ln Z are those of one fixed point."""
    return bool(np.all(np.abs(one - other) <= SAME * (1 + np.abs(one))))
