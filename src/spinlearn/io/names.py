"""Names of points in files: their labels, their ids, looked up in a second file if need be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import WHOLE, clean_labels, is_missing
from spinlearn.answers.spreadsheet import plain_name
from spinlearn.core.array_file import read_npy
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.name_checks import check_names
from spinlearn.io.parquet_table import read_parquet_table
from spinlearn.io.table import Table, listed, nameless, require
from spinlearn.io.text_table import read_text_table
from spinlearn.io.turned import rows_are_features

NO_TABLES = (".npz", ".h5ad", ".mtx", ".edges")
LABEL_DELIMITERS = (",", ";", "\t")


def own_labels(table: Table, options: ReadOptions, n_points: int) -> npt.NDArray[np.object_]:
    """The labels beside the points, unless they are in a second file."""
    if options.labels_file is not None or options.labels is None:
        return np.full(n_points, None, dtype=object)
    require(table.path, table.columns, [options.labels])
    return _cleaned(table.path, table.cells[options.labels], options)


def _cleaned(path: Path, cells: Sequence[Any], options: ReadOptions) -> npt.NDArray[np.object_]:
    labels = clean_labels(cells, options.unlabelled, str(path))
    check_names(path, "the label", labels)
    return labels


def read_label_table(options: ReadOptions) -> Table | None:
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
    if kind in NO_TABLES:
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


def one_per_point(path: Path, data: Dataset, options: ReadOptions) -> npt.NDArray[np.object_]:
    """Labels of an array, in the order of the points."""
    values, n_points = read_npy(path), data.n_points
    if values.shape != (n_points,):
        if values.shape == (len(data.feature_names),):
            raise rows_are_features(data.source, f"{path} holds a label for each of its columns")
        raise InvalidInputError(
            f"{path} has shape {values.shape}, but there are {n_points} points: give one label per "
            "point"
        )
    return _cleaned(path, values.tolist(), options)


def looked_up(table: Table, data: Dataset, options: ReadOptions) -> npt.NDArray[np.object_]:
    """Labels of a second table, by ids, or row by row if it has none."""
    ids = data.ids
    path = table.path
    columns = sorted(table.columns, key=lambda name: name in table.index)  # an index last
    proper = [name for name in columns if name not in table.index] or columns
    column = options.labels if options.labels is not None else proper[-1]
    cells = _cleaned(path, table.cells[column], options)
    if len(columns) == 1:
        if len(cells) != len(ids):
            raise InvalidInputError(
                f"{path} has {len(cells)} rows and no column of ids, but there are {len(ids)} "
                "points: give one row per point, or add a column of ids"
            )
        return cells
    key = options.id if options.id in columns else next(c for c in columns if c != column)
    if key != options.id and nameless([key]) and ids == row_numbers(len(ids)):
        raise InvalidInputError(
            f"{path} has no column of ids but pandas' index {key!r}, which counts from 0 where row "
            f"numbers count from 1: add a column of ids, or say --id {key!r} if it holds them"
        )
    place = {name: k for k, name in enumerate(ids)}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[str] = set()
    for row, (cell, name) in enumerate(zip(cells, ids_of(table, key), strict=True)):
        if name not in place:
            name = plain_name(name)  # as labels.csv has it
        if name not in place and WHOLE.fullmatch(name):  # 1.0 as pandas writes it
            name = name.partition(".")[0]
        if name not in place:
            if cell is None:
                continue  # an annotation table may list more than the data have
            if name in data.feature_names:
                raise rows_are_features(
                    data.source, f"{path} labels {name!r}, which is one of its columns"
                )
            raise InvalidInputError(
                f"{path} labels {name!r} in {table.place(row)}, which is not among the {len(ids)} "
                f"points, whose ids are {listed([repr(i) for i in ids], most=3)}: correct the ids "
                f"in column {key!r}, or name another with --id"
            )
        if name in seen:
            raise InvalidInputError(f"{path} labels {name!r} twice ({table.place(row)}): keep one")
        seen.add(name)
        labels[place[name]] = cell
    return labels


def own_id_column(
    path: Path, columns: Sequence[str], options: ReadOptions, label_table: Table | None
) -> str | None:
    """The column of ids beside the points, if there is one."""
    require(path, columns, needed_ids(options, label_table))
    return options.id if options.id in columns else None


def needed_ids(options: ReadOptions, label_table: Table | None) -> list[str]:
    """The column of ids, if the data must have it: the second file may have it alone."""
    elsewhere = label_table is not None and options.id in label_table.columns
    return [] if options.id is None or elsewhere else [options.id]


def ids_of(table: Table, column: str) -> list[str]:
    """A column of ids as text; every row needs one."""
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


def check_ids(path: Path, ids: list[str]) -> None:
    """Refuse ids that repeat, or that could not be written."""
    check_names(path, "the id", ids)
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


def row_numbers(n_rows: int) -> list[str]:
    """The ids of rows without any: counted from 1, as spreadsheets do."""
    return [str(k + 1) for k in range(n_rows)]
