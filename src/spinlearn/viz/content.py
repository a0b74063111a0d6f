"""What the explorer shows of an answer, as plain arrays.

Axes: T temperatures (ascending), n points, k named classes, m edges. Outcomes are coded as in
`spinlearn.answers.names`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.certainty import call_probability
from spinlearn.answers.law import second_choices
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.errors import InvalidInputError
from spinlearn.viz.layout import Layout, layouts

NO_STATE = 255  # as in page/lookup.js
SIDE = 192  # bins along a side of the density


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExplorerContent:
    """An answer and what the explorer needs beside it, in the answer's row that of the answer.

    Attributes
    ----------
    layouts : tuple of Layout
        The first is shown at the start.
    confidence : float array (T, n)
        Probability of the calls at every temperature.
    probability : float array (T, n, k)
        Of the named classes.
    second : uint8 array (T, n)
        The most probable other state; NO_STATE where there is none.
    """

    answer: Answer
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    layouts: tuple[Layout, ...]
    confidence: FloatArray
    probability: FloatArray
    second: npt.NDArray[np.uint8]
    title: str

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.ids)

    @property
    def profile(self) -> Profile:
        """Outcome and status of every point over T."""
        return self.answer.profile

    @property
    def answer_row(self) -> int:
        """Row of the answer, T*."""
        return self.answer.row


def explorer_content(
    answer: Answer,
    *,
    ids: Sequence[object] | npt.NDArray[Any] | None = None,
    coordinates: npt.ArrayLike | None = None,
    pixels: npt.ArrayLike | None = None,
    points: npt.ArrayLike | None = None,
    components: npt.ArrayLike | None = None,
    places: tuple[Layout, ...] | None = None,
    title: str = "spinlearn",
) -> ExplorerContent:
    """Collect what the explorer shows.

    `ids` name the points, default row numbers. What a layout is made from is as for `layouts`;
    `places` are layouts that were made before, instead of all these.
    """
    equilibrium, found = answer.equilibrium, answer.profile
    n = found.outcomes.shape[1]
    if ids is None:
        ids = range(n)
    if len(ids) != n:
        raise InvalidInputError(f"there are {len(ids)} ids for {n} points: give one id per point")
    here, sure, second = answer.row, [], []
    for row in range(len(found.temperatures)):
        law = answer.law_states if row == here else equilibrium.marginals[row]
        second.append(second_choices(law, found.outcomes[row]))
        sure.append(
            answer.confidence
            if row == here
            else call_probability(equilibrium, found.decision(row), row)
        )
    probability = equilibrium.marginals[:, :, : len(answer.classes)]
    if answer.law is not None:
        probability = probability.copy()
        probability[here] = answer.probabilities
    return ExplorerContent(
        answer=answer,
        ids=tuple(str(i) for i in ids),
        classes=tuple(str(c) for c in answer.classes),
        layouts=places or layouts(answer.graph, coordinates, pixels, points, components),
        confidence=np.array(sure),
        probability=probability,
        second=np.where(np.array(second) < 0, NO_STATE, second).astype(np.uint8),
        title=title,
    )


def sample_for_display(content: ExplorerContent, max_points: int) -> IntArray:
    """Row numbers of at most `max_points` points that stand for all of them, ascending.

    Labelled points and small groups (one outcome and status at T*) are kept before large ones are
    thinned out evenly: each group gets its share, but at least as many as an even split of half the
    places would give.
    """
    n = content.n_points
    if n <= max_points:
        return np.arange(n, dtype=np.int32)
    status = content.profile.status[content.answer_row]
    outcome = content.profile.outcomes[content.answer_row]
    new = outcome >= content.profile.n_classes
    group = np.where(new, content.profile.n_classes, outcome).astype(np.int64) * 8 + status
    _, member, sizes = np.unique(group, return_inverse=True, return_counts=True)
    priority = status[np.unique(member, return_index=True)[1]] == Status.LABELLED
    quota = np.zeros(len(sizes), dtype=np.int64)
    left = max_points
    quota[priority] = np.minimum(sizes[priority], max(left // 2 // max(int(priority.sum()), 1), 1))
    left -= int(quota.sum())
    rest = np.flatnonzero(~priority)
    floor = max(left // 2 // max(len(rest), 1), 1)
    quota[rest] = np.minimum(sizes[rest], floor)
    spare = sizes - quota
    left = max_points - int(quota.sum())
    if left > 0:
        exact = spare * left / max(int(spare.sum()), 1)
        extra = np.floor(exact).astype(np.int64)
        largest = np.argsort(extra - exact, kind="stable")[: left - int(extra.sum())]
        extra[largest] += 1
        quota += np.minimum(extra, spare)
    chosen = [_evenly(np.flatnonzero(member == k), int(most)) for k, most in enumerate(quota)]
    return np.unique(np.concatenate(chosen))[:max_points].astype(np.int32)


def undecided_points(content: ExplorerContent, most: int) -> IntArray:
    """Row numbers of the points that are undecided in the answer, evenly thinned out to `most`."""
    status = content.profile.status[content.answer_row]
    undecided = np.flatnonzero((status == Status.CONFUSED) | (status == Status.OUTLIER))
    return _evenly(undecided, most).astype(np.int32)


def _evenly(points: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    if len(points) <= most:
        return points
    return np.asarray(points[np.linspace(0, len(points) - 1, most).round().astype(int)])


def density(places: FloatArray, outcomes: IntArray) -> dict[str, npt.NDArray[Any]]:
    """How many points lie where, and what most of them are: what a map shows where they overlap.

    The square around `places` (n, 2), in units of the longer side, is cut into SIDE x SIDE bins. No
    point is left out, so that what the sample of drawn points misses shows here.

    Returns
    -------
    dict
        bins, (b,): row times SIDE plus column of those that hold points, counted from the lowest
        corner, ascending. levels, (b,): their number of points on a logarithmic scale, 255 in the
        fullest. outcomes, (T, b): that which most of them have.
    """
    cell = np.minimum((places * SIDE).astype(np.int32), SIDE - 1)
    bins, member = np.unique(cell[:, 1] * SIDE + cell[:, 0], return_inverse=True)
    counts = np.bincount(member)
    levels = np.rint(255 * np.log1p(counts) / np.log1p(counts.max()))
    return {
        "bins": bins.astype(np.int32),
        "levels": levels.astype(np.uint8),
        "outcomes": np.array([_most_frequent(member, row, len(bins)) for row in outcomes]),
    }


def _most_frequent(member: npt.NDArray[np.intp], outcomes: IntArray, n_bins: int) -> IntArray:
    """The outcome that most points of every bin have; of several, that of the lowest code."""
    codes, code = np.unique(outcomes, return_inverse=True)
    pairs, counts = np.unique(member * len(codes) + code, return_counts=True)
    order = np.lexsort((pairs, -counts, pairs // len(codes)))
    first = np.searchsorted(pairs[order] // len(codes), np.arange(n_bins))
    return np.asarray(codes[pairs[order][first] % len(codes)], dtype=np.int32)
