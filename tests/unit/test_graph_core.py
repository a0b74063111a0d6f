"""Graph: what goes in, in whatever order, comes out as one checked and immutable edge list."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spinlearn.errors import InvalidInputError
from spinlearn.model.graph import Graph
from tests.energy_models import dense

N = 8
pairs = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] != p[1])
edge_lists = st.lists(pairs, max_size=20, unique_by=lambda p: tuple(sorted(p)))


@settings(max_examples=50, deadline=None)
@given(edge_lists, st.randoms(use_true_random=False))
def test_order_and_direction_of_edges_do_not_matter(edges, random):
    weights = np.arange(1.0, len(edges) + 1)
    graph = Graph(N, edges, weights)
    shuffled = list(zip(edges, weights, strict=True))
    random.shuffle(shuffled)
    again = Graph(N, [p[::-1] for p, _ in shuffled], [w for _, w in shuffled])
    np.testing.assert_array_equal(graph.edges, again.edges)
    np.testing.assert_array_equal(graph.weights, again.weights)
    expected = np.zeros((N, N))
    for (u, v), weight in zip(edges, weights, strict=True):
        expected[u, v] = expected[v, u] = weight
    np.testing.assert_array_equal(dense(graph), expected)


@settings(max_examples=50, deadline=None)
@given(edge_lists)
def test_csr_view_lists_each_edge_at_both_ends(edges):
    graph = Graph(N, edges)
    assert np.all(graph.edges[:, 0] < graph.edges[:, 1])
    assert sorted(map(tuple, graph.edges.tolist())) == list(map(tuple, graph.edges.tolist()))
    for node in range(N):
        row = slice(graph.indptr[node], graph.indptr[node + 1])
        expected = sorted({v for e in edges for v in e if node in e and v != node})
        assert graph.neighbors[row].tolist() == expected
        for neighbor, edge in zip(graph.neighbors[row], graph.edge_ids[row], strict=True):
            assert graph.edges[edge].tolist() == sorted([node, neighbor])
    assert graph.degrees.sum() == 2 * graph.n_edges
    np.testing.assert_array_equal(graph.node_sums(graph.weights), dense(graph).sum(axis=1))


def test_self_loops_and_zero_weights_are_dropped_and_negative_weights_kept():
    graph = Graph(4, [[1, 1], [2, 0], [3, 1], [2, 3]], [5.0, -2.0, 0.0, 1.0])
    assert graph.edges.tolist() == [[0, 2], [2, 3]]
    assert graph.weights.tolist() == [-2.0, 1.0]


def test_duplicates():
    edges, weights = [[0, 1], [1, 2], [1, 0]], [1.0, 2.0, 3.0]
    with pytest.raises(InvalidInputError, match=r"more than once.*\(0, 1\)"):
        Graph(3, edges, weights)
    assert Graph(3, edges, weights, duplicates="sum").weights.tolist() == [4.0, 2.0]
    assert Graph(3, edges, weights, duplicates="first").weights.tolist() == [1.0, 2.0]
    assert Graph(3, [[0, 1], [1, 0]], [1.0, -1.0], duplicates="sum").n_edges == 0
    with pytest.raises(InvalidInputError, match="'sum' or 'first'"):
        Graph(3, edges, weights, duplicates="last")


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, sparse.coo_matrix, sparse.lil_array]
)
def test_from_sparse_reads_any_symmetric_matrix(form):
    matrix = np.array([[9.0, 1.0, 0.0], [1.0, 0.0, -2.0], [0.0, -2.0, 0.0]])
    graph = Graph.from_sparse(form(matrix))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.weights.tolist() == [1.0, -2.0]


def test_from_sparse_adds_stored_duplicates_and_ignores_stored_zeros():
    rows, columns = [0, 1, 0, 1, 1, 2], [1, 0, 1, 0, 2, 1]
    matrix = sparse.coo_array(([1.0, 1.0, 2.0, 2.0, 0.0, 0.0], (rows, columns)), shape=(3, 3))
    graph = Graph.from_sparse(matrix)
    assert (graph.edges.tolist(), graph.weights.tolist()) == ([[0, 1]], [3.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, [[0, 3]]), "node 3, but the graph has nodes 0 to 2"),
        ((3, [[0, -1]]), "node -1"),
        ((3, [[0, 1]], [np.nan]), "NaN or infinite"),
        ((3, [[0, 1]], [1.0, 2.0]), "shape"),
        ((3, [[0, 1, 2]]), r"shape \(m, 2\)"),
        ((3, [[0.5, 1]]), "whole numbers"),
        ((0, []), "whole number >= 1"),
        ((2.5, []), "whole number"),
        ((np.inf, []), "whole number"),
        ((2**31, []), "too large"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        Graph(*arguments)


def test_graph_is_immutable_and_keeps_no_reference_to_its_input():
    weights = np.array([1.0, 2.0])
    graph = Graph(3, np.array([[0, 1], [1, 2]]), weights)
    weights[:] = 0
    assert graph.weights.tolist() == [1.0, 2.0]
    with pytest.raises(AttributeError):
        graph.n_nodes = 5
    other = graph.with_weights([7.0, 8.0])
    assert (other.edges.tolist(), other.weights.tolist()) == ([[0, 1], [1, 2]], [7.0, 8.0])
