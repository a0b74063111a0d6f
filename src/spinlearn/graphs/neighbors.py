"""Graph builders from points or distances, the metrics, and the weights of edges.

Ties are broken by index; a point is never its own neighbour, however many copies it has. An unseen
point is joined to training points as these are, but their own neighbours stay those in training.
All weights are exp(-(d / a_i)(d / a_j)) with a scale per point: infinite for "constant", common to
all for "gaussian", the mean distance of point i to its neighbours for "local".

Metrics are Euclidean geometry, so that one exact search serves them all.

euclidean    |x - y|
cosine       1 - x.y / |x||y| = |x' - y'|^2 / 2     with x' = x / |x|
correlation  1 - Pearson r: cosine of the rows less their means

Distances come from points, or from a matrix of them; both answer the same questions:

nearest(k, unseen)     the k nearest training points of unseen points, or of each other
within(radius, unseen) those within a radius
nearer(k, unseen)      training points to which an unseen point is nearer than their k-th neighbour
spanning_tree(lists)   edges (n - 1, 2) of the minimum spanning tree and their lengths
recall                 measured share of the true neighbours that are found; None where all are
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from spinlearn.constants import GRAPH_NEIGHBORS
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.graphs.points import (
    METRICS,
    PRECOMPUTED,
    Reduction,
    checked_components,
    checked_features,
    checked_points,
    refuse_lost_distances,
)
from spinlearn.graphs.search import (
    FaissSearch,
    Ids,
    Links,
    Neighbors,
    Report,
    Search,
    TransformerSearch,
    separations,
)
from spinlearn.graphs.spanning_tree import MIN_LIST, matrix_spanning_tree, points_spanning_tree
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph
from spinlearn.model.protocols import Callback, Progress
from spinlearn.model.settings import Settings

WEIGHTS = ("constant", "gaussian", "local")
SEARCHES = ("auto", "exact", "faiss")

MANY = 50_000  # points beyond which "auto" is approximate, if faiss is there
# Never zero: a weak similarity is still an edge.
SMALLEST_SIMILARITY = float(np.finfo(np.float64).tiny)

_FAR = 1e150  # squares of larger numbers overflow
_TOLERANCE = 1e-9  # relative: rounding that a distance matrix may carry
_ROUNDING = 1e-12  # relative, far above that of any distance computed from differences
_BLOCK = 2**22  # numbers held at a time, 32 MB


class PointSpace:
    """Points (n, d) as coordinates whose Euclidean distances order them as the metric does.

    The unit of length is a power of two near the largest coordinate of the training points, lest
    squares overflow or vanish; 1 for "cosine" and "correlation".
    """

    def __init__(
        self,
        points: FloatArray,
        metric: str,
        search: Any = "exact",
        n_neighbors: int = 1,
        report: Report | None = None,
    ) -> None:
        euclidean = metric == "euclidean"
        if euclidean:  # the others look at directions
            refuse_lost_distances(points)
        self.n_points, self._n_features = points.shape
        self._metric, self._report = metric, report
        self._unit = float(_power_of_two(np.abs(points).max())) if euclidean else 1.0
        coordinates = self._coordinates_of(points, "X")
        if search == "auto":
            search = "faiss" if self.n_points > MANY and find_spec("faiss") else "exact"
        self._search: Search | FaissSearch | TransformerSearch
        if search == "exact":
            self._search = Search(coordinates)
        elif search == "faiss":
            self._search = FaissSearch(coordinates, n_neighbors)
        else:
            self._search = TransformerSearch(coordinates, search)
        self.recall = self._search.recall
        self._listed: tuple[int, Neighbors] | None = None  # of `nearest`, which is asked twice

    def _coordinates_of(self, X: FloatArray, name: str) -> FloatArray:
        if self._metric == "euclidean":
            with np.errstate(over="ignore"):
                return np.clip(X / self._unit, -_FAR, _FAR)
        rows = X / _power_of_two(np.abs(X).max(axis=1, keepdims=True))
        kind, bad = "zero", ~rows.any(axis=1)
        if self._metric == "correlation":
            kind, bad = "constant", np.ptp(rows, axis=1) == 0
            rows = rows - rows.mean(axis=1, keepdims=True)
        if bad.any():
            raise InvalidInputError(
                f"{self._metric} distances are undefined for {np.count_nonzero(bad)} rows of "
                f"{name} that are {kind}, the first of them row {int(np.argmax(bad))}: drop these "
                "points or use metric='euclidean'"
            )
        rows = rows / _power_of_two(np.abs(rows).max(axis=1, keepdims=True))
        return np.asarray(rows / np.sqrt(np.einsum("id,id->i", rows, rows))[:, None])

    def _distances(self, lengths: FloatArray) -> FloatArray:
        """Distances in the metric, in units, from Euclidean ones between coordinates."""
        return lengths if self._metric == "euclidean" else lengths**2 / 2

    def _lengths(self, distances: FloatArray) -> FloatArray:
        return distances if self._metric == "euclidean" else np.sqrt(2 * distances)

    def place(self, points: FloatArray) -> FloatArray:
        """Unseen points as `nearest` and `within` want them."""
        if points.shape[1] != self._n_features:
            raise InvalidInputError(
                f"X_new has {points.shape[1]} features, but the training points have "
                f"{self._n_features}: pass the same features in the same order"
            )
        return self._coordinates_of(points, "X_new")

    def nearest(self, k: int, unseen: FloatArray | None = None) -> Neighbors:
        if unseen is not None:
            ids, lengths = self._search.nearest(unseen, k)
        else:
            if self._listed is None or self._listed[0] != k:
                points, own = self._search.points, np.arange(self.n_points)
                self._listed = k, self._search.nearest(points, k, own, self._report)
            ids, lengths = self._listed[1]
        return Neighbors(ids, self._distances(lengths))

    def nearer(self, k: int, unseen: FloatArray) -> Links:
        self.nearest(k)
        reach = self._listed[1].distances[:, -1]  # type: ignore[index]
        queries, ids, lengths = self._search.within(unseen, reach)
        # Equal up to rounding is not less: a copy of a point's k-th neighbour is no nearer.
        near = lengths < reach[ids] * (1 - _ROUNDING)
        return Links(queries[near], ids[near], self._distances(lengths[near]))

    def within(self, radius: float, unseen: FloatArray | None = None) -> Links:
        limit = radius / self._unit
        places = self._search.points if unseen is None else unseen
        queries, ids, lengths = self._search.within(places, self._lengths(np.array(limit)))
        distances = self._distances(lengths)
        near = distances <= limit
        if unseen is None:
            near &= queries != ids
        return Links(queries[near], ids[near], distances[near])

    def spanning_tree(self, neighbors: Neighbors) -> tuple[Ids, FloatArray]:
        points, lengths = self._search.points, self._lengths(neighbors.distances)
        tree = points_spanning_tree(Search(points), Neighbors(neighbors.ids, lengths))
        lengths = separations(points, tree[:, 0], points, tree[:, 1])
        return tree, self._distances(lengths)


def _power_of_two(magnitude: Any) -> Any:
    """A power of two near `magnitude`, 1 for zero; dividing by it is free of rounding."""
    _, exponent = np.frexp(magnitude)
    return np.ldexp(1.0, np.where(magnitude > 0, np.minimum(exponent, 1023), 0))


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


def _point_scales(
    weights: str, n_points: int, ends: Ids, distances: FloatArray, scale: float
) -> FloatArray:
    """Length scale of every point, from edges of which one or two `ends` are among the points.

    `scale` is the graph's, infinite for "constant" and where there are no edges.
    """
    if weights != "local":
        return np.full(n_points, scale)
    lengths = np.repeat(distances, ends.ndim)
    counts = np.bincount(ends.ravel(), minlength=n_points)
    sums = np.bincount(ends.ravel(), weights=lengths, minlength=n_points)
    return np.where(counts > 0, sums / np.maximum(counts, 1), scale)


def _similarity(distances: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    # Among duplicates 0/0 arises: points at distance zero are alike whatever the scale.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponents = np.where(distances > 0, (distances / left) * (distances / right), 0.0)
    return np.maximum(np.exp(-exponents), SMALLEST_SIMILARITY)


class PointBuilder(Settings):
    """What the builders share: they differ in which points they join."""

    metric: str
    weights: str
    n_components: Any
    n_neighbors: Any = 1
    search: Any = "exact"
    recall_ = None  # no annotation: it is no setting

    def build(self, X: Any, callback: Callback | None = None, *, checked: bool = False) -> Graph:
        """The graph of points; its weights are similarities in (0, 1].

        `X` (n, d) is an array, data frame or sparse matrix of features; with metric="precomputed"
        symmetric distances (n, n). A `checked` X is not looked at again. The `callback` is
        told of the progress; a true answer stops with a StoppedError.
        """
        self._check()
        points = X if checked else checked_features(X, metric=self.metric)
        _, points, _ = self.reduced(points)
        report = None if callback is None else partial(_tell, callback)
        space = self._space(points, report)
        edges, distances = self._edges(space)
        self.recall_ = space.recall
        scaled = self.weights != "constant" and len(distances) > 0
        scale = float(np.mean(distances)) if scaled else np.inf
        scales = _point_scales(self.weights, space.n_points, edges, distances, scale)
        return Graph(space.n_points, edges, _similarity(distances, *scales[edges].T))

    def attach(self, X_new: Any, X: Any) -> Any:
        """Similarities of unseen points to training points, csr_array (n_new, n).

        `X_new` (n_new, d) are the unseen points, or with metric="precomputed" their distances to
        the training points, (n_new, n); `X` is what was given to `build`, whose graph sets the
        length scales.
        """
        from scipy.sparse import csr_array

        self._check()
        _, known, reduction = self.reduced(checked_features(X, metric=self.metric))
        added = (checked_points if reduction is None else checked_features)(X_new, "X_new")
        space = self._space(known)
        unseen = space.place(added if reduction is None else reduction.apply(added))
        new, points, distances = self._links(space, unseen)
        edges, lengths = np.empty((0, 2), dtype=np.int64), np.empty(0)
        if self.weights != "constant":
            edges, lengths = self._edges(space)
        scale = float(np.mean(lengths)) if len(lengths) else np.inf
        scales = _point_scales(self.weights, space.n_points, edges, lengths, scale)
        new_scales = _point_scales(self.weights, len(unseen), new, distances, scale)
        values = _similarity(distances, new_scales[new], scales[points])
        return csr_array((values, (new, points)), shape=(len(unseen), space.n_points))

    def reduced(self, points: Any) -> tuple[Self, FloatArray, Reduction | None]:
        """The builder and the `points` (n, d) in the space in which neighbours are looked for.

        The Reduction leads there from the features; None where that space is theirs, which that
        of sparse points never is.
        """
        sparse, asked = hasattr(points, "tocoo"), self.n_components
        if asked is None and not sparse:
            return self, points, None
        self._check()
        plain = replace(self, n_components=None)  # type: ignore[type-var]
        count = checked_components("auto" if asked is None else asked, *points.shape)
        if sparse:
            count = count or min(points.shape)
        if count is None:
            return plain, points, None
        reduction = Reduction.of(points, count)
        return plain, reduction.apply(points), reduction

    def _space(self, points: FloatArray, report: Report | None = None) -> Space:
        """Where distances come from."""
        if self.metric == PRECOMPUTED:
            return DistanceMatrix(points)
        return PointSpace(points, self.metric, self.search, self.n_neighbors, report)

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
        k = self.n_neighbors
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise InvalidInputError(
                f"n_neighbors={k!r} is not a number of neighbours: give a whole number >= 1"
            )
        transformer = hasattr(self.search, "fit_transform") and hasattr(self.search, "transform")
        if not transformer and self.search not in SEARCHES:
            raise InvalidInputError(
                f"search={self.search!r} is unknown: use {', '.join(map(repr, SEARCHES))} or a "
                "neighbour transformer such as KNeighborsTransformer()"
            )

    def _edges(self, space: Space) -> tuple[Ids, FloatArray]:
        """Pairs (m, 2) of training points to join, and their distances (m,)."""
        raise NotImplementedError

    def _links(self, space: Space, unseen: FloatArray) -> Links:
        """Unseen points and the training points to join them to."""
        raise NotImplementedError


@dataclass(kw_only=True)
class KNN(PointBuilder):
    """Join every point to its k nearest neighbours: two points if either is among the other's.

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
        some; or by a neighbour transformer in scikit-learn's style, given coordinates whose
        Euclidean distances order points as the metric does. "auto": exact up to 50,000 points or
        without faiss.
    n_components : int, "auto" or None, default None
        Principal components in which neighbours are looked for; None: all features. "auto" reduces
        where features outnumber what the points support, and so does None of a sparse X: to
        singular vectors, whose rows are of unit length where no feature is negative.

    Attributes
    ----------
    recall_ : float or None
        After `build`: the measured share of the true neighbours found; None where all are.

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

    def _edges(self, space: Space) -> tuple[Ids, FloatArray]:
        neighbors = space.nearest(min(self.n_neighbors, space.n_points - 1))
        edges, distances, _ = _undirected(np.arange(space.n_points)[:, None], *neighbors)
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

    M. Blatt, S. Wiseman and E. Domany, Data clustering using a model granular magnet, Neural
    Computation 9, 1805 (1997).

    Parameters
    ----------
    n_neighbors, metric, weights, n_components
        As for `KNN`.
    spanning_tree : bool, default True
        Whether to add the minimum spanning tree of all points: the graph is in one piece then.

    Examples
    --------
    >>> from spinlearn import MutualKNN
    >>> points = [[0.0], [1.0], [3.0], [3.5]]
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
        nearest, lengths = neighbors.ids[:, :k], neighbors.distances[:, :k]
        points = np.arange(space.n_points)[:, None]
        edges, distances, times = _undirected(points, nearest, lengths)
        edges, distances = edges[times == 2], distances[times == 2]
        if not self.spanning_tree or space.n_points == 1:
            return edges, distances
        tree, lengths = space.spanning_tree(neighbors)
        ends, both = np.concatenate([edges, tree]), np.concatenate([distances, lengths])
        edges, distances, _ = _undirected(ends[:, 0], ends[:, 1], both)
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


def _undirected(points: Ids, others: Ids, distances: FloatArray) -> tuple[Ids, FloatArray, Ids]:
    """Distinct pairs (m, 2), lower node first, their distances, and how often each is listed."""
    low, high = np.minimum(points, others).ravel(), np.maximum(points, others).ravel()
    keys = low * (high.max(initial=0) + 1) + high
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return np.column_stack([low, high])[first], distances.ravel()[first], times
