"""Replica exchange and its one-replica cases against exact answers, within their error bars."""

import pickle

import numpy as np
import pytest

from spinlearn.engines.exact.enumeration import Enumeration
from spinlearn.engines.exact.junction_tree import JunctionTree
from spinlearn.engines.sampling import walkers
from spinlearn.engines.sampling.samplers import Metropolis, SwendsenWang, Tempering
from spinlearn.errors import ConvergenceWarning, UnsupportedModelError
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, grids, labels_at
from tests.oracles import z_scores

pytestmark = pytest.mark.slow

TEMPERATURES = [0.0, 0.3, 0.6, 1.0, 2.0, np.inf]


def random_model(seed: int, *, either_sign: bool = False, q: int = 3) -> PottsModel:
    """A 4 x 4 lattice with real couplings, fields and a few clamps."""
    rng = np.random.default_rng(seed)
    graph = grid_graph(4, 4)
    couplings = rng.uniform(0.3, 1.5, graph.n_edges)
    if either_sign:
        couplings *= rng.choice([-1, 1], graph.n_edges)
    clamped = labels_at({0: 0, 5: q - 1, 15: 1}, 16)
    fields = rng.normal(0, 0.3, (16, q))
    return PottsModel(graph, q, couplings=couplings, fields=fields, clamped=clamped)


def scores(run, exact) -> np.ndarray:
    """|p - p_exact| / se of all free nodes, at the converged temperatures."""
    return z_scores(run, exact)[0][run.converged].ravel()


@pytest.mark.parametrize(("q", "either_sign"), [(2, False), (5, False), (3, True)])
def test_error_bars_cover_the_truth(q, either_sign):
    model = random_model(q, either_sign=either_sign, q=q)
    exact = JunctionTree().run(model, TEMPERATURES)
    engine = Tempering(tol=0.02)
    runs = [engine.run(model, TEMPERATURES, seed=seed) for seed in range(20)]
    assert all(run.converged.all() for run in runs)
    for values in map(np.array, zip(*(z_scores(run, exact) for run in runs), strict=True)):
        assert np.mean(values < 2) > 0.9
        assert values.max() < 6
    # Energies carry no error bar of their own; over the seeds they must scatter about the truth.
    for name in ("mean_energy", "log_partition", "heat_capacity"):
        values = np.array([getattr(run, name)[1:-1] for run in runs])
        error = np.abs(values.mean(axis=0) - getattr(exact, name)[1:-1])
        assert np.all(error < 5 * values.std(axis=0, ddof=1) / np.sqrt(len(runs))), name


def test_planted_bug_is_noticed(monkeypatch):
    """The twin of the test above: bonds drawn for a temperature 15 % too low."""
    right = walkers.bond_thresholds
    monkeypatch.setattr(walkers, "bond_thresholds", lambda b, couplings: right(1.15 * b, couplings))
    model = random_model(3)
    exact = JunctionTree().run(model, TEMPERATURES[1:])
    z = np.concatenate(
        [scores(Tempering(tol=0.02).run(model, TEMPERATURES[1:], seed=s), exact) for s in range(5)]
    )
    assert np.mean(z < 2) < 0.9


def test_local_moves_are_right_for_any_pair_cost():
    half = np.random.default_rng(1).normal(size=(3, 3))
    clamped = [0, -1, -1, -1, -1, 2]
    model = PottsModel(grid_graph(2, 3), 3, pair_cost=half + half.T, clamped=clamped)
    exact = JunctionTree().run(model, TEMPERATURES)
    run = Tempering().run(model, TEMPERATURES, seed=0)
    assert run.converged.all()
    assert scores(run, exact).max() < 5
    np.testing.assert_allclose(run.mean_energy, exact.mean_energy, atol=0.2)
    assert "GeneralWalkers" in run.diagnostics["walkers"]


def test_tempering_crosses_where_metropolis_is_stuck_and_says_so():
    # Below the transition Metropolis needs ages to turn a whole block: its label costs 4.
    clamped = labels_at({14: 0, 36 + 21: 1}, 72)
    model = PottsModel(grids(2, 6, 6, [(35, 36)]), 2, clamped=clamped)
    exact = JunctionTree().run(model, [0.45, 0.7])
    run = Tempering(tol=0.02).run(model, [0.45, 0.7], seed=1)
    assert run.converged.all()
    assert np.abs(run.marginals - exact.marginals).max() < 0.06
    with pytest.warns(ConvergenceWarning, match=r"T = 0\.45"):
        stuck = Metropolis(tol=0.02, max_sweeps=1000).run(model, [0.45, 0.7], seed=1)
    assert not stuck.converged[0]
    assert np.abs(stuck.marginals - exact.marginals)[0].max() > 0.1


def test_other_temperatures_are_reweighted_also_after_pickling():
    model = random_model(2)
    wanted = [0.0, 0.45, 0.8, 1.6]
    exact = JunctionTree().run(model, wanted)
    run = Tempering(tol=0.02).run(model, [0.3, 0.6, 1.0, 2.0], seed=0)
    elsewhere = pickle.loads(pickle.dumps(run)).at(wanted)
    assert elsewhere.converged[1:].all()
    z = scores(elsewhere, exact)
    assert np.mean(z < 2) > 0.85
    assert z.max() < 6
    np.testing.assert_allclose(elsewhere.mean_energy, exact.mean_energy, atol=0.2)
    np.testing.assert_allclose(elsewhere.heat_capacity, exact.heat_capacity, rtol=0.1)


def test_zero_temperature_is_the_uniform_law_over_ground_states():
    model = PottsModel(grid_graph(3, 3), 3, clamped=[0, -1, -1, -1, -1, -1, -1, -1, 1])
    exact = Enumeration().run(model, [0.0])
    run = Tempering(tol=0.03).run(model, [0.0], seed=0)
    assert run.converged.all()
    assert run.mean_energy[0] == exact.mean_energy[0]
    assert scores(run, exact).max() < 6
    assert run.log_partition[0] == exact.log_partition[0]  # -inf: ground energy above zero


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_a_stop_never_loses_what_was_measured():
    """Whichever round is the last, also the one after which a long run starts afresh."""
    model = random_model(1)
    for last in (1, 2, 3, 4, 7, 8, 15):
        rounds = 0

        def callback(progress, last=last):
            nonlocal rounds
            rounds += progress.phase == "production"
            return rounds >= last

        run = Tempering(tol=1e-6).run(model, [0.5, 1.0], seed=0, callback=callback)
        assert run.temperatures.tolist() == [0.5, 1.0]


def test_unsuitable_models_are_refused():
    frustrated = random_model(0, either_sign=True)
    assert Tempering().unsupported(frustrated) is None
    with pytest.raises(UnsupportedModelError, match="negative couplings: use moves='auto'"):
        Tempering(moves="cluster").run(frustrated, [1.0])
    with pytest.raises(UnsupportedModelError, match="metropolis"):
        SwendsenWang().run(frustrated, [1.0])


@pytest.mark.parametrize(
    "model",
    [
        PottsModel(Graph(1, []), 2),
        PottsModel(Graph(3, [(0, 1)]), 2, clamped=[0, 1, 1]),
        PottsModel(Graph(3, []), 3, fields=np.arange(9.0).reshape(3, 3)),
        PottsModel(Graph(2, [(0, 1)]), 2, couplings=[0.0]),
        PottsModel(Graph(2, [(0, 1)], [1e-3]), 2, fields=[[1e3, 0], [0, 0]]),
    ],
)
@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_degenerate_models(model):
    exact = Enumeration().run(model, [0.0, 1.0, np.inf])
    for engine in (Tempering(tol=0.03), Metropolis(tol=0.03)):
        run = engine.run(model, [0.0, 1.0, np.inf], seed=0)
        assert np.abs(run.marginals - exact.marginals).max() < 0.1
        assert np.abs(run.edge_agreement - exact.edge_agreement).max(initial=0) < 0.1
        assert run.std_error.max() < 0.1
