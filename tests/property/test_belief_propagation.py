"""Belief propagation is exact on forests, keeps every invariance, and knows its own derivative."""

import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut, Modularity
from spinlearn.engines import BeliefPropagation, Enumeration, JunctionTree
from spinlearn.engines.messages import potts as potts_messages
from spinlearn.engines.messages.layout import MessageLayout, has_one_fixed_point
from spinlearn.engines.messages.propagation import Propagation, Settling
from spinlearn.errors import ConvergenceWarning
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, grids, labels_at, small_models
from tests.oracles import assert_same_averages, near_points

TEMPERATURES = [0.0, 1e-300, 1e-3, 0.1, 0.5, 1.0, 3.0, 100.0, np.inf]


def without_loops(model: PottsModel) -> PottsModel:
    """The same model with the edges of a spanning forest only."""
    graph = nx.Graph(model.graph.edges.tolist())
    forest = {tuple(sorted(edge)) for edge in nx.minimum_spanning_edges(graph, data=False)}
    kept = [e for e, edge in enumerate(model.graph.edges.tolist()) if tuple(sorted(edge)) in forest]
    graph = Graph(model.n_nodes, model.graph.edges[kept], model.couplings[kept])
    return PottsModel(
        graph, model.n_states, pair_cost=model.pair_cost, fields=model.fields, clamped=model.clamped
    )


def loopy_model(rng, *, signs: bool = True, fields: float = 0.5) -> PottsModel:
    weights = rng.normal(size=49) if signs else 0.2 + rng.random(49)
    graph, clamped = grid_graph(5, 6, weights), labels_at({0: 0, 29: 1}, 30)
    return PottsModel(graph, 3, fields=fields * rng.normal(size=(30, 3)), clamped=clamped)


@pytest.mark.slow
@settings(max_examples=150)
@given(small_models(max_states=10**5))
def test_forests_are_exact(model):
    forest = without_loops(model)
    exact = JunctionTree().run(forest, TEMPERATURES)
    run = BeliefPropagation().run(forest, TEMPERATURES)
    assert_same_averages(run, exact, 1e-9)
    # the only average that is a finite difference
    scale = 1 + np.abs(exact.heat_capacity).max()
    np.testing.assert_allclose(run.heat_capacity, exact.heat_capacity, atol=1e-4 * scale)
    assert run.converged.all()
    if forest.graph.n_edges:
        asked = forest, [0.0, 0.4, np.inf], np.arange(forest.graph.n_edges)
        pairs = BeliefPropagation(n_starts=1).pair_marginals(*asked)
        exact_pairs = JunctionTree().pair_marginals(*asked)
        np.testing.assert_allclose(pairs, exact_pairs, rtol=0, atol=1e-9)


def random_tree(n: int, q: int) -> PottsModel:
    rng = np.random.default_rng(17)
    edges = [(int(rng.integers(max(0, i - 20), i)), i) for i in range(1, n)]
    return PottsModel(Graph(n, edges, rng.normal(size=n - 1)), q, fields=rng.normal(size=(n, q)))


def star(leaves: int) -> PottsModel:
    """Half of the leaves pull the hub to state 0 and half to state 1, by a factor e^-1 each."""
    fields = np.zeros((leaves + 1, 2))
    fields[1 : leaves // 2 + 1, 1] = fields[leaves // 2 + 1 :, 0] = 5.0
    fields[0, 1] = 0.25
    return PottsModel(Graph(leaves + 1, [(0, i) for i in range(1, leaves + 1)]), 2, fields=fields)


# Two neighbours that both forbid state 0 to the node between, by e^-50 and e^-51.
REPULSION = PottsModel(Graph(3, [(0, 1), (1, 2)], [-50.0, -51.0]), 2, clamped=[0, -1, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tree", "relative"), [(random_tree(300, 17), 0), (star(3000), 0), (REPULSION, 1e-9)]
)
def test_large_trees_many_states_and_strong_pulls_are_exact(tree, relative):
    exact, run = (e.run(tree, [0.3, 1.0, 2.0]) for e in (JunctionTree(), BeliefPropagation()))
    atol = 0 if relative else 1e-9
    np.testing.assert_allclose(run.marginals, exact.marginals, rtol=relative, atol=atol)
    np.testing.assert_allclose(run.log_partition, exact.log_partition, rtol=1e-9)


@pytest.mark.parametrize("temperature", [0.6, 1.5])
def test_both_schedules_and_both_kernels_find_the_same_fixed_point(temperature):
    model = loopy_model(np.random.default_rng(1), signs=False)
    # A cost that differs between unlike states by nothing that matters takes the general kernel.
    cost = 1 - np.eye(3)
    cost[0, 1] = cost[1, 0] = 1 + 1e-13
    runs = [
        BeliefPropagation(schedule=schedule, n_starts=1, tol=1e-12).run(of, [temperature])
        for schedule, of in (
            ("sequential", model), ("residual", model), ("residual", model.replace(pair_cost=cost))
        )
    ]  # fmt: skip
    for run in runs:
        assert run.converged.all()
        assert_same_averages(run, runs[0], 1e-9)
        np.testing.assert_allclose(run.log_partition, runs[0].log_partition, rtol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 30])
def test_an_answer_does_not_depend_on_other_temperatures_asked_for(seed):
    graph = near_points(np.random.default_rng(seed), 20, 3)
    model = MinCut()(graph, [0, 1, 2] + [-1] * 17, 3)
    grid = [0.0, 0.05, 0.3, 0.5, 1.1]
    whole = BeliefPropagation().run(model, grid)
    for k, temperature in enumerate(grid):
        alone = BeliefPropagation().run(model, [temperature])
        np.testing.assert_allclose(alone.marginals[0], whole.marginals[k], rtol=0, atol=1e-6)


def test_messages_in_single_precision_say_the_same(monkeypatch):
    model = loopy_model(np.random.default_rng(2), signs=False)
    fine = BeliefPropagation().run(model, [0.5, 1.5])
    monkeypatch.setattr(potts_messages, "LARGE", 0)
    coarse = BeliefPropagation().run(model, [0.5, 1.5])
    assert coarse.converged.all()
    np.testing.assert_allclose(coarse.marginals, fine.marginals, rtol=0, atol=2e-5)
    assert not np.array_equal(coarse.marginals, fine.marginals)


@pytest.mark.parametrize("penalty", [False, True])
def test_bethe_free_energy_has_the_mean_energy_as_derivative(penalty):
    # True of a stationary point only, so this checks messages, ln Z, <E> and class field at once.
    model = loopy_model(np.random.default_rng(4), signs=False)
    if penalty:
        sizes = 0.5 + np.random.default_rng(0).random(30)
        term = ClassPenalty.quadratic(sizes, 2.0, n_states=3, targets=[5.0, 8.0, 12.0])
        model = model.replace(class_penalty=term)
    beta = 1 / 1.2 + 1e-4 * np.array([-1.0, 0.0, 1.0])
    run = BeliefPropagation(n_starts=1, tol=1e-13).run(model, 1 / beta)
    below, _, above = run.log_partition
    assert (above - below) / 2e-4 == pytest.approx(-run.mean_energy[1], rel=1e-6)
    slope = (run.mean_energy[0] - run.mean_energy[2]) / np.ptp(1 / beta)
    assert run.heat_capacity[1] == pytest.approx(slope, rel=1e-4)


def test_class_sizes_act_as_a_field():
    # Independent nodes but for the class term: mean field, right to 1/n.
    n = 12
    sizes = np.linspace(0.5, 1.5, n)
    fields = np.random.default_rng(0).normal(size=(n, 2))
    term = ClassPenalty.quadratic(sizes, 4.0, n_states=2, targets=[10.0, 2.0])
    model = PottsModel(Graph(n, []), 2, fields=fields, class_penalty=term)
    exact = Enumeration().run(model, [0.7, 2.0])
    run = BeliefPropagation().run(model, [0.7, 2.0])
    np.testing.assert_allclose(run.marginals, exact.marginals, rtol=0, atol=0.05)
    without = Enumeration().run(model.replace(class_penalty=None), [0.7, 2.0])
    assert np.abs(without.marginals - exact.marginals).max() > 0.15


def test_agrees_with_the_loopy_propagation_of_an_independent_library():
    gum = pytest.importorskip("pyagrum", reason="pyagrum is the independent library")
    temperature = 1.1
    model = loopy_model(np.random.default_rng(6), signs=False, fields=1.0)
    # A Bayesian network whose observed children carry the pair factors: its loopy propagation has
    # the fixed points of ours.
    network = gum.BayesNet()
    n, q = model.n_nodes, model.n_states
    weights = np.exp(-model.fields / temperature)
    held = np.flatnonzero(model.clamped >= 0)
    weights[held] = np.eye(q)[model.clamped[held]]
    for i, law in enumerate(weights / weights.sum(axis=1, keepdims=True)):
        network.add(gum.LabelizedVariable(f"v{i}", "", q))
        network.cpt(f"v{i}").fillWith(law.tolist())
    for e, (u, v) in enumerate(model.graph.edges.tolist()):
        network.add(gum.LabelizedVariable(f"e{e}", "", 2))
        network.addArc(f"v{u}", f"e{e}")
        network.addArc(f"v{v}", f"e{e}")
        factor = np.exp(-model.couplings[e] * model.pair_cost / temperature)
        for (a, b), yes in np.ndenumerate(factor):
            network.cpt(f"e{e}")[{f"v{u}": a, f"v{v}": b}] = [1 - yes, float(yes)]
    inference = gum.LoopyBeliefPropagation(network)
    inference.setEvidence({f"e{e}": 1 for e in range(model.graph.n_edges)})
    inference.setEpsilon(1e-12)
    inference.setMinEpsilonRate(1e-14)
    inference.setMaxIter(5000)
    inference.makeInference()
    expected = np.array([inference.posterior(f"v{i}").tolist() for i in range(n)])
    run = BeliefPropagation(n_starts=1).run(model, [temperature])
    assert run.converged.all()
    np.testing.assert_allclose(run.marginals[0], expected, rtol=0, atol=1e-6)


@settings(max_examples=40)
@given(small_models(max_states=3000), st.floats(0.2, 5.0))
def test_where_one_fixed_point_is_proven_every_start_leads_to_it(model, temperature):
    layout = MessageLayout.of(model)
    if not has_one_fixed_point(layout, temperature):
        return
    laws = []
    for seed in range(3):
        propagation = Propagation(layout, Settling(1e-11, 3000, "sequential"))
        propagation.start()
        propagation.messages.disturb(np.random.default_rng(seed), 0.9)
        assert propagation.settle(temperature).settled
        laws.append(propagation.marginals(averaged=False))
    np.testing.assert_allclose(laws[1:], [laws[0]] * 2, rtol=0, atol=1e-8)


def test_a_ferromagnet_has_one_fixed_point_above_its_bethe_temperature():
    # On the square lattice messages have factors tanh(J/2T), three of which go into each: below
    # T = 1/ln 2 = 1.44 the disordered fixed point is no longer the only one.
    layout = MessageLayout.of(PottsModel(grid_graph(30, 30), 2))
    assert has_one_fixed_point(layout, 1.5)
    assert not has_one_fixed_point(layout, 1.3)


def test_the_better_of_two_valleys_is_kept():
    # At low T one class takes over the two bands, above it each keeps its own: BP started from
    # either side stays there, and only ln Z tells which is right.
    toy = two_bands()
    model = MinCut()(toy.graph(), toy.labels, 2)
    temperatures = [0.0, 0.3, 0.8]
    exact = JunctionTree().run(model, temperatures)
    run = BeliefPropagation().run(model, temperatures)
    cooled = BeliefPropagation(n_starts=1).run(model, temperatures)
    assert run.diagnostics["start"] == ["heated", "heated", "cooled"]
    assert min(run.diagnostics["fixed_points"]) == 2
    np.testing.assert_allclose(run.marginals[:2], exact.marginals[:2], atol=0.02)
    assert np.abs(cooled.marginals[:2] - exact.marginals[:2]).max(axis=(1, 2)).min() > 0.5
    assert np.all(run.log_partition[1:] >= cooled.log_partition[1:] - 1e-9)


def test_a_broken_symmetry_is_no_probability():
    model = PottsModel(grid_graph(8, 8), 3)
    run = BeliefPropagation().run(model, [0.4, 5.0])
    np.testing.assert_allclose(run.marginals, 1 / 3, atol=1e-12)
    assert run.diagnostics["broken_symmetry"] == [64, 0]
    assert run.edge_agreement[0].min() > 0.9
    assert np.all(np.abs(run.edge_agreement[1] - 0.36) < 0.03)
    pair = BeliefPropagation().pair_marginals(model, [0.4], [5])[0, 0]
    np.testing.assert_allclose(pair.sum(axis=0), 1 / 3, atol=1e-12)
    np.testing.assert_allclose(np.diag(pair), run.edge_agreement[0, 5] / 3, atol=1e-9)


def test_a_part_that_no_label_reaches_stays_open():
    model = PottsModel(grids(2, 6, 6), 2, clamped=labels_at({0: 0, 35: 1}, 72))
    run = BeliefPropagation().run(model, [0.5, 0.0])
    np.testing.assert_allclose(run.marginals[:, 36:], 0.5, atol=1e-12)
    assert np.abs(run.marginals[0, :36] - 0.5).max() > 0.4
    assert run.diagnostics["broken_symmetry"][0] == 36


def test_nameless_states_are_alike_but_groups_in_them_stay_together():
    graph = grids(4, 6, 6, [(35, 36), (71, 72), (107, 108)])
    labels = labels_at({7: 0, 36 + 7: 1}, 144)
    run = BeliefPropagation().run(Modularity()(graph, labels, 4), [0.5])
    np.testing.assert_allclose(run.marginals[0, :, 2], run.marginals[0, :, 3], atol=1e-12)
    assert np.all(run.marginals[0, 72:, 2] > 0.4)  # both unlabelled blobs are in one of the two
    assert np.all(run.marginals[0, :36, 0] > 0.8)
    assert run.diagnostics["broken_symmetry"][0] > 0
    inside = (graph.edges[:, 0] // 36) == (graph.edges[:, 1] // 36)
    assert run.edge_agreement[0, inside].min() > 0.8
    unnamed = BeliefPropagation().run(Modularity()(graph, np.full(144, -1), 4), [0.4])
    np.testing.assert_allclose(unnamed.marginals, 1 / 4, atol=1e-12)
    assert unnamed.edge_agreement[0, inside].min() > 0.9
    assert unnamed.edge_agreement[0, ~inside].max() < 0.2


@pytest.mark.parametrize("shift", [1, -1])
def test_other_symmetries_of_states_are_seen(shift):
    # A clock: neighbours on a circle of five states cost 1, others 2; or ordered states.
    far = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    cost = np.minimum(far, 5 - far) if shift == 1 else far
    model = PottsModel(grid_graph(6, 6), 5, pair_cost=cost)
    run = BeliefPropagation(n_starts=1).run(model, [0.3])
    image = np.roll(np.arange(5), 1) if shift == 1 else np.arange(5)[::-1]
    np.testing.assert_allclose(run.marginals, run.marginals[:, :, image], atol=1e-12)


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_at_zero_temperature_nothing_is_below_the_least_energy():
    # Frustrated messages do not settle; then the labelling found by other means is the answer.
    rng = np.random.default_rng(0)
    graph = grid_graph(6, 6, rng.uniform(-1.5, 1.5, 60))
    model = PottsModel(graph, 2, fields=rng.uniform(-1, 1, (36, 2)))
    exact = JunctionTree().run(model, [0.0])
    run = BeliefPropagation(max_sweeps=20).run(model, [0.0])
    assert run.converged[0] or run.mean_energy[0] >= exact.mean_energy[0] - 1e-9


def test_what_did_not_settle_is_said():
    rng = np.random.default_rng(0)
    n = 40
    graph = Graph(n, [(i, j) for i in range(n) for j in range(i)])
    couplings, fields = rng.normal(size=graph.n_edges), rng.normal(size=(n, 2))
    model = PottsModel(graph, 2, couplings=couplings, fields=fields)  # a spin glass
    with pytest.warns(ConvergenceWarning, match="did not settle"):
        run = BeliefPropagation(n_starts=1, max_sweeps=60).run(model, [1.5, 50.0])
    assert run.converged.tolist() == [False, True]
    assert run.diagnostics["residual"][0] > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BeliefPropagation(n_starts=1).run(model, [50.0])
