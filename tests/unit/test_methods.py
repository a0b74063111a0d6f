"""Choices made for the user: evidence, resolution, walks, new classes, temperature."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs

from spinlearn import KNN, Graph, PottsClassifier
from spinlearn.answers.calibrated import calibrated_scale, calibrated_temperature, transition
from spinlearn.energies import Modularity, min_cut
from spinlearn.engines import JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.methods.discovery import discover
from spinlearn.methods.evidence import cavity_laws, label_groups, left_out_evidence
from spinlearn.methods.label_walks import LabelWalks
from spinlearn.methods.quick_messages import QuickMessages, best_beliefs
from spinlearn.methods.reduction import Reduction, checked_components, components_for
from spinlearn.methods.resolution import weigh
from spinlearn.methods.weakest_split import weakest_split
from spinlearn.minimizers.linear_system import weight_matrix
from spinlearn.minimizers.module_tree import ModuleTree


def chain(n: int, weight: float = 1.0) -> Graph:
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    return Graph(n, edges, np.full(n - 1, weight))


def blobs(n: int = 200, centers: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    corners = 9.0 * np.array([[i % 2, i // 2] for i in range(centers)])
    return make_blobs(n, centers=corners, random_state=seed)


def some_labels(truth: np.ndarray, per_class: int, seed: int = 0, hidden: int = -1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    labels = np.full(len(truth), -1)
    for c in np.unique(truth):
        if c != hidden:
            labels[generator.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return labels


# -- messages and evidence -----------------------------------------------------------------------


def test_quick_messages_are_exact_on_a_tree():
    labels = np.array([0, -1, -1, -1, -1, -1, 1, -1])
    model = min_cut(chain(8), labels, 2)
    exact = JunctionTree().run(model, [0.9]).marginals[0]
    found = QuickMessages(model).cooled(0.9).marginals
    np.testing.assert_allclose(found, exact, atol=1e-3)
    through = QuickMessages(model).cooled_through([1.8, 0.9])[1].marginals
    np.testing.assert_allclose(through, exact, atol=1e-3)


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_the_better_of_two_starts_is_kept():
    X, truth = blobs(160)
    model = Modularity()(KNN().build(X).homogeneous(), some_labels(truth, 1), 4)
    found = best_beliefs(model, 2.0)
    assert found.log_partition >= QuickMessages(model).cooled(2.0).log_partition
    assert np.mean(found.marginals.argmax(axis=1) == truth) == 1.0


def test_the_cavity_is_exact_on_a_tree():
    """Taking a label's own pull off its neighbours gives the law without that label."""
    labels = np.array([0, -1, -1, 1, -1, -1, 0])
    model, temperature = min_cut(chain(7), labels, 2), 0.8
    marginals = JunctionTree().run(model, [temperature]).marginals[0]
    found = cavity_laws(model, marginals, temperature)
    for point in np.flatnonzero(labels >= 0):
        others = labels.copy()
        others[point] = -1
        without = JunctionTree().run(min_cut(chain(7), others, 2), [temperature]).marginals[0]
        np.testing.assert_allclose(found[point], without[point], atol=1e-9)


def test_left_out_labels_are_judged_without_themselves():
    labels = np.array([0, -1, 0, -1, -1, 1, -1, 1])
    graph, temperature = chain(8), 0.7
    found = left_out_evidence(labels, lambda kept: min_cut(graph, kept, 2), [1.4, temperature])
    assert found is not None
    total = 0.0
    for group in label_groups(labels):
        others = labels.copy()
        others[group] = -1
        exact = JunctionTree().run(min_cut(graph, others, 2), [temperature]).marginals[0]
        total += np.log(exact[group, labels[group]]).sum()
    assert found.n_judged == 4
    assert found.log_likelihood[1] == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_no_group_takes_the_last_label_of_a_class(seed):
    generator = np.random.default_rng(seed)
    labels = np.where(generator.random(60) < 0.4, generator.integers(0, 5, 60), -1)
    counts = np.bincount(labels[labels >= 0], minlength=5)
    seen = []
    for group in label_groups(labels):
        left = np.bincount(labels[group], minlength=5)
        assert np.all((left < counts) | (left == 0))
        seen += group.tolist()
    assert sorted(seen) == np.flatnonzero((labels >= 0) & (counts[labels] > 1)).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_the_resolution_follows_the_classes():
    """Two touching clouds need the null model; classes of 90 and 10 % must not be evened out."""
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1], [270, 30])
    X = np.where(truth[:, None] == 0, 0.0, 7.0) + generator.normal(size=(300, 2))
    labels = some_labels(truth, 4)
    graph = KNN().build(X).homogeneous()
    weighed = weigh(graph, labels, 2, 2.5)
    assert weighed.resolution < 1
    mean, error = weighed.shares()
    assert abs(mean[1] - 0.1) < 0.03 + 2 * error[1]
    fitted = PottsClassifier().fit(X, labels)
    assert np.mean(fitted.forced_labels_ == truth) > 0.98
    share, its_error = fitted.class_shares_[1]
    assert abs(share - 0.1) < 0.02 + 2 * its_error


# -- walks ---------------------------------------------------------------------------------------


def test_walks_of_a_class_do_not_weigh_by_its_number_of_labels():
    X, truth = blobs(centers=2)
    few, many = some_labels(truth, 1, seed=1), some_labels(truth, 1, seed=1)
    many[np.flatnonzero(truth == 0)[:20]] = 0
    walks = LabelWalks(KNN().build(X))
    for labels in (few, many):
        laws = walks.laws(labels, 2)
        np.testing.assert_allclose(laws.sum(axis=1), 1.0)
        free = labels < 0
        assert np.mean(laws[free].argmax(axis=1) == truth[free]) == 1.0


@pytest.mark.parametrize("n_labels", [1, 4])
def test_walks_end_at_labels_and_the_fewer_there_are_the_less_their_number_says(n_labels):
    """Against the dense solution of the equations in the module's docstring."""
    generator = np.random.default_rng(n_labels)
    graph = KNN(n_neighbors=4).build(generator.normal(size=(40, 2)))
    labels = np.full(40, -1)
    labels[: 2 * n_labels] = np.repeat([0, 1], n_labels)
    weights = np.zeros((40, 40))
    weights[tuple(graph.edges.T)] = graph.weights
    weights += weights.T
    roots = np.sqrt(weights.sum(axis=1))
    step = (1 - 1 / (2.4 * np.sqrt(40))) * weights / np.outer(roots, roots)
    free = labels < 0
    ends = (labels[~free][:, None] == [0, 1]).astype(float)
    visits = np.linalg.solve(np.eye(free.sum()) - step[np.ix_(free, free)],
                             step[np.ix_(free, ~free)] @ ends)  # fmt: skip
    sent = visits.mean(axis=0)
    doubt = 2 / (1 + n_labels)
    share = visits / (sent**doubt * sent.mean() ** (1 - doubt)) + 0.3
    laws = LabelWalks(graph).laws(labels, 2)[free]
    np.testing.assert_allclose(laws, share / share.sum(axis=1, keepdims=True), atol=1e-4)


def test_walks_say_nothing_where_none_comes_by():
    edges = np.array([[0, 1], [1, 2], [3, 4]])
    laws = LabelWalks(Graph(5, edges, np.ones(3))).laws(np.array([0, -1, 1, -1, -1]), 2)
    np.testing.assert_allclose(laws[3:], 0.5)


# -- new classes ---------------------------------------------------------------------------------


def test_a_hidden_group_is_found_and_nothing_else():
    X, truth = blobs(240)
    graph = KNN().build(X).homogeneous()
    for hidden in range(4):
        labels = some_labels(truth, 3, hidden=hidden)
        named = np.where(labels > hidden, labels - 1, labels)
        (found,) = discover(graph, named, 3, 2.5, "careful")
        assert set(found.points) == set(np.flatnonzero(truth == hidden))
        assert truth[found.centre] == hidden
    assert discover(graph, some_labels(truth, 3), 4, 2.5, "careful") == []
    assert discover(graph, some_labels(truth, 3), 4, 2.5, "off") == []
    hidden = some_labels(truth, 3, hidden=3)
    assert discover(graph, hidden, 3, 2.5, "careful", stop=lambda: True) == []


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_several_hidden_groups_become_classes_of_their_own():
    X, truth = blobs(360, centers=6)
    labels = np.full(len(truth), -1)
    for c in (0, 1):
        labels[np.flatnonzero(truth == c)[:4]] = c
    fitted = PottsClassifier().fit(X, labels)
    groups = [set(points) for points in fitted.new_classes_.values()]
    expected = [set(np.flatnonzero(truth == c)) for c in (2, 3, 4, 5)]
    assert all(group in expected for group in groups)
    assert len(groups) == 4
    assert all(strength > 3 for strength in fitted.new_class_strengths_.values())
    assert np.all(fitted.transduction_[truth == 0] == 0)


def test_without_labels_it_is_a_clustering():
    X, truth = blobs(240)
    fitted = PottsClassifier().fit(X, np.full(len(truth), -1))
    groups = sorted(map(len, fitted.new_classes_.values()))
    assert groups == [60, 60, 60, 60]
    for points in fitted.new_classes_.values():
        assert len(np.unique(truth[points])) == 1


def test_a_long_band_is_no_new_class():
    """It falls apart anywhere as easily, though labels are far from each other."""
    generator = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0, 100, 400), generator.normal(0, 0.5, 400)])
    labels = np.full(400, -1)
    labels[[5, 90, 180]], labels[[220, 300, 390]] = 0, 1
    fitted = PottsClassifier().fit(X, labels)
    assert sum(map(len, fitted.new_classes_.values())) < 20


def test_the_weakest_split_is_between_the_two_halves():
    X, truth = blobs(120, centers=2)
    X[truth == 1] -= [5.0, 0.0]  # they touch
    graph = KNN().build(X)
    matrix = weight_matrix(graph)
    everything = np.arange(120, dtype=np.int32)
    halves = [np.flatnonzero(truth == c) for c in (0, 1)]
    between = float(matrix[halves[0]][:, halves[1]].sum())
    assert 0 < weakest_split(matrix, everything) <= between
    assert between < min(weakest_split(matrix, half) for half in halves)
    assert weakest_split(matrix, everything[:4]) == 0


def test_the_tree_joins_what_holds_together():
    X, truth = blobs(200)
    tree = ModuleTree(KNN().build(X).homogeneous())
    member = tree.modules_at(0.2)
    assert len(np.unique(member)) == 4
    assert all(len(np.unique(member[truth == c])) == 1 for c in range(4))
    labels = some_labels(truth, 3)
    apart = labels.copy()
    apart[labels >= 0] = np.arange(np.sum(labels >= 0)) % 4  # classes across clusters
    within, between = tree.within_and_between(labels)
    assert within > 1 > between
    within, between = tree.within_and_between(apart)
    assert between > 1 > within
    groups = {group.tobytes() for group in tree.groups(20, 100)}
    assert all(np.flatnonzero(truth == c).tobytes() in groups for c in range(4))
    assert all(20 <= len(group) <= 100 for group in tree.groups(20, 100))
    assert np.isnan(tree.within_and_between(some_labels(truth, 1))[0])
    assert np.isnan(tree.within_and_between(np.where(labels == 0, 0, -1))[1])


# -- temperature, reduction, settings ------------------------------------------------------------


def test_the_transition_is_where_the_energy_rises_fastest():
    temperatures = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    assert transition(temperatures, np.array([0.0, 1.0, 2.0, 9.0, 10.0])) == pytest.approx(2**0.5)
    assert transition(temperatures, np.zeros(5)) == np.inf


def test_left_out_labels_move_the_calibrated_temperature():
    graph = KNN().build(load_iris().data).homogeneous()
    labels = some_labels(load_iris().target, 3)
    model = Modularity(resolution=0.25)(graph, labels, 3)
    scale = calibrated_scale(model)
    assert scale == pytest.approx(2 * graph.weights.sum() / 150 / 5)
    fitted = PottsClassifier(
        energy=Modularity(resolution=0.25),
        couplings="homogeneous",
        engine="belief_propagation",
        temperatures=scale * np.array([0.5, 1, 2]),
    )
    found = fitted.fit(load_iris().data, labels).equilibrium_
    assert calibrated_temperature(found, factor=1.0) == pytest.approx(scale)
    assert calibrated_temperature(found, factor=2.0) == pytest.approx(2 * scale)
    assert calibrated_temperature(found, factor=0.1) == pytest.approx(0.5 * scale)


@pytest.mark.parametrize(
    ("n", "d", "expected"), [(1797, 64, None), (150, 4, None), (57, 12582, 10), (2000, 784, 50)]
)
def test_components_where_features_outnumber_the_points(n, d, expected):
    assert components_for(n, d) == expected


def test_a_reduction_is_that_of_the_training_points():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 200)) + 5 * generator.integers(0, 2, (40, 1))
    kept = Reduction.of(X, 3)
    np.testing.assert_allclose(kept.apply(X).mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(kept.components @ kept.components.T, np.eye(3), atol=1e-9)
    assert checked_components(None, 40, 200) is None
    assert checked_components(500, 40, 200) is None
    with pytest.raises(InvalidInputError, match="not a number of components"):
        checked_components(0, 40, 200)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, "method='magic' is unknown"),
        ({"novelty": "some"}, "novelty='some' is unknown"),
        ({"label_noise": 0.7}, "not a share of wrong labels"),
        ({"label_noise": 0.1, "label_strength": 2.0}, "two ways"),
        ({"proportions": [0.5, 0.5], "energy": "min_cut"}, "give them to that"),
        ({"n_components": -3}, "not a number of components"),
    ],
)
def test_what_is_unknown_is_refused_at_once(settings, message):
    X, truth = blobs(40, centers=2)
    with pytest.raises(InvalidInputError, match=message):
        PottsClassifier(**settings).fit(X, some_labels(truth, 2))


def test_a_wrong_label_is_overruled_with_label_noise():
    X, truth = blobs(160, centers=2)
    labels = some_labels(truth, 5)
    wrong = int(np.flatnonzero(labels == 0)[0])
    labels[wrong] = 1
    held = PottsClassifier(novelty="off").fit(X, labels)
    soft = PottsClassifier(novelty="off", label_noise=0.1).fit(X, labels)
    assert held.transduction_[wrong] == 1
    assert soft.forced_labels_[wrong] == 0


def test_proportions_hold_classes_to_their_shares():
    generator = np.random.default_rng(1)
    X, labels = generator.normal(size=(300, 2)), np.full(300, -1)
    labels[np.argsort(X[:, 0])[[0, 1, 2]]], labels[np.argsort(X[:, 0])[[-1, -2, -3]]] = 0, 1
    fitted = PottsClassifier(proportions=[0.8, 0.2], novelty="off").fit(X, labels)
    assert np.mean(fitted.forced_labels_ == 0) == pytest.approx(0.8, abs=0.12)


# -- the answer ----------------------------------------------------------------------------------


def test_every_choice_is_said_with_its_reason():
    X, y = load_iris(return_X_y=True)
    fitted = PottsClassifier().fit(X, some_labels(y, 3))
    names = [choice.name for choice in fitted.choices_]
    assert {"graph", "couplings", "energy", "temperature", "engine"} <= set(names)
    assert all(choice.reason for choice in fitted.choices_)
    assert fitted.answer_.choices == tuple(map(str, fitted.choices_))
    named = PottsClassifier(graph="knn", couplings="weights").fit(X, some_labels(y, 3))
    assert not {"graph", "couplings"} & {choice.name for choice in named.choices_}


@pytest.mark.slow
def test_the_default_is_right_sure_and_calibrated_on_digits():
    X, y = load_digits(return_X_y=True)
    labels = some_labels(y, 10, seed=3)
    fitted = PottsClassifier(random_state=0).fit(X, labels)
    free = labels < 0
    p, right = fitted.label_distributions_[free], fitted.forced_labels_[free] == y[free]
    assert right.mean() > 0.95
    sure = p.max(axis=1)
    bins = np.minimum((10 * sure).astype(int), 9)
    gaps = [
        np.mean(bins == k) * abs(sure[bins == k].mean() - right[bins == k].mean())
        for k in np.unique(bins)
    ]
    assert sum(gaps) < 0.06


def test_the_papers_method_is_the_paper_throughout():
    X, y = load_iris(return_X_y=True)
    labels = some_labels(y, 3)
    paper = PottsClassifier(method="paper", random_state=0).fit(X, labels)
    by_hand = PottsClassifier(
        graph="mutual_knn",
        n_components=None,
        couplings="weights",
        energy="min_cut",
        temperature="paper",
        random_state=0,
    ).fit(X, labels)
    np.testing.assert_array_equal(paper.names_, by_hand.names_)
    assert paper.temperature_ == by_hand.temperature_
    assert paper.answer_.rule == "paper"


@pytest.mark.slow
def test_exact_averages_decide_on_a_lattice():
    """There groups have no density: the paper's rule finds the class that nobody labelled."""
    from spinlearn.datasets import three_waves

    toy = three_waves()
    labels = toy.draw_labels(10, classes=[0, 1], seed=0)
    fitted = PottsClassifier().fit(toy.graph(), labels)
    assert "paper" in [choice.value for choice in fitted.choices_ if choice.name == "method"]
    hidden = set(np.flatnonzero(toy.truth == 2))
    assert set(fitted.new_classes_["new:1"]) == hidden


EDGE = {
    "one label in all": (np.arange(30.0)[:, None], {3: 0}),
    "two points": (np.array([[0.0], [1.0]]), {0: 0}),
    "two labelled points": (np.array([[0.0], [1.0]]), {0: 0, 1: 1}),
    "identical points": (np.zeros((20, 2)), {0: 0, 1: 1}),
    "a class of one point": (np.concatenate([np.arange(20.0), [500.0]])[:, None], {0: 0, 20: 1}),
    "labels on every point": (np.arange(20.0)[:, None], {k: k // 10 for k in range(20)}),
}


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_odd_data_get_an_answer(name):
    X, given = EDGE[name]
    labels = np.full(len(X), -1)
    for point, label in given.items():
        labels[point] = label
    fitted = PottsClassifier().fit(X, labels)
    assert np.all(fitted.transduction_[labels >= 0] == labels[labels >= 0])
    p = fitted.label_distributions_
    assert np.all((p >= -1e-12) & (p <= 1 + 1e-12))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_graph_in_a_thousand_pieces():
    n = 3000
    edges = np.array([[k, k + 1] for k in range(n - 1) if k % 3 != 2])
    labels = np.full(n, -1)
    labels[[0, 3, 6, 9]] = [0, 1, 0, 1]
    fitted = PottsClassifier().fit(Graph(n, edges, np.ones(len(edges))), labels)
    assert fitted.transduction_[1] == 0
    assert fitted.transduction_[4] == 1
    assert not np.any(np.isin(fitted.status_[12:], ["confident", "labelled"]))
