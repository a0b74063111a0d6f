"""compare: the table says what running each method by hand says."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.semi_supervised import LabelPropagation

from spinlearn import MutualKNN, PottsClassifier, TemperatureRule, compare
from spinlearn.answers import misclassified
from spinlearn.energies import BalancedCut
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers import minimize
from spinlearn.model.graph import Graph
from tests.conftest import few_labels

COLUMNS = [
    "method", "energy", "temperature", "errors", "forced_errors", "abstentions", "new_classes",
    "seconds", "energy_reached",
]  # fmt: skip


@pytest.fixture(scope="module")
def blobs():
    X, truth = make_blobs(60, centers=3, cluster_std=0.6, random_state=2)
    return X, few_labels(truth, 1), truth


def test_sampled_and_minimised_rows_are_what_each_gives_alone(blobs):
    X, y, truth = blobs
    grid = np.linspace(0, 1, 6)
    table = compare(X, y, truth, methods=[], random_state=0, temperature=TemperatureRule(grid=grid))
    assert list(table.columns) == COLUMNS
    assert table.method.tolist() == ["sampled", "minimised"]
    alone = PottsClassifier(
        energy="min_cut", graph="mutual_knn", temperature=TemperatureRule(grid=grid)
    ).fit(X, y)
    sampled, minimised = (row for _, row in table.iterrows())
    assert sampled.temperature == alone.temperature_
    decision = alone.decide(alone.temperature_).decision
    assert sampled.errors == misclassified(decision, truth).sum()
    assert sampled.forced_errors == np.sum(alone.forced_labels_ != truth)
    found = minimize(alone.model_, seed=0)
    assert minimised.energy_reached == pytest.approx(found.energy)
    assert minimised.energy_reached <= sampled.energy_reached + 1e-9
    assert (table.seconds > 0).all()


@pytest.mark.slow
def test_a_class_energy_gives_both_rows_with_settings(blobs):
    X, y, truth = blobs
    table = compare(
        X, y, truth, energy=[BalancedCut(strength=1.0), "min_cut"], methods=[], random_state=1,
        engine="multicanonical:tol=0.1,max_sweeps=400", temperature="auto:grid=0.05,0.2",
    )  # fmt: skip
    assert table.energy.tolist()[:2] == ["BalancedCut(strength=1.0)"] * 2
    assert table.energy.tolist()[2:] == ["min_cut"] * 2
    graph = MutualKNN().build(X)
    reference = BalancedCut(strength=1.0)(graph, y, 3)
    assert table.energy_reached[1] == pytest.approx(minimize(reference, seed=1).energy)
    # Isolating one label is cheapest; the balance forbids it.
    assert (table.forced_errors[:2] <= 1).all()
    assert (table.forced_errors[2:] >= 15).all()


def test_other_estimators_and_clusterings_take_part(blobs):
    X, y, truth = blobs
    graph = MutualKNN().build(X)
    methods = {
        "propagation": LabelPropagation(kernel=lambda a, b: a, max_iter=2000),
        "spectral": SpectralClustering(3, affinity="precomputed", random_state=0),
        "hot": PottsClassifier(method="paper", temperature="50:grid=0.1,50,small_groups=outlier"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about convergence and connectedness
        table = compare(graph, y, truth, methods=methods, temperature="auto:grid=0.1")
    table = table.set_index("method")
    assert table.errors["propagation"] <= 2
    assert table.errors["spectral"] <= 2  # clusters count as the classes they stand for
    assert table.new_classes["spectral"] == 3
    assert np.isnan(table.energy_reached["spectral"])
    assert table.abstentions["hot"] + table.new_classes["hot"] > 0
    assert table.errors["hot"] > 40  # nothing is decided at high temperature


def test_text_labels_and_no_truth(blobs):
    X, y, truth = blobs
    names = np.array(["a", "b", "c"], dtype=object)
    text = np.where(y >= 0, names[y], None)
    settings = {"methods": [], "temperature": "auto:grid=0.1"}
    numbers = compare(X, y, truth, **settings)
    words = compare(X, text, names[truth], **settings)
    assert words.errors.tolist() == numbers.errors.tolist()
    silent = compare(X, y, **settings)
    assert silent.errors.isna().all()
    assert silent.energy_reached.tolist() == numbers.energy_reached.tolist()


def test_a_class_nobody_labelled_counts_by_the_papers_rule():
    X, truth = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.5, random_state=0)
    y = np.where(truth < 2, few_labels(truth, 1), -1)
    table = compare(X, y, truth, methods=[], temperature=TemperatureRule(name=0.3, grid=[0.3]))
    assert table.new_classes[0] >= 1
    assert table.errors[0] <= 3  # the third blob is found
    assert table.forced_errors[0] >= 30
    assert table.errors[1] >= 30  # a minimum cannot find it


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["nonsense"]}, r"'nonsense' is unknown: use one of .*'messages'"),
        ({"methods": "lgc"}, "methods='lgc' is not a list"),
        ({"methods": [3]}, "is not a method"),
        ({"energy": "nonsense"}, "energy='nonsense' is unknown"),
        ({"energy": []}, "energy is empty"),
        ({"truth": [0, 1, -1]}, "truth has no class for 1 points"),
        ({"truth": [0, 1]}, "y has shape"),
    ],
)
def test_bad_requests_are_refused(change, message):
    arguments = {"truth": [0, 1, 1], "methods": [], **change}
    with pytest.raises(InvalidInputError, match=message):
        compare(Graph(3, [(0, 1), (1, 2)]), [0, -1, 1], **arguments)


def test_the_methods_of_the_classifier_are_rows_by_name(blobs):
    X, y, truth = blobs
    graph = MutualKNN().build(X)
    methods, grid = ["messages", "paper", "lgc"], "auto:grid=0.1"
    table = compare(graph, y, truth, methods=methods, random_state=0, temperature=grid)
    table = table.set_index("method")
    assert table.index.tolist() == ["sampled", "minimised", "messages", "paper", "lgc"]
    for method in ("messages", "paper"):
        alone = PottsClassifier(method=method, random_state=0).fit(graph, y)
        assert table.temperature[method] == alone.temperature_
        assert table.forced_errors[method] == np.sum(alone.forced_labels_ != truth)
        assert table.energy[method] == ""
    assert "messages" in compare(graph, y, temperature=grid).method.tolist()
