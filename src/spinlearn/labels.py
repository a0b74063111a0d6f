"""Labels as users write them, and back: parsing y and encoding outcomes.

Unlabelled is -1 (scikit-learn's convention), None, NaN, pandas' NA, and for text also "" and "-1".
Outcomes are returned in the kind of the labels given:

- whole-number labels: a class keeps its number; *confused* (and *unknown*) is -1; the new classes
  are the next free negative numbers, -2, -3, ... (or below the smallest label, if that is lower);
- text and everything else: 'new:1', 'new:2', ..., 'confused:A|B', 'unknown'. Labels that read
  like the first two are refused where calls are made.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import IntArray
from spinlearn.decision import outcome_name
from spinlearn.errors import InvalidInputError, LabelWarning

UNLABELLED = -1
UNKNOWN = np.iinfo(np.int32).min  # outcome of an unseen point that resembles no training point
LARGEST = 2**63 - 2**32  # of a whole-number label; new classes are numbered below the smallest
TOO_LARGE = f"y holds whole numbers beyond {LARGEST} in size: give smaller ones, or text"
RESERVED = re.compile(r"new:\d+|confused:.*\|.*", re.DOTALL)
SUSPECTS = ("nan", "NaN", "<NA>")


@dataclass(frozen=True, slots=True, eq=False)
class LabelCode:
    """The named classes (sorted) and the state, 0 .. k-1 or -1, of every point."""

    classes: npt.NDArray[Any]
    states: IntArray

    @property
    def n_classes(self) -> int:
        """Number of different labels given."""
        return len(self.classes)

    def encode(
        self, outcomes: IntArray, confused_sets: tuple[tuple[int, ...], ...]
    ) -> npt.NDArray[Any]:
        """Outcomes (see `spinlearn.decision`) as labels of the user's kind."""
        if self.classes.dtype.kind in "iu":
            first_new = min(UNLABELLED, int(self.classes.min(initial=0))) - 1
            named = (outcomes >= 0) & (outcomes < self.n_classes)
            new = outcomes >= self.n_classes
            labels = np.full(len(outcomes), UNLABELLED, dtype=np.int64)
            labels[named] = self.classes[outcomes[named]]
            labels[new] = first_new - (outcomes[new] - self.n_classes)
            return labels
        values, inverse = np.unique(outcomes, return_inverse=True)
        if np.all((values >= 0) & (values < self.n_classes)):
            return self.classes[outcomes]  # nothing but named classes: keep their dtype
        names = np.empty(len(values), dtype=object)
        for k, value in enumerate(values.tolist()):
            if 0 <= value < self.n_classes:
                label = self.classes[value]
                names[k] = label.item() if isinstance(label, (np.character, np.bool_)) else label
            else:
                names[k] = self.name(value, confused_sets)
        return names[inverse]

    def name(self, outcome: int, confused_sets: tuple[tuple[int, ...], ...]) -> str:
        """One outcome in words."""
        if outcome == UNKNOWN:
            return "unknown"
        return outcome_name(outcome, self.classes, confused_sets)


def parse_labels(y: Any, n_points: int) -> LabelCode:
    """Check y and split it into classes and states."""
    values = _as_array(y)
    if values.shape != (n_points,):
        raise InvalidInputError(
            f"y has shape {values.shape}, but there are {n_points} points: give one label per "
            "point, -1 where there is none"
        )
    known = ~_is_missing(values)
    given = values[known]
    if given.dtype == object:
        given = _of_one_kind(given)
    if given.dtype.kind in "iufc":
        given = _whole_numbers(given)
    if len(given) == 0:
        classes: npt.NDArray[Any] = np.empty(0, dtype=np.int64)
        codes = np.empty(0, dtype=np.intp)
    else:
        classes, codes = np.unique(given, return_inverse=True)
    if classes.dtype.kind == "U" and np.any(np.isin(classes, SUSPECTS)):
        warnings.warn(
            f"a class is named {classes[np.isin(classes, SUSPECTS)][0]!s}, which looks like a "
            "missing label turned into text: mark unlabelled points with None, NaN or ''",
            LabelWarning,
            stacklevel=3,
        )
    states = np.full(n_points, UNLABELLED, dtype=np.int32)
    states[known] = codes
    return LabelCode(classes, states)


def refuse_reserved(classes: npt.NDArray[Any]) -> None:
    """Refuse classes whose names are those of calls, which could not be told from them."""
    for name in map(str, classes):
        if RESERVED.fullmatch(name):
            raise InvalidInputError(
                f"a label is {name!r}, which is how spinlearn names new classes (new:1) and "
                "confused points (confused:A|B): rename that class, or leave its points unlabelled"
            )


def _as_array(y: Any) -> npt.NDArray[Any]:
    """y as an array, without NumPy's conversions that lose what the caller wrote.

    It would make text of ['a', nan] and [1, 'a'], floats of pandas' integers with gaps, and forget
    the mask of a masked array.
    """
    if isinstance(y, np.ma.MaskedArray):
        unmasked: npt.NDArray[Any] = y.data.astype(object)
        unmasked[np.ma.getmaskarray(y)] = None
        return unmasked
    foreign = hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype)
    values = np.asarray(y, dtype=object if foreign or isinstance(y, (list, tuple)) else None)
    return values.astype(object) if values.dtype.kind == "T" else values


def _is_missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    kind = values.dtype.kind
    if kind in "iu":
        return np.asarray(values == UNLABELLED)
    if kind == "f":
        return np.asarray(np.isnan(values) | (values == UNLABELLED))
    if kind == "U":
        return np.asarray((values == "") | (values == "-1"))
    if kind == "S":
        return np.asarray((values == b"") | (values == b"-1"))
    if kind in "mM":
        return np.asarray(np.isnat(values))
    if kind == "O":
        return np.array([_is_missing_object(v) for v in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _is_missing_object(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value in ("", "-1")
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return True
    return isinstance(value, (int, float, np.number)) and value == UNLABELLED


def _of_one_kind(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels that came as objects in the dtype of their kind."""
    kinds = {_kind(v) for v in given}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"y mixes labels of different kinds ({', '.join(sorted(kinds))}): "
            "give all as text or all as whole numbers"
        )
    if kinds == {"text"}:
        return given.astype(np.str_)
    if kinds == {"truth value"}:
        return given.astype(np.bool_)
    if kinds == {"number"}:
        if any(isinstance(v, (complex, np.complexfloating)) for v in given):
            return given.astype(np.complex128)
        if any(isinstance(v, (float, np.floating)) for v in given):
            return given.astype(np.float64)
        if any(abs(int(v)) > LARGEST for v in given):
            raise InvalidInputError(TOO_LARGE)
        return given.astype(np.int64)
    try:
        np.unique(given)
        hash(tuple(given))
    except TypeError as error:
        raise InvalidInputError(
            f"labels of type {', '.join(kinds)} cannot be told apart and sorted ({error}): give "
            "whole numbers or text"
        ) from error
    return given


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "truth value"
    if isinstance(value, (int, float, complex, np.number)):
        return "number"
    return "text" if isinstance(value, str) else type(value).__name__


def _whole_numbers(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Number labels as integers, refusing those that are none."""
    if np.any(np.isinf(given)):
        raise InvalidInputError(
            "Input y contains infinity: labels are whole numbers or text, -1 or NaN where "
            "there is none"
        )
    if np.iscomplexobj(given) or np.any(given != np.rint(given)):
        raise InvalidInputError(
            "Unknown label type: y holds fractional or complex numbers, but labels are classes; "
            "give whole numbers or text"
        )
    if np.any((given > LARGEST) | (given < -LARGEST)):
        raise InvalidInputError(TOO_LARGE)
    return given.astype(np.int64) if given.dtype.kind == "f" else given
