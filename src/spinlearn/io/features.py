"""From the cells of a table to points.

A column all of whose cells are text is left out and named, and so is one that names or counts the
rows, as pandas writes it beside the data; one that mixes text and numbers, or has commas in its
numbers, is an error, because leaving it out or guessing would change the answer in silence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import is_missing
from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError
from spinlearn.io.table import Table, listed

ROW_NUMBERS = ("index", "id", "row")  # names of columns that may count rows
TRUTHS = {"true": 1.0, "false": 0.0}


def numeric_columns(
    table: Table, names: Sequence[str], *, chosen: bool
) -> tuple[FloatArray, list[str], list[str]]:
    """Columns as points (n, d), their names, and the names of columns left out.

    Parameters
    ----------
    table : Table
    names : sequence of str
        Columns that may be features.
    chosen : bool
        Whether the user named these columns: then none may be left out.
    """
    points: list[npt.NDArray[np.float64]] = []
    kept: list[str] = []
    left_out: list[str] = []
    gaps: list[tuple[str, int]] = []
    for name in names:
        cells = table.cells[name]
        values, texts, missing = _numbers(cells)
        if not chosen and (name in table.index or _is_no_feature(name, cells, values, texts)):
            left_out.append(name)
            continue
        if texts:
            raise InvalidInputError(_text_where_numbers_should_be(table, name, texts))
        if not chosen and missing and len(missing) == len(values):
            left_out.append(name)
            continue
        gaps += [(name, row) for row in missing]
        points.append(values)
        kept.append(name)
    if gaps:
        name, row = gaps[0]
        raise InvalidInputError(
            f"{table.path} lacks {len(gaps)} feature values, the first in column {name!r}, "
            f"{table.place(row)}, and distances need all of them: fill them in, drop those rows, "
            "or leave those columns out with --features"
        )
    if not points:
        raise InvalidInputError(
            f"{table.path} has no numeric feature column"
            + (f" (left out: {listed(left_out)})" if left_out else "")
            + ": points need at least one number each"
        )
    return np.column_stack(points), kept, left_out


def _is_no_feature(
    name: str, cells: Sequence[Any], values: npt.NDArray[np.float64], texts: Sequence[int]
) -> bool:
    """Whether all that a column holds is text, or the numbers of the rows."""
    all_words = bool(texts) and not any(_has_comma(cells[row]) for row in texts)
    return (all_words and not np.any(np.isfinite(values))) or _counts_rows(name, values)


def _text_where_numbers_should_be(table: Table, name: str, texts: Sequence[int]) -> str:
    cell = str(table.cells[name][texts[0]])
    where = f"column {name!r} ({cell!r} in {table.place(texts[0])})"
    if _has_comma(cell):
        return (
            f"{table.path} has commas in the numbers of {where}: write decimal points, and no "
            "separators of thousands"
        )
    if len(texts) < table.n_rows:
        return (
            f"{table.path} mixes numbers and text in {where}: correct it, or name the columns to "
            "use with --features"
        )
    return (
        f"{table.path} has no numbers in column {name!r}, which was named as a feature: encode it "
        "as numbers, or leave it out"
    )


def _numbers(cells: Sequence[Any]) -> tuple[npt.NDArray[np.float64], list[int], list[int]]:
    """Values, rows that are no numbers, rows without a (finite) value."""
    is_text = np.zeros(len(cells), dtype=bool)
    try:
        values = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(_truths(cells)):
            try:
                values[row] = np.nan if _is_empty(cell) else float(cell)
            except (TypeError, ValueError):
                is_text[row] = True
    if values.ndim > 1:  # lists of one length
        values = np.full(len(cells), np.nan)
        is_text[:] = True
    missing = ~np.isfinite(values) & ~is_text
    return values, np.flatnonzero(is_text).tolist(), np.flatnonzero(missing).tolist()


def _truths(cells: Sequence[Any]) -> Sequence[Any]:
    """True and False as 1 and 0, if a column says nothing else."""
    if not all(_is_empty(cell) or str(cell).strip().lower() in TRUTHS for cell in cells):
        return cells
    return [None if _is_empty(cell) else TRUTHS[str(cell).strip().lower()] for cell in cells]


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and is_missing(cell))


def _has_comma(cell: object) -> bool:
    """Whether a cell is a number but for its commas, as in 1,5 or 1,000."""
    text = str(cell).strip().lower()
    return re.fullmatch(r"[-+]?\d*(,\d+)+(\.\d*)?(e[-+]?\d+)?", text) is not None


def _counts_rows(name: str, values: npt.NDArray[np.float64]) -> bool:
    """Whether a column is the row number, as pandas writes it beside the data."""
    if name.strip().lower() not in ROW_NUMBERS or len(values) < 2:
        return False
    steps = np.arange(len(values))
    return bool(np.array_equal(values, steps) or np.array_equal(values, steps + 1))
