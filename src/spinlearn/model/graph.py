"""Graph: a checked, immutable list of weighted undirected edges with a CSR view; its parts.

Axes: n nodes, m edges. `edges[e] = (u, v)` with u < v, sorted, unique; `weights[e]` finite and
non-zero, of either sign. Row i of the CSR view lists the neighbours of node i and the edge ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    integer_array,
    real_array,
    restore,
)

BALL = 20_000  # nodes; with ten neighbours and ten states their messages take 10 MB


class AsymmetricError(InvalidInputError):
    """A matrix is no graph, because it is not symmetric; it may be something else."""


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Graph:
    """A weighted graph without directions: which points are similar, and how much.

    Axes are n nodes and m edges. A graph cannot be changed once it is made.

    Parameters
    ----------
    n_nodes : int
        Number of nodes; nodes without an edge are allowed.
    edges : array-like of int, shape (m, 2)
        Pairs of node numbers in either order. Self-loops are dropped: a point always agrees with
        itself, so they never change the energy.
    weights : array-like of float, shape (m,), optional
        One finite similarity per edge, of either sign; ones by default. Edges of weight zero are
        dropped.
    duplicates : {"error", "sum", "first"}, default "error"
        What to do when an edge is listed twice (the reversed pair counts as the same edge).

    Attributes
    ----------
    n_nodes, n_edges : int
        Number of nodes, number of edges m.
    edges : int32 array (m, 2)
        Pairs (u, v) with u < v, sorted, each once.
    weights : float array (m,)
        Similarity of every edge.
    indptr : int32 array (n + 1,)
        Where the neighbours of every node begin in `neighbors`.
    neighbors : int32 array (2m,)
        Neighbours of node i at ``neighbors[indptr[i]:indptr[i + 1]]``.
    edge_ids : int32 array (2m,)
        The edge, a row of `edges`, that leads to each of these neighbours.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)], weights=[1, 2, 1, 2])
    >>> ring
    Graph(n_nodes=4, n_edges=4)
    >>> ring.edges.tolist(), ring.degrees.tolist()
    ([[0, 1], [0, 3], [1, 2], [2, 3]], [2, 2, 2, 2])
    """

    n_nodes: int
    edges: IntArray
    weights: FloatArray
    indptr: IntArray
    neighbors: IntArray
    edge_ids: IntArray
    n_edges: int

    def __init__(
        self,
        n_nodes: int,
        edges: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        duplicates: Literal["error", "sum", "first"] = "error",
    ) -> None:
        from scipy.sparse import coo_array

        try:
            nodes = int(n_nodes)
        except (TypeError, ValueError, OverflowError):
            nodes = 0
        if nodes != n_nodes or nodes < 1:
            raise InvalidInputError(f"n_nodes must be a whole number >= 1, got {n_nodes!r}")
        if nodes > np.iinfo(np.int32).max:
            raise InvalidInputError(
                f"n_nodes={nodes} is too large: node numbers are 32-bit, so split the graph"
            )
        pairs = integer_array(edges, "edges")
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InvalidInputError(f"edges must have shape (m, 2), got {pairs.shape}")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= nodes):
            bad = int(pairs.min() if pairs.min() < 0 else pairs.max())
            raise InvalidInputError(
                f"edges name node {bad}, but the graph has nodes 0 to {nodes - 1}"
            )
        if weights is None:
            values: npt.NDArray[np.float64] = np.ones(len(pairs))
        else:
            values = real_array(weights, "weights", (len(pairs),))
        if duplicates not in ("error", "sum", "first"):
            raise InvalidInputError(
                f"duplicates={duplicates!r} is unknown: use 'error', 'sum' or 'first'"
            )
        kept = pairs[:, 0] != pairs[:, 1]
        pairs, values = np.sort(pairs[kept], axis=1), values[kept]
        keys = pairs[:, 0] * nodes + pairs[:, 1]
        if np.any(keys[1:] <= keys[:-1]):  # builders list them in order
            unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            if len(unique) < len(keys) and duplicates == "error":
                counts = np.bincount(inverse)
                u, v = divmod(int(unique[np.argmax(counts > 1)]), nodes)
                raise InvalidInputError(
                    f"{int(np.sum(counts > 1))} edges are listed more than once, for example "
                    f"({u}, {v}); pass duplicates='sum' to add their weights, or 'first' if both "
                    "directions are listed"
                )
            pairs, sums = pairs[first], np.bincount(inverse, values)
            values = np.asarray(sums, np.float64) if duplicates == "sum" else values[first]
        pairs, values = pairs[values != 0], values[values != 0]

        # Rows of a sparse matrix whose entries are the numbers of the edges, those below first.
        low, high = pairs.astype(np.int32).T
        ends = np.concatenate([high, low]), np.concatenate([low, high])
        ids = np.tile(np.arange(len(pairs), dtype=np.int32), 2)
        rows = coo_array((ids, ends), shape=(nodes, nodes)).tocsr()
        for name, array, dtype in (
            ("edges", pairs, np.int32),
            ("weights", values, np.float64),
            ("indptr", rows.indptr, np.int32),
            ("neighbors", rows.indices, np.int32),
            ("edge_ids", rows.data, np.int32),
        ):
            object.__setattr__(self, name, frozen(array, dtype))
        object.__setattr__(self, "n_nodes", nodes)
        object.__setattr__(self, "n_edges", len(pairs))

    @classmethod
    def from_sparse(cls, matrix: Any) -> Graph:
        """Graph of a symmetric `matrix`, sparse or not, but for its diagonal and (stored) zeros."""
        if hasattr(matrix, "tocoo"):
            coo = matrix.tocoo()
            rows, cols, values, shape = coo.row, coo.col, np.asarray(coo.data), coo.shape
        else:
            dense = np.asarray(matrix)
            if dense.ndim != 2:
                raise InvalidInputError(f"a graph matrix must be 2-D, got shape {dense.shape}")
            rows, cols = np.nonzero(dense)
            values, shape = dense[rows, cols], dense.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise InvalidInputError(
                f"a graph matrix must be square, got shape {tuple(shape)}; "
                "for points use a graph builder such as MutualKNN"
            )
        n_nodes = int(shape[0])
        values = real_array(values, "graph matrix", (len(rows),))
        # Stored duplicates of one entry add up, as everywhere in SciPy.
        pairs = np.column_stack([rows, cols])
        upper, lower = rows < cols, rows > cols
        graph = cls(n_nodes, pairs[upper], values[upper], duplicates="sum")
        mirror = cls(n_nodes, pairs[lower], values[lower], duplicates="sum")
        same_places = np.array_equal(graph.edges, mirror.edges)
        if not (same_places and np.allclose(graph.weights, mirror.weights, rtol=1e-9, atol=0)):
            raise AsymmetricError(
                "the graph matrix is not symmetric, but couplings are mutual: "
                "pass (W + W.T) / 2, W.maximum(W.T) or W.minimum(W.T)"
            )
        return graph

    @property
    def degrees(self) -> IntArray:
        """Number of neighbours of every node, shape (n,)."""
        return np.diff(self.indptr)

    def node_sums(self, values: FloatArray) -> FloatArray:
        """Sum of `values` (m,) over the edges of every node; of the weights, its degree."""
        low, high = (np.bincount(end, values, minlength=self.n_nodes) for end in self.edges.T)
        return np.asarray(low + high, dtype=np.float64)

    def with_weights(self, weights: npt.ArrayLike) -> Graph:
        """The same edges with other `weights` (m,), in the order of `edges`; zeros drop edges."""
        values = real_array(weights, "weights", (self.n_edges,))
        if not np.all(values):
            return Graph(self.n_nodes, self.edges, values)
        same = object.__new__(Graph)
        for name in self.__slots__:
            object.__setattr__(same, name, getattr(self, name))
        object.__setattr__(same, "weights", values)
        return same

    def homogeneous(self) -> Graph:
        """The same edges with weights that bind all nodes about equally, of mean 1.

        J_ij = w_ij / sqrt(d_i d_j), d_i the sum of the absolute weights at node i, over the mean of
        all absolute J; signs stay. Nodes with many or strong edges are then held no better than
        others, and lose their order at about the same temperature.
        """
        if self.n_edges == 0:
            return self
        # Roots and ratios to the node's strongest edge, so that no weight is too large or small.
        root = np.sqrt(np.abs(self.weights))
        strongest = np.zeros(self.n_nodes)
        np.maximum.at(strongest, self.edges, root[:, None])
        share = root[:, None] / strongest[self.edges]
        # d over the strongest weight
        total = np.bincount(self.edges.ravel(), (share**2).ravel(), minlength=self.n_nodes)
        values = np.prod(share / np.sqrt(total[self.edges]), axis=1)
        values /= values.mean()
        # An edge stays an edge, however weak it is beside its neighbours.
        values = np.maximum(values, np.finfo(np.float64).tiny)
        return self.with_weights(np.copysign(values, self.weights))

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)

    def __repr__(self) -> str:
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges})"


def connected_parts(n_nodes: int, edges: IntArray) -> IntArray:
    """Number of the connected part of every node, in the order of their first nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = (edges[:, 0], edges[:, 1])
    links = coo_array((np.ones(len(edges), np.int8), ends), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int32)


def reached(graph: Graph, marked: BoolArray, links: BoolArray | None = None) -> BoolArray:
    """Nodes in a part, connected by `links` (default: all edges), that holds a marked one, (n,)."""
    part = connected_parts(graph.n_nodes, graph.edges if links is None else graph.edges[links])
    return np.isin(part, part[marked])


def near_order(
    indptr: IntArray, neighbors: IntArray, left_out: BoolArray | None = None
) -> npt.NDArray[np.int32]:
    """Nodes, but those left out, such that sweeps find neighbours in the cache.

    Reverse Cuthill-McKee up to BALL nodes, beyond `spinlearn.kernels.graph_tools.list_in_balls`.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    from spinlearn.kernels.graph_tools import list_in_balls

    n = len(indptr) - 1
    if n <= BALL and left_out is None:
        links = csr_array((np.ones(len(neighbors), dtype=np.int8), neighbors, indptr), shape=(n, n))
        order = reverse_cuthill_mckee(links, symmetric_mode=True) if n else []
        return np.asarray(order, dtype=np.int32)
    listed = np.zeros(n, dtype=np.bool_) if left_out is None else left_out.copy()
    order, borders = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    count = list_in_balls(indptr, neighbors, BALL, listed, borders, order)
    return order[:count] if count == n else order[:count].copy()
