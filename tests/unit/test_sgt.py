"""The spectral graph transducer against its eigenvalue formulation, solved densely."""

import numpy as np
import pytest
from scipy.linalg import eigh, eigvals

from spinlearn import Graph
from spinlearn.baselines import SpectralGraphTransducer, spectral
from spinlearn.baselines.spectral import on_the_sphere
from spinlearn.linear import weight_matrix
from tests.conftest import grids, labels_at
from tests.unit.test_linear_baselines import random_problem


def joachims(graph, positive, negative, c, d):
    """z by the paper's own steps: lambda is the least eigenvalue of a 2d x 2d matrix."""
    w = weight_matrix(graph).toarray()
    n = len(w)
    roots = 1 / np.sqrt(w.sum(axis=1))
    v = eigh(np.eye(n) - roots[:, None] * w * roots)[1][:, 1 : d + 1]
    gamma, cost = np.zeros(n), np.zeros(n)
    a, b = len(positive), len(negative)
    gamma[positive], gamma[negative] = np.sqrt(b / a), -np.sqrt(a / b)
    cost[positive], cost[negative] = (a + b) / (2 * a), (a + b) / (2 * b)
    g = np.diag(np.arange(1, d + 1) ** 2.0) + c * v.T @ np.diag(cost) @ v
    right = c * v.T @ (cost * gamma)
    block = np.block([[g, -np.eye(d)], [-np.outer(right, right) / n, g]])
    values = eigvals(block)
    least = values[np.argmin(values.real)]
    assert abs(least.imag) < 1e-8 * abs(least)
    z = v @ np.linalg.solve(g - least.real * np.eye(d), right)
    assert np.isclose(z @ z, n, rtol=1e-6)
    return (z - gamma.min()) / (gamma.max() - gamma.min())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("c", "d"), [(1.0, 10), (3200.0, 40), (100.0, 5)])
def test_scores_are_those_of_the_eigenvalue_formulation(seed, c, d):
    graph, y = random_problem(seed)
    model = SpectralGraphTransducer(c=c, d=d).fit(graph, y)
    for k in range(3):
        expected = joachims(
            graph, np.flatnonzero(y == k), np.flatnonzero((y >= 0) & (y != k)), c, d
        )
        np.testing.assert_allclose(model.decision_values_[:, k], expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_, model.decision_values_.argmax(axis=1))


def test_two_classes_meet_at_the_threshold_of_the_paper():
    graph, y = random_problem(4, n_classes=2)
    model = SpectralGraphTransducer(d=20).fit(graph, y)
    expected = joachims(graph, np.flatnonzero(y == 1), np.flatnonzero(y == 0), 3200.0, 20)
    np.testing.assert_allclose(model.decision_values_[:, 1], expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_, (expected > 0.5).astype(int))
    np.testing.assert_allclose(model.decision_values_.sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_minimum_on_the_sphere_beats_every_other_point(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    root = rng.normal(size=(d, d))
    g, b, square = root @ root.T, rng.normal(size=d), rng.uniform(0.1, 10)
    w = on_the_sphere(g, b, square)
    np.testing.assert_allclose(w @ w, square, rtol=1e-9)
    others = rng.normal(size=(2000, d))
    others *= np.sqrt(square) / np.linalg.norm(others, axis=1)[:, None]
    values = np.einsum("si,ij,sj->s", others, g, others) - 2 * others @ b
    assert w @ g @ w - 2 * b @ w <= values.min() + 1e-9


def test_hard_case_is_the_mean_of_two_equal_minima():
    g, b = np.diag([1.0, 3.0]), np.array([0.0, 1.0])
    np.testing.assert_allclose(on_the_sphere(g, b, 4.0), [0.0, 0.5])
    np.testing.assert_allclose(on_the_sphere(g, b, 0.01), [0.0, 0.1])  # not hard: a short sphere
    np.testing.assert_array_equal(on_the_sphere(g, 0 * b, 4.0), [0.0, 0.0])


def test_parts_with_labels_of_one_class_each():
    graph, y = grids(2, 4, 5, alone=2), labels_at({3: 0, 25: 1, 40: 0}, 42)
    with pytest.warns(UserWarning, match="1 points are in parts of the graph without any label"):
        model = SpectralGraphTransducer().fit(graph, y)
    expected = np.concatenate([np.repeat([0, 1], 20), [0, -1]])
    np.testing.assert_array_equal(model.transduction_, expected)
    assert np.all(np.isnan(model.decision_values_[41]))


def test_equal_eigenvalues_do_not_depend_on_their_basis():
    # Eight copies of one lattice: all eigenvalues come in eights, and the labels break no symmetry
    # between copies with the same labels.
    y = labels_at({place + 12 * k: k // 4 for k in range(8) for place in (5, 8)}, 96)
    model = SpectralGraphTransducer(d=95).fit(grids(8, 3, 4), y)
    scores = model.decision_values_[:, 0].reshape(8, 12)
    np.testing.assert_allclose(scores[:4], np.tile(scores[0], (4, 1)), atol=1e-6)
    np.testing.assert_allclose(scores[4:], 1 - scores[:4], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("largest_factor", [spectral.MAX_FACTOR, 0], ids=["factor", "lanczos"])
def test_sparse_eigenvectors_are_the_dense_ones(monkeypatch, largest_factor):
    monkeypatch.setattr(spectral, "MAX_FACTOR", largest_factor)
    rng = np.random.default_rng(0)
    n = spectral.DENSE + 300
    pairs = rng.integers(0, n, (5 * n, 2))
    graph = Graph(n, pairs, rng.uniform(0.5, 1.5, len(pairs)), duplicates="first")
    w = weight_matrix(graph)
    low = spectral.low_spectrum(w, 12)
    dense = w.toarray()
    roots = 1 / np.sqrt(dense.sum(axis=1))
    values, vectors = eigh(np.eye(n) - roots[:, None] * dense * roots, subset_by_index=[0, 11])
    np.testing.assert_allclose(low.values, np.clip(values, 0, None), rtol=0, atol=1e-9)
    overlaps = np.abs(np.sum(low.vectors * vectors, axis=0))
    np.testing.assert_allclose(overlaps, 1.0, rtol=0, atol=1e-6)
