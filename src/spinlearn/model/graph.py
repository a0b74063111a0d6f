"""Graph: a checked, immutable list of weighted undirected edges with a CSR view.

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
    FloatArray,
    IntArray,
    frozen,
    integer_array,
    real_array,
    restore,
)


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
    n_nodes : int
        Number of nodes.
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

    def __init__(
        self,
        n_nodes: int,
        edges: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        duplicates: Literal["error", "sum", "first"] = "error",
    ) -> None:
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
        kept = pairs[:, 0] != pairs[:, 1]
        pairs, values = np.sort(pairs[kept], axis=1), values[kept]
        pairs, values = _merged(pairs, values, nodes, duplicates)
        kept = values != 0
        pairs, values = pairs[kept], values[kept]

        indptr, neighbors, edge_ids = _rows(pairs.astype(np.int32), nodes)
        for name, array, dtype in (
            ("edges", pairs, np.int32),
            ("weights", values, np.float64),
            ("indptr", indptr, np.int32),
            ("neighbors", neighbors, np.int32),
            ("edge_ids", edge_ids, np.int32),
        ):
            object.__setattr__(self, name, frozen(array, dtype))
        object.__setattr__(self, "n_nodes", nodes)

    @classmethod
    def from_sparse(cls, matrix: Any) -> Graph:
        """Graph of a symmetric matrix of weights; its diagonal is ignored.

        Parameters
        ----------
        matrix : SciPy sparse matrix or array-like, shape (n, n)
            Weights; entries that are zero, stored or not, are not edges.

        Returns
        -------
        Graph
        """
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
        keys = np.asarray(rows, dtype=np.int64) * n_nodes + np.asarray(cols, dtype=np.int64)
        unique, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, weights=values, minlength=len(unique))
        rows, cols = unique // max(n_nodes, 1), unique % max(n_nodes, 1)
        kept = (rows != cols) & (sums != 0)
        rows, cols, sums = rows[kept], cols[kept], sums[kept]
        upper, lower = rows < cols, rows > cols
        order = np.lexsort((rows[lower], cols[lower]))  # as the transposed upper triangle
        same_places = np.array_equal(rows[upper], cols[lower][order]) and np.array_equal(
            cols[upper], rows[lower][order]
        )
        if not (same_places and np.allclose(sums[upper], sums[lower][order], rtol=1e-9, atol=0)):
            raise InvalidInputError(
                "the graph matrix is not symmetric, but couplings are mutual: "
                "pass (W + W.T) / 2, W.maximum(W.T) or W.minimum(W.T)"
            )
        return cls(n_nodes, np.column_stack([rows[upper], cols[upper]]), sums[upper])

    @property
    def n_edges(self) -> int:
        """Number of edges, m."""
        return len(self.edges)

    @property
    def degrees(self) -> IntArray:
        """Number of neighbours of every node, shape (n,)."""
        return np.diff(self.indptr)

    def node_sums(self, values: FloatArray) -> FloatArray:
        """Sum over the edges of every node; of the weights, its weighted degree.

        Parameters
        ----------
        values : float array (m,)
            One number for every edge.

        Returns
        -------
        float array (n,)
        """
        low, high = (np.bincount(end, values, minlength=self.n_nodes) for end in self.edges.T)
        return np.asarray(low + high, dtype=np.float64)

    def with_weights(self, weights: npt.ArrayLike) -> Graph:
        """The same edges with other weights.

        Parameters
        ----------
        weights : array-like of shape (m,)
            In the order of `edges`; an edge of weight zero is dropped.

        Returns
        -------
        Graph
        """
        values = real_array(weights, "weights", (self.n_edges,))
        if not np.all(values):  # an edge of weight zero is none
            return Graph(self.n_nodes, self.edges, values)
        same = object.__new__(Graph)
        for name in self.__slots__:
            object.__setattr__(same, name, getattr(self, name))
        object.__setattr__(same, "weights", values)
        return same

    def homogeneous(self) -> Graph:
        """The same edges with weights that bind all nodes about equally, of mean 1.

        J_ij = w_ij / sqrt(d_i d_j), where d_i is the sum of the absolute weights at node i, divided
        by the mean of all absolute J. Signs stay, and the unit of the weights drops out. A node
        with many or strong edges is then held no better than one with few or weak ones, so that
        they lose their order at about the same temperature. A graph without edges is returned as it
        is.

        Returns
        -------
        Graph
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


def _rows(edges: IntArray, n_nodes: int) -> tuple[IntArray, IntArray, IntArray]:
    """Where the neighbours of every node begin, the neighbours, and their edges.

    Edges are sorted by their lower node, so that one sort by the other one is all it takes: the
    neighbours of a node are those below it, then those above.
    """
    low, high = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
    below, above = (np.bincount(ends, minlength=n_nodes) for ends in (high, low))
    indptr = np.concatenate([[0], np.cumsum(below + above)])
    neighbors, edge_ids = np.empty((2, 2 * len(edges)), dtype=np.int32)
    order = np.argsort(high, kind="stable")
    for ids, counts, starts, others in (
        (order, below, indptr[:-1], low[order]),
        (np.arange(len(edges)), above, indptr[:-1] + below, high),
    ):
        # The k-th of a node's own stands k places after the first.
        shift = starts - (np.cumsum(counts) - counts)
        place = np.arange(len(ids)) + np.repeat(shift, counts)
        neighbors[place], edge_ids[place] = others, ids
    return indptr.astype(np.int32), neighbors, edge_ids


def _merged(
    pairs: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    n_nodes: int,
    duplicates: str,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Sort the edges and treat those listed more than once."""
    if duplicates not in ("error", "sum", "first"):
        raise InvalidInputError(
            f"duplicates={duplicates!r} is unknown: use 'error', 'sum' or 'first'"
        )
    keys = pairs[:, 0] * n_nodes + pairs[:, 1]
    if np.all(keys[1:] > keys[:-1]):  # as builders list them
        return pairs, values
    unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(unique) == len(keys):
        return pairs[first], values[first]
    if duplicates == "error":
        counts = np.bincount(inverse)
        u, v = divmod(int(unique[np.argmax(counts > 1)]), n_nodes)
        raise InvalidInputError(
            f"{int(np.sum(counts > 1))} edges are listed more than once, for example ({u}, {v}); "
            "pass duplicates='sum' to add their weights, or 'first' if both directions are listed"
        )
    if duplicates == "first":
        return pairs[first], values[first]
    sums: npt.NDArray[np.float64] = np.zeros(len(unique))
    np.add.at(sums, inverse, values)
    return pairs[first], sums
