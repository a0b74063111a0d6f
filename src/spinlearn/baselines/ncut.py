"""Normalised cut (Shi & Malik, IEEE PAMI 22, 888, 2000), unsupervised.

    Ncut(A, B) = cut(A, B)/vol(A) + cut(A, B)/vol(B),    vol(A) = sum of the degrees in A

The second eigenvector v of D^-1/2 (D - W) D^-1/2, as D^-1/2 v, is the relaxed minimiser; points are
sorted by it and split where Ncut is least. More than two clusters come by recursion: the part whose
own best split has the least Ncut is split next. Parts without connection are split first, at no
cost, largest against the rest.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.baselines.base import refuse_negative_weights
from spinlearn.baselines.clustering import GraphClusterer, numbered_by_size
from spinlearn.baselines.spectral import Spectrum, low_spectrum
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.errors import GraphWarning, InvalidInputError
from spinlearn.minimizers.linear_system import inverse_roots, weight_matrix

SAME = 1e-9  # share of the range of the eigenvector: points closer than this stay together


class NormalizedCutClustering(GraphClusterer):
    """Normalised cut by recursive bisection; the same answer in every run.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.

    Attributes
    ----------
    labels_ : int array (n,)
        Cluster of every point, the largest cluster first.
    ncut_ : float
        Sum over clusters of cut(A, rest) / vol(A).
    eigenvalues_ : float array (n_clusters,)
        Least eigenvalues of the normalised Laplacian.
    embedding_ : float array (n, n_clusters)
        D^-1/2 times its eigenvectors.
    graph_ : Graph
        What was built, or given.

    References
    ----------
    J. Shi and J. Malik, Normalized cuts and image segmentation, IEEE PAMI 22, 888 (2000).

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.baselines import NormalizedCutClustering
    >>> chain = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], weights=[1, 1, 0.1, 1])
    >>> NormalizedCutClustering(2).fit(chain).labels_.tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(self, n_clusters: int = 2, *, graph: Any = "mutual_knn") -> None:
        self.n_clusters = n_clusters
        self.graph = graph

    def _check_settings(self) -> None:
        k = self.n_clusters
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
            raise InvalidInputError(f"n_clusters={k!r} must be a whole number >= 1")

    def _cluster(self, graph: Graph) -> IntArray:
        refuse_negative_weights(graph, type(self).__name__)
        k = int(self.n_clusters)
        if k > graph.n_nodes:
            raise InvalidInputError(
                f"n_clusters={k} is more than the {graph.n_nodes} points: ask for fewer clusters"
            )
        weights = weight_matrix(graph)
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        spectrum = low_spectrum(weights, max(k, 2))
        if spectrum.n_parts > k:
            warnings.warn(
                f"the graph has {spectrum.n_parts} parts without connection, more than "
                f"n_clusters={k}: the largest are clusters, the rest together is one more; a "
                "builder with a spanning tree joins all parts",
                GraphWarning,
                stacklevel=3,
            )
        self.eigenvalues_ = spectrum.values[:k]
        self.embedding_ = inverse_roots(degrees)[:, None] * spectrum.vectors[:, :k]
        splits = [_best_split(weights, np.arange(graph.n_nodes), spectrum)]
        while len(splits) < k:
            chosen = splits.pop(int(np.argmin([split.ncut for split in splits])))
            for nodes in (chosen.nodes[chosen.first], chosen.nodes[~chosen.first]):
                splits.append(_best_split(weights, nodes))
        parts = np.empty(graph.n_nodes, dtype=np.intp)
        for number, split in enumerate(splits):
            parts[split.nodes] = number
        self.ncut_ = normalized_cut(graph, parts)
        return numbered_by_size(parts)


def normalized_cut(graph: Graph, labels: npt.NDArray[Any]) -> float:
    """sum over clusters of cut(A, rest)/vol(A); clusters without an edge count nothing."""
    _, part = np.unique(labels, return_inverse=True)
    u, v = graph.edges.T
    weight = graph.weights
    volume = np.bincount(part[u], weight, part.max() + 1) + np.bincount(
        part[v], weight, part.max() + 1
    )
    across = part[u] != part[v]
    cut = np.bincount(part[u[across]], weight[across], part.max() + 1) + np.bincount(
        part[v[across]], weight[across], part.max() + 1
    )
    return float(np.sum(np.divide(cut, volume, out=np.zeros(len(cut)), where=volume > 0)))


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Some nodes, which of them are the first half of their best split, and its Ncut."""

    nodes: npt.NDArray[np.intp]
    first: npt.NDArray[np.bool_]
    ncut: float


def _best_split(
    all_weights: Any, nodes: npt.NDArray[np.intp], spectrum: Spectrum | None = None
) -> _Split:
    """The best bisection of the graph induced on `nodes`."""
    if len(nodes) == 1:
        return _Split(nodes, np.ones(1, dtype=bool), np.inf)
    weights = all_weights[nodes][:, nodes]
    low = low_spectrum(weights, 2) if spectrum is None else spectrum
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    if low.n_parts > 1:  # the first eigenvector is that of the largest part
        return _Split(nodes, low.vectors[:, 0] != 0, 0.0)
    position = inverse_roots(degrees) * low.vectors[:, 1]
    order = np.argsort(position, kind="stable")
    ncut = _ncut_of_splits(weights, degrees, order)
    together = np.diff(position[order]) <= SAME * np.ptp(position)
    ncut[together] = np.inf
    best = int(np.argmin(ncut))
    first = np.zeros(len(nodes), dtype=bool)
    first[order[: best + 1]] = True
    return _Split(nodes, first, float(ncut[best]))


def _ncut_of_splits(weights: Any, degrees: FloatArray, order: npt.NDArray[np.intp]) -> FloatArray:
    """Ncut of {order[0], ..., order[k]} against the rest, for every k."""
    n = len(order)
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(weights.indptr))
    one, other = rank[rows], rank[weights.indices]
    up = one < other
    # An edge is cut by every split between its ends.
    change = np.bincount(one[up], weights.data[up], n) - np.bincount(other[up], weights.data[up], n)
    cut = np.cumsum(change)[:-1]
    volume = np.cumsum(degrees[order])[:-1]
    return np.asarray(cut / volume + cut / (degrees.sum() - volume))
