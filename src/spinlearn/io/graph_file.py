"""Precomputed graphs in files: sparse matrices, lists of edges with ids.

An edge list has two or three columns, id, id and weight (1 if absent), with or without a heading,
or is what networkx writes by default. Lines that begin with # or % are comments. A pair listed in
both directions is one edge; different weights for it are an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.answers.labels import is_missing
from spinlearn.core.array_file import Arrays
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.io.decimals import has_point, pointed
from spinlearn.io.sparse_checks import check_lists
from spinlearn.io.text_table import Row, read_text_rows

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


@dataclass(frozen=True, slots=True, eq=False)
class ReadGraph:
    """A graph of a file, with the ids of its nodes and what the user should know of the reading."""

    graph: Graph
    ids: list[str]
    notes: tuple[str, ...] = ()


def check_node_count(path: Path, n_nodes: int, n_edges: int) -> None:
    """Refuse a size that a few bytes can claim and no memory can hold."""
    if n_nodes > MANY_NODES and n_nodes > NODES_PER_EDGE * n_edges:
        raise InvalidInputError(
            f"{path} claims {n_nodes} nodes but {n_edges} edges, so that nearly all nodes stand "
            "alone: keep those that have an edge"
        )


def matrix_graph(path: Path, matrix: Any) -> tuple[Graph, tuple[str, ...]]:
    """Graph of a matrix, sparse or dense, that a file held, and what was done about its form."""
    from scipy.sparse import csr_array, tril, triu

    square = csr_array(matrix)
    if square.shape[0] != square.shape[1]:
        raise InvalidInputError(
            f"{path} holds a matrix of {square.shape[0]} by {square.shape[1]}, but a graph has one "
            "row and one column per node: give features as a dense array; if it is of counts with "
            "genes as rows, read it with scanpy and save it as .h5ad"
        )
    notes: tuple[str, ...] = ()
    again = getattr(matrix, "nnz", square.nnz) - square.nnz
    if again:
        notes = (f"{again} entries stand where there is one already: they are added up",)
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
            f"{path} gives one pair two weights ({square[row, column]:g} in row {row + 1}, column "
            f"{column + 1}, and {square[column, row]:g} the other way round), but couplings are "
            "mutual: store the mean of the two in both places"
        )
    with errors_about(path):
        return Graph.from_sparse(square), notes


def is_sparse(arrays: Arrays) -> bool:
    """Whether arrays are those of one sparse matrix."""
    return {"data", "shape"} <= set(arrays) and not {"format", "indptr"}.isdisjoint(arrays)


def sparse_graph(path: Path, arrays: Arrays) -> tuple[Graph, tuple[str, ...]]:
    """Graph of a sparse matrix as scipy.sparse.save_npz stores it, as `matrix_graph` gives it."""
    from scipy.sparse import coo_array, csr_array

    try:
        shape = _two_sizes(arrays["shape"])
        if arrays["data"].ndim != 1 or arrays["data"].dtype.kind not in "biuf":
            raise ValueError(f"its values are {arrays['data'].dtype}, no list of numbers")
        data = arrays["data"].astype(np.float64)
        if {"row", "col"} <= set(arrays):
            check_node_count(path, max(shape), len(data))
            matrix = coo_array((data, (arrays["row"], arrays["col"])), shape=shape)
        else:  # the columns of a symmetric matrix are its rows
            lists = (data, arrays["indices"], arrays["indptr"])
            by_rows = str(arrays.get("format", "csr")) != "csc"
            check_lists(*lists, *(shape if by_rows else shape[::-1]))
            matrix = csr_array(lists, shape=shape if by_rows else shape[::-1])
    except InvalidInputError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise InvalidInputError(
            f"{path} is not a sparse matrix in CSR, CSC or COO form: {error}"
        ) from error
    return matrix_graph(path, matrix)


def _two_sizes(shape: np.ndarray[Any, np.dtype[Any]]) -> tuple[int, int]:
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or np.any(shape < 0):
        raise ValueError(f"its shape is {shape.tolist()}")
    rows, columns = shape.tolist()
    return rows, columns


@contextmanager
def errors_about(path: Path) -> Iterator[None]:
    """Name the file in errors of parts that know nothing about files."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def read_edge_list(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8", decimal: str = "."
) -> ReadGraph:
    """Graph of a list of edges; ids in the order in which they first appear."""
    given = read_text_rows(path, delimiter=delimiter, encoding=encoding)
    rows = [(line, _without_attributes(path, line, cells)) for line, cells in given]
    if decimal == ",":
        rows = [(line, _with_point(path, line, cells)) for line, cells in rows]
    _check_widths(path, rows)
    if _is_heading(rows):
        rows = rows[1:]
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
    _check_directions(path, edges, weights, [line for line, _ in rows])
    graph = Graph(len(number), edges, weights, duplicates="first")
    return ReadGraph(graph, list(number))


def _without_attributes(path: Path, line: int, cells: list[str]) -> list[str]:
    """Id, id and weight, where networkx's attributes in braces hold at most a weight."""
    if len(cells) < 3 or not cells[2].startswith("{"):
        return cells
    attributes = " ".join(cells[2:]).strip()
    found = ATTRIBUTES.fullmatch(attributes)
    if found is None:
        raise InvalidInputError(
            f"{path} has the attributes {attributes} in line {line}, but an edge has a weight "
            "alone: write the list with networkx.write_weighted_edgelist"
        )
    return [*cells[:2], found["weight"] or "1"]


def _with_point(path: Path, line: int, cells: list[str]) -> list[str]:
    """Id, id and weight, whose decimal comma becomes a point."""
    if any(map(has_point, cells[2:])):
        raise InvalidInputError(
            f"{path} has the weight {cells[2]!r} in line {line}, but --decimal , says that "
            "decimals have commas: write all weights alike"
        )
    return [*cells[:2], *map(pointed, cells[2:])]


def _check_widths(path: Path, rows: list[Row]) -> None:
    if not rows:
        return
    width = len(rows[0][1])
    if width not in (2, 3) or rows[0][1][0].endswith((",", ";")):
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


def is_edge_heading(columns: Sequence[str]) -> bool:
    """Whether a table with these columns is a list of edges."""
    return len(columns) in (2, 3) and _names_ends(columns)


def _names_ends(columns: Sequence[str]) -> bool:
    first, second = (name.strip().lower() for name in columns[:2])
    return first != second and {first, second} <= HEADING_WORDS


def _is_heading(rows: list[Row]) -> bool:
    """Whether the first line names the columns, and is no edge whose weight is broken."""
    if not rows:
        return False
    first = [cell.strip() for cell in rows[0][1]]
    known = _names_ends(first)
    if len(first) == 3:
        weight = first[2]
        is_word = WORD.fullmatch(weight) is not None and not is_missing(weight)
        if _number(weight) is not None or not (known or is_word):
            return False
    elif not known:
        return False
    return not any(cell.strip() in first[:2] for _, cells in rows[1:] for cell in cells[:2])


def _number(text: str) -> float | None:
    if "_" in text:  # Python reads 1_000 as a number
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _check_directions(
    path: Path,
    edges: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    weights: object,
    lines: list[int],
) -> None:
    values = np.asarray(weights, dtype=np.float64)
    pairs = np.sort(edges, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    same = np.all(pairs[order][1:] == pairs[order][:-1], axis=1)
    clash = same & (values[order][1:] != values[order][:-1])
    if np.any(clash):
        k = int(np.argmax(clash))
        a, b = sorted((lines[order[k]], lines[order[k + 1]]))
        raise InvalidInputError(
            f"{path} gives one pair two weights (lines {a} and {b}), but couplings are mutual: "
            "keep one, or their mean"
        )
