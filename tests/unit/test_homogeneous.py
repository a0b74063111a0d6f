"""Homogeneous couplings: the laws of J_ij ~ w_ij / sqrt(d_i d_j), and of the setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine, make_blobs

from spinlearn import Graph, MutualKNN, PottsClassifier, TemperatureRule, compare
from spinlearn.baselines import HarmonicFields
from spinlearn.energies import ENERGIES, MinCut
from spinlearn.engines import JunctionTree
from tests.classifiers import classifier
from tests.conftest import few_labels
from tests.energy_models import dense, random_graph


def signed_graph(seed: int, n: int = 12) -> Graph:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, density=0.3)
    return graph.with_weights(graph.weights * rng.choice([-1, 1, 1], graph.n_edges))


# -- the couplings themselves --------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), power=st.integers(-1000, 1000))
def test_they_are_the_definition_in_any_unit(seed, power):
    graph = signed_graph(seed)
    if graph.n_edges == 0:
        return
    w = dense(graph)
    d = np.abs(w).sum(axis=1)
    u, v = graph.edges.T
    expected = w[u, v] / np.sqrt(d[u] * d[v])
    expected /= np.abs(expected).mean()
    scaled = graph.with_weights(graph.weights * 2.0**power).homogeneous()
    np.testing.assert_array_equal(scaled.edges, graph.edges)
    np.testing.assert_allclose(scaled.weights, expected, rtol=1e-12)


def test_weights_of_every_size_side_by_side_keep_their_edges_and_signs():
    # 0 -1e300- 1 -1e-300- 2 -1e300- 3: the middle one is 1e-600 of its neighbours.
    chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1e300, -1e-300, 1e300]).homogeneous()
    np.testing.assert_allclose(chain.weights[[0, 2]], 1.5)
    assert 0 < -chain.weights[1] < 1e-300
    # At its end it binds a node that has nothing else: 1e-300 of 1e300 is representable.
    end = Graph(3, [(0, 1), (1, 2)], [1e300, 1e-300]).homogeneous()
    np.testing.assert_allclose(end.weights, [2, 2e-300], rtol=1e-12)
    least, most = np.finfo(float).smallest_subnormal, np.finfo(float).max
    extremes = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [most, most, most, least]).homogeneous()
    assert np.all(np.isfinite(extremes.weights) & (extremes.weights > 0))


def test_equal_weights_on_a_regular_graph_are_one_and_without_edges_nothing_changes():
    ring = Graph(7, [(i, (i + 1) % 7) for i in range(7)], np.full(7, 0.3)).homogeneous()
    np.testing.assert_allclose(ring.weights, 1, rtol=1e-15)
    assert len(set(ring.weights.tolist())) == 1
    lonely = Graph(3, [(0, 1), (1, 2)], [0.0, 0.0])
    assert lonely.homogeneous() is lonely


# -- the setting ---------------------------------------------------------------------------------


X, TRUTH = make_blobs(40, centers=[[0, 0], [7, 0]], cluster_std=[1.0, 0.2], random_state=0)
Y = few_labels(TRUTH, 2)
GRID = [0.0, 0.2, 0.5, 1.0]


def fit(points=X, **changes):
    given = {"method": "paper", "temperatures": GRID, "couplings": "homogeneous"} | changes
    return classifier(**given).fit(points, Y)


def test_the_paper_takes_the_weights_and_the_default_makes_them_homogeneous():
    for energy in ("auto", "min_cut"):
        fitted = PottsClassifier(method="paper", energy=energy, temperature="paper:grid=0,1")
        assert fitted.fit(X, Y).model_.graph is fitted.graph_
    fitted = PottsClassifier().fit(X, Y)
    np.testing.assert_array_equal(fitted.model_.couplings, fitted.graph_.homogeneous().weights)
    assert "couplings: homogeneous" in str(fitted.choices_[1])
    assert fitted.answer_.graph is fitted.model_.graph is not fitted.graph_


@pytest.mark.slow
def test_points_of_a_real_graph_melt_together():
    wine = load_wine()
    points = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    graph = MutualKNN(n_neighbors=7).build(points)
    y = few_labels(wine.target, 2)
    ranges = []
    for g in (graph, graph.homogeneous()):
        grid = np.geomspace(0.02, 6, 60)  # in units of the mean coupling
        run = JunctionTree().run(MinCut()(g, y, 3), grid * g.weights.mean())
        ends, weights = g.edges.ravel(), np.repeat(g.weights, 2)
        bound = [np.bincount(ends, weights * np.repeat(a, 2)) for a in run.edge_agreement]
        agreement = np.array(bound) / np.bincount(ends, weights)
        melts = [np.interp(-2 / 3, -agreement[:, i], grid) for i in np.flatnonzero(y < 0)]
        ranges.append(np.percentile(melts, [5, 95]))
    # As docs/choosing-a-graph.md says.
    np.testing.assert_allclose(ranges, [[0.27, 2.07], [1.04, 2.00]], atol=0.006)


@pytest.mark.parametrize("name", ENERGIES)
def test_every_energy_takes_them(name):
    graph = random_graph(np.random.default_rng(5), 8)
    labels = np.array([0, 1, -1, -1, -1, -1, -1, -1])
    fitted = PottsClassifier(
        energy=f"{name}:couplings=homogeneous", engine="enumeration", temperature="auto:grid=0.5"
    ).fit(graph, labels)
    reference = ENERGIES[name]()(graph.homogeneous(), labels, 2)
    states = np.random.default_rng(0).integers(0, 2, (20, 8))
    np.testing.assert_array_equal(fitted.model_.energy(states), reference.energy(states))


def test_other_methods_of_a_comparison_see_the_graph_itself():
    noise = np.random.default_rng(8).normal(size=(40, 2))  # borders lie anywhere
    graph = MutualKNN(n_neighbors=5).build(noise)
    given_ = graph, graph.homogeneous()
    plain, even = (HarmonicFields().fit(g, Y).transduction_ for g in given_)
    assert np.any(plain != even)
    energy, rule = "min_cut:couplings=homogeneous", TemperatureRule(grid=[0.0])
    table = compare(graph, Y, plain, energy=energy, methods=["harmonic"], temperature=rule)
    assert table.set_index("method").forced_errors["harmonic"] == 0
