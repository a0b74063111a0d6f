"""The tests that a run makes on itself: silent where walkers are in equilibrium, loud where not."""

from __future__ import annotations

import numpy as np

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
