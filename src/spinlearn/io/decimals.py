"""Numbers with decimal commas, as spreadsheets of many countries write them.

They are read where the user says so, and not guessed: 1,234 is a thousand to some and about one to
others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from spinlearn.errors import InvalidInputError
from spinlearn.io.cells import shown
from spinlearn.io.table import Table

MARKS = (".", ",")
POWER = r"(?:[eE][-+]?[0-9]+)?"
WITH_COMMA = re.compile(rf"\s*[-+]?(?:[0-9]+,[0-9]*|,[0-9]+){POWER}\s*")
WITH_POINT = re.compile(
    rf"\s*[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]{{1,3}}(?:\.[0-9]{{3}})+(?:,[0-9]*)?){POWER}\s*"
)


def check_mark(mark: str) -> None:
    """Refuse what no number is written with."""
    if mark not in MARKS:
        raise InvalidInputError(f"--decimal {mark!r} is unknown: use . or ,")


def pointed(text: str) -> str:
    """A number with a decimal comma as one with a point; any other text as it is."""
    return text.replace(",", ".") if WITH_COMMA.fullmatch(text) else text


def has_point(text: str) -> bool:
    """Whether a text is a number with points, be they decimal or between thousands."""
    return WITH_POINT.fullmatch(text) is not None


def table_with_points(table: Table, columns: Sequence[str]) -> Table:
    """The table with decimal points instead of commas in these columns.

    Refused if there are points beside the commas: they would be decimal to some, and separate
    thousands to others.
    """
    cells = dict(table.cells)
    for name in columns:
        texts = [cell if isinstance(cell, str) else "" for cell in cells[name]]
        row = next((k for k, text in enumerate(texts) if has_point(text)), None)
        if row is not None:
            raise InvalidInputError(
                f"{table.path} has points in the numbers of column {name!r} ({shown(texts[row])} "
                f"in {table.place(row)}), but --decimal , says that decimals have commas: write "
                "all numbers alike, without separators of thousands, or leave the column out with "
                "--features"
            )
        cells[name] = [
            pointed(cell) if isinstance(cell, str) else cell for cell in table.cells[name]
        ]
    return replace(table, cells=cells)
