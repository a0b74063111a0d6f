"""Datasets from tables: .csv, .tsv, .parquet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from spinlearn.errors import InvalidInputError
from spinlearn.io.chosen_columns import chosen_columns, feature_columns
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.features import numeric_columns
from spinlearn.io.graph_file import is_edge_heading
from spinlearn.io.names import ids_of, needed_ids, own_labels, row_numbers
from spinlearn.io.parquet_table import read_parquet_table
from spinlearn.io.table import Table, listed
from spinlearn.io.text_table import read_text_table


def read_table_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """Points in the columns of a table."""
    needed = partial(_needed_columns, path, options, label_table)
    if path.suffix.lower() == ".parquet":
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
        table, feature_columns(table.columns, options), chosen=bool(options.features)
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


def _needed_columns(
    path: Path, options: ReadOptions, label_table: Table | None, columns: Sequence[str]
) -> list[str]:
    if options.labels is None and options.labels_file is None:
        raise InvalidInputError(f"{path}: which column holds the labels? Name it with --labels")
    own = [options.labels] if options.labels is not None and options.labels_file is None else []
    return [*own, *chosen_columns(columns, options), *needed_ids(options, label_table)]


def _left_out(names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = listed([repr(name) for name in names])
    return (f"left out {len(names)} columns without numbers, or that name rows: {shown}",)


def _used(names: list[str]) -> str:
    return f"{len(names)} features: {listed(names, most=5)}"
