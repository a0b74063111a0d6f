"""Datasets from tables: .csv, .tsv, .parquet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.features import read_features
from spinlearn.io.graph_file import is_edge_heading
from spinlearn.io.names import (
    chosen_columns,
    feature_columns,
    ids_of,
    joined_note,
    needed_ids,
    own_labels,
    row_numbers,
    rows_are_features,
    shared_id_column,
)
from spinlearn.io.table import (
    MissingColumnError,
    Needed,
    Table,
    listed,
    read_parquet_table,
    read_text_table,
    table_with_points,
)


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
        chosen=bool(options.features),
        said=(options.labels, options.id, *options.exclude),
        labelled=np.array([label is not None for label in labels], dtype=bool),
        gaps_allowed=options.gaps_allowed,
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
