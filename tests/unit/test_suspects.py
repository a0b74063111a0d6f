"""Suspect labels: the left-out law against clamping, planted errors found, right labels spared."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from spinlearn.core.graph import Graph
from spinlearn.energies import min_cut
from spinlearn.engines import Enumeration
from spinlearn.errors import InvalidInputError
from spinlearn.suspects import STRENGTH, left_out_laws, suspects
from tests.conftest import grid_graph

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_left_out_law_is_that_of_the_model_without_the_label():
    rng = np.random.default_rng(0)
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (1, 4), (2, 5)]
    graph = Graph(6, edges, rng.uniform(0.5, 1.5, len(edges)))
    labels = np.array([0, -1, 1, -1, 2, 2])
    temperature = 0.9
    points = np.flatnonzero(labels >= 0)
    laws = left_out_laws(graph, labels, points, 3, np.array([temperature]), 60_000, 1)
    for law, point in zip(laws, points, strict=True):
        rest = labels.copy()
        rest[point] = -1
        model = min_cut(graph, rest, 3, label_strength=STRENGTH * temperature)
        exact = Enumeration().run(model, [temperature]).marginals[0, point]
        np.testing.assert_allclose(law, exact, atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_label_inside_a_region_is_found_and_no_other(seed):
    grid = grid_graph(6, 6)
    graph = Graph(72, np.concatenate([grid.edges, grid.edges + 36, [(35, 36)]]))
    labels = np.full(72, -1)
    labels[[0, 5, 33, 18]] = 0
    labels[[40, 47, 66, 70]] = 1
    labels[14] = 1  # in the middle of the first region
    found = suspects(graph, labels, 2, [0.4, 0.6], seed=seed)
    assert [(s.point, s.given, s.instead) for s in found] == [(14, 1, 0)]
    assert found[0].p_instead > 0.9
    labels[14] = 0
    assert suspects(graph, labels, 2, [0.4, 0.6], seed=seed) == []


def test_two_labels_against_each_other_are_both_spared():
    graph = grid_graph(4, 4)
    labels = np.full(16, -1)
    labels[[5, 10]] = [0, 1]
    assert suspects(graph, labels, 2, [0.5], seed=0) == []


def test_bad_settings_are_refused():
    graph = grid_graph(2, 2)
    with pytest.raises(InvalidInputError, match="2 or more"):
        suspects(graph, [0, -1, -1, -1], 2, [0.5])
    with pytest.raises(InvalidInputError, match="margin"):
        suspects(graph, [0, 1, -1, -1], 2, [0.5], margin=1.0)


def test_planted_labels_on_digits(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    sys.modules.pop("suspects", None)
    import suspects as benchmark

    counts = np.sum([benchmark.score(500, seed, n_samples=128) for seed in range(4)], axis=0)
    named, right = counts
    assert right / named > 0.8
    assert right >= 10  # of 20
