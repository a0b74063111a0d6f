"""Orders of nodes, linear systems and lists of neighbours: laws that hold at any size."""

import numpy as np
import pytest

from spinlearn import Graph
from spinlearn.graphs import KNN
from spinlearn.graphs import search as approximate
from spinlearn.graphs.search import Search
from spinlearn.linear import inverse_roots, scaled, solve, weight_matrix
from spinlearn.model import graph as node_order
from tests.conftest import grid_graph

pytestmark = pytest.mark.slow


def grid(side: int) -> Graph:
    """A square grid with its nodes in random order."""
    number = np.random.default_rng(0).permutation(side * side)
    return Graph(side * side, number[grid_graph(side, side).edges])


def gaps(graph: Graph, order: np.ndarray) -> np.ndarray:
    """How far apart neighbours are in an order."""
    place = np.empty(graph.n_nodes, dtype=int)
    place[order] = np.arange(len(order))
    return np.abs(np.diff(place[graph.edges], axis=1))


def test_every_node_not_left_out_is_listed_once_and_neighbours_are_close(monkeypatch):
    monkeypatch.setattr(node_order, "BALL", 50)
    graph = grid(40)
    order = node_order.near_order(graph.indptr, graph.neighbors)
    assert np.array_equal(np.sort(order), np.arange(1600))
    assert np.median(gaps(graph, order)) < 0.1 * np.median(gaps(graph, np.arange(1600)))
    out = np.arange(1600) % 7 == 0
    order = node_order.near_order(graph.indptr, graph.neighbors, out)
    assert np.array_equal(np.sort(order), np.flatnonzero(~out))


def test_single_precision_solves_to_its_tolerance():
    graph = grid(80)
    roots = inverse_roots(np.bincount(graph.edges.ravel(), minlength=6400).astype(float))
    right = np.random.default_rng(1).random((6400, 3))
    full = solve(scaled(weight_matrix(graph), roots, 0.95), right, tol=1e-8, max_iter=1000)
    matrix = scaled(weight_matrix(graph, np.float32), roots, 0.95)
    half = solve(matrix, right.astype(np.float32), tol=1e-5, max_iter=1000)
    assert half.x.dtype == np.float32
    assert half.residual <= 1e-5
    assert np.abs(half.x - full.x).max() < 1e-3 * np.abs(full.x).max()


@pytest.mark.parametrize("n_features", [6, 50])
def test_faiss_finds_as_many_neighbours_as_it_says(n_features):
    """In many dimensions no number of lists is enough, and all points are looked through."""
    pytest.importorskip("faiss")
    points = np.random.default_rng(3).normal(size=(3000, n_features))
    search, own = approximate.FaissSearch(points, 10), np.arange(3000)
    assert approximate.RECALL <= search.recall <= 1
    assert (search.recall == 1) == (n_features == 50)
    found = search.nearest(points, 10, own)
    exact = Search(points).nearest(points, 10, own)
    shares = [len(np.intersect1d(a, b)) / 10 for a, b in zip(found.ids, exact.ids, strict=True)]
    assert np.mean(shares) >= search.recall - 0.02
    assert not np.any(found.ids == own[:, None])
    assert np.all(np.diff(found.distances, axis=1) >= 0)
    assert all(len(np.unique(row)) == 10 for row in found.ids)
    builders = [KNN(search="faiss") for _ in range(2)]
    assert np.array_equal(*[builder.build(points).edges for builder in builders])
    assert builders[0].recall_ >= approximate.RECALL
