"""Neighbour search: exact, or among candidates that faiss or a transformer proposes.

Exact search: a k-d tree or, in many dimensions, a blocked matrix product proposes candidates
together with a bound: no point left out is nearer than it. Distances are recomputed from the
candidates' coordinates, and a row is settled once its k-th distance lies below the bound; the
others are asked again with more candidates. So neither rounding in |x|^2 + |y|^2 - 2 x.y nor the
order in which a tree meets tied points can change a result.

`FaissSearch` asks an inverted file: points are listed by the nearest of some thousand centres, and
a query looks through the lists of its nearest centres, as many as it takes until the measured
recall, the share of true neighbours found for a sample of the points, reaches RECALL; if it takes
too many, as it may with many features, all points are looked at. Of it and `TransformerSearch`
(`KNeighborsTransformer`, pynndescent ...) only candidates are taken: distances are recomputed in
double precision and ties broken by index in every search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError, needing
from spinlearn.model.arrays import FloatArray

Ids = npt.NDArray[np.int64]
Report = Callable[[float], None]

MAX_EDGES = 100_000_000  # of a radius graph: 2 GB while it is being built

# Above so many dimensions a tree visits most of its points and a matrix product is faster
# (measured, n = 50,000); queries far from all points meet the limit sooner.
_MAX_TREE_DIMENSIONS = 10
_MAX_TREE_DIMENSIONS_FAR = 6
_SLACK = 4  # candidates beyond those asked for
_GROWTH = 4  # of the number of candidates for rows that are not settled
_BLOCK = 2**22  # numbers held at a time, 32 MB
_PAIRS = 2**7  # more than most queries have
_EPSILON = float(np.finfo(np.float64).eps)
_ROUNDING = 1e-12  # relative, far above that of any distance computed from differences


class Neighbors(NamedTuple):
    """Nearest points of every query, nearest first: ids and distances, both (n_queries, k)."""

    ids: Ids
    distances: FloatArray


class Links(NamedTuple):
    """Pairs (query, point) with their distances, all (m,), sorted."""

    queries: Ids
    ids: Ids
    distances: FloatArray


class Search:
    """Exact Euclidean neighbour search among `points`, shape (n, d)."""

    recall: float | None = None  # measured share of the true neighbours; None where all are found

    def __init__(self, points: FloatArray) -> None:
        self.points = points
        # For every point, how many equal points precede it.
        rows = np.ascontiguousarray(points + 0.0)  # -0.0 and 0.0 become the same bytes
        as_bytes: Any = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
        _, group = np.unique(as_bytes, return_inverse=True)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], group[order])
        self._copies_before = np.empty(len(points), dtype=np.int64)
        self._copies_before[order] = np.arange(len(points)) - starts

    def nearest(
        self,
        queries: FloatArray,
        k: int,
        own: Ids | None = None,
        report: Report | None = None,
    ) -> Neighbors:
        """The k nearest points of every query, (n_queries, d); `report` is told the share done.

        `own` are the queries' own ids where they are points themselves: no point is its own
        neighbour, and k is at most n - 1 then.
        """
        from scipy.spatial import KDTree

        result = Neighbors(np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k)))
        if k == 0:
            return result
        # Of many equal points only the first k, and the query itself, can be anyone's neighbours.
        listed = np.flatnonzero(self._copies_before <= k)
        points = self.points[listed]
        limit = _MAX_TREE_DIMENSIONS_FAR if own is None else _MAX_TREE_DIMENSIONS
        n_product_rounds = 2 if points.shape[1] > limit else 0
        pending, count, rounds = np.arange(len(queries)), k + 1 + _SLACK, 0
        while len(pending):
            count = min(count, len(points))
            # Distances too close for products to tell apart are left to a tree.
            high = rounds < n_product_rounds
            index: Any = _Products(points) if high else KDTree(points, balanced_tree=False)
            settled = np.zeros(len(queries), dtype=bool)
            for rows in _blocks(pending, count):
                if high:
                    candidates, bounds = index.nearest(queries[rows], count)
                else:
                    far, candidates = index.query(queries[rows], range(1, count + 1), workers=-1)
                    bounds = far[:, -1] * (1 - _ROUNDING)
                mine = None if own is None else own[rows]
                near = _ranked(queries[rows], mine, self.points, listed[candidates], k)
                result.ids[rows], result.distances[rows] = near
                settled[rows] = (near.distances[:, -1] < bounds) | (count == len(points))
                if report is not None and rounds == 0:
                    report((int(rows[-1]) + 1) / len(queries))
            pending = pending[~settled[pending]]
            count, rounds = count * _GROWTH, rounds + 1
        return result

    def within(self, queries: FloatArray, radii: FloatArray) -> Links:
        """Pairs of a query and a point at most `radii`, (n,) or (), apart, up to rounding."""
        from scipy.spatial import KDTree

        one = radii.ndim == 0
        limit = _MAX_TREE_DIMENSIONS if one else _MAX_TREE_DIMENSIONS_FAR
        high = self.points.shape[1] > limit
        index: Any = _Products(self.points) if high else KDTree(self.points, balanced_tree=False)
        reach = radii * (1 + _ROUNDING)
        found, n_found = [], 0
        for rows in _blocks(np.arange(len(queries)), len(self.points) if high or one else _PAIRS):
            if high:
                asking, ids = index.within(queries[rows], radii)
            elif one:
                tree = KDTree(queries[rows])
                pairs = tree.sparse_distance_matrix(index, float(reach), output_type="ndarray")
                asking, ids = pairs["i"].astype(np.int64), pairs["j"].astype(np.int64)
            else:
                tree = KDTree(queries[rows])
                lists = tree.query_ball_point(self.points, reach, return_sorted=False)
                ids = np.repeat(np.arange(len(lists)), [len(row) for row in lists])
                asking = np.fromiter(chain.from_iterable(lists), np.int64, len(ids))
            n_found += len(ids)
            if n_found > 2 * MAX_EDGES:
                raise InvalidInputError(
                    f"more than {MAX_EDGES:,} pairs of points lie within the radius, too many for "
                    "a graph: choose a smaller radius"
                )
            order = np.lexsort((ids, asking))
            asking, ids = rows[asking[order]], ids[order]
            found.append(Links(asking, ids, separations(queries, asking, self.points, ids)))
        return Links(*map(np.concatenate, zip(*found, strict=True)))


class _Products:
    """Candidates by products of matrices."""

    def __init__(self, points: FloatArray) -> None:
        self._origin = points.mean(axis=0)
        self._points = points - self._origin
        self._squares = np.einsum("id,id->i", self._points, self._points)

    def nearest(self, queries: FloatArray, count: int) -> tuple[Ids, FloatArray]:
        """Ids (n, count), and lower bounds (n,) of the distances of all other points."""
        from sklearn.neighbors import NearestNeighbors

        search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(self._points)
        centred = queries - self._origin
        distances, ids = search.kneighbors(centred)
        squares = distances[:, -1] ** 2 - self._rounding(np.einsum("id,id->i", centred, centred))
        return ids.astype(np.int64), np.sqrt(np.maximum(squares, 0.0))

    def within(self, queries: FloatArray, radii: FloatArray) -> tuple[Ids, Ids]:
        """Queries and points of all pairs within the points' radii, and perhaps a few more."""
        centred = queries - self._origin
        squares = np.einsum("id,id->i", centred, centred)
        products = centred @ self._points.T  # the only large array
        products *= -2
        products += (squares - self._rounding(squares))[:, None]
        products += self._squares - radii**2
        rows, ids = np.nonzero(products <= 0)
        return rows, ids

    def _rounding(self, squares: FloatArray) -> FloatArray:
        """Bound on the error of a squared distance computed from a product."""
        terms = self._points.shape[1] + 12
        return np.asarray(8 * terms * _EPSILON * (squares + self._squares.max()))


def separations(left: FloatArray, rows: Ids, right: FloatArray, others: Ids) -> FloatArray:
    """Distances (m,) between left[rows] and right[others], alike in both directions."""
    distances = np.empty(len(rows))
    for block in _blocks(np.arange(len(rows)), left.shape[1]):
        difference = left[rows[block]] - right[others[block]]
        distances[block] = np.sqrt(np.einsum("id,id->i", difference, difference))
    return distances


def _ranked(
    queries: FloatArray, own: Ids | None, points: FloatArray, ids: Ids, k: int
) -> Neighbors:
    """The k nearest of candidates (n_queries, count), -1 where there are no more; see `Search`."""
    asking = np.repeat(np.arange(len(queries)), ids.shape[1])
    distances = separations(queries, asking, points, ids.ravel()).reshape(ids.shape)
    distances[ids < 0] = np.inf
    if own is not None:
        distances[ids == own[:, None]] = np.inf  # no point is its own neighbour
    order = np.lexsort((ids, distances), axis=-1)[:, :k]
    return Neighbors(np.take_along_axis(ids, order, 1), np.take_along_axis(distances, order, 1))


def _blocks(rows: Ids, numbers_per_row: int) -> Iterator[Ids]:
    step = max(1, _BLOCK // numbers_per_row)
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


RECALL = 0.97  # of the true neighbours, at least;
MANY, RECALL_OF_MANY = 2_000_000, 0.9  # of so many points less, for more takes minutes
JUDGED = 1_000  # points for which it is measured
CENTRES = 4.0  # times the root of the number of points
PER_CENTRE, ROUNDS = 40, 10  # points from which centres are found, and steps of k-means
FIRST_LISTS, MOST_LISTS = 8, 0.1  # looked through at first, and the largest share of them
SPARE = 2  # candidates beyond those asked for
WIDER = 4  # times as many candidates where points look for unseen ones
PER_QUERY = _BLOCK // 65_536  # numbers, for so many queries at a time


class _CandidateSearch:
    """Exact order among the candidates that a subclass proposes."""

    recall: float | None = None

    def __init__(self, points: FloatArray) -> None:
        self.points = points

    def _candidates(self, queries: FloatArray, count: int, own: Ids | None) -> Ids:
        """Ids (n_queries, about count) of near points, -1 where there are no more."""
        raise NotImplementedError

    def nearest(
        self, queries: FloatArray, k: int, own: Ids | None = None, report: Report | None = None
    ) -> Neighbors:
        """The k nearest points of every query, as far as they were found; see `Search`."""
        result = Neighbors(np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k)))
        for rows in _blocks(np.arange(len(queries)), PER_QUERY):
            mine = None if own is None else own[rows]
            ids = self._candidates(queries[rows], k + 1 + SPARE, mine)
            near = _ranked(queries[rows], mine, self.points, ids, k)
            if near.ids.shape[1] < k or not np.all(np.isfinite(near.distances)):
                raise InvalidInputError(
                    f"the neighbour search found fewer than {k} neighbours of some points: ask it "
                    "for more, or use search='exact'"
                )
            result.ids[rows], result.distances[rows] = near
            if report is not None:
                report((int(rows[-1]) + 1) / len(queries))
        return result

    def within(self, queries: FloatArray, radii: FloatArray) -> Links:
        """Pairs of a query and a point, among the nearest, that lie within the point's radius."""
        count = min(WIDER * 10, len(self.points))
        found = []
        for rows in _blocks(np.arange(len(queries)), PER_QUERY):
            ids = self._candidates(queries[rows], count, None)
            asking, ids = np.repeat(rows, ids.shape[1])[ids.ravel() >= 0], ids[ids >= 0]
            distances = separations(queries, asking, self.points, ids)
            near = distances < radii[ids]
            found.append(Links(asking[near], ids[near], distances[near]))
        return Links(*map(np.concatenate, zip(*found, strict=True)))


class FaissSearch(_CandidateSearch):
    """Neighbours by faiss; `recall` is measured for so many neighbours."""

    def __init__(self, points: FloatArray, neighbors: int) -> None:
        super().__init__(points)
        with needing(
            "search='faiss' needs faiss, which is not installed: pip install 'spinlearn[ann]', or "
            "use search='exact'"
        ):
            import faiss
        n, d = points.shape
        single = points.astype(np.float32)
        n_centres = int(max(1, min(CENTRES * np.sqrt(n), n / 4)))
        self._centres = faiss.IndexFlatL2(d)  # kept: the index holds no reference to it
        self._index: Any = faiss.IndexIVFFlat(self._centres, d, n_centres)
        self._index.cp.seed = 0
        self._index.cp.max_points_per_centroid = PER_CENTRE
        self._index.cp.min_points_per_centroid = 1  # no word about it
        self._index.cp.niter = ROUNDS
        self._index.train(single)
        self._index.add(single)
        k, wanted = max(1, min(neighbors, n - 1)), RECALL if n <= MANY else RECALL_OF_MANY
        asked = np.unique(np.linspace(0, n - 1, min(JUDGED, n)).round().astype(np.int64))
        _, truth = faiss.knn(single[asked], single, k + 1)
        self._index.nprobe = min(FIRST_LISTS, n_centres)
        while True:
            _, found = self._index.search(single[asked], k + 1)
            shares = [
                len(np.intersect1d(a, b[b != i])[:k])
                for i, a, b in zip(asked, found, truth, strict=True)
            ]
            self.recall = float(sum(shares) / (k * len(asked)))
            if self.recall >= wanted:
                break
            self._index.nprobe *= 2
            if self._index.nprobe > n_centres * MOST_LISTS:
                # Products of whole matrices are faster than so many lists.
                self._index = faiss.IndexFlatL2(d)
                self._index.add(single)
                self.recall = 1.0
                break

    def _candidates(self, queries: FloatArray, count: int, own: Ids | None) -> Ids:
        _, ids = self._index.search(queries.astype(np.float32), min(count, len(self.points)))
        return np.asarray(ids, dtype=np.int64)


class TransformerSearch(_CandidateSearch):
    """Neighbours by a transformer, fitted here, to sparse Euclidean distances of coordinates."""

    def __init__(self, points: FloatArray, transformer: Any) -> None:
        super().__init__(points)
        self._transformer = transformer
        self._own = transformer.fit_transform(points).tocsr()
        if self._own.shape != (len(points), len(points)):
            raise InvalidInputError(
                f"the neighbour transformer returned a matrix of shape {self._own.shape} for "
                f"{len(points)} points: it must be (n, n), distances to neighbours"
            )

    def _candidates(self, queries: FloatArray, count: int, own: Ids | None) -> Ids:
        matrix = self._transformer.transform(queries).tocsr() if own is None else self._own[own]
        counts = np.diff(matrix.indptr)
        ids = np.full((matrix.shape[0], int(counts.max(initial=1))), -1, dtype=np.int64)
        ids[np.arange(ids.shape[1]) < counts[:, None]] = matrix.indices
        return ids
