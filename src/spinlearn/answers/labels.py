"""Labels as users write them, made clean.

- `parse_labels`: y, as `fit` is given it, to the named classes with the state of every point.
  Unlabelled is -1 (scikit-learn's convention), None, NaN, pandas' NA, and for text also "". The
  text "-1" is so too, unless "1" is a label and other points are empty: then it is a class.
- `clean_labels`: the cells of a file to such a y. Words for nothing (NA, nan, null ...) mean no
  label too there, and so does what the user says.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.odd_names import doubts
from spinlearn.core.arrays import IntArray
from spinlearn.errors import InvalidInputError, LabelWarning

UNLABELLED = -1
MINUS_ONE = (
    "the label '-1' is taken as a class, because '1' is one and other points have no label at all: "
    "leave those cells empty too if it marks points without a label"
)
LARGEST = 2**63 - 2**32  # of a whole-number label; new classes are numbered below the smallest
TOO_LARGE = f"y holds whole numbers beyond {LARGEST} in size: give smaller ones, or text"
ONE_EACH = "give one whole number or one text per point, for instance 'a/1' for ('a', 1)"
# Cells of files that hold nothing; a spreadsheet that looks up a label in vain writes #N/A.
MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>", "#n/a", "#na")
# 007 and 1e3 are names; pandas writes whole numbers with a gap among them as 1.0.
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,14})(\.0+)?")


@dataclass(frozen=True, slots=True, eq=False)
class LabelCode:
    """The named classes (sorted) and the state, 0 .. k-1 or -1, of every point."""

    classes: npt.NDArray[Any]
    states: IntArray

    @property
    def n_classes(self) -> int:
        """Number of different labels given."""
        return len(self.classes)


def parse_labels(y: Any, n_points: int) -> LabelCode:
    """Check y and split it into classes and states."""
    values = as_array(y)
    if values.shape != (n_points,):
        raise InvalidInputError(
            f"y has shape {values.shape}, but there are {n_points} points: give one label per "
            "point, -1 where there is none"
        )
    known = ~_unlabelled(values)
    given = values[known]
    if given.dtype.kind in "OUS":
        minus = np.array([_is_text(v, "-1") for v in given], dtype=bool)
        if np.any(minus) and _against_one(given, len(values)):
            warnings.warn(MINUS_ONE, LabelWarning, stacklevel=3)
        else:
            known[np.flatnonzero(known)[minus]] = False
            given = given[~minus]
    if given.dtype == object:
        given = _of_one_kind(given)
    if given.dtype.kind in "iufc":
        given = _whole_numbers(given)
    if len(given) == 0:
        classes: npt.NDArray[Any] = np.empty(0, dtype=np.int64)
        codes = np.empty(0, dtype=np.intp)
    else:
        classes, codes = np.unique(given, return_inverse=True)
    if classes.dtype.kind == "U":
        for doubt in doubts(classes.tolist()):
            warnings.warn(doubt, LabelWarning, stacklevel=3)
    states = np.full(n_points, UNLABELLED, dtype=np.int32)
    states[known] = codes
    return LabelCode(classes, states)


def as_array(y: Any) -> npt.NDArray[Any]:
    """y as an array, without NumPy's conversions that lose what the caller wrote.

    It would make text of ['a', nan] and [1, 'a'], floats of pandas' integers with gaps, and forget
    the mask of a masked array.
    """
    if isinstance(y, np.ma.MaskedArray):
        unmasked: npt.NDArray[Any] = y.data.astype(object)
        unmasked[np.ma.getmaskarray(y)] = None
        return unmasked
    foreign = hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype)
    try:
        values = np.asarray(y, dtype=object if foreign or isinstance(y, (list, tuple)) else None)
    except ValueError as error:  # sequences of different length
        raise InvalidInputError(f"y holds sequences ({error}): {ONE_EACH}") from error
    return values.astype(object) if values.dtype.kind == "T" else values


def _unlabelled(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    kind = values.dtype.kind
    if kind in "iu":
        return np.asarray(values == UNLABELLED)
    if kind == "f":
        return np.asarray(np.isnan(values) | (values == UNLABELLED))
    if kind == "U":
        return np.asarray(values == "")
    if kind == "S":
        return np.asarray(values == b"")
    if kind in "mM":
        return np.asarray(np.isnat(values))
    if kind == "O":
        return np.array([_unlabelled_object(v) for v in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _unlabelled_object(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value == ""
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
    if any(isinstance(v, (tuple, list, np.ndarray)) for v in given):
        raise InvalidInputError(f"y holds labels of type {kinds.pop()}: {ONE_EACH}")
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


def _is_text(value: Any, text: str) -> bool:
    return isinstance(value, (str, bytes)) and value in (text, text.encode())


def _against_one(given: Sequence[Any] | npt.NDArray[Any], n_points: int) -> bool:
    """Whether "-1" is a class like "1": that is a label, and points without one are empty."""
    return len(given) < n_points and any(_is_text(v, "1") or _is_text(v, "+1") for v in given)


def is_missing(cell: str) -> bool:
    """Whether a cell of a file says that there is nothing."""
    return cell.strip().lower() in MISSING


def clean_labels(
    cells: Sequence[Any], unlabelled: Sequence[str] = (), source: str = "the labels"
) -> npt.NDArray[np.object_]:
    """Labels as text, or as whole numbers if all are; None where there is none.

    Parameters
    ----------
    cells : sequence
    unlabelled : sequence of str
        Further values that mean "no label".
    source : str
        Where the labels are, for messages.
    """
    labels = np.full(len(cells), None, dtype=object)
    for k, cell in enumerate(cells):
        if isinstance(cell, (float, np.floating)) and np.isinf(cell):
            raise InvalidInputError(
                f"{source}: the label in row {k + 1} is infinite, which names no class: leave it "
                "empty if there is none"
            )
        labels[k] = _clean_label(cell, unlabelled)
    given = [v for v in labels if v is not None]
    if "-1" in given and _against_one(given, len(labels)):
        return labels
    if all(WHOLE.fullmatch(v) for v in given):
        for k, value in enumerate(labels):
            whole = None if value is None else int(value.partition(".")[0])
            labels[k] = None if whole == -1 or str(whole) in unlabelled else whole
    labels[[v == "-1" for v in labels]] = None
    return labels


def _clean_label(cell: Any, unlabelled: Sequence[str]) -> str | None:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    text = str(cell).strip()
    return None if is_missing(text) or text in unlabelled else text
