"""From the cells of a table to points, with what became of every column.

Numbers are features. What names, numbers or dates the rows is left out unless it is named: whole
numbers that are all different, years, dates. So are words, which become columns of 0 and 1 if they
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

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError
from spinlearn.io.categories import MOST, are_few, categories, one_hot
from spinlearn.io.cells import (
    Cells,
    are_serial,
    has_comma,
    is_empty,
    marked_numbers,
    read_cells,
    shown,
)
from spinlearn.io.column_notes import left_out_notes, named, used_note
from spinlearn.io.dates import are_dates, are_numbered_dates, are_years, days
from spinlearn.io.table import Table, listed

ROW_NUMBERS = ("index", "id", "row")  # names of columns that may count rows
FEWEST_ROWS = 10  # from which whole numbers that never repeat are no accident, nor words that do
MOST_WORDS = 0.5  # of the rows: words that hardly repeat set every row apart from all others
MOST_SERIALS = 3  # columns of such numbers; more are measurements, as counts of genes are

INDEX = "it names the rows, as pandas writes its index"
COUNTS = "it counts the rows"
EMPTY = "it is empty"
DATES = "dates; name it with --features to use the days since the first one"
SERIAL = (
    "whole numbers that are all different, as serial numbers and years are; name it with "
    "--features to use it"
)
YEARS = "years; name it with --features to use it"


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

    points: dict[str, FloatArray] = field(default_factory=dict)  # by column, (n, k)
    names: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # reasons
    serials: list[str] = field(default_factory=list)
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
    gaps_allowed : bool
        Whether values may be missing.
    """
    found = _Sorted()
    for name in names:
        _sort_column(found, table, name, chosen)
    _leave_out_serials(found, table.columns)
    if found.gaps and not gaps_allowed:
        name, row = found.gaps[0]
        raise InvalidInputError(
            f"{table.path} lacks {len(found.gaps)} feature values, the first in column {name!r}, "
            f"{table.place(row)}, and distances need all of them: fill them in, say --missing "
            "median or --missing drop, or leave those columns out with --features"
        )
    if not found.points:
        raise InvalidInputError(
            f"{table.path} has no numeric feature column"
            + (f" (left out: {listed(list(found.left_out))})" if found.left_out else "")
            + ": points need at least one number each"
        )
    used = [name for column in found.points for name in found.names[column]]
    notes = (*left_out_notes(found.left_out, table.columns), *found.remarks)
    notes += (used_note(used, table.columns),)
    groups = found.names.values()
    shared = {name: len(group) for group in groups for name in group if len(group) > 1}
    return Features(np.concatenate(list(found.points.values()), axis=1), used, notes, shared)


def _sort_column(found: _Sorted, table: Table, name: str, chosen: bool) -> None:
    cells = table.cells[name]
    read = read_cells(cells)
    if not chosen:
        reason = _no_feature(table, name, read)
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
    many = table.n_rows - len(read.missing) >= FEWEST_ROWS
    if not chosen and many and are_serial(cells, read.values):
        found.serials.append(name)


def _no_feature(table: Table, name: str, read: Cells) -> str | None:
    """Why a column that nobody named is none, whatever else it holds; or None."""
    if len(read.missing) == table.n_rows:
        return EMPTY
    if name in table.index:
        return INDEX
    if _counts_rows(name, read.values):
        return COUNTS
    if are_years(name, read.values):
        return YEARS
    return DATES if not len(read.texts) and are_numbered_dates(read.values) else None


def _sort_text(found: _Sorted, table: Table, name: str, read: Cells, chosen: bool) -> None:
    """A column in which something is no number."""
    cells = table.cells[name]
    if any(has_comma(cells[row]) for row in read.texts):
        raise InvalidInputError(_with_commas(table, name, read.texts))
    if are_dates(cells):
        if chosen:
            _use_dates(found, table, name)
        else:
            found.left_out[name] = DATES
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
    """Columns that number the rows; many of that kind are measurements."""
    serials = found.serials
    if len(serials) > MOST_SERIALS:
        return
    if len(serials) > len(found.points) / 2:
        found.remarks.append(
            f"used {named([repr(name) for name in serials], columns)}, whole numbers that are all "
            "different, as there is little else; if one only numbers the rows, name the others "
            "with --features"
        )
        return
    for name in serials:
        found.left_out[name] = SERIAL
        del found.points[name], found.names[name]
    found.gaps = [(name, row) for name, row in found.gaps if name not in serials]


def _use_dates(found: _Sorted, table: Table, name: str) -> None:
    cells = table.cells[name]
    counted = days(cells)
    if counted is None:
        first = next(cell for cell in cells if not is_empty(cell))
        raise InvalidInputError(
            f"{table.path} has dates in column {name!r} ({shown(first)}) whose day, month and year "
            "may be taken for each other: write them as 2024-12-31, or leave the column out"
        )
    found.use(name, counted[:, None], [name])
    found.remarks.append(f"{name!r} is used as the number of days since its first date")


def _counts_rows(name: str, values: FloatArray) -> bool:
    """Whether a column is the row number, as pandas writes it beside the data."""
    if name.strip().lower() not in ROW_NUMBERS or len(values) < 2:
        return False
    steps = np.arange(len(values))
    return bool(np.array_equal(values, steps) or np.array_equal(values, steps + 1))
