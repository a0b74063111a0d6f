"""Choices made for the user: evidence, resolution, walks, new classes, temperature."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.ensemble import RandomForestClassifier

from spinlearn import KNN, Graph, PottsClassifier, Result, TemperatureRule, constants
from spinlearn.answers.temperature import calibrated_temperature, temperature_scale, transition
from spinlearn.datasets import three_waves
from spinlearn.default import new_classes
from spinlearn.default.average import PhaseModels, cavity_laws, label_groups, learnt
from spinlearn.default.features import Features
from spinlearn.default.forest import Forest
from spinlearn.default.new_classes import OFFSET, THETA
from spinlearn.default.walks import walk_fields, walk_law
from spinlearn.energies import MinCut, Modularity
from spinlearn.engines import JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.graphs.points import Reduction, checked_components
from spinlearn.minimizers.modules import ModuleTree
from tests.conftest import grid_graph, grids, labels_at, some_labels
from tests.energy_models import dense
from tests.unit.test_unseen import expected_calibration_error


def blobs(n: int = 200, centers: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    corners = 9.0 * np.array([[i % 2, i // 2] for i in range(centers)])
    return make_blobs(n, centers=corners, random_state=seed)


# -- messages and evidence -----------------------------------------------------------------------


def test_the_cavity_is_exact_on_a_tree():
    """Taking a label's own pull off its neighbours gives the law without that label."""
    chain, labels = grid_graph(1, 7), np.array([0, -1, -1, 1, -1, -1, 0])
    model, temperature = MinCut()(chain, labels, 2), 0.8
    marginals = JunctionTree().run(model, [temperature]).marginals[0]
    found = cavity_laws(model, marginals, temperature)
    for point in np.flatnonzero(labels >= 0):
        others = labels.copy()
        others[point] = -1
        without = JunctionTree().run(MinCut()(chain, others, 2), [temperature]).marginals[0]
        np.testing.assert_allclose(found[point], without[point], atol=1e-9)


def walked(graph, labels, temperature):
    """The minimum cut with the fields of walks from the labels."""
    model = MinCut()(graph, labels, 2)
    return model.replace(fields=model.fields + walk_fields(graph, labels, 2, temperature))


def mixed_laws(graph, labels, temperature, features):
    """Phase at each temperature, walk and features for these labels, by exact or direct means."""
    ladder = [factor * temperature for factor in constants.FACTORS]
    phases = JunctionTree().run(walked(graph, labels, temperature), ladder).marginals
    everywhere = slice(None)
    return [*phases, walk_law(graph, labels, 2), features.law(labels, 2, everywhere)]


def test_the_average_is_the_posterior_mean_over_temperatures_and_shares():
    """On a tree, against the sum in the module's docstring, term by term."""
    labels = np.array([0, -1, 0, -1, -1, 1, -1, 1])
    graph, temperature = grid_graph(1, 8), 0.7
    features = Features.of(np.random.default_rng(0).normal(size=(8, 2)))
    models = PhaseModels(graph, 2, temperature)
    found = learnt(models, labels, features=features, resolutions=(0.0,))
    likely = {}
    for t in range(len(constants.FACTORS)):
        for g in np.ndindex(6, 6, 6):
            if sum(g) <= 5:
                likely[t, (5 - sum(g)) / 5, g[0] / 5, g[1] / 5, g[2] / 5] = 0.0
    for group in label_groups(labels):
        others = labels.copy()
        others[group] = -1
        laws = mixed_laws(graph, others, temperature, features)
        for t, *shares in likely:
            p = np.tensordot(shares, [laws[t], laws[-2], laws[-1], np.full((8, 2), 0.5)], axes=1)
            likely[t, *shares] += np.log(np.maximum(p[group, labels[group]], constants.LEAST)).sum()
    evidence = np.logaddexp.reduce(list(likely.values())) - np.log(len(likely))
    model = walked(graph, labels, temperature)
    given = np.flatnonzero(labels >= 0)
    for t, factor in enumerate(constants.FACTORS):
        T = factor * temperature
        cavity = cavity_laws(model, JunctionTree().run(model, [T]).marginals[0], T)
        added = np.log(np.maximum(cavity[given, labels[given]], constants.LEAST)).sum()
        for key in likely:
            likely[key] += added * (key[0] == t)
    keys = np.array(list(likely))
    scores = np.array(list(likely.values())) - keys[:, 4] / constants.SHARE_STEP
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    assert found.n_judged == 4
    assert found.log_evidence == pytest.approx(evidence, abs=1e-2)
    assert found.walk == pytest.approx(weights @ keys[:, 2], abs=2e-3)
    assert found.features == pytest.approx(weights @ keys[:, 3], abs=2e-3)
    assert found.guessing == pytest.approx(weights @ keys[:, 4], abs=2e-3)
    for t in range(len(constants.FACTORS)):
        expected = (weights * (keys[:, 0] == t)) @ keys[:, 1]
        assert found.phase[0, t] == pytest.approx(expected, abs=2e-3)


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


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_the_average_follows_the_classes():
    """Classes of 90 and 10 % must not be evened out."""
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1], [270, 30])
    X = np.where(truth[:, None] == 0, 0.0, 7.0) + generator.normal(size=(300, 2))
    fitted = PottsClassifier().fit(X, some_labels(truth, 4))
    assert np.mean(fitted.transduction_ == truth) > 0.98
    share, its_error = fitted.class_shares_[1]
    assert abs(share - 0.1) < 0.02 + 2 * its_error


@pytest.mark.parametrize("seed", range(3))
def test_permuting_points_and_classes_permutes_the_default(seed):
    X, truth = make_blobs(150, centers=3, cluster_std=3.0, n_features=4, random_state=seed)
    labels = some_labels(truth, 3)
    generator = np.random.default_rng(seed)
    names, order = generator.permutation(3), np.arange(len(X))
    free = np.flatnonzero(labels < 0)  # labelled points stay: they are dealt out in their order
    order[free] = generator.permutation(free)
    plain = PottsClassifier(novelty=0).fit(X, labels)
    renamed = np.where(labels >= 0, names[labels], -1)[order]
    moved = PottsClassifier(novelty=0).fit(X[order], renamed)
    p = plain.label_distributions_[order]
    np.testing.assert_allclose(moved.label_distributions_[:, names], p, atol=5e-3)
    same = moved.transduction_ == names[plain.transduction_[order]]
    assert np.all(same | (np.ptp(np.sort(p, axis=1)[:, -2:], axis=1) < 0.01))


def test_features_speak_where_the_graph_is_silent_and_are_silent_where_it_speaks():
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    line = generator.normal(size=(200, 4)) * [0.3, 3, 3, 3]  # the telling feature is the shortest
    line[:, 0] += np.where(truth == 0, -0.6, 0.6)
    labels = some_labels(truth, 10)
    told = PottsClassifier(novelty=0).fit(line, labels)
    untold = PottsClassifier(novelty=0, features="off").fit(line, labels)
    free = labels < 0
    assert told.answer_.law.shares[2] > 0.8
    assert untold.answer_.law.shares[2] == 0
    right = [np.mean(f.transduction_[free] == truth[free]) for f in (told, untold)]
    assert right[0] > 0.9 > 0.7 > right[1]
    angle = generator.uniform(0, 2 * np.pi, 300)
    ring = np.repeat([0, 1], 150)
    X = (1 + 2 * ring)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    rings = PottsClassifier(novelty=0).fit(X, some_labels(ring, 10))
    assert rings.answer_.law.shares[2] < 0.1
    assert np.all(rings.transduction_ == ring)


def test_features_of_the_users_own():
    X, truth = make_blobs(120, centers=2, cluster_std=6.0, n_features=5, random_state=3)
    labels = some_labels(truth, 6)
    known = np.eye(2)[truth] * 0.98 + 0.01
    given = PottsClassifier(features=known, novelty=0).fit(X, labels)
    assert np.mean(given.transduction_ == truth) == 1.0
    trees = RandomForestClassifier(30, random_state=0)
    fitted = PottsClassifier(features=trees, novelty=0).fit(X, labels)
    assert fitted.answer_.law.shares[2] > 0
    assert fitted.predict_proba(X[:7]).shape == (7, 2)
    assert not hasattr(trees, "classes_")  # a copy was fitted
    graph = KNN().build(X)
    plain = PottsClassifier().fit(graph, labels)
    assert plain.answer_.law.shares[2] == 0
    with pytest.raises(InvalidInputError, match="only a graph was given"):
        PottsClassifier(features=trees).fit(graph, labels)
    for wrong in (known[:-1], known * 2, "some", 3):
        with pytest.raises(InvalidInputError, match="features="):
            PottsClassifier(features=wrong).fit(X, labels)


@pytest.mark.parametrize("method", ["auto", "paper", "messages"])
def test_one_law(method):
    """Rows sum to one, the call is the most probable, confidence its probability, whatever else."""
    X, truth = make_blobs(120, centers=4, cluster_std=2.5, random_state=1)
    fitted = PottsClassifier(method=method, random_state=0).fit(X, some_labels(truth, 3, hidden=3))
    p, beyond = fitted.label_distributions_, fitted.new_probability_
    np.testing.assert_allclose(p.sum(axis=1) + beyond, 1.0, atol=1e-9)
    named = fitted.transduction_ >= 0
    if fitted.answer_.law is None:
        named &= fitted.status_ == "confident"
    chosen = fitted.transduction_[named]
    np.testing.assert_array_equal(chosen, p[named].argmax(axis=1))
    np.testing.assert_allclose(fitted.confidence_[named], p[named].max(axis=1), atol=1e-12)
    mean, error = fitted.expected_accuracy_
    free = np.flatnonzero(some_labels(truth, 3, hidden=3) < 0)
    assert mean == pytest.approx(fitted.confidence_[free].mean())
    assert 0 < error < 0.5
    if fitted.answer_.law is not None:
        sure, status = fitted.confidence_, fitted.status_
        assert np.all(sure[status == "confident"] >= 0.8)
        assert np.all(sure[status == "grown"] < 0.8)
        two = np.sort(fitted.answer_.law.probabilities, axis=1)[:, -2:]
        confused = status == "confused"
        assert np.all(np.ptp(two[confused], axis=1) <= 0.1 + 1e-9)


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_parts_without_labels_and_one_class_get_an_honest_answer(tmp_path):
    parts = Graph(8, [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6)])
    for graph in (parts, Graph(8, np.empty((0, 2), dtype=int))):
        fitted = PottsClassifier().fit(graph, [0, -1, 1, *[-1] * 5])
        assert fitted.status_[7] == "outlier"
        assert np.ptp(fitted.label_distributions_[7]) < 1e-6  # no label says anything of it
        Result.of(fitted, [f"p{k}" for k in range(8)]).save(tmp_path / "model.npz")
        stored = Result.load(tmp_path / "model.npz")
        assert stored.names.tolist() == fitted.names_.tolist()
    single = PottsClassifier().fit(np.arange(30.0)[:, None], [0] + [-1] * 29)
    assert "all labels are of one class" in single.answer_.notes()[0]


def test_labels_without_meaning_are_told_in_the_first_line():
    X, truth = blobs(200)
    good = PottsClassifier().fit(X, some_labels(truth, 5))
    assert good.answer_.notes()[0].startswith("about ")
    told = []
    for seed in range(5):
        labels = some_labels(truth, 5, seed)
        given = np.flatnonzero(labels >= 0)
        labels[given] = np.random.default_rng(seed).permutation(labels[given])
        notes = PottsClassifier(novelty=0).fit(X, labels).answer_.notes()
        told.append("no better than by guessing" in notes[0])
    assert sum(told) >= 4


def test_the_seed_reaches_everything_random(monkeypatch):
    seeds = []
    plan = sys.modules["spinlearn.default.plan"]  # the package has a function of that name
    grown = plan.Forest
    monkeypatch.setattr(plan, "Forest", lambda g, seed, check: seeds.append(seed) or grown(g, seed))
    X, truth = blobs(60)
    for seed in (None, 0, 1, 1):
        PottsClassifier(random_state=seed).fit(X, some_labels(truth, 2))
    assert seeds[0] == 0
    assert seeds[1] != seeds[2] == seeds[3]


# -- walks ---------------------------------------------------------------------------------------


def arriving(graph, labels, steps):
    """r_ic of the module's docstring by a dense solution."""
    weights = dense(graph)
    roots = np.sqrt(weights.sum(axis=1))
    step = (1 - 1 / steps) * weights / np.outer(roots, roots)
    free = labels < 0
    ends = (labels[~free][:, None] == [0, 1]).astype(float)
    visits = np.linalg.solve(np.eye(free.sum()) - step[np.ix_(free, free)],
                             step[np.ix_(free, ~free)] @ ends)  # fmt: skip
    sent = visits.mean(axis=0)
    doubt = constants.DOUBT / (constants.DOUBT + np.bincount(labels[~free]) - 1)
    return visits / (sent**doubt * sent.mean() ** (1 - doubt))


@pytest.mark.parametrize("n_labels", [1, 4])
def test_walks_end_at_labels_and_the_fewer_there_are_the_less_their_number_says(n_labels):
    generator = np.random.default_rng(n_labels)
    graph = KNN(n_neighbors=4).build(generator.normal(size=(40, 2)))
    known = np.repeat([0, 1, 1], n_labels)  # one class has twice as many
    labels = labels_at(dict(enumerate(known)), 40)
    free = labels < 0
    share = arriving(graph, labels, constants.REACH * np.sqrt(40)) + constants.FAINT
    expected = -1.5 * np.log(share / share.sum(axis=1, keepdims=True))
    fields = walk_fields(graph, labels, 2, 1.5)
    np.testing.assert_allclose(fields[free], expected, atol=1e-4)
    np.testing.assert_array_equal(fields[~free], 0.0)
    power = arriving(graph, labels, 1e4) ** constants.SHARPNESS
    law = walk_law(graph, labels, 2)
    expected = power / power.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(law[free], expected, atol=5e-3)
    np.testing.assert_array_equal(law[~free].argmax(axis=1), labels[~free])


def test_walks_say_nothing_where_none_comes_by():
    graph, labels = Graph(5, [(0, 1), (1, 2), (3, 4)]), np.array([0, -1, 1, -1, -1])
    np.testing.assert_allclose(walk_law(graph, labels, 2)[3:], 0.5)
    np.testing.assert_allclose(np.ptp(walk_fields(graph, labels, 2, 1.0)[3:], axis=1), 0.0)


# -- new classes ---------------------------------------------------------------------------------


def every_colouring(one, v, pure, split):
    """All ways to make pieces of a group: their weights and what the pieces are."""
    found = [(pure[v] * (1 - split.get(v, 0.0)), (v,))]
    if v in split:
        left, right = one.tree.children[v - one.tree.n_modules]
        found += [
            (split[v] * a * b, (*p, *q))
            for a, p in every_colouring(one, left, pure, split)
            for b, q in every_colouring(one, right, pure, split)
        ]
    return found


def test_the_sum_over_the_tree_is_that_of_all_colourings():
    X, truth = blobs(36, centers=3)
    graph = KNN(n_neighbors=5).build(X).homogeneous()
    labels = some_labels(truth, 2, hidden=2)
    one = Forest(graph).trees[0]
    law = np.full((36, 2), 0.5)
    held = np.flatnonzero(labels >= 0)
    seen = new_classes._Seen(held, labels[held], law, 0.3, [])
    log_pure, share = new_classes._pure(one, seen)
    k = one.tree.n_modules
    size = one.sizes[k:] * 2 / 36
    weakness = one.usual(2, 2, new_classes.N_USUAL) - one.log_kappa
    logit = constants.SPLIT + constants.PER_WEAKNESS * weakness + constants.PER_SIZE * np.log(size)
    total, expected = np.zeros(len(THETA)), np.zeros((len(one.sizes), len(THETA)))
    for g, (theta, offset) in enumerate(zip(THETA, OFFSET, strict=True)):
        split = {k + i: 1 / (1 + np.exp(-x - offset)) for i, x in enumerate(logit)}
        for weight, pieces in every_colouring(
            one, len(one.sizes) - 1, np.exp(log_pure[:, g]), split
        ):
            weight *= theta * np.exp(-(offset**2) / 2)
            total[g] += weight
            for v in pieces:
                expected[v, g] += weight * share[v, g]
    found = new_classes._new_pieces(one, seen)
    np.testing.assert_allclose(found, expected.sum(axis=1) / total.sum(), atol=1e-12)


def test_labels_that_could_not_have_missed_a_group_make_it_new():
    """One, three, ten labels of the class beside it: the chance to have missed it falls."""
    X, truth = blobs(240)
    graph = KNN().build(X).homogeneous()
    law = (truth[:, None] == [0, 1, 2]).astype(float)
    law[truth == 3, 2] = 1.0
    forest, seen = Forest(graph), []
    for per_class in (1, 3, 10):
        labels = some_labels(truth, per_class, hidden=3)
        seen.append(new_classes.new_classes(forest, labels, law, 0.3).probability[truth == 3])
    means = [p.mean() for p in seen]
    assert means == sorted(means)
    assert np.all(seen[2] > 0.95)


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_hidden_groups_are_found_and_nothing_else():
    X, truth = blobs(360, centers=6)
    fitted = PottsClassifier().fit(X, np.where(truth < 2, some_labels(truth, 4), -1))
    groups = {tuple(points) for points in fitted.new_classes_.values()}
    assert groups == {tuple(np.flatnonzero(truth == c)) for c in (2, 3, 4, 5)}
    assert np.all(fitted.transduction_[truth == 0] == 0)
    X, truth = blobs(240)
    for hidden in range(4):
        fitted = PottsClassifier().fit(X, some_labels(truth, 3, hidden=hidden))
        (points,) = fitted.new_classes_.values()
        assert set(points) == set(np.flatnonzero(truth == hidden))
        assert set(fitted.proposals_[0].points) == set(points)
        assert np.all(truth[fitted.proposals_[0].typical] == hidden)
    whole = PottsClassifier().fit(X, some_labels(truth, 3))
    assert whole.new_classes_ == {}
    never = PottsClassifier(novelty=0).fit(X, some_labels(truth, 3, hidden=3))
    assert never.new_classes_ == {}
    assert never.proposals_ == ()
    np.testing.assert_allclose(never.new_probability_, 0.0, atol=1e-12)


@pytest.mark.parametrize("per_class", [1, 5])
def test_the_word_of_the_user_settles_a_proposal(per_class):
    X, truth = make_blobs(300, centers=[[0, 0], [9, 0], [5, 4]], random_state=1)
    labels = np.where(some_labels(truth, per_class, hidden=2) < 0, "", truth.astype(str))
    fitted = PottsClassifier().fit(X, labels)
    first = fitted.proposals_[0]
    assert np.mean(truth[first.points] == 2) > 0.9
    refused = PottsClassifier().fit(X, labels).reject("new:1")
    shared = [
        len(np.intersect1d(p.points, first.points)) / len(np.union1d(p.points, first.points))
        for p in refused.proposals_
    ]
    assert max(shared, default=0.0) < 0.5
    assert refused.classes_.tolist() == ["0", "1"]
    assert set(refused.names_[first.points]) <= {"0", "1"}
    taken = fitted.accept("new:1", "third")
    assert taken.classes_.tolist() == ["0", "1", "third"]
    assert np.mean(taken.names_[truth == 2] == "third") > 0.95
    (word,) = taken.words_
    assert (word.do, word.group, word.name) == ("accept", "new:1", "third")
    # Replayed on the same data, it is the same answer.
    given = np.array(labels, dtype=object)
    given[word.labelled] = "third"
    again = PottsClassifier().fit(X, labels).relabel(given, words=taken.words_)
    np.testing.assert_array_equal(again.label_distributions_, taken.label_distributions_)
    with pytest.raises(InvalidInputError, match="'new:77' is not proposed as a class"):
        taken.accept("new:77", "x")
    with pytest.raises(InvalidInputError, match="how spinlearn names new classes"):
        PottsClassifier().fit(X, labels).accept("new:1", "new:3")


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_a_proposal_tells_by_which_features_it_differs():
    generator = np.random.default_rng(0)
    X, truth = generator.normal(size=(240, 3)), np.repeat([0, 1, 2], 80)
    X[truth == 1, 0] += 9.0
    X[truth == 2, 1] += 9.0
    frame = pd.DataFrame(X, columns=["width", "height", "noise"])
    fitted = PottsClassifier().fit(frame, some_labels(truth, 4, hidden=2))
    first = fitted.proposals_[0]
    own, beside = truth[first.points[0]], int(first.beside)
    assert own == 2
    gap = X[first.points].mean(axis=0) - X[(truth == beside)].mean(axis=0)
    expected = dict(zip(frame.columns, gap / X.std(axis=0), strict=True))
    assert first.features[0][0] in ("height", "width")
    assert first.n_features == 3
    for name, value in first.features:
        assert value == pytest.approx(expected[name], abs=0.05)
    assert first.name in first.text()
    assert f"part of {beside}" not in first.text()


def test_a_long_band_is_no_new_class():
    """It falls apart anywhere as easily, though labels are far from each other."""
    generator = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0, 100, 400), generator.normal(0, 0.5, 400)])
    fitted = PottsClassifier().fit(X, labels_at({5: 0, 90: 0, 180: 0, 220: 1, 300: 1, 390: 1}, 400))
    assert sum(map(len, fitted.new_classes_.values())) < 20


def test_the_tree_joins_what_holds_together():
    X, truth = blobs(200)
    tree = ModuleTree(KNN().build(X).homogeneous())
    found = [np.sort(nodes) for nodes in tree.modules_at(0.2)]
    assert sorted(truth[nodes[0]] for nodes in found) == [0, 1, 2, 3]
    for nodes in found:
        np.testing.assert_array_equal(nodes, np.flatnonzero(truth == truth[nodes[0]]))
    for step, (left, right) in enumerate(tree.children):
        joined = np.concatenate([tree.group(left), tree.group(right)])
        np.testing.assert_array_equal(tree.group(tree.n_modules + step), joined)
    groups = {group.tobytes() for group in tree.groups(20, 100)}
    assert all(np.flatnonzero(truth == c).tobytes() in groups for c in range(4))
    assert all(20 <= len(group) <= 100 for group in tree.groups(20, 100))


# -- temperature, reduction, settings ------------------------------------------------------------


def test_the_transition_is_where_the_energy_rises_fastest():
    temperatures = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    assert transition(temperatures, np.array([0.0, 1.0, 2.0, 9.0, 10.0])) == pytest.approx(2**0.5)
    assert transition(temperatures, np.zeros(5)) == np.inf


def test_the_calibrated_temperature_is_below_the_scale_and_the_transition():
    graph = KNN().build(load_iris().data).homogeneous()
    labels = some_labels(load_iris().target, 3)
    scale = temperature_scale(graph)
    assert scale == pytest.approx(2 * graph.weights.sum() / 150 / 5)
    fitted = PottsClassifier(
        energy=Modularity(resolution=0.25, couplings="homogeneous"),
        engine="belief_propagation",
        temperature=TemperatureRule(grid=scale * np.array([0.25, 0.5, 1, 2, 4])),
    )
    found = fitted.fit(load_iris().data, labels).equilibrium_
    highest = min(scale, transition(found.temperatures, found.mean_energy))
    chosen = calibrated_temperature(found)
    assert chosen <= highest * (1 + 1e-9)
    assert not np.any((found.temperatures > chosen) & (found.temperatures <= highest))


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [(1797, 50, None), (1797, 64, 50), (150, 4, None), (57, 12582, 10), (200, 784, 33)],
)
def test_components_where_features_outnumber_the_points(n, d, expected):
    assert checked_components("auto", n, d) == expected


def test_a_reduction_is_that_of_the_training_points():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 200)) + 5 * generator.integers(0, 2, (40, 1))
    kept = Reduction.of(X, 3)
    np.testing.assert_allclose(kept.apply(X).mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(kept.components @ kept.components.T, np.eye(3), atol=1e-9)
    assert checked_components(None, 40, 200) is checked_components(500, 40, 200) is None
    with pytest.raises(InvalidInputError, match="not a number of components"):
        checked_components(0, 40, 200)


def test_proportions_hold_classes_to_their_shares():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(300, 2))
    order = np.argsort(X[:, 0])
    labels = labels_at(dict.fromkeys(order[:3], 0) | dict.fromkeys(order[-3:], 1), 300)
    fitted = PottsClassifier(proportions=[0.8, 0.2], novelty=0).fit(X, labels)
    assert np.mean(fitted.forced_labels_ == 0) == pytest.approx(0.8, abs=0.12)


# -- the answer ----------------------------------------------------------------------------------


def test_every_choice_is_said_with_its_reason():
    X, y = load_iris(return_X_y=True)
    fitted = PottsClassifier().fit(X, some_labels(y, 3))
    names = [choice.name for choice in fitted.choices_]
    assert {"graph", "couplings", "energy", "engine"} <= set(names)
    assert all(choice.reason for choice in fitted.choices_)
    assert fitted.answer_.choices == tuple(map(str, fitted.choices_))
    named = PottsClassifier(graph="knn", engine="belief_propagation").fit(X, some_labels(y, 3))
    assert not {"graph", "engine"} & {choice.name for choice in named.choices_}


@pytest.mark.slow
def test_the_default_is_right_sure_and_calibrated_on_digits():
    X, y = load_digits(return_X_y=True)
    labels = some_labels(y, 10, seed=3)
    fitted = PottsClassifier(random_state=0).fit(X, labels)
    free = labels < 0
    p, right = fitted.label_distributions_[free], fitted.forced_labels_[free] == y[free]
    assert right.mean() > 0.95
    assert expected_calibration_error(p, y[free]) < 0.06


@pytest.mark.slow
def test_exact_averages_decide_on_a_lattice():
    """There groups have no density: the paper's rule finds the class that nobody labelled."""
    toy = three_waves()
    labels = toy.draw_labels(10, classes=[0, 1], seed=0)
    fitted = PottsClassifier().fit(toy.graph(), labels)
    assert "paper" in [choice.value for choice in fitted.choices_ if choice.name == "method"]
    assert set(fitted.new_classes_["new:1"]) == set(np.flatnonzero(toy.truth == 2))


EDGE = {
    "one label in all": (np.arange(30.0)[:, None], {3: 0}),
    "identical points": (np.zeros((20, 2)), {0: 0, 1: 1}),
    "a class of one point": (np.concatenate([np.arange(20.0), [500.0]])[:, None], {0: 0, 20: 1}),
}


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_odd_data_get_an_answer(name):
    X, given = EDGE[name]
    labels = labels_at(given, len(X))
    fitted = PottsClassifier().fit(X, labels)
    assert np.all(fitted.transduction_[labels >= 0] == labels[labels >= 0])
    p = fitted.label_distributions_
    assert np.all((p >= -1e-12) & (p <= 1 + 1e-12))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_graph_in_a_thousand_pieces():
    fitted = PottsClassifier().fit(grids(1000, 1, 3), labels_at({0: 0, 3: 1, 6: 0, 9: 1}, 3000))
    assert fitted.transduction_[1] == 0
    assert fitted.transduction_[4] == 1
    assert not np.any(np.isin(fitted.status_[12:], ["confident", "labelled"]))
