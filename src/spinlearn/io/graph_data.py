"""Datasets from files of graphs: .mtx, .edges, Parquet parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.io.chosen_columns import GRAPH_ALONE, refuse_features
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.edge_parts import ENDING, read_edge_parts
from spinlearn.io.graph_file import read_edge_list
from spinlearn.io.matrix_market import read_matrix_market
from spinlearn.io.names import own_id_column
from spinlearn.io.table import Table


def read_graph_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """The nodes of a graph."""
    if options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(GRAPH_ALONE.format(path))
    refuse_features(path, options)
    own_id_column(options.labels_file or path, (), options, label_table)
    if path.is_dir() or path.suffix.lower() == ENDING:
        read = read_edge_parts(path)
    elif path.suffix.lower() == ".mtx":
        read = read_matrix_market(path)
    else:
        read = read_edge_list(
            path,
            delimiter=options.delimiter,
            encoding=options.encoding,
            decimal=options.decimal,
        )
    none = np.full(len(read.ids), None, dtype=object)
    return Dataset(source=path, ids=read.ids, labels=none, graph=read.graph, notes=read.notes)
