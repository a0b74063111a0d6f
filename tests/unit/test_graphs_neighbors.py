"""Point builders against brute force, and the laws their graphs obey."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

from spinlearn.errors import InvalidInputError
from spinlearn.graphs import KNN, MutualKNN, Radius, describe, search
from spinlearn.graphs.neighbors import SMALLEST_SIMILARITY
from spinlearn.model.protocols import GraphBuilder
from tests.energy_models import dense

METRICS = ["euclidean", "cosine", "correlation"]
DIMENSIONS = [3, 9, 12]  # tree for all; tree among themselves only; matrix product


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 1.0


def nearest(distances, k):
    """Which columns are the k nearest of every row, ties to the lower index."""
    links = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(links, np.argsort(distances, axis=1, kind="stable")[:, :k], True, axis=1)
    return links


def directed(distances, k):
    return nearest(distances + np.diag(np.full(len(distances), np.inf)), k)


def adjacency(graph):
    return dense(graph) > 0


def assert_same_graph(one, other):
    np.testing.assert_array_equal(one.edges, other.edges)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_neighbours_match_brute_force(metric, d):
    X = points(200, d)
    distances = cdist(X, X, metric)
    lists = directed(distances, 7)
    knn = KNN(n_neighbors=7, metric=metric).build(X)
    np.testing.assert_array_equal(adjacency(knn), lists | lists.T)
    mutual = MutualKNN(n_neighbors=7, metric=metric, spanning_tree=False).build(X)
    np.testing.assert_array_equal(adjacency(mutual), lists & lists.T)
    radius = np.quantile(distances, 0.1)
    expected = (distances <= radius) & ~np.eye(200, dtype=bool)
    found = Radius(radius=radius, metric=metric).build(X)
    np.testing.assert_array_equal(adjacency(found), expected)
    # ... and so do those of unseen points
    X_new, own = points(50, d, seed=1), np.sort(distances + np.diag(np.full(200, np.inf)), axis=1)
    distances = cdist(X_new, X, metric)
    expected = nearest(distances, 7)
    either = expected | (distances < own[:, 6])  # or it would be among theirs
    for builder, links in (
        (MutualKNN(n_neighbors=7, metric=metric), expected),
        (KNN(n_neighbors=7, metric=metric), either),
        (Radius(radius=radius, metric=metric), distances <= radius),
    ):
        np.testing.assert_array_equal(builder.attach(X_new, X).toarray() > 0, links)


@pytest.mark.parametrize("d", [2, 11])
def test_ties_go_to_the_lower_index(d):
    X = np.random.default_rng(0).integers(0, 3 if d > 2 else 9, size=(300, d))
    distances = cdist(X, X)
    lists = directed(distances, 6)
    by_matrix = KNN(n_neighbors=6, metric="precomputed").build(distances)
    for graph in (KNN(n_neighbors=6, weights="constant").build(X), by_matrix):
        np.testing.assert_array_equal(adjacency(graph), lists | lists.T)
    mutual = MutualKNN(n_neighbors=6, weights="constant", spanning_tree=False).build(X)
    np.testing.assert_array_equal(adjacency(mutual), lists & lists.T)
    at_limit = Radius(radius=2.0).build(X)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(adjacency(at_limit), distances <= 2)


@pytest.mark.parametrize("d", [2, 11])
def test_a_point_with_many_copies_is_not_its_own_neighbour(d):
    X = np.repeat(points(3, d), [50, 40, 2], axis=0)
    X[:25, 0], X[25:50, 0] = 0.0, -0.0  # equal, though not bit by bit
    lists = directed(cdist(X, X), 5)
    graph = KNN(n_neighbors=5).build(X)
    np.testing.assert_array_equal(adjacency(graph), lists | lists.T)
    assert np.all(graph.degrees >= 5)


def test_close_pairs_far_from_the_origin_are_told_apart():
    """Products of coordinates lose all digits of these distances; the tree must take over."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1e7, 1e7], size=(4, 12))[rng.integers(4, size=200)]
    X = X + rng.normal(size=X.shape) * 1e-3
    lists = directed(cdist(X, X), 5)
    np.testing.assert_array_equal(adjacency(KNN(n_neighbors=5).build(X)), lists | lists.T)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e300])
@pytest.mark.parametrize("weights", ["gaussian", "local", "constant"])
def test_unit_of_length_does_not_matter(factor, weights):
    X, X_new = points(80, 4), points(20, 4, seed=1)
    builder = MutualKNN(n_neighbors=4, weights=weights)
    assert_same_graph(builder.build(X), builder.build(X * factor))
    new, other = builder.attach(X_new, X), builder.attach(X_new * factor, X * factor)
    np.testing.assert_allclose(new.toarray(), other.toarray(), rtol=1e-9)


@pytest.mark.parametrize("builder", [KNN(), MutualKNN(weights="local"), Radius(radius=1.0)])
def test_permuting_points_permutes_the_graph_and_nothing_is_changed(builder):
    assert isinstance(builder, GraphBuilder)
    X = points(150, 3)
    before, copy = builder.get_params(), X.copy()
    order = np.random.default_rng(1).permutation(len(X))
    graph, permuted = builder.build(X), builder.build(X[order])
    builder.attach(points(5, 3), X)
    assert builder.get_params() == before
    np.testing.assert_array_equal(X, copy)
    assert_same_graph(graph, clone(builder).build(X))
    edges = np.sort(order[permuted.edges], axis=1)
    by_place = np.lexsort(edges.T[::-1])
    np.testing.assert_array_equal(edges[by_place], graph.edges)
    np.testing.assert_allclose(permuted.weights[by_place], graph.weights, rtol=1e-9)


def test_weights_follow_their_formulas_and_attached_ones_reuse_the_scales():
    X, X_new = points(60, 3), points(10, 3, seed=1)
    lengths, new_lengths = cdist(X, X), cdist(X_new, X)
    graphs = {w: KNN(n_neighbors=5, weights=w) for w in ("gaussian", "local", "constant")}
    graph = graphs["gaussian"].build(X)
    u, v = graph.edges.T
    mean = lengths[u, v].mean()
    own = np.array([lengths[i, adjacency(graph)[i]].mean() for i in range(60)])
    np.testing.assert_allclose(graph.weights, np.exp(-((lengths[u, v] / mean) ** 2)))
    local = np.exp(-(lengths[u, v] ** 2) / own[u] / own[v])
    np.testing.assert_allclose(graphs["local"].build(X).weights, local)
    assert np.all(graphs["constant"].build(X).weights == 1)

    attached = {w: builder.attach(X_new, X).toarray() for w, builder in graphs.items()}
    new, old = np.nonzero(attached["constant"])
    d = new_lengths[new, old]
    np.testing.assert_allclose(attached["gaussian"][new, old], np.exp(-((d / mean) ** 2)))
    new_own = np.bincount(new, d) / np.bincount(new)
    local = np.exp(-(d**2) / new_own[new] / own[old])
    np.testing.assert_allclose(attached["local"][new, old], local)
    assert set(attached["constant"][new, old]) == {1.0}


@pytest.mark.parametrize("builder", [KNN(weights="local"), MutualKNN(n_neighbors=4)])
def test_identical_points_have_similarity_one(builder):
    X = np.full((30, 2), 3.7)
    graph = builder.build(X)
    assert np.all(graph.weights == 1)
    assert describe(graph).n_components == 1
    assert np.all(builder.attach(X[:2], X).data == 1)


def test_vanishing_similarities_remain_edges():
    X = np.concatenate([np.linspace(0, 1e-3, 99), [1e6]])[:, None]
    graph = KNN(n_neighbors=3).build(X)
    assert (graph.degrees[-1], graph.weights.min()) == (3, SMALLEST_SIMILARITY)
    attached = KNN(n_neighbors=3).attach([[1e9]], X)
    assert attached.nnz == 3
    assert attached.data.min() > 0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("builder", [KNN(), MutualKNN(), Radius(radius=1.0)])
def test_precomputed_distances_give_the_same_graph(metric, builder):
    X, X_new = points(120, 5), points(30, 5, seed=1)
    by_points, by_matrix = (clone(builder).set_params(metric=m) for m in (metric, "precomputed"))
    distances, new_distances = cdist(X, X, metric), cdist(X_new, X, metric)
    assert_same_graph(by_points.build(X), by_matrix.build(distances))
    new, other = by_points.attach(X_new, X), by_matrix.attach(new_distances, distances)
    np.testing.assert_allclose(new.toarray(), other.toarray(), rtol=1e-9)


def test_precomputed_distances_may_carry_rounding():
    X = points(40, 3)
    distances = 1 - np.corrcoef(X)
    distances[3, 5] += 1e-15
    np.fill_diagonal(distances, -1e-16)
    graph = MutualKNN(metric="precomputed").build(distances)
    assert_same_graph(graph, MutualKNN(metric="correlation").build(X))


@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("d", [2, 12])
def test_too_many_neighbours_mean_all_others(n, d):
    X = points(n, d)
    for builder in (KNN(n_neighbors=50), MutualKNN(n_neighbors=50)):
        assert builder.build(X).n_edges == n * (n - 1) // 2
        assert builder.attach(points(2, d, seed=1), X).nnz == 2 * n
    assert KNN(n_neighbors=50, metric="precomputed").build(cdist(X, X)).n_edges == n * (n - 1) // 2


def test_points_beyond_the_radius_are_isolated():
    X, near = [[0.0], [1.0], [10.0]], Radius(radius=1.0, weights="local")
    assert near.build(X).edges.tolist() == [[0, 1]]
    attached = near.attach([[10.5], [50.0]], X)
    assert (attached.shape, attached.nonzero()[1].tolist()) == ((2, 3), [2])
    assert Radius(radius=0.1).build(X).n_edges == 0
    assert Radius(radius=0.1).attach([[0.05]], X).data.tolist() == [1.0]


@pytest.mark.parametrize("d", [2, 12])
def test_a_radius_that_joins_everything_is_refused(monkeypatch, d):
    monkeypatch.setattr(search, "MAX_EDGES", 1000)
    with pytest.raises(InvalidInputError, match=r"1,000 pairs.*smaller radius"):
        Radius(radius=100.0).build(points(100, d))
