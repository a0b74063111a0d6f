"""The labelled table: one row of text per point, as it stands in labels.csv.

Columns, for the named classes A, B, ...:

    id, call, status, confidence, p:A, p:B, ..., se:A, se:B, ..., t_low, t_high, reason

*call* is a class, 'new:1', 'confused:A|B' or 'outlier'; *status* how the point came by it;
*confidence* how far it can be relied on; p and se the probability of each class at the temperature
of the table and its standard error (0 where averages are exact, empty where it is unknown), all in
steps of 0.0001; t_low and t_high the ends of the range of temperatures around it over which the
call stays the same; reason why a point is undecided that one opinion alone would have called.
Ids and calls that a spreadsheet would run as formulas are marked as text (`spreadsheet`).
Numbers are rounded to whole steps before they become text, so that the explorer, which holds those
whole numbers, writes the very same characters.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.names import outcome_name
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import STATUS_NAMES
from spinlearn.answers.spreadsheet import safe_name
from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError

STEPS = 10_000  # to a unit of probability


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Column names and rows, all text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def csv(self, heading: bool = True) -> str:
        """The table as comma-separated text, with a heading (RFC 4180 quotes, \\n line ends)."""
        text = io.StringIO()
        csv_writer(text).writerows((self.columns, *self.rows) if heading else self.rows)
        return text.getvalue()


def label_table(
    found: Profile,
    row: int,
    *,
    ids: Sequence[object] | npt.NDArray[Any],
    classes: Sequence[object] | npt.NDArray[Any],
    confidence: FloatArray,
    marginals: FloatArray,
    std_error: FloatArray | None = None,
    reasons: Mapping[int, str] | None = None,
    errors_unknown: bool = False,
    points: slice = slice(None),
) -> LabelTable:
    """The answer at one temperature of a profile.

    Parameters
    ----------
    found : Profile
    row : int
        Which of its temperatures.
    ids : sequence (n,)
    classes : sequence (n_classes,)
        Names of the classes.
    confidence : float array (n,)
    marginals, std_error : float arrays (n, q)
        At that temperature; the first n_classes states are the classes. No std_error: zero, or
        unknown.
    reasons : mapping, optional
        By row number.
    errors_unknown : bool
        Whether there are errors, but no std_error.
    points : slice
        Rows of the table; default all.
    """
    n_points, n_classes = found.outcomes.shape[1], len(classes)
    if len(ids) != n_points:
        raise InvalidInputError(
            f"there are {len(ids)} ids for {n_points} points: give one id per point"
        )
    codes, inverse = np.unique(found.outcomes[row, points], return_inverse=True)
    names = [safe_name(outcome_name(int(c), classes, found.confused_sets)) for c in codes]
    low, high = found.call_ranges(row, points)
    ends = [temperature_text(t) for t in found.boundaries().tolist()]
    probabilities = whole_steps(marginals[points, :n_classes])
    sure = whole_steps(confidence[points])
    text = [step_text(k) for k in range(STEPS + 1)]
    blank = ("" if std_error is None and errors_unknown else text[0],) * n_classes
    errors = None if std_error is None else whole_steps(std_error[points, :n_classes])
    why = {} if reasons is None else reasons
    numbers = range(n_points)[points]
    listed = (inverse, found.status[row, points], sure, probabilities, low, high)
    rows = tuple(
        (safe_name(str(name)), names[call], STATUS_NAMES[status], text[certain])
        + tuple([text[k] for k in laws])
        + (blank if errors is None else tuple(text[k] for k in errors[at]))
        + (ends[first], ends[last], why.get(numbers[at], ""))
        for at, (name, call, status, certain, laws, first, last) in enumerate(
            zip(ids[points], *(values.tolist() for values in listed), strict=True)
        )
    )
    columns: tuple[str, ...] = ("id", "call", "status", "confidence")
    columns += tuple(f"p:{c}" for c in classes) + tuple(f"se:{c}" for c in classes)
    return LabelTable((*columns, "t_low", "t_high", "reason"), rows)


class _UnixLines:
    """Ends lines in \\n that came with \\r\\n, for which `csv` quotes a lone \\r too."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line[:-2] + "\n")


def csv_writer(file: IO[str]) -> Any:
    """Writes rows as all tables have them: \\n ends a line, quotes only where they are needed."""
    return csv.writer(_UnixLines(file), lineterminator="\r\n")


def whole_steps(values: FloatArray) -> npt.NDArray[np.uint16]:
    """Probabilities (or standard errors; NaN becomes 0) in steps of 0.0001.

    Single precision is what model.npz keeps: an answer that was stored rounds the same way.
    """
    single = np.asarray(values, dtype=np.float32).astype(np.float64)
    clipped = np.clip(np.nan_to_num(single, nan=0.0), 0.0, 1.0)
    return np.rint(clipped * STEPS).astype(np.uint16)


def step_text(steps: int) -> str:
    """Whole steps as a decimal number with four places."""
    return f"{steps // STEPS}.{steps % STEPS:04d}"


def temperature_text(value: float) -> str:
    """A temperature as it stands in tables."""
    return f"{value:.6g}"
