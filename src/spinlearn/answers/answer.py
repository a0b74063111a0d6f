"""Answer: everything that is said about the points, at one temperature.

The one type that the classifier holds, the folder stores, the command prints, `annotate` writes
into AnnData, and the explorer shows. Axes: T temperatures, n points, k named classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.grains import TIE
from spinlearn.analysis.phases import PhaseInterval, Phases, phases
from spinlearn.answers.calibrated import calibrated_temperature
from spinlearn.answers.confidence import confidence, mean_confidence
from spinlearn.answers.labels import LabelCode
from spinlearn.answers.names import encode_outcomes, outcome_name, outcome_names
from spinlearn.answers.new_class_hints import NewClassHint, hint_text, new_class_hints
from spinlearn.answers.profile import Profile, profile
from spinlearn.answers.rule import STATUS_NAMES, Decision, Status
from spinlearn.answers.second_opinion import (
    NO_STATE,
    SecondOpinion,
    outcomes_of_states,
    second_opinion,
    with_doubts,
)
from spinlearn.answers.strength import new_class_strengths
from spinlearn.answers.table import LabelTable, label_table
from spinlearn.answers.temperature import TEMPERATURE_RULES, answer_temperature
from spinlearn.answers.trust import Trust
from spinlearn.core.arrays import FloatArray, IntArray, temperature_array
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.notebook import NotebookTable
from spinlearn.errors import InvalidInputError


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Answer(NotebookTable):
    """What was found about every point: calls, probabilities, confidence, and what is not to be
    trusted.

    A fitted `spinlearn.PottsClassifier` holds one as ``answer_``. Axes are n points, k named
    classes, T temperatures; temperatures are in the unit of the couplings.

    Parameters
    ----------
    classes : array (k,)
        Names of the classes, sorted, in the user's kind.
    labels : int array (n,)
        Position in `classes` of every label given, -1 where there is none.
    equilibrium : Equilibrium
        All thermal averages, ascending in temperature; that of the answer is among its rows.
    profile : Profile
        The outcome of every point at every one of these temperatures. A new class has one number at
        all of them.
    temperature : float
        Of the answer.
    rule : str, default "given"
        How it was chosen: one of `TEMPERATURE_RULES`, or "given".
    tau : float, default 0.1
        Confidence threshold of the decision.
    small_groups : {"join", "outlier", "new"}, default "join"
        What became of groups of one or two points in which none is classified.
    eta_min : float, optional
        Of the paper's rules, see `answer_temperature`.
    calibration : float, optional
        Of the rule "calibrated": the factor that left-out labels put on that temperature.
    new_groups : bool, default True
        Whether points that agree with no class may be a new one, see `spinlearn.answers.profile`.
    choices : tuple of str
        What was chosen for the user before, each with its reason.
    second_opinion : SecondOpinion, optional
        What a sampler says beside an approximation, at the temperature that it was asked at; the
        points on which the two disagree are undecided there.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn import PottsClassifier
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.array(["", "", "left"] + 10 * [""] + ["right"] + 6 * [""], dtype=object)
    >>> clf = PottsClassifier(method="paper").fit(X, y)
    >>> answer = clf.answer_
    >>> answer.names[[0, 19]].tolist(), str(answer.status[2])
    (['left', 'right'], 'labelled')
    >>> answer.probabilities.shape, answer.new_classes
    ((20, 2), {})
    >>> hot = answer.at(answer.temperatures[-1])  # the same at another temperature
    >>> hot.warning is None
    True
    """

    classes: npt.NDArray[Any]
    labels: IntArray
    equilibrium: Equilibrium
    profile: Profile
    temperature: float
    rule: str = "given"
    tau: float = 0.1
    small_groups: str = "join"
    eta_min: float | None = None
    calibration: float | None = None
    new_groups: bool = True
    choices: tuple[str, ...] = ()
    second_opinion: SecondOpinion | None = None

    @classmethod
    def from_equilibrium(
        cls,
        equilibrium: Equilibrium,
        code: LabelCode,
        *,
        temperature: float | str = "auto",
        tau: float = 0.1,
        small_groups: str = "join",
        eta_min: float | None = None,
        calibration: float | None = None,
        new_groups: bool = True,
        choices: tuple[str, ...] = (),
    ) -> Self:
        """The answer that an equilibrium gives.

        Parameters
        ----------
        equilibrium : Equilibrium
            All thermal averages.
        code : LabelCode
            The classes, and the label of every point.
        temperature : float or str, default "auto"
            Of the answer, a number or the name of a rule.
        tau : float, default 0.1
            Confidence threshold.
        small_groups : {"join", "outlier", "new"}, default "join"
            What becomes of groups of one or two points in which none is classified.
        eta_min : float, optional
            Of the paper's rules.
        calibration : float, optional
            Of the rule "calibrated".
        new_groups : bool, default True
            Whether points that agree with no class may be a new one.
        choices : tuple of str
            What was chosen for the user before.

        Returns
        -------
        Answer
        """
        whole = equilibrium.ascending()
        found = profile(
            whole,
            tau=tau,
            n_classes=code.n_classes,
            small_groups=small_groups,
            new_groups=new_groups,
        )
        answer = cls(
            classes=code.classes,
            labels=code.states,
            equilibrium=whole,
            profile=found,
            temperature=float(whole.temperatures[0]),
            tau=float(tau),
            small_groups=small_groups,
            eta_min=eta_min,
            calibration=calibration,
            new_groups=new_groups,
            choices=choices,
        )
        return answer.at(temperature).renumbered()

    # -- what was computed -----------------------------------------------------------------------

    @property
    def model(self) -> PottsModel:
        """The energy."""
        return self.equilibrium.model

    @property
    def graph(self) -> Graph:
        """The graph of similar points, with the weights that the energy was given."""
        return self.equilibrium.model.graph

    @property
    def temperatures(self) -> FloatArray:
        """The grid, ascending, (T,)."""
        return self.profile.temperatures

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
        return self.profile.nearest_row(self.temperature)

    # -- the answer ------------------------------------------------------------------------------

    @property
    def decision(self) -> Decision:
        """Outcomes in numbers."""
        return self.profile.decision(self.row)

    @cached_property
    def calls(self) -> npt.NDArray[Any]:
        """The call of every point in the kind of the labels, see `spinlearn.answers.names`."""
        return encode_outcomes(self.decision.outcomes, self.classes, self.profile.confused_sets)

    @cached_property
    def names(self) -> npt.NDArray[np.object_]:
        """The same in words: 'A', 'new:1', 'confused:A|B', 'outlier'."""
        return outcome_names(self.decision.outcomes, self.classes, self.profile.confused_sets)

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """How every point came by its call: labelled, confident, grown, confused, new, outlier."""
        return np.array(STATUS_NAMES)[self.decision.status]

    @property
    def probabilities(self) -> FloatArray:
        """Probability of every named class, (n, k)."""
        return np.asarray(self.equilibrium.marginals[self.row][:, : len(self.classes)])

    @property
    def std_error(self) -> FloatArray | None:
        """Standard errors of the probabilities, (n, k); None where there are none."""
        errors = self.equilibrium.std_error
        return None if errors is None else errors[self.row][:, : len(self.classes)]

    @cached_property
    def confidence(self) -> FloatArray:
        """How far every call can be relied on, in [0, 1], see `spinlearn.answers.confidence`."""
        return confidence(self.equilibrium, self.profile, self.row, self.trust.usable)

    @property
    def forced_labels(self) -> npt.NDArray[Any]:
        """The most probable named class, for those who need one everywhere.

        Where no label reaches a point all are equally probable and this is the first.
        """
        if len(self.classes) == 0:
            return np.empty(0, dtype=self.classes.dtype)
        largest = self.probabilities.max(axis=1, keepdims=True)
        best = self.probabilities >= (1 - TIE) * largest  # which may be tiny, in a new class
        return np.asarray(self.classes[np.argmax(best, axis=1)])

    @cached_property
    def new_classes(self) -> dict[str, npt.NDArray[np.intp]]:
        """Members (row numbers) of every new class, by its name."""
        return {f"new:{k}": members for k, members in self.decision.new_classes().items()}

    @cached_property
    def new_class_strengths(self) -> dict[str, float]:
        """How far every new class stands apart, by its name, see `spinlearn.answers.strength`."""
        found = new_class_strengths(self.model, self.decision.outcomes, len(self.classes))
        return {f"new:{k}": strength for k, strength in found.items()}

    def mean_confidence(self, outcome: int) -> float:
        """Mean confidence of the points with one outcome.

        Given labels count only where there are no other points.

        Parameters
        ----------
        outcome : int
            As in `Decision`.

        Returns
        -------
        float
        """
        return mean_confidence(self.confidence, self.decision, outcome)

    def name_of(self, outcome: int) -> str:
        """An outcome of `profile` in words.

        Parameters
        ----------
        outcome : int
            As in `Decision`.

        Returns
        -------
        str
        """
        return outcome_name(int(outcome), self.classes, self.profile.confused_sets)

    def table(self, ids: Any, points: slice = slice(None)) -> LabelTable:
        """One row of text per point, as in labels.csv.

        Parameters
        ----------
        ids : sequence of str
            Name of every point.
        points : slice, default all
            Which points.

        Returns
        -------
        LabelTable
        """
        return label_table(
            self.profile,
            self.row,
            ids=ids,
            classes=self.classes,
            confidence=self.confidence,
            marginals=self.equilibrium.marginals[self.row],
            std_error=self.std_error,
            reasons=self.reasons,
            errors_unknown=self.equilibrium.kind is Kind.APPROXIMATE,
            points=points,
        )

    @property
    def reasons(self) -> dict[int, str]:
        """Why points are undecided that one opinion alone would have called, by row number."""
        second = self.second_opinion
        if second is None or second.temperature != self.temperature:
            return {}
        codes = outcomes_of_states(self.model, self.decision.outcomes, len(self.classes))
        rows = np.flatnonzero(second.says != NO_STATE)
        return {int(i): f"sampling says {self.name_of(codes[second.says[i]])}" for i in rows}

    def checked(self, seed: int | None = None) -> Self:
        """The same with a second opinion by a sampler, where one is to be had.

        Parameters
        ----------
        seed : int, optional
            Of the sampler; it has one anyway.

        Returns
        -------
        Answer
        """
        second = second_opinion(
            self.equilibrium, self.profile, self.row, self.labels, 0 if seed is None else seed
        )
        return self if second is None else self._doubting(second)

    def _doubting(self, second: SecondOpinion) -> Self:
        doubted = with_doubts(self.profile, self.row, self.model, second)
        return replace(self, profile=doubted, second_opinion=second)

    # -- how far to trust it ---------------------------------------------------------------------

    @cached_property
    def trust(self) -> Trust:
        """Which temperatures can be trusted, and why not the others."""
        return Trust.of(self.equilibrium)

    @property
    def warning(self) -> str | None:
        """Why this answer is not to be trusted, in one sentence; None if it is."""
        return self.trust.sentence(self.row)

    @cached_property
    def new_class_hints(self) -> list[NewClassHint]:
        """New classes that stand at other temperatures."""
        return new_class_hints(self.profile, self.row, self.trust.usable)

    def hint_texts(self) -> list[str]:
        """The hints in words."""
        return [
            hint_text(hint, self.classes, self.profile.confused_sets)
            for hint in self.new_class_hints
        ]

    def remarks(self) -> list[str]:
        """What kind of answer this is, in words, then what was chosen for it."""
        return [*self.kind_remarks(), *self.choices]

    def kind_remarks(self) -> list[str]:
        """What kind of answer this is, in words."""
        remarks = []
        if self.temperature == 0:
            least = "the minimum cut, the" if self.is_cut else "the"
            found = "" if self.equilibrium.exact else ", as far as it was found"
            remarks.append(
                f"T = 0: this is {least} labelling of least energy{found}; its probabilities are 0 "
                "or 1 (or shared between equal minima) and do not say how sure a call is: read the "
                "confidence"
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
        second = self.second_opinion
        if second is not None and second.temperature == self.temperature:
            n = second.n_disagree
            points = f"{n} point{'s' * (n > 1)}: undecided" if n else "no point"
            remarks.append(f"a sampled second opinion disagrees on {points}")
        return remarks

    def notes(self) -> list[str]:
        """All that is to be said about this answer in words, the most important first."""
        warning = [] if self.warning is None else [self.warning]
        return warning + self.remarks() + self.hint_texts()

    @property
    def is_cut(self) -> bool:
        """Whether the energy is the similarity cut between points of different classes."""
        model = self.model
        potts = np.array_equal(model.pair_cost, 1 - np.eye(model.n_states))
        plain = np.array_equal(model.couplings, model.graph.weights)
        alone = model.class_penalty is None and not np.any(model.fields)
        return bool(potts and plain and alone)

    def count(self, status: Status) -> int:
        """Number of points with this status.

        Parameters
        ----------
        status : Status
            Which one.

        Returns
        -------
        int
        """
        return self.decision.count(status)

    # -- other temperatures ----------------------------------------------------------------------

    def at(self, temperature: float | str) -> Self:
        """The same with the answer at another temperature. New classes keep the numbers they have
        here.

        Parameters
        ----------
        temperature : float or str
            A number, in the unit of the couplings, or the name of a rule. "auto" is the rule
            "calibrated" where averages are an approximation, by belief propagation for instance,
            and "information" elsewhere.

        Returns
        -------
        Answer
        """
        whole, found = self.equilibrium, self.profile
        rule = "given"
        if isinstance(temperature, str):
            rule = temperature
            if rule == "auto":
                approximate = whole.kind is Kind.APPROXIMATE
                rule = "calibrated" if approximate else "information"
        if rule == "calibrated":
            value = calibrated_temperature(whole, self.trust.usable, self.calibration)
        elif rule != "given":
            value = answer_temperature(
                found,
                rule,
                trusted=self.trust.usable,
                eta_min=self.eta_min,
                alone=self._without_joining(),
            )
        else:
            value = one_temperature(temperature)
        if not np.any(found.temperatures == value):
            here = whole.at([value])
            whole = whole.ascending(here)
            found = found.with_row(
                profile(
                    here,
                    tau=self.tau,
                    n_classes=found.n_classes,
                    small_groups=self.small_groups,
                    new_groups=self.new_groups,
                    reference=found,
                )
            )
        return replace(self, equilibrium=whole, profile=found, temperature=value, rule=rule)

    def _without_joining(self) -> Profile:
        """The profile in which small groups have not joined any others."""
        if self.small_groups != "join":
            return self.profile
        return profile(
            self.equilibrium,
            tau=self.tau,
            n_classes=len(self.classes),
            small_groups="outlier",
            new_groups=self.new_groups,
        )

    def renumbered(self) -> Self:
        """The same with new classes numbered by their size at the answer's temperature."""
        return replace(self, profile=self.profile.numbered_from(self.row))

    def on(self, temperatures: npt.ArrayLike) -> Self:
        """The answer over another grid of temperatures, without sampling again.

        It is where it was asked for before: at that temperature, or by the same rule.

        Parameters
        ----------
        temperatures : array-like of float
            In the unit of the couplings.

        Returns
        -------
        Answer
        """
        whole = self.equilibrium.at(np.unique(temperature_array(temperatures)))
        found = profile(
            whole,
            tau=self.tau,
            n_classes=len(self.classes),
            small_groups=self.small_groups,
            new_groups=self.new_groups,
        )
        moved = replace(self, equilibrium=whole, profile=found, second_opinion=None)
        asked = self.rule if self.rule in TEMPERATURE_RULES else self.temperature
        moved = moved.at(asked).renumbered()
        second = self.second_opinion
        same = second is not None and second.temperature == moved.temperature
        return moved._doubting(second) if second is not None and same else moved

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(s)} {STATUS_NAMES[s]}" for s in Status if self.count(s))
        doubt = "" if self.warning is None else f"; {self.warning}"
        return f"{type(self).__name__}(T = {self.temperature:.4g}: {counts}{doubt})"


def one_temperature(value: Any) -> float:
    """A temperature given as a number."""
    values = temperature_array(value)
    if len(values) != 1:
        raise InvalidInputError(
            f"temperature must be one number, got {len(values)}: give a grid as `temperatures`"
        )
    return float(values[0])
