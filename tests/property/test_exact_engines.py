"""The exact engines agree with each other on random models, and with closed forms."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings

from spinlearn.engines import Enumeration, JunctionTree
from spinlearn.errors import UnsupportedModelError
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, small_models
from tests.oracles import assert_same_averages

TEMPERATURES = [0.0, 1e-300, 1e-3, 0.1, 0.5, 1.0, 3.0, 100.0, np.inf]


@settings(max_examples=150)
@given(small_models())
def test_junction_tree_equals_enumeration(model):
    exact, run = (engine.run(model, TEMPERATURES) for engine in (Enumeration(), JunctionTree()))
    assert_same_averages(run, exact, 1e-10)
    np.testing.assert_allclose(run.heat_capacity, exact.heat_capacity, rtol=1e-10, atol=1e-10)


@settings(max_examples=60)
@given(small_models(max_states=300))
def test_pair_marginals_equal_enumeration_and_sum_to_marginals(model):
    edge_ids, temperatures = np.arange(model.graph.n_edges), [0.0, 0.7, np.inf]
    if len(edge_ids) == 0:
        return
    pairs = JunctionTree().pair_marginals(model, temperatures, edge_ids)
    whole = Enumeration().run(model, temperatures)
    # p_uv(s_u, s_v; T) = p(s_u) p(s_v | s_u), by holding one end
    exact = np.zeros_like(pairs)
    for k, (u, v) in enumerate(model.graph.edges):
        for x in range(model.n_states):
            if model.clamped[u] in (-1, x):
                clamped = np.where(np.arange(model.n_nodes) == u, x, model.clamped)
                given_x = Enumeration().run(model.replace(clamped=clamped), temperatures)
                exact[:, k, x] = whole.marginals[:, u, x, None] * given_x.marginals[:, v]
    np.testing.assert_allclose(pairs, exact, rtol=0, atol=1e-10)
    u, v = model.graph.edges.T
    np.testing.assert_allclose(pairs.sum(axis=3), whole.marginals[:, u], atol=1e-10)
    np.testing.assert_allclose(pairs.sum(axis=2), whole.marginals[:, v], atol=1e-10)
    agreement = np.trace(pairs, axis1=2, axis2=3)
    np.testing.assert_allclose(agreement, whole.edge_agreement, rtol=0, atol=1e-10)


@given(small_models(max_states=300))
def test_log_z_derivatives_are_energy_and_heat_capacity(model):
    temperature, step = 1.3, 1e-4
    beta = 1 / temperature + step * np.array([-1.0, 0.0, 1.0])
    run = JunctionTree().run(model, 1 / beta)
    below, here, above = run.log_partition
    scale = 1 + model.energy_scale**2
    assert abs((above - below) / (2 * step) + run.mean_energy[1]) < 1e-6 * scale
    curvature = (above - 2 * here + below) / step**2
    assert abs(curvature - run.heat_capacity[1] * temperature**2) < 1e-4 * scale


def test_limits_are_uniform_over_ground_states_and_over_all_states():
    # A triangle of antiferromagnetic Ising spins: 6 of 8 states are ground states.
    model = PottsModel(Graph(3, [(0, 1), (1, 2), (0, 2)], [-1.0, -1.0, -1.0]), 2)
    run = JunctionTree().run(model, [0.0, np.inf])
    np.testing.assert_allclose(run.edge_agreement, [[1 / 3] * 3, [1 / 2] * 3], atol=1e-14)
    np.testing.assert_allclose(run.marginals, 0.5, atol=1e-14)
    np.testing.assert_allclose(run.mean_energy, [-2.0, -1.5])
    assert run.log_partition[0] == np.inf  # ground energy -2 < 0
    np.testing.assert_allclose(run.log_partition[1], np.log(8))
    np.testing.assert_array_equal(run.heat_capacity, 0.0)
    held = PottsModel(Graph(2, [(0, 1)], [0.7]), 3, clamped=[0, 2])
    run = JunctionTree().run(held, [0.0, 1.0, np.inf])
    np.testing.assert_allclose(run.log_partition, [-np.inf, -0.7, 0.0])


def test_ground_state_degeneracy_survives_real_couplings():
    # 0.1 + 0.2 and 0.3 differ by rounding; both paths are ground states all the same.
    graph = Graph(4, [(0, 1), (1, 2), (0, 3)], [0.1, 0.2, 0.3])
    model = PottsModel(graph, 2, fields=[[0, 0], [0.1, 0], [0.2, 0], [0, 0.3]])
    cold = Enumeration().run(model, [1e-9]).marginals[0, 0]
    for engine in (Enumeration(), JunctionTree()):
        run = engine.run(model, [0.0])
        np.testing.assert_allclose(run.marginals[0, 0], cold, atol=1e-9)


@pytest.mark.slow
def test_tree_with_extreme_counts_does_not_underflow():
    # 1200 leaves pull the hub to state 0 by their number of states, 1200 others to state 1:
    # each side alone is a factor 2^-1200, beyond the range of floats.
    n = 2401
    graph = Graph(n, [(0, i) for i in range(1, n)])
    fields = np.zeros((n, 3))
    cost = np.array([[0, 0, 9.0], [0, 9.0, 9.0], [9.0, 9.0, 9.0]])
    fields[0, 2] = 99.0
    half = PottsModel(graph, 3, pair_cost=cost, fields=fields)
    run = JunctionTree().run(half, [0.0])
    assert run.marginals[0, 0, 1] < 1e-300  # 2^2400 : 1
    fields[1:1201] = [0.0, 9.0, 9.0]  # these leaves have one state only
    weaker = JunctionTree().run(PottsModel(graph, 3, pair_cost=cost, fields=fields), [0.0])
    assert np.isfinite(weaker.log_partition).all()
    np.testing.assert_allclose(weaker.log_partition[0], 1200 * np.log(2), rtol=1e-12)


def test_agrees_with_an_independent_library():
    gum = pytest.importorskip("pyagrum", reason="pyagrum is the independent oracle")
    rng = np.random.default_rng(11)
    graph = grid_graph(6, 12, 0.3 + rng.random(126))
    model = PottsModel(graph, 3, fields=0.5 * rng.normal(size=(72, 3)))
    temperature = 0.8
    network = gum.MarkovRandomField()
    for i, weights in enumerate(np.exp(-model.fields / temperature)):
        network.add(gum.LabelizedVariable(f"v{i}", "", 3))
        network.addFactor([f"v{i}"]).fillWith(weights.tolist())
    for (u, v), coupling in zip(graph.edges, model.couplings, strict=True):
        table = np.exp(-coupling * model.pair_cost / temperature)
        network.addFactor([f"v{u}", f"v{v}"]).fillWith(table.ravel().tolist())
    inference = gum.ShaferShenoyMRFInference(network)
    inference.makeInference()
    expected = np.array([inference.posterior(f"v{i}").tolist() for i in range(72)])
    run = JunctionTree().run(model, [temperature])
    np.testing.assert_allclose(run.marginals[0], expected, rtol=0, atol=1e-10)


def test_width_and_memory_are_predicted_and_refused_beyond_the_budget():
    model = PottsModel(grid_graph(8, 30), 2)
    plan = JunctionTree().plan(model)
    assert 8 <= plan.width <= 12
    run = JunctionTree().run(model, [1.0])
    assert run.diagnostics["width"] == plan.width
    assert run.diagnostics["predicted_bytes"] == plan.bytes(1)
    tight = JunctionTree(max_memory_gb=plan.bytes(1) / 2**30 / 2)
    with pytest.raises(UnsupportedModelError, match=r"GB .*beyond max_memory_gb.*sampling"):
        tight.run(model, [1.0])
    with pytest.raises(UnsupportedModelError, match="width"):
        JunctionTree(max_operations=100).run(model, [1.0])
    complete = Graph(60, [(i, j) for i in range(60) for j in range(i)])
    assert "width" in JunctionTree().unsupported(PottsModel(complete, 3))
    assert JunctionTree().unsupported(model) is None


def test_memory_prediction_covers_what_is_allocated():
    model = PottsModel(grid_graph(11, 30), 2)
    engine = JunctionTree()
    engine.run(model, [1.0])  # compile
    tracemalloc.start()
    run = engine.run(model, np.linspace(0.1, 2, 8))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    predicted = run.diagnostics["predicted_bytes"]
    assert peak < 1.1 * predicted + 5e6
    assert peak > 0.5 * predicted
