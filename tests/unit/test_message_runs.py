"""Belief propagation as users meet it: settings, stops, checkpoints, odd models, classification."""

import numpy as np
import pytest

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.energies import MinCut, RatioCut
from spinlearn.engines import BeliefPropagation, Enumeration
from spinlearn.errors import (
    CheckpointError,
    InvalidInputError,
    StoppedError,
    UnsupportedModelError,
)
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, grids, labels_at, some_labels
from tests.oracles import assert_same_averages

TEMPERATURES = [0.0, 0.4, 0.8, 1.2, np.inf]


@pytest.fixture(scope="module")
def model() -> PottsModel:
    """Two 7 x 7 lattices joined by five links, each with a label in a corner."""
    bridges = [(42 + k, 49 + k) for k in range(5)]
    return MinCut()(grids(2, 7, 7, bridges), labels_at({0: 0, 97: 1}, 98), 2)


# -- settings and odd models ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bad"),
    [("n_starts", 0), ("n_starts", 1.5), ("max_sweeps", 0), ("tol", 1.0), ("tol", "fine"),
     ("schedule", "random"), ("minimizer", "lucky")],
)  # fmt: skip
def test_bad_settings_are_refused(model, name, bad):
    with pytest.raises(InvalidInputError, match=f"{name}=.*(give|use)"):
        BeliefPropagation(**{name: bad}).run(model, [1.0])


def test_class_terms_that_are_no_field_are_refused():
    graph, labels = grid_graph(4, 4), labels_at({0: 0, 15: 1}, 16)
    table = PottsModel(graph, 2, class_penalty=ClassPenalty.from_table(np.ones((2, 17))))
    for refused in (RatioCut()(graph, labels, 2), table):
        with pytest.raises(UnsupportedModelError, match=r"not quadratic.*use engine="):
            BeliefPropagation().run(refused, [1.0])


@pytest.mark.parametrize(
    "odd",
    [
        PottsModel(Graph(1, []), 4),
        PottsModel(Graph(3, []), 2, clamped=[0, 1, 0]),
        PottsModel(Graph(3, [(0, 1)]), 3, clamped=[2, 1, -1]),
        PottsModel(Graph(2, [(0, 1)]), 127),
        PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, couplings=[0.0, 0.0]),
        PottsModel(Graph(2, [(0, 1)], [1e-200]), 2, clamped=[1, -1]),
    ],
    ids=["one node", "all clamped", "one free", "127 states", "zero couplings", "tiny coupling"],
)
def test_odd_models_are_exact(odd):
    exact = Enumeration().run(odd, TEMPERATURES)
    run = BeliefPropagation().run(odd, TEMPERATURES)
    assert_same_averages(run, exact, 1e-13)


# -- stops, checkpoints --------------------------------------------------------------------------


def stop_after(calls: int):
    """A callback that stops the run at its k-th call."""
    left = iter(range(calls))
    return lambda progress: next(left, None) is None


def test_what_a_stopped_run_has_is_returned_and_its_checkpoint_is_its_own(
    model, monkeypatch, tmp_path
):
    monkeypatch.setattr("spinlearn.engines.messages.belief_propagation.REPORT_SECONDS", 0.0)
    calls = []
    BeliefPropagation().run(model, TEMPERATURES, callback=calls.append)
    fractions = [p.fraction for p in calls]
    assert fractions == sorted(fractions)
    part = BeliefPropagation().run(model, TEMPERATURES, callback=stop_after(len(calls) - 20))
    assert part.diagnostics["cut_short"]
    assert 0 < len(part.temperatures) <= len(TEMPERATURES)
    path = tmp_path / "run.npz"
    with pytest.raises(StoppedError):
        BeliefPropagation(checkpoint=path).run(model, TEMPERATURES, callback=stop_after(5))
    for tol, temperatures in ((1e-5, TEMPERATURES), (1e-8, [0.5])):
        with pytest.raises(CheckpointError, match="another run"):
            BeliefPropagation(checkpoint=path, tol=tol).run(model, temperatures)


# -- in the classifier ---------------------------------------------------------------------------


@pytest.mark.slow
def test_digits_from_one_label_each_by_modularity():
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    labels = some_labels(truth, 1)
    found = PottsClassifier(
        graph="knn",
        energy="modularity:couplings=homogeneous",
        engine="belief_propagation",
        temperature=TemperatureRule(name=1.8, grid=[0.6, 1.2, 1.8, 2.1, 3.0]),
    ).fit(X, labels)
    right = (found.forced_labels_ == truth)[labels < 0]
    assert right.mean() > 0.93
    assert found.answer_.warning is None
    # As sure as it is right, to a few percent.
    sure = found.label_distributions_.max(axis=1)[labels < 0]
    assert abs(sure.mean() - right.mean()) < 0.05
