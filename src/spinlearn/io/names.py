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
    NAMELESS,
    MissingColumnError,
    Table,
    default_delimiter,
    listed,
    read_table,
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
    if options.labels not in table.cells:
        raise MissingColumnError(table.path, options.labels, list(table.cells))
    return clean_labels(table.cells[options.labels], options.unlabelled, str(table.path))


def read_label_table(path: Path, options: ReadOptions) -> Table | None:
    """The second file, if it is a table."""
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder: give a file with --labels-file")
    if not path.is_file():
        raise InvalidInputError(f"{path} does not exist: check --labels-file")
    kind = path.suffix.lower()
    if kind == ".npy":
        return None
    if kind in NO_TABLES:
        raise InvalidInputError(
            f"{path}: labels are read from a table (.csv, .tsv, .parquet) or a .npy: convert it"
        )
    return read_table(
        path,
        lambda columns: [] if options.labels is None else [options.labels],
        others=(*LABEL_DELIMITERS, options.delimiter or ""),
        encoding=options.encoding,
    )


def labels_elsewhere(
    path: Path, table: Table | None, data: Dataset, options: ReadOptions
) -> npt.NDArray[np.object_]:
    """Labels of a second file: of a table by ids, of an array or a table without ids row by row."""
    n_points = len(data.ids)
    label, own = ("", None) if table is None else _label_and_key(table, options)
    if table is None or own is None:
        values: Any = read_npy(path) if table is None else table.cells[label]
        shape = values.shape if table is None else (len(values),)
        if shape != (n_points,) and shape == (len(data.feature_names),):
            sign = f"{path} holds a label for each of its columns"
            raise rows_are_features(data.source, sign, options)
        if shape != (n_points,):
            raise InvalidInputError(
                f"{path} has shape {shape}, but there are {n_points} points: give one label per "
                "point"
                if table is None
                else f"{path} has {len(values)} rows and no column of ids, but there are "
                f"{n_points} points: give one row per point, NA and no blank line where there is "
                "no label, or add a column of ids"
            )
        cells = values.tolist() if table is None else values
        return clean_labels(cells, options.unlabelled, str(path))
    cells = clean_labels(table.cells[label], options.unlabelled, str(path))
    wanted = options.id if data.id_column is None else data.id_column
    key = wanted if wanted is not None and wanted in table.cells else own
    counted = data.ids == [str(k + 1) for k in range(n_points)]
    if key != options.id and NAMELESS.fullmatch(key) and counted:
        raise InvalidInputError(
            f"{path} has no column of ids but pandas' index {key!r}, which counts from 0 where row "
            f"numbers count from 1: add a column of ids, or say --id {key!r} if it holds them"
        )
    place = {name: k for k, name in enumerate(data.ids)}
    labels = np.full(n_points, None, dtype=object)
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
                sign = f"{path} labels {name!r}, which is one of its columns"
                raise rows_are_features(data.source, sign, options)
            raise InvalidInputError(
                f"{path} labels {name!r} in {table.place(row)}, which is not among the {n_points} "
                f"points, whose ids are {listed([repr(i) for i in data.ids], most=3)}: correct the "
                f"ids in column {key!r}, or name another with --id"
            )
        if name in seen:
            raise InvalidInputError(f"{path} labels {name!r} twice ({table.place(row)}): keep one")
        seen.add(name)
        labels[place[name]] = cell
    return labels


def _label_and_key(table: Table, options: ReadOptions) -> tuple[str, str | None]:
    """Columns of a second table: labels, named or last, and ids, first; pandas' index is last."""
    columns = sorted(table.cells, key=lambda name: name in table.index)  # keeps their order
    n_named = len(columns) - len(table.index.intersection(columns))
    label = columns[n_named - 1] if options.labels is None else options.labels
    return label, next((name for name in columns if name != label), None)


def id_column(
    table: Table, options: ReadOptions, label_table: Table | None
) -> tuple[str | None, tuple[str, ...]]:
    """The column of ids beside the points, and a note if nobody named it.

    It is that which has the name of the second table's ids: both files say which row is which.
    """
    if options.id is not None:
        if options.id in table.cells:
            return options.id, ()
        if label_table is None or options.id not in label_table.cells:
            raise MissingColumnError(table.path, options.id, list(table.cells))
        return None, ()  # the second file may have it alone
    key = None if label_table is None else _label_and_key(label_table, options)[1]
    if label_table is None or key is None or key not in table.cells:
        return None, ()
    if key in (*table.index, *options.features):
        return None, ()
    cells = [str(cell).strip() for cell in table.cells[key]]
    if len(set(cells)) < len(cells) or any(map(is_missing, cells)):
        raise InvalidInputError(
            f"{table.path} and {label_table.path} both have a column {key!r}, but it does not tell "
            f"all rows of {table.path} apart: name a column of ids with --id, or rename that one"
        )
    note = f"labels of {options.labels_file} are looked up by {key!r}, which both files have"
    return key, (note,)


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


def rows_are_features(path: Path, sign: str, options: ReadOptions) -> InvalidInputError:
    """The error for such a file; `sign` is by what it was recognised."""
    remedy = REMEDIES.get(path.suffix.lower(), TEXT).format(
        old=path.name, new=f"turned-{path.name}", mark=options.delimiter or default_delimiter(path)
    )
    return InvalidInputError(
        f"{path} has features as rows and points as columns, as genes often stand ({sign}): turn "
        f"it round, for example by {remedy}"
    )


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
