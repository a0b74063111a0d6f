"""Minimum spanning trees: as short as SciPy's, whichever way they are found."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from spinlearn.graphs import MutualKNN, describe, spanning_tree
from spinlearn.graphs.neighbors import PointSpace


def tree_of(X, metric="euclidean", k=8):
    space = PointSpace(X, metric)
    return space.spanning_tree(space.nearest(min(k, len(X) - 1)))[0]


def shortest_length(X, metric="euclidean"):
    """Of distinct points: SciPy takes no distance for no edge, in a dense matrix 1e-8, too."""
    distinct = np.unique(X, axis=0)
    return minimum_spanning_tree(csr_array(cdist(distinct, distinct, metric))).sum()


def assert_minimum_spanning_tree(X, tree, metric="euclidean"):
    n = len(X)
    assert tree.shape == (n - 1, 2)
    links = csr_array((np.ones(n - 1), tree.T), shape=(n, n))
    assert connected_components(links, directed=False)[0] == 1
    length = sum(cdist(X[[u]], X[[v]], metric)[0, 0] for u, v in tree)
    assert length == pytest.approx(shortest_length(X, metric), rel=1e-9)


def blobs(sizes, d, spread, seed=0):
    rng = np.random.default_rng(seed)
    blob = [rng.normal(size=d) * 10 + spread * rng.normal(size=(s, d)) for s in sizes]
    return np.concatenate(blob)


@pytest.mark.parametrize(
    ("sizes", "d", "spread", "metric"),
    [
        *(([20] * 20, d, 0.1, "euclidean") for d in (2, 12)),  # need longer lists
        *(([300, 200, 150, 400], d, 0.3, "euclidean") for d in (2, 8, 12)),  # searched one by one
        *(
            ([200, 30, 100], d, 0.3, metric)
            for d in (4, 14)
            for metric in ("cosine", "correlation")
        ),
    ],
)
def test_clusters(sizes, d, spread, metric):
    X = blobs(sizes, d, spread)
    assert_minimum_spanning_tree(X, tree_of(X, metric), metric)


def test_bridge_in_a_dense_region_beats_listed_edges_in_a_sparse_one():
    """The tree of the k-NN graph is not that of all points: lists must not be trusted blindly."""
    rng = np.random.default_rng(0)
    dense = [rng.random((40, 2)) * 0.5 + [x, 0] for x in (-2.5, 2.0)]  # gap of about 4 at y = 0
    sparse = np.array([[-2.25, 3.9], [2.25, 3.9]])  # each other's near neighbours, 4.5 apart
    X = np.concatenate([*dense, sparse])
    tree = tree_of(X, k=8)
    assert_minimum_spanning_tree(X, tree)
    assert not np.any(np.all(np.sort(tree, axis=1) == [80, 81], axis=1))


@pytest.mark.parametrize("seed", range(8))
def test_uneven_densities(seed):
    rng = np.random.default_rng(seed)
    d = (1, 2, 3, 12)[seed % 4]
    X = blobs(rng.integers(1, 60, size=12), d, spread=np.exp(rng.normal()), seed=seed)
    assert_minimum_spanning_tree(X, tree_of(X, k=int(rng.integers(1, 9))))


@pytest.mark.parametrize(("values", "d"), [(2, 11), (4, 2), (12, 2)])
def test_lattice_points_and_copies(values, d):
    X = np.random.default_rng(0).integers(0, values, size=(600, d)).astype(float)
    assert_minimum_spanning_tree(X, tree_of(X))
    X = np.repeat(np.random.default_rng(0).random((6, 3)), values**2, axis=0)
    assert_minimum_spanning_tree(X, tree_of(X))


@pytest.mark.parametrize("n", [1, 2, 5, 200])
def test_matrix(n):
    X = np.round(np.random.default_rng(0).random((n, 2)), 1)  # with copies and ties
    tree = spanning_tree.matrix_spanning_tree(cdist(X, X))
    assert_minimum_spanning_tree(X, tree)


def test_mutual_neighbours_and_tree_together():
    X = blobs([100, 20, 1], 3, spread=0.5)
    alone = MutualKNN(n_neighbors=5, spanning_tree=False).build(X)
    both = MutualKNN(n_neighbors=5).build(X)
    assert describe(alone).n_components > describe(both).n_components == 1
    expected = {tuple(sorted(e)) for e in alone.edges.tolist() + tree_of(X).tolist()}
    assert set(map(tuple, both.edges.tolist())) == expected
    # The nearest of all pairs of mutual neighbours are in the tree already.
    assert MutualKNN(n_neighbors=1).build(X).n_edges == len(X) - 1
