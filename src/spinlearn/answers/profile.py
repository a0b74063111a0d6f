"""Profile: the decisions at all T temperatures for n points, the paper's classification profile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.rule import (
    SMALL_GROUPS,
    Decision,
    Status,
    decision_rule,
    label_reach,
)
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import BoolArray, FloatArray, IntArray, cell_ends, frozen, nearest_row
from spinlearn.model.equilibrium import Equilibrium, NotebookTable
from spinlearn.model.phases import tracked

ROWS: dict[str, Any] = {
    "temperatures": np.float64,
    "outcomes": np.int32,
    "status": np.int8,
    "margin": np.float64,
}


@dataclass(frozen=True, slots=True)
class Interval:
    """A range of temperatures over which a point keeps one outcome.

    Attributes
    ----------
    low, high : float
        Where it begins and ends, in the unit of the couplings.
    outcome : int
        As in `Decision`.

    Examples
    --------
    >>> from spinlearn.answers import Interval  # as `Profile.intervals` lists them
    >>> Interval(low=0.35, high=2.85, outcome=2).outcome
    2
    """

    low: float
    high: float
    outcome: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Profile(NotebookTable):
    """The outcome of every point at all temperatures of a grid: the paper's *profile*.

    A new class keeps its number from one temperature to the next while the two groups of points
    share more than half of their union.

    Attributes
    ----------
    temperatures : float array (T,)
        Ascending, in the unit of the couplings.
    outcomes, status, margin : arrays (T, n)
        As in `Decision`.
    n_classes : int
        Number of named classes.
    confused_sets : tuple of tuples of int
        As in `Decision`.
    n_labels : int or None
        Number of labels, held or not; None: the points that are labelled.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.answers import profile
    >>> from spinlearn.engines import Enumeration
    >>> graph = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)], [0.3, 1, 1, 1, 0.2])
    >>> run = Enumeration().run(PottsModel(graph, 2, clamped=[0, -1, -1, -1, 1]), [0.0, 0.7, 5.0])
    >>> profile(run).outcomes[:, [0, 2, 4]].tolist()  # 2 is the first new class, -1 an outlier
    [[0, 0, 1], [0, 2, 1], [0, -1, 1]]
    """

    temperatures: FloatArray
    outcomes: IntArray
    status: npt.NDArray[np.int8]
    margin: FloatArray
    n_classes: int
    confused_sets: tuple[tuple[int, ...], ...]
    n_labels: int | None = None

    def __post_init__(self) -> None:
        for name, kind in ROWS.items():
            object.__setattr__(self, name, frozen(getattr(self, name), kind))

    def decision(self, row: int) -> Decision:
        """The decision at one `row` of the grid."""
        return Decision(
            temperature=float(self.temperatures[row]),
            outcomes=self.outcomes[row],
            status=self.status[row],
            margin=self.margin[row],
            n_classes=self.n_classes,
            confused_sets=self.confused_sets,
        )

    def nearest_row(self, temperature: float) -> int:
        """Row of the grid closest to a `temperature`."""
        return nearest_row(self.temperatures, temperature)

    def boundaries(self) -> FloatArray:
        """Ends of the ranges that the grid temperatures stand for, (T + 1,)."""
        return cell_ends(self.temperatures)

    def label_count(self) -> int:
        """Number of labels."""
        if self.n_labels is not None:
            return self.n_labels
        return int(np.sum(self.status[0] == Status.LABELLED))

    def intervals(self, point: int) -> list[Interval]:
        """The profile of one `point`: its outcomes from low to high temperature."""
        codes, ends = self.outcomes[:, point], cell_ends(self.temperatures)
        changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        return [
            Interval(float(ends[a]), float(ends[b]), int(codes[a]))
            for a, b in pairwise([0, *changes, len(codes)])
        ]

    def interval_lengths(self) -> FloatArray:
        """Range of temperature (T, n) over which a point keeps the outcome it has here."""
        ends, n_rows = cell_ends(self.temperatures), len(self.temperatures)
        low, high = np.empty(self.outcomes.shape), np.empty(self.outcomes.shape)
        low[0], high[-1] = ends[0], ends[-1]
        for k in range(1, n_rows):
            same = self.outcomes[k] == self.outcomes[k - 1]
            low[k] = np.where(same, low[k - 1], ends[k])
        for k in range(n_rows - 2, -1, -1):
            same = self.outcomes[k] == self.outcomes[k + 1]
            high[k] = np.where(same, high[k + 1], ends[k + 1])
        return high - low

    def take(self, rows: BoolArray) -> Profile:
        """The profile at some of its temperatures only: `rows` is a bool array (T,)."""
        return replace(self, **{name: getattr(self, name)[rows] for name in ROWS})

    def with_row(self, row: Profile) -> Profile:
        """The profile with one more temperature: `row`, made with this profile as reference."""
        place = int(np.searchsorted(self.temperatures, row.temperatures[0]))
        inserted = {
            name: np.insert(getattr(self, name), place, getattr(row, name)[0], axis=0)
            for name in ROWS
        }
        return replace(self, **inserted, confused_sets=row.confused_sets)

    def with_decision(self, row: int, decision: Decision) -> Profile:
        """The profile with another `decision`, without confused sets, at one `row`.

        New classes get the numbers they have in the decision, where the two share points.
        """
        named = self.n_classes
        here, outcomes = self.outcomes[row], self.outcomes.copy()
        codes = np.arange(max(outcomes.max(initial=0), decision.outcomes.max(initial=0)) + 1)
        taken: set[int] = set()
        for new in np.unique(decision.outcomes[decision.outcomes >= named]).tolist():
            same = here[(decision.outcomes == new) & (here >= named)]
            free = same[~np.isin(same, list(taken))]
            if len(free):
                old = int(np.bincount(free).argmax())
                place = int(np.flatnonzero(codes == new)[0])  # swap the two numbers
                codes[place], codes[old] = codes[old], new
                taken.add(old)
        is_new = outcomes >= named
        outcomes[is_new] = codes[outcomes[is_new]]
        outcomes[row] = decision.outcomes
        status, margin = self.status.copy(), self.margin.copy()
        status[row], margin[row] = decision.status, decision.margin
        return replace(self, outcomes=outcomes, status=status, margin=margin)

    def numbered_from(self, row: int) -> Profile:
        """The same with new classes renumbered: those at one `row` first, largest first."""
        named = self.n_classes
        is_new = self.outcomes >= named
        if not np.any(is_new):
            return self
        n_codes = int(self.outcomes.max()) - named + 1
        everywhere = np.bincount(self.outcomes[is_new] - named, minlength=n_codes)
        here = self.outcomes[row]
        at_row = np.bincount(here[here >= named] - named, minlength=n_codes)
        order = np.lexsort((np.arange(n_codes), -everywhere, -at_row))
        number = np.empty(n_codes, dtype=np.int32)
        number[order] = np.arange(n_codes)
        outcomes = self.outcomes.copy()
        outcomes[is_new] = named + number[outcomes[is_new] - named]
        return replace(self, outcomes=outcomes)


def profile(
    equilibrium: Equilibrium,
    *,
    tau: float = 0.1,
    n_classes: int | None = None,
    small_groups: str = "join",
    new_groups: bool = True,
    reference: Profile | None = None,
) -> Profile:
    """Apply the paper's decision rule at every temperature.

    G. Getz, N. Shental and E. Domany, Semi-supervised learning - a statistical physics approach,
    ICML 2005, section 5.

    Parameters
    ----------
    equilibrium : Equilibrium
        Thermal averages.
    tau : float, default 0.1
        Confidence threshold, 0 <= tau < 1; the paper uses 0.1.
    n_classes : int, optional
        How many of the q states, the first, are named classes (default: all). A point that prefers
        a nameless state is never confident.
    small_groups : {"join", "outlier", "new"}, default "join"
        What becomes of groups of one or two points in which none is classified: part of the larger
        group with which they agree most, or outliers, or ("new", the paper's rule) new classes.
    new_groups : bool, default True
        Whether unconfident points that agree among themselves, and with no class, are a new class
        (the paper's rule), or undecided between the classes that are about as probable.
    reference : Profile, optional
        A profile from whose rows around the lowest temperature new classes and confused sets take
        their numbers.

    Returns
    -------
    Profile

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Enumeration
    >>> graph = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)], [0.3, 1, 1, 1, 0.2])
    >>> run = Enumeration().run(PottsModel(graph, 2, clamped=[0, -1, -1, -1, 1]), [0.0, 0.7, 5.0])
    >>> from spinlearn.answers import profile
    >>> profile(run).status[:, 2].tolist()  # confident, new, outlier
    [1, 4, 5]
    """
    if not (isinstance(tau, (int, float, np.number)) and 0 <= tau < 1):
        raise InvalidInputError(f"tau={tau!r} is not a confidence threshold: use 0 <= tau < 1")
    if small_groups not in SMALL_GROUPS:
        raise InvalidInputError(
            f"small_groups={small_groups!r} is unknown: use one of "
            f"{', '.join(map(repr, SMALL_GROUPS))}"
        )
    order = np.argsort(equilibrium.temperatures, kind="stable")
    named = equilibrium.model.n_states if n_classes is None else n_classes
    sets: dict[tuple[int, ...], int] = {}
    previous = after = None
    fresh = 0
    if reference is not None:
        sets = {classes: k for k, classes in enumerate(reference.confused_sets)}
        warmer = int(np.searchsorted(reference.temperatures, equilibrium.temperatures[order[0]]))
        rows = max(warmer - 1, 0), min(warmer, len(reference.temperatures) - 1)
        previous, after = (reference.outcomes[row] - named for row in rows)
        fresh = max(int(reference.outcomes.max()) - named + 1, 0)
    holders, reached = label_reach(equilibrium.model, named)
    ruled = []
    for k in order:
        here = decision_rule(
            equilibrium, int(k), tau=float(tau), n_classes=named, small_groups=small_groups,
            reached=reached, sets=sets, new_groups=new_groups,
        )  # fmt: skip
        new = here.status == Status.NEW
        numbers, fresh = tracked(here.components, new, previous, fresh, after)
        here.outcomes[new] = named + numbers[new]
        previous, after = np.where(new, numbers, -1), None
        ruled.append(here)
    return Profile(
        temperatures=equilibrium.temperatures[order],
        outcomes=np.array([r.outcomes for r in ruled]),
        status=np.array([r.status for r in ruled]),
        margin=np.array([r.margin for r in ruled]),
        n_classes=named,
        confused_sets=tuple(sets),
        n_labels=int(holders.sum()),
    )


def decide(
    equilibrium: Equilibrium, temperature: float, *, tau: float = 0.1, small_groups: str = "join"
) -> Decision:
    """Apply the paper's decision rule at one temperature.

    Parameters
    ----------
    equilibrium : Equilibrium
        Thermal averages.
    temperature : float
        In the unit of the couplings.
    tau, small_groups
        As for `profile`.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Enumeration
    >>> graph = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)], [0.3, 1, 1, 1, 0.2])
    >>> run = Enumeration().run(PottsModel(graph, 2, clamped=[0, -1, -1, -1, 1]), [0.0, 0.7, 5.0])
    >>> from spinlearn.answers import decide
    >>> [int(decide(run, t).outcomes[2]) for t in (0.0, 0.7)]  # 2 is the first new class
    [0, 2]
    """
    here = equilibrium.at([temperature])
    return profile(here, tau=tau, small_groups=small_groups).numbered_from(0).decision(0)
