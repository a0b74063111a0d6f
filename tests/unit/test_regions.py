"""Regions that walkers move: which are found, which are kept."""

from __future__ import annotations

import numpy as np

from spinlearn.engines.sampling.move_sets import harvest, regions_of
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel


def chain_of_cliques(cliques: int, size: int) -> Graph:
    inner = [
        (i + c, j + c)
        for c in range(0, cliques * size, size)
        for i in range(size)
        for j in range(i)
    ]
    between = [(c - 1, c) for c in range(size, cliques * size, size)]
    return Graph(cliques * size, inner + between)


def sets_of(regions):
    return [set(part.tolist()) for part in np.split(regions.nodes, regions.ptr[1:-1])]


def test_groups_of_the_graph_are_regions_without_their_labels():
    clamped = np.full(60, -1)
    clamped[0] = 1
    model = PottsModel(chain_of_cliques(6, 10), 2, clamped=clamped)
    nothing = np.empty((0, 60), dtype=np.int8)
    found = sets_of(harvest(model, nothing, None, np.random.default_rng(0)))
    assert found[0] == set(range(1, 60))
    for c in range(0, 60, 10):
        assert set(range(c, c + 10)) - {0} in found
    assert all(len(nodes) <= 30 for nodes in found[1:])


def test_pieces_where_labellings_differ_are_regions():
    model = PottsModel(Graph(40, [(i, i + 1) for i in range(39)]), 2)
    labellings = np.zeros((2, 40), dtype=np.int8)
    labellings[1, 7:12] = 1
    found = sets_of(harvest(model, labellings, labellings[0], np.random.default_rng(0)))
    assert set(range(7, 12)) in found


def test_regions_that_hardly_move_are_dropped():
    model = PottsModel(chain_of_cliques(3, 4), 2)
    library = regions_of(model, [np.arange(12), np.arange(4), np.arange(4, 8), np.arange(8, 12)])
    kept = library.busy(model, np.array([1000, 0, 300, 5]))
    assert sets_of(kept) == [set(range(12)), {4, 5, 6, 7}]
    np.testing.assert_array_equal(kept.borders, [[4, 3], [7, 8]])
    np.testing.assert_array_equal(kept.border_ptr, [0, 0, 2])
    assert library.busy(model, np.zeros(4, dtype=np.int64)).count == 0
