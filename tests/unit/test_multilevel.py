"""Multilevel minimisation: contraction keeps energies, results are local minima, never above."""

import sys

import numpy as np
import pytest

from spinlearn.engines import Enumeration
from spinlearn.errors import UnsupportedModelError
from spinlearn.graphs import KNN
from spinlearn.minimizers import MINIMIZERS, class_annealing, minimize, multilevel
from spinlearn.minimizers.multilevel import contracted, masses, modules
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import FREE, PottsModel
from tests.conftest import cliques
from tests.cut_models import single_moves
from tests.energy_models import ENERGY_NAMES, dense, random_graph, random_labels, random_model

QUADRATIC = ("balanced_cut", "balanced_volume", "diffused_cut", "class_prior")
EASY = {"n_sweeps": 60, "n_runs": 6}


def modularity(graph, labels, q, gamma=1.0):
    """The cut plus (gamma / 4W) sum_c V_c^2."""
    penalty = ClassPenalty.quadratic(graph.node_sums(graph.weights), gamma, n_states=q)
    return PottsModel(graph, q, clamped=labels, class_penalty=penalty)


def blobs(n=600, q=6, seed=0, spread=1.0):
    """A union 10-NN graph of Gaussian clusters in the plane and one label a class."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % q
    points = rng.normal(size=(q, 2))[truth] * 3 + spread * rng.normal(size=(n, 2))
    labels = np.full(n, FREE)
    labels[:q] = truth[:q]
    return KNN(n_neighbors=10).build(points), labels


def signed_model(rng, n=9, q=3):
    """Couplings of either sign, any pair cost, fields, sizes that may be zero, targets."""
    graph = random_graph(rng, n)
    half = rng.normal(size=(q, q))
    sizes = np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.5, 2, n))
    sizes[0] = 1.0
    return PottsModel(
        graph,
        q,
        couplings=rng.normal(size=graph.n_edges),
        pair_cost=half + half.T,
        fields=rng.normal(size=(n, q)),
        clamped=random_labels(rng, n, q),
        class_penalty=ClassPenalty.quadratic(
            sizes, 3 * rng.normal(), n_states=q, targets=rng.uniform(0, n / q, q)
        ),
    )


# -- modules and their model -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_contraction_keeps_the_energy_of_every_labelling(seed):
    """Also with signed couplings, a diagonal in the pair cost, targets and levels of modules."""
    rng = np.random.default_rng(seed)
    for model in (signed_model(rng, n=30, q=4), random_model("diffused_cut", rng, n=30, q=4)):
        groups = np.where(model.clamped == FREE, rng.integers(0, 8, 30), 8 + model.clamped)
        member = np.unique(groups, return_inverse=True)[1].astype(np.int32)
        coarse = contracted(model, member)
        k = coarse.n_nodes
        states = rng.integers(0, 4, (50, k))
        held = coarse.clamped != FREE
        states[:, held] = coarse.clamped[held]
        np.testing.assert_allclose(
            coarse.energy(states), model.energy(states[:, member]), rtol=1e-12, atol=1e-9
        )
        states[:, held] = (coarse.clamped[held] + 1) % 4
        assert np.all(np.isinf(coarse.energy(states)))


def test_modules_are_connected_and_hold_one_label_at_most():
    graph, labels = blobs(spread=3.0)
    model = modularity(graph, labels, 6)
    for resolution in (1.0, 8.0):
        member = modules(model, resolution, np.random.default_rng(0))
        held = np.flatnonzero(model.clamped != FREE)
        assert len(np.unique(member[held])) == len(held)
        assert np.array_equal(np.unique(member), np.arange(member.max() + 1))
        inner = member[graph.edges[:, 0]] == member[graph.edges[:, 1]]
        touched = np.unique(member[graph.edges[inner].ravel()])
        sizes = np.bincount(member)
        assert np.all(sizes[np.setdiff1d(np.arange(len(sizes)), touched)] == 1)
    fine = modules(model, 30.0, np.random.default_rng(0)).max()
    assert fine > modules(model, 1.0, np.random.default_rng(0)).max()


def test_module_moves_raise_modularity_to_a_local_maximum():
    """No node gains by joining a neighbour's module; what counts is the null model's gain."""
    graph, _ = blobs(n=200, q=4)
    model = modularity(graph, np.full(200, FREE), 2)
    mass, resolution = masses(model), 3.0
    np.testing.assert_allclose(mass, graph.node_sums(graph.weights))
    member = modules(model, resolution, np.random.default_rng(1))
    volume = np.bincount(member, weights=mass)
    own = np.eye(len(volume))[member]
    near = dense(graph) @ own
    gain = near - resolution / mass.sum() * mass[:, None] * (volume - mass[:, None] * own)
    best = np.where(near > 0, gain, -np.inf).max(axis=1)
    assert np.all(gain[np.arange(200), member] >= best - 1e-9)


def test_fields_that_disagree_keep_nodes_apart():
    """Two strongly coupled pairs; a field that outweighs the coupling parts one of them."""
    graph = Graph(4, [(0, 1), (2, 3)], [1.0, 1.0])
    fields = np.array([[5.0, 0.0], [0.0, 5.0], [0.5, 0.0], [0.0, 0.1]])
    member = modules(PottsModel(graph, 2, fields=fields), 0.1, np.random.default_rng(0))
    assert member[0] != member[1]
    assert member[2] == member[3]
    held = PottsModel(graph, 2, fields=fields, clamped=[0, FREE, 1, FREE])
    member = modules(held, 0.1, np.random.default_rng(0))
    assert member[0] == member[1]  # the label is what node 1 prefers
    assert member[2] == member[3]


def test_couplings_that_cancel_or_repel_join_nothing():
    graph = Graph(4, [(0, 1), (0, 2), (1, 2), (2, 3)])
    model = PottsModel(graph, 2, couplings=[-1.0, -1.0, -1.0, -2.0])
    assert modules(model, 1.0, np.random.default_rng(0)).max() == 3
    repelling = PottsModel(graph, 2, pair_cost=np.eye(2))
    assert modules(repelling, 1.0, np.random.default_rng(0)).max() == 3


# -- what is found ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "name"),
    [*((class_annealing, name) for name in ENERGY_NAMES),
     *((multilevel, name) for name in (*QUADRATIC, "min_cut", "harmonic_ordered", "signed"))],
)  # fmt: skip
def test_they_find_the_least_energy_of_small_models(method, name):
    for seed in range(6):
        rng = np.random.default_rng([seed, 1])
        model = signed_model(rng) if name == "signed" else random_model(name, rng, n=8, q=3)
        found = method(model, seed=seed, n_sweeps=60, n_runs=6 if method is multilevel else 8)
        exact = Enumeration().run(model, [1.0]).diagnostics["ground_energy"]
        assert found.energy == pytest.approx(exact, abs=1e-9 * max(1, model.energy_scale))
        assert found.energy == pytest.approx(model.energy(found.labels), abs=1e-12)


def test_never_above_annealing_of_the_nodes():
    """Up to 300 free nodes by construction, beyond by a wide margin."""
    graph, labels = blobs(n=150, q=4, spread=2.0)
    models = [modularity(graph, labels, 4, gamma) for gamma in (0.0, 0.5, 1.0, 2.0)]
    models += [modularity(*blobs(n=500, q=8, seed=seed, spread=1.5), 8) for seed in range(3)]
    for model in models:
        effort = {} if model.n_nodes < 300 else {"n_sweeps": 100, "n_runs": 4}
        other = class_annealing(model, seed=3, **effort)
        assert multilevel(model, seed=3, **EASY).energy <= other.energy + model.energy_resolution


@pytest.mark.slow
@pytest.mark.parametrize("coarsest", [2000, 40])
def test_a_local_minimum_that_respects_the_clamps(coarsest, monkeypatch):
    """With one level of modules and with several."""
    monkeypatch.setattr(sys.modules["spinlearn.minimizers.multilevel"], "COARSEST", coarsest)
    fields = 0.2 * np.random.default_rng(0).normal(size=(400, 5))
    for seed in range(2):
        plain = modularity(*blobs(n=400, q=5, seed=seed, spread=2.0), 5)
        for model in (plain, plain.replace(fields=fields)):
            found = multilevel(model, seed=1, **EASY)
            assert np.isfinite(found.energy)  # clamps are kept
            around = single_moves(model, found.labels)
            assert around.min() >= found.energy - 10 * model.energy_resolution


def test_cliques_on_a_ring_are_found_without_labels():
    """Modularity's classical example; states that are not needed stay empty or cost nothing."""
    graph = cliques(*[8] * 40, links=[(8 * c, (8 * c + 9) % 320) for c in range(40)])
    for q in (40, 43):
        model = modularity(graph, np.full(320, FREE), q, gamma=4.0)
        found = minimize(model, seed=0)
        assert found.method == "multilevel"
        assert found.energy <= model.energy(np.arange(320) // 8) + model.energy_resolution
        assert found.undecided.all()
        assert not found.exact


# -- edges of the domain ---------------------------------------------------------------------------


def test_nothing_free_and_one_node_under_a_class_term():
    held = modularity(Graph(2, [(0, 1)]), [0, 1], 2)
    found = multilevel(held)
    assert (list(found.labels), found.energy, found.exact) == ([0, 1], held.energy([0, 1]), True)
    penalty = ClassPenalty.quadratic([1.0], 1.0, n_states=2)
    one = PottsModel(Graph(1, []), 2, fields=[[2.0, 1.0]], class_penalty=penalty)
    assert list(multilevel(one, seed=0).labels) == [1]


def test_nothing_coupled():
    n, q = 400, 4  # more than are annealed as they are
    clamped = np.r_[np.arange(q), np.full(n - q, FREE)]
    penalty = ClassPenalty.quadratic(np.ones(n), 3.0, n_states=q)
    alone = PottsModel(Graph(n, []), q, clamped=clamped, class_penalty=penalty)
    found = multilevel(alone, seed=0, **EASY)
    assert np.all(np.bincount(found.labels) == n // q)
    np.testing.assert_array_equal(found.undecided, clamped == FREE)


def test_isolated_nodes_beside_clusters_and_given_proportions():
    graph, labels = blobs(n=500, q=4)
    more = Graph(600, graph.edges, graph.weights)
    targets = 600 * np.array([0.4, 0.3, 0.2, 0.1])
    penalty = ClassPenalty.quadratic(np.ones(600), 1000.0, n_states=4, targets=targets)
    clamped = np.r_[labels, np.full(100, FREE)]
    model = PottsModel(more, 4, clamped=clamped, class_penalty=penalty)
    found = multilevel(model, seed=0, **EASY)
    np.testing.assert_array_equal(np.bincount(found.labels, minlength=4), targets)
    assert found.undecided[500:].all()
    assert not found.undecided[clamped >= 0].any()


@pytest.mark.parametrize(
    ("sizes", "strength"), [(np.ones(400), 0.0), (np.r_[1.0, np.zeros(399)], 2.0)]
)
def test_no_strength_and_no_sizes(sizes, strength):
    """Classes have no say, but for the constant of the one labelled node: the minimum cut."""
    graph, labels = blobs(n=400, q=3)
    penalty = ClassPenalty.quadratic(sizes, strength, n_states=3)
    model = PottsModel(graph, 3, clamped=labels, class_penalty=penalty)
    cut = minimize(model.replace(class_penalty=None))
    assert minimize(model, seed=0).energy <= cut.energy + strength / 2 + 1e-9


def test_which_models_are_taken():
    rng = np.random.default_rng(0)
    for name in QUADRATIC:
        assert minimize(random_model(name, rng, n=6, q=2), seed=0).method == "multilevel"
    for name in ("normalized_cut", "ratio_cut", "custom_table"):
        model = random_model(name, rng, n=6, q=2)
        assert "class_annealing" in MINIMIZERS["multilevel"][1](model)
        with pytest.raises(UnsupportedModelError, match="modules cannot"):
            multilevel(model)
        assert minimize(model, seed=0).method == "class_annealing"
