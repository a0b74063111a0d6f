"""Datasets from NumPy's files: .npy, .npz."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from spinlearn.core.array_file import Arrays, read_npy, read_npz
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.graph_file import is_sparse, sparse_graph
from spinlearn.io.names import (
    GRAPH_ALONE,
    array_of_points,
    ids_of,
    joined_note,
    one_array,
    own_id_column,
    own_labels,
    refuse_features,
    row_numbers,
    rows_are_features,
    shared_id_column,
)
from spinlearn.io.table import Table, listed


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
