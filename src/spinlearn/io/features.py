"""From the cells of a table to points, with what became of every column.

Numbers are features. What names, numbers or dates the rows is left out unless it is named: whole
numbers that are all different, codes, years, dates. So is what tells rows with a label from others.
So are words, which become columns of 0 and 1 if they
are named: a word that has nothing to do with the classes tears them apart. (Penguins, five labels a
species, six draws: 0.97 right by four measures, 0.83 with island, sex and year beside them.) A
column that mixes text and numbers, or has commas, percent signs or units in its numbers, is an
error, because leaving it out or guessing would change the answer in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.errors import InvalidInputError
from spinlearn.io.categories import MOST, are_few, categories, one_hot
from spinlearn.io.cells import Cells, has_comma, marked_numbers, read_cells, shown
from spinlearn.io.column_notes import left_out_notes, quoted, used_note
from spinlearn.io.dates import (
    are_coded_dates,
    are_dates,
    are_numbered_dates,
    are_years,
    days,
    is_in_order,
    unread_date,
)
from spinlearn.io.odd_values import far_value, tells_who_is_labelled
from spinlearn.io.row_numbers import (
    are_codes,
    are_nearly_serial,
    are_serial,
    are_time_stamps,
    counts_rows,
    is_row_number,
)
from spinlearn.io.table import Table

FEWEST_ROWS = 10  # from which whole numbers that never repeat are no accident, nor words that do
MOST_WORDS = 0.5  # of the rows: words that hardly repeat set every row apart from all others
MOST_SERIALS = 3  # columns of such numbers; more, beside other whole numbers, are counts of genes

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


@dataclass(slots=True)
class _Sorted:
    """Columns as they are gone through."""

    labelled: BoolArray
    points: dict[str, FloatArray] = field(default_factory=dict)  # by column, (n, k)
    names: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # reasons
    serials: list[str] = field(default_factory=list)
    nearly_serial: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    gaps: list[tuple[str, int]] = field(default_factory=list)

    def use(self, column: str, points: FloatArray, names: list[str]) -> None:
        self.points[column], self.names[column] = points, names
        rows = np.flatnonzero(np.isnan(points[:, 0])).tolist()
        self.gaps += [(column, row) for row in rows]


def read_features(
    table: Table,
    names: Sequence[str],
    *,
    chosen: bool,
    said: Sequence[str | None],
    labelled: BoolArray,
    gaps_allowed: bool = False,
) -> Features:
    """Columns as points.

    Parameters
    ----------
    table : Table
    names : sequence of str
        Columns that may be features.
    chosen : bool
        Whether the user named these columns: then none may be left out.
    said : sequence of str or None
        Columns that hold labels and ids, of which nothing need be told.
    labelled : bool array (n,)
        Rows with a label.
    gaps_allowed : bool
        Whether values may be missing.
    """
    found = _Sorted(labelled)
    for name in names:
        _sort_column(found, table, name, chosen)
    _leave_out_serials(found, table.columns)
    _remark_far_values(found)
    if found.gaps and not gaps_allowed:
        name, row = found.gaps[0]
        raise InvalidInputError(
            f"{table.path} lacks {len(found.gaps)} feature values, the first in column {name!r}, "
            f"{table.place(row)}, and distances need all of them: fill them in, say --missing "
            "median or --missing drop, or leave those columns out with --features"
        )
    if not found.points:
        raise InvalidInputError(
            f"{table.path} has no feature column, and points need at least one number each: name "
            "some with --features"
            + "".join(f"; {note}" for note in left_out_notes(found.left_out, table.columns))
        )
    if chosen:
        others = [name for name in table.columns if name not in (*names, *said)]
        found.left_out |= dict.fromkeys(others, NOT_NAMED)
    used = [name for column in found.points for name in found.names[column]]
    if len(set(used)) < len(used):
        twice = next(name for k, name in enumerate(used) if name in used[:k])
        raise InvalidInputError(
            f"{table.path} would have two features {twice!r}, one of them a value of a column of "
            "words: rename a column"
        )
    notes = (*left_out_notes(found.left_out, table.columns), *found.remarks)
    notes += (used_note(used, table.columns),)
    groups = found.names.values()
    shared = {name: len(group) for group in groups for name in group if len(group) > 1}
    return Features(np.concatenate(list(found.points.values()), axis=1), used, notes, shared)


def _sort_column(found: _Sorted, table: Table, name: str, chosen: bool) -> None:
    cells = table.cells[name]
    read = read_cells(cells)
    if not chosen:
        reason = _no_feature(table, name, read, found.labelled)
        if reason is not None:
            found.left_out[name] = reason
            return
    if len(read.texts):
        _sort_text(found, table, name, read, chosen)
        return
    if len(read.infinite):
        raise InvalidInputError(
            f"{table.path} has {shown(cells[read.infinite[0]])} in column {name!r}, "
            f"{table.place(int(read.infinite[0]))}, which is not a finite number: correct it, or "
            "leave the column out with --features"
        )
    if are_numbered_dates(read.values):
        _use_dates(found, table, name)
        return
    found.use(name, read.values[:, None], [name])
    if chosen or table.n_rows - len(read.missing) < FEWEST_ROWS:
        return
    if are_serial(cells, read.values):
        found.serials.append(name)
    elif are_nearly_serial(cells, read.values):
        found.nearly_serial.append(name)


def _no_feature(table: Table, name: str, read: Cells, labelled: BoolArray) -> str | None:
    """Why a column that nobody named is none, whatever else it holds; or None."""
    if len(read.missing) == table.n_rows:
        return EMPTY
    if name in table.index:
        names_rows = len(read.texts) or are_serial(table.cells[name], read.values)
        return INDEX if names_rows else NO_NAME
    if len(read.texts):
        return None
    if are_years(name, read.values):
        return YEARS
    if are_numbered_dates(read.values):
        return DATES
    if are_coded_dates(read.values):
        return CODED_DATES
    if are_time_stamps(name, read.values):
        return STAMPS
    if is_row_number(name, read.values):
        return COUNTS
    if are_codes(name, read.values):
        return CODES
    return GIVES_AWAY if tells_who_is_labelled(read.values, labelled) else None


def _sort_text(found: _Sorted, table: Table, name: str, read: Cells, chosen: bool) -> None:
    """A column in which something is no number."""
    cells = table.cells[name]
    if any(has_comma(cells[row]) for row in read.texts):
        raise InvalidInputError(_with_commas(table, name, read.texts))
    if are_dates(cells):
        if chosen:
            _use_dates(found, table, name)
        else:
            found.left_out[name] = DATES if unread_date(cells) is None else UNREAD_DATES
        return
    place = f"({shown(cells[read.texts[0]])} in {table.place(int(read.texts[0]))})"
    if read.n_numbers:
        raise InvalidInputError(
            f"{table.path} mixes numbers and text in column {name!r} {place}: correct it, or name "
            "the columns to use with --features"
        )
    marks = marked_numbers([cells[row] for row in read.texts])
    if marks is not None:
        raise InvalidInputError(
            f"{table.path} has {marks} beside the numbers of column {name!r} {place}: write the "
            "numbers alone, or name the columns to use with --features"
        )
    words = categories(cells)
    if not chosen:
        found.left_out[name] = _about(words, table.n_rows)
        return
    most = min(MOST, MOST_WORDS * max(table.n_rows, FEWEST_ROWS))
    if words is None or not 2 <= len(words) <= most:
        raise InvalidInputError(
            f"{table.path} has no numbers in column {name!r}, which was named as a feature, but "
            f"{_about(words, table.n_rows)}: encode it as numbers, or leave it out"
        )
    found.use(name, *one_hot(name, cells, words))
    found.remarks.append(
        f"{name!r} is used as a column of 0 and 1 for each of its {len(words)} values: "
        + ", ".join(map(repr, words))
    )


def _about(words: list[str] | None, n_rows: int) -> str:
    """What a column of text is that has no numbers in it."""
    if words is None:
        return "neither numbers nor words"
    if len(words) == 1:
        return "the same word in all rows"
    if are_few(words, n_rows):
        return (
            f"words, {len(words)} different ones; to use it one-hot, name it with --features "
            "beside the others"
        )
    return f"text, with {len(words)} different values in {n_rows} rows"


def _with_commas(table: Table, name: str, texts: npt.NDArray[np.intp]) -> str:
    row = next(int(row) for row in texts if has_comma(table.cells[name][row]))
    where = f"column {name!r} ({shown(table.cells[name][row])} in {table.place(row)})"
    return (
        f"{table.path} has commas in the numbers of {where}: say --decimal , if they are decimal "
        "commas; else write decimal points, and no separators of thousands"
    )


def _leave_out_serials(found: _Sorted, columns: Sequence[str]) -> None:
    """Columns that number the rows, unless they are counts, or there is little else."""
    counters = [name for name in found.serials if counts_rows(found.points[name][:, 0])]
    if len(counters) < len(found.points):
        _leave_out(found, counters, COUNTS)
    serials = [name for name in found.serials if name in found.points]
    others = [found.points[name] for name in found.points if name not in serials]
    whole = sum(bool(np.all(np.isnan(values) | (values % 1 == 0))) for values in others)
    if len(serials) > len(others) or (len(serials) > MOST_SERIALS and whole > len(others) / 2):
        found.remarks.append(
            f"used {quoted(serials, columns)}, whole numbers that are all different, "
            + ("as there is little else" if len(serials) > len(others) else "as counts are")
            + "; if one only numbers the rows, name the others with --features"
        )
    else:
        _leave_out(found, serials, SERIAL)
    if found.nearly_serial and len(found.nearly_serial) <= MOST_SERIALS:
        found.remarks.append(
            f"used {quoted(found.nearly_serial, columns)}, whole numbers that hardly repeat; if "
            "they only number or name the rows, name the other columns with --features"
        )


def _leave_out(found: _Sorted, names: Sequence[str], reason: str) -> None:
    for name in names:
        found.left_out[name] = reason
        del found.points[name], found.names[name]
    found.gaps = [(name, row) for name, row in found.gaps if name not in names]


def _remark_far_values(found: _Sorted) -> None:
    """What may stand for a missing value, or be a slip of the pen."""
    for name, points in found.points.items():
        far = far_value(points[:, 0]) if points.shape[1] == 1 else None
        if far is not None:
            value, times = far
            found.remarks.append(
                f"{name!r} is {value:g} in {times} row{'s' if times > 1 else ''}, far from all its "
                "other values: if that stands for a missing value, leave the cells empty"
            )


def _use_dates(found: _Sorted, table: Table, name: str) -> None:
    cells = table.cells[name]
    unread = unread_date(cells)
    if unread is not None:
        why = (
            "which is no day of the calendar"
            if is_in_order(cells[unread])
            else "whose day, month and year may be taken for each other"
        )
        raise InvalidInputError(
            f"{table.path} has the date {shown(cells[unread])} in column {name!r}, "
            f"{table.place(unread)}, {why}: write them as 2024-12-31, or leave the column out"
        )
    found.use(name, days(cells)[:, None], [name])
    found.remarks.append(f"{name!r} is used as the number of days since its first date")
