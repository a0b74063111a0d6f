"""The labelled table: one row of text per point, as it stands in labels.csv.

Columns, for the named classes A, B, ...:

    id, call, status, confidence, second, p:A, p:B, ..., p:new:1, ..., p:new, se:A, se:B, ...

*call* is a class or 'new:1'; by the paper's rule also 'confused:A|B' or 'outlier'. *confidence* is
the probability of the call, *status* the same in a word, *second* the most probable other class. p
is the probability of each class, p:new that of another class without label; the standard errors se
are there where averages are sampled. Numbers are whole steps of 0.0001 before they become text, so
that the explorer, which holds those whole numbers, writes the very same characters.

A name that a spreadsheet would run as a formula, because it begins with = + - @, be it after
blanks, tabs or line ends, and is no number, gets an apostrophe in front. To undo it, take one
apostrophe away where apostrophes lead to such a beginning: a name that had some there before got
one more, so that no two names become one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.model.arrays import FloatArray

STEPS = 10_000  # to a unit of probability


class Column(NamedTuple):
    """A column: `values` (n,) are places in `words`, or probabilities where there are none."""

    name: str
    values: npt.NDArray[Any]
    words: Sequence[str] | None = None

    def texts(self) -> list[str]:
        """As they stand in labels.csv."""
        if self.words is None:
            places, texts = whole_steps(self.values), step_texts()
        else:
            places, texts = self.values, [safe_name(word) for word in self.words]
        return [texts[k] for k in places.tolist()]


@cache
def step_texts() -> list[str]:
    """All probabilities that a table can hold, by their number of steps."""
    return [f"{k // STEPS}.{k % STEPS:04d}" for k in range(STEPS + 1)]


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Column names and rows, all text; so are the other tables of an answer."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def csv(self, heading: bool = True) -> str:
        """The table as comma-separated text, with a heading (RFC 4180 quotes, \\n line ends)."""
        lines: list[str] = []
        # `csv` quotes a lone \r only where lines end in \r\n: the \r of the ends goes again.
        unix: Any = SimpleNamespace(write=lambda line: lines.append(line[:-2] + "\n"))
        writer = csv.writer(unix, lineterminator="\r\n")
        writer.writerows((self.columns, *self.rows) if heading else self.rows)
        return "".join(lines)


def whole_steps(values: FloatArray) -> npt.NDArray[np.uint16]:
    """Probabilities (or standard errors; NaN becomes 0) in steps of 0.0001.

    Single precision is what model.npz keeps: an answer that was stored rounds the same way.
    """
    single = np.asarray(values, dtype=np.float32).astype(np.float64)
    clipped = np.clip(np.nan_to_num(single, nan=0.0), 0.0, 1.0)
    return np.rint(clipped * STEPS).astype(np.uint16)


# The explorer writes the same characters: viz/page/table.js holds these two expressions again.
FORMULA = re.compile(r"'*[\x00-\x20]*[=+\-@][\s\S]")
NUMBER = re.compile(r"[\x00-\x20]*[+-]([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def safe_name(name: str) -> str:
    """A name as tables have it."""
    return f"'{name}" if FORMULA.match(name) and not NUMBER.fullmatch(name) else name


def plain_name(written: str) -> str:
    """The name that `safe_name` made this of."""
    return written[1:] if written.startswith("'") and FORMULA.match(written) else written
