"""Graph builders from points or distances, and the weights of their edges.

Graph builders: points, or their distances, to a graph of similar ones.

KNN         i and j are joined if either is among the k nearest neighbours of the other; so is an
            unseen point with training points, whose own neighbours stay those in training.
MutualKNN   ... if each is among those of the other, plus the minimum spanning tree, which keeps
            the graph in one piece (Blatt, Wiseman & Domany, Neural Computation 9, 1805, 1997).
Radius      ... if they are at most a given distance apart.

Ties are broken by index; a point is never its own neighbour, however many copies it has.

Similarities from distances, with length scales that unseen points can reuse.

constant   W_ij = 1
gaussian   W_ij = exp(-d_ij^2 / a^2)         a: mean distance over the edges of the graph
local      W_ij = exp(-d_ij^2 / (a_i a_j))   a_i: mean distance of point i to its neighbours

All three are exp(-(d / a_i)(d / a_j)) with a scale per point: infinite for "constant", common to
all for "gaussian".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from spinlearn.constants import GRAPH_NEIGHBORS
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.graphs.points import (
    METRICS,
    PRECOMPUTED,
    Reduction,
    checked_components,
    checked_points,
)
from spinlearn.graphs.search import Ids, Links, Neighbors, Report
from spinlearn.graphs.spaces import DistanceMatrix, PointSpace, Space
from spinlearn.graphs.spanning_tree import MIN_LIST
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph
from spinlearn.model.protocols import Callback, Progress
from spinlearn.model.settings import Settings

WEIGHTS = ("constant", "gaussian", "local")

# Never zero: a weak similarity is still an edge.
SMALLEST_SIMILARITY = float(np.finfo(np.float64).tiny)


class Similarity(NamedTuple):
    """Similarity as a function of distance, with the length scales of one graph.

    `point_scales` are those of its points, `scale` that of a point that has none of its own, in the
    unit of the distances: infinite for "constant" and for a graph without edges.
    """

    weights: str
    scale: float
    point_scales: FloatArray

    @classmethod
    def of_graph(cls, weights: str, n_points: int, edges: Any, distances: FloatArray) -> Similarity:
        """Scales from the edges (m, 2) of a graph and their lengths (m,)."""
        known = weights != "constant" and len(distances) > 0
        scale = float(np.mean(distances)) if known else np.inf
        if weights != "local":
            return cls(weights, scale, np.full(n_points, scale))
        lengths = np.repeat(distances, 2)
        return cls(weights, scale, _mean_by_point(n_points, np.ravel(edges), lengths, scale))

    def of_unseen(self, new_points: Any, points: Any, distances: FloatArray) -> FloatArray:
        """Similarities (m,) of unseen points to points of the graph, both given by number."""
        if self.weights == "local":
            n_new = int(new_points.max(initial=-1)) + 1
            new_scales = _mean_by_point(n_new, new_points, distances, self.scale)[new_points]
        else:
            new_scales = np.full(len(distances), self.scale)
        return _similarity(distances, new_scales, self.point_scales[points])


def _mean_by_point(n_points: int, ends: Any, lengths: FloatArray, otherwise: float) -> FloatArray:
    counts = np.bincount(ends, minlength=n_points)
    sums = np.bincount(ends, weights=lengths, minlength=n_points)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)


def _similarity(distances: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    # Among duplicates 0/0 arises: points at distance zero are alike whatever the scale.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponents = np.where(distances > 0, (distances / left) * (distances / right), 0.0)
    return np.maximum(np.exp(-exponents), SMALLEST_SIMILARITY)


SEARCHES = ("auto", "exact", "faiss")


class PointBuilder(Settings):
    """What the builders share: they differ in which points they join."""

    metric: str
    weights: str
    n_components: Any
    recall_ = None  # no annotation: it is no setting

    def build(self, X: Any, callback: Callback | None = None, *, checked: bool = False) -> Graph:
        """The graph of points.

        Parameters
        ----------
        X : array-like or data frame, shape (n, d)
            Points; with metric="precomputed" a symmetric matrix (n, n) of distances.
        callback : callable, optional
            Told of the progress; a true answer stops with a StoppedError.
        checked : bool, default False
            X is an array of finite numbers: it is not looked at again.

        Returns
        -------
        Graph
            n nodes; weights are similarities in (0, 1].
        """
        self._check()
        points = X if checked else checked_points(X, metric=self.metric)
        if self.n_components is not None:
            plain, points, _ = self.reduced(points)
            graph = plain.build(points, callback, checked=True)
            self.recall_ = plain.recall_
            return graph
        space = self._space(points, None if callback is None else partial(_tell, callback))
        edges, distances = self._edges(space)
        similarity = Similarity.of_graph(self.weights, space.n_points, edges, distances)
        self.recall_ = space.recall
        weights = _similarity(distances, *similarity.point_scales[edges].T)
        return Graph(space.n_points, edges, weights)

    def attach(self, X_new: Any, X: Any) -> Any:
        """Similarities of unseen points to training points.

        Parameters
        ----------
        X_new : array-like or data frame, shape (n_new, d)
            Unseen points; with metric="precomputed" their distances to the training points,
            shape (n_new, n).
        X : array-like or data frame
            The training data given to `build`, whose graph sets the length scales.

        Returns
        -------
        scipy.sparse.csr_array, shape (n_new, n)
            Row i holds the similarities of unseen point i to its neighbours in training.
        """
        from scipy.sparse import csr_array

        self._check()
        known, added = checked_points(X, metric=self.metric), checked_points(X_new, "X_new")
        if self.n_components is not None:
            plain, known, reduction = self.reduced(known)
            return plain.attach(added if reduction is None else reduction.apply(added), known)
        space = self._space(known)
        unseen = space.place(added)
        new, points, distances = self._links(space, unseen)
        scales_needed = self.weights != "constant"
        edges, lengths = self._edges(space) if scales_needed else (np.empty((0, 2)), np.empty(0))
        similarity = Similarity.of_graph(self.weights, space.n_points, edges, lengths)
        values = similarity.of_unseen(new, points, distances)
        return csr_array((values, (new, points)), shape=(len(unseen), space.n_points))

    def reduced(self, points: FloatArray) -> tuple[Self, FloatArray, Reduction | None]:
        """The builder and the points in the space in which neighbours are looked for.

        Parameters
        ----------
        points : float array (n, d)

        Returns
        -------
        builder, points, Reduction or None
            The last, from the features to that space, is None where that of the features is it.
        """
        if self.n_components is None:
            return self, points, None
        self._check()
        plain = replace(self, n_components=None)  # type: ignore[type-var]
        count = checked_components(self.n_components, *points.shape)
        if count is None:
            return plain, points, None
        reduction = Reduction.of(points, count)
        return plain, reduction.apply(points), reduction

    def _space(self, points: FloatArray, report: Report | None = None) -> Space:
        """Where distances come from."""
        if self.metric == PRECOMPUTED:
            return DistanceMatrix(points)
        return PointSpace(points, self.metric, getattr(self, "search", "exact"), report)

    def _check(self) -> None:
        """Refuse settings that make no sense."""
        if self.metric not in METRICS:
            raise InvalidInputError(
                f"metric={self.metric!r} is unknown: use one of {', '.join(map(repr, METRICS))}; "
                "for any other metric pass its distance matrix with metric='precomputed'"
            )
        if self.weights not in WEIGHTS:
            raise InvalidInputError(
                f"weights={self.weights!r} is unknown: use one of {', '.join(map(repr, WEIGHTS))}"
            )
        if self.metric == "precomputed" and self.n_components is not None:
            raise InvalidInputError(
                "n_components reduces features, but metric='precomputed' takes distances: leave "
                "one of them out"
            )
        k = getattr(self, "n_neighbors", 1)
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise InvalidInputError(
                f"n_neighbors={k!r} is not a number of neighbours: give a whole number >= 1"
            )

    def _edges(self, space: Space) -> tuple[Ids, FloatArray]:
        """Pairs (m, 2) of training points to join, and their distances (m,)."""
        raise NotImplementedError

    def _links(self, space: Space, unseen: FloatArray) -> Links:
        """Unseen points and the training points to join them to."""
        raise NotImplementedError


@dataclass(kw_only=True)
class KNN(PointBuilder):
    """Join every point to its k nearest neighbours.

    Two points are joined if either is among the neighbours of the other.

    Parameters
    ----------
    n_neighbors : int, default 10
        k >= 1; where there are fewer other points, all of them.
    metric : {"euclidean", "cosine", "correlation", "precomputed"}, default "euclidean"
        How far apart two points are; "precomputed" takes a matrix of distances as X.
    weights : {"gaussian", "local", "constant"}, default "gaussian"
        Similarity w of two points at distance d: exp(-d^2 / a^2) with a the mean distance over all
        edges; exp(-d^2 / (a_i a_j)) with the mean distances of the two points' own edges; or 1.
    search : {"auto", "exact", "faiss"} or transformer, default "auto"
        How neighbours are found: exactly; by faiss (``pip install 'spinlearn[ann]'``), which misses
        some of them; or by a neighbour transformer in scikit-learn's style, which is given
        coordinates whose Euclidean distances order points as the metric does. "auto" is exact up to
        50,000 points, or where faiss is not installed.
    n_components : int, "auto" or None, default None
        Principal components in which neighbours are looked for; None: all features. "auto" reduces
        where features outnumber what the points support.

    Attributes
    ----------
    recall_ : float or None
        After `build`: the measured share of the true neighbours that were found, None where all
        are.

    Examples
    --------
    >>> from spinlearn import KNN
    >>> points = [[0.0], [1.0], [3.0], [3.5]]
    >>> graph = KNN(n_neighbors=1).build(points)
    >>> graph.edges.tolist(), graph.weights.round(2).tolist()
    ([[0, 1], [2, 3]], [0.17, 0.64])
    """

    n_neighbors: int = GRAPH_NEIGHBORS
    metric: str = "euclidean"
    weights: str = "gaussian"
    search: Any = "auto"
    n_components: Any = None

    first_setting: ClassVar[str | None] = "n_neighbors"

    def _check(self) -> None:
        super()._check()
        transformer = hasattr(self.search, "fit_transform") and hasattr(self.search, "transform")
        if not transformer and self.search not in SEARCHES:
            raise InvalidInputError(
                f"search={self.search!r} is unknown: use {', '.join(map(repr, SEARCHES))} or a "
                "neighbour transformer such as KNeighborsTransformer()"
            )

    def _edges(self, space: Space) -> tuple[Ids, FloatArray]:
        neighbors = space.nearest(min(self.n_neighbors, space.n_points - 1))
        edges, distances, _ = _undirected(_links_of(neighbors))
        return edges, distances

    def _links(self, space: Space, unseen: FloatArray) -> Links:
        chosen = _links_of(space.nearest(min(self.n_neighbors, space.n_points), unseen))
        if space.n_points <= self.n_neighbors:
            return chosen  # all
        both = (chosen, space.nearer(self.n_neighbors, unseen))  # links in either, each once
        keys = np.concatenate([links.queries * space.n_points + links.ids for links in both])
        keys, first = np.unique(keys, return_index=True)
        distances = np.concatenate([links.distances for links in both])
        return Links(keys // space.n_points, keys % space.n_points, distances[first])


@dataclass(kw_only=True)
class MutualKNN(PointBuilder):
    """Join points that are among each other's k nearest neighbours.

    Parameters
    ----------
    n_neighbors, metric, weights, n_components
        As for `KNN`.
    spanning_tree : bool, default True
        Whether to add the minimum spanning tree of all points, so that the graph is in one piece.

    References
    ----------
    M. Blatt, S. Wiseman and E. Domany, Data clustering using a model granular magnet, Neural
    Computation 9, 1805 (1997).

    Examples
    --------
    >>> from spinlearn import MutualKNN
    >>> points = [[0.0], [1.0], [3.0], [3.5]]
    >>> MutualKNN(n_neighbors=1).build(points).edges.tolist()
    [[0, 1], [1, 2], [2, 3]]
    >>> MutualKNN(n_neighbors=1, spanning_tree=False).build(points).edges.tolist()
    [[0, 1], [2, 3]]
    """

    n_neighbors: int = GRAPH_NEIGHBORS
    metric: str = "euclidean"
    weights: str = "gaussian"
    spanning_tree: bool = True
    n_components: Any = None

    first_setting: ClassVar[str | None] = "n_neighbors"

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.spanning_tree, (bool, np.bool_)):
            raise InvalidInputError(
                f"spanning_tree must be True or False, got {self.spanning_tree!r}"
            )

    def _edges(self, space: Space) -> tuple[Ids, FloatArray]:
        k = min(self.n_neighbors, space.n_points - 1)
        listed = max(k, min(MIN_LIST, space.n_points - 1)) if self.spanning_tree else k
        neighbors = space.nearest(listed)
        nearest = Neighbors(neighbors.ids[:, :k], neighbors.distances[:, :k])
        edges, distances, times = _undirected(_links_of(nearest))
        edges, distances = edges[times == 2], distances[times == 2]
        if not self.spanning_tree or space.n_points == 1:
            return edges, distances
        tree, lengths = space.spanning_tree(neighbors)
        ends = np.concatenate([edges, tree])
        links = Links(ends[:, 0], ends[:, 1], np.concatenate([distances, lengths]))
        edges, distances, _ = _undirected(links)
        return edges, distances

    def _links(self, space: Space, unseen: FloatArray) -> Links:
        return _links_of(space.nearest(min(self.n_neighbors, space.n_points), unseen))


@dataclass(kw_only=True)
class Radius(PointBuilder):
    """Join points at most a given distance apart.

    Parameters
    ----------
    radius : float
        Largest distance, > 0, in the unit of the metric; points exactly that far apart are joined.
    metric, weights, n_components
        As for `KNN`.

    Examples
    --------
    >>> from spinlearn.graphs import Radius
    >>> Radius(radius=1.0).build([[0.0], [1.0], [3.0], [3.5]]).edges.tolist()
    [[0, 1], [2, 3]]
    """

    radius: float
    metric: str = "euclidean"
    weights: str = "gaussian"
    n_components: Any = None

    first_setting: ClassVar[str | None] = "radius"

    def _check(self) -> None:
        super()._check()
        usable = isinstance(self.radius, Real) and not isinstance(self.radius, bool)
        if not (usable and 0 < self.radius < np.inf):
            raise InvalidInputError(
                f"radius={self.radius!r} is not a distance: give a finite number > 0, for example "
                "the mean distance to the tenth neighbour"
            )

    def _edges(self, space: Space) -> tuple[Ids, FloatArray]:
        links = space.within(self.radius)
        once = links.queries < links.ids
        edges = np.column_stack([links.queries[once], links.ids[once]])
        return edges, links.distances[once]

    def _links(self, space: Space, unseen: FloatArray) -> Links:
        return space.within(self.radius, unseen)


def _tell(callback: Callback, fraction: float) -> None:
    if callback(Progress(phase="building the graph", fraction=fraction)):
        raise StoppedError("stopped while building the graph: nothing was computed yet")


def _links_of(neighbors: Neighbors) -> Links:
    n_queries, k = neighbors.ids.shape
    queries = np.repeat(np.arange(n_queries), k)
    return Links(queries, neighbors.ids.ravel(), neighbors.distances.ravel())


def _undirected(links: Links) -> tuple[Ids, FloatArray, Ids]:
    """Distinct pairs (m, 2), lower node first, their distances, and how often each is listed."""
    low, high = np.minimum(links.queries, links.ids), np.maximum(links.queries, links.ids)
    _, first, times = np.unique(
        low * (high.max(initial=0) + 1) + high, return_index=True, return_counts=True
    )
    return np.column_stack([low[first], high[first]]), links.distances[first], times
