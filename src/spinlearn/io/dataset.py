"""Dataset: points or a graph, with ids and labels, from any kind of file that is understood.

    .csv .tsv (.gz)    a table: one column of labels, optionally one of ids, numeric features
    .parquet           the same
    .npz               arrays: features X, labels by name; or a sparse matrix: a graph
    .npy               features alone; labels come from a second file
    .h5ad              an AnnData object: labels in obs, scanpy's neighbour graph or X_pca or X
    .mtx               a graph (Matrix Market); labels come from a second file
    .edges             a graph, as a list of edges with ids; labels come from a second file

A second file with labels is a table, or a .npy array with one label per point.

An empty cell, NA, NaN or -1 marks an unlabelled point.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.anndata_parts import (
    map_of,
    named_representations,
    neighbour_graph,
    representation,
)
from spinlearn.io.array_file import Arrays, read_npy, read_npz
from spinlearn.io.features import is_missing, numeric_columns
from spinlearn.io.graph_file import (
    errors_about,
    is_sparse,
    read_edge_list,
    read_matrix_market,
    sparse_graph,
)
from spinlearn.io.parquet_table import check_magic, read_parquet_table
from spinlearn.io.table import Table, listed, nameless, require
from spinlearn.io.text_table import read_text_table

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")
GRAPH_KINDS = (".mtx", ".edges")
KINDS = (*TEXT_KINDS, ".parquet", ".npz", ".npy", ".h5ad", *GRAPH_KINDS)
LABEL_DELIMITERS = (",", ";", "\t")
# 007 and 1e3 are names; pandas writes whole numbers with a gap among them as 1.0.
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,14})(\.0+)?")


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
    unlabelled : tuple of str
        Further label values that mean "no label".
    """

    labels: str | None = None
    id: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels_file: Path | None = None
    edges: bool = False
    delimiter: str | None = None
    encoding: str = "utf-8"
    unlabelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dataset:
    """What was read: either points or a graph.

    Attributes
    ----------
    source : Path
    ids : list of str
    labels : object array (n,)
        Text or whole numbers; None where there is no label.
    points : float array (n, d) or None
    graph : Graph or None
    feature_names : list of str
    layout : float array (n, 2) or None
        Where to draw the points, if the file says so.
    table : bool
        Whether the points are columns of a table, whose units may differ.
    notes : tuple of str
        What the user should know about the reading.
    """

    source: Path
    ids: list[str]
    labels: npt.NDArray[np.object_]
    points: FloatArray | None = None
    graph: Graph | None = None
    feature_names: list[str] = field(default_factory=list)
    layout: FloatArray | None = None
    table: bool = False
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
                "the label empty where it is unknown"
            )
        if len(set(given)) == 1:
            raise InvalidInputError(
                f"{self.source}: {_all_labels(len(given))} {given[0]!r}, and one class alone "
                "cannot be told from anything: label a few points of another class"
            )


def read_dataset(path: Path, options: ReadOptions) -> Dataset:
    """Read a file of any kind that is understood, by its ending."""
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist: check the path")
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder: give a data file")
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    kind = plain.suffix.lower()
    if kind not in KINDS:
        raise InvalidInputError(
            f"{path} ends in {kind or 'nothing'}, which is not a kind that is read here: give one "
            f"of {', '.join(KINDS)}"
        )
    if plain is not path and kind not in (*TEXT_KINDS, ".edges"):
        raise InvalidInputError(f"{path} is gzipped, which is read for text tables only: unpack it")
    label_table = _label_table(options)
    if kind in GRAPH_KINDS or (options.edges and kind in TEXT_KINDS):
        data = _read_graph(path, kind, options, label_table)
    elif kind in (*TEXT_KINDS, ".parquet"):
        data = _read_table(path, kind, options, label_table)
    elif kind == ".h5ad":
        data = _read_h5ad(path, options, label_table)
    else:
        data = _read_arrays(path, kind, options, label_table)
    _check_ids(path, data.ids)
    if label_table is not None:
        return replace(data, labels=_looked_up(label_table, data.ids, options))
    if options.labels_file is not None:
        return replace(data, labels=_one_per_point(options.labels_file, data.n_points, options))
    return data


# -- kinds of files ----------------------------------------------------------------------------


def _read_table(path: Path, kind: str, options: ReadOptions, label_table: Table | None) -> Dataset:
    needed = partial(_needed_columns, path, options, label_table)
    if kind == ".parquet":
        table = read_parquet_table(path, needed)
    else:
        table = read_text_table(
            path, needed, delimiter=options.delimiter, encoding=options.encoding
        )
    if table.n_rows == 0:
        raise InvalidInputError(f"{path} has a heading but no rows: give at least 2 points")
    points, names, left_out = numeric_columns(
        table, _feature_columns(table.columns, options), chosen=bool(options.features)
    )
    ids = _row_numbers(table.n_rows)
    if options.id in table.columns:
        ids = _ids(table, options.id)
    return Dataset(
        source=path,
        ids=ids,
        labels=_own_labels(table, options, table.n_rows),
        points=points,
        feature_names=names,
        table=True,
        notes=(*table.notes, *_left_out(left_out), _used(names)),
    )


def _read_arrays(path: Path, kind: str, options: ReadOptions, label_table: Table | None) -> Dataset:
    arrays: Arrays = {"X": read_npy(path)} if kind == ".npy" else read_npz(path)
    if kind == ".npy" and options.labels_file is None:
        raise InvalidInputError(
            f"{path} holds features alone: give the labels in a second file with --labels-file"
        )
    if is_sparse(arrays):
        _refuse_features(path, options)
        graph = sparse_graph(path, arrays)
        ids, labels = _array_rows(path, arrays, options, label_table, graph.n_nodes)
        return Dataset(source=path, ids=ids, labels=labels, graph=graph)
    name = _one_array(path, tuple(arrays), options) or "X"
    if name not in arrays:
        raise InvalidInputError(
            f"{path} has no array {name!r}: it has {listed(sorted(arrays))}; name the features "
            "with --features"
            if arrays
            else f"{path} holds no array: give features as X and labels as y"
        )
    points = _checked_points(path, name, arrays[name])
    ids, labels = _array_rows(path, arrays, options, label_table, len(points))
    return Dataset(
        source=path,
        ids=ids,
        labels=labels,
        points=points,
        feature_names=[f"{name}[{k}]" for k in range(points.shape[1])],
    )


def _read_h5ad(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    check_magic(path, b"\x89HDF\r\n\x1a\n", "HDF5")
    try:
        import anndata
    except ImportError as error:
        raise MissingDependencyError(
            "h5ad files need anndata, which is not installed: pip install 'spinlearn[anndata]'"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names that repeat are told in a note
            adata = anndata.read_h5ad(path)
    except Exception as error:  # anndata and h5py raise all kinds
        raise InvalidInputError(f"{path} cannot be read as an AnnData file: {error}") from error
    obs = Table(path=path, cells=adata.obs)
    labels = _own_labels(obs, options, adata.n_obs)
    id_column = _id_column(path, obs.columns, options, label_table)
    ids = [str(name) for name in adata.obs_names] if id_column is None else _ids(obs, id_column)
    notes: tuple[str, ...] = ()
    if id_column is None and len(set(ids)) < len(ids):
        ids, notes = _row_numbers(len(ids)), ("obs_names repeat: ids are row numbers",)
    name = _one_array(path, named_representations(adata), options)
    with errors_about(path):
        graph = neighbour_graph(adata, None) if name is None else None
        if graph is None:
            values, used = representation(adata, name)
    if graph is None:
        points, used = _checked_points(path, used, values), f"features: {used}"
    else:
        points, used = None, "graph: scanpy's neighbours (obsp connectivities)"
    return Dataset(
        source=path,
        ids=ids,
        labels=labels,
        points=points,
        graph=graph,
        layout=map_of(adata),
        notes=(*notes, used),
    )


def _read_graph(path: Path, kind: str, options: ReadOptions, label_table: Table | None) -> Dataset:
    if options.labels_file is None:
        raise InvalidInputError(
            f"{path} is a graph, which holds no labels: give them in a second file with "
            "--labels-file"
        )
    _refuse_features(path, options)
    _id_column(options.labels_file, (), options, label_table)
    if kind == ".mtx":
        graph, ids = read_matrix_market(path)
    else:
        graph, ids = read_edge_list(path, delimiter=options.delimiter, encoding=options.encoding)
    none = np.full(len(ids), None, dtype=object)
    return Dataset(source=path, ids=ids, labels=none, graph=graph)


# -- labels and ids ----------------------------------------------------------------------------


def clean_labels(
    cells: Sequence[Any], unlabelled: Sequence[str] = (), source: str = "the labels"
) -> npt.NDArray[np.object_]:
    """Labels as text, or as whole numbers if all are; None where there is none.

    Parameters
    ----------
    cells : sequence
    unlabelled : sequence of str
        Further values that mean "no label".
    source : str
        Where the labels are, for messages.
    """
    labels = np.full(len(cells), None, dtype=object)
    for k, cell in enumerate(cells):
        if isinstance(cell, (float, np.floating)) and np.isinf(cell):
            raise InvalidInputError(
                f"{source}: the label in row {k + 1} is infinite, which names no class: leave it "
                "empty if there is none"
            )
        labels[k] = _label(cell, unlabelled)
    given = [v for v in labels if v is not None]
    if all(WHOLE.fullmatch(v) for v in given):
        for k, value in enumerate(labels):
            whole = None if value is None else int(value.partition(".")[0])
            labels[k] = None if whole == -1 or str(whole) in unlabelled else whole
    return labels


def _label(cell: Any, unlabelled: Sequence[str]) -> str | None:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    text = str(cell).strip()
    return None if is_missing(text) or text == "-1" or text in unlabelled else text


def _all_labels(count: int) -> str:
    return "the only label is" if count == 1 else f"all {count} labels are"


def _own_labels(table: Table, options: ReadOptions, n_points: int) -> npt.NDArray[np.object_]:
    """The labels beside the points, unless they are in a second file."""
    if options.labels_file is not None or options.labels is None:
        return np.full(n_points, None, dtype=object)
    require(table.path, table.columns, [options.labels])
    return clean_labels(table.cells[options.labels], options.unlabelled, str(table.path))


def _label_table(options: ReadOptions) -> Table | None:
    """The second file, if there is one and it is a table."""
    path = options.labels_file
    if path is None:
        return None
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder: give a file with --labels-file")
    if not path.is_file():
        raise InvalidInputError(f"{path} does not exist: check --labels-file")
    kind = path.suffix.lower()
    if kind == ".npy":
        return None
    if kind in KINDS and kind not in (*TEXT_KINDS, ".parquet"):
        raise InvalidInputError(
            f"{path} ends in {kind}, but labels are read from a table (.csv, .tsv, .parquet) or "
            "an array (.npy): convert it"
        )
    needed = [options.labels] if options.labels is not None else []
    if kind == ".parquet":
        return read_parquet_table(path, lambda columns: needed)
    return read_text_table(
        path,
        lambda columns: needed,
        others=(*LABEL_DELIMITERS, options.delimiter or ""),
        encoding=options.encoding,
    )


def _one_per_point(path: Path, n_points: int, options: ReadOptions) -> npt.NDArray[np.object_]:
    """Labels of an array, in the order of the points."""
    values = read_npy(path)
    if values.shape != (n_points,):
        raise InvalidInputError(
            f"{path} has shape {values.shape}, but there are {n_points} points: give one label per "
            "point"
        )
    return clean_labels(values.tolist(), options.unlabelled, str(path))


def _looked_up(table: Table, ids: list[str], options: ReadOptions) -> npt.NDArray[np.object_]:
    """Labels of a second table, by ids, or row by row if it has none."""
    path = table.path
    columns = sorted(table.columns, key=lambda name: name in table.index)  # an index last
    proper = [name for name in columns if name not in table.index] or columns
    column = options.labels if options.labels is not None else proper[-1]
    cells = clean_labels(table.cells[column], options.unlabelled, str(path))
    if len(columns) == 1:
        if len(cells) != len(ids):
            raise InvalidInputError(
                f"{path} has {len(cells)} rows and no column of ids, but there are {len(ids)} "
                "points: give one row per point, or add a column of ids"
            )
        return cells
    key = options.id if options.id in columns else next(c for c in columns if c != column)
    if key != options.id and nameless([key]) and ids == _row_numbers(len(ids)):
        raise InvalidInputError(
            f"{path} has no column of ids but pandas' index {key!r}, which counts from 0 where row "
            f"numbers count from 1: add a column of ids, or say --id {key!r} if it holds them"
        )
    place = {name: k for k, name in enumerate(ids)}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[str] = set()
    for row, (cell, name) in enumerate(zip(cells, _ids(table, key), strict=True)):
        if name not in place:
            raise InvalidInputError(
                f"{path} labels {name!r} in {table.place(row)}, which is not among the {len(ids)} "
                f"points: ids are looked up in column {key!r}"
            )
        if name in seen:
            raise InvalidInputError(f"{path} labels {name!r} twice ({table.place(row)}): keep one")
        seen.add(name)
        labels[place[name]] = cell
    return labels


def _array_rows(
    path: Path, arrays: Arrays, options: ReadOptions, label_table: Table | None, n_points: int
) -> tuple[list[str], npt.NDArray[np.object_]]:
    """Ids and labels among the arrays of a file."""
    if options.labels is None:
        options = replace(options, labels="y")
    id_column = _id_column(path, tuple(arrays), options, label_table)
    own = options.labels if options.labels_file is None else None
    for name, what in ((own, "label"), (id_column, "id")):
        if name in arrays and arrays[name].shape != (n_points,):
            raise InvalidInputError(
                f"{path}: the array {name!r} has shape {arrays[name].shape}, but there are "
                f"{n_points} points: give one {what} per point"
            )
    table = Table(path=path, cells=arrays)
    ids = _row_numbers(n_points) if id_column is None else _ids(table, id_column)
    return ids, _own_labels(table, options, n_points)


def _id_column(
    path: Path, columns: Sequence[str], options: ReadOptions, label_table: Table | None
) -> str | None:
    """The column of ids beside the points, if there is one."""
    require(path, columns, _needed_ids(options, label_table))
    return options.id if options.id in columns else None


def _needed_ids(options: ReadOptions, label_table: Table | None) -> list[str]:
    """The column of ids, if the data must have it: the second file may have it alone."""
    elsewhere = label_table is not None and options.id in label_table.columns
    return [] if options.id is None or elsewhere else [options.id]


def _ids(table: Table, column: str) -> list[str]:
    ids = [
        cell.decode("utf-8", errors="replace") if isinstance(cell, bytes) else str(cell).strip()
        for cell in table.cells[column]
    ]
    for row, name in enumerate(ids):
        if is_missing(name):
            raise InvalidInputError(
                f"{table.path} has {name!r} for an id in column {column!r}, {table.place(row)}, "
                "and every row needs one: fill it in, or name another column with --id"
            )
    return ids


def _check_ids(path: Path, ids: list[str]) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise InvalidInputError(
                f"{path} has the id {name!r} more than once, and answers could not be told apart: "
                "make ids unique, or leave --id out to use row numbers"
            )
        seen.add(name)


# -- small checks ------------------------------------------------------------------------------


def _needed_columns(
    path: Path, options: ReadOptions, label_table: Table | None, columns: Sequence[str]
) -> list[str]:
    if options.labels is None and options.labels_file is None:
        raise InvalidInputError(f"{path}: which column holds the labels? Name it with --labels")
    own = [options.labels] if options.labels is not None and options.labels_file is None else []
    return [*own, *_chosen(columns, options), *_needed_ids(options, label_table)]


def _feature_columns(columns: Sequence[str], options: ReadOptions) -> list[str]:
    if options.features:
        return _chosen(columns, options)
    others = {options.labels, options.id, *options.exclude}
    return [name for name in columns if name not in others]


def _chosen(names: Sequence[str], options: ReadOptions) -> list[str]:
    """The features that were named; a text is split at commas unless it is a name itself."""
    chosen: list[str] = []
    for text in options.features:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        chosen += [part for part in parts if part and part not in chosen]
    return chosen


def _one_array(path: Path, names: Sequence[str], options: ReadOptions) -> str | None:
    """The array that was named as features, or None."""
    chosen = _chosen(names, options)
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


def _refuse_features(path: Path, options: ReadOptions) -> None:
    if options.features:
        raise InvalidInputError(f"{path} is a graph, which has no features: leave --features out")


def _row_numbers(n_rows: int) -> list[str]:
    return [str(k + 1) for k in range(n_rows)]


def _left_out(names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = listed([repr(name) for name in names])
    return (f"left out {len(names)} columns without numbers, or that name rows: {shown}",)


def _used(names: list[str]) -> str:
    return f"{len(names)} features: {listed(names, most=5)}"


def _checked_points(path: Path, name: str, values: npt.NDArray[Any]) -> FloatArray:
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{path}: the array {name!r} has shape {values.shape} and dtype {values.dtype}, but "
            "features are a 2-D array of numbers, one row per point"
        )
    if values.size == 0:
        raise InvalidInputError(
            f"{path}: the array {name!r} has shape {values.shape}: give at least 2 points (rows) "
            "and one feature (column)"
        )
    points: FloatArray = values.astype(np.float64)
    bad = ~np.isfinite(points)
    if np.any(bad):
        row, column = np.argwhere(bad)[0]
        raise InvalidInputError(
            f"{path} lacks {int(bad.sum())} feature values, the first in row {row + 1}, column "
            f"{column + 1}, and distances need all of them: fill them in or drop those rows"
        )
    return points
