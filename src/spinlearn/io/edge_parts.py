"""Lists of edges in Parquet: one file, or a folder of parts, as other programs write large graphs.

Two or three columns: the ids of both ends, whole numbers or text, and the weight (1 if absent). A
pair listed twice, in whichever direction, is one edge; different weights for it are an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.io.graph_file import SAME, ReadGraph

ENDING = ".parquet"


def is_edge_parts(path: Path) -> bool:
    """Whether this is a folder of Parquet files."""
    return path.is_dir() and any(path.glob(f"*{ENDING}"))


def read_edge_parts(path: Path) -> ReadGraph:
    """The graph of a Parquet file, or of all in a folder, in the order of their names."""
    files = sorted(path.glob(f"*{ENDING}")) if path.is_dir() else [path]
    ends, weights = _columns(files)
    ids, numbers = _numbered(ends)
    pairs = np.sort(numbers.reshape(2, -1).T, axis=1)
    pairs, weights = _once(path, pairs, weights, ids)
    graph = Graph(len(ids), pairs, weights)
    return ReadGraph(graph, ids)


def _columns(files: list[Path]) -> tuple[Any, FloatArray]:
    """Ends of all edges, first all of one kind, then all of the other, and the weights."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow, which is not installed: pip install pyarrow"
        ) from error
    first: list[Any] = []
    second: list[Any] = []
    weights: list[npt.NDArray[Any]] = [np.empty(0)]
    for file in files:
        try:
            table = parquet.read_table(file)
        # Arrow, and the text inside, have many ways to fail.
        except Exception as error:
            raise InvalidInputError(f"{file} cannot be read as Parquet: {error}") from error
        if table.num_columns not in (2, 3):
            raise InvalidInputError(
                f"{file} has {table.num_columns} columns, but a list of edges has two or three: "
                "id, id, weight"
            )
        for column in table.columns[:2]:
            if column.null_count:
                raise InvalidInputError(f"{file} has edges without an end: drop those rows")
        first += table.column(0).chunks
        second += table.column(1).chunks
        if table.num_columns == 3:
            kind = table.schema.types[2]
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
                raise InvalidInputError(f"{file}: weights are {kind}, but they must be numbers")
            weights.append(table.column(2).to_numpy().astype(np.float64))
        else:
            weights.append(np.ones(table.num_rows))
    if not first:
        raise InvalidInputError(f"{files[0].parent if files else 'the folder'} holds no edges")
    try:
        ends = pa.chunked_array([*first, *second])
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInputError(
            f"the ids of both ends, in all parts, must be of one type: {error}"
        ) from error
    return ends, np.concatenate(weights)


def _numbered(ends: Any) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Ids in their order, and the number of each end."""
    encoded = ends.dictionary_encode().unify_dictionaries()
    words = encoded.chunk(0).dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(words, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    numbers = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return [str(word) for word in words[order]], rank[numbers]


def _once(
    path: Path, pairs: npt.NDArray[np.int64], weights: FloatArray, ids: list[str]
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Every pair once."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs, weights = pairs[order], weights[order]
    same = np.all(pairs[1:] == pairs[:-1], axis=1)
    apart = np.abs(weights[1:] - weights[:-1]) > SAME * np.abs(weights[1:])
    clash = np.flatnonzero(same & apart)
    if len(clash):
        one, other = (ids[int(k)] for k in pairs[clash[0]])
        raise InvalidInputError(
            f"{path} gives the pair {one!r}, {other!r} two weights, but couplings are mutual: keep "
            "one, or their mean"
        )
    kept = np.concatenate([[True], ~same]) if len(pairs) else np.empty(0, dtype=bool)
    return pairs[kept], weights[kept]
