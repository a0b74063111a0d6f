"""What sampling runs say of themselves: equilibrium or not, averages of rounds and their errors."""

import numpy as np
import pytest

from spinlearn import Graph, PottsModel
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
from spinlearn.engines.sampling.sums import LevelSums, guarded_errors
from spinlearn.model.potts import ConditionedModel

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


def test_frozen_levels_and_uncrossed_jumps_break_the_slope():
    """Energies that fall as they fluctuate are in order."""
    assert not slope_breaks(*gaussian_levels(1000)).any()
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


# -- averages of rounds of unequal length ---------------------------------------------------------

N_BLOCKS = 8
CHANCE = 0.3
LENGTHS = (2, 2, 2, 2, 60, 60)  # samples of a block in each round


def sums_of(rng: np.random.Generator) -> tuple[LevelSums, np.ndarray]:
    """Independent draws of two nodes, and all of them."""
    model = PottsModel(Graph(2, [(0, 1)]), 2)
    sums = LevelSums(ConditionedModel.of(model), N_BLOCKS, 1)
    drawn = []
    for length in LENGTHS:
        for _ in range(length):
            states = (rng.random((N_BLOCKS, 2)) < CHANCE).astype(np.int8)
            sums.add(states, np.arange(N_BLOCKS))
            drawn.append(states)
        sums.end_round()
    return sums, np.concatenate(drawn)


def test_every_sample_counts_the_same():
    sums, drawn = sums_of(np.random.default_rng(0))
    found, _ = sums.averages()
    assert np.allclose(found.marginals[0, :, 1], drawn.mean(axis=0), atol=1e-6)
    agreed = np.mean(drawn[:, 0] == drawn[:, 1])
    assert np.allclose(found.edge_agreement[0], agreed, atol=1e-6)
    _, _, (nodes, edges) = sums.blocks(0)
    assert np.allclose(nodes.mean(axis=0), found.marginals[0], atol=1e-6)
    assert np.allclose(edges.mean(axis=0), found.edge_agreement[0], atol=1e-6)


def test_stated_errors_are_those_of_all_samples():
    """Rounds of two samples would make the error nearly three times as large, counted alike."""
    rng = np.random.default_rng(1)
    found = [sums_of(rng)[0].averages()[0] for _ in range(300)]
    off = np.array([one.marginals[0, :, 1] - CHANCE for one in found])
    stated = np.array([one.std_error[0, :, 1] for one in found])
    exact = np.sqrt(CHANCE * (1 - CHANCE) / (N_BLOCKS * sum(LENGTHS)))
    assert abs(np.sqrt(np.mean(off**2)) / exact - 1) < 0.15
    assert 0.95 < np.sqrt(np.mean(stated**2)) / exact < 1.35
    assert np.mean(np.abs(off) < 2 * stated) > 0.93


N_NODES, FEW, SLOW = 40, 4, 10  # nodes, those of them that move slowly, rounds from move to move
MANY_BLOCKS, ROUNDS = 16, 100


def uneven_sums(rng: np.random.Generator) -> LevelSums:
    """Nodes that are drawn anew for every sample, but for a few that change in steps of rounds."""
    model = PottsModel(Graph(N_NODES, np.empty((0, 2), dtype=int)), 2)
    sums = LevelSums(ConditionedModel.of(model), MANY_BLOCKS, 1)
    slow = np.zeros((MANY_BLOCKS, FEW))
    for number in range(ROUNDS):
        if number % SLOW == 0:
            slow = rng.random((MANY_BLOCKS, FEW)) < CHANCE
        for _ in range(3):
            states = (rng.random((MANY_BLOCKS, N_NODES)) < CHANCE).astype(np.int8)
            states[:, :FEW] = slow
            sums.add(states, np.arange(MANY_BLOCKS))
        sums.end_round()
    return sums


def test_a_few_averages_that_move_slowly_among_many_have_errors_of_their_own():
    """The mean of what all have in common and of their own would be 1.2 times too small."""
    rng = np.random.default_rng(2)
    found = [uneven_sums(rng).averages()[0] for _ in range(100)]
    off = np.array([one.marginals[0, :, 1] - CHANCE for one in found])
    stated = np.array([one.std_error[0, :, 1] for one in found])
    for nodes in (slice(0, FEW), slice(FEW, None)):
        assert np.mean(np.abs(off[:, nodes]) < 2 * stated[:, nodes]) > 0.92
    exact = np.sqrt(CHANCE * (1 - CHANCE) / (MANY_BLOCKS * ROUNDS / SLOW))
    assert 0.88 < np.sqrt(np.mean(stated[:, :FEW] ** 2)) / exact < 1.2


def test_rounds_count_as_separate_as_far_as_blocks_differ_no_more_than_they_explain():
    rng = np.random.default_rng(5)
    independent = next(sums_of(rng)[0].rows())
    assert 0.4 * len(LENGTHS) < independent.separate <= len(LENGTHS)
    model = PottsModel(Graph(2, [(0, 1)]), 2)
    frozen = LevelSums(ConditionedModel.of(model), N_BLOCKS, 1)
    states = (rng.random((N_BLOCKS, 2)) < 0.5).astype(np.int8)
    for number in range(20):
        states[0, 0] = number % 2  # one node of one block moves
        frozen.add(states, np.arange(N_BLOCKS))
        frozen.end_round()
    assert next(frozen.rows()).separate < 2


# -- very many averages, of which some errors are small by luck -----------------------------------

N_AVERAGES, N_SAMPLES = 200_000, 50  # samples of a block
CHANCES = (0.0005, 0.002, 0.01, 0.1, 0.5)


def guarded_scores(chance: float, rng: np.random.Generator) -> np.ndarray:
    """(mean - chance) / stated error of averages of independent samples."""
    blocks = rng.binomial(N_SAMPLES, chance, size=(MANY_BLOCKS, N_AVERAGES)) / N_SAMPLES
    means = blocks.mean(axis=0)
    spread = blocks.std(axis=0, ddof=1) / np.sqrt(MANY_BLOCKS)
    stated = guarded_errors(means[None], spread[None], np.array([MANY_BLOCKS * N_SAMPLES * 1.0]))[0]
    return np.asarray((means - chance) / stated)


def test_none_of_a_million_averages_is_off_by_six_of_its_errors():
    """With 0.7 of the error of independent samples as the least, the largest was 8.0."""
    rng = np.random.default_rng(0)
    for chance in CHANCES:
        z = guarded_scores(chance, rng)
        assert np.abs(z).max() < 6, chance
        assert np.mean(np.abs(z) < 2) > 0.93, chance


def test_no_probability_errs_by_more_than_a_half():
    stated = guarded_errors(np.array([[0.5]]), np.array([[3.0]]), np.array([2.0]))
    assert stated.item() == 0.5
