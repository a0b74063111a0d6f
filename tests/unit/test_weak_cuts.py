"""The weakest cut by Fiedler's vector, against all eigenvectors by LAPACK."""

import numpy as np
import pytest

from spinlearn import Graph
from spinlearn.default.forest import FEWEST, LEAST_PART, weakest_cut
from spinlearn.linear import weight_matrix


def swept(weights):
    """Least coupling across of the cuts along the second eigenvector, as the text says it."""
    degrees = weights.sum(axis=1)
    roots = np.sqrt(degrees)
    _, vectors = np.linalg.eigh(weights / np.outer(roots, roots))
    order = np.argsort(vectors[:, -2] / roots, kind="stable")
    sides = [order[:k] for k in range(1, len(order))]
    volumes = np.array([degrees[side].sum() for side in sides])
    smaller = np.minimum(volumes, degrees.sum() - volumes)
    allowed = smaller >= min(LEAST_PART * degrees.sum(), smaller.max())
    across = [
        weights[np.ix_(side, np.setdiff1d(order, side))].sum()
        for side, is_allowed in zip(sides, allowed, strict=True)
        if is_allowed
    ]
    return min(across)


def matrix_of(weights):
    u, v = np.nonzero(np.triu(weights, 1))
    return weight_matrix(Graph(len(weights), np.column_stack([u, v]), weights[u, v]))


def random_weights(n, rng, density=0.3):
    """A connected graph: a ring and chance links."""
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    weights[np.arange(n - 1), np.arange(1, n)] += 0.5
    weights[0, n - 1] += 0.5
    return weights + weights.T


@pytest.mark.parametrize("n", [FEWEST, 7, 20, 60])
def test_cuts_are_those_along_the_second_eigenvector(n):
    rng = np.random.default_rng(n)
    for _ in range(10):
        weights = random_weights(n, rng)
        found = weakest_cut(matrix_of(weights), np.arange(n))
        assert found == pytest.approx(swept(weights), rel=1e-9)


def test_two_groups_that_hardly_hang_together_come_apart_at_the_link():
    rng = np.random.default_rng(0)
    weights = np.zeros((40, 40))
    weights[:20, :20], weights[20:, 20:] = random_weights(20, rng), random_weights(20, rng)
    weights[3, 33] = weights[33, 3] = 0.01
    assert weakest_cut(matrix_of(weights), np.arange(40)) == pytest.approx(0.01)


def test_of_a_group_in_pieces_the_largest_is_looked_at_and_small_ones_have_no_cut():
    rng = np.random.default_rng(0)
    large, small = random_weights(15, rng), random_weights(7, rng)
    weights = np.zeros((25, 25))  # three points have no link at all
    weights[:7, :7], weights[7:22, 7:22] = small, large
    matrix = matrix_of(weights)
    assert weakest_cut(matrix, np.arange(25)) == pytest.approx(swept(large))
    assert weakest_cut(matrix, np.arange(7)) == pytest.approx(swept(small))
    assert weakest_cut(matrix, np.arange(FEWEST - 1)) == 0.0
    assert weakest_cut(matrix, np.array([22, 23, 24, 0, 1, 2])) == 0.0
    assert weakest_cut(matrix, np.arange(0)) == 0.0
