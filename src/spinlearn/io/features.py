"""From cells to points: which columns are features, and what is done to them before distances.

A column all of whose cells are text is left out and named, and so is one that counts the rows, as
pandas writes it beside the data; one that mixes text and numbers, or has decimal commas, is an
error, because leaving it out or guessing would change the answer in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError
from spinlearn.io.text_table import listed

SCALES = ("none", "standard")
ROW_NUMBERS = ("", "index", "unnamed: 0", "id", "row")  # names of columns that may count rows
MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What is done to the features, in this order.

    Attributes
    ----------
    clip : (float, float) or None
        Values beyond are set to these bounds.
    log2 : bool
        Take the logarithm; all values must be positive by then.
    top_variance : int or None
        Keep this many features, those of largest variance.
    scale : {"none", "standard"}
        "standard": mean 0 and standard deviation 1 of every feature, so that units do not matter.
    """

    clip: tuple[float, float] | None = None
    log2: bool = False
    top_variance: int | None = None
    scale: str = "none"

    def apply(self, points: FloatArray, names: Sequence[str]) -> tuple[FloatArray, list[str]]:
        """The prepared points and the names of the features that are left."""
        if self.scale not in SCALES:
            raise InvalidInputError(f"scale {self.scale!r} is unknown: use none or standard")
        kept = list(names)
        if self.clip is not None:
            low, high = self.clip
            if not low < high:
                raise InvalidInputError(f"clip {low:g},{high:g} is no range: give LOW,HIGH")
            points = np.clip(points, low, high)
        if self.log2:
            if points.size and points.min() <= 0:
                raise InvalidInputError(
                    f"log2 of {points.min():g} does not exist: clip to positive values first, for "
                    "example --clip 1,1e9"
                )
            points = np.log2(points)
        if self.top_variance is not None:
            if self.top_variance < 1:
                raise InvalidInputError("top-variance must be at least 1")
            best = np.sort(np.argsort(-points.var(axis=0), kind="stable")[: self.top_variance])
            points, kept = points[:, best], [kept[k] for k in best]
        if self.scale == "standard":
            spread = points.std(axis=0)
            points = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return points, kept


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is nothing."""
    return cell.strip().lower() in MISSING


def numeric_columns(
    source: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    chosen: bool,
    lines: Sequence[int] | None = None,
) -> tuple[FloatArray, list[str], list[str]]:
    """Columns as points (n, d), their names, and the names of text columns left out.

    Parameters
    ----------
    source : str
        The file, for messages.
    columns : mapping
        Cells, text or numbers, by column.
    chosen : bool
        Whether the user named these columns: then a text column is an error too.
    lines : sequence of int, optional
        Line of every row in the file, for messages.
    """
    points: list[npt.NDArray[np.float64]] = []
    names: list[str] = []
    left_out: list[str] = []
    gaps: list[tuple[str, int]] = []
    for name, cells in columns.items():
        values, texts, missing = _numbers(cells)
        words = [row for row in texts if not _has_decimal_comma(cells[row])]
        if len(words) == len(values) - len(missing) and words and not chosen:
            left_out.append(name)
            continue
        if not chosen and _counts_rows(name, values):
            left_out.append(name)
            continue
        if texts:
            row = texts[0]
            raise InvalidInputError(
                f"{source} has decimal commas in column {name!r} ({str(cells[row])!r} in "
                f"{_place(row, lines)}): write decimal points"
                if _has_decimal_comma(cells[row])
                else f"{source} mixes numbers and text in column {name!r} ({str(cells[row])!r} in "
                f"{_place(row, lines)}): correct it, or name the columns to use with --features"
                if len(texts) < len(values)
                else f"{source} has text in column {name!r}, which was named as a feature: encode "
                "it as numbers, or leave it out"
            )
        if missing and len(missing) == len(values):
            left_out.append(name)
            continue
        gaps += [(name, row) for row in missing]
        points.append(values)
        names.append(name)
    if gaps:
        name, row = gaps[0]
        raise InvalidInputError(
            f"{source} lacks {len(gaps)} feature values, the first in column {name!r}, "
            f"{_place(row, lines)}, and distances need all of them: fill them in, drop those rows, "
            "or leave those columns out with --features"
        )
    if not points:
        raise InvalidInputError(
            f"{source} has no numeric feature column"
            + (f" (text: {listed(left_out)})" if left_out else "")
            + ": points need at least one number each"
        )
    return np.column_stack(points), names, left_out


def _numbers(cells: Sequence[Any]) -> tuple[npt.NDArray[np.float64], list[int], list[int]]:
    """Values, rows that are text, rows without a (finite) value."""
    try:
        values = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full(len(cells), np.nan)
        texts = []
        for row, cell in enumerate(cells):
            if cell is None or (isinstance(cell, str) and is_missing(cell)):
                continue
            try:
                values[row] = float(cell)
            except (TypeError, ValueError):
                texts.append(row)
        is_text = np.zeros(len(cells), dtype=bool)
        is_text[texts] = True
        return values, texts, np.flatnonzero(~np.isfinite(values) & ~is_text).tolist()
    return values, [], np.flatnonzero(~np.isfinite(values)).tolist()


def _has_decimal_comma(cell: object) -> bool:
    return re.fullmatch(r"\s*[-+]?\d*,\d+(e[-+]?\d+)?\s*", str(cell).lower()) is not None


def _counts_rows(name: str, values: npt.NDArray[np.float64]) -> bool:
    """Whether a column is the row number, as pandas writes it beside the data."""
    if name.strip().lower() not in ROW_NUMBERS or len(values) < 2:
        return False
    steps = np.arange(len(values))
    return bool(np.array_equal(values, steps) or np.array_equal(values, steps + 1))


def _place(row: int, lines: Sequence[int] | None) -> str:
    return f"row {row + 1}" if lines is None else f"line {lines[row]}"
