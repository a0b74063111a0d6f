"""read_dataset: points or a graph, with ids and labels, from any kind of file that is understood.

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

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.anndata_parts import (
    map_of,
    named_representations,
    neighbour_graph,
    representation,
)
from spinlearn.io.array_file import Arrays, read_npy, read_npz
from spinlearn.io.dataset import GRAPH_KINDS, KINDS, TEXT_KINDS, Dataset, ReadOptions
from spinlearn.io.features import numeric_columns
from spinlearn.io.graph_file import (
    errors_about,
    is_edge_heading,
    is_sparse,
    read_edge_list,
    read_matrix_market,
    sparse_graph,
)
from spinlearn.io.names import (
    check_ids,
    ids_of,
    looked_up,
    needed_ids,
    one_per_point,
    own_id_column,
    own_labels,
    read_label_table,
    row_numbers,
)
from spinlearn.io.parquet_table import check_magic, read_parquet_table
from spinlearn.io.table import Table, listed
from spinlearn.io.text_table import read_text_table

GRAPH_ALONE = "{} is a graph, which holds no labels: give them in a second file with --labels-file"


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
    label_table = read_label_table(options)
    if kind in GRAPH_KINDS or (options.edges and kind in TEXT_KINDS):
        data = _read_graph(path, kind, options, label_table)
    elif kind in (*TEXT_KINDS, ".parquet"):
        data = _read_table(path, kind, options, label_table)
    elif kind == ".h5ad":
        data = _read_h5ad(path, options, label_table)
    else:
        data = _read_arrays(path, kind, options, label_table)
    check_ids(path, data.ids)
    if label_table is not None:
        return replace(data, labels=looked_up(label_table, data.ids, options))
    if options.labels_file is not None:
        return replace(data, labels=one_per_point(options.labels_file, data.n_points, options))
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
    alone = options.labels_file is not None and not options.features
    if alone and is_edge_heading(table.columns):
        raise InvalidInputError(
            f"{path} has the columns {listed(list(table.columns))}, as a list of edges has: read "
            "it as one with --edges, or name the features with --features"
        )
    if table.n_rows == 0:
        raise InvalidInputError(f"{path} has a heading but no rows: give at least 2 points")
    points, names, left_out = numeric_columns(
        table, _feature_columns(table.columns, options), chosen=bool(options.features)
    )
    ids = row_numbers(table.n_rows)
    if options.id in table.columns:
        ids = ids_of(table, options.id)
    return Dataset(
        source=path,
        ids=ids,
        labels=own_labels(table, options, table.n_rows),
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
        if options.labels_file is None and (options.labels or "y") not in arrays:
            raise InvalidInputError(GRAPH_ALONE.format(path))
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
    labels = own_labels(obs, options, adata.n_obs)
    id_column = own_id_column(path, obs.columns, options, label_table)
    ids = [str(name) for name in adata.obs_names] if id_column is None else ids_of(obs, id_column)
    notes: tuple[str, ...] = ()
    if id_column is None and len(set(ids)) < len(ids):
        ids, notes = row_numbers(len(ids)), ("obs_names repeat: ids are row numbers",)
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
        raise InvalidInputError(GRAPH_ALONE.format(path))
    _refuse_features(path, options)
    own_id_column(options.labels_file, (), options, label_table)
    if kind == ".mtx":
        graph, ids = read_matrix_market(path)
    else:
        graph, ids = read_edge_list(path, delimiter=options.delimiter, encoding=options.encoding)
    none = np.full(len(ids), None, dtype=object)
    return Dataset(source=path, ids=ids, labels=none, graph=graph)


def _array_rows(
    path: Path, arrays: Arrays, options: ReadOptions, label_table: Table | None, n_points: int
) -> tuple[list[str], npt.NDArray[np.object_]]:
    """Ids and labels among the arrays of a file."""
    if options.labels is None:
        options = replace(options, labels="y")
    id_column = own_id_column(path, tuple(arrays), options, label_table)
    own = options.labels if options.labels_file is None else None
    for name, what in ((own, "label"), (id_column, "id")):
        if name in arrays and arrays[name].shape != (n_points,):
            raise InvalidInputError(
                f"{path}: the array {name!r} has shape {arrays[name].shape}, but there are "
                f"{n_points} points: give one {what} per point"
            )
    table = Table(path=path, cells=arrays)
    ids = row_numbers(n_points) if id_column is None else ids_of(table, id_column)
    return ids, own_labels(table, options, n_points)


# -- small checks ------------------------------------------------------------------------------


def _needed_columns(
    path: Path, options: ReadOptions, label_table: Table | None, columns: Sequence[str]
) -> list[str]:
    if options.labels is None and options.labels_file is None:
        raise InvalidInputError(f"{path}: which column holds the labels? Name it with --labels")
    own = [options.labels] if options.labels is not None and options.labels_file is None else []
    return [*own, *_chosen(columns, options), *needed_ids(options, label_table)]


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
