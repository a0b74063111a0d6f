"""Split R-hat: one for blocks that agree, larger for those that differ or drift."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn.engines.sampling.equilibration import LENGTH, EnergySeries

BLOCKS = np.arange(8)


def filled(rounds: int, shift=lambda block, t: 0.0) -> EnergySeries:
    rng = np.random.default_rng(0)
    series = EnergySeries(8, 1)
    for t in range(rounds):
        energies = rng.normal(size=8) + np.array([shift(block, t / rounds) for block in BLOCKS])
        series.add(energies, BLOCKS, np.zeros(8, dtype=np.int32))
        series.end_round()
    return series


@pytest.mark.parametrize("rounds", [40, LENGTH, 3 * LENGTH, 1000])
def test_independent_blocks_agree(rounds):
    assert filled(rounds).split_rhat()[0] == pytest.approx(1.0, abs=0.06)


def test_blocks_that_differ_or_drift_are_noticed():
    assert filled(400, lambda block, t: 3.0 * (block % 2)).split_rhat()[0] > 1.5
    assert filled(400, lambda block, t: 4.0 * t).split_rhat()[0] > 1.5


def test_merging_neighbours_keeps_all_samples():
    series = filled(5 * LENGTH)
    assert series.counts.sum() == 8 * 5 * LENGTH
    assert np.isnan(filled(5).split_rhat()[0])
