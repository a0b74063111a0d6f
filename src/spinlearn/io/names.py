"""What the user names in files: labels, ids (in a second file if need be), features."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import WHOLE, clean_labels, is_missing
from spinlearn.answers.table import plain_name
from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import read_npy
from spinlearn.graphs.points import checked_points
from spinlearn.io.dataset import Dataset, ReadOptions, row_numbers
from spinlearn.io.features import BETWEEN_WORDS, CODE_WORDS, COUNTERS
from spinlearn.io.table import (
    MissingColumnError,
    Table,
    default_delimiter,
    listed,
    read_table,
)
from spinlearn.model.arrays import FloatArray

NO_TABLES = (".npz", ".h5ad", ".mtx", ".edges", ".graphml", ".gml")
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
    ".xlsx": f"pandas.read_excel({{old!r}}, index_col=0){NAMED}.to_excel({{new!r}}), and say "
    "--id id",
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


def join_labels(
    path: Path, table: Table | None, data: Dataset, options: ReadOptions
) -> tuple[npt.NDArray[np.object_], str]:
    """Labels of a second file, and how many rows matched: the only place where files are joined.

    Rows are looked up by ids; those of an array, or of a table without ids, go in order.
    """
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
        labels = clean_labels(cells, options.unlabelled, str(path))
        return labels, f"labels of {path} have no ids: its {n_points} rows are joined in order"
    cells = clean_labels(table.cells[label], options.unlabelled, str(path))
    wanted = options.id if data.id_column is None else data.id_column
    key = wanted if wanted is not None and wanted in table.cells else own
    place = {name: k for k, name in enumerate(data.ids)}
    names = [_as_known(name, place) for name in ids_of(table, key)]
    given = [name for name, cell in zip(names, cells, strict=True) if cell is not None]
    by_number = data.ids == row_numbers(n_points)
    # An annotation table may list more points than the data have; of shifted ones the last is.
    shifted = _shift(names, place)
    for row, (cell, name) in enumerate(zip(cells, names, strict=True)):
        if name in place or (cell is None and not shifted):
            continue
        if name in data.feature_names and not shifted:
            sign = f"{path} labels {name!r}, which is one of its columns"
            raise rows_are_features(data.source, sign, options)
        numbered = ", counted from 0" if by_number else ""
        raise InvalidInputError(
            f"{path} {'lists' if cell is None else 'labels'} {name!r} in {table.place(row)}, which "
            f"is not among the {n_points} points, whose ids are "
            f"{listed([repr(i) for i in data.ids], most=3)}{numbered}: "
            f"{_remedy(given or names, shifted, key, data)}"
        )
    other = (
        _other_ids(given, data, sure=True) if by_number and given and options.id is None else None
    )
    if other is not None:
        raise InvalidInputError(
            f"{path} may name points by row number, counted from 0, or by column {other!r} of "
            f"{data.source}, which gives other points these labels: say --id {other!r}, or "
            f"--id {key!r} for row numbers"
        )
    labels = np.full(n_points, None, dtype=object)
    seen: set[str] = set()
    for row, (cell, name) in enumerate(zip(cells, names, strict=True)):
        if name in seen:
            raise InvalidInputError(f"{path} labels {name!r} twice ({table.place(row)}): keep one")
        seen.add(name)
        if name in place:
            labels[place[name]] = cell
    n_matched = len(seen.intersection(place))
    by = "row number, counted from 0" if by_number else f"column {key!r}"
    return labels, f"{n_matched} of {len(names)} rows of {path} matched by {by}"


def _as_known(name: str, known: Container[str]) -> str:
    """An id as the points have it: labels.csv may quote it, pandas writes 1 as 1.0."""
    if name not in known:
        name = plain_name(name)
    if name not in known and WHOLE.fullmatch(name):
        name = name.partition(".")[0]
    return name


def _shift(names: Sequence[str], known: Container[str]) -> int:
    """What must be added to whole numbers, 1 or -1, for all to be ids; else 0."""
    if all(name in known for name in names) or not all(map(WHOLE.fullmatch, names)):
        return 0
    numbers = [int(name) for name in names]
    return next((d for d in (-1, 1) if all(str(n + d) in known for n in numbers)), 0)


def _other_ids(names: Sequence[str], data: Dataset, *, sure: bool = False) -> str | None:
    """A column that tells points apart, in another way than their ids, and holds all `names`.

    If `sure`, only one that looks like ids: by its name, as pandas' index, or counting rows from 1.
    """
    table, n_points = data.columns, len(data.ids)
    if table is None:
        return None
    for column, cells in table.cells.items():
        ids = [str(cell).strip() for cell in cells]
        if len(set(ids)) < n_points or ids == data.ids or not set(names) <= set(ids):
            continue
        called = BETWEEN_WORDS.split(column)[-1].lower() in (*COUNTERS, *CODE_WORDS)
        counts = ids == [str(row + 1) for row in range(n_points)]
        if not sure or called or counts or column in table.index:
            return column
    return None


def _remedy(names: Sequence[str], shifted: int, key: str, data: Dataset) -> str:
    """What explains labelled ids that no point has, and what to do."""
    other = _other_ids(names, data)
    if other is not None:
        return f"the ids look like names in column {other!r}: say --id {other!r}"
    if shifted:
        do = "add 1 to" if shifted > 0 else "subtract 1 from"
        return f"the ids look shifted by one: {do} those in column {key!r}"
    bare = {name.lstrip("0") for name in data.ids}
    if all(name.lstrip("0") in bare for name in names):
        return (
            f"the ids look alike but for zeros in front: write them alike, column {key!r} as text"
        )
    return f"correct the ids in column {key!r}, or name another with --id"


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
    if key in options.features:
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
