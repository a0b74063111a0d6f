"""The toy sets have the paper's sizes, and the paper's figure 2 happens on the first."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from spinlearn.answers.profile import profile
from spinlearn.answers.rule import misclassified
from spinlearn.answers.temperature import answer_temperature
from spinlearn.datasets import three_waves, two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.graphs import PixelGrid, describe
from spinlearn.minimizers import minimize

TEMPERATURES = np.linspace(0.1, 2.0, 20)


@pytest.fixture(scope="module")
def semi_supervised():
    toy = two_bands()
    run = JunctionTree().run(MinCut()(toy.graph(), toy.labels, 2), TEMPERATURES)
    return toy, run


def test_sizes_and_graphs():
    for toy, n in ((two_bands(), 1360), (three_waves(), 1306)):
        assert toy.n_points == n
        assert describe(toy.graph()).n_components == 1
        grid = PixelGrid(connectivity=4).build(toy.mask)
        np.testing.assert_array_equal(grid.edges, toy.graph().edges)
        np.testing.assert_array_equal(toy.mask[tuple(toy.coordinates.T)], True)
    toy = two_bands()
    assert np.all(toy.labels[toy.labels >= 0] == toy.truth[toy.labels >= 0])


def test_labels_are_drawn_from_the_region():
    toy = three_waves()
    for seed in range(20):
        labels = toy.draw_labels(5, classes=[0, 1], seed=seed)
        chosen = labels >= 0
        assert chosen.sum() == 5
        assert toy.label_region[chosen].all()
        assert set(labels[chosen]) == {0, 1}
        np.testing.assert_array_equal(labels[chosen], toy.truth[chosen])
    a, b = (toy.draw_labels(9, classes=[0, 1, 2], seed=4) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(InvalidInputError, match="cannot draw"):
        toy.draw_labels(1, classes=[0, 1], seed=0)


@pytest.mark.slow
def test_figure_2_semi_supervised(semi_supervised):
    toy, run = semi_supervised
    found = profile(run)
    errors = np.array([misclassified(found.decision(k), toy.truth).mean() for k in range(20)])
    plateau = (TEMPERATURES > 0.59) & (TEMPERATURES < 1.01)
    assert errors[plateau].max() <= 0.02
    assert errors[TEMPERATURES < 0.41].min() >= 0.40
    by_argmax = np.mean(np.argmax(run.marginals, axis=2) != toy.truth, axis=1)
    assert by_argmax[plateau].max() <= 0.02
    assert by_argmax[TEMPERATURES < 0.41].min() >= 0.40
    for strict in (False, True):
        assert 0.6 <= answer_temperature(found, "paper", strict=strict) <= 1.0
    # Bounds on the work.
    assert run.diagnostics["clique_states"] < 5e6
    assert run.diagnostics["predicted_bytes"] < 4e9
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < 4e9


def test_min_cut_at_zero_temperature_is_one_class_but_for_the_labels(semi_supervised):
    toy, run = semi_supervised
    ground = run.at([0.0])
    minority = toy.labels == 0
    np.testing.assert_allclose(ground.marginals[0, ~minority, 1], 1.0)
    assert ground.mean_energy[0] == 12.0


THREE_GRID = np.round(np.linspace(0.0, 1.4, 15), 2)


@pytest.fixture(scope="module")
def third_hidden():
    """The three-class set with ten labels of the lower two classes."""
    toy = three_waves()
    labels = toy.draw_labels(10, classes=[0, 1], seed=1)
    run = JunctionTree().run(MinCut()(toy.graph(), labels, 2), THREE_GRID)
    return toy, run, profile(run, small_groups="new")


def test_the_third_class_is_found_though_nobody_labelled_it(third_hidden):
    toy, run, found = third_hidden
    third = toy.truth == 2
    for k in np.flatnonzero((THREE_GRID > 0.05) & (THREE_GRID < 0.45)):
        decision = found.numbered_from(k).decision(k)
        largest = decision.new_classes()[1]
        assert np.mean(third[largest]) > 0.98
        assert np.sum(third[largest]) > 0.98 * third.sum()
        assert misclassified(decision, toy.truth).sum() <= 10
        # Drawn equally to both of the others, and bound to neither.
        np.testing.assert_allclose(run.marginals[k, third, 0], 0.5, atol=0.05)
        u, v = toy.graph().edges.T
        contact = third[u] != third[v]
        assert run.edge_agreement[k, contact].max() < 0.7


def test_rules_find_the_third_class(third_hidden):
    toy, _, found = third_hidden
    for rule in ("auto", "paper"):
        row = found.nearest_row(answer_temperature(found, rule))
        assert misclassified(found.decision(row), toy.truth).sum() <= 10


def test_one_minimum_cut_gives_the_third_class_away(third_hidden):
    toy, run, _ = third_hidden
    least = minimize(run.model)
    assert np.sum(least.labels != toy.truth) >= np.sum(toy.truth == 2)


def test_without_labels_the_three_classes_are_one_cluster():
    """At every temperature below melting, looked at closely: they cannot be told apart."""
    toy = three_waves()
    grid = np.concatenate([np.linspace(0.0, 0.8, 5), np.arange(0.88, 1.32, 0.02)])
    run = JunctionTree().run(MinCut()(toy.graph(), np.full(toy.n_points, -1), 2), grid)
    found = profile(run, n_classes=0, small_groups="new")
    errors = [
        misclassified(found.decision(k), toy.truth, labelled_classes=[]).sum()
        for k in range(len(grid))
    ]
    assert min(errors) >= toy.n_points / 2
    for k in np.flatnonzero(grid <= 0.9):
        assert len(found.decision(k).new_classes()) == 1
