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
EXACT = 2.0**53  # whole numbers up to here are all different as floats too
LONGEST = 40  # letters of a cell in a message
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
MARKS = {
    "percent signs": re.compile(rf"{NUMBER}\s*%"),
    "signs of a currency": re.compile(rf"-?[£$€¥]\s*{NUMBER}|{NUMBER}\s*[£$€¥]"),
    "separators of thousands": re.compile(r"[-+]?[0-9]{1,3}([\s_'\u2019][0-9]{3})+(\.[0-9]*)?"),
}
UNIT = re.compile(rf"({NUMBER})\s*((?!e[0-9])[^\W\d_]{{1,5}}|°[CF]?)")


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
        if any(isinstance(cell, str) and "_" in cell for cell in cells):
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


def _number(cell: Any) -> float:
    if isinstance(cell, str) and "_" in cell:
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
    return re.fullmatch(r"[-+]?\d*(,\d+)+(\.\d*)?(e[-+]?\d+)?", text) is not None


def marked_numbers(cells: Sequence[Any]) -> str | None:
    """What stands beside the numbers that all cells are but for it, such as percent signs.

    A unit that all share is such a thing too, unless the numbers are whole and all different: then
    they are names, such as 12A and 13A.
    """
    texts = [str(cell).strip() for cell in cells]
    for what, form in MARKS.items():
        if all(form.fullmatch(text) for text in texts):
            return what
    found = [UNIT.fullmatch(text) for text in texts]
    units = {None if one is None else one[2] for one in found}
    if len(units) != 1 or None in units:
        return None
    numbers = [one[1] for one in found if one is not None]
    named = len(set(numbers)) == len(numbers) and all(map(WHOLE.fullmatch, numbers))
    return None if named else f"the unit {units.pop()!r}"


def shown(cell: object) -> str:
    """A cell in a message, cut short."""
    text = str(cell)
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def are_serial(cells: Sequence[Any], values: FloatArray) -> bool:
    """Whether all cells that are not empty are whole numbers, and no two the same.

    They must be written as such, 3 and not 3.0; but where cells are empty pandas writes 3.0.
    """
    given = np.flatnonzero(~np.isnan(values))
    exact = bool(np.all(np.abs(values[given]) < EXACT))
    if exact and len(np.unique(values[given])) < len(given):
        return False
    gaps = len(given) < len(values)
    numbers = [_whole(cells[int(row)], gaps) for row in given]
    return None not in numbers and len(set(numbers)) == len(numbers)


def _whole(cell: Any, gaps: bool) -> int | None:
    """A cell as a whole number, if it is one."""
    if isinstance(cell, str):
        found = WHOLE.fullmatch(cell)
        return int(found[1]) if found is not None and (gaps or not found[2]) else None
    if isinstance(cell, (int, np.integer)) and not isinstance(cell, bool):
        return int(cell)
    is_float = gaps and isinstance(cell, float) and cell.is_integer()
    return int(cell) if is_float else None
