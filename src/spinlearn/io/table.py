"""Table: named columns of cells, whatever kind of file they come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from spinlearn.errors import InvalidInputError
from spinlearn.io.name_checks import check_names

# How pandas calls its index: written to CSV, read again, written to Parquet.
NAMELESS = re.compile(r"|unnamed: \d+|__index_level_\d+__", re.IGNORECASE)
Needed = Callable[[Sequence[str]], Sequence[str]]  # the columns there are -> those that must be


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of equal length.

    Attributes
    ----------
    path : Path
    cells : mapping
        By column, a sequence of text or values.
    index : set of str
        Columns that name the rows, as pandas writes them beside the data.
    lines : list of int or None
        Line of every row in a text file.
    notes : tuple of str
        What the user should know about the reading.
    """

    path: Path
    cells: Mapping[str, Any]
    index: frozenset[str] = frozenset()
    lines: list[int] | None = None
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.cells)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.cells.values()), ()))

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


class MissingColumnError(InvalidInputError):
    """A column that was named is not there."""

    def __init__(self, path: Path, column: str, columns: Sequence[str]) -> None:
        self.column = column
        alike = get_close_matches(_folded(column), map(_folded, columns), n=1)
        meant = next((name for name in columns if [_folded(name)] == alike), None)
        super().__init__(
            f"{path} has no column {column!r}: it has {listed(columns) or 'none'}; "
            + (f"did you mean {meant!r}?" if meant is not None else "name one of them")
        )


def _folded(name: str) -> str:
    return name.strip().casefold()


def require(path: Path, columns: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a file that lacks a column."""
    for name in needed:
        if name not in columns:
            raise MissingColumnError(path, name, columns)


def check_columns(path: Path, columns: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column, or has two of one name."""
    check_names(path, "the column", columns)
    require(path, columns, needed)
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise InvalidInputError(
            f"{path} has {len(twice)} column names twice, for example {min(twice)!r}: rename them"
        )


def nameless(columns: Sequence[str]) -> frozenset[str]:
    """Columns without a name, as pandas writes its index."""
    return frozenset(name for name in columns if NAMELESS.fullmatch(name))


def listed(names: Sequence[object], most: int = 8) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
