"""What the features alone say of every point: a classifier fitted to the labels.

F_i(c) is a penalised logistic regression unless the user gives a classifier, or probabilities, of
their own. It is given the features in which neighbours were looked for, standardised: each by its
own spread, principal components all by one, for the last of them are noise. With one label a class
nothing can say how far features are to be trusted, and they get no share (`average`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from spinlearn.constants import INVERSE_PENALTY
from spinlearn.default.walks import Labels, precision
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray, float_array

AUTO, OFF = "auto", "off"
CHUNK = 2**22  # numbers at a time
ROUNDING = 1e-4  # by which rows of probabilities may miss one


def check_features(asked: Any) -> None:
    """Refuse what is neither a word, a classifier nor an array."""
    known = asked in (AUTO, OFF) if isinstance(asked, str) else is_classifier(asked) or (
        np.ndim(asked) == 2
    )  # fmt: skip
    if not known:
        raise InvalidInputError(
            f"features={asked!r} is unknown: use 'auto', 'off', a classifier with fit and "
            "predict_proba, or an array of probabilities, one row per point"
        )


def is_classifier(asked: Any) -> bool:
    """Whether it can be fitted and asked for probabilities."""
    return hasattr(asked, "fit") and hasattr(asked, "predict_proba")


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of all points with the classifier, not fitted, that reads them."""

    points: FloatArray  # (n, d)
    classifier: Any
    middle: FloatArray  # (d,), by which and by `spread` points are standardised
    spread: FloatArray

    @classmethod
    def of(cls, points: FloatArray, asked: Any = AUTO, *, components: bool = False) -> Self:
        """Points and what the user asks for, "auto" or a classifier.

        `components` tells that the features are principal components.
        """
        classifier = asked
        if isinstance(asked, str):
            from sklearn.linear_model import LogisticRegression

            classifier = LogisticRegression(C=INVERSE_PENALTY, max_iter=500)
        with np.errstate(over="ignore"):
            spread = points.std(axis=0)
        if components:
            spread = np.full_like(spread, np.sqrt(np.mean(spread**2)))
        usable = np.isfinite(spread) & (spread > 0)
        return cls(points, classifier, points.mean(axis=0), np.where(usable, spread, 1.0))

    def taken(self, points: Any) -> Self:
        """The same of some of the points."""
        return type(self)(self.points[points], self.classifier, self.middle, self.spread)

    def fitted(self, labels: Labels, n_states: int) -> Callable[[FloatArray], FloatArray] | None:
        """What the classifier, fitted to labels (-1: none), says of points with any features.

        None where the labels are of one class only.
        """
        from sklearn.base import clone

        given = np.flatnonzero(labels >= 0)
        known = np.unique(labels[given])
        if len(known) < 2:
            return None
        model = self.classifier
        if hasattr(model, "get_params"):
            model = clone(model)
        try:
            model.fit((self.points[given] - self.middle) / self.spread, labels[given])
        except Exception as error:
            raise InvalidInputError(
                f"the classifier given as features= failed on {len(given)} labelled points "
                f"({type(error).__name__}: {error}): mend it, or leave it out with features='off'"
            ) from error
        return partial(self._read, model, known, n_states)

    def _read(self, model: Any, known: Labels, n_states: int, points: FloatArray) -> FloatArray:
        """Probabilities of all states, (n, n_states), by a model fitted to the `known` classes."""
        laws = np.zeros((len(points), n_states), dtype=precision(len(points))[1])
        size = max(1, CHUNK // max(points.shape[1], n_states))
        for start in range(0, len(points), size):
            part = slice(start, start + size)
            found = np.asarray(model.predict_proba((points[part] - self.middle) / self.spread))
            if found.shape[1:] != (len(known),) or not np.all(np.isfinite(found)):
                raise InvalidInputError(
                    f"predict_proba of the classifier given as features= returned shape "
                    f"{found.shape} with values that may not be finite, expected one column for "
                    f"each of {len(known)} classes: mend it, or use features='auto'"
                )
            laws[part, known] = found
        return laws

    def law(self, labels: Labels, n_states: int, rows: Any) -> FloatArray:
        """F_i(c) of some points from labels, (rows, n_states); guessing where nothing is fitted."""
        fitted, points = self.fitted(labels, n_states), self.points[rows]
        if fitted is None:
            return np.full((len(points), n_states), 1 / n_states)
        return fitted(points)


@dataclass(frozen=True, slots=True, eq=False)
class GivenLaw:
    """Probabilities that the user brings, which no label has changed."""

    laws: FloatArray

    @classmethod
    def of(cls, asked: Any, n_points: int, n_classes: int) -> Self:
        """An array (n, n_classes), checked; columns are the classes in sorted order."""
        laws = float_array(asked, "features")
        if laws.shape != (n_points, n_classes):
            raise InvalidInputError(
                f"features= has shape {laws.shape}, but there are {n_points} points and "
                f"{n_classes} classes among the labels: give one row per point and one column per "
                "class, in sorted order"
            )
        if not np.all(np.isfinite(laws)) or np.any(laws < 0) or (
            np.abs(laws.sum(axis=1) - 1).max(initial=0.0) > ROUNDING
        ):  # fmt: skip
            raise InvalidInputError(
                "features= holds numbers that are no probabilities: give values from 0 to 1 that "
                "sum to 1 in every row"
            )
        return cls(laws)

    def taken(self, points: Any) -> Self:
        """The same of some of the points."""
        return type(self)(self.laws[points])

    def fitted(self, labels: Labels, n_states: int) -> None:
        """Nothing is known of other points."""
        return

    def law(self, labels: Labels, n_states: int, rows: Any) -> FloatArray:
        """The same for any labels, (rows, n_states)."""
        laws = self.laws[rows]
        return np.pad(laws, ((0, 0), (0, n_states - laws.shape[1])))
