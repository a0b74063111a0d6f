"""What the explorer shows of an answer, as plain arrays.

Axes: T temperatures (ascending), n points, k named classes, m edges. Outcomes are coded as in
`spinlearn.answers.names`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.phases import PhaseInterval
from spinlearn.answers.answer import Answer
from spinlearn.answers.certainty import call_probability
from spinlearn.answers.law import second_choices
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.errors import InvalidInputError
from spinlearn.viz.places import Layout, layouts

NO_STATE = 255  # as in page/lookup.js


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExplorerContent:
    """Everything the explorer shows.

    Attributes
    ----------
    answer : Answer
    ids : tuple of str (n,)
    classes : tuple of str (k,)
    layouts : tuple of Layout
        The first is shown at the start.
    confidence : float array (T, n)
        Probability of the calls at every temperature, in the answer's row that of the answer.
    probability : float array (T, n, k)
        Of the named classes, likewise.
    second : uint8 array (T, n)
        The most probable other state; NO_STATE where there is none.
    susceptibility : float array (T,)
    grains : float array (T, 4)
        Shares of all points in the largest clusters, descending.
    phases : tuple of PhaseInterval
    title : str
    facts : dict
        Short texts for the heading: name -> value.
    """

    answer: Answer
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    layouts: tuple[Layout, ...]
    confidence: FloatArray
    probability: FloatArray
    second: npt.NDArray[np.uint8]
    susceptibility: FloatArray
    grains: FloatArray
    phases: tuple[PhaseInterval, ...]
    title: str = "spinlearn"
    facts: dict[str, str] = field(default_factory=dict)

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

    def status_counts(self) -> npt.NDArray[np.int64]:
        """Number of points of every status, (T, statuses)."""
        return np.array([np.bincount(row, minlength=len(Status)) for row in self.profile.status])


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

    Parameters
    ----------
    answer : Answer
    ids : sequence (n,), optional
        Names of the points; default row numbers.
    coordinates : array-like (n, 2), optional
        x and y (upwards) of every point.
    pixels : array-like of int (n, 2), optional
        Row and column of every point of an image, instead of coordinates.
    points : array-like (n, d), optional
        Features, for the layout by principal components.
    components : array-like (n, 2), optional
        Their principal components, if these are known and the features are not.
    places : tuple of Layout, optional
        Layouts that were made before, instead of all these.
    title : str
    """
    equilibrium, found = answer.equilibrium, answer.profile
    n = found.outcomes.shape[1]
    if ids is None:
        ids = range(n)
    if len(ids) != n:
        raise InvalidInputError(f"there are {len(ids)} ids for {n} points: give one id per point")
    state, here = answer.grid_phases, answer.row
    sure = np.array([
        answer.confidence if row == here
        else call_probability(equilibrium, found.decision(row), row)
        for row in range(len(found.temperatures))
    ])  # fmt: skip
    second = np.array([
        second_choices(
            answer.law_states if row == here else equilibrium.marginals[row], found.outcomes[row]
        )
        for row in range(len(found.temperatures))
    ])  # fmt: skip
    probability = equilibrium.marginals[:, :, : len(answer.classes)]
    if answer.law is not None:
        probability = probability.copy()
        probability[here] = answer.probabilities
    return ExplorerContent(
        answer=answer,
        ids=tuple(str(i) for i in ids),
        classes=tuple(str(c) for c in answer.classes),
        layouts=(
            layouts(answer.graph, coordinates, pixels, points, components)
            if places is None
            else places
        ),
        confidence=sure,
        probability=probability,
        second=np.where(second < 0, NO_STATE, second).astype(np.uint8),
        susceptibility=state.susceptibility,
        grains=state.grains,
        phases=tuple(state.intervals()),
        title=title,
        facts=_facts(answer),
    )


def _facts(answer: Answer) -> dict[str, str]:
    return {
        "points": f"{answer.model.n_nodes:,}",
        "edges": f"{answer.graph.n_edges:,}",
        "classes": str(len(answer.classes)),
        "labels": f"{int(np.sum(answer.labels >= 0)):,}",
        "engine": f"{answer.equilibrium.engine.replace('_', ' ')} ({answer.equilibrium.kind})",
        "answer": "average" if answer.law is not None else f"T = {answer.temperature:.3g}",
    }


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
    chosen = []
    for k, wanted in enumerate(quota):
        members = np.flatnonzero(member == k)
        chosen.append(members[np.linspace(0, len(members) - 1, int(wanted)).round().astype(int)])
    return np.unique(np.concatenate(chosen))[:max_points].astype(np.int32)


def undecided_points(content: ExplorerContent, most: int) -> IntArray:
    """Row numbers of the points that are undecided in the answer, evenly thinned out to `most`."""
    status = content.profile.status[content.answer_row]
    found = np.flatnonzero((status == Status.CONFUSED) | (status == Status.OUTLIER))
    if len(found) > most:
        found = found[np.linspace(0, len(found) - 1, most).round().astype(int)]
    return found.astype(np.int32)
