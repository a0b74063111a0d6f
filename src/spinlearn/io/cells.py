"""The cells of a column as numbers, as far as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import is_missing
from spinlearn.core.arrays import BoolArray, FloatArray

TRUTHS = {"true": 1.0, "false": 0.0}
WHOLE = re.compile(r"\s*([-+]?[0-9]+)(\.0*)?\s*")
LONGEST = 40  # letters of a cell in a message
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
GROUPED = r"[-+]?[0-9]{1,3}(?:[\s_'\u2019.,][0-9]{3})+(?:[.,][0-9]*)?"
AMOUNT = rf"(?:{NUMBER}|{GROUPED})"
CURRENCY = r"(?:[£$€¥]|EUR|USD|GBP|CHF|JPY)"
MARKS = {
    "percent signs": re.compile(rf"{NUMBER}\s*%"),
    "signs of a currency": re.compile(rf"-?{CURRENCY}\s*{AMOUNT}|{AMOUNT}\s*{CURRENCY}"),
    "separators of thousands": re.compile(GROUPED),
    "signs of comparison": re.compile(rf"[<>≤≥~≈]=?\s*{NUMBER}"),
    "ranges of error": re.compile(rf"{NUMBER}\s*(?:±|\+/-)\s*{NUMBER}"),
    "brackets": re.compile(rf"\(\s*{NUMBER}\s*\)"),
    "apostrophes": re.compile(rf"['\u2019]{NUMBER}"),
    "dashes instead of minus signs": re.compile(rf"[\u2212\u2013]\s*{NUMBER}"),
}
UNIT = re.compile(rf"({NUMBER})\s*((?!e[0-9])[^\W\d_]{{1,5}}(?:[/·][^\W_]{{1,5}})*|°[CF]?)")


@dataclass(frozen=True, slots=True)
class Cells:
    """What the cells of one column are.

    Attributes
    ----------
    values : float array (n,)
        NaN where a cell is empty, or no number.
    is_text : bool array (n,)
        Where a cell holds something that is no number.
    """

    values: FloatArray
    is_text: BoolArray

    @property
    def missing(self) -> npt.NDArray[np.intp]:
        """Rows whose cells are empty."""
        return np.flatnonzero(np.isnan(self.values) & ~self.is_text)

    @property
    def infinite(self) -> npt.NDArray[np.intp]:
        """Rows whose cells hold infinity, or a number too large to be told from it."""
        return np.flatnonzero(np.isinf(self.values))

    @property
    def texts(self) -> npt.NDArray[np.intp]:
        """Rows whose cells are no numbers."""
        return np.flatnonzero(self.is_text)

    @property
    def n_numbers(self) -> int:
        """How many cells are numbers."""
        return len(self.values) - len(self.missing) - len(self.texts)


def read_cells(cells: Sequence[Any]) -> Cells:
    """Numbers, gaps and text of a column."""
    is_text = np.zeros(len(cells), dtype=bool)
    try:
        if any(_has_underscore(cell) for cell in cells):
            raise ValueError("Python would read 1_000 as a number")
        values = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(_truths(cells)):
            try:
                values[row] = np.nan if is_empty(cell) else _number(cell)
            except (TypeError, ValueError, OverflowError):
                is_text[row] = True
    if values.ndim > 1:  # lists of one length
        values = np.full(len(cells), np.nan)
        is_text[:] = True
    return Cells(values, is_text)


def _has_underscore(cell: Any) -> bool:
    return (isinstance(cell, str) and "_" in cell) or (isinstance(cell, bytes) and b"_" in cell)


def _number(cell: Any) -> float:
    if _has_underscore(cell):
        raise ValueError(cell)
    return float(cell)


def _truths(cells: Sequence[Any]) -> Sequence[Any]:
    """True and False as 1 and 0, if a column says nothing else."""
    if not all(is_empty(cell) or str(cell).strip().lower() in TRUTHS for cell in cells):
        return cells
    return [None if is_empty(cell) else TRUTHS[str(cell).strip().lower()] for cell in cells]


def is_empty(cell: object) -> bool:
    """Whether a cell says that there is nothing."""
    return cell is None or (isinstance(cell, str) and is_missing(cell))


def has_comma(cell: object) -> bool:
    """Whether a cell is a number but for its commas, as in 1,5 or 1,000."""
    text = str(cell).strip().lower()
    form = r"[-+]?(\d*(,\d+)+(\.\d*)?|\d{1,3}(\.\d{3})+,\d*)(e[-+]?\d+)?"
    return re.fullmatch(form, text) is not None


def marked_numbers(cells: Sequence[Any]) -> str | None:
    """What stands beside the numbers that all cells are but for it, such as percent signs.

    So are units, unless the numbers are whole and all different, or of several units: then they are
    names, such as 12A and 13A, or 3a and 3b.
    """
    texts = [str(cell).strip() for cell in cells]
    for what, form in MARKS.items():
        if all(form.fullmatch(text) for text in texts):
            return what
    found = [UNIT.fullmatch(text) for text in texts]
    if None in found:
        return None
    units = sorted({one[2] for one in found if one is not None})
    numbers = [one[1] for one in found if one is not None]
    whole = all(map(WHOLE.fullmatch, numbers))
    if whole and (len(units) > 1 or len(set(numbers)) == len(numbers)):
        return None
    return f"the unit {units[0]!r}" if len(units) == 1 else f"the units {', '.join(units[:5])}"


def shown(cell: object) -> str:
    """A cell in a message, cut short."""
    text = str(cell)
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
