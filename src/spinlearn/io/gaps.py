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
    gaps = np.isnan(data.points)
    columns = [data.feature_names[k] for k in np.flatnonzero(gaps.any(axis=0))]
    if how == "median":
        if np.any(gaps.all(axis=0)):
            empty = data.feature_names[int(np.argmax(gaps.all(axis=0)))]
            raise InvalidInputError(
                f"{data.source} has no value at all in {empty!r}, so there is no median: leave it "
                "out with --features"
            )
        points = np.where(gaps, np.nanmedian(data.points, axis=0), data.points)
        note = (
            f"filled {int(gaps.sum())} missing values with the median of their feature: "
            f"{named(columns, data.feature_names)}"
        )
        return replace(data, points=points, notes=(*data.notes, note))
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


def _some(read: Callable[[], FloatArray], kept: BoolArray) -> FloatArray:
    return read()[kept]
