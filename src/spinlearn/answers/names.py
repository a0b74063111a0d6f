"""Names of outcomes: from the integer code of a point's outcome to what users read.

An outcome is one integer: 0 .. n_classes-1 a named class, n_classes + k the new class number k + 1,
-1 - k the k-th set of classes between which a point is undecided. The empty set is the *outlier*,
of which nothing is known. Outcomes are written in the kind of the labels given:

- whole-number labels: a class keeps its number; *confused*, *outlier* and *unknown* are -1; the new
  classes are the next free negative numbers, -2, -3, ... (or below the smallest label, if that is
  lower);
- text and everything else: 'new:1', 'new:2', ..., 'confused:A|B', 'outlier', 'unknown'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import IntArray
from spinlearn.errors import InvalidInputError

UNKNOWN = np.iinfo(np.int32).min  # outcome of an unseen point that resembles no training point
UNDECIDED = -1  # in place of a whole-number label
OUTLIER = "outlier"
RESERVED = re.compile(rf"new:\d+|confused:.*\|.*|{OUTLIER}", re.DOTALL)

Classes = Sequence[object] | npt.NDArray[Any]
ConfusedSets = Sequence[tuple[int, ...]]


def outcome_name(outcome: int, classes: Classes, confused_sets: ConfusedSets) -> str:
    """An outcome in words: a class, or for instance ``new:1``, ``confused:A|B`` or ``outlier``.

    Parameters
    ----------
    outcome : int
        As in `Decision`.
    classes : sequence
        Names of the classes.
    confused_sets : sequence of tuples of int
        As in `Decision`.

    Returns
    -------
    str

    Examples
    --------
    >>> from spinlearn.answers import outcome_name
    >>> [outcome_name(k, ["A", "B"], [(0, 1), ()]) for k in (1, 2, -1, -2)]
    ['B', 'new:1', 'confused:A|B', 'outlier']
    """
    if outcome == UNKNOWN:
        return "unknown"
    if outcome < 0:
        between = confused_sets[-1 - outcome]
        if not between:
            return OUTLIER
        open_to = [str(classes[c]) for c in between]
        if len(open_to) == 1:  # a named class and a new one
            open_to.append("new")
        return "confused:" + "|".join(open_to)
    if outcome < len(classes):
        return str(classes[outcome])
    return f"new:{outcome - len(classes) + 1}"


def outcome_names(
    outcomes: IntArray, classes: Classes, confused_sets: ConfusedSets
) -> npt.NDArray[np.object_]:
    """Names of many outcomes, each text made once."""
    values, inverse = np.unique(outcomes, return_inverse=True)
    names = np.empty(len(values), dtype=object)
    names[:] = [outcome_name(int(v), classes, confused_sets) for v in values]
    return names[inverse]


def encode_outcomes(
    outcomes: IntArray, classes: npt.NDArray[Any], confused_sets: ConfusedSets
) -> npt.NDArray[Any]:
    """Outcomes as labels of the user's kind."""
    n_classes = len(classes)
    if classes.dtype.kind in "iu":
        first_new = min(UNDECIDED, int(classes.min(initial=0))) - 1
        named = (outcomes >= 0) & (outcomes < n_classes)
        new = outcomes >= n_classes
        labels = np.full(len(outcomes), UNDECIDED, dtype=np.int64)
        labels[named] = classes[outcomes[named]]
        labels[new] = first_new - (outcomes[new] - n_classes)
        return labels
    values, inverse = np.unique(outcomes, return_inverse=True)
    if np.all((values >= 0) & (values < n_classes)):
        return classes[outcomes]  # nothing but named classes: keep their dtype
    names = np.empty(len(values), dtype=object)
    for k, value in enumerate(values.tolist()):
        if 0 <= value < n_classes:
            label = classes[value]
            names[k] = label.item() if isinstance(label, (np.character, np.bool_)) else label
        else:
            names[k] = outcome_name(value, classes, confused_sets)
    return names[inverse]


def refuse_reserved(classes: npt.NDArray[Any]) -> None:
    """Refuse classes whose names are those of calls, which could not be told from them."""
    for name in map(str, classes):
        if RESERVED.fullmatch(name):
            raise InvalidInputError(
                f"a label is {name!r}, which is how spinlearn names new classes (new:1), confused "
                f"points (confused:A|B) or single odd ones ({OUTLIER}): rename that class, or "
                "leave its points unlabelled"
            )
