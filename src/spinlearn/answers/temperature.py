"""The temperature of the answer, by one of several rules that do not look at the truth.

One more, "calibrated", looks at the energies too, see `spinlearn.answers.calibrated`.

- "information": the lowest T at which the information I(T), see `information`, is nearly at its
  maximum.
- "discovery": near that, but where small new classes stand too, see `_discovery`.
- "paper": T* of the paper's section 6.1, see `stability`; new classes and grown points count as
  confidently classified.
- "paper_strict": the same, where only p1 - p2 > tau is confident. It cannot choose a temperature
  because a new class appears there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.grains import TIE
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import LEAST_NEW, Status
from spinlearn.core.arrays import BoolArray, FloatArray, IntArray
from spinlearn.errors import InvalidInputError

# Of the largest information, at which the coldest temperature is taken: where labelled classes
# lose points one by one the curve is flat, and of equals the colder decision is the surer one.
ENOUGH = 0.95
LEAST_SHARE = 0.05  # of all points, in a new class that says something; smaller ones only if
BY_CHANCE = 0.05  # fewer of that size than this would be without a label by chance
NEARLY = 0.95  # of the information of the best answer, that "discovery" may not fall below
# New classes that "discovery" looks for: at least so many points and so large a share of them; the
# class that held them keeps so much of its other points.
LEAST, LEAST_SEEN, KEPT = 5, 0.01, 0.5
WHOLE = 0.9  # of the largest number of points in such classes


def answer_temperature(
    found: Profile,
    rule: str = "information",
    *,
    trusted: BoolArray | None = None,
    eta_min: float | None = None,
    alone: Profile | None = None,
) -> float:
    """The temperature of the answer, chosen from a profile without looking at the truth.

    Parameters
    ----------
    found : Profile
        The outcomes at all temperatures.
    rule : {"information", "discovery", "paper", "paper_strict"}, default "information"
        "information": the lowest temperature at which the decision says nearly most about the
        points; "discovery": near that, but where small new classes stand too; "paper": T* of the
        paper's section 6.1, see `stability`; "paper_strict": the same, blind to new classes.
    trusted : bool array (T,), optional
        The rows to choose from, see `Trust`; default all, also where none is trusted.
    eta_min : float, optional
        With "paper" and "paper_strict", the smallest stability, in points times temperature, for
        which another temperature than the lowest is chosen (the paper's eta_0). Default: that of
        one point in a hundred that holds its outcome over the whole grid.
    alone : Profile, optional
        The same without joined groups, see `small_groups` of `profile`; default `found`. A point
        that has joined others counts half for "information" and "discovery" and not at all for the
        paper's rules.

    Returns
    -------
    float
        One of the grid, in the unit of the couplings.

    Examples
    --------
    Three groups of five points in a row; the middle one has no label:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.engines import JunctionTree
    >>> groups = [(i + k, j + k) for k in (0, 5, 10) for i in range(5) for j in range(i)]
    >>> graph = Graph(15, groups + [(0, 5), (9, 10)], 30 * [1.0] + [0.3, 0.2])
    >>> model = MinCut()(graph, [0] + 13 * [-1] + [1], n_states=2)
    >>> found = JunctionTree().run(model, [0.0, 0.3, 0.8, 5.0])
    >>> from spinlearn.answers import answer_temperature, profile
    >>> answer_temperature(profile(found), "information")
    0.8
    """
    if rule not in PROFILE_RULES:
        raise InvalidInputError(
            f"temperature rule {rule!r} is unknown: use one of "
            f"{', '.join(map(repr, PROFILE_RULES))}"
        )
    usable = np.isfinite(found.temperatures)
    if trusted is not None and np.any(usable & trusted):
        usable &= trusted
    if not np.any(usable):
        return float(found.temperatures[0])
    part = found.take(usable)
    beside = part if alone is None else alone.take(usable)
    return float(part.temperatures[PROFILE_RULES[rule](part, beside, eta_min)])


# -- the paper's rule ----------------------------------------------------------------------------


def stability(found: Profile, *, strict: bool = False) -> FloatArray:
    """How stable the change from the ground state is at every temperature: eta(T) of section 6.1.

    eta(T) is the number of points that are confidently classified at T with another outcome than at
    the lowest temperature of the grid, times the mean length of the temperature range around T over
    which their outcomes stay the same.

    Parameters
    ----------
    found : Profile
        The outcomes at all temperatures.
    strict : bool, default False
        Whether only points with one clearly most probable class are confidently classified.
        Otherwise grown points and members of new classes of at least three points are, too: the
        paper's figures 4 and 5 show temperatures at which a new class was found, and strictly
        counted no such temperature can win.

    Returns
    -------
    float array (T,)
        In points times temperature; zero at an infinite temperature.

    Notes
    -----
    The paper's ground state is one minimum cut, which names every point. Where several ground
    states name a point differently, the coldest row leaves it open, and no call at a higher
    temperature is the same as there.

    References
    ----------
    G. Getz, N. Shental and E. Domany, Semi-supervised learning - a statistical physics approach,
    ICML 2005, section 6.1.

    Examples
    --------
    Three groups of five points in a row; the middle one has no label:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.engines import JunctionTree
    >>> groups = [(i + k, j + k) for k in (0, 5, 10) for i in range(5) for j in range(i)]
    >>> graph = Graph(15, groups + [(0, 5), (9, 10)], 30 * [1.0] + [0.3, 0.2])
    >>> model = MinCut()(graph, [0] + 13 * [-1] + [1], n_states=2)
    >>> found = JunctionTree().run(model, [0.0, 0.3, 0.8, 5.0])
    >>> from spinlearn.answers import profile, stability
    >>> stability(profile(found)).round(2)[:3].tolist()  # five points, over a range of 2.35
    [0.0, 0.0, 11.75]
    """
    finite = np.isfinite(found.temperatures)
    scores = np.zeros(len(finite))
    if not np.any(finite):
        return scores
    part = found.take(finite)
    counted = part.status == Status.CONFIDENT
    if not strict:
        counted = counted | (part.status == Status.GROWN) | _in_new_classes(part)
    coldest = part.outcomes[0]
    changed = counted & (part.outcomes != coldest)
    if not strict and part.n_classes:
        changed |= counted & ((coldest < 0) | (coldest >= part.n_classes))
    # |c| times the mean over c is the sum over c.
    scores[finite] = np.sum(np.where(changed, part.interval_lengths(), 0.0), axis=1)
    return scores


def _in_new_classes(found: Profile) -> BoolArray:
    """Points in new classes that are no crumbs, (T, n)."""
    inside = found.status == Status.NEW
    for row, outcomes in enumerate(found.outcomes):
        members = outcomes[inside[row]] - found.n_classes
        sizes = np.bincount(members) if len(members) else np.zeros(1, dtype=np.intp)
        inside[row, inside[row]] = sizes[members] >= LEAST_NEW
    return np.asarray(inside)


def _most_stable(
    found: Profile, alone: Profile, eta_min: float | None, *, strict: bool = False
) -> int:
    """Row of the largest stability, or the first where that is below eta_min."""
    if eta_min is None:
        span = float(alone.temperatures[-1] - alone.temperatures[0])
        eta_min = 0.01 * alone.outcomes.shape[1] * span
    scores = stability(alone, strict=strict)
    best = int(np.argmax(scores))
    return best if scores[best] > 0 and scores[best] >= eta_min else 0


def _most_stable_strictly(found: Profile, alone: Profile, eta_min: float | None) -> int:
    return _most_stable(found, alone, eta_min, strict=True)


# -- where the decision says most ----------------------------------------------------------------


def information(found: Profile, *, least_share: float = LEAST_SHARE) -> FloatArray:
    """How much the decision at every temperature says about the points.

    A decision that gives everything to one class says nothing (the ground state with few labels),
    nor does one that leaves all points open (high temperatures).

    Parameters
    ----------
    found : Profile
        The outcomes at all temperatures.
    least_share : float, default 0.05
        Share of all points below which a new class counts only if labels are so many that few
        groups of its size would be without one by chance.

    Returns
    -------
    float array (T,)
        I(T), without unit; zero at an infinite temperature.

    Notes
    -----
    I(T) = D (e^H - 1). With f_k the share of all points whose outcome is k, M the number of labels,
    and k over the named classes and the new classes::

        D = sum_k w_k f_k            the share of points that are decided,
        H = -sum_k w_k f_k ln f_k    the entropy of that partition, e^H its effective class count,
        w_k = 1 for a named class, (1 - x_k) / (1 + x_k) for a new one, x_k = (1 - f_k)^M.

    The weight w_k tells hidden classes from pieces of labelled ones. x_k is the chance that M
    labels, drawn from all points, miss the k-th new class, as they must if it is hidden. At even
    odds beforehand it is hidden with probability 1 / (1 + x_k), and w_k is that less the
    probability that it is a piece; without any labels w_k = 1. Undecided points count for nothing,
    and so do new classes below three points, and those below `least_share` of the points, of which
    labels leave many by chance. That is not so where labels are many: of the 1/f_k pieces of that
    size, M labels miss x_k / f_k, and a class counts if that is at most 0.05.

    Known weakness: a large piece of a thin, curved class that no label fell on looks like a hidden
    class; there the paper's rule is better. One label per class is too few to see most hidden ones.

    Examples
    --------
    Three groups of five points in a row; the middle one has no label:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.engines import JunctionTree
    >>> groups = [(i + k, j + k) for k in (0, 5, 10) for i in range(5) for j in range(i)]
    >>> graph = Graph(15, groups + [(0, 5), (9, 10)], 30 * [1.0] + [0.3, 0.2])
    >>> model = MinCut()(graph, [0] + 13 * [-1] + [1], n_states=2)
    >>> found = JunctionTree().run(model, [0.0, 0.3, 0.8, 5.0])
    >>> from spinlearn.answers import information, profile
    >>> information(profile(found)).round(2)[:3].tolist()  # most where the new class stands
    [0.89, 0.89, 1.11]
    """
    n_rows, n = found.outcomes.shape
    n_labels = found.label_count()
    scores = np.zeros(n_rows)
    for k in np.flatnonzero(np.isfinite(found.temperatures)):
        outcomes, sizes = np.unique(found.outcomes[k], return_counts=True)
        named = (outcomes >= 0) & (outcomes < found.n_classes)
        share = sizes / n
        missed = (1 - share) ** n_labels if n_labels > 0 else np.zeros(len(share))
        large = (share >= least_share) | ((n_labels > 0) & (missed <= BY_CHANCE * share))
        large &= sizes >= LEAST_NEW
        counted = named | ((outcomes >= found.n_classes) & large)
        weight = counted * np.where(named, 1.0, (1 - missed) / (1 + missed))
        scores[k] = np.sum(weight * share) * np.expm1(-np.sum(weight * share * np.log(share)))
    return scores


def _half_joined(found: Profile, alone: Profile, least_share: float = LEAST_SHARE) -> FloatArray:
    """The information, to which joined points contribute half."""
    own = information(alone, least_share=least_share)
    return own if alone is found else (own + information(found, least_share=least_share)) / 2


def _most_informative(found: Profile, alone: Profile, eta_min: float | None = None) -> int:
    """The coldest row at which the information is nearly the largest."""
    scores = _half_joined(found, alone)
    return int(np.argmax(scores >= ENOUGH * scores.max() - TIE))


def _discovery(found: Profile, alone: Profile, eta_min: float | None = None) -> int:
    """Near the most informative row, but where small new classes stand too.

    Of all rows at which the information, with small new classes counted, is `NEARLY` as large, the
    one at which most points are in large new classes, beside the class that held them or in that
    answer already; of equals, the coldest.
    """
    best = _most_informative(found, alone)
    scores = _half_joined(found, alone, LEAST_SEEN)
    allowed = scores >= NEARLY * scores[best]
    allowed[best] = True
    answer = found.outcomes[best]
    points = np.zeros(len(scores))
    for code, sizes, standing in _large_new_classes(found, answer):
        shown = bool(np.any(answer == code))
        points += np.where(shown | standing, sizes, 0)
    points[~allowed] = -1
    return int(np.argmax(points >= WHOLE * points.max()))


def _large_new_classes(
    found: Profile, answer: IntArray
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
    """New classes that are large somewhere: code, size at every temperature, and where they stand.

    A size is 0 where the class is not large. A class stands where the one that holds its members in
    `answer` goes on without them.
    """
    named = found.n_classes
    least = max(LEAST, LEAST_SEEN * int(found.outcomes.shape[1]))
    n_codes = max(int(found.outcomes.max(initial=-1)) - named + 1, 0)
    sizes = np.array(
        [np.bincount(r[r >= named] - named, minlength=n_codes) for r in found.outcomes]
    )
    sizes[sizes < least] = 0
    for k in np.flatnonzero(sizes.any(axis=0)):
        code = named + int(k)
        yield code, sizes[:, k], _beside_their_class(found, answer, code)


def _beside_their_class(found: Profile, answer: IntArray, code: int) -> npt.NDArray[np.bool_]:
    """At which temperatures the class that holds a new one in the answer stands without it."""
    standing = np.zeros(len(found.outcomes), dtype=np.bool_)
    free = found.status[0] != Status.LABELLED
    for row, outcomes in enumerate(found.outcomes):
        members = outcomes == code
        if np.any(members):
            calls, counts = np.unique(answer[members], return_counts=True)
            holder = int(calls[np.argmax(counts)])
            if holder >= found.n_classes:
                continue  # a piece of a new class that the answer shows
            held, left = answer == holder, outcomes == holder
            if holder < 0:  # confused: between them, all named classes stand
                held, left = _named(answer, found.n_classes), _named(outcomes, found.n_classes)
            others = held & free & ~members
            if np.any(others):
                standing[row] = np.sum(left & free) >= KEPT * np.sum(others)
            else:
                standing[row] = np.sum(left & ~free) >= np.sum(members)
    return standing


def _named(outcomes: IntArray, n_classes: int) -> npt.NDArray[np.bool_]:
    return np.asarray((outcomes >= 0) & (outcomes < n_classes))


PROFILE_RULES: dict[str, Callable[[Profile, Profile, float | None], int]] = {
    "information": _most_informative,
    "discovery": _discovery,
    "paper": _most_stable,
    "paper_strict": _most_stable_strictly,
}

# "auto" is "calibrated" for an approximation, else "information": see `Answer.at`.
TEMPERATURE_RULES = ("auto", "calibrated", *PROFILE_RULES)
"""The rules that choose the temperature of an answer, as ``PottsClassifier(temperature=...)`` takes
them.

Examples
--------
>>> from spinlearn.answers import TEMPERATURE_RULES
>>> print(*TEMPERATURE_RULES)
auto calibrated information discovery paper paper_strict
"""
