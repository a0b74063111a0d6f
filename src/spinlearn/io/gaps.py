"""Values that are missing: filled, dropped with their rows, or an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.errors import InvalidInputError
from spinlearn.io.column_notes import named
from spinlearn.io.dataset import Dataset
from spinlearn.io.table import listed

HOW = ("error", "median", "drop")


def check_choice(how: str) -> None:
    """Refuse what nobody knows how to do."""
    if how not in HOW:
        raise InvalidInputError(f"--missing {how!r} is unknown: use {', '.join(HOW)}")


def without_gaps(data: Dataset, how: str) -> Dataset:
    """The dataset with its gaps (NaN) filled by the median of their feature, or without such rows.

    Readers refuse gaps themselves where they are an error: they know the line.
    """
    if data.points is None or not np.any(np.isnan(data.points)):
        return data
    gaps: BoolArray = np.isnan(data.points)
    columns = [data.feature_names[k] for k in np.flatnonzero(gaps.any(axis=0))]
    if how == "median":
        if np.any(gaps.all(axis=0)):
            empty = data.feature_names[int(np.argmax(gaps.all(axis=0)))]
            raise InvalidInputError(
                f"{data.source} has no value at all in {empty!r}, so there is no median: leave it "
                "out with --features"
            )
        note = (
            f"filled {_n_cells(data, gaps)} missing values with the median of their feature"
            + (", or its most frequent word: " if data.shared else ": ")
            + named(columns, data.feature_names)
        )
        return replace(data, points=_filled(data, gaps), notes=(*data.notes, note))
    kept: BoolArray = np.asarray(~gaps.any(axis=1))
    if kept.sum() < 2:
        raise InvalidInputError(
            f"{data.source} lacks a value in all rows but {int(kept.sum())}: say --missing median, "
            "or leave columns out with --features"
        )
    dropped = [data.ids[row] for row in np.flatnonzero(~kept)]
    note = (
        f"dropped {len(dropped)} of {data.n_points} rows, which lack a value in "
        f"{named(columns, data.feature_names)}: {listed(dropped, most=20)}"
    )
    _check_what_is_left(data, kept)
    given = [data.labels[row] for row in np.flatnonzero(~kept) if data.labels[row] is not None]
    if given:
        note += f"; {len(given)} of them labelled"
        lost = sorted({str(c) for c in given} - {str(c) for c in data.labels[kept]})
        if lost:
            note += f", so that no label is left of {listed(lost)}"
    rows = np.flatnonzero(kept).tolist()
    return replace(
        data,
        ids=[data.ids[row] for row in rows],
        labels=data.labels[kept],
        points=data.points[kept],
        layout=None if data.layout is None else data.layout[kept],
        cells={name: [cells[row] for row in rows] for name, cells in data.cells.items()},
        numbers={name: partial(_some, read, kept) for name, read in data.numbers.items()},
        notes=(*data.notes, note),
    )


def _groups(data: Dataset) -> list[slice]:
    """The features that stem from one column each."""
    groups: list[slice] = []
    while (start := groups[-1].stop if groups else 0) < len(data.feature_names):
        groups.append(slice(start, start + data.shared.get(data.feature_names[start], 1)))
    return groups


def _n_cells(data: Dataset, gaps: BoolArray) -> int:
    return sum(int(gaps[:, group].any(axis=1).sum()) for group in _groups(data))


def _filled(data: Dataset, gaps: BoolArray) -> FloatArray:
    """Medians where values are missing; a word that is missing becomes one that is there."""
    assert data.points is not None
    middle = np.nanmedian(data.points, axis=0)
    for group in _groups(data):
        if group.stop - group.start > 1:
            shares = np.nanmean(data.points[:, group], axis=0)
            middle[group] = np.arange(len(shares)) == np.argmax(shares)
    return np.asarray(np.where(gaps, middle, data.points))


def _check_what_is_left(data: Dataset, kept: BoolArray) -> None:
    """Refuse to drop all rows with a label, or all without: the error would seem another one."""
    labelled = np.array([label is not None for label in data.labels], dtype=bool)
    for rows, which in ((labelled, "with"), (~labelled, "without")):
        if np.any(rows) and not np.any(rows & kept):
            raise InvalidInputError(
                f"{data.source} lacks a value in all rows {which} a label, so that --missing drop "
                "leaves nothing to learn from or to classify: say --missing median, or leave "
                "columns out with --features"
            )


def _some(read: Callable[[], FloatArray], kept: BoolArray) -> FloatArray:
    return read()[kept]
