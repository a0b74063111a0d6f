"""Averages of rounds of unequal length."""

from __future__ import annotations

import numpy as np

from spinlearn import Graph, PottsModel
from spinlearn.analysis.level_sums import LevelSums
from spinlearn.core.free_part import FreePart

N_BLOCKS = 8
CHANCE = 0.3
LENGTHS = (2, 2, 2, 2, 60, 60)  # samples of a block in each round


def sums_of(rng: np.random.Generator) -> tuple[LevelSums, np.ndarray]:
    """Independent draws of two nodes, and all of them."""
    model = PottsModel(Graph(2, [(0, 1)]), 2)
    sums = LevelSums(FreePart.of(model), N_BLOCKS, 1)
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
    found = sums.averages()
    assert np.allclose(found.marginals[0, :, 1], drawn.mean(axis=0), atol=1e-6)
    agreed = np.mean(drawn[:, 0] == drawn[:, 1])
    assert np.allclose(found.edge_agreement[0], agreed, atol=1e-6)
    _, nodes, edges = sums.block_means(0)
    assert np.allclose(nodes.mean(axis=0), found.marginals[0], atol=1e-6)
    assert np.allclose(edges.mean(axis=0), found.edge_agreement[0], atol=1e-6)


def test_stated_errors_are_those_of_all_samples():
    """Rounds of two samples would make the error nearly three times as large, counted alike."""
    rng = np.random.default_rng(1)
    found = [sums_of(rng)[0].averages() for _ in range(300)]
    off = np.array([one.marginals[0, :, 1] - CHANCE for one in found])
    stated = np.array([one.std_error[0, :, 1] for one in found])
    exact = np.sqrt(CHANCE * (1 - CHANCE) / (N_BLOCKS * sum(LENGTHS)))
    assert abs(np.sqrt(np.mean(off**2)) / exact - 1) < 0.15
    assert 0.95 < np.sqrt(np.mean(stated**2)) / exact < 1.35
    assert np.mean(np.abs(off) < 2 * stated) > 0.93
