"""The minimum cut against enumeration and SciPy; the lattice of all minimum cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from spinlearn.kernels.cuts import SINK, SOURCE, max_flow
from spinlearn.minimizers import minimum_cut
from spinlearn.model.graph import Graph
from tests.cut_models import ferromagnets, ground_states


@settings(max_examples=200)
@given(ferromagnets())
def test_extreme_cuts_bound_all_minimum_cuts(model):
    minima = ground_states(model)
    found = minimum_cut(model)
    least = model.energy(minima[0])
    assert found.energy == pytest.approx(least, abs=2 * model.energy_resolution)
    assert found.lower_bound == pytest.approx(least, abs=2 * model.energy_resolution)
    # The least and the greatest element of the lattice, nothing looser.
    np.testing.assert_array_equal(found.fewest_ones, minima.min(axis=0))
    np.testing.assert_array_equal(found.fewest_zeros, minima.max(axis=0))
    np.testing.assert_array_equal(found.undecided, minima.min(axis=0) != minima.max(axis=0))
    np.testing.assert_array_equal(found.labels, found.fewest_ones)
    assert 2**found.n_parts <= len(minima) <= 2**found.n_blocks
    assert found.unique == (len(minima) == 1)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(60, 0.02), (60, 0.1), (60, 0.5), (900, 0.005)]),
)
def test_directed_flow_of_the_kernel_equals_scipy(seed, size):
    """Different capacities in the two directions, on graphs far beyond enumeration."""
    rng = np.random.default_rng(seed)
    n, density = size
    matrix = np.triu(rng.random((n, n)) < density, 1)
    graph = Graph(n, np.argwhere(matrix))
    capacity = rng.integers(0, 20, 2 * graph.n_edges).astype(float)
    terminal = rng.integers(-40, 41, n) * (rng.random(n) < 0.4).astype(float)
    rows = np.repeat(np.arange(n), graph.degrees)
    # The slots of an edge are 2e and 2e + 1; the lower end has the even one.
    slots = 2 * graph.edge_ids + (rows > graph.neighbors)
    arcs = np.column_stack([graph.neighbors, slots]).astype(np.int32)
    whole = np.zeros((n + 2, n + 2), np.int32)
    whole[rows, graph.neighbors] = capacity[slots]
    whole[n, :n], whole[:n, n + 1] = np.maximum(terminal, 0), np.maximum(-terminal, 0)
    expected = maximum_flow(csr_array(whole), n, n + 1).flow_value

    residual, left = capacity.copy(), terminal.copy()
    tree = np.empty(n, np.int8)
    work, trees = np.empty((2, n), np.int32), np.empty((2, n, 2), np.int32)
    flow = max_flow(
        graph.indptr, arcs, residual, left, 0.0, tree, *trees, work[0], np.empty(n, np.bool_),
        work[1],
    )  # fmt: skip
    assert flow == expected
    # Both trees are minimum cuts of the network that was given.
    for source_side in (tree == SOURCE, tree != SINK):
        inside = np.concatenate([source_side, [True, False]])
        assert whole[np.ix_(inside, ~inside)].sum() == expected
    # What was pushed is a flow: conserved at every node, within capacity, in pairs.
    assert np.all(residual >= 0)
    np.testing.assert_array_equal(residual[::2] + residual[1::2], capacity[::2] + capacity[1::2])
    leaving = np.bincount(rows, weights=(capacity - residual)[slots], minlength=n)
    np.testing.assert_array_equal(leaving, terminal - left)


@settings(max_examples=60)
@given(ferromagnets(), st.integers(0, 2**32 - 1))
def test_any_pair_cost_that_makes_a_cut_is_minimised(model, seed):
    """2 V(0,1) >= V(0,0) + V(1,1), with states that differ even where neighbours agree."""
    own = np.random.default_rng(seed).normal(size=2)
    cost = np.array([[own[0], own.mean() + 0.3], [own.mean() + 0.3, own[1]]])
    other = model.replace(pair_cost=cost)
    found = minimum_cut(other)
    minima = ground_states(other)
    assert found.energy == pytest.approx(other.energy(minima[0]), abs=1e-9)
    # The same with all signs turned: couplings < 0, costs of a frustrated table.
    turned = model.replace(couplings=-model.couplings, pair_cost=-cost)
    assert minimum_cut(turned).energy == pytest.approx(found.energy, abs=1e-9)
