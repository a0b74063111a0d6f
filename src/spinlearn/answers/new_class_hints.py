"""New classes that the answer does not show but other temperatures do.

At the temperature of the answer a named class may hold a class that nobody labelled. A group of
points is worth a hint if it is a new class over a range of other temperatures, while the named
classes still stand beside it. (When a named class falls apart, its own pieces become new classes,
too, but then few points keep its name.) Let M be the members of a new class at row t of a profile,
and A the class that the answer gives to most of them. A hint needs three things:

- M is large enough: at least LEAST points, and LEAST_SHARE of all points.
- A still stands at row t: at least KEPT times as many points are called A there as in the answer,
  where those in M are not counted. Labelled points are not counted either, because they keep their
  class at every temperature. If nothing is left to count, because all other points that the answer
  calls A are labelled, A must have at least as many labels as M has points.
- The answer does not show M already: none of its new classes shares more than half of its union
  with M.

Hints are ordered by the size of M times the length of the range of temperatures around t over which
the class goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.names import outcome_name
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.arrays import IntArray

LEAST, LEAST_SHARE = 5, 0.01
KEPT = 0.5
WHOLE = 0.9  # of its largest size
UNSURE_ROWS = 2
LISTED = 3
CALLS = 3  # named in words


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewClassHint:
    """A new class that stands at other temperatures than that of the answer.

    Attributes
    ----------
    temperature : float
        Where to look at it, in the unit of the couplings.
    low : float
        Where the range of temperatures over which it stands begins.
    high : float
        Where that range ends.
    members : int array
        Row numbers of its points at `temperature`.
    calls : dict
        How many of them have which outcome in the answer, most first.

    Examples
    --------
    Three groups of five points in a row; the middle one has no label:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import min_cut
    >>> from spinlearn.engines import JunctionTree
    >>> groups = [(i + k, j + k) for k in (0, 5, 10) for i in range(5) for j in range(i)]
    >>> graph = Graph(15, groups + [(0, 5), (9, 10)], 30 * [1.0] + [0.3, 0.2])
    >>> model = min_cut(graph, [0] + 13 * [-1] + [1], n_states=2)
    >>> found = JunctionTree().run(model, [0.0, 0.3, 0.8, 5.0])
    >>> from spinlearn.answers import new_class_hints, profile
    >>> hint = new_class_hints(profile(found), row=0)[0]
    >>> hint.temperature, hint.calls  # five points that the answer calls class 0
    (0.8, {0: 5})
    """

    temperature: float
    low: float
    high: float
    members: npt.NDArray[np.intp]
    calls: dict[int, int]


def new_class_hints(
    found: Profile, row: int, trusted: npt.NDArray[np.bool_] | None = None
) -> list[NewClassHint]:
    """New classes at other temperatures, whose points the answer gives to other classes.

    Parameters
    ----------
    found : Profile
        The outcomes at all temperatures.
    row : int
        Row of the answer.
    trusted : bool array (T,), optional
        Rows that are sampled well, default all. A class that is seen at other rows only must stand
        over two of them: too few samples make points look certain, not new, but may do anything
        once.

    Returns
    -------
    list of NewClassHint
        The largest and most lasting first.

    Examples
    --------
    Three groups of five points, weakly joined in a row; a label in the first and in the last. When
    it is cold, the middle group follows the first, and at T = 0.8 it is a class of its own:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import min_cut
    >>> from spinlearn.engines import JunctionTree
    >>> groups = [(i + k, j + k) for k in (0, 5, 10) for i in range(5) for j in range(i)]
    >>> graph = Graph(15, groups + [(0, 5), (9, 10)], 30 * [1.0] + [0.3, 0.2])
    >>> model = min_cut(graph, [0] + 13 * [-1] + [1], n_states=2)
    >>> found = JunctionTree().run(model, [0.0, 0.3, 0.8, 5.0])
    >>> from spinlearn.answers import new_class_hints, profile
    >>> [(h.low, h.high, h.members.tolist()) for h in new_class_hints(profile(found), row=0)]
    [(0.55, 2.9, [5, 6, 7, 8, 9])]
    """
    finite = np.isfinite(found.temperatures)
    usable = finite if trusted is None else finite & trusted
    ends = found.boundaries()
    answer = found.outcomes[row]
    shown = [np.flatnonzero(answer == c) for c in np.unique(answer[answer >= found.n_classes])]
    scored: list[tuple[float, NewClassHint]] = []
    for code, sizes, beside in large_new_classes(found, answer):
        for start, stop in _runs(finite & (sizes > 0) & beside):
            sure = np.where(usable[start:stop], sizes[start:stop], 0)
            if sure.max() == 0:
                if stop - start < UNSURE_ROWS:
                    continue
                sure = sizes[start:stop]
            # The coldest row at which it is nearly whole: warmer, it crumbles.
            best = start + int(np.argmax(sure >= WHOLE * sure.max()))
            members = np.flatnonzero(found.outcomes[best] == code)
            if any(_same(members, other) for other in shown):
                continue
            outcomes, counts = np.unique(answer[members], return_counts=True)
            order = np.argsort(-counts, kind="stable")
            hint = NewClassHint(
                temperature=float(found.temperatures[best]),
                low=float(ends[start]),
                high=float(ends[stop]),
                members=members,
                calls={int(outcomes[k]): int(counts[k]) for k in order},
            )
            scored.append((len(members) * (hint.high - hint.low), hint))
    chosen: list[NewClassHint] = []
    for _, hint in sorted(scored, key=lambda pair: -pair[0]):
        if not any(_same(hint.members, other.members) for other in chosen):
            chosen.append(hint)
    return chosen[:LISTED]


def large_new_classes(
    found: Profile, answer: IntArray
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
    """New classes that are large somewhere: code, size at every temperature, and where they stand.

    A size is 0 where the class is not large. A class stands where the one that holds its members in
    `answer` goes on without them.
    """
    named = found.n_classes
    least = max(LEAST, LEAST_SHARE * int(found.outcomes.shape[1]))
    n_codes = max(int(found.outcomes.max(initial=-1)) - named + 1, 0)
    sizes = np.array(
        [np.bincount(r[r >= named] - named, minlength=n_codes) for r in found.outcomes]
    )
    sizes[sizes < least] = 0
    for k in np.flatnonzero(sizes.any(axis=0)):
        code = named + int(k)
        yield code, sizes[:, k], _beside_their_class(found, answer, code)


def hint_text(
    hint: NewClassHint,
    classes: Sequence[object] | npt.NDArray[Any],
    confused_sets: Sequence[tuple[int, ...]],
) -> str:
    """A hint in words."""
    calls = [f"{outcome_name(c, classes, confused_sets)} ({n})" for c, n in hint.calls.items()]
    others = len(calls) - CALLS
    more = f" and {others} more calls" if others > 0 else ""
    return (
        f"a new class of {len(hint.members)} points appears at T = {hint.temperature:.4g} (it "
        f"stands from {hint.low:.4g} to {hint.high:.4g}); the answer calls them "
        f"{', '.join(calls[:CALLS])}{more}"
    )


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


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First row and row after the last of every unbroken run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _same(one: npt.NDArray[np.intp], other: npt.NDArray[np.intp]) -> bool:
    """Whether two sets share more than half of their union."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return 2 * shared > len(one) + len(other) - shared
