"""The tests that a run makes on itself: silent where walkers are in equilibrium, loud where not."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn.engines.sampling.density import LENGTH, LevelEnergies
from spinlearn.engines.sampling.equilibration import (
    FALSE_ALARM,
    MAX_DRIFT,
    contrast,
    contrast_limit,
    drift,
    slope_breaks,
    start_bias,
)

STARTS = np.arange(8) % 2


def test_false_alarms_are_as_rare_as_promised():
    rng = np.random.default_rng(0)
    limit = contrast_limit(8, 0.01)
    alarms = [contrast(rng.normal(size=(8, 1)), STARTS) > limit for _ in range(20_000)]
    assert 0.007 < np.mean(alarms) < 0.013
    assert contrast_limit(8) > limit
    assert contrast_limit(16, FALSE_ALARM) < contrast_limit(8, FALSE_ALARM)


def test_a_start_that_is_remembered_shows_however_many_averages_hide_it():
    rng = np.random.default_rng(1)
    means = rng.normal(size=(8, 50))
    assert contrast(means, STARTS) < contrast_limit(8)
    means[1::2, :5] += 40.0
    assert contrast(means, STARTS) > contrast_limit(8)
    assert contrast(means, STARTS, floor=1e6) < 1  # nothing that so few samples could see


def test_frozen_blocks_that_differ_are_infinitely_apart_and_equal_ones_not_at_all():
    assert contrast(STARTS[:, None].astype(float), STARTS) == np.inf
    assert contrast(np.ones((8, 3)), STARTS) == 0
    assert contrast(np.ones((2, 3)), np.array([0, 1])) == 0  # one block of each tells nothing


def test_blocks_that_remember_their_start_widen_the_error_by_half_of_what_they_differ_by():
    """Blocks of one start are right, those of the other off by one: the mean is off by a half."""
    rng = np.random.default_rng(3)
    means = rng.normal(0.0, 0.01, size=(8, 50))
    means[1::2, :5] += 1.0
    bias = np.sqrt(start_bias(means, STARTS, contrast(means, STARTS)))
    assert np.all(np.abs(bias[:5] - 0.5) < 0.02)
    assert np.all(bias[5:] < 0.02)
    alone = np.sqrt(start_bias(means, STARTS, together=1.0))  # hidden among very many others
    assert np.all(np.abs(alone[:5] - 0.5) < 0.1)
    assert np.all(alone[5:] == 0)


def test_blocks_that_have_forgotten_their_start_hardly_widen_the_error():
    rng = np.random.default_rng(4)
    added = []
    for _ in range(2_000):
        means = rng.normal(size=(8, 3))
        added.append(start_bias(means, STARTS, contrast(means, STARTS)).mean())
    assert np.mean(added) < 0.05 / 8  # of the variance of the mean, 1 / 8
    assert np.mean(np.array(added) > 0) < 0.05


def test_drift_counts_standard_errors_and_skips_what_was_not_visited():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 16, 3))
    second[:, 1] += 10
    second[:, 2] = np.nan
    scores = drift(first, second)
    assert scores[0] < MAX_DRIFT < scores[1]
    assert scores[2] == 0


def gaussian_levels(n: float) -> tuple[np.ndarray, ...]:
    """n independent levels of a two-state system of gap 1: <E> and its variance at every beta."""
    betas = np.linspace(0.0, 3.0, 13)
    p = 1 / (1 + np.exp(betas))
    return betas, n * p, n * p * (1 - p), np.full(13, 0.01)


def test_energies_that_fall_as_they_fluctuate_are_in_order():
    assert not slope_breaks(*gaussian_levels(1000)).any()


def test_frozen_levels_and_uncrossed_jumps_break_the_slope():
    betas, means, variances, errors = gaussian_levels(1000)
    frozen = means.copy()
    frozen[6:] = means[6]
    assert slope_breaks(betas, frozen, variances, errors)[6:].all()
    jump = np.where(np.arange(13) >= 6, means - 400, means)
    assert np.flatnonzero(slope_breaks(betas, jump, variances, errors)).tolist() == [5, 6]
    crossed = np.arange(12) == 5
    assert not slope_breaks(betas, jump, variances, errors, crossed).any()
    assert slope_breaks(betas, frozen, variances, errors, np.ones(12, dtype=bool))[6:].all()


def energies_of(rounds: int, shift=lambda block, t: 0.0) -> LevelEnergies:
    """Of eight blocks at one level, a sample of each a round."""
    rng, blocks = np.random.default_rng(0), np.arange(8)
    energies = LevelEnergies(8, 1)
    for t in range(rounds):
        shifts = [shift(block, t / rounds) for block in blocks]
        energies.add(50.0 + rng.normal(size=8) + shifts, blocks, np.zeros(8, dtype=np.int32))
        energies.end_round()
    return energies


@pytest.mark.parametrize("rounds", [40, LENGTH, 3 * LENGTH, 1000])
def test_split_rhat_of_independent_blocks_is_one(rounds):
    assert energies_of(rounds).split_rhat()[0] == pytest.approx(1.0, abs=0.06)


def test_split_rhat_notices_blocks_that_differ_or_drift():
    assert energies_of(400, lambda block, t: 3.0 * (block % 2)).split_rhat()[0] > 1.5
    assert energies_of(400, lambda block, t: 4.0 * t).split_rhat()[0] > 1.5
    assert np.isnan(energies_of(5).split_rhat()[0])


def test_merging_neighbours_of_a_series_keeps_all_samples():
    energies = energies_of(5 * LENGTH)
    assert energies.counts.sum() == energies.visits.sum() == 8 * 5 * LENGTH
    (mean,), (variance,) = energies.moments()
    assert mean == pytest.approx(energies.block_means().mean(), rel=1e-12)
    assert (mean, variance) == pytest.approx((50.0, 1.0), abs=0.1)
