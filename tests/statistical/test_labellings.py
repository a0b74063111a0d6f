"""Drawn labellings follow the Boltzmann law, exactly drawn or cooled, and a planted error shows."""

import numpy as np
import pytest

from spinlearn.engines import Enumeration, JunctionTree
from spinlearn.engines.sampling.population import cooled_labellings, draw_labellings
from spinlearn.errors import InvalidInputError
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, labels_at
from tests.statistical.chi_square import Configurations, pooled_p_value


def small_model(seed: int = 0) -> PottsModel:
    """Six points, three states, both signs, fields, a clamp: 243 labellings."""
    rng = np.random.default_rng(seed)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4), (4, 5)]
    clamped = [-1, -1, -1, -1, -1, 1]
    graph = Graph(6, edges, rng.normal(size=len(edges)))
    return PottsModel(graph, 3, fields=rng.normal(size=(6, 3)), clamped=clamped)


def p_value(model: PottsModel, states: np.ndarray, temperature: float) -> float:
    """Chi-square of the labellings against exp(-E/T)."""
    table = Configurations(model)
    counts = np.bincount(table.index(states), minlength=len(table))
    return pooled_p_value(counts, table.boltzmann(1 / temperature), least=10)


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_exact_labellings_follow_the_law(temperature):
    model = small_model()
    states = JunctionTree().draw(model, temperature, 20_000, seed=1)
    assert np.all(states[:, 5] == 1)
    assert p_value(model, states, temperature) > 1e-3
    assert p_value(model, states, 1.1 * temperature) < 1e-6  # the test can fail


def test_exact_labellings_at_the_two_limits():
    model = small_model()
    ground = Enumeration().run(model, [0.0, np.inf])
    coldest = JunctionTree().draw(model, 0.0, 200, seed=2)
    np.testing.assert_allclose(model.energy(coldest), ground.mean_energy[0], atol=1e-9)
    hottest = JunctionTree().draw(model, np.inf, 30_000, seed=2)
    shares = np.stack([(hottest[:, :5] == s).mean(axis=0) for s in range(3)])
    np.testing.assert_allclose(shares, 1 / 3, atol=0.015)


@pytest.mark.parametrize("kind", ["bits", "clusters", "lockstep"])
def test_cooled_labellings_agree_with_the_exact_law(kind):
    rng = np.random.default_rng(3)
    graph = grid_graph(5, 5)
    if kind == "clusters":
        graph = graph.with_weights(rng.uniform(0.2, 1.5, graph.n_edges))
    elif kind == "lockstep":
        graph = graph.with_weights(rng.normal(size=graph.n_edges))
    model = PottsModel(graph, 2, clamped=labels_at({0: 0, 24: 1}, 25))
    temperatures = np.array([0.6, 1.0, 2.0])
    exact = JunctionTree().run(model, temperatures)
    groups = 24
    for temperature, states in cooled_labellings(
        model, temperatures, n_samples=1, n_groups=groups, seed=4
    ):
        row = int(np.flatnonzero(temperatures == temperature)[0])
        means = states.reshape(groups, -1, 25).mean(axis=1)[:, model.free_nodes]  # P(s = 1)
        spread = means.std(axis=0, ddof=1) / np.sqrt(groups)
        z = (means.mean(axis=0) - exact.marginals[row][model.free_nodes, 1]) / spread
        assert np.abs(z).max() < 5.5  # t with 23 degrees of freedom, 69 comparisons, p = 0.001


@pytest.mark.parametrize("operations", [3e7, 2.0])
def test_the_same_seed_draws_the_same_labellings_exactly_or_not(monkeypatch, operations):
    model = small_model()
    monkeypatch.setattr("spinlearn.engines.sampling.population.EXACT_OPERATIONS", operations)
    one, two, other = (draw_labellings(model, [0.5, 1.0], 32, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert one[0].shape[1] == 6
    assert np.any(one[0] != other[0])
    with pytest.raises(InvalidInputError, match="at least one"):
        draw_labellings(model, [1.0], 0)
    if operations == 2.0:
        with pytest.raises(InvalidInputError, match="T = 0"):
            draw_labellings(model, [0.0], 8)
