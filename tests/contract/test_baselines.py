"""What every method of BASELINES owes its callers: the same input and output as PottsClassifier."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, ClusterMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from spinlearn import KNN, Graph, MutualKNN
from spinlearn.baselines import BASELINES
from spinlearn.errors import GraphWarning, InvalidInputError
from spinlearn.graphs import Radius
from spinlearn.linear import weight_matrix
from tests.unit.test_estimator_bad_input import (
    BAD_POINTS,
    CHAIN,
    CHAIN_LABELS,
    FAR,
    SIZE,
    TEXT,
    TRUTH,
    X,
    Y,
    blobs,
)

QUICK = {"spc": {"temperatures": np.geomspace(0.02, 1, 8), "random_state": 0}}
CLASSIFIERS = sorted(k for k, method in BASELINES.items() if issubclass(method, ClassifierMixin))
CLUSTERERS = sorted(k for k, method in BASELINES.items() if issubclass(method, ClusterMixin))
ONE = "lgc"  # what the base does for all is tried with one classifier, and one clusterer
BASES = [ONE, "ncut"]


def make(name, **settings):
    return BASELINES[name](**(QUICK.get(name, {}) | settings))


@pytest.fixture(params=CLASSIFIERS)
def name(request):
    return request.param


@pytest.fixture(params=sorted(BASELINES))
def any_name(request):
    return request.param


def test_two_blobs(name):
    model = make(name).fit(X, Y)
    np.testing.assert_array_equal(model.transduction_, TRUTH)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert model.label_distributions_.shape == (2 * SIZE, 2)
    assert model.label_distributions_.min() >= 0
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X + 0.01), TRUTH)
    np.testing.assert_allclose(model.predict_proba(X + 0.01).sum(axis=1), 1.0)
    assert model.n_features_in_ == 2
    assert model.score(X, TRUTH) == 1.0


def test_points_and_their_graph_give_the_same_answer(any_name):
    points = make(any_name, graph=KNN(n_neighbors=6)).fit(X, Y)
    graph = make(any_name).fit(KNN(n_neighbors=6).build(X), Y)
    for attribute in ("label_distributions_", "labels_"):
        if hasattr(points, attribute):
            np.testing.assert_array_equal(getattr(points, attribute), getattr(graph, attribute))


def test_one_class_takes_all_it_reaches_and_all_labels_stay(name):
    model = make(name).fit(X, np.where(Y == 0, 7, -1))
    assert set(model.transduction_.tolist()) == {7}
    np.testing.assert_array_equal(model.label_distributions_, np.ones((2 * SIZE, 1)))
    assert model.predict(X[:3]).tolist() == [7, 7, 7]
    whole = np.array(["a", "b"])[TRUTH]
    np.testing.assert_array_equal(make(name).fit(X, whole).transduction_, whole)


def test_parts_without_a_label_are_unknown_never_the_first_class(name):
    points = blobs(3)
    for y, unknown in ((Y, -1), (TEXT, "unknown")):
        labels = np.append(y, [y[1]] * SIZE)
        with pytest.warns(GraphWarning, match="8 points .* class stays unknown; a builder with a"):
            model = make(name, graph=KNN(n_neighbors=3)).fit(points, labels)
        assert model.transduction_[: 2 * SIZE].tolist() == np.array([y[0], y[SIZE]])[TRUTH].tolist()
        assert set(model.transduction_[2 * SIZE :]) == {unknown}
        np.testing.assert_array_equal(model.label_distributions_[2 * SIZE :], 0.5)


def test_isolated_points(name):
    points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [12.0]])
    with pytest.warns(GraphWarning, match="1 points"):
        model = make(name, graph=Radius(radius=1.0)).fit(points, [0, -1, 1, -1, 0, -1])
    assert model.transduction_.tolist() == [0, 0, 1, 1, 0, -1]


def test_unseen_points_like_nothing_in_training_are_unknown(name):
    for y, unknown in ((Y, -1), (TEXT, "unknown")):
        model = make(name).fit(X, y)
        assert model.predict([*FAR, X[0] + 0.01]).tolist() == [unknown, y[0]]
        np.testing.assert_array_equal(model.predict_proba(FAR), [[0.5, 0.5]])


def test_unseen_points_of_a_graph_are_rows_of_similarities(name):
    model = make(name).fit(CHAIN, CHAIN_LABELS)
    rows = np.array([[1.0, 0.5, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0]])
    assert model.predict(rows).tolist() == ["a", "b", "unknown"]
    p = model.label_distributions_
    np.testing.assert_allclose(
        model.predict_proba(rows), [(p[0] + 0.5 * p[1]) / 1.5, p[3], [0.5, 0.5]], rtol=1e-12
    )


def test_a_point_half_way_is_unknown(name):
    # Randomised methods may decide it; a class that wins must win by more than rounding.
    model = make(name).fit(Graph(3, [(0, 1), (1, 2)]), [0, -1, 1])
    p = model.label_distributions_[1]
    if abs(p[0] - p[1]) < 1e-9:
        assert model.transduction_[1] == -1
    assert model.transduction_[[0, 2]].tolist() == [0, 1]


def test_permuting_points_and_classes_permutes_the_answer(name):
    expected = make(name).fit(X, Y)
    order = np.random.default_rng(0).permutation(2 * SIZE)
    model = make(name).fit(X[order], Y[order])
    np.testing.assert_array_equal(model.transduction_, expected.transduction_[order])
    model = make(name).fit(X, np.array([9, 3, -1])[Y])
    np.testing.assert_array_equal(model.transduction_, np.array([9, 3])[expected.transduction_])
    np.testing.assert_allclose(
        model.label_distributions_[:, ::-1], expected.label_distributions_, atol=1e-6
    )


@pytest.mark.parametrize("name", CLUSTERERS)
def test_two_blobs_are_two_clusters(name):
    X, truth = np.concatenate([blobs(), blobs() + 0.03]), np.tile(TRUTH, 2)
    model = make(name).fit(X)
    clustered = model.labels_ >= 0
    assert clustered.mean() > 0.8
    assert adjusted_rand_score(truth[clustered], model.labels_[clustered]) == 1.0
    np.testing.assert_array_equal(make(name).fit_predict(X), model.labels_)
    assert model.n_features_in_ == 2


NEGATIVE = r"3 edges have a negative weight.*PottsClassifier"


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("points", "settings", "message"),
    [
        *((points, {}, message) for points, message in BAD_POINTS[::4]),
        *((X, {"graph": graph}, "builder|n_neighbors")
          for graph in ("foo", KNN, None, KNN(n_neighbors=0))),
        (-CHAIN, {}, NEGATIVE),
    ],
)  # fmt: skip
def test_bad_points_graphs_and_builders_are_refused(base, points, settings, message):
    with pytest.raises(InvalidInputError, match=f"(?s){message}"):
        make(base, **settings).fit(points, CHAIN_LABELS if message == NEGATIVE else Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is None: give one label per point, -1 where there is none"),
        (Y[:-1], r"y has shape \(15,\), but there are 16 points"),
        (Y + 0.5, "fractional or complex numbers"),
        (np.full(16, -1), "no point is labelled.*SuperparamagneticClustering or NormalizedCut"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        make(ONE).fit(X, y)


def test_bad_unseen_points_are_refused():
    model = make(ONE).fit(X, Y)
    for points in (X[:, :1], [[np.nan, 0.0]], Graph(4, []), CHAIN):
        with pytest.raises(InvalidInputError):
            model.predict(points)
    with pytest.raises(NotFittedError):
        make(ONE).predict(X)


SETTINGS = {
    "min_cut": {"ties": ["first"]},
    "lgc": {"alpha": [0, 1, -0.5, np.nan, "a", None], "tol": [0, 2, "a"], "max_iter": [0, 2.5]},
    "harmonic": {"tol": [0], "class_mass_normalization": [1], "class_prior": [
        [1.0], [1, -1], [1, np.nan], "even"]},
    "sgt": {"c": [0, -1, np.inf, np.nan, "a"], "d": [0, 2.5, True, None]},
    "ncut": {"n_clusters": [0, 1.5, "2", None, True, 2 * SIZE + 1]},
    "spc": {"engine": ["foo"], "n_states": [1], "temperatures": ["foo", [-1]],
            "temperature": [[0.1, 0.2], np.nan], "min_cluster_size": [0, 2.5], "callback": [3]},
}  # fmt: skip


@pytest.mark.parametrize("method", SETTINGS)
def test_bad_settings_are_refused_by_their_name(method):
    for setting, values in SETTINGS[method].items():
        named = "foo" if setting == "engine" else setting.removesuffix("s")
        for value in values:
            with pytest.raises(InvalidInputError, match=named):
                make(method, **{setting: value}).fit(X, Y)


def test_same_settings_same_answer_and_no_change_of_input(any_name):
    graph = KNN(n_neighbors=6).build(X)
    matrix = weight_matrix(graph)
    for given in (X, matrix):
        used, y = given.copy(), Y.copy()
        first, second = (make(any_name).fit(used, y) for _ in range(2))
        assert abs(used - given).sum() == 0
        np.testing.assert_array_equal(y, Y)
        for key in ("label_distributions_", "labels_"):
            if hasattr(first, key):
                np.testing.assert_array_equal(getattr(first, key), getattr(second, key))


def test_copies_of_a_fitted_model_give_the_same_answers(name):
    model = make(name).fit(X, TEXT)
    again = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    np.testing.assert_array_equal(again.predict(X + 0.01), model.predict(X + 0.01))
    np.testing.assert_array_equal(again.transduction_, model.transduction_)


def test_clone_and_grid_search_reach_nested_settings(name):
    model = make(name, graph=MutualKNN(n_neighbors=4))
    assert clone(model).graph == MutualKNN(n_neighbors=4)
    points = np.concatenate([X, X + 0.05])
    search = GridSearchCV(model, {"graph__n_neighbors": [2, 5]}, cv=2, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        search.fit(points, np.tile(TRUTH, 2))
    assert search.best_score_ == 1.0
