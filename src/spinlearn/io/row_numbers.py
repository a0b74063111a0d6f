"""Columns of numbers that count, number or name the rows of a table, and say nothing of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.io.cells import WHOLE

COUNTERS = ("index", "id", "row")
CODES = ("id", "zip", "zipcode", "postcode", "plz", "phone")  # last words of names
BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
STAMP = re.compile(r"time|date|stamp", re.IGNORECASE)
FIRST_SECOND, LAST_SECOND = 1e9, 2.5e9  # since 1970: from 2001 to 2049
EXACT = 2.0**53  # whole numbers up to here are all different as floats too
NEARLY_ALL = 0.95  # of the rows


def counts_rows(values: FloatArray) -> bool:
    """Whether a column grows by 1 from row to row."""
    return len(values) > 1 and bool(np.all(np.diff(values) == 1))


def is_row_number(name: str, values: FloatArray) -> bool:
    """Whether a column is called so, and counts the rows from 0 or 1, be they ever so few."""
    return name.strip().lower() in COUNTERS and counts_rows(values) and values[0] in (0, 1)


def are_codes(name: str, values: FloatArray) -> bool:
    """Whether whole numbers are called ids, zip codes or phone numbers."""
    given = values[np.isfinite(values)]
    words = BETWEEN_WORDS.split(name.strip())
    return words[-1].lower() in CODES and len(given) > 0 and bool(np.all(given % 1 == 0))


def are_time_stamps(name: str, values: FloatArray) -> bool:
    """Whether a column is called so, and holds seconds since 1970 or thousandths of them."""
    given = values[~np.isnan(values)]
    if STAMP.search(name) is None or len(given) == 0:
        return False
    low, high = given.min(), given.max()
    return any(FIRST_SECOND * k <= low and high <= LAST_SECOND * k for k in (1, 1e3, 1e6, 1e9))


def are_serial(cells: Sequence[Any], values: FloatArray) -> bool:
    """Whether all cells that are not empty are whole numbers, and no two the same.

    They must be written as such, 3 and not 3.0, unless cells are empty (pandas writes 3.0 then) or
    no number is left out between the smallest and the largest.
    """
    given = np.flatnonzero(~np.isnan(values))
    exact = bool(np.all(np.abs(values[given]) < EXACT))
    if exact and len(np.unique(values[given])) < len(given):
        return False
    unbroken = exact and np.ptp(values[given]) == len(given) - 1
    numbers = _whole_numbers(cells, given, written_out=unbroken or len(given) < len(values))
    return None not in numbers and len(set(numbers)) == len(numbers)


def are_nearly_serial(cells: Sequence[Any], values: FloatArray) -> bool:
    """Whether a column would be serial but for a few repeated numbers."""
    given = np.flatnonzero(~np.isnan(values))
    if not NEARLY_ALL <= len(np.unique(values[given])) / len(given) < 1:
        return False
    return None not in _whole_numbers(cells, given, written_out=len(given) < len(values))


def _whole_numbers(
    cells: Sequence[Any], rows: np.ndarray[tuple[int], np.dtype[np.intp]], written_out: bool
) -> list[int | None]:
    """Cells as whole numbers, None where they are none; `written_out`: 3.0 is one too."""
    return [_whole(cells[int(row)], written_out) for row in rows]


def _whole(cell: Any, written_out: bool) -> int | None:
    if isinstance(cell, str):
        found = WHOLE.fullmatch(cell)
        return int(found[1]) if found is not None and (written_out or not found[2]) else None
    if isinstance(cell, (int, np.integer)) and not isinstance(cell, bool):
        return int(cell)
    is_float = written_out and isinstance(cell, float) and cell.is_integer()
    return int(cell) if is_float else None
