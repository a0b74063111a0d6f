"""Answers to the labels so far: a quick one at once, then the one that `spinlearn fit` gives.

Fewer than two named classes are no matter for `fit`; then the answer is a clustering, in which
clusters that hold a label have its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer
from spinlearn.answers.labels import clean_labels
from spinlearn.answers.proposal import Word
from spinlearn.core.protocols import Callback, Progress
from spinlearn.errors import StoppedError
from spinlearn.estimators import PottsClassifier
from spinlearn.io.result import Result
from spinlearn.methods import Plan
from spinlearn.workflows.fitting import Fitting


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """An answer and how it was had.

    Attributes
    ----------
    answer : Answer
    kind : {"quick", "clusters", "fit"}
    result : Result or None
        What `fit` would write, for kind "fit".
    messages : tuple of str
        Warnings on the way.
    """

    answer: Answer
    kind: str
    result: Result | None = None
    messages: tuple[str, ...] = ()


class Loop:
    """What is kept of one set of points between answers.

    Parameters
    ----------
    fitting : Fitting
    unlabelled : sequence of str
        Words that mean "no label".
    """

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
    ) -> Shown | None:
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
        return None if found is None else Shown(found.answer_, "quick")

    def thorough(
        self,
        names: Sequence[str | None],
        callback: Callback | None = None,
        rejected: tuple[Word, ...] = (),
    ) -> Shown:
        """The answer that `fit` gives, or else a clustering."""
        labels = self.labels(names)
        watch = _Watch(callback)
        if _n_classes(labels) < 2:
            found = self._clustering(labels, watch, rejected)
            watch.check()
            return Shown(found.answer_, "clusters")
        result, messages = self.fitting.result(labels, watch, words=rejected)
        watch.check()
        fitted, last = self.fitting.fitted, self.fitting.last
        assert fitted is not None
        assert last is not None
        self._base, self._choices = fitted, last.plan_
        return Shown(result, "fit", result, tuple(messages))

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
