"""Averages of rounds of unequal length, and what they say of their errors."""

from __future__ import annotations

import numpy as np

from spinlearn import Graph, PottsModel
from spinlearn.engines.sampling.sums import LevelSums
from spinlearn.model.potts import ConditionedModel

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
