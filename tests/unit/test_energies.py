"""Energies against their definitions, written out; and what they refuse."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from spinlearn import Graph, PottsClassifier, PottsModel
from spinlearn.energies import (
    ENERGIES,
    LGC,
    BalancedCut,
    ClassPenalty,
    ClassPrior,
    Custom,
    DiffusedCut,
    Harmonic,
    MinCut,
    NormalizedCut,
    RatioCut,
    make_energy,
)
from spinlearn.engines import Enumeration, JunctionTree, Multicanonical
from spinlearn.engines.checkpoint import fingerprint
from spinlearn.engines.sampling.samplers import Metropolis, SwendsenWang, Tempering
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.model.phases import temperature_grid
from tests.energy_models import all_energies, dense, random_graph, random_labels

N, Q = 9, 3


@pytest.fixture
def case():
    rng = np.random.default_rng(4)
    graph = random_graph(rng, N)
    labels = random_labels(rng, N, Q)
    states = rng.integers(0, Q, (40, N))
    states[:, labels >= 0] = labels[labels >= 0]
    return graph, labels, states, dense(graph)


def test_lgc_is_zhous_cost_at_labellings(case):
    graph, labels, states, w = case
    mu, d = 0.7, w.sum(axis=1)
    y = (labels[:, None] == np.arange(Q)).astype(float)
    f = np.eye(Q)[states]
    g = f / np.sqrt(np.where(d > 0, d, 1))[:, None]
    smooth = np.sum(w[:, :, None] * (g[:, :, None] - g[:, None]) ** 2, axis=(1, 2, 3))
    costs = 0.5 * (smooth + mu * np.sum((f - y) ** 2, axis=(1, 2)))
    assert np.ptp(costs - LGC(mu=mu)(graph, labels, Q).energy(states)) < 1e-12


def test_harmonic_is_zhus_cost_at_labellings(case):
    graph, labels, states, w = case
    for values in (None, np.array([0.0, 1.0, 5.0])):
        model = Harmonic(class_values=values)(graph, labels, Q)
        points = np.eye(Q) if values is None else values[:, None]
        f = points[states]
        cost = 0.5 * np.sum(w[:, :, None] * (f[:, :, None] - f[:, None]) ** 2, axis=(1, 2, 3))
        np.testing.assert_allclose(model.energy(states), cost, rtol=1e-6)


@pytest.mark.parametrize("size", ["count", "volume"])
@pytest.mark.parametrize("proportions", [None, [1, 2, 3]])
def test_balanced_cut_is_the_cut_and_the_balance(case, size, proportions):
    graph, labels, states, w = case
    model = BalancedCut(strength=3.0, size=size, proportions=proportions)(graph, labels, Q)
    a = np.ones(N) if size == "count" else w.sum(axis=1) * N / w.sum()
    goal = np.zeros(Q) if proportions is None else N * np.array(proportions) / 6
    unit = graph.weights.mean()
    for s, energy in zip(states, model.energy(states), strict=True):
        sizes = np.array([a[s == c].sum() for c in range(Q)])
        balance = 3.0 * unit / (2 * N) * np.sum((sizes - goal) ** 2)
        cut = 0.5 * np.sum(w * (s[:, None] != s))
        assert energy == pytest.approx(cut + balance)


def test_diffused_cut_adds_fields_of_the_dense_diffusion(case):
    graph, _, states, w = case
    labels = np.full(N, -1)
    labels[[0, 4, 7]] = [2, 0, 2]  # state 1 has no label, so it has no field
    states[:, labels >= 0] = labels[labels >= 0]
    model = DiffusedCut(diffusion=0.3, alpha=0.95, strength=1.5)(graph, labels, Q)
    roots = np.diag(w.sum(axis=1) ** -0.5)
    given = np.zeros((N, 2))
    given[[4, 0, 7], [0, 1, 1]] = 1
    reached = np.linalg.inv(np.eye(N) - 0.95 * roots @ w @ roots) @ given
    shares = reached / reached.sum(axis=0)
    shares /= shares.sum(axis=1, keepdims=True)
    free = labels < 0
    margin = np.abs(shares[free, 0] - shares[free, 1]).mean()
    fields = np.zeros((N, Q))
    fields[np.ix_(free, [0, 2])] = (shares[free] - 0.5) / margin * 0.3 * graph.weights.mean()
    plain = BalancedCut(strength=1.5)(graph, labels, Q)
    for s in states:
        expected = plain.energy(s) - fields[np.arange(N), s].sum()
        assert model.energy(s) == pytest.approx(expected, abs=1e-6)
    # The balance is by default the mean number of neighbours.
    usual = DiffusedCut(diffusion=0.0)(graph, labels, Q)
    by_hand = BalancedCut(strength=graph.degrees.mean())(graph, labels, Q)
    np.testing.assert_allclose(usual.energy(states), by_hand.energy(states))


def test_diffused_cut_has_no_field_where_labels_say_nothing():
    parts = Graph(7, [(0, 1), (1, 2), (3, 4), (5, 6)])
    one_class = DiffusedCut()(parts, [0, -1, -1, 0, -1, -1, -1], 2)
    assert not one_class.fields.any()
    assert not DiffusedCut()(parts, np.full(7, -1), 2).fields.any()
    fields = DiffusedCut()(parts, [0, -1, -1, 1, -1, -1, -1], 2).fields
    assert not fields[[0, 3, 5, 6]].any()  # labels, and a part that none reaches
    assert np.all(fields[[1, 2], 0] < fields[[1, 2], 1])
    assert fields[4, 1] < fields[4, 0]
    assert not DiffusedCut()(Graph(2, []), [0, 1], 2).fields.any()


@pytest.mark.parametrize("energy", [NormalizedCut(), RatioCut()])
def test_ratio_forms_are_cuts_over_sizes(case, energy):
    graph, labels, states, w = case
    model = energy(graph, labels, Q)
    a = w.sum(axis=1) if type(energy) is NormalizedCut else np.ones(N)
    worst = np.max(w.sum(axis=1)[a > 0] / a[a > 0])
    for s, value in zip(states, model.energy(states), strict=True):
        parts = [(w[s == c][:, s != c].sum(), a[s == c].sum()) for c in range(Q)]
        total = sum(cut / volume if volume > 0 else worst for cut, volume in parts)
        assert value == pytest.approx(a.sum() / (2 * Q) * total)


def test_ratio_forms_equal_the_cut_when_classes_are_equally_large():
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    grid = temperature_grid(MinCut()(ring, np.full(6, -1), 3))
    for energy in (NormalizedCut(), RatioCut()):
        model = energy(ring, np.full(6, -1), 3)
        assert model.energy([0, 0, 1, 1, 2, 2]) == pytest.approx(3.0)
        assert model.effective_couplings == pytest.approx(np.ones(6))
        np.testing.assert_allclose(temperature_grid(model), grid, rtol=1e-6)


def test_an_empty_class_costs_as_much_as_the_worst_one():
    pair = Graph(3, [(0, 1), (1, 2)])
    model = RatioCut()(pair, [-1, -1, -1], 2)
    assert model.energy([0, 0, 0]) == pytest.approx(3 / 4 * 2.0)
    assert model.energy([0, 1, 0]) == pytest.approx(3 / 4 * (2 / 1 + 2 / 2))  # the middle node
    chosen = ClassPenalty.ratio(pair, np.ones(3), n_states=2, empty=7.0)
    assert model.replace(class_penalty=chosen).energy([0, 0, 0]) == 7.0


def test_class_priors_are_the_law_of_points_without_neighbours():
    prior = np.array([0.5, 0.3, 0.2])
    graph = Graph(4, [(0, 1)], [1.7])
    model = ClassPrior(prior=prior, strength=1.0)(graph, [0, -1, -1, 2], 3)
    run = Enumeration().run(model, [1.7])
    np.testing.assert_allclose(run.marginals[0, 2], prior)
    assert np.all(model.fields[[0, 3]] == 0)


def test_custom_arrays_are_taken_as_they_are(case):
    graph, labels, states, _ = case
    rng = np.random.default_rng(0)
    half, fields = rng.normal(size=(Q, Q)), rng.normal(size=(N, Q))
    couplings, table = rng.normal(size=graph.n_edges), rng.normal(size=(Q, N + 1))
    cost = half + half.T
    energy = Custom(couplings=couplings, pair_cost=cost, fields=fields, class_penalty=table)
    values, (u, v) = energy(graph, labels, Q).energy(states), graph.edges.T
    for s, value in zip(states, values, strict=True):
        expected = np.sum(couplings * cost[s[u], s[v]]) + fields[np.arange(N), s].sum()
        expected += sum(table[c, np.sum(s == c)] for c in range(Q))
        assert value == pytest.approx(expected)


def test_every_energy_of_the_registry_is_among_the_models_that_samplers_are_tested_on(case):
    tested = {
        type(energy) for energy in all_energies(np.random.default_rng(0), N, Q, case[0]).values()
    }
    missing = [name for name, energy in ENERGIES.items() if energy not in tested]
    assert not missing, f"enter {missing} in all_energies of tests/energy_models.py"


def test_every_energy_of_the_registry_clamps_certain_labels_and_fits(case):
    graph, labels, states, _ = case
    for name, energy in ENERGIES.items():
        model = energy()(graph, labels, Q)
        assert np.abs(model.energy(states)).max() <= model.energy_scale * (1 + 1e-12)
        np.testing.assert_array_equal(model.clamped, labels)
        soft = energy(label_strength=0.5)(graph, labels, Q)
        assert np.all(soft.clamped == -1)
        fitted = PottsClassifier(
            energy=f"{name}:n_states={Q}", engine="enumeration", temperature="auto:grid=0.2,1"
        ).fit(graph, labels)
        assert fitted.model_.n_states == Q


def test_settings_clone_and_reach_through_the_classifier():
    for energy in (BalancedCut(strength=5.0), LGC(mu=0.1), Harmonic(class_values=[0, 1])):
        for twin in (clone(energy), copy.deepcopy(energy), pickle.loads(pickle.dumps(energy))):
            assert twin == energy
    classifier = PottsClassifier(energy=BalancedCut())
    for point in ParameterGrid({"energy__strength": [1.0, 4.0]}):
        assert clone(classifier).set_params(**point).energy.strength == point["energy__strength"]
    with pytest.raises(InvalidInputError, match="no parameter"):
        BalancedCut().set_params(nonsense=1)


def test_a_function_of_ones_own_is_an_energy(case):
    graph, labels, _, _ = case

    def doubled(graph, labels, n_states):
        return MinCut()(graph, labels, n_states).replace(couplings=2 * graph.weights)

    fitted = PottsClassifier(energy=doubled, temperature="auto:grid=0.5").fit(graph, labels)
    np.testing.assert_array_equal(fitted.model_.couplings, 2 * graph.weights)
    with pytest.raises(InvalidInputError, match="must return a PottsModel"):
        PottsClassifier(energy=lambda *a: 3, temperature="auto:grid=0.5").fit(graph, labels)
    assert make_energy(doubled) is doubled


def test_models_with_a_class_term_survive_pickle_are_read_only_and_told_apart(case):
    graph, labels, states, _ = case
    models = [BalancedCut(strength=x)(graph, labels, Q) for x in (1.0, 2.0)]
    models += [MinCut()(graph, labels, Q), NormalizedCut()(graph, labels, Q)]
    assert len({fingerprint(m) for m in models}) == 4
    for model in (models[0], models[3]):
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(twin.energy(states), model.energy(states))
        with pytest.raises(ValueError, match="read-only"):
            twin.class_penalty.sizes[0] = 5
        with pytest.raises(AttributeError):
            twin.class_penalty.coefficient = 5


def test_engines_that_cannot_see_the_class_term_say_so(case):
    graph, labels, _, _ = case
    model = BalancedCut()(graph, labels, Q)
    with pytest.raises(UnsupportedModelError, match=r"use engine=.*'multicanonical'"):
        JunctionTree().run(model, [1.0])
    for engine in (JunctionTree(), SwendsenWang(), Metropolis()):
        assert "class-level term" in engine.unsupported(model)
    for engine in (Enumeration(), Multicanonical(), Tempering()):
        assert engine.unsupported(model) is None


TRIANGLE = Graph(3, [(0, 1), (1, 2), (0, 2)])
ONES = np.ones(3)


def of_triangle(energy, labels=(0, -1, 1)):
    return lambda: energy(TRIANGLE, labels, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (of_triangle(BalancedCut(strength=-1)), "not a number >= 0"),
        (of_triangle(BalancedCut(size="mass")), "use 'count' or 'volume'"),
        (of_triangle(BalancedCut(proportions=[1])), "expected \\(2,\\)"),
        (of_triangle(BalancedCut(proportions=[0, 0])), "not all zero"),
        (lambda: BalancedCut()(TRIANGLE, [0, -1], 2), "labels have shape"),
        (lambda: MinCut()(TRIANGLE, [0.5, -1, 1], 2), "labels must be whole numbers"),
        (lambda: BalancedCut()(TRIANGLE, [0, -1, 5], 2), "labels must be -1 or states"),
        (of_triangle(DiffusedCut(diffusion=-1)), "not a strength of a field"),
        (of_triangle(DiffusedCut(alpha=1.0)), "0 < alpha < 1"),
        (lambda: DiffusedCut()(Graph(2, [(0, 1)], [-1.0]), [0, 1], 2), "negative weight"),
        (of_triangle(LGC(mu=-1)), "must be >= 0"),
        (lambda: RatioCut()(Graph(2, [(0, 1)], [-1.0]), [0, -1], 2), "negative weight"),
        (of_triangle(Harmonic(class_values=[0, 1, 2])), "each of the 2"),
        (of_triangle(ClassPrior()), "needs prior"),
        (of_triangle(ClassPrior(prior=[0, 1])), "positive probability"),
        (of_triangle(ClassPrior(prior=[1, 1], strength=-1)), "number >= 0"),
        (of_triangle(Custom(fields=[[1, 2]])), "fields has shape"),
        (of_triangle(Custom(class_penalty=np.ones((2, 3)))), "\\(2, 4\\)"),
        (of_triangle(Custom(class_penalty=[1, 2])), "one row per state"),
        (lambda: ClassPenalty.from_table([[0, np.nan], [0, 0]]), "NaN or infinite"),
        (lambda: ClassPenalty.quadratic([1, -1, 1], 1.0, n_states=2), "negative numbers"),
        (lambda: ClassPenalty.quadratic([0, 0, 0], 1.0, n_states=2), "all node sizes are zero"),
        (lambda: ClassPenalty.quadratic([], 1.0, n_states=2), "one number per node"),
        (lambda: ClassPenalty.quadratic(ONES, np.inf, n_states=2), "one finite number"),
        (lambda: ClassPenalty.ratio(TRIANGLE, [0, 1, 1], n_states=2), "positive size"),
        (lambda: ClassPenalty.ratio(TRIANGLE, [1, 1], n_states=2), "sizes have shape"),
        (lambda: ClassPenalty(kind="ratio"), "is made with"),
        (lambda: PottsModel(TRIANGLE, 2, class_penalty="balance"), "must be a ClassPenalty"),
        (lambda: PottsModel(Graph(3, [(0, 1)]), 2, class_penalty=ClassPenalty.ratio(
            TRIANGLE, ONES, n_states=2)), "make it from the same graph"),
        (lambda: PottsModel(TRIANGLE, 2, class_penalty=ClassPenalty.quadratic(
            ONES, 1e308, n_states=2, targets=[1e200, 0])), "energies overflow"),
        (lambda: make_energy(BalancedCut), "is unknown: pass a name"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_graphs_without_edges_have_all_energies():
    for energy in ENERGIES.values():
        model = energy()(Graph(3, []), [0, -1, 1], 2)
        assert np.isfinite(model.energy([0, 0, 1]))
        np.testing.assert_allclose(Enumeration().run(model, [0.5]).marginals[0, 1], 0.5)
