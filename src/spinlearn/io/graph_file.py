"""Graphs in files: sparse matrices (.npz), Matrix Market (.mtx), lists of edges (.edges, Parquet).

An edge list has two or three columns, id, id and weight (1 if absent), with or without a heading,
or is what networkx writes by default. Lines that begin with # or % are comments. In Parquet it is
one file, or a folder of parts, as other programs write large graphs. A pair listed twice, in
whichever direction, is one edge; different weights for it are an error.

SciPy trusts the places that a sparse matrix says its values have: wrong ones are read and written
outside its arrays, which ends the process or, worse, does not. Its reader of Matrix Market takes
`3.5E-` for a number, and reads beyond the end of a file that ends with it. So places are checked
here, and entries are read by pandas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import is_missing
from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import Arrays
from spinlearn.graphs.points import checked_features
from spinlearn.io.dataset import Dataset, ReadOptions, row_numbers
from spinlearn.io.names import GRAPH_ALONE, id_column, refuse_features
from spinlearn.io.table import Row, Table, import_parquet, pointed, read_text_rows
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph

PARQUET = ".parquet"
MANY_NODES = 10**6  # no graph is refused below, however few its edges
NODES_PER_EDGE = 100
SAME = 1e-9  # relative difference of two weights that are one but for rounding
HEADING_WORDS = {
    "source", "target", "src", "dst", "from", "to", "head", "tail", "u", "v", "i", "j",
    "node1", "node2", "nodea", "nodeb", "fromnodeid", "tonodeid", "id1", "id2",
}  # fmt: skip
WORD = re.compile(r"\D*[^\W\d_]\D*")
# What networkx.write_edgelist puts behind a pair; NumPy's numbers bring their name along.
ATTRIBUTES = re.compile(
    r"""\{\s*((?P<quote>['"])weight(?P=quote)\s*:\s*(np\.\w+\()?(?P<weight>[-+.\deE]+)\)?\s*)?\}"""
)
MATRIX_MARKET = re.compile(
    rb"%%MatrixMarket\s+(?i:matrix\s+(coordinate|array)"
    rb"\s+(real|double|integer|unsigned-integer|pattern)"
    rb"\s+(general|symmetric|skew-symmetric|hermitian))(?!\S)"
)
LONGEST_LINE = 1 << 16  # of a Matrix Market file, as far as it is looked at


def read_graph_data(path: Path, options: ReadOptions, label_table: Table | None) -> Dataset:
    """The nodes of a graph; of a Matrix Market file that is not square, points."""
    if options.labels_file is None and not options.for_labelling:
        raise InvalidInputError(GRAPH_ALONE.format(path))
    refuse_features(path, options)
    notes: tuple[str, ...] = ()
    id_column(Table(path=options.labels_file or path, cells={}), options, label_table)
    if path.is_dir() or path.suffix.lower() == PARQUET:
        graph, ids = _read_edge_parts(path)
    elif path.suffix.lower() == ".mtx":
        held, notes = _read_matrix_market(path)
        if not isinstance(held, Graph):
            return sparse_points(path, held, notes)
        graph, ids = held, row_numbers(held.n_nodes)
        notes += ("nodes are numbered from 0, as rows of a matrix in Python: the file's 1 is '0'",)
    else:
        graph, ids = _read_edge_list(path, options)
    none = np.full(len(ids), None, dtype=object)
    return Dataset(source=path, ids=ids, labels=none, graph=graph, notes=notes)


# -- matrices --------------------------------------------------------------------------------------


def check_node_count(path: Path, n_nodes: int, n_edges: int) -> None:
    """Refuse a size that a few bytes can claim and no memory can hold."""
    if n_nodes > MANY_NODES and n_nodes > NODES_PER_EDGE * n_edges:
        raise InvalidInputError(
            f"{path} claims {n_nodes} nodes but {n_edges} edges (or features but values), so that "
            "nearly all stand alone: keep the others"
        )


def sparse_points(path: Path, rows: Any, notes: tuple[str, ...]) -> Dataset:
    """Points, without labels, of sparse features."""
    with errors_about(path):
        rows = checked_features(rows)
    n_points, n_features = rows.shape
    return Dataset(
        source=path,
        ids=row_numbers(n_points),
        labels=np.full(n_points, None, dtype=object),
        points=rows,
        feature_names=[f"X[{k}]" for k in range(n_features)],
        notes=(*notes, f"features: sparse, {n_points} rows of {n_features}"),
    )


def matrix_graph(path: Path, matrix: Any) -> tuple[Any, tuple[str, ...]]:
    """Graph of a matrix, sparse or dense, that a file held, and what was done about its form.

    One that is not square holds features, and is a csr_array.
    """
    from scipy.sparse import csr_array, tril, triu

    square = csr_array(matrix)
    notes: tuple[str, ...] = ()
    again = getattr(matrix, "nnz", square.nnz) - square.nnz
    if again:
        notes = (f"{again} entries stand where there is one already: they are added up",)
    if square.shape[0] != square.shape[1]:
        return square, notes
    upper, lower = triu(square, 1).count_nonzero(), tril(square, -1).count_nonzero()
    if upper + lower and 0 in (upper, lower):
        half = "upper" if upper else "lower"
        notes += (f"entries stand in the {half} triangle alone: they are taken as symmetric",)
        square = csr_array(square + square.T)
    other = square.T.tocsr()
    excess = (abs(square - other) - SAME * abs(square).maximum(abs(other))).tocoo()
    clash = np.flatnonzero(excess.data > 0)
    if len(clash):
        row, column = int(excess.row[clash[0]]), int(excess.col[clash[0]])
        raise InvalidInputError(
            f"{path} gives one pair two weights ({square[row, column]:g} in row {row}, column "
            f"{column}, from 0, and {square[column, row]:g} the other way round), but couplings "
            "are mutual: store the mean of the two in both places"
        )
    with errors_about(path):
        return Graph.from_sparse(square), notes


def is_sparse(arrays: Arrays) -> bool:
    """Whether arrays are those of one sparse matrix."""
    return {"data", "shape"} <= set(arrays) and not {"format", "indptr"}.isdisjoint(arrays)


def sparse_graph(path: Path, arrays: Arrays) -> tuple[Any, tuple[str, ...]]:
    """Graph or features of a sparse matrix as scipy.sparse.save_npz stores it (`matrix_graph`)."""
    from scipy.sparse import coo_array, csr_array

    try:
        sizes = arrays["shape"]
        if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or np.any(sizes < 0):
            raise ValueError(f"its shape is {sizes.tolist()}")
        shape = (int(sizes[0]), int(sizes[1]))
        if arrays["data"].ndim != 1 or arrays["data"].dtype.kind not in "biuf":
            raise ValueError(f"its values are {arrays['data'].dtype}, no list of numbers")
        data = arrays["data"].astype(np.float64)
        check_node_count(path, max(shape), len(data))
        if {"row", "col"} <= set(arrays):
            matrix = coo_array((data, (arrays["row"], arrays["col"])), shape=shape)
        else:
            lists = (data, arrays["indices"], arrays["indptr"])
            by_rows = "csc" not in str(arrays.get("format"))  # bytes
            check_lists(*lists, *(shape if by_rows else shape[::-1]))
            matrix = csr_array(lists, shape=shape if by_rows else shape[::-1])
            matrix = matrix if by_rows else matrix.T
    except InvalidInputError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise InvalidInputError(
            f"{path} is not a sparse matrix in CSR, CSC or COO form: {error}"
        ) from error
    return matrix_graph(path, matrix)


@contextmanager
def errors_about(path: Path) -> Iterator[None]:
    """Name the file in errors of parts that know nothing about files."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def check_lists(
    data: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    indptr: npt.NDArray[Any],
    n_lists: int,
    n_places: int,
) -> None:
    """Refuse a sparse matrix of `n_lists` lists whose places lie outside `n_places`, or overlap."""
    for name, values in (("indices", indices), ("indptr", indptr)):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(f"{name} is {values.dtype} of shape {values.shape}, no list of places")
    if data.shape != indices.shape:
        raise ValueError(f"there are {data.shape} values for {indices.shape} places")
    ends = (int(indptr[0]), int(indptr[-1])) if len(indptr) else ()
    if len(indptr) != n_lists + 1 or ends != (0, len(indices)) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("the beginnings of its rows are out of order")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_places):
        raise ValueError("values lie outside the matrix")


# -- Matrix Market ---------------------------------------------------------------------------------


def _read_matrix_market(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Graph or features of a matrix, as `matrix_graph` gives it."""
    from pandas import read_csv
    from pandas.errors import EmptyDataError
    from scipy.sparse import coo_array

    with open(path, "rb") as file:
        kind, field, symmetry, shape, n_entries, line = _mtx_heading(path, file)
        if n_entries > path.stat().st_size:  # an entry takes more than a byte
            raise InvalidInputError(
                f"{path} is truncated: it claims {n_entries} entries, more than the file can hold"
            )
        check_node_count(path, max(shape), n_entries)
        if symmetry != "general" and shape[0] != shape[1]:
            raise InvalidInputError(
                f"{path} is damaged: it claims to be {symmetry}, but to have {shape[0]} rows and "
                f"{shape[1]} columns: write general if it holds features"
            )
        width = 1 if kind == "array" else 2 if field == "pattern" else 3
        kinds = {2: np.float64} | dict.fromkeys((0, 1), np.int64 if width > 1 else np.float64)
        place = file.tell()
        try:
            entries = read_csv(
                file, sep=r"\s+", header=None, dtype=kinds, quoting=3, encoding="latin-1",
                float_precision="round_trip",
            )  # fmt: skip
            columns = [entries[k].to_numpy() for k in entries]
        except EmptyDataError:
            columns = [np.empty(0, dtype=np.int64)] * width
        except (ValueError, OverflowError, MemoryError):
            columns = []
        sound = len(columns) == width and bool(np.all(np.isfinite(columns[-1])))
        for values, size in zip(columns, shape if width > 1 else (), strict=False):
            sound = sound and bool(np.all((values >= 1) & (values <= size)))
        if not sound:
            file.seek(place)
            raise _mtx_error(path, file, line, width, shape)
    seen = len(columns[0])
    if seen != n_entries:
        what = "is truncated" if seen < n_entries else "is damaged"
        raise InvalidInputError(
            f"{path} {what}: it holds {seen} entries, but its size line claims {n_entries}"
        )
    values = np.ones(seen) if field == "pattern" else columns[-1].astype(np.float64)
    if kind == "coordinate":
        row, column = (k.astype(np.int32) - 1 for k in columns[:2])  # nodes are counted so, too
    elif symmetry == "general":  # column by column
        column, row = np.indices(shape[::-1]).reshape(2, -1)
    else:  # the lower half, column by column
        column, row = np.triu_indices(shape[0], symmetry == "skew-symmetric")
    if symmetry != "general":
        apart = row != column
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        values = np.concatenate([values, sign * values[apart]])
        row, column = np.append(row, column[apart]), np.append(column, row[apart])
    return matrix_graph(path, coo_array((values, (row, column)), shape=shape))


def _mtx_heading(path: Path, file: IO[bytes]) -> tuple[str, str, str, tuple[int, int], int, int]:
    """Format, field, symmetry, shape, number of entries, and the line before the first of them."""
    first = _line(file)
    words = MATRIX_MARKET.match(first)
    if words is None:
        raise InvalidInputError(
            f"{path} begins with {first[:60].decode('latin-1').strip()!r}, which is not a graph: "
            "write '%%MatrixMarket matrix coordinate', then real, integer or pattern, then "
            "symmetric or general"
        )
    kind, field, symmetry = (word.decode().lower() for word in words.groups())
    line, text = 1, b"%"
    while text and (text.startswith(b"%") or not text.strip()):
        line, text = line + 1, _line(file)
    numbers = text.split()
    wanted = 3 if kind == "coordinate" else 2
    if len(numbers) != wanted or not all(re.fullmatch(rb"[0-9]{1,10}", n) for n in numbers):
        raise InvalidInputError(
            f"{path} has no size in line {line}: give {wanted} whole numbers, rows, columns"
            + (" and entries" if wanted == 3 else "")
        )
    rows, columns, *entries = map(int, numbers)
    if rows == 0 or columns == 0:
        raise InvalidInputError(f"{path} holds no node: its size in line {line} is 0")
    # A symmetric full matrix is stored by half.
    half = rows * (rows - 1) // 2 + (0 if symmetry == "skew-symmetric" else rows)
    n_entries = entries[0] if entries else rows * columns if symmetry == "general" else half
    return kind, field, symmetry, (rows, columns), n_entries, line


def _line(file: IO[bytes]) -> bytes:
    """The beginning of the next line, however long that is."""
    line = part = file.readline(LONGEST_LINE)
    while part and not part.endswith(b"\n"):
        part = file.readline(LONGEST_LINE)
    return line


def _mtx_error(
    path: Path, file: IO[bytes], line: int, width: int, shape: tuple[int, int]
) -> InvalidInputError:
    """What is wrong with the first line that is no entry."""
    while text := _line(file):
        line += 1
        parts = text.decode("latin-1").split()
        numbers = [_number(part) for part in parts]
        sound = len(parts) == width and all(n is not None and np.isfinite(n) for n in numbers)
        if sound and width > 1:
            places = zip(numbers[:2], shape, strict=True)
            sound = all(n in range(1, size + 1) for n, size in places)
        if parts and not sound:
            return InvalidInputError(
                f"{path} has {' '.join(parts)[:40]!r} in line {line}, which is not an entry of a "
                f"matrix of {shape[0]} by {shape[1]}: give "
                + ("one" if width == 1 else "row, column")
                + ("" if width == 2 else " and a finite number")
            )
    return InvalidInputError(f"{path} cannot be read as Matrix Market: get it again")


# -- lists of edges --------------------------------------------------------------------------------


def is_edge_heading(columns: Sequence[str]) -> bool:
    """Whether a table with these columns is a list of edges."""
    ends = {name.strip().lower() for name in columns[:2]}
    return len(columns) in (2, 3) and len(ends) == 2 and ends <= HEADING_WORDS


def _read_edge_list(path: Path, options: ReadOptions) -> tuple[Graph, list[str]]:
    """Graph of a list of edges; ids in the order in which they first appear."""
    given = read_text_rows(path, delimiter=options.delimiter, encoding=options.encoding)
    rows = [(line, _edge(path, line, cells, options.decimal)) for line, cells in given]
    width = len(rows[0][1]) if rows else 0
    if rows and (width not in (2, 3) or rows[0][1][0].endswith((",", ";"))):
        raise InvalidInputError(
            f"{path} is not an edge list of two or three columns (id, id, weight): its line "
            f"{rows[0][0]} has {width}; check the delimiter"
        )
    for line, cells in rows:
        if len(cells) != width or any("\n" in cell for cell in cells):
            raise InvalidInputError(
                f"{path} has {len(cells)} cells up to line {line}, but {width} columns of one line "
                "each: check for a stray delimiter or a missing quote there"
            )
    if rows and _is_heading(rows):
        del rows[0]
    if not rows:
        raise InvalidInputError(f"{path} lists no edge: give one per line")
    number: dict[str, int] = {}
    edges = np.empty((len(rows), 2), dtype=np.int64)
    weights = np.ones(len(rows))
    for k, (line, cells) in enumerate(rows):
        for end in (0, 1):
            name = cells[end].strip()
            if not name:
                raise InvalidInputError(f"{path} has an empty id in line {line}: fill it in")
            edges[k, end] = number.setdefault(name, len(number))
        if len(cells) == 3:
            weight = _number(cells[2])
            if weight is None or not np.isfinite(weight):
                raise InvalidInputError(
                    f"{path} has the weight {cells[2]!r} in line {line}: weights are finite numbers"
                )
            weights[k] = weight
    edges, weights = _pairs_once(
        path, edges, weights, lambda a, b: f"(lines {rows[a][0]} and {rows[b][0]})"
    )
    return Graph(len(number), edges, weights), list(number)


def _edge(path: Path, line: int, cells: list[str], decimal: str) -> list[str]:
    """Id, id and weight, with a decimal point, and without networkx's attributes in braces."""
    if len(cells) >= 3 and cells[2].startswith("{"):
        attributes = " ".join(cells[2:]).strip()
        found = ATTRIBUTES.fullmatch(attributes)
        if found is None:
            raise InvalidInputError(
                f"{path} has the attributes {attributes} in line {line}, but an edge has a weight "
                "alone: write the list with networkx.write_weighted_edgelist"
            )
        return [*cells[:2], found["weight"] or "1"]
    if decimal == ".":
        return cells
    weights = [pointed(cell) for cell in cells[2:]]
    if None in weights:
        raise InvalidInputError(
            f"{path} has the weight {cells[2]!r} in line {line}, but --decimal , says that "
            "decimals have commas: write all weights alike"
        )
    return [*cells[:2], *(weight for weight in weights if weight is not None)]


def _is_heading(rows: list[Row]) -> bool:
    """Whether the first line names the columns, and is no edge whose weight is broken."""
    first = [cell.strip() for cell in rows[0][1]]
    heading = is_edge_heading(first)
    if len(first) == 3:
        is_word = WORD.fullmatch(first[2]) is not None and not is_missing(first[2])
        heading = _number(first[2]) is None and (heading or is_word)
    return heading and not any(c.strip() in first[:2] for _, cells in rows[1:] for c in cells[:2])


def _number(text: str) -> float | None:
    if "_" in text:  # Python reads 1_000 as a number
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _pairs_once(
    path: Path, edges: npt.NDArray[np.int64], weights: FloatArray, where: Callable[[int, int], str]
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Every pair once; `where` says which two rows give it different weights."""
    pairs = np.sort(edges, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs, weights = pairs[order], weights[order]
    same = np.all(pairs[1:] == pairs[:-1], axis=1)
    clash = same & (np.abs(weights[1:] - weights[:-1]) > SAME * np.abs(weights[1:]))
    if np.any(clash):
        k = int(np.argmax(clash))
        raise InvalidInputError(
            f"{path} gives one pair two weights {where(int(order[k]), int(order[k + 1]))}, but "
            "couplings are mutual: keep one, or their mean"
        )
    kept = np.concatenate([[True], ~same])
    return pairs[kept], weights[kept]


def _read_edge_parts(path: Path) -> tuple[Graph, list[str]]:
    """The graph of a Parquet file, or of all in a folder, in the order of their names."""
    parquet = import_parquet()
    import pyarrow as pa

    ends: tuple[list[Any], list[Any]] = [], []
    weights: list[npt.NDArray[Any]] = []
    for file in sorted(path.glob(f"*{PARQUET}")) if path.is_dir() else [path]:
        try:
            table = parquet.read_table(file)
        # Arrow, and the text inside, have many ways to fail.
        except Exception as error:
            raise InvalidInputError(f"{file} cannot be read as Parquet: {error}") from error
        if table.num_columns not in (2, 3):
            raise InvalidInputError(
                f"{file} has {table.num_columns} columns, but edges have 2 or 3: id, id, weight"
            )
        for end, column in zip(ends, table.columns[:2], strict=True):
            if column.null_count:
                raise InvalidInputError(f"{file} has edges without an end: drop those rows")
            end.extend(column.chunks)
        weights.append(np.ones(table.num_rows))
        if table.num_columns == 3:
            kind = table.schema.types[2]
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
                raise InvalidInputError(f"{file}: weights are {kind}, but they must be numbers")
            weights[-1] = table.column(2).to_numpy().astype(np.float64)
    if not sum(map(len, weights)):
        raise InvalidInputError(f"{path} holds no edges")
    try:
        encoded = pa.chunked_array(ends[0] + ends[1]).dictionary_encode().unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInputError(
            f"the ids of both ends, in all parts, must be of one type: {error}"
        ) from error
    names = encoded.chunk(0).dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(names, kind="stable")  # ids in their order
    numbers = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    edges = np.argsort(order)[numbers].reshape(2, -1).T
    ids = [str(name) for name in names[order]]
    pairs, strengths = _pairs_once(
        path,
        edges,
        np.concatenate(weights),
        lambda a, b: "({!r}, {!r})".format(*(ids[int(k)] for k in edges[a])),
    )
    return Graph(len(ids), pairs, strengths), ids
