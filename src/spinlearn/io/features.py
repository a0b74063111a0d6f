"""From the cells of a table to points, with what became of every column.

Numbers are features. What names, numbers or dates the rows is left out unless it is named: whole
numbers that are all different, codes, years, dates. So is what tells rows with a label from others.
So are words, which become columns of 0 and 1 if they are named: a word that has nothing to do with
the classes tears them apart. (Penguins, five labels a species, six draws: 0.97 right by four
measures, 0.83 with island, sex and year beside them.) A column that mixes text and numbers, or has
commas, percent signs or units in its numbers, is an error, because leaving it out or guessing would
change the answer in silence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np

from spinlearn.answers.labels import is_missing
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.table import Table, shown
from spinlearn.model.arrays import BoolArray, FloatArray

FEWEST_ROWS = 10  # from which whole numbers that never repeat are no accident, nor words that do
MOST_WORDS = 0.5  # of the rows: words that hardly repeat set every row apart from all others
MOST_SERIALS = 3  # columns of such numbers; more, beside other whole numbers, are counts of genes
NEARLY_ALL = 0.95  # of the rows
MOST = 200  # categories of a column
MOST_LIKELY = 20  # of one that somebody may want to use
ROWS_EACH = 3  # that a category stands for, on average
FAR = 10.0  # ranges of all other values
MOST_NAMES = 40  # that are written out one by one; beyond, those that stand side by side as a range
SHORTEST_RANGE = 3

# Numbers with something beside them.
TRUTHS = {"true": 1.0, "false": 0.0}
WHOLE = re.compile(r"\s*([-+]?[0-9]+)(\.0*)?\s*")
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
WITH_COMMAS = re.compile(
    r"[-+]?(\d*(,\d+)+(\.\d*)?|\d{1,3}(\.\d{3})+,\d*)(e[-+]?\d+)?", re.IGNORECASE
)

# Dates.
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

# Numbers that count, number or name the rows of a table, and say nothing of them.
COUNTERS = ("index", "id", "row")
CODE_WORDS = ("id", "zip", "zipcode", "postcode", "plz", "phone")  # last words of names
BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
STAMP = re.compile(r"time|date|stamp", re.IGNORECASE)
FIRST_SECOND, LAST_SECOND = 1e9, 2.5e9  # since 1970: from 2001 to 2049
EXACT = 2.0**53  # whole numbers up to here are all different as floats too

# Why a column is no feature.
TO_USE = "to use it, name it with --features beside the others"
INDEX = "it names the rows, as pandas writes its index"
NO_NAME = "it has no name in the heading; give it one to use it"
COUNTS = f"it counts the rows; {TO_USE}"
CODES = f"whole numbers that its name calls ids or codes; {TO_USE}"
EMPTY = "it is empty"
DATES = f"dates; {TO_USE}: the days since the first one"
UNREAD_DATES = f"dates; {TO_USE}, written as 2024-12-31"
CODED_DATES = f"numbers that are dates or months; {TO_USE}, dates as 2024-12-31"
STAMPS = f"moments, as seconds since 1970 or parts of them; {TO_USE}"
SERIAL = f"whole numbers that are all different, as serial numbers and years are; {TO_USE}"
YEARS = f"years; {TO_USE}"
GIVES_AWAY = (
    "it has one value, or none, in all rows without a label and others in those with one, so that "
    f"it tells them apart; {TO_USE}"
)
NOT_NAMED = "not named with --features"


@dataclass(frozen=True, slots=True)
class Features:
    """Points (n, d), NaN where a value is missing, their names, and what the user should know.

    `shared` says, by name, how many features stem from the same column, where that is not one.
    """

    points: FloatArray
    names: list[str]
    notes: tuple[str, ...]
    shared: dict[str, int]


class _Column(NamedTuple):
    """A column of a table."""

    name: str
    cells: Sequence[Any]
    values: FloatArray  # NaN where a cell is empty, or no number
    given: FloatArray  # all numbers that are there
    texts: list[int]  # rows whose cells are no numbers


@dataclass(slots=True)
class _Sorted:
    """Columns as they are gone through."""

    table: Table
    labelled: BoolArray
    chosen: bool  # whether the user named the columns: then none may be left out
    points: dict[str, FloatArray] = field(default_factory=dict)  # by column, (n, k)
    names: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # reasons
    serials: list[str] = field(default_factory=list)
    nearly_serial: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def use(self, column: str, points: FloatArray, names: list[str]) -> None:
        self.points[column], self.names[column] = points, names

    def leave_out(self, columns: Sequence[str], reason: str) -> None:
        for name in columns:
            self.left_out[name] = reason
            self.points.pop(name, None)
            self.names.pop(name, None)

    def error(self, said: str, remedy: str) -> InvalidInputError:
        return InvalidInputError(f"{self.table.path} {said}: {remedy}")

    def place(self, column: _Column, row: int) -> str:
        """A cell and where it stands, for messages."""
        return f"({shown(column.cells[row])} in {self.table.place(row)})"


def read_features(
    table: Table, names: Sequence[str], options: ReadOptions, labelled: BoolArray
) -> Features:
    """Columns as points: those of `names`, unless they are none; rows with a label are told."""
    found = _Sorted(table, labelled, chosen=bool(options.features))
    for name in names:
        _sort_column(found, _read_column(name, table.cells[name]))
    _leave_out_serials(found)
    _remark_far_values(found)
    gaps = [(c, r) for c, p in found.points.items() for r in np.flatnonzero(np.isnan(p[:, 0]))]
    if gaps and options.missing == "error":
        name, row = gaps[0]
        raise found.error(
            f"lacks {len(gaps)} feature values, the first in column {name!r}, "
            f"{table.place(int(row))}, and distances need all of them",
            "fill them in, say --missing median or --missing drop, or leave those columns out with "
            "--features",
        )
    if not found.points:
        raise found.error(
            "has no feature column, and points need at least one number each",
            "; ".join(["name some with --features", *_left_out_notes(found)]),
        )
    if found.chosen:
        said = (*names, options.labels, options.id, *options.exclude)
        found.leave_out([name for name in table.columns if name not in said], NOT_NAMED)
    used = [name for column in found.points for name in found.names[column]]
    if len(set(used)) < len(used):
        twice = next(name for k, name in enumerate(used) if name in used[:k])
        raise found.error(
            f"would have two features {twice!r}, one of them a value of a column of words",
            "rename a column",
        )
    notes = (*_left_out_notes(found), *found.remarks)
    notes += (f"{len(used)} features: {named(used, table.columns)}",)
    groups = found.names.values()
    shared = {name: len(group) for group in groups for name in group if len(group) > 1}
    return Features(np.concatenate(list(found.points.values()), axis=1), used, notes, shared)


def _sort_column(found: _Sorted, column: _Column) -> None:
    name, values, table = column.name, column.values, found.table
    if not found.chosen:  # a column that nobody named may be none, whatever else it holds
        reason = None
        if len(column.given) == 0 and not column.texts:
            reason = EMPTY
        elif name in table.index:
            reason = INDEX if column.texts or _are_serial(column) else NO_NAME
        elif not column.texts:
            reason = _no_measurements(name, values)
            if reason is None and _tells_who_is_labelled(values, found.labelled):
                reason = GIVES_AWAY
        if reason is not None:
            found.left_out[name] = reason
            return
    if column.texts:
        _sort_text(found, column)
        return
    infinite = np.flatnonzero(np.isinf(values)).tolist()
    if infinite:
        raise found.error(
            f"has {shown(column.cells[infinite[0]])} in column {name!r}, "
            f"{table.place(infinite[0])}, which is not a finite number",
            "correct it, or leave the column out with --features",
        )
    if _are_numbered_dates(values):
        _use_dates(found, column)
        return
    found.use(name, values[:, None], [name])
    if found.chosen or len(column.given) < FEWEST_ROWS or np.any(column.given % 1 != 0):
        return
    if _are_serial(column):
        found.serials.append(name)
    elif _are_nearly_serial(column):
        found.nearly_serial.append(name)


def _sort_text(found: _Sorted, column: _Column) -> None:
    """A column in which something is no number."""
    name, cells, n_rows = column.name, column.cells, found.table.n_rows
    commas = [row for row in column.texts if WITH_COMMAS.fullmatch(str(cells[row]).strip())]
    if commas:
        raise found.error(
            f"has commas in the numbers of column {name!r} {found.place(column, commas[0])}",
            "say --decimal , if they are decimal commas; else write decimal points, and no "
            "separators of thousands",
        )
    if _are_dates(cells):
        if found.chosen:
            _use_dates(found, column)
        else:
            found.left_out[name] = DATES if _unread_date(cells) is None else UNREAD_DATES
        return
    place = f"column {name!r} {found.place(column, column.texts[0])}"
    if len(column.given):
        raise found.error(
            f"mixes numbers and text in {place}",
            "correct it, or name the columns to use with --features",
        )
    marks = _marks([str(cells[row]).strip() for row in column.texts])
    if marks is not None:
        raise found.error(
            f"has {marks} beside the numbers of {place}",
            "write the numbers alone, or name the columns to use with --features",
        )
    words, about = _words(cells, n_rows)
    if not found.chosen:
        found.left_out[name] = about
        return
    if not 2 <= len(words) <= min(MOST, MOST_WORDS * max(n_rows, FEWEST_ROWS)):
        raise found.error(
            f"has no numbers in column {name!r}, which was named as a feature, but {about}",
            "encode it as numbers, or leave it out",
        )
    # Of two words the second alone has a column: the other would say the same again.
    columns = words[1:] if len(words) == 2 else words
    texts = np.array(["" if _is_empty(cell) else cell.strip() for cell in cells], dtype=object)
    points = (texts[:, None] == np.array(columns, dtype=object)).astype(np.float64)
    points[texts == ""] = np.nan
    found.use(name, points, [f"{name}={word}" for word in columns])
    found.remarks.append(
        f"{name!r} is used as a column of 0 and 1 for each of its {len(words)} values: "
        + ", ".join(map(repr, words))
    )


def _leave_out_serials(found: _Sorted) -> None:
    """Columns that number the rows, unless they are counts, or there is little else."""
    columns = found.table.columns
    counters = [name for name in found.serials if _counts_rows(found.points[name][:, 0])]
    if len(counters) < len(found.points):
        found.leave_out(counters, COUNTS)
    serials = [name for name in found.serials if name in found.points]
    others = [found.points[name] for name in found.points if name not in serials]
    whole = sum(bool(np.all(np.isnan(values) | (values % 1 == 0))) for values in others)
    if len(serials) > len(others) or (len(serials) > MOST_SERIALS and whole > len(others) / 2):
        found.remarks.append(
            f"used {_quoted(serials, columns)}, whole numbers that are all different, "
            + ("as there is little else" if len(serials) > len(others) else "as counts are")
            + "; if one only numbers the rows, name the others with --features"
        )
    else:
        found.leave_out(serials, SERIAL)
    if found.nearly_serial and len(found.nearly_serial) <= MOST_SERIALS:
        found.remarks.append(
            f"used {_quoted(found.nearly_serial, columns)}, whole numbers that hardly repeat; if "
            "they only number or name the rows, name the other columns with --features"
        )


def _remark_far_values(found: _Sorted) -> None:
    """Name the largest or smallest value of a column where it is far from all others.

    -999 for a missing number is such a value, and so is a number with a point too few. Scaled to
    deviation 1, it leaves all other values of its column nearly the same.
    """
    for name, points in found.points.items():
        given = points[~np.isnan(points[:, 0]), 0] if points.shape[1] == 1 else np.empty(0)
        for end in (given.min(), given.max()) if len(given) else ():
            others = given[given != end]
            if len(others) < FEWEST_ROWS:
                continue
            low, high = others.min(), others.max()
            if high > low and max(low - end, end - high) > FAR * (high - low):
                times = len(given) - len(others)
                found.remarks.append(
                    f"{name!r} is {end:g} in {times} row{'s' if times > 1 else ''}, far from all "
                    "its other values: if that stands for a missing value, leave the cells empty"
                )
                break


def _use_dates(found: _Sorted, column: _Column) -> None:
    """Count the days since the first date of a column."""
    name, cells = column.name, column.cells
    unread = _unread_date(cells)
    if unread is not None:
        text = re.sub(r"\.0*$", "", str(cells[unread]).strip())
        in_order = ISO.fullmatch(text) or YEAR_FIRST.fullmatch(text)
        why = "is no day of the calendar"
        if in_order is None:
            why = "may be read with day, month and year in another order"
        raise found.error(
            f"has the date {shown(cells[unread])} in column {name!r}, {found.table.place(unread)}, "
            f"which {why}",
            "write them as 2024-12-31, or leave the column out",
        )
    moments = [None if _is_empty(cell) else _moment(cell) for cell in cells]
    first = min(moment for moment in moments if moment is not None)
    days = [np.nan if m is None else (m - first).total_seconds() / SECONDS for m in moments]
    found.use(name, np.array(days)[:, None], [name])
    found.remarks.append(f"{name!r} is used as the number of days since its first date")


# -- cells -----------------------------------------------------------------------------------------


def _read_column(name: str, cells: Sequence[Any]) -> _Column:
    """Numbers, gaps and text of a column."""
    is_text = np.zeros(len(cells), dtype=bool)
    try:
        if set(map(type, cells)) <= {str}:
            underscore = "_" in "".join(cells)  # ten times as fast
        else:
            underscore = any(map(_has_underscore, cells))
        if underscore:
            raise ValueError("Python would read 1_000 as a number")
        values = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.full(len(cells), np.nan)
        words = {str(cell).strip().lower() for cell in cells if not _is_empty(cell)}
        truths = words <= set(TRUTHS)  # True and False are 1 and 0, if a column says nothing else
        for row, cell in enumerate(cells):
            try:
                if not _is_empty(cell):
                    values[row] = TRUTHS[str(cell).strip().lower()] if truths else _number(cell)
            except (TypeError, ValueError, OverflowError):
                is_text[row] = True
    if values.ndim > 1:  # lists of one length
        values = np.full(len(cells), np.nan)
        is_text[:] = True
    return _Column(name, cells, values, values[~np.isnan(values)], np.flatnonzero(is_text).tolist())


def _has_underscore(cell: Any) -> bool:
    return (isinstance(cell, str) and "_" in cell) or (isinstance(cell, bytes) and b"_" in cell)


def _number(cell: Any) -> float:
    if _has_underscore(cell):
        raise ValueError(cell)
    return float(cell)


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and is_missing(cell))


def _marks(texts: Sequence[str]) -> str | None:
    """What stands beside the numbers that all texts are but for it, such as percent signs.

    So are units, unless the numbers are whole and all different, or of several units: then they are
    names, such as 12A and 13A, or 3a and 3b.
    """
    for what, form in MARKS.items():
        if all(form.fullmatch(text) for text in texts):
            return what
    found = [match for match in map(UNIT.fullmatch, texts) if match is not None]
    if len(found) < len(texts):
        return None
    units = sorted({match[2] for match in found})
    numbers = [match[1] for match in found]
    whole = all(map(WHOLE.fullmatch, numbers))
    if whole and (len(units) > 1 or len(set(numbers)) == len(numbers)):
        return None
    return f"the unit {units[0]!r}" if len(units) == 1 else f"the units {', '.join(units[:5])}"


def _words(cells: Sequence[Any], n_rows: int) -> tuple[list[str], str]:
    """The words of a column, sorted, none if it holds anything else; and what it is, in words."""
    given = [cell for cell in cells if not _is_empty(cell)]
    if not all(isinstance(cell, str) for cell in given):
        return [], "neither numbers nor words"
    words = sorted({cell.strip() for cell in given})
    if len(words) == 1:
        return words, "the same word in all rows"
    if len(words) <= MOST_LIKELY and n_rows >= ROWS_EACH * len(words):
        return words, (
            f"words, {len(words)} different ones; to use it one-hot, name it with --features "
            "beside the others"
        )
    return words, f"text, with {len(words)} different values in {n_rows} rows"


# -- numbers that are no measurements --------------------------------------------------------------


def _all_between(values: FloatArray, low: float, high: float) -> bool:
    return bool(np.all((values >= low) & (values <= high)))


def _are_whole_between(values: FloatArray, low: float, high: float) -> bool:
    """Whether there are numbers, and all of them are whole and in that range."""
    given = values[~np.isnan(values)]
    return len(given) > 0 and _all_between(given, low, high) and bool(np.all(given % 1 == 0))


def _no_measurements(name: str, values: FloatArray) -> str | None:
    """What numbers are that measure nothing, by their values and the name of their column."""
    given = values[~np.isnan(values)]
    called_year = NAME.search(HUMP.sub("_", name).lower())
    if called_year and _are_whole_between(values, FIRST_YEAR, LAST_YEAR):
        return YEARS
    if _are_numbered_dates(values):
        return DATES
    if len(given) >= FEWEST_CODED:
        if _are_whole_between(values, 100 * FIRST_CODED, 100 * LAST_CODED + 12):  # 202412
            if _all_between(given % 100, 1, 12):
                return CODED_DATES
        elif _are_whole_between(values, 10**6, 31129999):  # 31122024 or 12312024
            first, second, year = given // 10**6, given // 10**4 % 100, given % 10**4
            days = _all_between(first, 1, 31) and _all_between(second, 1, 31)
            months = _all_between(first, 1, 12) or _all_between(second, 1, 12)
            if days and months and _all_between(year, FIRST_CODED, LAST_CODED):
                return CODED_DATES
    units = (1, 1e3, 1e6, 1e9)  # seconds since 1970, or parts of them
    if STAMP.search(name) and any(
        _all_between(given, FIRST_SECOND * k, LAST_SECOND * k) for k in units
    ):
        return STAMPS
    # Rows are counted from 0 or 1, be they ever so few.
    if name.strip().lower() in COUNTERS and _counts_rows(values) and values[0] in (0, 1):
        return COUNTS
    called_code = BETWEEN_WORDS.split(name.strip())[-1].lower() in CODE_WORDS
    if called_code and _are_whole_between(values[np.isfinite(values)], -np.inf, np.inf):
        return CODES
    return None


def _are_numbered_dates(values: FloatArray) -> bool:
    """Whether numbers are all dates such as 20241231."""
    if not _are_whole_between(values, FIRST_DAY, LAST_DAY):
        return False
    given = values[~np.isnan(values)]
    return _all_between(given // 100 % 100, 1, 12) and _all_between(given % 100, 1, 31)


def _counts_rows(values: FloatArray) -> bool:
    """Whether a column grows by 1 from row to row."""
    with np.errstate(invalid="ignore"):
        return len(values) > 1 and bool(np.all(np.diff(values) == 1))


def _are_serial(column: _Column) -> bool:
    """Whether all cells that are not empty are whole numbers, and no two the same.

    They must be written as such, 3 and not 3.0, unless cells are empty (pandas writes 3.0 then) or
    no number is left out between the smallest and the largest.
    """
    given = column.given
    exact = _all_between(np.abs(given), 0, EXACT)
    if exact and len(np.unique(given)) < len(given):
        return False
    unbroken = exact and np.ptp(given) == len(given) - 1
    numbers = _whole_numbers(column, written_out=unbroken or len(given) < len(column.values))
    return None not in numbers and len(set(numbers)) == len(numbers)


def _are_nearly_serial(column: _Column) -> bool:
    """Whether a column would be serial but for a few repeated numbers."""
    given = column.given
    if not NEARLY_ALL <= len(np.unique(given)) / len(given) < 1:
        return False
    return None not in _whole_numbers(column, written_out=len(given) < len(column.values))


def _whole_numbers(column: _Column, written_out: bool) -> list[int | None]:
    """Cells as whole numbers, None where they are none; `written_out`: 3.0 is one too."""
    rows = np.flatnonzero(~np.isnan(column.values)).tolist()
    return [_whole(column.cells[row], written_out) for row in rows]


def _whole(cell: Any, written_out: bool) -> int | None:
    if isinstance(cell, str):
        found = WHOLE.fullmatch(cell)
        return int(found[1]) if found is not None and (written_out or not found[2]) else None
    if isinstance(cell, (int, np.integer)) and not isinstance(cell, bool):
        return int(cell)
    is_float = written_out and isinstance(cell, float) and cell.is_integer()
    return int(cell) if is_float else None


def _tells_who_is_labelled(values: FloatArray, labelled: BoolArray) -> bool:
    """Whether all rows without a label have one value, or none, and no row with a label has it.

    So does the class as a number, with 0 where it is unknown: to distances, labelled points would
    be unlike all that should learn from them.
    """
    if labelled.sum() < 2 or (~labelled).sum() < FEWEST_ROWS:
        return False
    inside, outside = values[labelled], values[~labelled]
    if np.any(np.isnan(inside)):
        return False
    same = np.all(outside == outside[0]) and np.all(inside != outside[0])
    return bool(same or np.all(np.isnan(outside)))


# -- dates -----------------------------------------------------------------------------------------


def _are_dates(cells: Sequence[Any]) -> bool:
    """Whether all that a column holds is dates, in one form or another."""
    given = [cell for cell in cells if not _is_empty(cell)]
    return bool(given) and all(
        (ISO.fullmatch(cell.strip()) or OTHER.fullmatch(cell.strip())) is not None
        if isinstance(cell, str)
        else isinstance(cell, date)
        for cell in given
    )


def _unread_date(cells: Sequence[Any]) -> int | None:
    """The first row whose date is in none of the forms that are counted, or in no calendar."""
    unread = (k for k, cell in enumerate(cells) if not _is_empty(cell) and _moment(cell) is None)
    return next(unread, None)


def _moment(cell: Any) -> datetime | None:
    """A cell as a moment without a zone."""
    if isinstance(cell, (int, float, np.integer)):  # 20241231, or 20241231.0 beside a gap
        cell = str(int(cell))
    if isinstance(cell, str):
        text = re.sub(r"\.0*$", "", cell.strip())
        whole = YEAR_FIRST.fullmatch(text)
        if whole is not None:
            text = f"{whole[1]}-{whole[3]}-{whole[4]}"
        elif ISO.fullmatch(text) is None:
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


# -- what became of the columns, in words: none goes unnamed ---------------------------------------


def _left_out_notes(found: _Sorted) -> list[str]:
    """Which columns are no features, one line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.left_out.items():
        by_reason.setdefault(reason, []).append(name)
    return [
        f"left out {_quoted(names, found.table.columns)}: {reason}"
        for reason, names in by_reason.items()
    ]


def _quoted(names: Sequence[str], columns: Sequence[str]) -> str:
    """All names in quotes, so that blanks in them show."""
    return named([repr(name) for name in names], [repr(name) for name in columns])


def named(names: Sequence[str], columns: Sequence[str]) -> str:
    """All names: one by one, or, if they are many, neighbours among `columns` as ranges."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    place = {name: k for k, name in enumerate(columns)}
    runs: list[list[str]] = []
    for name in names:
        if runs and place.get(name, -2) == place.get(runs[-1][-1], -9) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(
        ", ".join(run)
        if len(run) < SHORTEST_RANGE
        else f"{run[0]} to {run[-1]} (the {len(run)} columns from one to the other)"
        for run in runs
    )
