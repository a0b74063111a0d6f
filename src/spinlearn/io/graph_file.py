"""Precomputed graphs: Matrix Market (.mtx) and lists of edges with ids.

An edge list has two or three columns, id, id and weight (1 if absent), with or without a heading. A
pair listed in both directions is one edge; different weights for it are an error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.io.text_table import read_text_table

MATRIX_MARKET = b"%%MatrixMarket"


def read_matrix_market(path: Path) -> tuple[Graph, list[str]]:
    """Graph of a symmetric matrix; ids are the row numbers of the file, from 1."""
    from scipy.io import mmread

    try:
        with open(path, "rb") as file:
            first = file.read(len(MATRIX_MARKET))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be opened: {error.strerror or error}") from error
    if first.lower() != MATRIX_MARKET.lower():
        raise InvalidInputError(
            f"{path} is not a Matrix Market file: it does not begin with %%MatrixMarket"
        )
    try:
        matrix = mmread(path)
    except (ValueError, OverflowError, MemoryError) as error:
        raise InvalidInputError(f"{path} cannot be read as Matrix Market: {error}") from error
    graph = Graph.from_sparse(matrix)
    return graph, [str(k + 1) for k in range(graph.n_nodes)]


def read_edge_list(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> tuple[Graph, list[str]]:
    """Graph of a list of edges; ids in the order in which they first appear."""
    table = read_text_table(path, delimiter=delimiter, encoding=encoding, heading=False)
    if len(table.columns) not in (2, 3):
        raise InvalidInputError(
            f"{path} has {len(table.columns)} columns, but an edge list has two or three (id, id, "
            "weight), separated by tabs: check the delimiter"
        )
    rows, lines = table.rows, table.lines
    if len(table.columns) == 3 and rows and _number(rows[0][2]) is None:
        rows, lines = rows[1:], lines[1:]  # a heading
    elif rows and [cell.strip().lower() for cell in rows[0][:2]] in HEADINGS:
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise InvalidInputError(f"{path} lists no edge: give one per line")
    number: dict[str, int] = {}
    edges = np.empty((len(rows), 2), dtype=np.int64)
    weights = np.ones(len(rows))
    for k, (row, line) in enumerate(zip(rows, lines, strict=True)):
        for end in (0, 1):
            name = row[end].strip()
            if not name:
                raise InvalidInputError(f"{path} has an empty id in line {line}: fill it in")
            edges[k, end] = number.setdefault(name, len(number))
        if len(row) == 3:
            weight = _number(row[2])
            if weight is None or not np.isfinite(weight):
                raise InvalidInputError(
                    f"{path} has the weight {row[2]!r} in line {line}: weights are finite numbers"
                )
            weights[k] = weight
    _check_directions(path, edges, weights, lines)
    graph = Graph(len(number), edges, weights, duplicates="first")
    return graph, list(number)


HEADINGS = (["source", "target"], ["from", "to"], ["u", "v"], ["node1", "node2"], ["id1", "id2"])


def _number(text: str) -> float | None:
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
