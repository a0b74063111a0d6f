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
    r"(\d{1,2}([./-])\d{1,2}\2(\d{4}|\d{2})|\d{4}([./-])\d{1,2}\4\d{1,2}"
    rf"|\d{{1,2}}\.?[ -]{MONTH}[ -]\d{{2,4}}|{MONTH} \d{{1,2}},? \d{{4}})"
    r"([T ]+\d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?)?"
)
SECONDS = 86_400.0  # of a day
# Words of a name; rainfall of a year and light-years are none.
NAME = re.compile(r"(year|jahr)$|(?<![a-z])(year|yr|jahr|anno|ann[eé]e|año|season)(?![a-z])")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
FIRST_YEAR, LAST_YEAR = 1000, 2999
FIRST_DAY, LAST_DAY = 19000101, 21001231  # as whole numbers
FIRST_CODED, LAST_CODED = 1900, 2100  # years inside other whole numbers
FEWEST_CODED = 10  # numbers that are dates by accident, each with one chance in ten and less


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
    if NAME.search(HUMP.sub("_", name).lower()) is None:
        return False
    return _are_whole_between(values, FIRST_YEAR, LAST_YEAR)


def are_numbered_dates(values: FloatArray) -> bool:
    """Whether numbers are all dates such as 20241231."""
    if not _are_whole_between(values, FIRST_DAY, LAST_DAY):
        return False
    given = values[~np.isnan(values)]
    return _all_between(given // 100 % 100, 1, 12) and _all_between(given % 100, 1, 31)


def are_coded_dates(values: FloatArray) -> bool:
    """Whether numbers are all months such as 202412, or dates such as 31122024 or 12312024."""
    given = values[~np.isnan(values)]
    if len(given) < FEWEST_CODED:
        return False
    if _are_whole_between(values, 100 * FIRST_CODED, 100 * LAST_CODED + 12):
        return _all_between(given % 100, 1, 12)
    if not _are_whole_between(values, 10**6, 31129999):
        return False
    first, second, year = given // 10**6, given // 10**4 % 100, given % 10**4
    days = _all_between(first, 1, 31) and _all_between(second, 1, 31)
    months = _all_between(first, 1, 12) or _all_between(second, 1, 12)
    return days and months and _all_between(year, FIRST_CODED, LAST_CODED)


def _all_between(values: FloatArray, low: float, high: float) -> bool:
    return bool(np.all((values >= low) & (values <= high)))


def _are_whole_between(values: FloatArray, low: int, high: int) -> bool:
    """Whether there are numbers, and all of them are whole and in that range."""
    given = values[~np.isnan(values)]
    return len(given) > 0 and _all_between(given, low, high) and bool(np.all(given % 1 == 0))


def unread_date(cells: Sequence[Any]) -> int | None:
    """The first row whose date is in none of the forms that are counted, or in no calendar."""
    unread = (k for k, cell in enumerate(cells) if not is_empty(cell) and _moment(cell) is None)
    return next(unread, None)


def days(cells: Sequence[Any]) -> FloatArray:
    """Days since the first date of a column, all of whose dates can be read."""
    found = [None if is_empty(cell) else _moment(cell) for cell in cells]
    first = min(moment for moment in found if moment is not None)
    return np.array([np.nan if m is None else (m - first).total_seconds() / SECONDS for m in found])


def is_in_order(cell: object) -> bool:
    """Whether a date has year, month and day in this order, two digits each but for the year."""
    text = re.sub(r"\.0*$", "", str(cell).strip())
    return _iso(text) is not None or YEAR_FIRST.fullmatch(text) is not None


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
