"""Error bars of very many averages, of which some are small by luck."""

from __future__ import annotations

import numpy as np

from spinlearn.engines.sampling.sums import guarded_errors

N_AVERAGES, N_BLOCKS, N_SAMPLES = 200_000, 16, 50  # samples of a block
CHANCES = (0.0005, 0.002, 0.01, 0.1, 0.5)


def scores(chance: float, rng: np.random.Generator) -> np.ndarray:
    """(mean - chance) / stated error of averages of independent samples."""
    blocks = rng.binomial(N_SAMPLES, chance, size=(N_BLOCKS, N_AVERAGES)) / N_SAMPLES
    means = blocks.mean(axis=0)
    spread = blocks.std(axis=0, ddof=1) / np.sqrt(N_BLOCKS)
    stated = guarded_errors(means[None], spread[None], np.array([N_BLOCKS * N_SAMPLES * 1.0]))[0]
    return np.asarray((means - chance) / stated)


def test_none_of_a_million_averages_is_off_by_six_of_its_errors():
    """With 0.7 of the error of independent samples as the least, the largest was 8.0."""
    rng = np.random.default_rng(0)
    for chance in CHANCES:
        z = scores(chance, rng)
        assert np.abs(z).max() < 6, chance
        assert np.mean(np.abs(z) < 2) > 0.93, chance


def test_no_probability_errs_by_more_than_a_half():
    stated = guarded_errors(np.array([[0.5]]), np.array([[3.0]]), np.array([2.0]))
    assert stated.item() == 0.5
