"""minimize and its methods: choices, refusals, ties, determinism, annealing and the noisy vote."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.minimizers import (
    MINIMIZERS,
    alpha_beta_swap,
    alpha_expansion,
    annealing,
    class_annealing,
    minimize,
    minimum_cut,
    multilevel,
    randomized_cut,
)
from spinlearn.minimizers.annealing import cooling_schedule
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, labels_at
from tests.cut_models import all_labellings, random_metric, single_moves

TRIANGLE = Graph(3, [(0, 1), (0, 2), (1, 2)])


def ring(n, clamped, q=2, **terms):
    return PottsModel(Graph(n, [(i, (i + 1) % n) for i in range(n)]), q, clamped=clamped, **terms)


# -- minimum cut and ties --------------------------------------------------------------------------


def test_figure_1_one_class_overtakes():
    """The paper's figure 1 d: isolating the labels of one class is cheaper than the true border."""
    toy = two_bands()
    model = MinCut()(toy.graph(), toy.labels, 2)
    found = minimum_cut(model)
    labelled = np.bincount(toy.labels[toy.labels >= 0])
    sizes = np.bincount(found.labels)
    assert sizes.min() == labelled[np.argmin(sizes)]  # nothing but its labels is left
    assert found.energy == 12 < model.energy(toy.truth)
    assert np.sum(found.labels != toy.truth) == 677
    exact = JunctionTree().run(model, [0.0])
    assert exact.mean_energy[0] == pytest.approx(found.energy)
    np.testing.assert_array_equal(
        found.undecided, np.all((exact.marginals[0] > 0) & (exact.marginals[0] < 1), axis=1)
    )


def test_ties_on_a_ring():
    """Two labels on a ring of 2k + 2: each arc is cut in any of its k + 1 places."""
    k = 3
    found = minimum_cut(ring(2 * k + 2, labels_at({0: 0, k + 1: 1}, 2 * k + 2)))
    assert found.energy == 2
    assert found.n_undecided == 2 * k
    assert (found.n_blocks, found.n_parts) == (2 * k, 2)  # (k + 1)^2 minimum cuts
    assert list(found.fewest_zeros) == [0, 1, 1, 1, 1, 1, 1, 1]
    assert list(found.fewest_ones) == [0, 0, 0, 0, 1, 0, 0, 0]


def test_rounding_does_not_hide_a_tie():
    """0.1 + 0.2 against 0.3 through a middle node, and through clamped neighbours alone."""
    star = Graph(4, [(0, 1), (0, 2), (0, 3)])
    model = PottsModel(star, 2, couplings=[0.1, 0.2, 0.3], clamped=[-1, 0, 0, 1])
    assert list(minimum_cut(model).undecided) == [True, False, False, False]
    path = Graph(5, [(0, 2), (1, 2), (2, 3), (3, 4)])
    model = PottsModel(path, 2, couplings=[0.1, 0.2, 1.0, 0.3], clamped=[0, 0, -1, -1, 1])
    assert minimum_cut(model).n_blocks == 1


def test_couplings_of_very_different_size_are_cut_exactly():
    """A rounding to 32-bit integers would lose the weak bonds."""
    chain = grid_graph(1, 5, [1e9, 0.3, 0.2, 1e9])
    found = minimum_cut(PottsModel(chain, 2, clamped=[0, -1, -1, -1, 1]))
    assert list(found.labels) == [0, 0, 0, 1, 1]
    assert found.unique


@pytest.mark.slow
@pytest.mark.parametrize("method", MINIMIZERS)
def test_points_that_no_label_reaches_are_undecided(method):
    """Nodes 3, 4 hang together without a label, node 5 is alone, 6 has a field, 7 a zero edge."""
    graph = Graph(8, [(0, 1), (1, 2), (2, 7), (3, 4)])
    fields = np.zeros((8, 2))
    fields[6] = [1.0, 0.0]
    model = PottsModel(graph, 2, couplings=[1, 1, 0, 1], fields=fields, clamped=[1] + [-1] * 7)
    found = minimize(model, method, seed=0)
    assert list(found.undecided) == [False, False, False, True, True, True, False, True]
    assert list(found.labels[[0, 1, 2, 6]]) == [1, 1, 1, 1]
    assert found.energy == 0
    if method in ("min_cut", "expansion", "swap"):
        assert list(found.labels[[3, 4, 5, 7]]) == [0, 0, 0, 0]  # ties go to the lowest state


def test_a_preferred_state_decides_parts_without_labels():
    """Where agreeing in state 1 is cheaper than agreeing in state 0, only loners are undecided."""
    cost = np.array([[0.5, 1.0], [1.0, 0.0]])
    model = PottsModel(Graph(3, [(0, 1)]), 2, pair_cost=cost)
    for found in (minimum_cut(model), alpha_expansion(model), annealing(model, seed=0)):
        assert list(found.undecided) == [False, False, True]
        assert list(found.labels[:2]) == [1, 1]


@pytest.mark.parametrize("method", MINIMIZERS)
def test_all_clamped_and_one_node(method):
    held = PottsModel(TRIANGLE, 2, clamped=[0, 1, 1])
    found = minimize(held, method, seed=0)
    assert list(found.labels) == [0, 1, 1]
    assert found.energy == 2
    assert found.n_undecided == 0
    assert found.exact == (method not in ("expansion", "swap"))
    alone = minimize(PottsModel(Graph(1, []), 2, fields=[[2.0, 1.0]]), method, seed=0)
    assert (list(alone.labels), alone.energy) == ([1], 1.0)


def test_results_survive_pickling_and_are_read_only():
    found = minimum_cut(ring(6, [0, -1, -1, 1, -1, -1]))
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.fewest_zeros, found.fewest_zeros)
    for result in (found, copy):
        for name in ("labels", "undecided", "fewest_zeros", "fewest_ones"):
            assert not getattr(result, name).flags.writeable


# -- which method for which model ------------------------------------------------------------------


def test_auto_takes_the_best_method_that_applies():
    metric = random_metric(np.random.default_rng(0), 3)
    far = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    repelling = PottsModel(TRIANGLE, 2, couplings=[1.0, -1.0, 1.0])
    assert minimize(PottsModel(TRIANGLE, 2)).method == "min_cut"
    assert minimize(PottsModel(TRIANGLE, 3)).method == "expansion"
    assert minimize(PottsModel(TRIANGLE, 3, pair_cost=metric)).method == "expansion"
    assert minimize(PottsModel(TRIANGLE, 3, pair_cost=far)).method == "swap"
    assert minimize(repelling).method == "annealing"
    assert minimize(PottsModel(TRIANGLE, 3, pair_cost=-metric)).method == "annealing"


def test_refusals_name_the_cause_and_the_remedy():
    repelling = PottsModel(TRIANGLE, 2, couplings=[1.0, -1.0, 1.0])
    for method in ("min_cut", "expansion", "swap"):
        with pytest.raises(UnsupportedModelError, match=r"1 couplings are negative.*annealing"):
            minimize(repelling, method)
    with pytest.raises(UnsupportedModelError, match=r"3 states.*expansion"):
        minimum_cut(PottsModel(TRIANGLE, 3))
    with pytest.raises(UnsupportedModelError, match=r"V\(a,a\)"):
        alpha_beta_swap(PottsModel(TRIANGLE, 3, pair_cost=np.eye(3)))
    for method, effort, said in (
        (annealing, {"n_sweeps": 0}, "at least 1"),
        (class_annealing, {"n_runs": 0}, "at least 1"),
        (multilevel, {"n_sweeps": 0}, "at least 1"),
        (multilevel, {"resolutions": ()}, "positive numbers"),
        (multilevel, {"resolutions": (1.0, -2.0)}, "positive numbers"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            method(repelling, **effort)
    with pytest.raises(InvalidInputError, match=r"'simplex' is unknown.*'min_cut'"):
        minimize(repelling, "simplex")


def test_no_cut_and_no_single_node_kernel_claims_a_class_level_term():
    model = SimpleNamespace(n_states=2, class_penalty=object(), pair_cost=1 - np.eye(2))
    for method in ("min_cut", "expansion", "swap", "annealing"):
        assert "class-level term" in MINIMIZERS[method][1](model)


def test_a_table_without_differences_is_no_obstacle():
    """Pair costs that depend on one end only are fields; any sign of coupling will do."""
    cost = np.add.outer([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    model = PottsModel(TRIANGLE, 3, couplings=[1.0, -2.0, 1.0], pair_cost=cost)
    found = minimize(model)
    assert found.method == "expansion"
    assert found.energy == model.energy(all_labellings(model)).min()


# -- annealing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("glass", [True, False])
def test_annealing_finds_the_ground_state_of_a_spin_glass_and_the_minimum_cut(glass):
    rng = np.random.default_rng(5)
    graph = grid_graph(5, 6)
    strength = rng.choice([-1.0, 1.0], graph.n_edges) if glass else rng.random(graph.n_edges)
    fields = None if glass else rng.normal(size=(30, 2))
    model = PottsModel(graph, 2, couplings=strength, fields=fields)
    found = annealing(model, seed=1)
    assert found.energy == pytest.approx(JunctionTree().run(model, [0.0]).mean_energy[0])
    assert glass or found.energy == pytest.approx(minimum_cut(model).energy)
    assert not found.exact


@pytest.mark.parametrize("method", [annealing, class_annealing, multilevel])
def test_annealing_depends_on_the_seed_alone_and_ends_in_a_local_minimum(method):
    rng = np.random.default_rng(0)
    graph = grid_graph(6, 6)
    model = PottsModel(graph, 3, couplings=rng.normal(size=graph.n_edges), clamped=[2] + [-1] * 35)
    first, again, other = (method(model, n_sweeps=3, n_runs=1, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.labels, again.labels)
    assert method is not annealing or not np.array_equal(first.labels, other.labels)
    assert first.sweeps == again.sweeps > 0
    assert single_moves(model, first.labels).min() >= first.energy - model.energy_resolution


def test_cooling_schedule_falls_and_scales_with_the_energy():
    model = PottsModel(grid_graph(4, 4), 3)
    schedule = cooling_schedule(model, 20)
    assert np.all(np.diff(schedule) < 0)
    assert schedule[0] == pytest.approx(4 / np.log(2))  # four neighbours of coupling 1
    doubled = PottsModel(grid_graph(4, 4), 3, couplings=np.full(24, 2.0))
    np.testing.assert_allclose(cooling_schedule(doubled, 20), 2 * schedule)
    assert np.all(cooling_schedule(PottsModel(Graph(2, []), 2), 3) == 1)


# -- randomized min-cut ----------------------------------------------------------------------------


def test_votes_on_a_chain_fall_off_with_the_distance():
    """Between two labels the weakest bond is anywhere with equal chance: shares are linear."""
    model = PottsModel(grid_graph(1, 6), 2, clamped=[0, -1, -1, -1, -1, 1])
    vote = randomized_cut(model, n_cuts=500, min_balance=0.0, seed=0)
    expected = 1 - np.arange(6) / 5
    # Five standard deviations of a share of 500 votes.
    np.testing.assert_allclose(vote.shares[:, 0], expected, rtol=0, atol=5 * 0.5 / np.sqrt(500))
    np.testing.assert_allclose(vote.shares.sum(axis=1), 1)


def test_balance_filter_drops_lopsided_cuts():
    """A chain of ten: only cuts that leave five nodes on either side pass a filter of 1."""
    model = PottsModel(grid_graph(1, 10), 2, clamped=[0, *[-1] * 8, 1])
    vote = randomized_cut(model, n_cuts=100, min_balance=1.0, seed=0)
    assert 0 < vote.n_balanced < 100
    assert vote.n_balanced == np.sum(vote.balances == 1)
    np.testing.assert_array_equal(vote.shares[:, 0], [1] * 5 + [0] * 5)


def test_without_noise_ties_are_no_votes():
    clamped = [0, -1, 1, -1]
    calm = randomized_cut(ring(4, clamped), n_cuts=3, noise=0.0, min_balance=0.0, seed=0)
    np.testing.assert_array_equal(calm.shares, [[1, 0], [0, 0], [0, 1], [0, 0]])


def test_votes_of_three_classes_and_of_unreached_points():
    star = Graph(5, [(0, 1), (0, 2), (0, 3)])
    model = PottsModel(star, 3, clamped=[-1, 0, 1, 2, -1])
    vote = randomized_cut(model, n_cuts=200, seed=4, min_balance=0.0)
    np.testing.assert_allclose(vote.shares[0], 1 / 3, rtol=0, atol=5 * 0.5 / np.sqrt(200))
    assert not vote.shares[4].any()
    again = randomized_cut(model, n_cuts=200, seed=4, min_balance=0.0)
    np.testing.assert_array_equal(vote.shares, again.shares)


def test_bad_settings_of_the_vote_are_refused():
    bad = ("n_cuts", 0), ("n_cuts", 2.5), ("noise", -0.1), ("noise", np.nan), ("min_balance", 1.1)
    for name, value in bad:
        with pytest.raises(InvalidInputError, match=name):
            randomized_cut(PottsModel(TRIANGLE, 2), **{name: value})
