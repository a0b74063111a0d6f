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
WHOLE = re.compile(r"\s*[-+]?[0-9]+\s*")


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


def all_whole(cells: Sequence[Any]) -> bool:
    """Whether all cells are whole numbers, written as such: 3, not 3.0."""
    return all(
        WHOLE.fullmatch(cell) is not None
        if isinstance(cell, str)
        else isinstance(cell, (int, np.integer)) and not isinstance(cell, bool)
        for cell in cells
    )
