"""What the user names in files: labels, ids (in a second file if need be), features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import WHOLE, clean_labels, is_missing
from spinlearn.answers.table import plain_name
from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import read_npy
from spinlearn.graphs.points import checked_points
from spinlearn.io.dataset import Dataset, ReadOptions
from spinlearn.io.table import (
    Table,
    check_names,
    default_delimiter,
    listed,
    nameless,
    read_parquet_table,
    read_text_table,
    require,
)
from spinlearn.model.arrays import FloatArray

NO_TABLES = (".npz", ".h5ad", ".mtx", ".edges")
LABEL_DELIMITERS = (",", ";", "\t")
GRAPH_ALONE = "{} is a graph, which holds no labels: give them in a second file with --labels-file"
# How a table with features as rows is turned round, by its ending; TEXT: all others.
NAMED = ".T.rename_axis('id')"
REMEDIES = {
    ".npy": "numpy.save({new!r}, numpy.load({old!r}).T)",
    ".npz": "save X.T instead of X",
    ".h5ad": "anndata.read_h5ad({old!r}).T.write_h5ad({new!r})",
    ".parquet": f"pandas.read_parquet({{old!r}}){NAMED}.reset_index().to_parquet({{new!r}}), and "
    "say --id id",
}
TEXT = (
    f"pandas.read_csv({{old!r}}, sep={{mark!r}}, index_col=0){NAMED}.to_csv({{new!r}}, "
    "sep={mark!r}), and say --id id"
)


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
            raise rows_are_features(
                data.source, f"{path} holds a label for each of its columns", options
            )
        raise InvalidInputError(
            f"{path} has shape {values.shape}, but there are {n_points} points: give one label per "
            "point"
        )
    return _cleaned(path, values.tolist(), options)


def looked_up(table: Table, data: Dataset, options: ReadOptions) -> npt.NDArray[np.object_]:
    """Labels of a second table, by ids, or row by row if it has none."""
    ids = data.ids
    path = table.path
    column = _label_column(table, options)
    cells = _cleaned(path, table.cells[column], options)
    own = _key(table, column)
    if own is None:
        if len(cells) == len(data.feature_names) != len(ids):
            raise rows_are_features(
                data.source, f"{path} holds a label for each of its columns", options
            )
        if len(cells) != len(ids):
            raise InvalidInputError(
                f"{path} has {len(cells)} rows and no column of ids, but there are {len(ids)} "
                "points: give one row per point, NA and no blank line where there is no label, or "
                "add a column of ids"
            )
        return cells
    wanted = options.id if data.id_column is None else data.id_column
    key = wanted if wanted is not None and wanted in table.columns else own
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
                    data.source, f"{path} labels {name!r}, which is one of its columns", options
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


def _label_column(table: Table, options: ReadOptions) -> str:
    """Where a second table has its labels: as the user says, or in its last column."""
    if options.labels is not None:
        return options.labels
    columns = [name for name in table.columns if name not in table.index] or table.columns
    return columns[-1]


def shared_id_column(table: Table, options: ReadOptions, label_table: Table | None) -> str | None:
    """The column of ids of a second table, where the data have one of that name, too.

    Rows would be counted otherwise, although both files say which row is which.
    """
    if options.id is not None or label_table is None:
        return None
    key = _key(label_table, _label_column(label_table, options))
    if key not in table.columns or key in (*table.index, *options.features):
        return None
    cells = [str(cell).strip() for cell in table.cells[key]]
    if len(set(cells)) < len(cells) or any(map(is_missing, cells)):
        raise InvalidInputError(
            f"{table.path} and {label_table.path} both have a column {key!r}, but it does not tell "
            f"all rows of {table.path} apart: name a column of ids with --id, or rename one of the "
            "two to count rows"
        )
    return key


def joined_note(column: str | None, options: ReadOptions) -> tuple[str, ...]:
    """That labels are looked up by a column that nobody named."""
    if column is None:
        return ()
    return (f"labels of {options.labels_file} are looked up by {column!r}, which both files have",)


def _key(table: Table, label: str) -> str | None:
    """Where a second table has its ids if nobody says so: in its first column, an index last."""
    columns = sorted(table.columns, key=lambda name: name in table.index)
    return next((name for name in columns if name != label), None)


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


def rows_are_features(path: Path, sign: str, options: ReadOptions) -> InvalidInputError:
    """The error for such a file; `sign` is by what it was recognised."""
    remedy = REMEDIES.get(path.suffix.lower(), TEXT).format(
        old=path.name, new=f"turned-{path.name}", mark=options.delimiter or default_delimiter(path)
    )
    return InvalidInputError(
        f"{path} has features as rows and points as columns, as genes often stand ({sign}): turn "
        f"it round, for example by {remedy}"
    )


def feature_columns(columns: Sequence[str], options: ReadOptions) -> list[str]:
    """The columns that may be features."""
    if options.features:
        return chosen_columns(columns, options)
    others = {options.labels, options.id, *options.exclude}
    return [name for name in columns if name not in others]


def chosen_columns(names: Sequence[str], options: ReadOptions) -> list[str]:
    """The features that were named; a text is split at commas unless it is a name itself."""
    chosen: list[str] = []
    for text in options.features:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        chosen += [part for part in parts if part and part not in chosen]
    return chosen


def one_array(path: Path, names: Sequence[str], options: ReadOptions) -> str | None:
    """The array that was named as features, or None."""
    chosen = chosen_columns(names, options)
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


def refuse_features(path: Path, options: ReadOptions) -> None:
    """A graph has none."""
    if options.features:
        raise InvalidInputError(f"{path} is a graph, which has no features: leave --features out")


def array_of_points(
    path: Path, name: str, values: npt.NDArray[Any], options: ReadOptions
) -> FloatArray:
    """An array of a file as points, checked as those that `fit` is given; gaps if allowed."""
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{path}: the array {name!r} has shape {values.shape} and dtype {values.dtype}, but "
            "features are a 2-D array of numbers, one row per point"
        )
    said = f"{path}: the array {name!r}"
    gaps = np.isnan(values)
    if options.missing != "error" and np.any(gaps):
        checked_points(np.where(gaps, 0, values), said)
        return np.array(values, dtype=np.float64)
    points = checked_points(values, said)
    points.flags.writeable = False  # shared by all that need it, not copied
    return points
