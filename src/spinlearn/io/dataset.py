"""Dataset: what a file holds, as a user describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.odd_names import means_nothing
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What the user says about a file.

    Attributes
    ----------
    labels : str or None
        Column (array, obs column) of labels, in `labels_file` if there is one.
    id : str or None
        Column of ids, in the data or in `labels_file`; default: row numbers from 1.
    features : tuple of str
        Feature columns; none means all numeric ones. What is no column's name is a list of names
        between commas. For .npz and .h5ad: the one array to use.
    exclude : tuple of str
        Columns that are no features.
    labels_file : Path or None
    edges : bool
        Read a .csv, .tsv or .txt as a list of edges.
    delimiter : str or None
        Of the data, if it is text; `labels_file` shows its own.
    encoding : str
        Of text files.
    decimal : {".", ","}
        What stands before the decimals of numbers in text.
    unlabelled : tuple of str
        Further label values that mean "no label".
    missing : {"error", "median", "drop"}
        What is done about features without a value.
    neighbors : str or None
        Of an .h5ad: which of its neighbour graphs to use, as scanpy's `key_added` named it.
    for_labelling : bool
        Someone will look at the points and label them: labels may be missing altogether, and what
        is no feature is kept beside.
    """

    labels: str | None = None
    id: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels_file: Path | None = None
    edges: bool = False
    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    unlabelled: tuple[str, ...] = ()
    missing: str = "error"
    neighbors: str | None = None
    for_labelling: bool = False

    @property
    def gaps_allowed(self) -> bool:
        """Whether features may lack values."""
        return self.missing != "error"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dataset:
    """What was read: either points or a graph.

    Attributes
    ----------
    source : Path
    ids : list of str
    id_column : str or None
        Where the file has them, if that was found out and not said.
    labels : object array (n,)
        Text or whole numbers; None where there is no label.
    points : float array (n, d) or None
    graph : Graph or None
    feature_names : list of str
    shared : dict
        By name, how many features stem from one column of the file, where these are several: in
        distances they count as one.
    layout : float array (n, 2) or None
        Where to draw the points, if the file says so.
    pixels : int array (n, 2) or None
        Row and column of every point, if they are the pixels of a picture.
    colours : uint8 array (n, 3) or None
        Red, green and blue of such pixels.
    table : bool
        Whether the points are columns of a table, whose units may differ.
    cells : dict
        By name, further columns to look at, (n,) each; kept for labelling alone.
    numbers : dict
        By name, what reads further numbers of all points, (n,), such as those of a gene; kept for
        labelling alone.
    notes : tuple of str
        What the user should know about the reading.
    """

    source: Path
    ids: list[str]
    labels: npt.NDArray[np.object_]
    points: FloatArray | None = None
    graph: Graph | None = None
    feature_names: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    id_column: str | None = None
    layout: FloatArray | None = None
    pixels: IntArray | None = None
    colours: npt.NDArray[np.uint8] | None = None
    table: bool = False
    cells: dict[str, Sequence[Any]] = field(default_factory=dict)
    numbers: dict[str, Callable[[], FloatArray]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.ids)

    def check_labels(self) -> None:
        """Refuse labels from which nothing can be learned."""
        given = [v for v in self.labels if v is not None]
        if self.n_points < 2:
            raise InvalidInputError(
                f"{self.source} holds {self.n_points} points: at least 2 are needed"
            )
        if not given:
            raise InvalidInputError(
                f"{self.source}: no point has a label, and classes are named by labels: label a "
                "few points of each class"
            )
        if len(given) == self.n_points:
            raise InvalidInputError(
                f"{self.source}: every point has a label, so there is nothing to classify: leave "
                f"the label empty where it is unknown{_meant(given)}"
            )
        if len(set(given)) == 1:
            raise InvalidInputError(
                f"{self.source}: {_all_labels(len(given))} {given[0]!r}, and one class alone "
                f"cannot be told from anything: label a few points of another class{_meant(given)}"
            )


def _all_labels(count: int) -> str:
    return "the only label is" if count == 1 else f"all {count} labels are"


def _meant(given: Sequence[Any]) -> str:
    """What to say where some labels are words for nothing."""
    words = Counter(label for label in given if means_nothing(label))
    if not words:
        return ""
    word, count = words.most_common(1)[0]
    return f"; if {word!r} ({count} of {len(given)}) means none, say --unlabelled {word!r}"
