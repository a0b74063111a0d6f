"""GraphClusterer: the base of the unsupervised rivals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin

from spinlearn.core.arrays import IntArray
from spinlearn.core.graph import Graph
from spinlearn.estimators.inputs import read_graph


class GraphClusterer(ClusterMixin, BaseEstimator, ABC):
    """Base of the clustering methods: it reads the input and keeps the answer.

    A subclass stores its settings in ``__init__`` and implements ``_cluster(graph)``, which returns
    the cluster of every point.

    Attributes
    ----------
    labels_ : int array (n,)
        Cluster of every point.
    graph_ : Graph
        What was built, or given.

    Examples
    --------
    The parts of a graph that no edge joins:

    >>> from scipy.sparse import csr_array
    >>> from scipy.sparse.csgraph import connected_components
    >>> from spinlearn import Graph
    >>> from spinlearn.baselines import GraphClusterer
    >>> class Parts(GraphClusterer):
    ...     def __init__(self, *, graph="mutual_knn"):
    ...         self.graph = graph
    ...
    ...     def _cluster(self, graph):
    ...         ones = [1] * len(graph.neighbors)
    ...         joined = csr_array((ones, graph.neighbors, graph.indptr))
    ...         return connected_components(joined)[1]
    >>> Parts().fit(Graph(4, [(0, 1), (2, 3)])).labels_.tolist()
    [0, 0, 1, 1]
    """

    graph: Any

    @abstractmethod
    def _cluster(self, graph: Graph) -> IntArray:
        """Cluster number of every node."""

    def _check_settings(self) -> None:
        """Refuse bad settings before any work starts."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the points of X.

        Parameters
        ----------
        X : array-like or data frame (n, d); or a Graph, SciPy sparse matrix or networkx graph
            Points, or their precomputed similarity graph. A sparse X is always a graph.
        y : ignored
            There for scikit-learn's interface.

        Returns
        -------
        self
        """
        self._check_settings()
        self.graph_ = read_graph(self, X, self.graph).graph
        self.labels_ = self._cluster(self.graph_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # a sparse X is a graph, not features
        return tags


def numbered_by_size(parts: npt.NDArray[Any]) -> IntArray:
    """Cluster numbers 0, 1, ... from the largest to the smallest, ties by first member."""
    _, first, inverse, sizes = np.unique(
        parts, return_index=True, return_inverse=True, return_counts=True
    )
    number = np.empty(len(sizes), dtype=np.int32)
    number[np.lexsort((first, -sizes))] = np.arange(len(sizes), dtype=np.int32)
    return number[inverse]
