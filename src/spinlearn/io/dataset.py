"""Dataset: points or a graph, with ids and labels, from any kind of file that is understood.

    .csv .tsv (.gz)    a table: one column of labels, optionally one of ids, numeric features
    .parquet           the same
    .npz               arrays: features X, labels by name; or a sparse matrix: a graph
    .npy               features alone; labels come from a second file
    .h5ad              an AnnData object: labels in obs, scanpy's neighbour graph or X_pca or X
    .mtx               a graph (Matrix Market); labels come from a second file
    .edges             a graph, as a list of edges with ids; labels come from a second file

An empty cell, NA or NaN marks an unlabelled point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.anndata_parts import map_of, neighbour_graph, representation
from spinlearn.io.array_file import Arrays, read_npy, read_npz
from spinlearn.io.features import is_missing, numeric_columns
from spinlearn.io.graph_file import read_edge_list, read_matrix_market
from spinlearn.io.text_table import listed, read_text_table

TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt")
GRAPH_KINDS = (".mtx", ".edges")
KINDS = (*TEXT_KINDS, ".parquet", ".npz", ".npy", ".h5ad", *GRAPH_KINDS)
SPARSE_PARTS = {"data", "indices", "indptr", "shape"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What the user says about a file.

    Attributes
    ----------
    labels : str or None
        Column (array, obs column) of labels, in `labels_file` if there is one.
    id : str or None
        Column of ids; default: row numbers from 1.
    features : tuple of str
        Feature columns; none means all numeric ones. For .npz and .h5ad: the array to use.
    exclude : tuple of str
        Columns that are no features.
    labels_file : Path or None
    edges : bool
        Read a .csv, .tsv or .txt as a list of edges.
    delimiter, encoding : str
        Of text files.
    """

    labels: str | None = None
    id: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    labels_file: Path | None = None
    edges: bool = False
    delimiter: str | None = None
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dataset:
    """What was read: either points or a graph.

    Attributes
    ----------
    source : Path
    ids : list of str
    labels : object array (n,)
        Text or whole numbers; None where there is no label.
    points : float array (n, d) or None
    graph : Graph or None
    feature_names : list of str
    layout : float array (n, 2) or None
        Where to draw the points, if the file says so.
    table : bool
        Whether the points are columns of a table, whose units may differ.
    notes : tuple of str
        What the user should know about the reading.
    """

    source: Path
    ids: list[str]
    labels: npt.NDArray[np.object_]
    points: FloatArray | None = None
    graph: Graph | None = None
    feature_names: list[str] = field(default_factory=list)
    layout: FloatArray | None = None
    table: bool = False
    notes: tuple[str, ...] = ()

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.ids)

    def check_labels(self) -> None:
        """Refuse labels from which nothing can be learned."""
        given = [v for v in self.labels if v is not None]
        if self.n_points < 2:
            raise InvalidInputError(
                f"{self.source} holds {self.n_points} points: at least 2 are needed"
            )
        if not given:
            raise InvalidInputError(
                f"{self.source}: no point has a label, and classes are named by labels: label a "
                "few points of each class"
            )
        if len(given) == self.n_points:
            raise InvalidInputError(
                f"{self.source}: every point has a label, so there is nothing to classify: leave "
                "the label empty where it is unknown"
            )
        if len(set(given)) == 1:
            raise InvalidInputError(
                f"{self.source}: {_all_labels(len(given))} {given[0]!r}, and one class alone "
                "cannot be told from anything: label a few points of another class"
            )


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
    if kind in GRAPH_KINDS or (options.edges and kind in TEXT_KINDS):
        data = _read_graph(path, kind, options)
    elif kind in TEXT_KINDS:
        data = _read_text(path, options)
    elif kind == ".parquet":
        data = _read_parquet(path, options)
    elif kind == ".h5ad":
        data = _read_h5ad(path, options)
    else:
        data = _read_arrays(path, kind, options)
    if options.labels_file is not None:
        data = replace(data, labels=_labels_from_file(data.ids, options))
    _check_ids(path, data.ids)
    return data


# -- kinds of files ----------------------------------------------------------------------------


def _read_text(path: Path, options: ReadOptions) -> Dataset:
    needed = _needed_columns(path, options)
    table = read_text_table(
        path, needed=needed, delimiter=options.delimiter, encoding=options.encoding
    )
    if not table.rows:
        raise InvalidInputError(f"{path} has a heading but no rows: give at least 2 points")
    columns = {name: table.column(name) for name in _feature_columns(table.columns, options)}
    points, names, left_out = numeric_columns(
        str(path), columns, chosen=bool(options.features), lines=table.lines
    )
    own = options.labels if options.labels_file is None else None
    labels = table.column(own) if own else [""] * len(table.rows)
    ids = _row_numbers(len(table.rows))
    if options.id is not None and options.id in table.columns:
        ids = [cell.strip() for cell in table.column(options.id)]
    return Dataset(
        source=path,
        ids=ids,
        labels=clean_labels(labels),
        points=points,
        feature_names=names,
        table=True,
        notes=_left_out(left_out),
    )


def _read_parquet(path: Path, options: ReadOptions) -> Dataset:
    _check_magic(path, b"PAR1", "Parquet")
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow, which is not installed: pip install pyarrow"
        ) from error
    try:
        file = parquet.ParquetFile(path)
        columns = tuple(file.schema_arrow.names)
        _require(path, columns, _needed_columns(path, options))
        table = file.read()
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{path} cannot be read as Parquet: {error}") from error
    if table.num_rows == 0:
        raise InvalidInputError(f"{path} has no rows: give at least 2 points")
    cells = {name: table.column(name).to_pylist() for name in columns}
    features = {name: cells[name] for name in _feature_columns(columns, options)}
    points, names, left_out = numeric_columns(str(path), features, chosen=bool(options.features))
    own = options.labels if options.labels_file is None else None
    labels = cells[own] if own else [None] * table.num_rows
    ids = _row_numbers(table.num_rows)
    if options.id is not None and options.id in columns:
        ids = [str(v) for v in cells[options.id]]
    return Dataset(
        source=path,
        ids=ids,
        labels=clean_labels(labels),
        points=points,
        feature_names=names,
        table=True,
        notes=_left_out(left_out),
    )


def _read_arrays(path: Path, kind: str, options: ReadOptions) -> Dataset:
    arrays: Arrays = {"X": read_npy(path)} if kind == ".npy" else read_npz(path)
    if kind == ".npy" and options.labels_file is None:
        raise InvalidInputError(
            f"{path} holds features alone: give the labels in a second file with --labels-file"
        )
    if set(arrays) >= SPARSE_PARTS:
        graph = _sparse_graph(path, arrays)
        ids = _ids_of(path, arrays, options, graph.n_nodes)
        labels = _array_labels(path, arrays, options, graph.n_nodes)
        return Dataset(source=path, ids=ids, labels=labels, graph=graph)
    name = options.features[0] if options.features else "X"
    if name not in arrays:
        raise InvalidInputError(
            f"{path} has no array {name!r}: it has {listed(sorted(arrays))}; name the features "
            "with --features"
        )
    values = arrays[name]
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{path}: the array {name!r} has shape {values.shape} and dtype {values.dtype}, but "
            "features are a 2-D array of numbers, one row per point"
        )
    if len(values) == 0:
        raise InvalidInputError(f"{path}: the array {name!r} has no rows: give at least 2 points")
    points = _finite(path, values.astype(np.float64))
    return Dataset(
        source=path,
        ids=_ids_of(path, arrays, options, len(points)),
        labels=_array_labels(path, arrays, options, len(points)),
        points=points,
        feature_names=[f"{name}[{k}]" for k in range(points.shape[1])],
    )


def _read_h5ad(path: Path, options: ReadOptions) -> Dataset:
    _check_magic(path, b"\x89HDF\r\n\x1a\n", "HDF5")
    try:
        import anndata
    except ImportError as error:
        raise MissingDependencyError(
            "h5ad files need anndata, which is not installed: pip install 'spinlearn[anndata]'"
        ) from error
    try:
        adata = anndata.read_h5ad(path)
    except Exception as error:  # anndata and h5py raise all kinds
        raise InvalidInputError(f"{path} cannot be read as an AnnData file: {error}") from error
    columns = tuple(map(str, adata.obs.columns))
    own = options.labels if options.labels_file is None else None
    _require(path, columns, [own] if own else [])
    labels = list(adata.obs[own]) if own else [None] * adata.n_obs
    if options.id is not None:
        _require(path, columns, [options.id])
        ids = [str(v) for v in adata.obs[options.id]]
    else:
        ids = [str(v) for v in adata.obs_names]
    graph = neighbour_graph(adata, None) if not options.features else None
    points, notes = None, ("graph: scanpy's neighbours (obsp connectivities)",)
    if graph is None:
        points, used = representation(adata, options.features[0] if options.features else None)
        points, notes = _finite(path, points), (f"features: {used}",)
    return Dataset(
        source=path,
        ids=ids,
        labels=clean_labels(labels),
        points=points,
        graph=graph,
        layout=map_of(adata),
        notes=notes,
    )


def _read_graph(path: Path, kind: str, options: ReadOptions) -> Dataset:
    if options.labels_file is None:
        raise InvalidInputError(
            f"{path} is a graph, which holds no labels: give them in a second file with "
            "--labels-file"
        )
    if kind == ".mtx":
        graph, ids = read_matrix_market(path)
    else:
        graph, ids = read_edge_list(path, delimiter=options.delimiter, encoding=options.encoding)
    none = np.full(len(ids), None, dtype=object)
    return Dataset(source=path, ids=ids, labels=none, graph=graph)


# -- labels and ids ----------------------------------------------------------------------------


def clean_labels(cells: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Labels as text, or as whole numbers if all are; None where there is none."""
    labels = np.full(len(cells), None, dtype=object)
    for k, cell in enumerate(cells):
        labels[k] = _label(cell)
    given = [v for v in labels if v is not None]
    if given and all(_is_whole(v) for v in given):
        for k, value in enumerate(labels):
            labels[k] = None if value is None else int(value)
    return labels


def _label(cell: Any) -> str | None:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, (float, np.floating)):
        if np.isnan(cell):
            return None
        cell = int(cell) if cell == int(cell) else cell
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    text = str(cell).strip()
    return None if is_missing(text) or text == "-1" else text


def _all_labels(count: int) -> str:
    return "the only label is" if count == 1 else f"all {count} labels are"


def _is_whole(text: str) -> bool:
    # Only numbers that would be written the same way: 007 and 1e3 are names.
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(text)) == text and len(digits) < 16


def _labels_from_file(ids: list[str], options: ReadOptions) -> npt.NDArray[np.object_]:
    path = options.labels_file
    assert path is not None  # the caller asked
    if not path.is_file():
        raise InvalidInputError(f"{path} does not exist: check --labels-file")
    if path.suffix.lower() == ".npy":
        values = read_npy(path)
        if values.shape != (len(ids),):
            raise InvalidInputError(
                f"{path} has shape {values.shape}, but there are {len(ids)} points: give one label "
                "per point"
            )
        return clean_labels(values.tolist())
    needed = [options.labels] if options.labels else []
    table = read_text_table(
        path, needed=needed, delimiter=options.delimiter, encoding=options.encoding
    )
    column = options.labels or table.columns[-1]
    cells = clean_labels(table.column(column))
    if len(table.columns) == 1:
        if len(cells) != len(ids):
            raise InvalidInputError(
                f"{path} has {len(cells)} rows and no column of ids, but there are {len(ids)} "
                "points: give one row per point, or add a column of ids"
            )
        return cells
    key = options.id if options.id in table.columns else None
    key = key or next(name for name in table.columns if name != column)
    place = {name: k for k, name in enumerate(ids)}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[str] = set()
    for cell, name, line in zip(cells, table.column(key), table.lines, strict=True):
        name = name.strip()
        if name not in place:
            raise InvalidInputError(
                f"{path} labels {name!r} in line {line}, which is not among the {len(ids)} points: "
                f"ids are looked up in column {key!r}"
            )
        if name in seen:
            raise InvalidInputError(f"{path} labels {name!r} twice (line {line}): keep one")
        seen.add(name)
        labels[place[name]] = cell
    return labels


def _array_labels(
    path: Path, arrays: Arrays, options: ReadOptions, n_points: int
) -> npt.NDArray[np.object_]:
    if options.labels_file is not None:
        return np.full(n_points, None, dtype=object)
    name = options.labels or "y"
    _require(path, tuple(arrays), [name])
    if arrays[name].shape != (n_points,):
        raise InvalidInputError(
            f"{path}: the array {name!r} has shape {arrays[name].shape}, but there are {n_points} "
            "points: give one label per point"
        )
    return clean_labels(arrays[name].tolist())


def _ids_of(path: Path, arrays: Arrays, options: ReadOptions, n_points: int) -> list[str]:
    if options.id is None or options.id not in arrays:
        return _row_numbers(n_points)
    if arrays[options.id].shape != (n_points,):
        raise InvalidInputError(
            f"{path}: the array {options.id!r} has shape {arrays[options.id].shape}, but there are "
            f"{n_points} points: give one id per point"
        )
    return [str(v) for v in arrays[options.id].tolist()]


def _check_ids(path: Path, ids: list[str]) -> None:
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


# -- small checks ------------------------------------------------------------------------------


def _needed_columns(path: Path, options: ReadOptions) -> list[str]:
    if options.labels is None and options.labels_file is None:
        raise InvalidInputError(f"{path}: which column holds the labels? Name it with --labels")
    needed = list(options.features)
    if options.labels_file is None and options.labels is not None:
        needed.insert(0, options.labels)
    if options.id is not None and options.labels_file is None:
        needed.append(options.id)
    return needed


def _feature_columns(columns: Sequence[str], options: ReadOptions) -> list[str]:
    if options.features:
        return list(options.features)
    others = {options.labels, options.id, *options.exclude}
    return [name for name in columns if name not in others]


def _require(path: Path, columns: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if name not in columns:
            raise InvalidInputError(
                f"{path} has no column {name!r}: it has {listed(columns)}; name one of them"
            )


def _row_numbers(n_rows: int) -> list[str]:
    return [str(k + 1) for k in range(n_rows)]


def _left_out(names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = listed([repr(name) for name in names])
    return (f"left out {len(names)} columns without numbers, or that count rows: {shown}",)


def _finite(path: Path, points: FloatArray) -> FloatArray:
    bad = ~np.isfinite(points)
    if np.any(bad):
        row, column = np.argwhere(bad)[0]
        raise InvalidInputError(
            f"{path} lacks {int(bad.sum())} feature values, the first in row {row + 1}, column "
            f"{column + 1}, and distances need all of them: fill them in or drop those rows"
        )
    return points


def _check_magic(path: Path, magic: bytes, kind: str) -> None:
    with open(path, "rb") as file:
        if file.read(len(magic)) != magic:
            raise InvalidInputError(
                f"{path} is not a {kind} file, whatever its ending says: check the file"
            )


def _sparse_graph(path: Path, arrays: Arrays) -> Graph:
    from scipy.sparse import csr_array

    try:
        shape = tuple(arrays["shape"].tolist())
        matrix = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{path} is not a sparse matrix in CSR form: {error}") from error
    return Graph.from_sparse(matrix)
