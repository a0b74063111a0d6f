"""Laws of generalized belief propagation: exact on trees of regions, better than edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.engines import Enumeration, GeneralizedBP, JunctionTree
from spinlearn.engines.messages.region_solver import RegionSolver
from spinlearn.engines.messages.regions import RegionGraph, loop_basis, loop_regions, star_regions
from spinlearn.model.graph import Graph
from spinlearn.model.potts import ConditionedModel, PottsModel
from tests.conftest import grid_graph, labels_at, small_models
from tests.oracles import assert_same_averages, near_points

pytestmark = pytest.mark.slow

TEMPERATURES = [0.0, 0.05, 0.3, 1.0, 4.0, np.inf]


def assert_exact(model, **options):
    run = GeneralizedBP(tol=1e-11, **options).run(model, TEMPERATURES)
    exact = JunctionTree().run(model, TEMPERATURES)
    assert_same_averages(run, exact, 1e-9)
    assert run.converged.all()
    # A difference quotient over 1 % of T.
    np.testing.assert_allclose(run.heat_capacity, exact.heat_capacity, rtol=0.1, atol=1e-3)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(2, 4))
def test_trees_are_exact_at_all_temperatures(seed, integer, q):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    edges = [(i, int(rng.integers(0, i))) for i in range(1, n)]
    weights = rng.choice([-1.0, 1.0, 2.0], n - 1) if integer else rng.normal(size=n - 1)
    fields = rng.integers(-1, 2, (n, q)) if integer else rng.normal(size=(n, q))
    clamped = np.where(rng.random(n) < 0.2, rng.integers(0, q, n), -1)
    assert_exact(PottsModel(Graph(n, edges, weights), q, fields=fields, clamped=clamped))


@pytest.mark.parametrize(("length", "q"), [(3, 2), (4, 5), (25, 3)])
def test_a_ring_of_any_length_is_exact(length, q):
    rng = np.random.default_rng(length)
    edges = [(i, (i + 1) % length) for i in range(length)]
    table, fields = rng.normal(size=(q, q)), rng.normal(size=(length, q))
    graph = Graph(length, edges, rng.normal(size=length))
    assert_exact(PottsModel(graph, q, fields=fields, pair_cost=table + table.T))


def test_loops_that_form_a_tree_are_exact():
    # Two triangles and a square that share one node, one edge; a path hangs on.
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (3, 5), (5, 6), (6, 4), (6, 7), (7, 8)]
    rng = np.random.default_rng(1)
    model = PottsModel(Graph(9, edges, rng.normal(size=11)), 3, fields=rng.normal(size=(9, 3)))
    run = GeneralizedBP(max_region_states=3**4, tol=1e-11).run(model, [1.0])
    assert run.diagnostics["loops"] == 3
    assert_exact(model, max_region_states=3**4)
    bethe = GeneralizedBP(max_loop=2).run(model, [1.0])
    exact = JunctionTree().run(model, [1.0])
    assert np.max(np.abs(bethe.marginals - exact.marginals)) > 1e-3  # loops do matter here


@settings(max_examples=60)
@given(small_models(), st.sampled_from([2, 3, 4, 6]), st.sampled_from([16, 100, 512]))
def test_counting_numbers_sum_to_one_for_every_node_and_edge(model, max_loop, max_states):
    n, q = model.n_nodes, model.n_states
    loops = loop_basis(n, model.graph.edges, max_loop)
    chosen = [*loop_regions(loops, q, max_states), *star_regions(loops, q, max_states)]
    regions = RegionGraph.of(n, model.graph.edges, chosen, q)
    held = [(set(p), 1.0) for p in regions.parents]
    held += [(set(c), k) for c, k in zip(regions.children, regions.counting, strict=True)]
    for part in [{i} for i in range(n)] + [set(e) for e in model.graph.edges.tolist()]:
        assert sum(count for region, count in held if part <= region) == 1


def solved(model, beta, double):
    free, q = ConditionedModel.of(model), model.n_states
    loops = loop_regions(loop_basis(len(free.nodes), free.edges, 4), q, 512)
    solver = RegionSolver(free, RegionGraph.of(len(free.nodes), free.edges, loops, q))
    solver.beta = beta
    loop = solver.double_loop if double else solver.plain_loop
    return solver, loop(1e-10, 5000, lambda: False)


def test_double_loop_agrees_with_the_plain_one_where_both_settle():
    rng = np.random.default_rng(4)
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6), (6, 7), (7, 5)]
    model = PottsModel(Graph(8, edges, rng.normal(size=10)), 3, fields=rng.normal(size=(8, 3)))
    (a, plain), (b, double) = (solved(model, 1.2, kind) for kind in (False, True))
    assert plain.residual <= 1e-10
    assert double.residual <= 1e-10
    np.testing.assert_allclose(a.averages()[0], b.averages()[0], atol=1e-8)
    np.testing.assert_allclose(a.averages()[3], b.averages()[3], atol=1e-7)


def test_regions_agree_on_what_they_share_and_the_free_energy_is_stationary():
    rng = np.random.default_rng(5)
    model = PottsModel(grid_graph(4, 5, rng.normal(size=31)), 2, fields=rng.normal(size=(20, 2)))
    solver, settled = solved(model, 1.0, True)
    assert settled.residual <= 1e-10
    solver.averages()
    regions, tables = solver.regions, np.exp(solver.table)
    for b, (begin, end) in enumerate(zip(regions.child_at[:-1], regions.child_at[1:], strict=True)):
        law = np.exp(solver.child_law[begin:end])
        for link in range(regions.link_ptr[b], regions.link_ptr[b + 1]):
            a = regions.link_parent[link]
            table = tables[regions.parent_at[a] : regions.parent_at[a + 1]]
            places = regions.maps[regions.link_map[link] :][: len(table)]
            np.testing.assert_allclose(np.bincount(places, table), law, atol=1e-9)
    # At a stationary point d ln Z / d beta = -<E>.
    step, values = 1e-4, []
    for beta in (1.0 - step, 1.0 + step):
        _, _, energy, entropy = solved(model, beta, True)[0].averages()
        values.append(entropy - beta * energy)
    slope = (values[1] - values[0]) / (2 * step)
    np.testing.assert_allclose(slope, -solver.averages()[2], atol=1e-5)


def test_equivalent_states_stay_equivalent_far_below_the_transition():
    run = GeneralizedBP().run(PottsModel(grid_graph(6, 6), 2), [0.3, 0.8])
    np.testing.assert_allclose(run.marginals, 0.5, atol=1e-9)
    clamped = labels_at({0: 0}, 36)  # states 1 and 2 have no label: they cannot be told apart
    run = GeneralizedBP().run(PottsModel(grid_graph(6, 6), 3, clamped=clamped), [0.3, 0.8])
    np.testing.assert_allclose(run.marginals[:, :, 1], run.marginals[:, :, 2], atol=1e-9)


def test_stars_of_a_strip_are_far_better_than_edges_and_faces():
    # A strip with labels at its ends: ordered pieces, with walls between them.
    clamped = labels_at({24: 0, 50: 0, 71: 1, 95: 1}, 4 * 24)
    model = PottsModel(grid_graph(4, 24), 2, clamped=clamped)
    temperatures = [0.6, 0.8, 1.0, 1.3, 2.0]
    exact = JunctionTree().run(model, temperatures).marginals
    worst = {}
    for states in (4, 16, 512):
        run = GeneralizedBP(max_region_states=states, tol=1e-5).run(model, temperatures)
        worst[states] = float(np.max(np.abs(run.marginals - exact)))
    assert worst[512] < worst[4] / 3
    assert worst[512] < 0.05
    assert worst[16] < worst[4]


def test_loops_of_neighbour_graphs_halve_the_error_of_edges():
    errors = {2: [], 4: []}
    for seed in range(2):
        rng = np.random.default_rng(seed)
        graph, q = near_points(rng, 45, 4), 2 + seed % 2
        known = dict(zip(rng.choice(45, 2 * q, replace=False), [*range(q)] * 2, strict=True))
        model = PottsModel(graph, q, clamped=labels_at(known, 45))
        temperatures = [0.5, 0.9, 1.4]
        exact = JunctionTree().run(model, temperatures).marginals
        for max_loop, found in errors.items():
            run = GeneralizedBP(max_loop=max_loop, tol=1e-5).run(model, temperatures)
            found.append(float(np.mean(np.abs(run.marginals - exact))))
    assert np.mean(errors[4]) < np.mean(errors[2]) / 2


@settings(max_examples=40)
@given(small_models(max_states=300))
def test_any_small_model_gives_probabilities(model):
    run = GeneralizedBP(max_iterations=200).run(model, TEMPERATURES)
    exact = Enumeration().run(model, TEMPERATURES)
    np.testing.assert_allclose(run.marginals.sum(axis=2), 1.0, atol=1e-9)
    assert np.all(np.isfinite(run.marginals))
    assert np.all((run.edge_agreement >= -1e-12) & (run.edge_agreement <= 1 + 1e-12))
    np.testing.assert_allclose(run.marginals[-1], exact.marginals[-1], atol=1e-9)
    np.testing.assert_allclose(run.log_partition[-1], exact.log_partition[-1], atol=1e-7)
    np.testing.assert_allclose(run.marginals[-2], exact.marginals[-2], atol=0.2)


def complete_model(n, q):
    """One state is favoured a little; all triangles of the basis share one node."""
    graph = Graph(n, [(i, j) for i in range(n) for j in range(i)])
    return PottsModel(graph, q, fields=np.tile(np.r_[-0.1, np.zeros(q - 1)], (n, 1)))


@pytest.mark.parametrize(("n", "q"), [(5, 4), (7, 5)])
def test_no_state_dies_out_where_it_is_hot(n, q):
    # The node in all triangles is counted more than once: messages that are passed on at once
    # settle where a state of it has vanished.
    run = GeneralizedBP().run(complete_model(n, q), [50.0])
    np.testing.assert_allclose(run.marginals, 1 / q, rtol=0, atol=0.01)


def test_a_run_that_lost_its_way_finds_back():
    model, temperatures = complete_model(10, 2), [0.2, 0.5, 1.0, 2.0]
    exact = Enumeration().run(model, temperatures)
    run = GeneralizedBP().run(model, temperatures)
    wrong = np.abs(run.marginals - exact.marginals).max(axis=(1, 2))
    assert np.all((wrong < 0.05) | ~run.converged)
    assert np.all(wrong[1:] < 0.05)
