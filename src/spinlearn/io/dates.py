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
YEAR_FIRST = re.compile(r"(\d{4})([./]?)(\d{2})\2(\d{2})")
MONTH = r"[^\W\d_]{3,9}\.?"
OTHER = re.compile(
    r"\d{1,2}([./-])\d{1,2}\1(\d{4}|\d{2})|\d{4}([./])\d{1,2}\3\d{1,2}"
    rf"|\d{{1,2}}\.?[ -]{MONTH}[ -]\d{{2,4}}|{MONTH} \d{{1,2}},? \d{{4}}"
)
SECONDS = 86_400.0  # of a day
NAME = re.compile(r"year|jahr|\byr\b")
FIRST_YEAR, LAST_YEAR = 1000, 2999
FIRST_DAY, LAST_DAY = 19000101, 21001231  # as whole numbers


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
    if NAME.search(name.lower()) is None:
        return False
    return _are_whole_between(values, FIRST_YEAR, LAST_YEAR)


def are_numbered_dates(values: FloatArray) -> bool:
    """Whether numbers are all dates such as 20241231."""
    if not _are_whole_between(values, FIRST_DAY, LAST_DAY):
        return False
    given = values[~np.isnan(values)]
    month, day = given // 100 % 100, given % 100
    return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))


def _are_whole_between(values: FloatArray, low: int, high: int) -> bool:
    """Whether there are numbers, and all of them are whole and in that range."""
    given = values[~np.isnan(values)]
    inside = (given >= low) & (given <= high) & (given == np.rint(given))
    return len(given) > 0 and bool(np.all(inside))


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
    if isinstance(cell, (int, float, np.integer)):  # 20241231, or 20241231.0 beside a gap
        cell = str(int(cell))
    if isinstance(cell, str):
        text = re.sub(r"\.0*$", "", cell.strip())
        whole = YEAR_FIRST.fullmatch(text)
        if whole is not None:
            text = f"{whole[1]}-{whole[3]}-{whole[4]}"
        elif _iso(text) is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:  # February 30
            return None
    elif isinstance(cell, datetime):
        moment = cell
    else:
        moment = datetime(cell.year, cell.month, cell.day)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
