"""Similarities of real data span hundreds of orders of magnitude; samplers must not mind.

One that takes all couplings for multiples of the smallest has all energies in one bin.
"""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from spinlearn import MutualKNN
from spinlearn.energies import MinCut
from spinlearn.engines import Enumeration, JunctionTree, Multicanonical, Tempering
from spinlearn.engines.sampling.density import EnergyBins
from spinlearn.engines.sampling.run import least_energy
from spinlearn.engines.sampling.sampled import ground_law
from spinlearn.errors import ConvergenceWarning
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import few_labels

TEMPERATURES = [0.0, 0.05, 0.2, 0.5, 1.0, 2.0]


def far_blobs(n_points: int) -> PottsModel:
    X, truth = make_blobs(n_points, centers=3, cluster_std=0.7, random_state=3)
    graph = MutualKNN(n_neighbors=5).build(X)
    assert graph.weights.min() < 1e-60
    return MinCut()(graph, few_labels(truth, 2), 3)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Multicanonical, Tempering])
def test_samplers_agree_with_the_exact_answer(engine):
    model = far_blobs(120)
    exact = JunctionTree().run(model, TEMPERATURES)
    found = engine(tol=0.015).run(model, TEMPERATURES, seed=1)
    assert np.all(np.diff(exact.mean_energy) > 0.01)
    np.testing.assert_allclose(found.mean_energy, exact.mean_energy, atol=0.3)
    error = np.abs(found.marginals - exact.marginals)
    assert np.all(error <= 5 * found.std_error + 0.01)
    assert np.mean(error > 3 * found.std_error + 1e-9) < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")  # of T = 0.5
@pytest.mark.parametrize("engine", [Multicanonical, Tempering])
def test_temperature_zero_is_the_least_energy_even_if_no_sample_comes_near(engine):
    model = far_blobs(700)
    found = engine(tol=0.2, max_sweeps=50).run(model, [0.0, 0.5], seed=1)
    least = least_energy(model)
    assert least is not None
    assert least.exact
    assert found.mean_energy[0] == pytest.approx(least.energy, abs=1e-6)
    assert found.converged[0]
    marginals, _ = ground_law(model, least.labels)
    np.testing.assert_array_equal(found.marginals[0], marginals)
    decided = marginals.max(axis=1) == 1
    assert np.mean(decided) > 0.98
    assert np.all(np.argmax(marginals, axis=1)[decided] == least.labels[decided])


def test_temperature_zero_without_a_cut_is_not_trusted(monkeypatch):
    """Couplings of both signs, and no room for sums by energy, as with very many points."""
    monkeypatch.setattr("spinlearn.engines.sampling.rounds.MAX_COLUMNS", 0)
    ring = Graph(30, [(i, (i + 1) % 30) for i in range(30)])
    model = PottsModel(ring, 2, couplings=np.where(np.arange(30) % 3, 1.0, -1.0))
    assert least_energy(model) is None
    with pytest.warns(ConvergenceWarning, match="at T = 0"):
        found = Tempering(tol=0.5, max_sweeps=2000).run(model, [0.0, 2.0], seed=1)
    assert found.converged.tolist() == [False, True]


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-20, 2.3e-308])
def test_bins_of_energy_are_neither_empty_nor_all(smallest):
    weights = 100 * np.array([1.0, 2.0, 3.0, smallest])
    model = PottsModel(Graph(5, [[0, 1], [1, 2], [2, 3], [3, 4]], weights), 2)
    bins = EnergyBins.of(model, np.array([50.0, 300.0]), np.array([30.0, 90.0]), 0.0)
    widths = np.diff(bins.edges)
    assert widths.max() <= 100
    assert widths[0] > model.energy_resolution  # that of the ground state
    assert bins.edges[0] < 0 < bins.edges[1]


def random_model(seed: int) -> PottsModel:
    """Couplings of all sizes, some of them nothing, with fields and clamped points at times."""
    rng = np.random.default_rng(seed)
    n, q = 7, int(rng.integers(2, 4))
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    edges = pairs[rng.random(len(pairs)) < 0.4]
    weights = 10.0 ** rng.choice([0, 0, -2, -20], len(edges)) * rng.uniform(0.5, 1, len(edges))
    fields = rng.uniform(0, 1, (n, q)) * (rng.random((n, 1)) < 0.3)
    clamped = np.where(rng.random(n) < 0.3, rng.integers(0, q, n), -1)
    return PottsModel(Graph(n, edges, weights), q, fields=fields, clamped=clamped)


def test_the_law_around_a_ground_state_is_that_of_temperature_zero():
    for seed in range(60):
        model = random_model(seed)
        exact = Enumeration().run(model, [0.0])
        least = least_energy(model)
        assert least is not None
        law = ground_law(model, least.labels)
        assert law is not None
        if not np.isclose(model.energy(least.labels), exact.mean_energy[0], rtol=0, atol=1e-12):
            assert not least.exact
            continue
        np.testing.assert_allclose(law[0], exact.marginals[0], atol=1e-9, err_msg=str(seed))
        np.testing.assert_allclose(law[1], exact.edge_agreement[0], atol=1e-9, err_msg=str(seed))
