"""What a reader returns, and how features are prepared before a fit.

Dataset: what a file holds, as a user describes it.

And what is done to features before distances are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import means_nothing
from spinlearn.errors import InvalidInputError
from spinlearn.io.table import Table
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import Graph

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What the user says about a file.

    `labels` and `id` are columns (arrays, obs columns), in the data or in `labels_file`; without
    `id`, rows are numbered from 0. `features` are columns, all numeric ones if there are none; what
    is no column's name is a list of names between commas; of .npz and .h5ad it is the one array to
    use. With `for_labelling` someone will look at the points and label them: labels may be missing
    altogether, and what is no feature is kept beside.
    """

    labels: str | None = None
    id: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()  # columns that are no features
    labels_file: Path | None = None
    edges: bool = False  # whether a table is a list of edges
    delimiter: str | None = None  # of the data, if it is text; `labels_file` shows its own
    encoding: str = "utf-8"  # of text files
    decimal: str = "."  # or ",": what stands before the decimals of numbers in text
    unlabelled: tuple[str, ...] = ()  # further label values that mean "no label"
    missing: str = "error"  # or "median", "drop": what is done about features without a value
    neighbors: str | None = None  # of an .h5ad: the neighbour graph, as scanpy's `key_added`
    for_labelling: bool = False


def row_numbers(n_points: int) -> list[str]:
    """Ids where there are none: rows are counted from 0, as in Python."""
    return [str(row) for row in range(n_points)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dataset:
    """What was read: either points or a graph. Axes: n points, d features."""

    source: Path
    ids: list[str]
    labels: npt.NDArray[np.object_]  # (n,), text or whole numbers; None where there is no label
    points: Any = None  # (n, d), an array or, of sparse features, a csr_array
    graph: Graph | None = None
    feature_names: list[str] = field(default_factory=list)
    # By name, how many features stem from one column, where they are several: they count as one.
    shared: dict[str, int] = field(default_factory=dict)
    id_column: str | None = None  # if it was found out and not said
    columns: Table | None = None  # of the file, until labels are joined: others may hold ids
    joined: str = ""  # how labels of a second file were: said, and no part of the answer
    layout: FloatArray | None = None  # (n, 2), where to draw the points, if the file says so
    pixels: IntArray | None = None  # (n, 2), row and column, if they are the pixels of a picture
    colours: npt.NDArray[np.uint8] | None = None  # (n, 3), red, green and blue of such pixels
    table: bool = False  # whether features are columns of a table, whose units may differ
    # For labelling alone: further columns, (n,) each, and what reads further numbers, such as those
    # of a gene.
    cells: dict[str, Sequence[Any]] = field(default_factory=dict)
    numbers: dict[str, Callable[[], FloatArray]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what the user should know about the reading

    def check_labels(self) -> None:
        """Refuse labels from which nothing can be learned."""
        given, n_points = [v for v in self.labels if v is not None], len(self.ids)
        if n_points < 2:
            raise InvalidInputError(f"{self.source} holds {n_points} points: give at least 2")
        if not given:
            raise InvalidInputError(
                f"{self.source}: no point has a label: label a few points of each class"
            )
        if len(given) == n_points:
            raise InvalidInputError(
                f"{self.source}: every point has a label, so there is nothing to classify: leave "
                f"the label empty where it is unknown{_meant(given)}"
            )
        if len(set(given)) == 1:
            said = "the only label is" if len(given) == 1 else f"all {len(given)} labels are"
            raise InvalidInputError(
                f"{self.source}: {said} {given[0]!r}, and one class alone cannot be told from "
                f"anything: label a few points of another class{_meant(given)}"
            )


def _meant(given: Sequence[Any]) -> str:
    """What to say where some labels are words for nothing."""
    words = Counter(label for label in given if means_nothing(label))
    if not words:
        return ""
    word, count = words.most_common(1)[0]
    return f"; if {word!r} ({count} of {len(given)}) means none, say --unlabelled {word!r}"


SCALES = ("none", "standard")


def prepared(
    points: FloatArray,
    names: Sequence[str],
    *,
    clip: tuple[float, float] | None = None,
    log2: bool = False,
    top_variance: int | None = None,
    scale: str = "none",
) -> tuple[FloatArray, list[str]]:
    """Points as distances are taken, and the names of the features that are left.

    In this order: values are clipped, their logarithm is taken (all must be positive by then), the
    `top_variance` features of largest variance are kept, and "standard" gives every feature mean 0
    and deviation 1, so that units do not matter.
    """
    if scale not in SCALES:
        raise InvalidInputError(f"scale {scale!r} is unknown: use none or standard")
    kept = list(names)
    if hasattr(points, "tocoo"):
        if clip is not None or log2 or top_variance is not None or scale != "none":
            raise InvalidInputError(
                "clip, log2, top-variance and scale would fill the zeros of sparse features: leave "
                "them out, or give a dense table"
            )
        return points, kept
    if clip is not None:
        low, high = clip
        if not low < high:
            raise InvalidInputError(f"clip {low:g},{high:g} is not a range: give LOW,HIGH")
        points = np.clip(points, low, high)
    if log2:
        if points.size and points.min() <= 0:
            raise InvalidInputError(
                f"log2 of {points.min():g} does not exist: clip values first, as by --clip 1,1e9"
            )
        points = np.log2(points)
    with np.errstate(over="ignore", invalid="ignore"):
        bad = np.flatnonzero(~np.isfinite(points.std(axis=0)))
    if len(bad):  # distances overflow where variances do
        k = bad[0]
        raise InvalidInputError(
            f"the feature {kept[k]!r} holds values up to {np.abs(points[:, k]).max():.3g}, "
            "whose variance overflows: divide it by a power of ten, or bound it with --clip"
        )
    if top_variance is not None:
        if top_variance < 1:
            raise InvalidInputError("top-variance must be at least 1")
        best = np.sort(np.argsort(-points.var(axis=0), kind="stable")[:top_variance])
        points, kept = points[:, best], [kept[k] for k in best]
    if scale == "standard":
        spread = points.std(axis=0)
        points = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return points, kept
