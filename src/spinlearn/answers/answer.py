"""Answer: everything that is said about the points, at one temperature.

The one type that the classifier holds, the folder stores, the command prints, `annotate` writes
into AnnData, and the explorer shows. Axes: T temperatures, n points, k named classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import LabelCode, encode_outcomes, outcome_name, outcome_names
from spinlearn.answers.law import (
    LAWS,
    Law,
    call_probability,
    mean_confidence,
    second_choices,
    usable_rows,
    warning_at,
)
from spinlearn.answers.profile import Profile, profile
from spinlearn.answers.proposal import Proposal, Word
from spinlearn.answers.rule import STATUS_NAMES, Decision, Status, label_reach
from spinlearn.answers.table import STEPS, Column, LabelTable, safe_name
from spinlearn.answers.temperature import (
    TEMPERATURE_RULES,
    answer_temperature,
    calibrated_temperature,
)
from spinlearn.constants import SURE
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import TIE, FloatArray, IntArray, frozen, nearest_row, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind, NotebookTable
from spinlearn.model.graph import Graph
from spinlearn.model.phases import PhaseInterval, Phases, phases
from spinlearn.model.potts import FREE, PottsModel


@dataclass(eq=False)
class Averages:
    """Thermal averages of a model, which `make` returns when they are first looked at."""

    model: PottsModel
    make: Callable[[], Equilibrium] | None

    @classmethod
    def of(cls, equilibrium: Equilibrium) -> Self:
        """Averages that are known."""
        return cls(equilibrium.model, equilibrium.ascending)

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """Ascending in temperature."""
        assert self.make is not None
        return self.make().ascending()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | ({"make": None} if "equilibrium" in self.__dict__ else {})


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Answer(NotebookTable):
    """What was found about every point: calls, probabilities, and how far they are to be trusted.

    A fitted `spinlearn.PottsClassifier` holds one as ``answer_``. Axes are n points, k named
    classes, T temperatures in the unit of the couplings.

    Parameters
    ----------
    classes : array (k,)
        Names of the classes, sorted, in the user's kind.
    labels : int array (n,)
        Position in `classes` of every label given, -1 where there is none.
    averages : Averages
        Thermal averages at all temperatures of the profile; computed when they are first looked at.
    temperature : float
        Of the answer; of an average, the most probable one.
    law : Law, optional
        Probabilities of all points where they are an average; None: by the paper's rule, at one T.
    known_profile : Profile, optional
        The outcome of every point at every temperature, where it is known already.
    rule : str, default "given"
        How the temperature was chosen: one of `TEMPERATURE_RULES`, or "given".
    tau : float, default 0.1
        Confidence threshold of the decision.
    small_groups, new_groups, eta_min
        Of the paper's rule, see `profile` and `answer_temperature`.
    choices : tuple of str
        What was chosen for the user before, each with its reason.
    proposals : tuple of Proposal
        Groups that may be a class of their own, best first.
    words : tuple of Word
        What was said about earlier proposals.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn import PottsClassifier
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.array(["", "", "left"] + 10 * [""] + ["right"] + 6 * [""], dtype=object)
    >>> answer = PottsClassifier(method="paper").fit(X, y).answer_
    >>> answer.names[[0, 19]].tolist(), str(answer.status[2]), answer.probabilities.shape
    (['left', 'right'], 'labelled', (20, 2))
    """

    classes: npt.NDArray[Any]
    labels: IntArray
    averages: Averages
    temperature: float
    law: Law | None = None
    known_profile: Profile | None = None
    rule: str = "given"
    tau: float = 0.1
    small_groups: str = "join"
    eta_min: float | None = None
    new_groups: bool = True
    choices: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    words: tuple[Word, ...] = ()

    @classmethod
    def from_equilibrium(
        cls,
        equilibrium: Equilibrium,
        code: LabelCode,
        *,
        temperature: float | str = "auto",
        **settings: Any,
    ) -> Self:
        """The answer that an `equilibrium` gives to the labels in `code`, at one `temperature`.

        That is a number or the name of a rule; `settings` are further parameters of `Answer`.
        """
        averages = Averages.of(equilibrium)
        answer = cls(
            classes=code.classes,
            labels=code.states,
            averages=averages,
            temperature=float(averages.equilibrium.temperatures[0]),
            **settings,
        )
        return answer.at(temperature).renumbered()

    # -- what was computed -----------------------------------------------------------------------

    @property
    def equilibrium(self) -> Equilibrium:
        """All thermal averages, ascending in temperature."""
        return self.averages.equilibrium

    @cached_property
    def profile(self) -> Profile:
        """The outcome of every point at every temperature by the paper's rule.

        A new class has one number at all of them. An average's row is the average itself.
        """
        if self.known_profile is not None:
            return self.known_profile
        found = self._profile_of(self.equilibrium)
        if self.law is None:
            return found
        return found.with_decision(nearest_row(found.temperatures, self.temperature), self.decision)

    def _profile_of(self, equilibrium: Equilibrium, reference: Profile | None = None) -> Profile:
        return profile(
            equilibrium,
            tau=self.tau,
            n_classes=len(self.classes),
            small_groups=self.small_groups,
            new_groups=self.new_groups,
            reference=reference,
        )

    @property
    def model(self) -> PottsModel:
        """The energy; of an average, that of the most probable hypothesis."""
        return self.averages.model

    @property
    def graph(self) -> Graph:
        """The graph of similar points, with the weights that the energy was given."""
        return self.model.graph

    @property
    def temperatures(self) -> FloatArray:
        """The grid of the profile, ascending, (T,)."""
        return self.equilibrium.temperatures

    @cached_property
    def grid_phases(self) -> Phases:
        """The phase at every temperature of the grid, with what shows it."""
        return phases(self.equilibrium)

    @property
    def phases(self) -> list[PhaseInterval]:
        """Ferromagnetic, super-paramagnetic, paramagnetic: ranges of temperature, ascending."""
        return self.grid_phases.intervals()

    @property
    def row(self) -> int:
        """Row of the answer's temperature."""
        return nearest_row(self.profile.temperatures, self.temperature)

    # -- the answer ------------------------------------------------------------------------------

    @cached_property
    def decision(self) -> Decision:
        """Outcomes in numbers; those of an average as in `spinlearn.answers.law`."""
        if self.law is None:
            return self.profile.decision(self.row)
        p, n_classes = self.law.probabilities, len(self.classes)
        n, width = p.shape
        outcomes = np.zeros(n, dtype=np.int32)
        if width:  # equal up to rounding, which must not pick one
            outcomes[:] = np.argmax(p >= p.max(axis=1, keepdims=True) - TIE, axis=1)
        first = p[np.arange(n), outcomes] if width else np.zeros(n)
        second = np.partition(p, width - 2, axis=1)[:, width - 2] if width > 1 else np.zeros(n)
        margin = np.maximum(first - second, 0.0)
        status = np.full(n, Status.GROWN, dtype=np.int8)
        status[first >= SURE] = Status.CONFIDENT
        status[margin <= self.tau + TIE] = Status.CONFUSED
        status[~label_reach(self.model, n_classes)[1]] = Status.OUTLIER
        status[outcomes >= n_classes] = Status.NEW
        unknown = first == 0
        outcomes[unknown], status[unknown] = -1, Status.OUTLIER
        held = (self.model.clamped != FREE) & (self.labels >= 0)
        outcomes[held] = self.labels[held]
        status[held] = Status.LABELLED
        return Decision(
            temperature=self.temperature,
            outcomes=frozen(outcomes, np.int32),
            status=frozen(status, np.int8),
            margin=frozen(margin, np.float64),
            n_classes=n_classes,
            confused_sets=((),) if np.any(unknown & ~held) else (),
        )

    @cached_property
    def calls(self) -> npt.NDArray[Any]:
        """The call of every point in the kind of the labels, see `spinlearn.answers.labels`."""
        return encode_outcomes(self.decision.outcomes, self.classes, self.decision.confused_sets)

    @cached_property
    def names(self) -> npt.NDArray[np.object_]:
        """The same in words: 'A', 'new:1', 'confused:A|B', 'outlier'."""
        return outcome_names(self.decision.outcomes, self.classes, self.decision.confused_sets)

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """How every point came by its call: labelled, confident, grown, confused, new, outlier."""
        return np.array(STATUS_NAMES)[self.decision.status]

    @property
    def law_states(self) -> FloatArray:
        """Probability of the named classes, then of new ones or states without a name, (n, q)."""
        if self.law is not None:
            return self.law.probabilities
        return np.asarray(self.equilibrium.marginals[self.row])

    @cached_property
    def has_another(self) -> bool:
        """Whether any point may be in a class without label that is none of the new ones."""
        if self.law is None or len(self.classes) == 0:
            return False
        return bool(np.any(1 - self.law.probabilities.sum(axis=1) > 0.5 / STEPS))

    def table_states(self, points: slice | IntArray = slice(None)) -> FloatArray:
        """Probability of the named classes, then of the new ones of an average, of some `points`.

        (points, k + new); an average's last column is another class without label, if any is in
        one.
        """
        if self.law is None:
            return self.probabilities[points]
        known = self.law.probabilities[points]
        if not self.has_another:
            return known
        rest = np.clip(1 - known.sum(axis=1, keepdims=True), 0.0, 1.0)
        return np.concatenate([known, rest], axis=1)

    @property
    def n_new(self) -> int:
        """New classes that an average has a probability for."""
        return 0 if self.law is None else self.law.probabilities.shape[1] - len(self.classes)

    @property
    def probabilities(self) -> FloatArray:
        """Probability of every named class, (n, k)."""
        return self.law_states[:, : len(self.classes)]

    @property
    def new_probability(self) -> FloatArray:
        """Probability of being in none of the named classes, (n,)."""
        return np.asarray(np.clip(1 - self.probabilities.sum(axis=1), 0.0, 1.0))

    @property
    def std_error(self) -> FloatArray | None:
        """Standard errors of the probabilities, (n, k); None where there are none."""
        if self.law is not None:
            return None
        errors = self.equilibrium.std_error
        return None if errors is None else errors[self.row][:, : len(self.classes)]

    @cached_property
    def confidence(self) -> FloatArray:
        """Probability of every call, (n,), see `spinlearn.answers.law`."""
        if self.law is None:
            return call_probability(self.equilibrium, self.decision, self.row)
        sure = self.law.probabilities.max(axis=1, initial=0.0)
        return np.where(self.decision.status == Status.LABELLED, 1.0, sure)

    @cached_property
    def second(self) -> npt.NDArray[np.object_]:
        """The most probable other class of every point, "" where there is none."""
        names = [*map(self._second_name, range(self.law_states.shape[1])), ""]
        return np.array(names, dtype=object)[self._seconds]

    @cached_property
    def _seconds(self) -> npt.NDArray[np.int32]:
        """The state of it, -1 where there is none with a name."""
        chosen = second_choices(self.law_states, self.decision.outcomes)
        n_named = len(self.classes) + self.n_new
        return np.where(chosen < n_named, chosen, np.int32(-1))

    def _second_name(self, state: int) -> str:
        return outcome_name(state, self.classes, ()) if state >= 0 else ""

    @property
    def expected_accuracy(self) -> tuple[float, float]:
        """Share of the calls that are expected to be right, and its standard deviation.

        Of N calls with probabilities p_i, A = mean p_i are expected to be right. M labels teach of
        that what M trials do: the deviation is that of a Beta law with A M + 1 successes and (1 -
        A) M + 1 failures.
        """
        calls = self.labels < 0
        if not np.any(calls):
            return 1.0, 0.0
        mean = float(np.mean(self.confidence[calls], dtype=np.float64))
        n_labels = int(np.sum(~calls))
        trials = n_labels + 2
        middle = (mean * n_labels + 1) / trials
        return mean, float(np.sqrt(middle * (1 - middle) / (trials + 1)))

    def headline(self) -> str:
        """How good the whole answer is, in one sentence."""
        n_calls = int(np.sum(self.labels < 0))
        if len(self.classes) == 0:
            return f"{len(self.new_classes)} groups among {n_calls:,} points without any label"
        if len(self.classes) == 1 and self.law is not None:
            return (
                f"all labels are of one class, {self.classes[0]}: every point outside new classes "
                "is called so, and nothing says how many of these calls are right"
            )
        mean, spread = self.expected_accuracy
        text = (
            f"about {100 * mean:.0f} % of these {n_calls:,} calls are right, give or take "
            f"{max(100 * spread, 1):.0f}"
        )
        if n_calls == 0:
            text = "every point has a label: nothing was left to call"
        if self.law is not None and self.law.chance:
            return (
                "left-out labels are predicted no better than by guessing: the labels may belong "
                "to other rows (a file joined wrongly), be random, or have nothing to do with "
                f"these data; if not, {text}"
            )
        return text

    @property
    def forced_labels(self) -> npt.NDArray[Any]:
        """The most probable named class everywhere; the first where no label reaches a point."""
        if len(self.classes) == 0:
            return np.empty(0, dtype=self.classes.dtype)
        largest = self.probabilities.max(axis=1, keepdims=True)
        best = self.probabilities >= (1 - TIE) * largest  # which may be tiny, in a new class
        return np.asarray(self.classes[np.argmax(best, axis=1)])

    @cached_property
    def new_classes(self) -> dict[str, npt.NDArray[np.intp]]:
        """Members (row numbers) of every new class, by its name."""
        return {f"new:{k}": members for k, members in self.decision.new_classes().items()}

    def mean_confidence(self, outcome: int) -> float:
        """Mean confidence of the points with one `outcome`; given labels count only where all are
        given.
        """
        return mean_confidence(self.confidence, self.decision, outcome)

    def name_of(self, outcome: int) -> str:
        """An `outcome` of `profile` in words."""
        sets = self.profile.confused_sets if outcome < 0 else ()
        return outcome_name(int(outcome), self.classes, sets)

    def table(self, ids: Any, points: slice = slice(None)) -> LabelTable:
        """One row of text for each of the `points`, as in labels.csv; `ids` are the names of all
        points.
        """
        n = len(self.decision.outcomes)
        if len(ids) != n:
            raise InvalidInputError(f"there are {len(ids)} ids for {n} points: give one per point")
        columns = self._table_columns(points)
        named = (safe_name(str(name)) for name in ids[points])
        rows = tuple(zip(named, *(one.texts() for one in columns), strict=True))
        return LabelTable(("id", *(one.name for one in columns)), rows)

    def _table_columns(self, points: slice = slice(None)) -> list[Column]:
        """What labels.csv and labels.parquet say of some `points` beside their ids.

        The explorer's own table is `labelsCsv` in viz/page/table.js; a browser compares the two.
        """
        decision = self.decision
        calls, call = np.unique(decision.outcomes[points], return_inverse=True)
        called = [outcome_name(int(c), self.classes, decision.confused_sets) for c in calls]
        others, second = np.unique(self._seconds[points], return_inverse=True)
        states, errors = self.table_states(points), self.std_error
        named = [str(c) for c in self.classes]
        beyond = [f"new:{k + 1}" for k in range(self.n_new)]
        beyond += ["new"] * (states.shape[1] - len(named) - len(beyond))
        columns = [
            Column("call", call.astype(np.int32), called),
            Column("status", decision.status[points], STATUS_NAMES),
            Column("confidence", self.confidence[points]),
            Column("second", second.astype(np.int32), [self._second_name(int(c)) for c in others]),
            *map(Column, [f"p:{name}" for name in named + beyond], states.T),
        ]
        if errors is not None:
            columns += map(Column, [f"se:{name}" for name in named], errors[points].T)
        return columns

    # -- in words --------------------------------------------------------------------------------

    @property
    def warning(self) -> str | None:
        """Why this answer is not to be trusted, in one sentence; None if it is."""
        return None if self.law is not None else warning_at(self.equilibrium, self.row)

    def remarks(self) -> list[str]:
        """What kind of answer this is, in words, then what was chosen for it."""
        return [*self.kind_remarks(), *self.choices]

    def kind_remarks(self) -> list[str]:
        """What kind of answer this is, in words."""
        law = self.law
        if law is not None:
            shares = [(name, s) for name, s in zip(LAWS, law.shares, strict=True) if s >= 0.005]
            listed = ", ".join(f"{name} {100 * s:.0f} %" for name, s in shares)
            judged = f"{law.n_right} of {law.n_judged} labels left out are called right"
            if law.n_judged == 0:
                judged = "no label could be left out to learn this: give two of a class"
            return [f"what the labels taught: {listed}; {judged}"]
        remarks = []
        if self.temperature == 0:
            least = "the minimum cut, the" if self.is_cut else "the"
            doubt = "" if self.equilibrium.exact else ", as far as it was found"
            remarks.append(
                f"T = 0: this is {least} labelling of least energy{doubt}; its probabilities are 0 "
                "or 1 (or shared between equal minima) and do not say how sure a call is: the "
                "confidence is the mean probability over all temperatures up to melting"
            )
        n_bad = int(np.sum(~self.equilibrium.converged))
        low, high = self.temperatures[0], self.temperatures[-1]
        remarks.append(
            f"{self.equilibrium.kind} by {self.equilibrium.engine} at {len(self.temperatures)} "
            f"temperatures {low:.4g} to {high:.4g}, "
            + (f"{n_bad} of them not converged" if n_bad else "all converged")
        )
        changing = self.equilibrium.diagnostics.get("changing")
        if changing is not None:
            settled = self.equilibrium.diagnostics.get("settled")
            remarks.append(
                f"{'the calls are settled' if settled else 'the calls are NOT settled'}: if "
                f"sampling went on, at most {changing:.2%} of them would be expected to change "
                "(with 95 % confidence)"
            )
        return remarks

    def notes(self) -> list[str]:
        """All that is to be said about this answer in words, the most important first."""
        warning = [] if self.warning is None else [self.warning]
        return [*warning, self.headline(), *self.remarks(), *(one.text() for one in self.proposals)]

    @property
    def is_cut(self) -> bool:
        """Whether the energy is the similarity cut between points of different classes."""
        model = self.model
        potts = np.array_equal(model.pair_cost, 1 - np.eye(model.n_states))
        plain = np.array_equal(model.couplings, model.graph.weights)
        alone = model.class_penalty is None and not np.any(model.fields)
        return bool(potts and plain and alone)

    def count(self, status: Status) -> int:
        """Number of points with this `status`."""
        return self.decision.count(status)

    # -- other temperatures ----------------------------------------------------------------------

    def at(self, temperature: float | str) -> Self:
        """The same with the answer at another `temperature`: a number, or the name of a rule.

        New classes keep the numbers they have here. "auto" is the rule "calibrated" where averages
        are an approximation, elsewhere the lowest temperature at which the calls say nearly most
        about the points.
        """
        if self.law is not None:
            if temperature == "auto":
                return self
            phase = replace(self, law=None, known_profile=None, proposals=())  # at one temperature
            return phase.at(temperature).renumbered()
        whole, known = self.equilibrium, self.profile
        rule = temperature if isinstance(temperature, str) else "given"
        if rule == "auto" and whole.kind is Kind.APPROXIMATE:
            rule = "calibrated"
        if rule == "given":
            value = one_temperature(temperature)
        elif rule == "calibrated":
            value = calibrated_temperature(whole, usable_rows(whole))
        else:
            alone = None
            if self.small_groups == "join":  # small groups have not joined any others there
                alone = replace(self, small_groups="outlier")._profile_of(whole)
            value = answer_temperature(
                known, rule, trusted=usable_rows(whole), eta_min=self.eta_min, alone=alone
            )
        if not np.any(known.temperatures == value):
            here = whole.at([value])
            whole = whole.ascending(here)
            known = known.with_row(self._profile_of(here, known))
        return replace(
            self,
            averages=Averages.of(whole),
            known_profile=known,
            temperature=value,
            rule=rule,
        )

    def renumbered(self) -> Self:
        """The same with new classes numbered by their size at the answer's temperature."""
        return replace(self, known_profile=self.profile.numbered_from(self.row))

    def on(self, temperatures: npt.ArrayLike) -> Self:
        """The answer over another grid of `temperatures`, at the same one or by the same rule."""
        wanted = np.unique(temperature_array(temperatures))
        if self.law is not None:
            whole = self.equilibrium.at(np.union1d(wanted, [self.temperature]))
            return replace(self, averages=Averages.of(whole), known_profile=None)
        whole = self.equilibrium.at(wanted)
        moved = replace(self, averages=Averages.of(whole), known_profile=None)
        asked = self.rule if self.rule in TEMPERATURE_RULES else self.temperature
        return moved.at(asked).renumbered()

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(s)} {STATUS_NAMES[s]}" for s in Status if self.count(s))
        doubt = "" if self.warning is None else f"; {self.warning}"
        where = "average" if self.law is not None else f"T = {self.temperature:.4g}"
        return f"{type(self).__name__}({where}: {counts}{doubt})"


def one_temperature(value: Any) -> float:
    """A temperature given as a number."""
    values = temperature_array(value)
    if len(values) != 1:
        raise InvalidInputError(
            f"temperature must be one number, got {len(values)}: give a grid as `temperatures`"
        )
    return float(values[0])
