"""Where distances come from: points under a metric, or a matrix of distances.

Both answer the same questions:

nearest(k, unseen)     the k nearest training points of unseen points, or of each other
within(radius, unseen) those within a radius
nearer(k, unseen)      training points to which an unseen point is nearer than their k-th neighbour
spanning_tree(lists)   edges (n - 1, 2) of the minimum spanning tree and their lengths
recall                 measured share of the true neighbours that are found; None where all are
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.graphs.points import Embedding, refuse_lost_distances
from spinlearn.graphs.search import (
    FaissSearch,
    Ids,
    Links,
    Neighbors,
    Report,
    Search,
    TransformerSearch,
    faiss_at_hand,
    separations,
)
from spinlearn.graphs.spanning_tree import matrix_spanning_tree, points_spanning_tree
from spinlearn.model.arrays import FloatArray

MANY = 50_000  # points beyond which "auto" is approximate, if faiss is there
_TOLERANCE = 1e-9  # relative: rounding that a distance matrix may carry
_BLOCK = 2**22  # numbers held at a time, 32 MB


class PointSpace:
    """Points (n, d) under the metric "euclidean", "cosine" or "correlation"."""

    def __init__(
        self,
        points: FloatArray,
        metric: str,
        search: Any = "exact",
        report: Report | None = None,
    ) -> None:
        if metric == "euclidean":  # the others look at directions
            refuse_lost_distances(points)
        self.n_points, self._n_features = points.shape
        self._embedding = Embedding(metric, points)
        self._coordinates = self._embedding.coordinates(points)
        self._how, self._report = search, report
        self._listed: tuple[int, Neighbors] | None = None  # of `nearest`, which is asked twice
        self._approximate: FaissSearch | TransformerSearch | None = None
        self.recall: float | None = None

    @cached_property
    def _search(self) -> Search:
        return Search(self._coordinates)

    def _searching(self, k: int) -> Search | FaissSearch | TransformerSearch:
        """The search that was asked for; "auto" is exact up to MANY points, or without faiss."""
        how = self._how
        if how == "auto":
            how = "faiss" if self.n_points > MANY and faiss_at_hand() else "exact"
        if how == "exact":
            return self._search
        if self._approximate is None:
            self._approximate = (
                FaissSearch(self._coordinates, k)
                if how == "faiss"
                else TransformerSearch(self._coordinates, how)
            )
            self.recall = self._approximate.recall
        return self._approximate

    def place(self, points: FloatArray) -> FloatArray:
        """Unseen points as `nearest` and `within` want them."""
        if points.shape[1] != self._n_features:
            raise InvalidInputError(
                f"X_new has {points.shape[1]} features, but the training points have "
                f"{self._n_features}: pass the same features in the same order"
            )
        return self._embedding.coordinates(points, "X_new")

    def nearest(self, k: int, unseen: FloatArray | None = None) -> Neighbors:
        if unseen is None:
            ids, lengths = self._lists(k)
        else:
            ids, lengths = self._searching(k).nearest(unseen, k)
        return Neighbors(ids, self._embedding.distances(lengths))

    def nearer(self, k: int, unseen: FloatArray) -> Links:
        links = self._searching(k).closer(unseen, self._lists(k).distances[:, -1])
        return Links(links.queries, links.ids, self._embedding.distances(links.distances))

    def _lists(self, k: int) -> Neighbors:
        """Neighbours of the training points, with separations for distances."""
        if self._listed is None or self._listed[0] != k:
            found = self._searching(k).nearest(
                self._coordinates, k, np.arange(self.n_points), self._report
            )
            self._listed = k, found
        return self._listed[1]

    def within(self, radius: float, unseen: FloatArray | None = None) -> Links:
        limit = radius / self._embedding.unit
        queries = self._coordinates if unseen is None else unseen
        links = self._search.within(queries, float(self._embedding.separations(np.array(limit))))
        distances = self._embedding.distances(links.distances)
        kept = distances <= limit
        if unseen is None:
            kept &= links.queries != links.ids
        return Links(links.queries[kept], links.ids[kept], distances[kept])

    def spanning_tree(self, neighbors: Neighbors) -> tuple[Ids, FloatArray]:
        lengths = self._embedding.separations(neighbors.distances)
        tree = points_spanning_tree(self._search, Neighbors(neighbors.ids, lengths))
        lengths = separations(self._coordinates, tree[:, 0], self._coordinates, tree[:, 1])
        return tree, self._embedding.distances(lengths)


class DistanceMatrix:
    """A symmetric matrix (n, n) of distances; unseen points are rows (n_new, n) of distances."""

    recall = None

    def __init__(self, distances: FloatArray) -> None:
        self.n_points, n_columns = distances.shape
        if self.n_points != n_columns:
            raise InvalidInputError(
                f"precomputed distances must be a square matrix, got shape {distances.shape}: for "
                "points choose another metric"
            )
        tolerance = _TOLERANCE * max(distances.max(), -distances.min())
        if np.abs(np.diagonal(distances)).max() > tolerance:
            raise InvalidInputError(
                "precomputed distances have a diagonal that is not zero, but a point is at no "
                "distance from itself: for a matrix of similarities use Graph.from_sparse"
            )
        symmetric = distances / 2
        symmetric += symmetric.T
        if np.abs(symmetric - distances).max() > tolerance:
            raise InvalidInputError(
                "precomputed distances are not symmetric, but neighbourhood is mutual: pass "
                "(D + D.T) / 2"
            )
        self._distances = _not_negative(symmetric, "X")
        np.fill_diagonal(self._distances, np.inf)  # no point is its own neighbour

    def place(self, distances: FloatArray) -> FloatArray:
        """Distances of unseen points as `nearest` and `within` want them."""
        if distances.shape[1] != self.n_points:
            raise InvalidInputError(
                f"X_new has {distances.shape[1]} columns, but there are {self.n_points} training "
                "points: pass the distance of every unseen point to each of them, shape "
                f"(n_new, {self.n_points})"
            )
        return _not_negative(distances, "X_new")

    def nearest(self, k: int, unseen: FloatArray | None = None) -> Neighbors:
        distances = self._distances if unseen is None else unseen
        ids = np.empty((len(distances), k), dtype=np.int64)
        step = max(1, _BLOCK // self.n_points)
        for start in range(0, len(distances) if k else 0, step):
            block = distances[start : start + step]
            # Ties at the k-th distance go to the lower index, which a partition alone ignores.
            rows, columns = np.nonzero(block <= np.partition(block, k - 1)[:, k - 1, None])
            order = np.lexsort((block[rows, columns], rows))  # stable: columns ascend
            firsts = np.searchsorted(rows, np.arange(len(block)))
            ids[start : start + step] = columns[order][firsts[:, None] + np.arange(k)]
        return Neighbors(ids, np.take_along_axis(distances, ids, axis=1))

    def nearer(self, k: int, unseen: FloatArray) -> Links:
        reach = self.nearest(k).distances[:, -1]
        rows, columns = np.nonzero(unseen < reach * (1 - _TOLERANCE))
        return Links(rows, columns, unseen[rows, columns])

    def within(self, radius: float, unseen: FloatArray | None = None) -> Links:
        distances = self._distances if unseen is None else unseen
        rows, columns = np.nonzero(distances <= radius)
        return Links(rows, columns, distances[rows, columns])

    def spanning_tree(self, neighbors: Neighbors) -> tuple[Ids, FloatArray]:
        tree = matrix_spanning_tree(self._distances)
        return tree, self._distances[tree[:, 0], tree[:, 1]]


Space = PointSpace | DistanceMatrix


def _not_negative(distances: FloatArray, name: str) -> FloatArray:
    if distances.min() < -_TOLERANCE * distances.max():
        raise InvalidInputError(
            f"precomputed distances in {name} are negative, the least {distances.min():g}: "
            "distances are >= 0; for a matrix of similarities use Graph.from_sparse"
        )
    return np.maximum(distances, 0.0)
