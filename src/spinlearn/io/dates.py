"""Columns of dates: recognised, and counted in days where they are wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.io.cells import is_empty

ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?")
OTHER = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{4}|\d{2})|\d{4}([./])\d{1,2}\3\d{1,2}")
SECONDS = 86_400.0  # of a day
NAME = re.compile(r"year|jahr|\byr\b")
FIRST_YEAR, LAST_YEAR = 1000, 2999


def are_dates(cells: Sequence[Any]) -> bool:
    """Whether all that a column holds is dates, in one form or another."""
    given = [cell for cell in cells if not is_empty(cell)]
    return bool(given) and all(
        isinstance(cell, date)
        or (isinstance(cell, str) and (_iso(cell) or OTHER.fullmatch(cell.strip())) is not None)
        for cell in given
    )


def are_years(name: str, values: FloatArray) -> bool:
    """Whether a column is called so, and holds such numbers."""
    if NAME.search(name.lower()) is None or np.any(np.isnan(values)):
        return False
    low, high = FIRST_YEAR, LAST_YEAR
    return bool(np.all((values >= low) & (values <= high) & (values == np.rint(values))))


def days(cells: Sequence[Any]) -> FloatArray | None:
    """Days since the first date of a column; None if day and month cannot be told apart."""
    found: list[datetime | None] = []
    for cell in cells:
        if is_empty(cell):
            found.append(None)
            continue
        moment = _moment(cell)
        if moment is None:
            return None
        found.append(moment)
    first = min(moment for moment in found if moment is not None)
    return np.array([np.nan if m is None else (m - first).total_seconds() / SECONDS for m in found])


def _iso(text: str) -> re.Match[str] | None:
    return ISO.fullmatch(text.strip())


def _moment(cell: Any) -> datetime | None:
    """A cell as a moment without a zone."""
    if isinstance(cell, str):
        if _iso(cell) is None:
            return None
        try:
            moment = datetime.fromisoformat(cell.strip())
        except ValueError:  # February 30
            return None
    elif isinstance(cell, datetime):
        moment = cell
    else:
        moment = datetime(cell.year, cell.month, cell.day)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
