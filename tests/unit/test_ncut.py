"""Normalised cut: the least cut where it can be listed, and scikit-learn's spectral clustering."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from spinlearn import KNN, Graph
from spinlearn.baselines import NormalizedCutClustering
from spinlearn.baselines.spectral import normalized_cut
from spinlearn.errors import GraphWarning
from spinlearn.linear import weight_matrix
from tests.conftest import grids
from tests.unit.test_linear_baselines import random_problem


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_clear_blobs_are_parted_as_by_spectral_clustering(n_clusters):
    X, truth = make_blobs(60 * n_clusters, 2, centers=n_clusters, cluster_std=0.4, random_state=3)
    graph = KNN(n_neighbors=n_clusters * 60 - 1).build(X)  # all pairs, so one part
    ours = NormalizedCutClustering(n_clusters).fit(graph)
    theirs = SpectralClustering(n_clusters, affinity="precomputed", random_state=0)
    theirs.fit(weight_matrix(graph).toarray())
    assert adjusted_rand_score(theirs.labels_, truth) == 1.0
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_eigenvalues_and_embedding_are_those_of_the_normalised_laplacian(seed):
    graph = random_problem(seed)[0]
    model = NormalizedCutClustering(4).fit(graph)
    matrix = laplacian(weight_matrix(graph).toarray(), normed=True)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(matrix)[:4], atol=1e-10)
    # D^-1/2 v solves the generalised problem (D - W) y = lambda D y of Shi & Malik.
    w = weight_matrix(graph).toarray()
    degrees = w.sum(axis=1)
    left = degrees[:, None] * model.embedding_ - w @ model.embedding_
    right = model.eigenvalues_ * degrees[:, None] * model.embedding_
    np.testing.assert_allclose(left, right, atol=1e-8)


def test_ncut_value_by_its_definition():
    graph, _ = random_problem(1, n=12)
    labels = np.arange(12) % 3
    w = weight_matrix(graph).toarray()
    parts = [labels == k for k in range(3)]
    expected = sum(w[inside][:, ~inside].sum() / w[inside].sum() for inside in parts)
    assert normalized_cut(graph, labels) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_bisection_is_the_least_of_all_cuts_along_the_eigenvector(seed):
    graph, _ = random_problem(seed, n=11)
    model = NormalizedCutClustering(2).fit(graph)
    order = np.argsort(model.embedding_[:, 1])
    along = [normalized_cut(graph, np.isin(np.arange(11), order[:k])) for k in range(1, 11)]
    assert model.ncut_ == pytest.approx(min(along), rel=1e-9)
    cuts = [bits for bits in product([0, 1], repeat=10) if any(bits)]
    least = min(normalized_cut(graph, np.array([0, *bits])) for bits in cuts)
    # The second eigenvalue, minimum of the relaxed problem, bounds every cut from below.
    assert model.eigenvalues_[1] - 1e-12 <= least <= model.ncut_ + 1e-12


def test_parts_without_connection_are_the_clusters():
    graph = grids(2, 3, 3, [(18, 19), (19, 20)], alone=4)
    model = NormalizedCutClustering(4).fit(graph)
    assert np.bincount(model.labels_).tolist() == [9, 9, 3, 1]
    assert model.ncut_ == 0.0
    np.testing.assert_allclose(model.eigenvalues_, 0.0, atol=1e-12)
    with pytest.warns(GraphWarning, match="4 parts without connection, more than n_clusters=2"):
        few = NormalizedCutClustering(2).fit(graph)
    assert np.bincount(few.labels_).tolist() == [13, 9]
    # One cluster more than parts: then a lattice is cut.
    assert np.bincount(NormalizedCutClustering(5).fit(graph).labels_).tolist()[0] == 9


def test_as_many_clusters_as_points_and_one_cluster():
    graph, _ = random_problem(0, n=7, n_labels=3)
    assert sorted(NormalizedCutClustering(7).fit(graph).labels_) == list(range(7))
    one = NormalizedCutClustering(1).fit(graph)
    assert set(one.labels_) == {0}
    assert one.ncut_ == 0.0
    assert NormalizedCutClustering(1).fit(Graph(1, [])).labels_.tolist() == [0]
