"""read_dataset: what any kind of file that is understood holds.

    .csv .tsv (.gz)    a table: one column of labels, optionally one of ids, numeric features
    .parquet           the same
    .npz               arrays: features X, labels by name; or a sparse matrix: a graph
    .npy               features alone; labels come from a second file
    .h5ad              an AnnData object: labels in obs, scanpy's neighbour graph or X_pca or X
    .mtx               a graph (Matrix Market); labels come from a second file
    .edges             a graph, as a list of edges with ids; labels come from a second file. A .csv,
                       a .parquet or a folder of .parquet parts is one where the user says so
    .png .jpg ...      a picture: its pixels; labels come from a second file

A second file with labels is a table, or a .npy array with one label per point.

An empty cell, NA, NaN or -1 marks an unlabelled point. A new kind is one file, with one line in
READERS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import Arrays, read_npy, read_npz
from spinlearn.io.anndata_file import read_h5ad_data
from spinlearn.io.dataset import TEXT_KINDS, Dataset, ReadOptions
from spinlearn.io.features import named, read_features
from spinlearn.io.graph_file import (
    is_edge_heading,
    is_edge_parts,
    is_sparse,
    read_graph_data,
    sparse_graph,
)
from spinlearn.io.names import (
    GRAPH_ALONE,
    array_of_points,
    check_ids,
    chosen_columns,
    feature_columns,
    ids_of,
    joined_note,
    looked_up,
    needed_ids,
    one_array,
    one_per_point,
    own_id_column,
    own_labels,
    read_label_table,
    refuse_features,
    row_numbers,
    rows_are_features,
    shared_id_column,
)
from spinlearn.io.pictures import KINDS, read_picture_data
from spinlearn.io.table import (
    MissingColumnError,
    Needed,
    Table,
    listed,
    read_parquet_table,
    read_text_table,
    table_with_points,
)
from spinlearn.model.arrays import BoolArray, FloatArray


def read_table_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Points in the columns of a table."""
    if options.labels is None and options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(f"{path}: which column holds the labels? Name it with --labels")
    own = [options.labels] if options.labels is not None and options.labels_file is None else []

    def read(needed: Needed) -> Table:
        if path.suffix.lower() == ".parquet":
            return read_parquet_table(path, needed)
        return read_text_table(path, needed, delimiter=options.delimiter, encoding=options.encoding)

    try:
        ids = needed_ids(options, label_table)
        table = read(lambda columns: [*own, *chosen_columns(columns, options), *ids])
    except MissingColumnError as error:
        turned = read(lambda columns: ())
        if error.column in next(iter(turned.cells.values()), ()):
            raise rows_are_features(path, f"a row is named {error.column!r}", options) from error
        raise
    alone = options.labels_file is not None and not options.features
    if alone and is_edge_heading(table.columns):
        raise InvalidInputError(
            f"{path} has the columns {listed(list(table.columns))}, as a list of edges has: read "
            "it as one with --edges, or name the features with --features"
        )
    if table.n_rows == 0:
        raise InvalidInputError(f"{path} has a heading but no rows: give at least 2 points")
    shared = shared_id_column(table, options, label_table)
    if shared is not None:
        options = replace(options, id=shared)
    columns = feature_columns(table.columns, options)
    if options.labels in columns and options.labels_file is None:
        raise InvalidInputError(
            f"{path}: {options.labels!r} holds the labels, and is named as a feature, too: leave "
            "it out of --features"
        )
    labels = own_labels(table, options, table.n_rows)
    features = read_features(
        table if options.decimal == "." else table_with_points(table, columns),
        columns,
        options,
        np.array([label is not None for label in labels], dtype=bool),
    )
    ids = row_numbers(table.n_rows)
    if options.id in table.columns:
        ids = ids_of(table, options.id)
    others = {*features.names, options.labels, options.id}
    # What else a row says.
    beside = [c for c in table.columns if c not in others] if options.for_labelling else []
    return Dataset(
        source=path,
        ids=ids,
        id_column=shared,
        labels=labels,
        points=features.points,
        feature_names=features.names,
        shared=features.shared,
        table=True,
        notes=(*table.notes, *joined_note(shared, options), *features.notes),
        cells={name: table.cells[name] for name in beside},
    )


def read_array_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Points or a sparse matrix among arrays."""
    kind = path.suffix.lower()
    arrays: Arrays = {"X": read_npy(path)} if kind == ".npy" else read_npz(path)
    alone = options.labels_file is None and not options.for_labelling
    if kind == ".npy" and alone:
        raise InvalidInputError(
            f"{path} holds features alone: give the labels in a second file with --labels-file"
        )
    if is_sparse(arrays):
        refuse_features(path, options)
        graph, notes = sparse_graph(path, arrays)
        if alone and (options.labels or "y") not in arrays:
            raise InvalidInputError(GRAPH_ALONE.format(path))
        rows = _array_rows(path, arrays, options, label_table, graph.n_nodes)
        return Dataset(source=path, graph=graph, **rows | {"notes": (*notes, *rows["notes"])})
    name = one_array(path, tuple(arrays), options) or "X"
    if name not in arrays:
        raise InvalidInputError(
            f"{path} has no array {name!r}: it has {listed(sorted(arrays))}; name the features "
            "with --features"
            if arrays
            else f"{path} holds no array: give features as X and labels as y"
        )
    points = array_of_points(path, name, arrays[name], options)
    n_points, n_features = points.shape
    own = arrays.get(options.labels or "y") if options.labels_file is None else None
    if own is not None and n_points != n_features and own.shape == (n_features,):
        raise rows_are_features(path, f"there is a label for each column of {name!r}", options)
    return Dataset(
        source=path,
        **_array_rows(path, arrays, options, label_table, len(points)),
        points=points,
        feature_names=[f"{name}[{k}]" for k in range(points.shape[1])],
    )


def _array_rows(
    path: Path, arrays: Arrays, options: ReadOptions, label_table: Table | None, n_points: int
) -> dict[str, Any]:
    """Ids and labels among the arrays of a file, as parts of a `Dataset`."""
    if options.labels is None and not (options.for_labelling and "y" not in arrays):
        options = replace(options, labels="y")
    columns = {name: values for name, values in arrays.items() if values.shape == (n_points,)}
    shared = shared_id_column(Table(path=path, cells=columns), options, label_table)
    id_column = shared or own_id_column(path, tuple(arrays), options, label_table)
    own = options.labels if options.labels_file is None else None
    for name, what in ((own, "label"), (id_column, "id")):
        if name in arrays and arrays[name].shape != (n_points,):
            raise InvalidInputError(
                f"{path}: the array {name!r} has shape {arrays[name].shape}, but there are "
                f"{n_points} points: give one {what} per point"
            )
    table = Table(path=path, cells=arrays)
    ids = row_numbers(n_points) if id_column is None else ids_of(table, id_column)
    return {
        "ids": ids,
        "id_column": shared,
        "labels": own_labels(table, options, n_points),
        "notes": joined_note(shared, options),
    }


# From a path, what the user says of it, and the second file with labels, if that is a table.
Reader = Callable[[Path, ReadOptions, Table | None], Dataset]

READERS: dict[str, Reader] = {
    **dict.fromkeys(TEXT_KINDS, read_table_data),
    ".parquet": read_table_data,
    ".npz": read_array_data,
    ".npy": read_array_data,
    ".h5ad": read_h5ad_data,
    ".mtx": read_graph_data,
    ".edges": read_graph_data,
    **dict.fromkeys(KINDS, read_picture_data),
}
CHOICES = {"missing": ("error", "median", "drop"), "decimal": (".", ",")}


def read_dataset(path: Path, options: ReadOptions) -> Dataset:
    """Read a file of any kind that is understood, by its ending."""
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist: check the path")
    parts = options.edges and is_edge_parts(path)
    if path.is_dir() and not parts:
        raise InvalidInputError(
            f"{path} is a folder: give a data file, or a folder of .parquet parts with --edges"
        )
    if not path.is_file() and not parts:
        raise InvalidInputError(
            f"{path} is a pipe or a device, and readers go back and forth: save it as a file first"
        )
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    kind = ".parquet" if parts else plain.suffix.lower()
    if kind not in READERS:
        raise InvalidInputError(
            f"{path} ends in {kind or 'nothing'}, which is not a kind that is read here: give one "
            f"of {', '.join(READERS)}"
        )
    if plain is not path and kind not in (*TEXT_KINDS, ".edges"):
        raise InvalidInputError(f"{path} is gzipped, which is read for text tables only: unpack it")
    for name, known in CHOICES.items():
        if getattr(options, name) not in known:
            raise InvalidInputError(
                f"--{name} {getattr(options, name)!r} is unknown: use {' or '.join(known)}"
            )
    if options.neighbors is not None and kind != ".h5ad":
        raise InvalidInputError(
            f"{path} is not an .h5ad file, so --neighbors {options.neighbors!r} names nothing in "
            "it: leave it out"
        )
    label_table = read_label_table(options)
    as_edges = options.edges and kind in (*TEXT_KINDS, ".parquet")
    reader = READERS[".edges" if as_edges else kind]
    data = reader(path, options, label_table)
    check_ids(path, data.ids)
    if label_table is not None:
        data = replace(data, labels=looked_up(label_table, data, options))
    elif options.labels_file is not None:
        data = replace(data, labels=one_per_point(options.labels_file, data, options))
    return _without_gaps(data, options.missing)


def _without_gaps(data: Dataset, how: str) -> Dataset:
    """The dataset with its gaps (NaN) filled by the median of their feature, or without such rows.

    Readers refuse gaps themselves where they are an error: they know the line.
    """
    if data.points is None or not np.any(np.isnan(data.points)):
        return data
    gaps: BoolArray = np.isnan(data.points)
    columns = [data.feature_names[k] for k in np.flatnonzero(gaps.any(axis=0))]
    if how == "median":
        empty = np.flatnonzero(gaps.all(axis=0))
        if len(empty):
            raise InvalidInputError(
                f"{data.source} has no value at all in {data.feature_names[empty[0]]!r}, so there "
                "is no median: leave it out with --features"
            )
        points, n_filled = _filled(data, gaps)
        note = (
            f"filled {n_filled} missing values with the median of their feature"
            + (", or its most frequent word: " if data.shared else ": ")
            + named(columns, data.feature_names)
        )
        return replace(data, points=points, notes=(*data.notes, note))
    kept: BoolArray = np.asarray(~gaps.any(axis=1))
    _check_what_is_left(data, kept)
    rows, gone = np.flatnonzero(kept).tolist(), np.flatnonzero(~kept).tolist()
    note = (
        f"dropped {len(gone)} of {data.n_points} rows, which lack a value in "
        f"{named(columns, data.feature_names)}: {listed([data.ids[row] for row in gone], most=20)}"
    )
    given = [data.labels[row] for row in gone if data.labels[row] is not None]
    if given:
        note += f"; {len(given)} of them labelled"
        lost = sorted({str(c) for c in given} - {str(c) for c in data.labels[kept]})
        if lost:
            note += f", so that no label is left of {listed(lost)}"
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


def _filled(data: Dataset, gaps: BoolArray) -> tuple[FloatArray, int]:
    """Points with medians where values are missing, and how many cells of the file these were.

    A word that is missing becomes one that is there, the most frequent one.
    """
    assert data.points is not None
    middle = np.nanmedian(data.points, axis=0)
    start = n_filled = 0
    while start < len(middle):  # features that stem from one column at a time
        group = slice(start, start + data.shared.get(data.feature_names[start], 1))
        n_filled += int(gaps[:, group].any(axis=1).sum())
        if group.stop > start + 1:
            shares = np.nanmean(data.points[:, group], axis=0)
            middle[group] = np.arange(len(shares)) == np.argmax(shares)
        start = group.stop
    return np.asarray(np.where(gaps, middle, data.points)), n_filled


def _check_what_is_left(data: Dataset, kept: BoolArray) -> None:
    """Refuse to drop all rows with a label, or all without: the error would seem another one."""
    labelled = np.array([label is not None for label in data.labels], dtype=bool)
    for rows, which in ((labelled, " with a label"), (~labelled, " without a label")):
        if kept.sum() < 2:
            which = f" but {int(kept.sum())}"
        elif not np.any(rows) or np.any(rows & kept):
            continue
        raise InvalidInputError(
            f"{data.source} lacks a value in all rows{which}, so that --missing drop leaves "
            "nothing to learn from or to classify: say --missing median, or leave columns out with "
            "--features"
        )


def _some(read: Callable[[], FloatArray], kept: BoolArray) -> FloatArray:
    return read()[kept]
