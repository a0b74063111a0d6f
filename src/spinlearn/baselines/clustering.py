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
    """Base of the clustering methods: a subclass implements `_cluster`.

    Attributes
    ----------
    labels_ : int array (n,)
        Cluster of every point.
    graph_ : Graph
        What was built, or given.
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
