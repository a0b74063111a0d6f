"""Answers to the labels so far: a quick one at once, then the one that `spinlearn fit` gives.

Fewer than two named classes are no matter for `fit`; then the answer is a clustering, in which
clusters that hold a label have its name. `Display` makes of an answer what the page is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import clean_labels
from spinlearn.answers.proposal import Word
from spinlearn.core.arrays import IntArray
from spinlearn.core.protocols import Callback, Progress
from spinlearn.errors import StoppedError
from spinlearn.estimators import PottsClassifier
from spinlearn.io.result import Result
from spinlearn.labelling.advice import unnamed_groups
from spinlearn.methods import Plan
from spinlearn.viz.content import ExplorerContent, explorer_content
from spinlearn.viz.explorer import explorer_payload, packed, points_on_display
from spinlearn.viz.layout import Layout, layouts
from spinlearn.workflows.fitting import Fitting


class ShownAnswer(NamedTuple):
    """An answer and how it was had: "quick", "clusters" or "fit", then with what `fit` writes."""

    answer: Answer
    kind: str
    result: Result | None = None


class Refit:
    """What is kept of one set of points between answers; `unlabelled` words mean "no label"."""

    def __init__(self, fitting: Fitting, unlabelled: Sequence[str] = ()) -> None:
        self.fitting, self._unlabelled = fitting, tuple(unlabelled)
        self._clusters: PottsClassifier | None = None
        self._base: PottsClassifier | None = None
        self._choices: Plan | None = None

    def labels(self, names: Sequence[str | None]) -> npt.NDArray[np.object_]:
        """Labels as they are read from a file."""
        cells = ["" if name is None else name for name in names]
        return clean_labels(cells, self._unlabelled, "the page")

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
        found = base.quickly_relabelled(labels, choices, callback, rejected)
        return None if found is None else ShownAnswer(found.answer_, "quick")

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
            found = self._clustering(labels, watch, rejected)
            watch.check()
            return ShownAnswer(found.answer_, "clusters")
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
            found = self.fitting.classifier(none, watch)
            watch.check()
            self._clusters, self._base = found, self.fitting.fitted
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
        self._places: tuple[Layout, ...] | None = None
        self._last: tuple[ShownAnswer, ExplorerContent] | None = None
        self.rows: IntArray = np.empty(0, dtype=np.int32)

    @property
    def mapped(self) -> bool:
        """Whether points have their places, which takes a while."""
        return self._places is not None

    def payload(self, shown: ShownAnswer, wanted: Sequence[int], facts: Mapping[str, Any]) -> bytes:
        """The answer and further facts as the page reads them.

        `wanted` points are on display from now on.
        """
        content = self._content(shown)
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
        """Kept: the same answer is sent again where a further point is to be seen."""
        if self._last is None or self._last[0] is not shown:
            if self._places is None:
                self._places = self._layouts()
            data = self._data
            content = explorer_content(
                shown.answer, ids=data.ids, places=self._places, title=data.source.name
            )
            self._last = shown, content
        return self._last[1]

    def _layouts(self) -> tuple[Layout, ...]:
        training = self._refit.training
        data = self._data
        points = data.points if data.points is not None and data.points.shape[1] == 2 else None
        return layouts(
            training.graph,
            coordinates=None if data.pixels is not None else data.layout,
            pixels=data.pixels,
            points=training.points if points is None else points,
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
