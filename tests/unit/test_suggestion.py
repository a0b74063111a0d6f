"""Suggestions: gains against closed forms, spread batches, and better labels than at random."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from spinlearn.advice.suggestion import best_batch, pair_gains, suggest, telling_temperatures
from spinlearn.engines import Enumeration, JunctionTree
from spinlearn.errors import InvalidInputError
from spinlearn.model.graph import Graph
from spinlearn.model.phases import Phase, phases
from spinlearn.model.potts import PottsModel
from tests.conftest import grids, labels_at

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def two_islands() -> PottsModel:
    """Two grids of 4 x 4 without a bridge: a label in the first, none in the second."""
    return PottsModel(grids(2, 4, 4), 2, clamped=labels_at({0: 0}, 32))


def exact_gain(model: PottsModel, temperature: float, i: int, j: int) -> float:
    """sum_c max_s p_ij(c, s) - max_s p_j(s) by clamping i."""
    plain = Enumeration().run(model, [temperature]).marginals[0]
    success = 0.0
    for c in range(model.n_states):
        clamped = np.where(np.arange(model.n_nodes) == i, c, model.clamped)
        after = Enumeration().run(model.replace(clamped=clamped), [temperature]).marginals[0]
        success += plain[i, c] * after[j].max()
    return success - plain[j].max()


def test_gains_are_those_of_clamping():
    rng = np.random.default_rng(0)
    graph = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 4)], rng.uniform(0.5, 2, 6))
    model = PottsModel(graph, 2, clamped=[0, -1, -1, -1, -1, 1])
    free = model.free_nodes
    states = JunctionTree().draw(model, 0.8, 40_000, seed=1)
    gains = pair_gains(states, 2, free, free)
    for (a, i), (b, j) in product(enumerate(free), enumerate(free)):
        assert gains[a, b] == pytest.approx(max(exact_gain(model, 0.8, i, j), 0), abs=0.012)


def test_few_labellings_do_not_promise_gains_between_independent_points():
    states = np.random.default_rng(0).integers(0, 5, (64, 40), dtype=np.int8)
    points = np.arange(40)
    gains = pair_gains(states, 5, points, points)
    off = gains[~np.eye(40, dtype=bool)]
    assert off.mean() < 0.03  # the plain estimate, from one sample, says 0.15 and more
    assert np.diag(gains).mean() > 0.6


def test_a_batch_is_spread_over_the_regions():
    model = two_islands()
    equilibrium = JunctionTree().run(model, [0.0, 0.4, 0.8, 1.2])
    first, second = suggest(equilibrium, 2, temperatures=[0.5], seed=0)
    assert first.point >= 16  # the island without a label
    assert first.gain > 5
    assert second.point < 16 or second.gain < 0.2 * first.gain


def test_greedy_batches_never_repeat_and_lose_value():
    gains = np.random.default_rng(1).random((30, 50))
    batch = best_batch(gains, np.arange(30) + 7, 10)
    assert len({s.point for s in batch}) == 10
    assert np.all(np.diff([s.gain for s in batch]) <= 0)
    assert batch[0].point == 7 + int(np.argmax(gains.sum(axis=1)))


def test_labelled_points_are_not_suggested_and_counts_are_checked():
    model = two_islands()
    equilibrium = JunctionTree().run(model, [0.3, 0.6])
    everything = suggest(equilibrium, 31, temperatures=[0.6], n_samples=16)
    assert sorted(s.point for s in everything) == list(range(1, 32))
    for n in (0, 32):
        with pytest.raises(InvalidInputError, match="1 to that many"):
            suggest(equilibrium, n)
    with pytest.raises(InvalidInputError, match="no positive temperature"):
        telling_temperatures(equilibrium.at([0.0]))


def test_telling_temperatures_lie_in_the_ordered_phases():
    run = JunctionTree().run(two_islands(), [0.0, 0.4, 0.8, 1.2, 20.0, np.inf])
    ordered = [part.high for part in phases(run).intervals() if part.phase != Phase.PARAMAGNETIC]
    found = telling_temperatures(run)
    assert len(found) == 3
    assert np.all((found > 0) & (found < max(ordered)))


@pytest.mark.slow
def test_suggestions_beat_random_labels_on_digits(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    sys.modules.pop("suggest", None)
    import suggest as benchmark

    curves = benchmark.compare(
        "digits", runs=4, n_labels=6, batch=3, points=300, ways=("suggest", "random")
    )
    final = {name: values[:, 1:].mean(axis=1) for name, values in curves.items()}
    assert final["suggest"].mean() < final["random"].mean()
