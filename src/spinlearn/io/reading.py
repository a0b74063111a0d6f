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
from pathlib import Path

from spinlearn.errors import InvalidInputError
from spinlearn.io.array_data import read_array_data
from spinlearn.io.dataset import TEXT_KINDS, Dataset, ReadOptions
from spinlearn.io.decimals import check_mark
from spinlearn.io.edge_parts import is_edge_parts
from spinlearn.io.gaps import check_choice, without_gaps
from spinlearn.io.graph_data import read_graph_data
from spinlearn.io.h5ad_data import read_h5ad_data
from spinlearn.io.names import check_ids, looked_up, one_per_point, read_label_table
from spinlearn.io.picture_data import KINDS, read_picture_data
from spinlearn.io.table import Table
from spinlearn.io.table_data import read_table_data

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
    check_choice(options.missing)
    check_mark(options.decimal)
    if options.neighbors is not None and kind != ".h5ad":
        raise InvalidInputError(
            f"{path} is not an .h5ad file, so --neighbors {options.neighbors!r} names nothing in "
            "it: leave it out"
        )
    label_table = read_label_table(options)
    listed = options.edges and kind in (*TEXT_KINDS, ".parquet")
    reader = READERS[".edges" if listed else kind]
    data = reader(path, options, label_table)
    check_ids(path, data.ids)
    if label_table is not None:
        data = replace(data, labels=looked_up(label_table, data, options))
    elif options.labels_file is not None:
        data = replace(data, labels=one_per_point(options.labels_file, data, options))
    return without_gaps(data, options.missing)
