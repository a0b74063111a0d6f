"""Which columns of a file the user means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError
from spinlearn.graphs.points import checked_points
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.table import listed

GRAPH_ALONE = "{} is a graph, which holds no labels: give them in a second file with --labels-file"


def feature_columns(columns: Sequence[str], options: ReadOptions) -> list[str]:
    """The columns that may be features."""
    if options.features:
        return chosen_columns(columns, options)
    others = {options.labels, options.id, *options.exclude}
    return [name for name in columns if name not in others]


def chosen_columns(names: Sequence[str], options: ReadOptions) -> list[str]:
    """The features that were named; a text is split at commas unless it is a name itself."""
    chosen: list[str] = []
    for text in options.features:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        chosen += [part for part in parts if part and part not in chosen]
    return chosen


def one_array(path: Path, names: Sequence[str], options: ReadOptions) -> str | None:
    """The array that was named as features, or None."""
    chosen = chosen_columns(names, options)
    for name in chosen:
        if name not in names:
            raise InvalidInputError(
                f"{path} has no array {name!r}: it has {listed(names)}; name one with --features"
            )
    if len(chosen) > 1:
        raise InvalidInputError(
            f"{path}: {listed(chosen)} cannot be used together as features: name one array"
        )
    return chosen[0] if chosen else None


def refuse_features(path: Path, options: ReadOptions) -> None:
    """A graph has none."""
    if options.features:
        raise InvalidInputError(f"{path} is a graph, which has no features: leave --features out")


def array_of_points(
    path: Path, name: str, values: npt.NDArray[Any], options: ReadOptions
) -> FloatArray:
    """An array of a file as points, checked as those that `fit` is given; gaps if allowed."""
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{path}: the array {name!r} has shape {values.shape} and dtype {values.dtype}, but "
            "features are a 2-D array of numbers, one row per point"
        )
    said = f"{path}: the array {name!r}"
    gaps = np.isnan(values)
    if options.gaps_allowed and np.any(gaps):
        checked_points(np.where(gaps, 0, values), said)
        return np.array(values, dtype=np.float64)
    points = checked_points(values, said)
    points.flags.writeable = False  # shared by all that need it, not copied
    return points
