"""The second opinion: a sampler that is right, a rule that is plain, an answer that keeps both."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from spinlearn import PottsClassifier
from spinlearn.answers import second_opinion as module
from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import STATUS_NAMES, Status
from spinlearn.answers.second_opinion import opinion_of, with_doubts
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.energies import modularity
from spinlearn.engines import Enumeration, label_walkers
from spinlearn.engines.label_walkers import laws_from_labels
from spinlearn.io.result import Result

# -- the sampler ---------------------------------------------------------------------------------


@pytest.mark.parametrize("resolution", [0.0, 0.8])
def test_long_walks_have_the_exact_marginals(monkeypatch, resolution):
    """With and without a class term."""
    g = np.random.default_rng(0)
    edges = [(i, j) for i in range(8) for j in range(i) if g.random() < 0.5 or j == i - 1]
    graph = Graph(8, edges, g.uniform(0.3, 1.5, len(edges)))
    y = np.array([0, -1, -1, 1, -1, -1, 2, -1])
    model = modularity(graph, y, 3, resolution=resolution)
    exact = Enumeration().run(model, [1.2]).marginals[0]
    for name, value in (("WALKERS", 64), ("FEWEST", 4000), ("SWEEPS", 4000)):
        monkeypatch.setattr(label_walkers, name, value)
    laws = laws_from_labels(model, y.astype(np.int32), np.zeros(8, np.int8), 1.2, 0)
    error = laws.std(axis=0, ddof=1) / 8
    assert np.all(np.abs(laws.mean(axis=0) - exact) <= 5 * error + 1e-9)
    assert error.max() < 0.005
    np.testing.assert_allclose(laws.sum(axis=2), 1.0)


def test_walks_start_where_labels_lead():
    """On a chain the nearer label comes first, on average; a part without one stays as it was."""
    n = 41
    edges = [(i, i + 1) for i in range(n - 1)] + [(n, n + 1)]
    y = np.full(n + 2, -1)
    y[[0, n - 1]] = [0, 1]
    model = PottsModel(Graph(n + 2, edges), 2, clamped=y)
    random = np.random.default_rng(0)
    start = np.ones(n + 2, dtype=np.int8)
    states = np.concatenate([label_walkers._spread(model, y, start, random) for _ in range(50)])
    share = states[:, :n].mean(axis=0)
    assert np.all(np.diff(share) >= 0)  # every walker has one border
    assert share[10] < 0.05
    assert 0.4 < share[20] < 0.6
    assert share[30] > 0.95
    assert np.all(states[:, n:] == 1)


def test_the_work_is_bounded(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "spinlearn.kernels.sampled_laws.sampled_laws", lambda *a: asked.append(a[-3] + a[-2])
    )
    for n in (100, 2000, 5000):
        edges = [(i, (i + k) % n) for i in range(n) for k in range(1, 8)]
        y = np.full(n, -1)
        y[:10] = np.arange(10)
        model = PottsModel(Graph(n, edges), 10, clamped=y)
        laws_from_labels(model, y, np.zeros(n, np.int8), 1.0, 0)
    assert asked[0] == label_walkers.SWEEPS
    assert label_walkers.FEWEST <= asked[2] < asked[1] <= asked[0]


# -- the rule ------------------------------------------------------------------------------------


def hand_made(outcomes, status, n_classes=2):
    return Profile(
        temperatures=np.array([1.0]),
        outcomes=np.array([outcomes], dtype=np.int32),
        status=np.array([status], dtype=np.int8),
        margin=np.zeros((1, len(outcomes))),
        n_classes=n_classes,
        confused_sets=(),
    )


def walkers(states, q):
    """Laws of walkers that are sure of their states (R, n)."""
    return np.eye(q)[np.array(states)]


def test_points_that_most_walkers_call_otherwise_are_undecided():
    # State 2 is held by point 6: the new class of outcome 2.
    clamped = [0, -1, -1, -1, -1, -1, 2]
    model = PottsModel(Graph(7, []), 3, clamped=clamped)
    outcomes = [0, 0, 0, 1, 2, 0, 2]
    s = Status
    status = [s.LABELLED, s.CONFIDENT, s.CONFIDENT, s.GROWN, s.NEW, s.CONFIDENT, s.NEW]
    found = hand_made(outcomes, status)
    laws = walkers(
        [
            [0, 1, 0, 2, 1, 1, 2],
            [0, 1, 1, 2, 1, 2, 2],
            [0, 1, 0, 2, 1, 0, 2],
            [0, 0, 1, 1, 2, 0, 2],
        ],
        3,
    )
    second = opinion_of(model, found, 0, laws)
    assert second.says.tolist() == [-1, 1, -1, 2, 1, -1, -1]
    np.testing.assert_allclose(second.against, [0, 0.75, 0.5, 0.75, 0.75, 0.5, 0])
    doubted = with_doubts(found, 0, model, second)
    assert [doubted.decision(0).candidates(i) for i in (1, 3, 4)] == [(0, 1), (1,), (1,)]
    kept = [0, 2, 5, 6]
    assert doubted.outcomes[0, kept].tolist() == [0, 0, 0, 2]
    assert [STATUS_NAMES[k] for k in doubted.status[0, [1, 3, 4]]] == ["confused"] * 3
    assert found.outcomes[0].tolist() == outcomes  # a copy


def test_two_new_classes_are_no_disagreement():
    model = PottsModel(Graph(4, []), 4, clamped=[0, 2, 3, -1])
    found = hand_made([0, 2, 3, 2], [0, 4, 4, 4])
    second = opinion_of(model, found, 0, walkers([[0, 2, 3, 3]] * 3, 4))
    assert second.n_disagree == 0


def test_groups_without_a_state_and_undecided_points_have_nothing_to_compare():
    model = PottsModel(Graph(4, []), 2, clamped=[0, 1, -1, -1])
    found = hand_made([0, 1, 2, -1], [0, 0, 4, 3])
    second = opinion_of(model, found, 0, walkers([[0, 1, 1, 1]] * 3, 2))
    assert second.n_disagree == 0
    assert not np.any(second.against)


# -- the answer ----------------------------------------------------------------------------------


def labelled(truth, per_class, seed):
    g = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[g.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    return y


def cancer(seed, **settings):
    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = np.array(["bad", "good", ""])[labelled(data.target, 3, seed)]
    return PottsClassifier(method="messages", random_state=0, **settings).fit(X, y), data.target


@pytest.fixture(scope="module")
def fitted():
    return cancer(0)[0]


@pytest.mark.slow
def test_undecided_points_say_why(fitted):
    answer = fitted.answer_
    reasons = answer.reasons
    assert len(reasons) == answer.second_opinion.n_disagree > 0
    assert set(reasons.values()) <= {"sampling says bad", "sampling says good"}
    assert all(answer.status[i] == "confused" and answer.confidence[i] == 0 for i in reasons)
    assert {answer.names[i] for i in reasons} == {"confused:bad|good"}
    rows = list(csv.DictReader(io.StringIO(answer.table(range(569)).csv())))
    assert {i: r["reason"] for i, r in enumerate(rows) if r["reason"]} == reasons
    assert any(f"disagrees on {len(reasons)} points" in note for note in answer.notes())


def test_errors_of_an_approximation_are_unknown_not_zero(fitted):
    rows = list(csv.DictReader(io.StringIO(fitted.answer_.table(range(569)).csv())))
    assert {r["se:bad"] for r in rows} == {""}


def test_the_same_seed_gives_the_same_opinion(fitted):
    answer = fitted.answer_
    plain = answer.from_equilibrium(
        answer.equilibrium,
        fitted._label_code,
        temperature=answer.temperature,
        new_groups=answer.new_groups,
    )
    assert plain.second_opinion is None
    for seed in (0, None):
        other = plain.checked(seed)
        np.testing.assert_array_equal(other.second_opinion.says, answer.second_opinion.says)
        np.testing.assert_array_equal(other.names, answer.names)
    assert np.any(plain.checked(1).second_opinion.marginals != answer.second_opinion.marginals)


def test_it_is_stored(fitted, tmp_path):
    result = Result.of(fitted, [f"p{i}" for i in range(569)])
    result.save(tmp_path / "model.npz")
    again = Result.load(tmp_path / "model.npz")
    assert again.reasons == result.reasons
    assert again.table(again.ids).csv() == result.table(result.ids).csv()
    np.testing.assert_allclose(
        again.second_opinion.marginals, result.second_opinion.marginals, atol=1e-6
    )


def test_it_belongs_to_its_temperature(fitted):
    answer = fitted.answer_
    elsewhere = answer.at(float(answer.temperatures[0]))
    assert elsewhere.reasons == {}
    assert elsewhere.at(answer.temperature).reasons == answer.reasons
    anew = answer.on(answer.temperatures)
    assert anew.temperature == answer.temperature
    assert anew.reasons == answer.reasons
    np.testing.assert_array_equal(anew.names, answer.names)


@pytest.mark.slow
def test_disagreement_is_a_warning_worth_having():
    """Calls on which the two disagree are wrong far more often than the others."""
    right, wrong = np.zeros(2), np.zeros(2)
    for seed in range(6):
        model, truth = cancer(seed)
        answer = model.answer_
        differs = answer.second_opinion.says >= 0
        called = np.argmax(answer.probabilities, axis=1)
        free = answer.labels < 0
        for k, mask in enumerate((differs, free & ~differs)):
            right[k] += np.sum(called[mask] == truth[mask])
            wrong[k] += np.sum(called[mask] != truth[mask])
    share = right / (right + wrong)
    assert right[0] + wrong[0] > 10
    assert share[0] < 0.5 < 0.85 < share[1]


@pytest.mark.slow
def test_it_is_asked_for_only_where_it_helps(fitted, monkeypatch):
    X, truth = load_iris(return_X_y=True)
    y = labelled(truth, 3, 0)
    exact = PottsClassifier(method="paper", engine="junction_tree", random_state=0).fit(X, y)
    assert exact.answer_.second_opinion is None
    cold = PottsClassifier(
        method="paper", engine="belief_propagation", temperatures=[0.0, 0.2], temperature=0.0
    ).fit(X, y)
    assert cold.answer_.second_opinion is None
    assert cold.answer_.at(0.2).checked().second_opinion is not None
    nothing = PottsClassifier(method="messages").fit(X, np.full(150, -1))
    assert nothing.answer_.second_opinion is None
    monkeypatch.setattr(module, "MOST_POINTS", 500)
    assert cancer(0)[0].answer_.second_opinion is None
