"""PairAgreement: C_ij against exact answers, its error bars, its limits, and when it is stopped."""

import numpy as np
import pytest

from spinlearn import Graph
from spinlearn.engines import JunctionTree
from spinlearn.engines.sampling.pair_agreement import PairAgreement
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.model.potts import PottsModel
from tests.conftest import cliques, grid_graph

TEMPERATURES = [0.3, 0.6, 1.0, 2.0]
SEEDS = range(12)


def ladder_model(q):
    """A 3 x 4 lattice with couplings between 0.3 and 1.2; one of them is zero."""
    graph = grid_graph(3, 4)
    couplings = np.random.default_rng(5).uniform(0.3, 1.2, graph.n_edges)
    couplings[3] = 0.0
    return PottsModel(graph, q, couplings=couplings)


def scores(q, engine_model=None):
    """(sampled - exact) / error by seed, temperature and edge."""
    model = ladder_model(q)
    exact = JunctionTree().run(model, TEMPERATURES).edge_agreement
    runs = [
        PairAgreement(n_sweeps=1600, n_updates=1).run(engine_model or model, TEMPERATURES, seed=s)
        for s in SEEDS
    ]
    return np.array([(run.edge_agreement - exact) / run.agreement_std_error for run in runs])


@pytest.mark.parametrize("q", [2, 3, 20])
def test_agreement_is_the_exact_one_within_its_errors(q):
    z = scores(q)
    assert np.abs(z).max() < 6
    assert np.mean(np.abs(z) < 2) > 0.93
    # The mean over seeds is the sharper test of a bias.
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(len(SEEDS))
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.2
    if q == 3:  # couplings off by a tenth would show
        model = ladder_model(3)
        z = scores(3, PottsModel(model.graph, 3, couplings=0.9 * model.couplings))
        assert np.abs(z.mean(axis=0)).max() > 5 / np.sqrt(len(SEEDS))


def test_energy_and_heat_capacity_are_the_exact_ones():
    model = ladder_model(3)
    exact = JunctionTree().run(model, TEMPERATURES)
    run = PairAgreement(n_sweeps=20_000).run(model, TEMPERATURES, seed=1)
    expected = (1 - run.edge_agreement) @ model.couplings
    np.testing.assert_allclose(run.mean_energy, expected, rtol=1e-12)
    np.testing.assert_allclose(run.mean_energy, exact.mean_energy, rtol=0.03)
    np.testing.assert_allclose(run.heat_capacity, exact.heat_capacity, rtol=0.08)
    np.testing.assert_array_equal(run.marginals, 1 / 3)
    assert np.all(run.converged)


def test_limits_of_the_temperature():
    graph = Graph(5, [(0, 1), (1, 2), (3, 4)], [1.0, 0.5, 1.0])
    model = PottsModel(graph, 4, couplings=[1.0, 0.0, 0.2])
    run = PairAgreement().run(model, [np.inf, 0.0], seed=0)
    # In the order asked for; an edge of coupling 0 joins nothing even at T = 0.
    np.testing.assert_allclose(run.edge_agreement, [[0.25, 0.25, 0.25], [1.0, 0.25, 1.0]])
    np.testing.assert_array_equal(run.heat_capacity, 0.0)


def test_a_run_is_given_by_its_seed_alone():
    model = ladder_model(3)
    engine = PairAgreement(n_sweeps=30)
    one, same = (engine.run(model, TEMPERATURES, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.edge_agreement, same.edge_agreement)
    backwards = engine.run(model, TEMPERATURES[::-1], seed=4)
    np.testing.assert_array_equal(one.edge_agreement, backwards.edge_agreement[::-1])
    seen = []
    watched = engine.run(model, TEMPERATURES, seed=4, callback=lambda p: seen.append(p.fraction))
    np.testing.assert_array_equal(one.edge_agreement, watched.edge_agreement)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    other = engine.run(model, TEMPERATURES, seed=5)
    assert not np.array_equal(one.edge_agreement, other.edge_agreement)


def test_a_transition_that_holds_the_walkers_apart_shows_as_an_error():
    # All with all, q = 20: at T = 50/5.4 both phases last longer than the run.
    graph = cliques(200)
    model = PottsModel(graph.with_weights(0.05 * graph.weights), 20)
    run = PairAgreement().run(model, [0.2, 1.2, 9.0], seed=0)
    assert run.converged.tolist() == [True, False, True]
    assert run.agreement_std_error[1].min() > 0.2


def test_stopped_it_keeps_the_temperatures_it_has_been_to():
    model = ladder_model(2)
    heated = PairAgreement().run(model, TEMPERATURES, seed=0, callback=lambda p: p.fraction >= 0.25)
    assert heated.temperatures.tolist() == TEMPERATURES[:2]
    assert not np.any(heated.converged)  # nothing to compare with
    with pytest.raises(StoppedError, match="before the first temperature"):
        PairAgreement().run(model, TEMPERATURES, callback=lambda p: True)


def test_what_it_cannot_treat_is_refused():
    graph = grid_graph(2, 2)
    labelled = PottsModel(graph, 2, clamped=[0, -1, -1, 1])
    pulled = PottsModel(graph, 2, fields=np.eye(4, 2))
    repelled = PottsModel(graph, 2, couplings=-np.ones(4))
    for model, why in ((labelled, "labels"), (pulled, "fields"), (repelled, "negative couplings")):
        with pytest.raises(UnsupportedModelError, match=f"{why}: use engine='tempering'"):
            PairAgreement().run(model, [1.0])
    with pytest.raises(InvalidInputError, match="n_sweeps=0"):
        PairAgreement(n_sweeps=0).run(PottsModel(graph, 2), [1.0])
