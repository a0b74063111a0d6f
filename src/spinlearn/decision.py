"""The paper's decision rule (section 5): from marginals and pair agreement to an outcome per point.

At temperature T, with p1 >= p2 the two largest marginals of a point and C_ij the pair agreement:

1. *confident*: p1 - p2 > tau; the point takes the class of p1. Clamped points are *labelled*.
2. Delete the edges with C_ij < (1 + 1/q)/2, half way between random and perfect agreement, and
   find the connected components of what is left. An unconfident point follows its component:
   *grown* if the classified points in it are all of one class, *confused* between the classes if
   there are several, *new* if there is none. Each such component is a new class of its own.

Without labels every marginal is 1/q, every point is *new*, and the components are the clusters of
Blatt, Wiseman & Domany. An outcome is one integer: 0 .. n_classes-1 the class, n_classes + k the
new class number k + 1, -1 - k the k-th set of confused classes. Axes: T temperatures, n points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.outcome_html import profile_html
from spinlearn.analysis.tracking import tracked
from spinlearn.core.arrays import FloatArray, IntArray, frozen
from spinlearn.core.cells import cell_ends, nearest_row
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.results import Equilibrium
from spinlearn.errors import InvalidInputError

# Exact answers meet the thresholds exactly (4 of 5 ground states ...); rounding must not decide.
TIE = 1e-9
# Of the largest information, at which the coldest temperature is taken: where labelled classes
# lose points one by one the curve is flat, and of equals the colder decision is the surer one.
ENOUGH = 0.95
LEAST_NEW = 3  # points of a new class that counts when a temperature is chosen
LEAST_SHARE = 0.05  # and its least share of all points; smaller ones are crumbs, unless
BY_CHANCE = 0.05  # fewer of that size than this would be without a label by chance
COOLED = "population_annealing"  # the engine that cools
MAX_STD_ERROR = 0.25  # of a marginal, at a temperature that may be chosen
TEMPERATURE_RULES = ("information", "stability")


class Status(IntEnum):
    """How a point came by its outcome."""

    LABELLED = 0
    CONFIDENT = 1
    GROWN = 2
    CONFUSED = 3
    NEW = 4


STATUS_NAMES = tuple(status.name.lower() for status in Status)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Decision:
    """The outcome of every point at one temperature.

    Attributes
    ----------
    temperature : float
    outcomes : int array (n,)
        Coded as in the module's docstring.
    status : int array (n,)
        Values of `Status`.
    margin : float array (n,)
        p1 - p2, the confidence the rule looks at.
    n_classes : int
        Number of named classes.
    confused_sets : tuple of tuples of int
        Classes of the k-th confused set.
    """

    temperature: float
    outcomes: IntArray
    status: npt.NDArray[np.int8]
    margin: FloatArray
    n_classes: int
    confused_sets: tuple[tuple[int, ...], ...]

    def new_classes(self) -> dict[int, npt.NDArray[np.intp]]:
        """Members of every new class, by its number (1, 2, ...)."""
        codes = np.unique(self.outcomes[self.outcomes >= self.n_classes])
        return {int(c) - self.n_classes + 1: np.flatnonzero(self.outcomes == c) for c in codes}

    def candidates(self, point: int) -> tuple[int, ...]:
        """Classes a point may belong to: its class, the confused set, or none for a new class."""
        return outcome_candidates(int(self.outcomes[point]), self.n_classes, self.confused_sets)

    def count(self, status: Status) -> int:
        """Number of points with this status."""
        return int(np.sum(self.status == status))

    def _repr_html_(self) -> str:
        return profile_html(
            np.array([self.temperature]),
            self.outcomes[None],
            self.status[None],
            self.n_classes,
            STATUS_NAMES,
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """A maximal range of temperatures over which a point keeps one outcome."""

    low: float
    high: float
    outcome: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Profile:
    """The decisions at all temperatures of a grid: the paper's classification profile.

    `outcomes`, `status` and `margin` are like those of `Decision` with a leading axis T, ascending
    in temperature. A new class keeps its number from one temperature to the next while the two
    components share more than half of their union. `n_labels` is the number of labels, hard and
    soft (None: the points that are labelled).
    """

    temperatures: FloatArray
    outcomes: IntArray
    status: npt.NDArray[np.int8]
    margin: FloatArray
    n_classes: int
    confused_sets: tuple[tuple[int, ...], ...]
    n_labels: int | None = None

    def _repr_html_(self) -> str:
        return profile_html(
            self.temperatures, self.outcomes, self.status, self.n_classes, STATUS_NAMES
        )

    def decision(self, row: int) -> Decision:
        """The decision at the row-th temperature."""
        return Decision(
            temperature=float(self.temperatures[row]),
            outcomes=self.outcomes[row],
            status=self.status[row],
            margin=self.margin[row],
            n_classes=self.n_classes,
            confused_sets=self.confused_sets,
        )

    def nearest_row(self, temperature: float) -> int:
        """Row of the grid temperature closest to the given one."""
        return nearest_row(self.temperatures, temperature)

    def boundaries(self) -> FloatArray:
        """Ends of the cells that the grid temperatures stand for, see `cell_ends`."""
        return cell_ends(self.temperatures)

    def intervals(self, point: int) -> list[Interval]:
        """The profile of one point: its outcomes from low to high temperature."""
        codes = self.outcomes[:, point]
        ends = self.boundaries()
        starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
        stops = np.concatenate([starts[1:], [len(codes)]])
        return [
            Interval(float(ends[a]), float(ends[b]), int(codes[a]))
            for a, b in zip(starts, stops, strict=True)
        ]

    def interval_lengths(self) -> FloatArray:
        """Length of the interval of constant outcome around every (T, point)."""
        ends = self.boundaries()
        n_rows = len(self.temperatures)
        low = np.empty(self.outcomes.shape)
        high = np.empty(self.outcomes.shape)
        low[0], high[-1] = ends[0], ends[-1]
        for k in range(1, n_rows):
            same = self.outcomes[k] == self.outcomes[k - 1]
            low[k] = np.where(same, low[k - 1], ends[k])
        for k in range(n_rows - 2, -1, -1):
            same = self.outcomes[k] == self.outcomes[k + 1]
            high[k] = np.where(same, high[k + 1], ends[k + 1])
        return high - low

    def numbered_from(self, row: int) -> Profile:
        """The same profile with new classes renumbered: those at `row` first, largest first."""
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
        return replace(self, outcomes=frozen(outcomes, np.int32))


def outcome_candidates(
    outcome: int, n_classes: int, confused_sets: Sequence[tuple[int, ...]]
) -> tuple[int, ...]:
    """Classes an outcome leaves open."""
    if outcome < 0:
        return confused_sets[-1 - outcome]
    return (outcome,) if outcome < n_classes else ()


def outcome_name(
    outcome: int,
    classes: Sequence[object] | npt.NDArray[Any],
    confused_sets: Sequence[tuple[int, ...]],
) -> str:
    """An outcome for people: 'A', 'new:1' or 'confused:A|B'."""
    if outcome < 0:
        return "confused:" + "|".join(str(classes[c]) for c in confused_sets[-1 - outcome])
    if outcome < len(classes):
        return str(classes[outcome])
    return f"new:{outcome - len(classes) + 1}"


def profile(
    equilibrium: Equilibrium,
    *,
    tau: float = 0.1,
    n_classes: int | None = None,
    reference: Profile | None = None,
) -> Profile:
    """Apply the rule at every temperature of an equilibrium.

    Parameters
    ----------
    equilibrium : Equilibrium
    tau : float
        Confidence threshold, 0 <= tau < 1; the paper uses 0.1.
    n_classes : int, optional
        The first `n_classes` of the q states are named classes (default: all). A point that prefers
        a nameless state is never confident.
    reference : Profile, optional
        Take the numbers of new classes and confused sets over from this profile's nearest row, so
        that outcomes at further temperatures can be compared with it.
    """
    if not (isinstance(tau, (int, float, np.number)) and 0 <= tau < 1):
        raise InvalidInputError(f"tau={tau!r} is not a confidence threshold: use 0 <= tau < 1")
    order = np.argsort(equilibrium.temperatures, kind="stable")
    named = equilibrium.model.n_states if n_classes is None else n_classes
    sets: dict[tuple[int, ...], int] = {}
    if reference is not None:
        sets = {classes: k for k, classes in enumerate(reference.confused_sets)}
    previous = None
    fresh = 0
    if reference is not None:
        first = float(equilibrium.temperatures[order[0]])
        previous = reference.outcomes[reference.nearest_row(first)] - named
        fresh = max(int(reference.outcomes.max()) - named + 1, 0)
    rows = []
    for k in order:
        outcomes, status, margin, components = _rule(equilibrium, int(k), float(tau), named, sets)
        new = status == Status.NEW
        numbers, fresh = tracked(components, new, previous, fresh)
        outcomes[new] = named + numbers[new]
        previous = np.where(new, numbers, -1)
        rows.append((outcomes, status, margin))
    return Profile(
        temperatures=frozen(equilibrium.temperatures[order], np.float64),
        outcomes=frozen(np.array([r[0] for r in rows]), np.int32),
        status=frozen(np.array([r[1] for r in rows]), np.int8),
        margin=frozen(np.array([r[2] for r in rows]), np.float64),
        n_classes=named,
        confused_sets=tuple(sets),
        n_labels=count_labels(equilibrium.model, named),
    )


def decide(equilibrium: Equilibrium, temperature: float, *, tau: float = 0.1) -> Decision:
    """The rule at one temperature (see `profile` for all of them)."""
    return profile(equilibrium.at([temperature]), tau=tau).numbered_from(0).decision(0)


def stability(profile: Profile) -> FloatArray:
    """eta(T) = |c(T)| * s(T) of section 6.1, one value per temperature.

    c(T): the points that are confident at T with another outcome than at the lowest temperature of
    the grid (T = 0 when it is there); s(T): mean length of the temperature interval around T over
    which their outcomes stay the same. Units: points times temperature. An infinite grid
    temperature scores zero.
    """
    finite = np.isfinite(profile.temperatures)
    if not np.all(finite):
        part = replace(
            profile,
            temperatures=profile.temperatures[finite],
            outcomes=profile.outcomes[finite],
            status=profile.status[finite],
            margin=profile.margin[finite],
        )
        scores = np.zeros(len(finite))
        if np.any(finite):
            scores[finite] = stability(part)
        return scores
    confident = profile.status == Status.CONFIDENT
    changed = confident & (profile.outcomes != profile.outcomes[0])
    # |c| times the mean over c is the sum over c.
    return np.asarray(np.sum(np.where(changed, profile.interval_lengths(), 0.0), axis=1))


def recommended_temperature(profile: Profile, *, eta_min: float | None = None) -> float:
    """T* = argmax eta(T), or the lowest temperature of the grid when eta(T*) < eta_min.

    The default eta_min is that of one point in a hundred holding its outcome over the whole grid.
    """
    finite = profile.temperatures[np.isfinite(profile.temperatures)]
    if len(finite) == 0:
        return float(profile.temperatures[0])
    if eta_min is None:
        eta_min = 0.01 * profile.outcomes.shape[1] * float(finite[-1] - finite[0])
    scores = stability(profile)
    best = int(np.argmax(scores))
    if scores[best] <= 0 or scores[best] < eta_min:
        return float(profile.temperatures[0])
    return float(profile.temperatures[best])


def information(profile: Profile, *, least_share: float = LEAST_SHARE) -> FloatArray:
    """I(T) = D (e^H - 1), what the decision at T says about the points; one value per temperature.

    With f_k the share of all points whose outcome is k, M the number of labels, and k over the
    named classes and the new classes,

        D = sum_k w_k f_k            the share of points that are decided,
        H = -sum_k w_k f_k ln f_k    the entropy of that partition, e^H its effective class count,
        w_k = 1 for a named class, (1 - x_k) / (1 + x_k) for a new one, x_k = (1 - f_k)^M.

    A decision that gives everything to one class says nothing (H = 0: the ground state with few
    labels), nor does one that leaves all points open (D = 0: the paramagnetic phase). The weight
    w_k tells hidden classes from pieces of labelled ones: x_k is the chance that M labels, drawn
    from all points, miss the k-th new class, as they must if it is hidden. At even odds beforehand
    it is hidden with probability 1 / (1 + x_k), and w_k is that less the probability that it is a
    piece; without any labels w_k = 1. Confused points are undecided, and so are crumbs: new classes
    below `LEAST_NEW` points, and those below `least_share` of the points, of which labels leave
    many by chance. That is not so where labels are many: of the 1/f_k pieces of that size, M labels
    miss x_k / f_k, and a class counts if that is at most `BY_CHANCE`. An infinite grid temperature
    scores zero.

    Known weakness: a large piece of a thin, curved class that no label fell on looks like a hidden
    class; there the paper's rule is better. One label per class is too few to see most hidden ones.
    """
    n_rows, n = profile.outcomes.shape
    n_labels = profile.n_labels
    if n_labels is None:
        n_labels = int(np.sum(profile.status[0] == Status.LABELLED))
    scores = np.zeros(n_rows)
    for k in np.flatnonzero(np.isfinite(profile.temperatures)):
        outcomes, sizes = np.unique(profile.outcomes[k], return_counts=True)
        named = (outcomes >= 0) & (outcomes < profile.n_classes)
        share = sizes / n
        missed = (1 - share) ** n_labels if n_labels > 0 else np.zeros(len(share))
        large = (share >= least_share) | ((n_labels > 0) & (missed <= BY_CHANCE * share))
        large &= sizes >= LEAST_NEW
        counted = named | ((outcomes >= profile.n_classes) & large)
        weight = counted * np.where(named, 1.0, (1 - missed) / (1 + missed))
        scores[k] = np.sum(weight * share) * np.expm1(-np.sum(weight * share * np.log(share)))
    return scores


def trusted_rows(equilibrium: Equilibrium) -> npt.NDArray[np.bool_]:
    """Which temperatures, ascending, are sampled well enough for a decision to mean something.

    With few effective samples every marginal looks certain and every point decided. All rows of an
    exact equilibrium are trusted, and all rows where no row would be; so are those of a cooled
    population, which ends in a valley of low energy even where it says nothing of the others.
    """
    order = np.argsort(equilibrium.temperatures, kind="stable")
    if equilibrium.std_error is None or equilibrium.engine == COOLED:
        return np.ones(len(order), dtype=np.bool_)
    worst = equilibrium.std_error.max(axis=(1, 2))[order]
    trusted = np.asarray(worst <= MAX_STD_ERROR)
    return trusted if np.any(trusted) else np.ones(len(order), dtype=np.bool_)


def best_temperature(
    profile: Profile,
    *,
    rule: str = "information",
    eta_min: float | None = None,
    trusted: npt.NDArray[np.bool_] | None = None,
) -> float:
    """The temperature of the answer, chosen without looking at the truth.

    Parameters
    ----------
    profile : Profile
    rule : {"information", "stability"}
        "information": the lowest T at which I(T), see `information`, reaches `ENOUGH` of its
        maximum. "stability": the paper's T* (section 6.1), see `stability`, which looks at
        confident points only and so cannot choose a temperature because a new class appears there.
    eta_min : float, optional
        For "stability", see `recommended_temperature`.
    trusted : bool array (T,), optional
        For "information", the rows to choose from, see `trusted_rows`; default all.
    """
    if rule == "stability":
        return recommended_temperature(profile, eta_min=eta_min)
    if rule != "information":
        raise InvalidInputError(
            f"rule={rule!r} is unknown: use one of {', '.join(map(repr, TEMPERATURE_RULES))}"
        )
    scores = information(profile)
    if trusted is not None:
        scores = np.where(trusted, scores, -1.0)
    best = int(np.argmax(scores >= ENOUGH * scores.max() - TIE))
    return float(profile.temperatures[best])


def count_labels(model: PottsModel, n_classes: int) -> int:
    """Clamped points, and free ones with a field of their own: soft labels.

    A field that most points share, up to a constant, is a prior of the classes and no label; nor
    are fields labels where most free points have one of their own (diffused labels).
    """
    hard = (model.clamped != FREE) & (model.clamped < n_classes)
    own = model.fields - model.fields[:, :1]
    largest = np.abs(own).max(initial=0.0)
    usual = np.median(own, axis=0)
    free = model.clamped == FREE
    soft = free & np.any(np.abs(own - usual) > TIE * largest, axis=1)
    if 2 * soft.sum() > free.sum():
        soft[:] = False
    return int(np.sum(hard | soft))


def _rule(
    equilibrium: Equilibrium,
    row: int,
    tau: float,
    n_classes: int,
    sets: dict[tuple[int, ...], int],
) -> tuple[IntArray, npt.NDArray[np.int8], FloatArray, IntArray]:
    """Outcomes (new classes still open), status, margin and components at one temperature."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    model = equilibrium.model
    n, q = model.n_nodes, model.n_states
    p = equilibrium.marginals[row]
    favourite = np.argmax(p, axis=1)
    top_two = np.partition(p, q - 2, axis=1)[:, q - 2 :]
    margin = top_two[:, 1] - top_two[:, 0]
    labelled = (model.clamped != FREE) & (model.clamped < n_classes)
    classified = labelled | ((margin > tau + TIE) & (favourite < n_classes))

    kept = equilibrium.edge_agreement[row] >= (1 + 1 / q) / 2 - TIE
    u, v = model.graph.edges[kept].T
    adjacency = coo_array((np.ones(len(u), dtype=np.int8), (u, v)), shape=(n, n))
    n_components, components = connected_components(adjacency, directed=False)
    present = np.zeros((n_components, n_classes), dtype=bool)
    present[components[classified], favourite[classified]] = True

    status = np.full(n, Status.NEW, dtype=np.int8)
    outcomes = np.full(n, n_classes, dtype=np.int32)
    n_present = present.sum(axis=1)[components]
    grown = n_present == 1
    outcomes[grown] = (present @ np.arange(n_classes))[components[grown]]  # its only class
    status[grown] = Status.GROWN
    status[n_present > 1] = Status.CONFUSED
    outcomes[classified] = favourite[classified]
    status[classified] = Status.CONFIDENT
    status[labelled] = Status.LABELLED
    confused = status == Status.CONFUSED
    for c in np.unique(components[confused]):
        classes = tuple(np.flatnonzero(present[c]).tolist())
        outcomes[confused & (components == c)] = -1 - sets.setdefault(classes, len(sets))
    return outcomes, status, margin, components
