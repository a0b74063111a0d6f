"""PottsClassifier: odd input gets a right answer or is refused; laws that any answer obeys."""

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from spinlearn import KNN, Graph, PottsClassifier
from spinlearn.baselines import LocalGlobalConsistency
from spinlearn.engines import JunctionTree
from spinlearn.errors import (
    GraphWarning,
    InvalidInputError,
    LabelWarning,
    UnsupportedModelError,
)
from spinlearn.graphs import PixelGrid, Radius
from tests.classifiers import classifier

GRID = [0.0, 0.05, 0.1, 0.3, 1.0]
SIZE = 8  # points per blob
FAR = [[1e3, 1e3]]  # hundreds of neighbour distances from all points


def blobs(n_blobs=2):
    """Blobs far apart, at multiples of 2^-10 so that shifts are exact."""
    rng = np.random.default_rng(1)
    centers = np.array([[0, 0], [6, 0], [0, 6]])[:n_blobs]
    points = np.concatenate([c + rng.uniform(-1, 1, size=(SIZE, 2)) for c in centers])
    return np.round(points * 1024) / 1024


X = blobs()
Y = np.full(2 * SIZE, -1)
Y[0], Y[SIZE] = 0, 1
TRUTH = np.repeat([0, 1], SIZE)
TEXT = np.array(["a", "b", ""])[Y]


def fit(points=X, y=Y, callback=None, **settings):
    defaults = {"temperatures": GRID, "temperature": 0.1}
    return classifier(**(defaults | settings)).fit(points, y, callback=callback)


def changed(row, column, value):
    points = X.copy()
    points[row, column] = value
    return points


# -- features ------------------------------------------------------------------------------------


BAD_POINTS = [
    (changed(3, 1, np.nan), "1 NaN or infinite values, the first at row 3, column 1.*impute"),
    ([["a", "b"]] * 16, "could not convert.*table of numbers"),
    (np.full((16, 2), "a"), "real numbers.*<U1.*encode"),
    (np.zeros((16, 2), dtype="datetime64[s]"), "real numbers.*datetime"),
    ([[1.0, 2.0], [3.0]], "sequence.*one row of equal length per point"),
    (np.ma.masked_greater(X, 3), "masked values: fill them in or drop"),
    (pd.DataFrame({"size": X[:, 0], "town": "x"}), r"1 non-numeric columns \(town\).*encode"),
    ([[1.0, 2.0]] * 15 + [[1.0, "1_000"]], "the text '1_000' at row 15, column 1"),
    (np.array([["1_0", "2"]] * 16, dtype=np.dtypes.StringDType()), "real numbers.*StringDType"),
    ({"a": X[:, 0], "b": X[:, 1]}, r"X is a mapping.*pandas\.DataFrame\(X\)"),
    ((row for row in X), r"X is a generator.*list\(X\)"),
    (np.rec.fromarrays(X.T, names="a,b"), r"fields a, b.*structured_to_unstructured\(X\)"),
    (pd.DataFrame(X, columns=["a", 1]), r"names.*X\.columns\.astype\(str\)"),
    ([[{}, 1.0]] * 16, "not 'dict'; X must be a table of numbers"),
    (sparse.csr_array(changed(3, 1, np.nan)), "1 values that are NaN.* at row 3, column 1.*drop"),
    (sparse.csr_array(changed(3, 1, 1e200)), "beyond 1e.150, the first at row 3, column 1"),
    (sparse.csr_array(X * 1j), "table of real numbers.*complex"),
    (sparse.csr_array((16, 2)), "no number but 0"),
    (sparse.csr_array((16, 0)), r"one row per point, got shape \(16, 0\)"),
    (sparse.coo_array(np.ones(16)), r"one row per point, got shape \(16,\)"),
]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decide", "name_of"])
def test_nothing_before_fit(method):
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        getattr(PottsClassifier(), method)(X)


@pytest.mark.parametrize("value", [1e200, -1e300, 1e308])
def test_one_value_that_leaves_nothing_of_all_other_distances_is_refused(value):
    said = r"at row 3, column 1, beside which the distances .*16 different points become 2\): corr"
    with pytest.raises(InvalidInputError, match=said):
        fit(changed(3, 1, value))
    with pytest.raises(InvalidInputError, match=said):
        KNN().build(changed(3, 1, value))
    wide = np.tile(X, 60)  # reduced to principal components first
    wide[3, 1] = 1e20
    with pytest.raises(InvalidInputError, match=r"1e\+20 at row 3, column 1, beside which"):
        fit(wide)


def test_large_values_that_leave_the_other_distances_are_used():
    others = np.delete(np.arange(2 * SIZE), 3)
    expected = others[KNN(n_neighbors=3).build(X[others]).edges]
    for value in (1e20, 1e100, 1e140):
        edges = KNN(n_neighbors=3).build(changed(3, 1, value)).edges
        np.testing.assert_array_equal(edges[~np.any(edges == 3, axis=1)], expected)
    tiny = X.copy()
    tiny[[2, 5], 0] = 1e-300, 3e-280  # such as p-values: as good as zero
    np.testing.assert_array_equal(fit(tiny).transduction_, TRUTH)
    KNN(metric="cosine").build(changed(3, 1, 1e300))  # its direction, no more


# -- labels --------------------------------------------------------------------------------------


def test_one_class_leaves_the_points_it_does_not_reach_new():
    y = np.where(Y == 0, 7, -1)
    for method in ("messages", "paper"):
        model = fit(y=y, method=method)
        assert model.model_.n_states == 2
        assert model.transduction_.tolist() == [7] * SIZE + [-2] * SIZE
    assert model.names_.tolist() == ["7"] * SIZE + ["new:1"] * SIZE
    assert list(model.new_classes_) == ["new:1"]
    assert model.new_classes_["new:1"].tolist() == list(range(SIZE, 2 * SIZE))
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    np.testing.assert_allclose(model.label_distributions_[SIZE:], 0.5, atol=0.02)


def test_without_labels_the_clusters_are_new_classes():
    model = fit(y=[""] * (2 * SIZE))
    assert len(model.classes_) == 0
    assert sorted(set(model.transduction_.tolist())) == [-3, -2]
    assert set(model.status_) == {"new"}
    members = sorted(members.tolist() for members in model.new_classes_.values())
    assert members == [list(range(SIZE)), list(range(SIZE, 2 * SIZE))]
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    assert model.predict_proba(X).shape == (2 * SIZE, 0)
    assert model.predict(FAR).tolist() == [-1]


@pytest.mark.parametrize("classes", [[0, 1], [-5, 3], ["a", "b"], [False, True]])
def test_all_points_labelled(classes):
    classes = np.array(classes)
    model = fit(y=classes[TRUTH])
    assert set(model.status_) == {"labelled"}
    assert model.classes_.tolist() == classes.tolist()
    np.testing.assert_array_equal(model.label_distributions_, np.eye(2)[TRUTH])
    for calls in (model.transduction_, model.predict(X + 0.01)):
        assert calls.dtype.kind == classes.dtype.kind
        np.testing.assert_array_equal(calls, classes[TRUTH])


def test_contradictory_labels_on_identical_points_are_kept_with_a_warning():
    points = X.copy()
    points[SIZE] = points[0]
    with pytest.warns(LabelWarning, match="points 0 and 8 are identical but labelled a and b"):
        LocalGlobalConsistency().fit(points, TEXT)
    with pytest.warns(LabelWarning, match="points 0 and 8 are identical but.*label_noise"):
        model = fit(points, TEXT)
    assert model.names_[[0, SIZE]].tolist() == ["a", "b"]
    assert model.status_[[0, SIZE]].tolist() == ["labelled"] * 2
    with pytest.warns(LabelWarning, match="points 0 and 2 are identical but labelled 4 and 6"):
        fit([[0.0, 1.0], [3.0, 1.0], [-0.0, 1.0]], [4, -1, 6])


def test_identical_points_with_the_same_label_are_no_contradiction():
    points = X.copy()
    points[1:3] = points[0]
    y = Y.copy()
    y[1] = 0
    model = fit(points, y)  # without a warning, which would be an error here
    np.testing.assert_array_equal(model.transduction_, TRUTH)
    # The unlabelled copy of two labelled points.
    assert model.label_distributions_[2, 0] > 0.99


@pytest.mark.slow
def test_more_labels_than_states_fit_in_a_byte():
    chain = Graph(129, [(k, k + 1) for k in range(128)])
    with pytest.raises(InvalidInputError, match=r"128 different labels.*at most 127.*merge"):
        fit(chain, np.append(np.arange(128), -1))
    star = Graph(128, [(5, 127)])
    model = fit(star, np.append(np.arange(127), -1))
    assert model.transduction_.tolist() == [*range(127), 5]


# -- small and odd graphs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "small_groups", "calls", "status"),
    [
        ([4], "join", [4], {"labelled"}),
        ([-1], "join", [-1], {"outlier"}),
        ([-1], "new", [-2], {"new"}),
        ([0, 1], "join", [0, 1], {"labelled"}),
        ([-1, 3], "join", [3, 3], {"labelled", "confident"}),
        ([-1, -1], "join", [-1, -1], {"outlier"}),
        ([-1, -1, -1], "join", [-2, -2, -2], {"new"}),
    ],
)
def test_one_two_and_three_points(y, small_groups, calls, status):
    points = np.arange(len(y))[:, None]
    found = fit(points, y, small_groups=small_groups)
    assert found.transduction_.tolist() == calls
    assert set(found.status_) == status
    assert len(found.new_classes_) == ("new" in status)
    assert found.predict(points).tolist() == calls


def test_points_in_parts_without_a_label_are_new_never_the_first_class():
    points = blobs(3)
    y = np.append(Y, [-1] * SIZE)
    with pytest.warns(
        GraphWarning, match="3 parts and 8 points .* no label says anything of them; a builder"
    ):
        model = fit(points, y, graph=KNN(n_neighbors=3), method="paper")
    assert model.transduction_.tolist() == TRUTH.tolist() + [-2] * SIZE
    np.testing.assert_allclose(model.label_distributions_[2 * SIZE :], 0.5, atol=1e-12)
    # Equal up to rounding, which must not pick the forced label.
    assert set(model.forced_labels_[2 * SIZE :]) == {0}
    for temperature in (0.0, 0.01, 5.0):
        found = model.decide(temperature)
        assert set(found.status[2 * SIZE :]) == {"new" if temperature < 1 else "outlier"}
        assert np.all((found.calls[2 * SIZE :] < -1) == (temperature < 1))
        assert np.all(found.calls[2 * SIZE :] < 0)
    np.testing.assert_array_equal(model.predict(points), model.transduction_)


@pytest.mark.parametrize(
    ("small_groups", "calls"), [("outlier", [-1, -1]), ("join", [-1, -1]), ("new", [-3, -2])]
)
def test_isolated_points_are_outliers_or_new_classes_of_their_own(small_groups, calls):
    points = np.array([[0.0], [0.1], [5.0], [9.0]])
    with pytest.warns(GraphWarning, match="3 parts and 2 points"):
        model = fit(points, [0, -1, -1, -1], graph=Radius(radius=1.0), small_groups=small_groups)
    assert model.graph_summary_.n_isolated == 2
    assert sorted(model.transduction_.tolist()) == [*calls, 0, 0]
    assert model.transduction_[:2].tolist() == [0, 0]


# -- precomputed graphs --------------------------------------------------------------------------

CHAIN = sparse.csr_array(
    np.array([[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 2], [0, 0, 2, 0]], dtype=float)
)
CHAIN_LABELS = ["a", "", "", "b"]


def as_networkx(matrix):
    return nx.from_scipy_sparse_array(sparse.csr_array(matrix))


FORMS = [
    *(sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.coo_matrix, sparse.csc_array),
    *(sparse.lil_matrix, Graph.from_sparse, as_networkx),
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_graph_gives_the_same_answer(form):
    model = fit(form(CHAIN), CHAIN_LABELS)
    assert model.transduction_.tolist() == ["a", "a", "b", "b"]
    assert model.graph_.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert model.graph_.weights.tolist() == [2.0, 1.0, 2.0]
    assert model.n_features_in_ == 4


def test_weights_may_be_negative_or_zero():
    apart = fit(-CHAIN, CHAIN_LABELS)
    assert "negative weights" in str(apart.choices_[0])
    assert apart.transduction_.tolist() == ["a", "b", "a", "b"]
    with pytest.warns(GraphWarning, match="4 parts and 2 points"):
        none = fit(0 * CHAIN, CHAIN_LABELS)
    assert none.status_.tolist() == ["labelled", "outlier", "outlier", "labelled"]


# -- settings ------------------------------------------------------------------------------------


BAD_GRAPHS = [
    (sparse.triu(CHAIN), r"may be features.*knn:10,n_components=auto.*\(W \+ W.T\) / 2"),
    (CHAIN * np.nan, "graph matrix holds 6 NaN or infinite values.*correct or drop"),
    (CHAIN * (1 + 1j), "graph matrix must be real numbers.*complex"),
    (sparse.csr_array((0, 0)), "whole number >= 1"),
    (nx.Graph(), "no nodes"),
]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"points": points}, message) for points, message in BAD_POINTS),
        *(({"points": graph, "y": CHAIN_LABELS}, message) for graph, message in BAD_GRAPHS),
        ({"y": Y[:-1]}, r"y has shape \(15,\), but there are 16 points"),
        ({"y": [0, "a", *Y[2:].tolist()]}, r"labels of different kinds \(number, text\)"),
        ({"y": np.arange(16), "n_states": 2}, "n_states=2 is fewer than the 16 classes"),
        ({"graph": "foo"}, "'foo' is unknown: use one of .*'mutual_knn'"),
        ({"graph": "radius"}, r"lacks a setting.*'radius:0.5'"),
        ({"graph": "knn:n=3"}, "'n' is not a setting of knn; it has n_neighbors=..., metric="),
        ({"graph": "knn:ten"}, "n_neighbors='ten' is not a whole number"),
        ({"graph": KNN(n_components=2, metric="precomputed")}, "takes distances: leave one"),
        (
            {"points": sparse.csr_array(X), "graph": "knn:metric=precomputed"},
            r"square, got shape \(16, 2\); for points use",
        ),
        ({"graph": KNN}, r"KNN is not a graph builder.*an instance such as KNN\(n_neighbors=5\)"),
        ({"graph": KNN(n_neighbors=0)}, "n_neighbors=0.*whole number >= 1"),
        ({"graph": PixelGrid()}, "mask must be True or False at every pixel.*a comparison such as"),
        ({"engine": "foo"}, "'foo' is unknown: use one of .*'junction_tree'"),
        ({"engine": JunctionTree}, r"not an engine.*an instance such as JunctionTree\(\)"),
        ({"energy": "foo"}, "'foo' is unknown: use one of 'min_cut'"),
        ({"engine": "junction_tree:tol=1"}, "'tol' is not a setting of junction_tree; it has"),
        ({"energy": ["min_cut"]}, "energy=.* is unknown"),
        ({"temperatures": "foo"}, "temperatures 'foo' cannot be read: write auto, numbers >= 0"),
        ({"temperatures": []}, "non-empty"),
        ({"temperatures": [-1]}, "temperatures must be >= 0"),
        ({"temperatures": [[1, 2], [3, 4]]}, r"list of numbers, got shape \(2, 2\)"),
        ({"temperatures": None}, "temperatures must be real numbers: got None"),
        ({"temperature": "foo"}, "='foo' is unknown: use 'auto', 'calibrated', 'paper' or a numb"),
        ({"small_groups": "old"}, "small_groups=.*use one of 'join', 'outlier', 'new'"),
        ({"temperature": -1}, ">= 0"),
        ({"temperature": None}, "must be real numbers: got None"),
        ({"temperature": [0.1, 0.2]}, "one number, got 2: give a grid as `temperatures`"),
        ({"temperature": []}, "non-empty"),
        *[({"tau": tau}, "tau=.*use 0 <= tau < 1") for tau in (-1, 1, "a", None, np.nan, [0])],
        *[
            ({"eta_min": eta, "temperature": "auto"}, "eta_min=.*use None or a number >= 0")
            for eta in (-1, np.nan, "a", [1.0], [1, 2])
        ],
        ({"label_strength": np.full(16, -0.1)}, "label_strength.*>= 0.*inf clamps"),
        ({"label_strength": np.ones((16, 1))}, "label_strength.*one per point"),
        ({"label_strength": "a"}, "label_strength must be real numbers"),
        ({"label_strength": 1e12}, "drowns the couplings.*use inf"),
        *[({"time_limit": t}, "time_limit=.*use seconds > 0") for t in (0, -1, np.nan, "a")],
        *[({"novelty": n}, "novelty=.*from 0, never, to below 1") for n in (-0.1, 1, "a", None)],
        *[({"label_noise": n}, "label_noise=.*below 0.5, or None") for n in (-0.1, 0.5, "a")],
        ({"label_noise": 0.1, "label_strength": 2.0}, "two ways to say the same"),
        ({"proportions": [1, 1], "method": "paper"}, "proportions belong to the energy"),
        ({"proportions": {"2": 1}}, "'2' is not a class among the labels.*'0', '1'"),
        ({"proportions": {"1": 1}}, "nothing is said of '0'"),
        ({"proportions": [0.5, 0.5], "energy": "min_cut"}, "give them to that"),
        ({"method": "magic"}, "method='magic' is unknown"),
        ({"features": "on"}, "features='on' is unknown"),
        ({"couplings": "homogenous"}, "couplings='homogenous' is unknown: use one of"),
        ({"couplings": np.ones(3)}, "couplings=.* is unknown: use one of"),
        ({"n_states": 128}, "n_states=128 is out of range.*at most 127"),
        ({"n_states": 2.5}, "n_states must be a whole number"),
        ({"callback": 3}, "callback=3 cannot be called: pass a function"),
    ],
)
def test_bad_input_is_refused_before_any_run(settings, message):
    calls = []
    with pytest.raises(InvalidInputError, match=f"(?s){message}"):
        fit(**({"callback": calls.append} | settings))
    needs_graph = {"y", "label_strength", "proportions", "n_states", "couplings"} & settings.keys()
    assert {p.phase for p in calls} <= ({"building the graph"} if needs_graph else set())


def test_more_states_than_an_engine_can_hold_are_refused():
    with pytest.raises(UnsupportedModelError, match=r"127 states.*a sparser graph"):
        fit(n_states=127, engine="junction_tree")


def test_the_grid_is_sorted_without_repetitions_and_holds_the_answer():
    sort = fit(temperatures=[0.3, 0.1, 0.3])
    np.testing.assert_array_equal(sort.profile_.temperatures, [0.1, 0.3])
    one = fit(temperatures=0.5, temperature="auto")
    assert one.profile_.temperatures.tolist() == [0.5]
    model = fit(temperatures=[0.5], temperature=0.1)
    for temperatures in (model.profile_.temperatures, model.equilibrium_.temperatures):
        assert temperatures.tolist() == [0.1, 0.5]
    assert model.temperature_ == 0.1
    np.testing.assert_array_equal(model.label_distributions_, model.equilibrium_.marginals[0])


def test_finite_labels_give_way_to_the_data():
    y = np.where(TRUTH == 0, 0, 1)
    y[3] = 1  # wrong
    assert fit(y=y).transduction_[3] == 1
    for soft in ({"label_strength": 0.5}, {"label_noise": 0.1}):
        np.testing.assert_array_equal(fit(y=y, **soft).transduction_, TRUTH)
    per_point = np.full(2 * SIZE, np.inf)
    per_point[3] = 0.01
    model = fit(y=y, label_strength=per_point)
    np.testing.assert_array_equal(model.transduction_, TRUTH)
    assert (model.status_ == "labelled").tolist() == (np.arange(2 * SIZE) != 3).tolist()


# -- unseen points -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph", ["mutual_knn", "knn", KNN(n_neighbors=3, weights="local"), Radius(radius=3.0)]
)
@pytest.mark.parametrize("n_states", [2, 4])
def test_a_point_that_resembles_no_training_point_is_unknown(graph, n_states):
    whole, text = (fit(y=y, graph=graph, n_states=n_states) for y in (Y, TEXT))
    unseen = [*FAR, [1e200, -1e200], X[0] + 0.01]
    assert whole.predict(unseen).tolist() == [-1, -1, 0]
    assert text.predict(unseen).tolist() == ["unknown", "unknown", "a"]
    np.testing.assert_array_equal(whole.predict_proba(unseen)[:2], 1 / n_states)


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, sparse.coo_matrix, np.ndarray.tolist]
)
def test_unseen_points_of_a_graph_are_rows_of_similarities(form):
    model = fit(CHAIN, CHAIN_LABELS, method="paper")
    rows = np.array([[1.0, 0.5, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0]])
    assert model.predict(form(rows)).tolist() == ["a", "b", "unknown"]
    found = model.predict_proba(form(rows))  # whose law tests/unit/test_unseen.py has
    np.testing.assert_array_equal(found, model.predict_proba(rows))
    assert found[2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("source", "unseen", "message"),
    [
        ("points", X[:, :1], "X has 1 features, but PottsClassifier is expecting 2"),
        ("points", sparse.csr_array(X), "csr_array: pass their features as a dense array"),
        ("points", Graph(4, []), "Graph: pass their features"),
        ("graph", np.ones((1, 5)), "5 features.*expecting 4.*similarities of the new points"),
        ("graph", sparse.csr_array([[1.0, -1.0, 0, 0]]), "finite and >= 0"),
        ("graph", [[1.0, np.nan, 0, 0]], "1 NaN or infinite"),
        ("graph", np.ones(4), "2-D"),
        ("graph", sparse.csr_array([[1j, 0, 0, 0]]), "real numbers.*complex"),
        ("graph", Graph(4, []), "similarities to its nodes"),
    ],
)
def test_bad_unseen_points_are_refused(source, unseen, message):
    model = fit() if source == "points" else fit(CHAIN, CHAIN_LABELS)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(InvalidInputError, match=message):
            method(unseen)


def test_an_unseen_point_equally_similar_to_both_classes_is_not_the_first():
    model = fit(CHAIN, CHAIN_LABELS)
    rows = [[1.0, 0, 0, 1.0], [0, 0.1, 0.1, 0], [1e-9, 0, 0, 1e-9], [1.0, 0, 0, 1.01]]
    assert model.predict(rows).tolist() == ["unknown", "unknown", "unknown", "b"]
    np.testing.assert_allclose(model.predict_proba(rows)[:3], 0.5)


def test_decide_refuses():
    model = fit()
    unknown = "rule 'warm' is unknown for a profile: use one of 'auto', 'paper'"
    for bad, message in (("warm", unknown), (-0.1, ">= 0"), ([0.1, 0.2], "one number, got 2")):
        with pytest.raises(InvalidInputError, match=message):
            model.decide(bad)


# -- scikit-learn's tools and copies -------------------------------------------------------------


@pytest.mark.parametrize("source", ["points", "graph"])
def test_a_copy_of_a_fitted_model_gives_the_same_answers(source):
    model = fit(y=TEXT) if source == "points" else fit(CHAIN, CHAIN_LABELS)
    unseen = np.vstack([X + 0.01, FAR]) if source == "points" else np.eye(4)
    again = pickle.loads(pickle.dumps(model))
    for name in ("names_", "status_", "label_distributions_", "forced_labels_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_array_equal(again.predict(unseen), model.predict(unseen))
    np.testing.assert_array_equal(again.decide(0.07).names, model.decide(0.07).names)
    assert not again.graph_.weights.flags.writeable


def test_fit_changes_neither_its_input_nor_its_settings():
    points, y, strength = X.copy(), TEXT.astype(object), np.full(2 * SIZE, 3.0)
    model = classifier(graph=KNN(n_neighbors=4), label_strength=strength, temperatures=GRID)
    before = {name: copy.deepcopy(value) for name, value in model.get_params().items()}
    model.fit(points, y)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_array_equal(y, TEXT)
    for name, value in model.get_params().items():
        if not hasattr(value, "get_params"):  # theirs are listed too
            np.testing.assert_array_equal(value, before[name])
    points[:] = 0.0
    np.testing.assert_array_equal(model.predict(X), TEXT[[0, SIZE]][TRUTH])


# -- laws ----------------------------------------------------------------------------------------

POINTS = blobs(3)
LABELS = np.append(Y, [-1] * SIZE)
APART = KNN(n_neighbors=3)  # no link joins the blobs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
@pytest.mark.parametrize("names", [[-9, 12], [1, 0]])
def test_renaming_classes_and_permuting_points_do_the_same_to_the_answer(names):
    expected = fit(POINTS, LABELS, graph=APART)
    assert set(expected.transduction_) == {0, 1, -2}
    points = np.random.default_rng(sum(names)).permutation(len(POINTS))
    table = np.array([*names, -1])
    model = fit(POINTS[points], table[LABELS][points], graph=APART)
    calls = expected.transduction_[points]
    np.testing.assert_array_equal(model.transduction_[calls >= 0], table[calls[calls >= 0]])
    assert set(model.transduction_[calls < 0]) == {min(-1, *names) - 1}
    np.testing.assert_array_equal(model.status_, expected.status_[points])
    laws = expected.label_distributions_[points][:, np.argsort(names)]
    reached = points < 2 * SIZE  # of the others no label says anything
    np.testing.assert_allclose(
        model.label_distributions_[reached], laws[reached], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("graph", ["mutual_knn", "knn", Radius(radius=1.5)])
@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_shifting_all_points_changes_nothing(graph):
    expected = fit(POINTS, LABELS, graph=graph)
    model = fit(POINTS + [64.0, -128.0], LABELS, graph=graph)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(
        model.label_distributions_, expected.label_distributions_, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("temperature", [0.0, 0.1, 1.0, np.inf])
def test_given_labels_are_kept_at_every_temperature(temperature):
    y = np.where(np.arange(2 * SIZE) % 3 == 0, np.arange(2 * SIZE) % 2, -1)  # against the blobs
    found = fit(y=y).decide(temperature)
    given = y >= 0
    np.testing.assert_array_equal(found.calls[given], y[given])
    np.testing.assert_array_equal(found.forced_labels[given], y[given])
    assert set(found.status[given]) == {"labelled"}
    np.testing.assert_array_equal(found.probabilities[given], np.eye(2)[y[given]])
    assert "labelled" not in found.status[~given]


@pytest.mark.parametrize("kind", [PottsClassifier, LocalGlobalConsistency])
@pytest.mark.parametrize("names", [[4, 6], ["a", "b"]])
def test_score_counts_points_with_a_label_only(names, kind):
    y = np.array([names[k] for k in TRUTH], dtype=object)
    y[::2] = None
    model = kind().fit(X, y)
    assert model.score(X, y) == 1
    wrong = y.copy()
    wrong[1] = names[1]
    assert model.score(X, wrong) == pytest.approx(1 - 1 / SIZE)
    assert model.score(X, wrong, sample_weight=np.arange(2 * SIZE) > 1) == 1
    with pytest.raises(InvalidInputError, match="nothing can be scored"):
        model.score(X, np.full(2 * SIZE, -1))
