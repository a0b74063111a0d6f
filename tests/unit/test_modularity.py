"""The energy `modularity` is Newman's Q up to a factor; what counts in the sizes of classes."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn import Graph, PottsClassifier, TemperatureRule
from spinlearn.energies import ENERGIES, DiffusedCut, MinCut, Modularity
from spinlearn.engines import Enumeration, JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers import minimize
from tests.conftest import cliques, labels_at
from tests.energy_models import dense, random_graph, random_labels

cases = given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 12), q=st.integers(2, 5))


def drawn(seed, n, q):
    """A graph with isolated nodes now and then, labels that leave a state without name, states."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, density=0.3)
    labels = random_labels(rng, n, q)
    labels[labels == q - 1] = -1
    states = rng.integers(0, q, (12, n))
    states[:, labels >= 0] = labels[labels >= 0]
    return graph, labels, states


@settings(max_examples=40, deadline=None)
@cases
def test_it_is_newmans_modularity_and_shares_pull_volumes_to_themselves(seed, n, q):
    """The summed weight times one minus Newman's Q."""
    graph, labels, states = drawn(seed, n, q)
    if graph.n_edges == 0:
        return
    total, known = graph.weights.sum(), nx.from_numpy_array(dense(graph))
    shares = np.random.default_rng(seed).uniform(0.1, 5, q)
    volumes = dense(graph).sum(axis=1) @ np.eye(q)[states]
    excess = np.sum((volumes - 2 * total * shares / shares.sum()) ** 2, axis=1)
    cut = MinCut()(graph, labels, q).energy(states)
    for resolution in (0.5, 1.0, 2.3):
        model = Modularity(resolution=resolution)(graph, labels, q)
        for s in states:
            groups = [set(np.flatnonzero(s == c).tolist()) for c in range(q) if np.any(s == c)]
            value = nx.community.modularity(known, groups, resolution=resolution)
            assert model.energy(s) == pytest.approx(total * (1 - value), abs=1e-9)
        pulled = Modularity(resolution=resolution, proportions=shares)(graph, labels, q)
        expected = cut + resolution / (4 * total) * excess
        np.testing.assert_allclose(pulled.energy(states), expected, rtol=1e-6, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(2, 5), st.booleans())
def test_the_diffused_cut_without_diffusion_in_volumes_is_modularity(seed, n, q, name_all):
    graph, labels, states = drawn(seed, n, q)
    if name_all:  # parts without any label do not count then, in both alike
        named = np.arange(min(n, q))
        labels[named] = named
        states[:, labels >= 0] = labels[labels >= 0]
    ours = Modularity()(graph, labels, q).energy(states)
    cut = DiffusedCut(diffusion=0.0, size="volume")(graph, labels, q)
    np.testing.assert_allclose(cut.energy(states), ours, rtol=1e-12)


def test_its_unit_is_that_of_the_weights_whatever_their_size():
    graph, labels, states = drawn(7, 10, 3)
    for scale in (1e-300, 1e-5, 1e300):
        other = graph.with_weights(graph.weights * scale)
        for shares in (None, [1, 2, 3]):
            one, two = (Modularity(proportions=shares)(g, labels, 3) for g in (graph, other))
            np.testing.assert_allclose(two.energy(states) / scale, one.energy(states), rtol=1e-12)
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], np.full(3, 3.1e307))  # degrees sum to infinity
    labels = [0, -1, -1, 1]
    model = Modularity(resolution=0.3)(graph, labels, 2)
    small = Modularity(resolution=0.3)(graph.with_weights(np.full(3, 3.1)), labels, 2)
    states = np.array([[0, a, b, 1] for a in (0, 1) for b in (0, 1)])
    np.testing.assert_allclose(model.energy(states) / 1e307, small.energy(states))


def in_a_row(sizes, joined=True):
    """Complete graphs side by side, each joined to the next by one edge or not at all."""
    links = [(a - 1, a) for a in np.cumsum(sizes)[:-1]] if joined else []
    return cliques(*sizes, links=links), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("name", ["balanced_cut", "diffused_cut", "modularity"])
def test_a_part_without_label_leaves_the_named_classes_alone(name):
    energy = ENERGIES[name]()
    graph, truth = in_a_row([5, 4, 5], joined=False)
    labels = labels_at({0: 0, 5: 1}, 14)
    states = np.random.default_rng(0).integers(0, 2, (30, 14))
    states[:, [0, 5]] = 0, 1
    whole = energy(graph, labels, 2)
    named = truth < 2
    alone = energy(in_a_row([5, 4], joined=False)[0], labels[named], 2)
    rest = MinCut()(in_a_row([5])[0], np.full(5, -1), 2)
    expected = alone.energy(states[:, named]) + rest.energy(states[:, ~named])
    np.testing.assert_allclose(whole.energy(states), expected)


@pytest.mark.parametrize("name", ["balanced_cut", "diffused_cut", "modularity"])
def test_a_part_without_label_counts_where_a_class_has_no_name(name):
    graph, truth = in_a_row([6, 6, 6], joined=False)
    model = ENERGIES[name]()(graph, labels_at({0: 0, 6: 1}, 18), 3)
    assert np.all(model.class_penalty.sizes > 0)
    np.testing.assert_array_equal(minimize(model, seed=0).labels, truth)


TRIANGLE = Graph(3, [(0, 1), (1, 2), (0, 2)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Modularity()(Graph(2, [(0, 1)], [-1.0]), [0, 1], 2), "negative weight.*min_cut"),
        *[
            (lambda bad=bad: Modularity(resolution=bad)(TRIANGLE, [0, -1, 1], 2),
             r"resolution=.*is not a number >= 0: 1 is usual")
            for bad in (-1e-9, np.nan, np.inf, "1", None, [1.0], 1j)
        ],
        (lambda: Modularity(proportions=[-1, 2])(TRIANGLE, [0, -1, 1], 2), "not all zero"),
        (lambda: Modularity()(TRIANGLE, [0, -1, 1], 1), "at least 2 states"),
        (lambda: Modularity(resolution=1e308)(TRIANGLE, [0, -1, 1], 2), "energies overflow"),
        (lambda: Modularity(resolution=-1)(Graph(2, []), [0, 1], 2), "is not a number >= 0"),
        (lambda: Modularity(proportions=[0, 0])(Graph(2, []), [0, 1], 2), "not all zero"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    ("graph", "labels", "q"),
    [
        (Graph(1, []), [-1], 2),
        (Graph(1, []), [0], 5),
        (Graph(3, []), [0, -1, 1], 2),
        (Graph(3, [(0, 1), (1, 2)], [0.0, 0.0]), [0, -1, 1], 2),
        (Graph(4, [(2, 3)]), [0, 1, -1, -1], 2),  # edges only where no label is
        (Graph(3, [(0, 1)]), [0, 1, -1], 2),
    ],
)
def test_where_nothing_is_joined_there_is_no_null_model(graph, labels, q):
    model = Modularity()(graph, labels, q)
    reached = graph.n_edges and min(labels[:2]) >= 0 and (graph.edges[0] == [0, 1]).all()
    assert (model.class_penalty is None) == (not reached)
    run = Enumeration().run(model, [0.0, 1.0])
    np.testing.assert_allclose(run.marginals.sum(axis=2), 1)
    assert JunctionTree().unsupported(Modularity(resolution=0)(TRIANGLE, [0, -1, 1], 2)) is None


def test_no_label_and_states_beyond_the_labels():
    graph, truth = in_a_row([4, 4, 4])
    nothing = Modularity()(graph, np.full(12, -1), 3)
    permuted = np.array([1, 2, 0])[truth]
    assert nothing.energy(truth) == pytest.approx(nothing.energy(permuted))
    rule = TemperatureRule(grid=[0.0, 0.1, 0.3])
    fitted = PottsClassifier(energy=Modularity(n_states=3), engine="enumeration", temperature=rule)
    fitted.fit(graph, labels_at({0: 0}, 12))
    assert fitted.model_.n_states == 3
    assert set(fitted.transduction_[:4]) == {0}
    assert all(fitted.transduction_[4:] != 0)
