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
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
COUNTS = f"it counts the rows; {TO_USE}"
DATES = f"dates; {TO_USE}: the days since the first one"
UNREAD_DATES = f"dates; {TO_USE}, written as 2024-12-31"
CODED_DATES = f"numbers that are dates or months; {TO_USE}, dates as 2024-12-31"
SERIAL = f"whole numbers that are all different, as serial numbers and years are; {TO_USE}"


class _Column(NamedTuple):
    """A column of a table."""

    name: str
    cells: Sequence[Any]
    values: FloatArray  # NaN where a cell is empty, or no number
    given: FloatArray  # all numbers that are there
    filled: list[int] | npt.NDArray[np.intp]  # rows whose cells hold something
    texts: list[int]  # those of them whose cells are no numbers
    whole: bool  # whether there are finite numbers, and all of them are whole
    counts_rows: bool  # whether numbers grow by 1 from row to row


def read_features(
    table: Table, names: Sequence[str], options: ReadOptions, labelled: BoolArray
) -> tuple[FloatArray, list[str], tuple[str, ...], dict[str, int]]:
    """Points of the columns `names`, as far as these are features; `labelled` rows have a label.

    Given are points (n, d), NaN where a value is missing, names of features, notes on what became
    of every column, and by name how many features stem from the same column, where that is not one.
    """
    columns = list(table.cells)
    chosen = bool(options.features)  # the user named the columns: then none may be left out
    points: dict[str, FloatArray] = {}  # by column, (n, k)
    groups: dict[str, list[str]] = {}  # names of these k
    left_out: dict[str, str] = {}  # reasons
    remarks: list[str] = []
    whole: dict[str, tuple[float, bool]] = {}  # columns of whole numbers, see `_serials`
    for name in names:
        column = _read_column(name, table.cells[name])
        reason = None if chosen else _why_no_feature(column, table, labelled)
        if reason is not None:
            left_out[name] = reason
        elif column.texts or _number_dates(column) == DATES:
            points[name], groups[name], remark = _text_points(column, table)
            remarks.append(remark)
        else:
            infinite = np.flatnonzero(np.isinf(column.values)).tolist()
            if infinite:
                raise InvalidInputError(
                    f"{table.path} has {shown(column.cells[infinite[0]])} in column {name!r}, "
                    f"{table.place(infinite[0])}, which is not a finite number: correct it, or "
                    "leave the column out with --features"
                )
            points[name], groups[name] = column.values[:, None], [name]
            if column.whole and not chosen:
                many = len(column.given) >= FEWEST_ROWS
                whole[name] = _share_of_different(column) if many else 0.0, column.counts_rows
    reasons, more = _serials(whole, len(points), columns)
    left_out |= reasons
    points = {name: values for name, values in points.items() if name not in reasons}
    remarks += [*more, *_far_values(points)]
    gaps = [(c, r) for c, p in points.items() for r in np.flatnonzero(np.isnan(p[:, 0]))]
    if gaps and options.missing == "error":
        name, row = gaps[0]
        raise InvalidInputError(
            f"{table.path} lacks {len(gaps)} feature values, the first in column {name!r}, "
            f"{table.place(int(row))}, and distances need all of them: fill them in, say --missing "
            "median or --missing drop, or leave those columns out with --features"
        )
    if chosen and points:
        said = (*names, options.labels, options.id, *options.exclude)
        left_out |= dict.fromkeys(
            (c for c in columns if c not in said), "not named with --features"
        )
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    notes = [
        f"left out {named(group, columns, repr)}: {reason}" for reason, group in by_reason.items()
    ]
    if not points:
        raise InvalidInputError(
            f"{table.path} has no feature column, and points need at least one number each: "
            + "; ".join(["name some with --features", *notes])
        )
    used = [name for column in points for name in groups[column]]
    if len(set(used)) < len(used):
        twice = next(name for k, name in enumerate(used) if name in used[:k])
        raise InvalidInputError(
            f"{table.path} would have two features {twice!r}, one of them a word: rename a column"
        )
    notes += [*remarks, f"{len(used)} features: {named(used, columns)}"]
    shared = {n: len(group) for group in groups.values() for n in group if len(group) > 1}
    return np.concatenate(list(points.values()), axis=1), used, tuple(notes), shared


def named(names: Sequence[str], columns: Sequence[str], form: Callable[[str], str] = str) -> str:
    """All names in the `form` given; if many, neighbours among `columns` as ranges."""
    if len(names) <= MOST_NAMES:
        return ", ".join(map(form, names))
    place = {name: k for k, name in enumerate(columns)}
    runs: list[list[str]] = []
    for name in names:
        if runs and place.get(name, -2) == place.get(runs[-1][-1], -9) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(
        ", ".join(map(form, run))
        if len(run) < SHORTEST_RANGE
        else f"{form(run[0])} to {form(run[-1])} (the {len(run)} columns from one to the other)"
        for run in runs
    )


def _far_values(points: dict[str, FloatArray]) -> list[str]:
    """Remarks on ends of columns far from all other values: missing ones, or slips of a point."""
    remarks = []
    for name, values in points.items():
        given = values[~np.isnan(values[:, 0]), 0] if values.shape[1] == 1 else np.empty(0)
        for end in (given.min(), given.max()) if len(given) else ():
            others = given[given != end]
            if len(others) < FEWEST_ROWS:
                continue
            low, high = others.min(), others.max()
            if high > low and max(low - end, end - high) > FAR * (high - low):
                times = len(given) - len(others)
                remarks.append(
                    f"{name!r} is {end:g} in {times} row{'s' if times > 1 else ''}, far from all "
                    "its other values: if that stands for a missing value, leave the cells empty"
                )
                break
    return remarks


# -- columns of numbers ----------------------------------------------------------------------------


def _read_column(name: str, cells: Sequence[Any]) -> _Column:
    """Numbers, gaps and text of a column."""
    texts: list[int] = []
    try:
        plain = set(map(type, cells)) <= {str}
        strings = cells if plain else [str(c) for c in cells if isinstance(c, (str, bytes))]
        if "_" in "".join(strings):
            raise ValueError("Python would read 1_000 as a number")
        values = np.asarray(cells, dtype=np.float64)
        if values.ndim > 1:
            raise TypeError("lists of one length")
        filled: Any = np.flatnonzero(~np.isnan(values))
    except (TypeError, ValueError, OverflowError):
        values = np.full(len(cells), np.nan)
        filled = [
            k
            for k, cell in enumerate(cells)
            if not (cell is None or (isinstance(cell, str) and is_missing(cell)))
        ]
        truths = {str(cells[row]).strip().lower() for row in filled} <= set(TRUTHS)
        for row in filled:  # True and False are 1 and 0, if a column says nothing else
            text = str(cells[row]).strip().lower()
            try:
                if "_" in text:
                    raise ValueError(text) from None
                values[row] = TRUTHS[text] if truths else float(cells[row])
            except (TypeError, ValueError, OverflowError):
                texts.append(row)
    given = values[~np.isnan(values)]
    finite = given[np.isfinite(given)]
    with np.errstate(invalid="ignore"):
        counts_rows = len(values) > 1 and bool(np.all(np.diff(values) == 1))
    whole = len(finite) > 0 and bool(np.all(finite % 1 == 0))
    return _Column(name, cells, values, given, filled, texts, whole, counts_rows)


def _why_no_feature(column: _Column, table: Table, labelled: BoolArray) -> str | None:
    """Why a column that nobody named is no feature, whatever it holds; None if it may be one."""
    if len(column.given) == 0 and not column.texts:
        return "it is empty"
    if column.name in table.index:
        if column.texts or _share_of_different(column) == 1:
            return "it names the rows, as pandas writes its index"
        return "it has no name in the heading; give it one to use it"
    if column.texts:
        return _read_text(column, table)[0]
    name, given = column.name.strip(), column.given
    if (
        column.whole
        and _between(given, FIRST_YEAR, LAST_YEAR)
        and NAME.search(HUMP.sub("_", name).lower())
    ):
        return f"years; {TO_USE}"
    dates = _number_dates(column)
    if dates is not None:
        return dates
    units = (1, 1e3, 1e6, 1e9)
    if STAMP.search(name) and any(
        _between(given, FIRST_SECOND * k, LAST_SECOND * k) for k in units
    ):
        return f"moments, as seconds since 1970 or parts of them; {TO_USE}"
    # Rows are counted from 0 or 1, be they ever so few.
    if name.lower() in COUNTERS and column.counts_rows and column.values[0] in (0, 1):
        return COUNTS
    if column.whole and BETWEEN_WORDS.split(name)[-1].lower() in CODE_WORDS:
        return f"whole numbers that its name calls ids or codes; {TO_USE}"
    # A column may tell who is labelled, such as the class as a number, with 0 where it is unknown:
    # to distances, labelled points would be unlike all that should learn from them.
    inside, outside = column.values[labelled], column.values[~labelled]
    if len(inside) >= 2 and len(outside) >= FEWEST_ROWS and not np.any(np.isnan(inside)):
        same = np.all(outside == outside[0]) and np.all(inside != outside[0])
        if same or np.all(np.isnan(outside)):
            return (
                "it has one value, or none, in all rows without a label and others in those with "
                f"one, so that it tells them apart; {TO_USE}"
            )
    return None


def _between(values: FloatArray, low: float, high: float) -> bool:
    return bool(np.all((values >= low) & (values <= high)))


def _number_dates(column: _Column) -> str | None:
    """Whether whole numbers are dates such as 20241231, or others: 202412, 31122024, 12312024."""
    given = column.given
    if not column.whole:
        return None
    in_order = _between(given, FIRST_CODED * 10**4 + 101, LAST_CODED * 10**4 + 1231)
    if in_order and _between(given // 100 % 100, 1, 12) and _between(given % 100, 1, 31):
        return DATES
    if len(given) < FEWEST_CODED:
        return None
    if _between(given, FIRST_CODED * 100 + 1, LAST_CODED * 100 + 12):
        return CODED_DATES if _between(given % 100, 1, 12) else None
    if not _between(given, 10**6, 31129999):
        return None
    first, second, year = given // 10**6, given // 10**4 % 100, given % 10**4
    days = _between(first, 1, 31) and _between(second, 1, 31)
    months = _between(first, 1, 12) or _between(second, 1, 12)
    coded = days and months and _between(year, FIRST_CODED, LAST_CODED)
    return CODED_DATES if coded else None


def _share_of_different(column: _Column) -> float:
    """Share of different numbers; 0 unless all look like serial ones, 3 and not 3.0.

    Beside gaps, where pandas writes 3.0, or if no number is left out, 3.0 will do.
    """
    given, n_given = column.given, len(column.given)
    n_unique = len(np.unique(given))
    exact = np.abs(given).max() <= EXACT
    if exact and n_unique / n_given < NEARLY_ALL:
        return 0.0
    unbroken = exact and n_unique == n_given and np.ptp(given) == n_given - 1
    points_too = unbroken or n_given < len(column.values)
    numbers = set()
    for row in np.flatnonzero(~np.isnan(column.values)).tolist():
        cell = column.cells[row]
        if isinstance(cell, str):
            match = WHOLE.fullmatch(cell)
            if match is None or (match[2] and not points_too):
                return 0.0
            cell = match[1]
        elif isinstance(cell, float):
            if not (points_too and cell.is_integer()):
                return 0.0
        elif isinstance(cell, bool) or not isinstance(cell, (int, np.integer)):
            return 0.0
        numbers.add(int(cell))
    return len(numbers) / n_given


def _serials(
    whole: dict[str, tuple[float, bool]], n_columns: int, columns: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Why columns that number the rows are left out; remarks on those that stay.

    `whole` has the share of different numbers of a column, and whether they count the rows.
    """
    serials = [name for name, (share, _) in whole.items() if share == 1]
    counters = [name for name in serials if whole[name][1]]
    reasons = dict.fromkeys(counters, COUNTS) if len(counters) < n_columns else {}
    serials = [name for name in serials if name not in reasons]
    n_others = n_columns - len(reasons) - len(serials)
    n_whole = len(whole) - len(reasons) - len(serials)
    remarks = []
    little = len(serials) > n_others
    if little or (len(serials) > MOST_SERIALS and n_whole > n_others / 2):
        remarks.append(
            f"used {named(serials, columns, repr)}, whole numbers that are all different, "
            + ("as there is little else" if little else "as counts are")
            + "; if one only numbers the rows, name the others with --features"
        )
    else:
        reasons |= dict.fromkeys(serials, SERIAL)
    nearly = [name for name, (share, _) in whole.items() if NEARLY_ALL <= share < 1]
    if nearly and len(nearly) <= MOST_SERIALS:
        remarks.append(
            f"used {named(nearly, columns, repr)}, whole numbers that hardly repeat; if they only "
            "number or name the rows, name the other columns with --features"
        )
    return reasons, remarks


# -- columns of text -------------------------------------------------------------------------------


def _read_text(column: _Column, table: Table) -> tuple[str, list[str]]:
    """Why a column of text is no feature unless named, and its words, sorted, if it has them."""
    name, cells, n_rows = column.name, column.cells, len(column.cells)
    given = [cells[row] for row in column.filled]
    texts = [str(cells[row]).strip() for row in column.texts]
    commas = [row for row, t in zip(column.texts, texts, strict=True) if WITH_COMMAS.fullmatch(t)]
    if commas:
        raise InvalidInputError(
            f"{table.path} has commas in the numbers of column {name!r} ({shown(cells[commas[0]])} "
            f"in {table.place(commas[0])}): say --decimal , if they are decimal commas; else write "
            "decimal points, and no separators of thousands"
        )
    if all(
        ISO.fullmatch(cell.strip()) or OTHER.fullmatch(cell.strip())
        if isinstance(cell, str)
        else isinstance(cell, date)
        for cell in given
    ):
        return UNREAD_DATES if None in map(_moment, given) else DATES, []
    first = column.texts[0]
    place = f"column {name!r} ({shown(cells[first])} in {table.place(first)})"
    if len(column.given):
        raise InvalidInputError(
            f"{table.path} mixes numbers and text in {place}: correct it, or name the columns to "
            "use with --features"
        )
    marks = _marks(texts)
    if marks is not None:
        raise InvalidInputError(
            f"{table.path} has {marks} beside the numbers of {place}: write the numbers alone, or "
            "name the columns to use with --features"
        )
    if not all(isinstance(cell, str) for cell in given):
        return "neither numbers nor words", []
    words = sorted({cell.strip() for cell in given})
    if len(words) == 1:
        return "the same word in all rows", words
    if len(words) <= MOST_LIKELY and n_rows >= ROWS_EACH * len(words):
        return (
            f"words, {len(words)} different ones; to use it one-hot, name it with --features "
            "beside the others"
        ), words
    return f"text, with {len(words)} different values in {n_rows} rows", words


def _text_points(column: _Column, table: Table) -> tuple[FloatArray, list[str], str]:
    """Dates or words that were named as features: points, names, and what is said of them."""
    name = column.name
    about, words = _read_text(column, table) if column.texts else (DATES, [])
    if about in (DATES, UNREAD_DATES):
        remark = f"{name!r} is used as the number of days since its first date"
        return _days(column, table), [name], remark
    if not 2 <= len(words) <= min(MOST, MOST_WORDS * max(len(column.cells), FEWEST_ROWS)):
        raise InvalidInputError(
            f"{table.path} has no numbers in column {name!r}, which was named as a feature, but "
            f"{about}: encode it as numbers, or leave it out"
        )
    # Of two words the second alone has a column: the other would say the same again.
    columns = words[1:] if len(words) == 2 else words
    texts = np.full(len(column.cells), "", dtype=object)
    texts[column.filled] = [column.cells[row].strip() for row in column.filled]
    points = (texts[:, None] == np.array(columns, dtype=object)).astype(np.float64)
    points[texts == ""] = np.nan
    remark = (
        f"{name!r} is used as a column of 0 and 1 for each of its {len(words)} values: "
        + ", ".join(map(repr, words))
    )
    return points, [f"{name}={word}" for word in columns], remark


def _marks(texts: Sequence[str]) -> str | None:
    """What stands beside the numbers of all texts; no units of names such as 12A, 13A or 3a, 3b."""
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


def _days(column: _Column, table: Table) -> FloatArray:
    """Days since the first date of a column, (n, 1)."""
    moments = []
    for row in column.filled:
        cell = column.cells[row]
        moment = _moment(cell)
        if moment is None:
            text = re.sub(r"\.0*$", "", str(cell).strip())
            in_order = ISO.fullmatch(text) or YEAR_FIRST.fullmatch(text)
            raise InvalidInputError(
                f"{table.path} has the date {shown(cell)} in column {column.name!r}, "
                f"{table.place(row)}, which "
                + (
                    "is no day of the calendar"
                    if in_order
                    else "may be read with day, month and year in another order"
                )
                + ": write them as 2024-12-31, or leave the column out"
            )
        moments.append(moment)
    first = min(moments)
    days = np.full((len(column.cells), 1), np.nan)
    days[column.filled, 0] = [(m - first).total_seconds() / SECONDS for m in moments]
    return days


def _moment(cell: Any) -> datetime | None:
    """A cell as a moment without a zone; None if it is in no form that is read, or no calendar."""
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
