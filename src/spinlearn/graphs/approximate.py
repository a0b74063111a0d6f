"""Approximate neighbour search for many points: candidates from elsewhere, distances of our own.

`FaissSearch` asks an inverted file of faiss: points are listed by the nearest of some thousand
centres, and a query looks through the lists of its nearest centres. Among the points themselves a
few lists are enough to begin with: neighbours of neighbours are looked at next
(`spinlearn.kernels.neighbor_lists`), in rounds, until the measured recall, the share of true
neighbours that are found for a sample of the points, reaches RECALL. For unseen points as many
lists are looked through as that recall needs; if it takes too many, as it may with many features,
all points are looked at. `TransformerSearch` asks any neighbour transformer in scikit-learn's
style, such as `KNeighborsTransformer` or pynndescent's. Distances are computed anew in double
precision and ties broken by index, as in the exact search, so that only a neighbour that is not
listed at all can make a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.graphs.search import Ids, Links, Neighbors, separations

RECALL = 0.97  # of the true neighbours, at least;
MANY, RECALL_OF_MANY = 2_000_000, 0.9  # of so many points less, for each round takes minutes
JUDGED = 1_000  # points for which it is measured
CENTRES = 4.0  # times the root of the number of points
PER_CENTRE, ROUNDS = 40, 10  # points from which centres are found, and steps of k-means
ROUGH_LISTS = 4  # looked through for the points themselves, to begin with
FEW_CENTRES = 3_000  # that are all compared with a point
LINKS, WIDTH = 16, 24  # of the graph of more centres, and how many are followed at a time
BACK = 8  # points that list a point, looked at beside those that it lists
MOST_ROUNDS = 4  # of neighbours of neighbours
BESIDE, BALL = 8, 100  # neighbours of a centre, and centres in a row that are near each other
FIRST_LISTS, MOST_LISTS = 8, 0.1  # looked through for unseen points, and their largest share
SPARE = 2  # candidates beyond those asked for
WIDER = 4  # times as many candidates where points look for unseen ones
BLOCK = 65_536  # queries at a time

Report = Callable[[float], None]


def faiss_at_hand() -> bool:
    """Whether faiss can be imported."""
    from importlib.util import find_spec

    return find_spec("faiss") is not None


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
        for rows in _blocks(len(queries)):
            mine = None if own is None else own[rows]
            ids = self._candidates(queries[rows], k + 1 + SPARE, mine)
            distances = _distances(queries[rows], self.points, ids)
            if own is not None:
                distances[ids == own[rows, None]] = np.inf  # no point is its own neighbour
            if np.isfinite(distances).sum(axis=1).min() < k:
                raise InvalidInputError(
                    f"the neighbour search found fewer than {k} neighbours of some points: ask it "
                    "for more, or use search='exact'"
                )
            order = np.lexsort((ids, distances), axis=-1)[:, :k]
            result.ids[rows] = np.take_along_axis(ids, order, axis=1)
            result.distances[rows] = np.take_along_axis(distances, order, axis=1)
            if report is not None:
                report(rows.stop / len(queries))
        return result

    def closer(self, queries: FloatArray, radii: FloatArray) -> Links:
        """Pairs of a query and a point, among the nearest, that lie within the point's radius."""
        count = min(WIDER * 10, len(self.points))
        found = []
        for rows in _blocks(len(queries)):
            ids = self._candidates(queries[rows], count, None)
            distances = _distances(queries[rows], self.points, ids)
            asking, place = np.nonzero(distances < radii[ids])
            found.append(Links(rows.start + asking, ids[asking, place], distances[asking, place]))
        return Links(*map(np.concatenate, zip(*found, strict=True)))


class FaissSearch(_CandidateSearch):
    """Neighbours by faiss.

    Parameters
    ----------
    points : float array (n, d)
    neighbors : int
        For how many neighbours the recall is measured.

    Attributes
    ----------
    recall : float
        Measured share of the true neighbours that are found.
    """

    def __init__(self, points: FloatArray, neighbors: int) -> None:
        super().__init__(points)
        faiss = _faiss()
        n, d = points.shape
        self._k = min(neighbors, n - 1)
        self._wanted = RECALL if n <= MANY else RECALL_OF_MANY
        self._points = points.astype(np.float32)
        self._n_centres = int(max(1, min(CENTRES * np.sqrt(n), n / 4)))
        self._centres = faiss.IndexFlatL2(d)  # kept: the index holds no reference to it
        self._index = faiss.IndexIVFFlat(self._centres, d, self._n_centres)
        self._index.cp.seed = 0
        self._index.cp.max_points_per_centroid = PER_CENTRE
        self._index.cp.min_points_per_centroid = 1  # no word about it
        self._index.cp.niter = ROUNDS
        self._index.train(self._points)
        self._listed: npt.NDArray[np.int32] | None = None  # candidates of the points themselves
        self._tuned, self._exhaustive = False, False

    @cached_property
    def _judged(self) -> tuple[Ids, Ids]:
        """Some points, and the true neighbours of each with itself among them."""
        n = len(self._points)
        asked = np.unique(np.linspace(0, n - 1, min(JUDGED, n)).round().astype(np.int64))
        _, truth = _faiss().knn(self._points[asked], self._points, self._k + 1)
        return asked, np.asarray(truth, dtype=np.int64)

    def _share_found(self, found: Ids) -> float:
        """Recall of neighbours of the judged points; a point finds itself."""
        asked, truth = self._judged
        shares = [
            len(np.intersect1d(a, b[b != i])[: self._k])
            for i, a, b in zip(asked, found, truth, strict=True)
        ]
        return float(sum(shares) / (self._k * len(asked)))

    def nearest(
        self, queries: FloatArray, k: int, own: Ids | None = None, report: Report | None = None
    ) -> Neighbors:
        """The k nearest points of every query, as far as they were found; see `Search`."""
        if own is not None and self._listed is None and not self._exhaustive:
            self._list_all(k + SPARE, report)
        if self._listed is None or report is None:
            return super().nearest(queries, k, own, report)
        return super().nearest(queries, k, own, lambda share: report(0.9 + 0.1 * share))

    def _list_all(self, width: int, report: Report | None) -> None:
        """Candidates of all points."""
        n, width = len(self._points), min(width, len(self._points) - 1)
        # Near each other in memory what is near in space: by list, lists by their centres.
        lists, wide = min(ROUGH_LISTS, self._n_centres), self._index.nprobe
        gaps, near = self._assigned(lists)
        rank = np.empty(self._n_centres, dtype=np.int32)
        rank[self._centre_order()] = np.arange(self._n_centres, dtype=np.int32)
        order = np.argsort(rank[near[:, 0]], kind="stable")
        found = np.empty((n, width), dtype=np.int32)
        place = np.empty(n, dtype=np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        for rows in _blocks(n):
            some = order[rows]
            _, ids = self._index.search_preassigned(
                self._points[some], width + 1, near[some], gaps[some]
            )
            # No point is its own neighbour; -1 stays -1.
            strange = (ids < 0) | (ids == some[:, None])
            kept = np.argsort(strange, axis=1, kind="stable")[:, :width]
            ids = np.where(strange, -1, place[ids])
            found[rows] = np.take_along_axis(ids, kept, axis=1)
            if report is not None:
                report(0.5 * rows.stop / n)
        if self._tuned:
            self._index.nprobe = wide  # for unseen points
        asked, recall = self._judged[0], 0.0
        for round_ in range(MOST_ROUNDS + 1):
            recall = self._share_found(_back(order, found[place[asked]]))
            if recall >= self._wanted or round_ == MOST_ROUNDS:
                break
            found = _improved(self._points, order, found)
            if report is not None:
                report(0.5 + 0.1 * min(round_ + 1, 4))
        if recall < self._wanted:  # neighbours of neighbours lead nowhere
            self._tune()
            return
        self.recall = recall
        self._listed = np.empty_like(found)
        for rows in _blocks(n):
            self._listed[order[rows]] = _back(order, found[rows])

    def _assigned(self, lists: int) -> tuple[npt.NDArray[np.float32], Ids]:
        """The nearest centres of every point with their distances; points enter the lists."""
        faiss, n, filled = _faiss(), len(self._points), self._index.ntotal > 0
        gaps, near = np.empty((n, lists), dtype=np.float32), np.empty((n, lists), dtype=np.int64)
        centres = self._quick_centres()
        for rows in _blocks(n):
            gaps[rows], near[rows] = centres.search(self._points[rows], lists)
            if filled:
                continue
            own = np.ascontiguousarray(near[rows, 0])
            numbers = np.arange(rows.start, rows.stop, dtype=np.int64)
            self._index.add_core(
                len(own), faiss.swig_ptr(self._points[rows]), faiss.swig_ptr(numbers),
                faiss.swig_ptr(own),
            )  # fmt: skip
        self._index.nprobe = lists
        return gaps, near

    def _quick_centres(self) -> Any:
        """What finds the nearest centres; many are looked for along a graph of them."""
        if self._n_centres <= FEW_CENTRES:
            return self._centres
        faiss = _faiss()
        quick = faiss.IndexHNSWFlat(self._points.shape[1], LINKS)
        quick.hnsw.efSearch = WIDTH
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # several would build another graph every time
        try:
            quick.add(self._centres.reconstruct_n(0, self._n_centres))
        finally:
            faiss.omp_set_num_threads(threads)
        return quick

    def _centre_order(self) -> npt.NDArray[np.int32]:
        """Centres, neighbours close together."""
        from spinlearn.kernels.node_order import list_in_balls

        n = self._n_centres
        places = self._centres.reconstruct_n(0, n)
        _, near = self._centres.search(places, min(BESIDE, n))
        indptr = np.arange(n + 1, dtype=np.int32) * near.shape[1]
        order, borders = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        listed = np.zeros(n, dtype=np.bool_)
        list_in_balls(indptr, near.astype(np.int32).ravel(), BALL, listed, borders, order)
        return order

    def _tune(self) -> None:
        """Look through as many lists as the recall needs, where points are unseen."""
        if self._tuned:
            return
        self._tuned = True
        if self._index.ntotal == 0:
            self._index.add(self._points)
        asked = self._judged[0]
        self._index.nprobe = min(FIRST_LISTS, self._n_centres)
        while True:
            _, found = self._index.search(self._points[asked], self._k + 1)
            recall = self._share_found(np.asarray(found))
            if recall >= self._wanted:
                break
            self._index.nprobe *= 2
            if self._index.nprobe > self._n_centres * MOST_LISTS:
                # Products of whole matrices are faster than so many lists.
                self._exhaustive = True
                self._index = _faiss().IndexFlatL2(self._points.shape[1])
                self._index.add(self._points)
                recall = 1.0
                break
        if self._listed is None:
            self.recall = recall

    def _candidates(self, queries: FloatArray, count: int, own: Ids | None) -> Ids:
        if own is not None and self._listed is not None:
            return np.asarray(self._listed[own], dtype=np.int64)
        self._tune()
        _, ids = self._index.search(queries.astype(np.float32), min(count, len(self.points)))
        return np.asarray(ids, dtype=np.int64)


def _back(order: Ids, places: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Points by their places in an order; -1 stays."""
    return np.where(places < 0, -1, order[places])


def _improved(points: Any, order: Ids, found: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """One round of neighbours of neighbours; everything in the given order."""
    from concurrent.futures import ThreadPoolExecutor

    import joblib

    from spinlearn.kernels.neighbor_lists import LANES, improve_lists, list_back

    n, d = points.shape
    padded = np.zeros((n, -(-d // LANES) * LANES), dtype=np.float32)
    for rows in _blocks(n):
        padded[rows, :d] = points[order[rows]]
    back = np.full((n, BACK), -1, dtype=np.int32)
    list_back(found, back, np.zeros(n, dtype=np.int32))
    new = np.empty_like(found)

    def improve(rows: slice) -> None:
        squares = np.empty(found.shape[1], dtype=np.float32)
        improve_lists(padded, found, back, rows.start, rows.stop, new, squares)

    with ThreadPoolExecutor(joblib.cpu_count()) as pool:
        list(pool.map(improve, _blocks(n)))
    return new


class TransformerSearch(_CandidateSearch):
    """Neighbours by a transformer with `fit_transform` and `transform` to sparse distances.

    Parameters
    ----------
    points : float array (n, d)
    transformer : object
        Fitted here; asked for Euclidean neighbours of coordinates.
    """

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
        if own is None:
            return _listed(self._transformer.transform(queries).tocsr())
        return _listed(self._own[own])


def _listed(matrix: Any) -> Ids:
    """Columns of every row, (rows, most), -1 after the last."""
    counts = np.diff(matrix.indptr)
    ids = np.full((matrix.shape[0], int(counts.max(initial=1))), -1, dtype=np.int64)
    ids[np.arange(ids.shape[1]) < counts[:, None]] = matrix.indices
    return ids


def _distances(queries: FloatArray, points: FloatArray, ids: Ids) -> FloatArray:
    """Distances (n_queries, count) to candidates; infinite where there is none."""
    asking = np.repeat(np.arange(len(queries)), ids.shape[1])
    found = separations(queries, asking, points, ids.ravel()).reshape(ids.shape)
    found[ids < 0] = np.inf
    return found


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, BLOCK):
        yield slice(start, min(start + BLOCK, n_rows))


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingDependencyError(
            "search='faiss' needs faiss, which is not installed: pip install 'spinlearn[ann]', or "
            "use search='exact'"
        ) from error
    return faiss


def is_transformer(value: Any) -> bool:
    """Whether this is a neighbour transformer in scikit-learn's style."""
    return hasattr(value, "fit_transform") and hasattr(value, "transform")
