"""Answers while a person labels, and which points to show next.

To the labels so far there is a quick answer at once, then the one that `spinlearn fit` gives. For
fewer than two named classes, from which `fit` cannot learn, it is a clustering, in which clusters
that hold a label have its name. `Display` makes of an answer what the page is sent; what to label
next and which label to doubt come with the reasons in words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.advice import Suggestion, suggest, suspects
from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import clean_labels
from spinlearn.answers.proposal import Word
from spinlearn.answers.rule import Status
from spinlearn.classifier import PottsClassifier
from spinlearn.default import Plan
from spinlearn.errors import StoppedError
from spinlearn.io.result import Result
from spinlearn.linear import weight_matrix
from spinlearn.model.arrays import IntArray
from spinlearn.model.protocols import Callback, Progress
from spinlearn.viz.explorer import (
    ExplorerContent,
    explorer_content,
    explorer_payload,
    packed,
    points_on_display,
)
from spinlearn.viz.layout import Layout, layouts
from spinlearn.workflows.fitting import Fitting

SUGGESTED = 6
LISTED = 12  # new classes
CENTRAL = 3  # members of a new class that get its name: so many labels show how a class holds
# together, and further new classes are then told from it


def next_points(answer: Answer, stop: Callable[[], bool]) -> list[dict[str, Any]]:
    """Points worth labelling, the most useful first: row number, call and reason."""
    free = int(np.sum(answer.labels < 0))
    if free == 0:
        return []
    suggestions = suggest(answer, min(SUGGESTED, free), stop=stop)
    return [
        {"point": s.point, "call": str(answer.names[s.point]), "why": reason(answer, s)}
        for s in suggestions
    ]


def reason(answer: Answer, suggestion: Suggestion) -> str:
    """Why this point is worth a label."""
    point, reach = suggestion.point, suggestion.reach
    status = Status(int(answer.decision.status[point]))
    call, sure = str(answer.names[point]), float(answer.confidence[point])
    speaks = f"it speaks for {'one point' if reach == 1 else f'{reach} points'}"
    if len(answer.classes) == 0:
        return f"in the middle of {call}, and nothing has a name yet: {speaks}"
    if status is Status.NEW:
        return f"stands for {call}, which has no name: {speaks}"
    if status is Status.CONFUSED:
        return f"undecided, {call.removeprefix('confused:').replace('|', ' or ')}: {speaks}"
    if status is Status.OUTLIER:
        return f"like no other point: {speaks}"
    errors = f"about {suggestion.gain:.0f} errors" if suggestion.gain >= 1.5 else "an error"
    return f"called {call} at confidence {sure:.2f}: its label should remove {errors}; {speaks}"


def doubted(answer: Answer) -> list[dict[str, Any]]:
    """Labels that the rest of the data disagrees with, the most suspect first."""
    if int(np.sum(answer.labels >= 0)) < 2 or len(answer.classes) < 2:
        return []
    names = [str(name) for name in answer.classes]
    return [
        {
            "point": s.point,
            "given": names[s.given],
            "instead": names[s.instead],
            "why": f"labelled {names[s.given]}, but the other labels say {names[s.instead]} with "
            f"probability {s.p_instead:.2f}",
        }
        for s in suspects(answer)
        if s.instead < len(names)
    ]


def unnamed_groups(answer: Answer) -> list[dict[str, Any]]:
    """Groups that wait for a name: name, size and the members that would get it.

    Proposals, the best first, each with as many of its most typical points as a class has labels in
    the mean; where an answer makes none, new classes.
    """
    if not answer.proposals:
        return new_groups(answer)
    mean = np.sum(answer.labels >= 0) / max(len(answer.classes), 1)
    return [
        {"group": one.name, "size": len(one.points),
         "points": one.typical[: max(1, round(mean))].tolist()}
        for one in answer.proposals
    ]  # fmt: skip


def new_groups(answer: Answer) -> list[dict[str, Any]]:
    """Classes that nobody named, the largest first: code, size and their most central members."""
    outcomes, k = answer.decision.outcomes, len(answer.classes)
    codes, sizes = np.unique(outcomes[outcomes >= k], return_counts=True)
    graph = answer.graph
    matrix = weight_matrix(graph.with_weights(np.maximum(graph.weights, 0.0)))
    groups = []
    for code, size in [(codes[k], sizes[k]) for k in np.argsort(-sizes, kind="stable")[:LISTED]]:
        members = np.flatnonzero(outcomes == code)
        bound = np.asarray(matrix[members][:, members].sum(axis=1)).ravel()
        central = members[np.argsort(-bound, kind="stable")[:CENTRAL]]
        name = answer.name_of(int(code))
        groups.append({"group": name, "size": int(size), "points": central.tolist()})
    return groups


class ShownAnswer(NamedTuple):
    """An answer and how it was had: "quick", "clusters" or "fit", then with what `fit` writes."""

    answer: Answer
    kind: str
    result: Result | None = None


class Refit:
    """What is kept of one set of points between answers; `unlabelled` words mean "no label"."""

    def __init__(self, fitting: Fitting, unlabelled: Sequence[str] = ()) -> None:
        self.fitting, self.unlabelled = fitting, tuple(unlabelled)
        self._clusters: PottsClassifier | None = None
        self._base: PottsClassifier | None = None
        self._choices: Plan | None = None

    def labels(self, names: Sequence[str | None]) -> npt.NDArray[np.object_]:
        """Labels as they are read from a file."""
        cells = ["" if name is None else name for name in names]
        return clean_labels(cells, self.unlabelled, "the page")

    @property
    def training(self) -> Any:
        """Graph and points, once there is an answer."""
        assert self._base is not None
        return self._base._training

    def quick(
        self,
        names: Sequence[str | None],
        callback: Callback | None = None,
        rejected: tuple[Word, ...] = (),
    ) -> ShownAnswer | None:
        """The answer with the choices of the last; None where there is nothing to go by.

        `rejected` groups are not proposed again.
        """
        labels = self.labels(names)
        base, choices = self._base, self._choices
        if _n_classes(labels) < 2:
            choices = None if self._clusters is None else self._clusters.plan_
        if base is None or choices is None:
            return None
        fitted = base.quickly_relabelled(labels, choices, callback, rejected)
        return None if fitted is None else ShownAnswer(fitted.answer_, "quick")

    def thorough(
        self,
        names: Sequence[str | None],
        callback: Callback | None = None,
        rejected: tuple[Word, ...] = (),
    ) -> ShownAnswer:
        """The answer that `fit` gives, or else a clustering."""
        labels = self.labels(names)
        watch = _Watch(callback)
        if _n_classes(labels) < 2:
            clusters = self._clustering(labels, watch, rejected)
            watch.check()
            return ShownAnswer(clusters.answer_, "clusters")
        result, _ = self.fitting.result(labels, watch, words=rejected)
        watch.check()
        fitted, last = self.fitting.fitted, self.fitting.last
        assert fitted is not None
        assert last is not None
        self._base, self._choices = fitted, last.plan_
        return ShownAnswer(result, "fit", result)

    def check(self, names: Sequence[str | None]) -> None:
        """Refuse labels from which `fit` would learn nothing."""
        replace(self.fitting.data, labels=self.labels(names)).check_labels()

    def _clustering(
        self, labels: npt.NDArray[np.object_], watch: _Watch, rejected: tuple[Word, ...]
    ) -> PottsClassifier:
        if self._clusters is None:
            none = np.full(len(labels), None, dtype=object)
            clusters = self.fitting.classifier(none, watch)
            watch.check()
            self._clusters, self._base = clusters, self.fitting.fitted
        if _n_classes(labels) == 0:
            return self._clusters
        named = self._clusters.quickly_relabelled(labels, self._clusters.plan_, watch, rejected)
        return self.fitting.classifier(labels, watch, rejected) if named is None else named


class Display:
    """Points on display: a sample of the first answer, and whatever has to be seen since.

    `rows` are their row numbers, ascending.
    """

    def __init__(self, refit: Refit) -> None:
        self._refit, self._data = refit, refit.fitting.data
        self.places: tuple[Layout, ...] | None = None
        self._last: tuple[ShownAnswer, ExplorerContent] | None = None
        self.rows: IntArray = np.empty(0, dtype=np.int32)

    def payload(self, shown: ShownAnswer, wanted: Sequence[int], facts: Mapping[str, Any]) -> bytes:
        """The answer and further facts as the page reads them.

        `wanted` points are on display from now on.
        """
        if self._last is None or self._last[0] is not shown:
            self._last = shown, self._content(shown)
        content = self._last[1]  # the same answer is sent again where a further point is to be seen
        unnamed = unnamed_groups(shown.answer)
        if len(self.rows) == 0:
            self.rows = points_on_display(content)
        central = [row for group in unnamed for row in group["points"]]
        also = np.array([*np.flatnonzero(shown.answer.labels >= 0), *wanted, *central], dtype=int)
        self.rows = np.union1d(self.rows, also).astype(np.int32)
        payload = explorer_payload(content, shown=self.rows)
        if self._data.colours is not None:
            payload["arrays"]["picture"] = packed(self._data.colours[self.rows])
        payload |= {**facts, "unnamed": unnamed}
        return json.dumps(payload, allow_nan=False, separators=(",", ":")).encode()

    def _content(self, shown: ShownAnswer) -> ExplorerContent:
        data = self._data
        if self.places is None:
            training, points = self._refit.training, data.points
            flat = points is not None and points.shape[1] == 2
            self.places = layouts(
                training.graph,
                coordinates=None if data.pixels is not None else data.layout,
                pixels=data.pixels,
                points=points if flat else training.points,
            )
        return explorer_content(
            shown.answer, ids=data.ids, places=self.places, title=data.source.name
        )


class _Watch:
    """A callback that remembers whether it asked for an end."""

    def __init__(self, callback: Callback | None) -> None:
        self._callback, self._stopped = callback, False

    def __call__(self, report: Progress) -> bool:
        if self._callback is not None and self._callback(report):
            self._stopped = True
        return self._stopped

    def check(self) -> None:
        """What was computed is cut short: it is no answer."""
        if self._stopped:
            raise StoppedError("stopped before the answer was whole")


def _n_classes(labels: npt.NDArray[np.object_]) -> int:
    return len({name for name in labels.tolist() if name is not None})
