"""Proposals: groups of points that may be a class of their own, for someone to say so, in a `Word`.

Whether a group is a class or is none, its most typical points become labels, of the new class or of
the named one that they would be part of; a group that is none is not proposed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray

MOST_FEATURES = 5  # that are named, by which a group differs most
MANY_TIMES = 10
ACCEPT, REJECT = "accept", "reject"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Proposal:
    """A group of points that may be a class of its own.

    Attributes
    ----------
    name : str
        "new:1", ...: the call of its points where it is more probable than every named class.
    points : int array
        Row numbers of its members, those without label.
    probability : float
        That these points, but for a few, are a class without label.
    beside : str
        The named class of which it would be part otherwise; "" where none is named.
    apart : float
        How many times as strongly it is coupled to that class as the halves of the class are to
        each other; nan where that cannot be said.
    typical : int array
        Its most central points, the first first.
    features : tuple of (str, float)
        Features, of `n_features` compared, by which it differs most from the class beside it, with
        the difference of the means in units of the spread of all points.
    n_features : int

    Examples
    --------
    >>> import numpy as np
    >>> import warnings
    >>> from spinlearn import PottsClassifier
    >>> X = np.concatenate([np.linspace(k, k + 1, 20) for k in (0, 3, 6)])[:, None]
    >>> y = np.full(60, -1)
    >>> y[[3, 8, 15]], y[[23, 28, 35]] = 0, 1  # nobody labels the last twenty
    >>> with warnings.catch_warnings(action="ignore"):  # no link leads to them
    ...     first = PottsClassifier().fit(X, y).proposals_[0]
    >>> first.name, first.points.min(), len(first.points), first.apart_text()
    ('new:1', np.int64(40), 20, 'not coupled to 1 at all')
    """

    name: str
    points: npt.NDArray[np.intp]
    probability: float
    beside: str
    apart: float
    typical: npt.NDArray[np.intp]
    features: tuple[tuple[str, float], ...] = ()
    n_features: int = 0

    def apart_text(self) -> str:
        """How it stands apart, in words."""
        if not self.beside:
            return "a group of its own"
        if not np.isfinite(self.apart):
            return f"beside {self.beside}"
        if self.apart == 0:
            return f"not coupled to {self.beside} at all"
        times = f"{self.apart:.2g} times as"
        if abs(self.apart - 0.5) < 0.05:
            times = "half as"
        elif abs(self.apart - 1) < 0.05:
            times = "just as"
        elif self.apart >= MANY_TIMES:
            times = "many times as"
        return f"coupled to {self.beside} {times} strongly as {self.beside}'s halves to each other"

    def features_text(self) -> str:
        """By which features it differs, in words; "" where there are none."""
        if not self.features:
            return ""
        listed = ", ".join(f"{name} {value:+.1f}" for name, value in self.features)
        return f"{listed} (standard deviations; {self.n_features} features compared)"

    def text(self) -> str:
        """All of it in one sentence."""
        differs = self.features_text()
        return (
            f"{self.name}: {len(self.points)} points may be a class of their own, probability "
            f"{self.probability:.2f}; {self.apart_text()}"
            + (f"; differs most by {differs}" if differs else "")
        )


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """What somebody said about a proposal.

    Attributes
    ----------
    do : {"accept", "reject"}
    group : str
        Name of the proposal when it was said.
    name : str
        The new class, or the named one that the group is part of.
    points, labelled : int arrays
        Members, and those of them that became labels.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.answers import Word  # as ``PottsClassifier.words_`` lists them
    >>> word = Word("accept", "new:1", "right", np.array([40, 41, 42]), np.array([41]))
    >>> word.do, word.name, word.labelled.tolist()
    ('accept', 'right', [41])
    """

    do: str
    group: str
    name: str
    points: npt.NDArray[np.intp]
    labelled: npt.NDArray[np.intp]


def proposed(proposals: Sequence[Proposal], name: object) -> Proposal:
    """The proposal of this name."""
    for one in proposals:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in proposals)
    raise InvalidInputError(
        f"{name!r} is not proposed as a class: "
        + (f"these are: {names}" if names else "nothing is")
    )


def largest_differences(
    gap: FloatArray, spread: FloatArray, names: Sequence[object]
) -> tuple[tuple[str, float], ...]:
    """The features of largest difference between two groups, in units of the spread."""
    differences = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
    order = np.argsort(-np.abs(differences), kind="stable")[:MOST_FEATURES]
    return tuple((str(names[k]), float(differences[k])) for k in order if differences[k] != 0)
