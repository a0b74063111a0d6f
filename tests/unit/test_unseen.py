"""Unseen points: exact where a point is a leaf, calibrated and linear in memory elsewhere."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.answers.unseen import CouplingLaw
from spinlearn.energies import Custom, Harmonic, MinCut
from spinlearn.engines import Enumeration, JunctionTree
from spinlearn.graphs import KNN
from spinlearn.model.graph import Graph
from tests.classifiers import classifier
from tests.conftest import labels_at, some_labels


def tree(n, seed):
    """A random tree with random couplings."""
    g = np.random.default_rng(seed)
    edges = [(int(g.integers(i)), i) for i in range(1, n)]
    return Graph(n, edges, g.uniform(0.2, 2.0, len(edges)))


def assert_exact(model, energy, y, links):
    """One more point with such weights to nodes has the law of the graph with one more node."""
    graph, temperature = model.graph_, model.temperature_
    n, nodes, weights = graph.n_nodes, list(links), list(links.values())
    edges = np.vstack([graph.edges, [(node, n) for node in nodes]])
    wider = Graph(n + 1, edges, np.append(graph.weights, weights))
    whole = energy(wider, np.append(y, -1), 3)
    row = sparse.csr_array((weights, ([0] * len(nodes), nodes)), shape=(1, n))
    for engine in (JunctionTree(), Enumeration()):
        exact = engine.run(whole, [temperature]).marginals[0, -1]
        np.testing.assert_allclose(model.predict_proba(row)[0], exact, rtol=0, atol=1e-9)


def fitted(graph, y, temperature, **settings):
    settings = {"method": "paper", "engine": "junction_tree", "n_states": 3} | settings
    given = {"temperature": temperature, "temperatures": [temperature]} | settings
    return classifier(**given).fit(graph, y)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.01, 0.3, 1.0, 5.0, np.inf])
@pytest.mark.parametrize("label_strength", [np.inf, 0.7])
def test_a_leaf_has_its_exact_law(temperature, label_strength):
    for seed in range(4):
        graph = tree(9, seed)
        y = labels_at({0: 0, 4: 1, 7: 2}, 9)
        model = fitted(graph, y, temperature, label_strength=label_strength)
        for node, weight in ((2, 0.4), (4, 1.3), (8, 3.0)):
            assert_exact(model, MinCut(label_strength=label_strength), y, {node: weight})


@pytest.mark.parametrize("kind", ["ordered", "own", "shared"])
def test_a_leaf_under_pair_costs_and_fields(kind):
    """Classes in an order, the field of its neighbour, or the one that most points share."""
    graph, y = tree(8, 2), np.array([0, -1, -1, 2, -1, 1, -1, -1])
    fields = np.random.default_rng(0).normal(size=(8, 3)) * 0.4
    if kind == "shared":
        fields[1:] = [0.3, 0.0, -0.2]
    energy, wider = Custom(fields=fields), Custom(fields=np.vstack([fields, fields[6]]))
    if kind == "ordered":
        energy = wider = Harmonic(class_values=[0.0, 1.0, 2.5])
    assert_exact(fitted(graph, y, 0.8, energy=energy), wider, y, {6: 0.9})


def test_neighbours_in_parts_of_their_own_say_independent_things():
    graph = Graph(6, [(0, 1), (2, 3), (4, 5)], [1.0, 0.6, 1.4])
    y = np.array([0, -1, 1, -1, 2, -1])
    assert_exact(fitted(graph, y, 0.5), MinCut(), y, {1: 0.3, 3: 0.8, 5: 0.4})


@pytest.mark.parametrize(
    ("scale", "temperature", "rows", "first"),
    [
        (1, 0.0, [[2, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 5]], [0.75, 0.5, 0]),
        (1e5, 1.0, [[1, 1, 1, 0], [1, 0, 1, 0], [0, 2, 1, 2]], [1, 0.5, 0]),
    ],
)
def test_at_zero_temperature_and_under_strong_couplings_neighbours_vote(
    scale, temperature, rows, first
):
    graph = Graph(4, [(0, 1), (2, 3)], [scale, scale])
    model = fitted(graph, [0, -1, 1, -1], temperature, n_states=2)
    rows = scale * np.array(rows, dtype=float)
    np.testing.assert_allclose(model.predict_proba(rows)[:, 0], first, rtol=0, atol=1e-12)
    assert model.predict(rows).tolist() == [0, -1, 1]


def test_couplings_follow_those_of_training():
    g = np.random.default_rng(0)
    graph = KNN(n_neighbors=5).build(g.normal(size=(60, 2)))
    d = np.bincount(graph.edges.ravel(), np.repeat(graph.weights, 2))
    i = 7
    row = sparse.csr_array(([0.5, 0.3], ([0, 0], [i, i + 1])), shape=(1, 60))
    w, near = np.array([0.5, 0.3]), d[[i, i + 1]]
    by_degree = w / np.sqrt(0.8 * (near + w))
    u, v = graph.edges.T
    scale = 1 / np.mean(graph.weights / np.sqrt(d[u] * d[v]))
    for couplings, energy, expected in (
        ("weights", "min_cut", w),
        ("weights", "harmonic", 2 * w),
        ("weights", "lgc", 2 * by_degree),
        ("homogeneous", "min_cut", scale * by_degree),
        ("homogeneous", "modularity", scale * by_degree),
        ("homogeneous", "harmonic", 2 * scale * by_degree),
    ):
        fitted = PottsClassifier(
            energy=f"{energy}:couplings={couplings}",
            engine="belief_propagation",
            temperature="auto:grid=1",
        ).fit(graph, [0, 1] + [-1] * 58)
        law = CouplingLaw.of(graph, fitted.model_)
        np.testing.assert_allclose(law.couplings(row), expected, rtol=1e-9)


def test_the_class_term_is_that_of_a_training_point():
    """A twin of a point that no neighbour holds has its law: uniform but for the class term."""
    graph = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    y = np.array([0, 0, 0, -1, -1, 1])
    model = PottsClassifier(
        energy="balanced_cut",
        engine="enumeration",
        temperature=TemperatureRule(name=2.0, grid=[2.0]),
    ).fit(graph, y)
    penalty = model.model_.class_penalty
    assert np.all(penalty.sizes == 1)
    volumes = penalty.sizes @ model.answer_.equilibrium.marginals[0]
    expected = np.exp(-penalty.coefficient * (volumes - penalty.targets) / 2.0)
    row = sparse.csr_array(([1e-9], ([0], [4])), shape=(1, 6))
    law = model.predict_proba(row)[0]
    np.testing.assert_allclose(law, expected / expected.sum(), atol=1e-6)
    assert law[1] > law[0]  # the smaller class


def expected_calibration_error(p, truth):
    sure, right = p.max(axis=1), p.argmax(axis=1) == truth
    cell = np.minimum((10 * sure).astype(int), 9)
    gaps = [abs(np.sum(sure[cell == k]) - np.sum(right[cell == k])) for k in range(10)]
    return sum(gaps) / len(truth)


def digits(n):
    """Digits in a random order: points and truth of the first n, and of the rest."""
    X, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(truth))
    return X[order[:n]], truth[order[:n]], X[order[n:]], truth[order[n:]]


@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 10])
def test_unseen_digits_are_calibrated_as_the_rest(labels):
    X, truth, unseen, its_truth = digits(1400)
    model = PottsClassifier(method="messages", novelty=0, random_state=0)
    p = model.fit(X, some_labels(truth, labels)).predict_proba(unseen)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert expected_calibration_error(p, its_truth) <= 0.06
    assert np.mean(p.argmax(axis=1) == its_truth) > np.mean(model.forced_labels_ == truth) - 0.03


def blobs(n, seed):
    """Three blobs and which each point is of."""
    g = np.random.default_rng(seed)
    which = g.integers(3, size=n)
    return np.array([[0.0, 0], [5, 0], [0, 5]])[which] + g.normal(size=(n, 2)), which


@pytest.mark.slow
def test_unseen_members_of_a_hidden_class_are_of_the_new_class():
    X, truth, unseen, its_truth = digits(1200)
    y = some_labels(truth.astype(str), 5, hidden="0", nothing="")
    model = PottsClassifier(method="messages", random_state=0).fit(X, y)
    (zero,) = (name for name, rows in model.new_classes_.items() if np.mean(truth[rows]) < 0.2)
    called, p, is_zero = model.predict(unseen), model.predict_proba(unseen), its_truth == 0
    assert np.mean(called[is_zero] == zero) > 0.95
    assert np.mean(called[~is_zero] == zero) < 0.02
    assert p.shape == (len(unseen), 9)
    # The rest is the new class's, as for points that were there.
    seen = model.label_distributions_[truth == 0].sum(axis=1).mean()
    assert p[is_zero].sum(axis=1).mean() == pytest.approx(seen, abs=0.02)
    assert p[~is_zero].sum(axis=1).mean() > 0.9


def test_memory_is_linear_whatever_the_number_of_outcomes():
    peaks = []
    for n in (1000, 4000):
        g = np.random.default_rng(0)
        y = labels_at({0: 0, 1: 1}, n)
        model = PottsClassifier(  # so hot that every point is a new class of its own
            method="paper",
            graph=KNN(n_neighbors=4),
            engine="belief_propagation",
            temperature=TemperatureRule(name=5.0, grid=[5.0], small_groups="new"),
        ).fit(g.normal(size=(n, 3)), y)
        assert len(model.new_classes_) > 0.9 * n
        unseen = g.normal(size=(n, 3))
        tracemalloc.start()
        model.predict(unseen)
        model.predict_proba(unseen)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]
    assert peaks[1] < 4000 * 4000


def test_many_unseen_points_are_judged_as_one_at_a_time(monkeypatch):
    X, which = blobs(200, 0)
    y = np.where(np.arange(200) < 12, which, -1)
    model = PottsClassifier(method="messages", random_state=0).fit(X, y)
    unseen = np.vstack([blobs(40, 1)[0], [[1e6, 1e6]]])
    whole, called = model.predict_proba(unseen), model.predict(unseen)
    monkeypatch.setattr("spinlearn.answers.unseen.CHUNK", 1)
    np.testing.assert_allclose(model.predict_proba(unseen), whole, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(unseen), called)
    np.testing.assert_array_equal(whole[-1], 1 / model.model_.n_states)
    assert called[-1] == -1
