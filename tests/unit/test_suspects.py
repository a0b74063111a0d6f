"""Suspect labels: left-out laws against a dense inverse, planted errors found, others spared."""

import sys
from pathlib import Path

import numpy as np
import pytest

from spinlearn import PottsClassifier, TemperatureRule, suggest
from spinlearn.advice.suspects import LeftOut, suspect_labels, suspects
from spinlearn.constants import FAINT, SHARPNESS
from spinlearn.default.walks import alpha_of
from spinlearn.errors import InvalidInputError
from spinlearn.linear import weight_matrix
from spinlearn.model.graph import Graph
from tests.conftest import grid_graph, grids, labels_at

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def dense_law(graph: Graph, labels: np.ndarray, point: int, n_states: int) -> np.ndarray:
    """P of one point from labels that do not hold its own, by a dense inverse."""
    weights = weight_matrix(graph).toarray()
    degrees = weights.sum(axis=0)
    steps = weights / np.sqrt(np.outer(degrees, degrees))
    walks = np.linalg.inv(np.eye(graph.n_nodes) - alpha_of(graph) * steps)
    shares = np.zeros(n_states)
    for c in np.unique(labels[labels >= 0]):
        arrived = walks[:, labels == c].sum(axis=1)
        share = arrived[point] / arrived.sum()
        shares[c] = (share + FAINT / graph.n_nodes) ** SHARPNESS
    return shares / shares.sum()


def test_the_left_out_law_is_that_of_the_data_without_the_label():
    rng = np.random.default_rng(0)
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0), (1, 4), (2, 5)]
    graph = Graph(8, edges, rng.uniform(0.2, 1.5, len(edges)))
    labels = np.array([0, -1, 1, 1, 2, 2, -1, 0])
    points = np.flatnonzero(labels >= 0)
    others = LeftOut(graph, points, labels[points], 4)
    for silenced in ([], [1], [1, 4]):  # as if they had not been given
        if silenced:
            others.silence(silenced[-1])
        for law, point in zip(others.laws(), points, strict=True):
            rest = labels.copy()
            rest[[*points[silenced], point]] = -1
            np.testing.assert_allclose(law, dense_law(graph, rest, point, 4), atol=1e-6)


def two_regions() -> tuple[Graph, np.ndarray]:
    """Two grids of 6 x 6 joined by one edge, four labels in each."""
    known = dict.fromkeys((0, 5, 33, 18), 0) | dict.fromkeys((40, 47, 66, 70), 1)
    return grids(2, 6, 6, [(35, 36)]), labels_at(known, 72)


@pytest.mark.parametrize("wrong", range(36))
def test_a_wrong_label_inside_a_region_is_found_and_no_other(wrong):
    graph, labels = two_regions()
    assert suspect_labels(graph, labels, 2) == []
    if labels[wrong] >= 0 or wrong in (29, 34, 35):  # the bridge to the other region and beside it
        return
    labels[wrong] = 1
    found = suspect_labels(graph, labels, 2)
    assert [(s.point, s.given, s.instead) for s in found] == [(wrong, 1, 0)]
    assert found[0].p_instead - found[0].p_given > 0.5
    assert found[0].p_instead + found[0].p_given == pytest.approx(1)


def test_names_of_classes_and_points_do_not_matter():
    graph, labels = two_regions()
    labels[14] = 1
    labels[62] = 0
    order = np.random.default_rng(3).permutation(72)  # new number of every point
    moved = np.empty_like(labels)
    moved[order] = np.where(labels >= 0, 3 - labels, -1)
    plain = {s.point: s for s in suspect_labels(graph, labels, 2)}
    other = {s.point: s for s in suspect_labels(Graph(72, order[graph.edges]), moved, 5)}
    assert set(plain) == {14, 62}
    assert set(other) == set(order[[14, 62]].tolist())
    for point, suspect in plain.items():
        twin = other[int(order[point])]
        assert (twin.given, twin.instead) == (3 - suspect.given, 3 - suspect.instead)
        assert twin.p_instead == pytest.approx(suspect.p_instead, abs=1e-6)


def test_the_wrong_label_of_two_is_dropped_and_the_last_of_a_class_spared():
    graph, labels = two_regions()
    labels[[40, 47, 66, 70]] = -1
    labels[[14, 58]] = 1  # one in the wrong region, one alone in the right one
    assert [s.point for s in suspect_labels(graph, labels, 2)] == [14]
    against = labels_at({5: 0, 10: 1}, 16)  # each other
    assert suspect_labels(grid_graph(4, 4), against, 2, margin=0.0) == []


def test_points_that_nothing_reaches_are_not_judged():
    graph, labels = two_regions()
    lonely = Graph(74, np.concatenate([graph.edges, [(72, 73)]]))  # a part of its own
    found = suspect_labels(lonely, np.append(labels, [0, -1]), 2, margin=0.0)
    assert found == suspect_labels(graph, labels, 2, margin=0.0)
    assert suspect_labels(Graph(4, np.empty((0, 2), dtype=int)), [0, 0, 1, 1], 2, margin=0.0) == []


def test_one_class_has_no_rival_and_edges_that_repel_carry_nothing():
    graph, labels = two_regions()
    assert suspect_labels(graph, np.where(labels >= 0, 1, -1), 2, margin=0.0) == []
    labels[14] = 1
    repelling = Graph(
        72, np.concatenate([graph.edges, [(14, 40)]]), np.append(np.ones(graph.n_edges), -5.0)
    )
    assert suspect_labels(repelling, labels, 2) == suspect_labels(graph, labels, 2)


def test_bad_settings_are_refused():
    for labels, margin, message in (
        ([0, -1, -1, -1], 0.5, "2 or more"),
        ([0, 1, -1, -1], 1.0, "margin"),
        ([0, 1, -1], 0.5, "shape"),
        ([0, 1, 2, -1], 0.5, "states 0 to 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            suspect_labels(grid_graph(2, 2), labels, 2, margin=margin)


@pytest.mark.slow
def test_planted_labels_on_digits(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    sys.modules.pop("suspects", None)
    import suspects as benchmark

    scores = [benchmark.score(seed) for seed in range(8)]
    named, right, planted = np.sum([one["suspects"] for one in scores], axis=0)
    assert planted == 40
    assert right / named > 0.8
    assert right >= 30
    assert right >= np.sum([one["yardstick"] for one in scores], axis=0)[1]


def test_a_fitted_classifier_and_its_answer_are_asked_directly():
    graph, labels = two_regions()
    labels[14] = 1
    rule = TemperatureRule(grid=[0.0, 0.5, 1.0])
    fitted = PottsClassifier(method="paper", temperature=rule).fit(graph, labels)
    expected = suspect_labels(graph, labels, 2)
    assert suspects(fitted) == suspects(fitted.answer_) == expected
    assert [s.point for s in expected] == [14]
    assert suggest(fitted, 2) == suggest(fitted.answer_, 2) == suggest(fitted.equilibrium_, 2)
