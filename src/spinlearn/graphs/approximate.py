"""Approximate neighbour search for many points: candidates from elsewhere, distances of our own.

`FaissSearch` asks an inverted file of faiss: points are listed by the nearest of some thousand
centres, and a query looks through the lists of its nearest centres, as many as it takes until the
measured recall, the share of true neighbours that are found for a sample of the points, reaches
RECALL; if it takes too many, as it may with many features, all points are looked at.
`TransformerSearch` asks any neighbour transformer in scikit-learn's style, such as
`KNeighborsTransformer` or pynndescent's. Distances are computed anew in double precision and ties
broken by index, as in the exact search, so that only a neighbour that is not listed at all can make
a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError, MissingDependencyError
from spinlearn.graphs.search import Ids, Links, Neighbors, Report, separations

RECALL = 0.97  # of the true neighbours, at least;
MANY, RECALL_OF_MANY = 2_000_000, 0.9  # of so many points less, for more takes minutes
JUDGED = 1_000  # points for which it is measured
CENTRES = 4.0  # times the root of the number of points
PER_CENTRE, ROUNDS = 40, 10  # points from which centres are found, and steps of k-means
FIRST_LISTS, MOST_LISTS = 8, 0.1  # looked through at first, and the largest share of them
SPARE = 2  # candidates beyond those asked for
WIDER = 4  # times as many candidates where points look for unseen ones
BLOCK = 65_536  # queries at a time


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
    """Neighbours by faiss; `recall` is measured for so many neighbours."""

    def __init__(self, points: FloatArray, neighbors: int) -> None:
        super().__init__(points)
        faiss = _faiss()
        n, d = points.shape
        single = points.astype(np.float32)
        n_centres = int(max(1, min(CENTRES * np.sqrt(n), n / 4)))
        self._centres = faiss.IndexFlatL2(d)  # kept: the index holds no reference to it
        self._index = faiss.IndexIVFFlat(self._centres, d, n_centres)
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
