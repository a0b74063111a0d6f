"""Laws of the elimination order: what any bucket tree must satisfy, and known treewidths."""

from functools import partial
from itertools import combinations, repeat

import numpy as np
import pytest

from spinlearn.engines.exact import order as elimination_order
from spinlearn.engines.exact.order import BucketTree, bucket_tree
from spinlearn.errors import StoppedError
from tests.conftest import grid_graph


def as_edges(pairs):
    return np.array(list(pairs), dtype=np.int32).reshape(-1, 2)


def random_edges(n: int, share: float, seed: int):
    rng = np.random.default_rng(seed)
    return as_edges(pair for pair in combinations(range(n), 2) if rng.random() < share)


def tree_of(n: int, edges, max_width: int = 30) -> BucketTree:
    tree = bucket_tree(n, edges, 2, max_width)
    assert tree is not None
    return tree


def adjacent(n: int, edges) -> list[set[int]]:
    return [set(edges[(edges == v).any(axis=1)].ravel().tolist()) - {v} for v in range(n)]


def assert_lawful(tree: BucketTree, n: int, edges) -> None:
    order = tree.order.tolist()
    assert sorted(order) == list(range(n))
    assert len(tree.separators) == n
    # Neighbours of each node when it is eliminated, every time joining them into a clique.
    graph = dict(enumerate(adjacent(n, edges)))
    for b, (v, separator) in enumerate(zip(order, tree.separators, strict=True)):
        neighbours = graph.pop(v)
        assert list(separator) == sorted(set(separator))
        assert {order[c] for c in separator} == neighbours
        assert all(c > b for c in separator)
        for u in neighbours:
            graph[u] = (graph[u] | neighbours) - {u, v}
    # Each subtree is a run of consecutive buckets that ends with its root.
    sizes = [1] * n
    children: list[list[int]] = [[] for _ in range(n)]
    for b, separator in enumerate(tree.separators):
        end = b - 1
        for child in reversed(children[b]):
            assert child == end
            end -= sizes[child]
        sizes[b] = b - end
        if separator:
            children[separator[0]].append(b)


@pytest.mark.parametrize("share", [0.05, 0.15, 0.4, 0.9])
@pytest.mark.parametrize("seed", range(0, 8, 2))
def test_random_graphs_give_lawful_trees(share, seed, monkeypatch) -> None:
    n = 5 + 4 * seed
    edges = random_edges(n, share, seed)
    assert_lawful(tree_of(n, edges, max_width=n), n, edges)
    monkeypatch.setattr(elimination_order, "MAX_NODES_FOR_FILL", 10)  # beyond, minimum degree
    assert_lawful(tree_of(n, edges, max_width=n), n, edges)


ONE_BY_ONE = np.random.default_rng(0)
TRIANGLES = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]


@pytest.mark.parametrize(
    ("n", "edges", "width", "roots"),
    [
        (60, as_edges((v, ONE_BY_ONE.integers(v)) for v in range(1, 60)), 1, 1),  # a tree
        (7, as_edges((v, (v + 1) % 7) for v in range(7)), 2, 1),
        (7, as_edges(combinations(range(7), 2)), 6, 1),
        (7, as_edges(TRIANGLES), 2, 3),
        (5, as_edges([]), 0, 5),
        (0, as_edges([]), 0, 0),
    ],
    ids=["tree", "cycle", "complete", "parts", "no edges", "nothing"],
)
def test_known_widths(n: int, edges, width: int, roots: int) -> None:
    tree = tree_of(n, edges)
    assert tree.width == width
    assert sum(not separator for separator in tree.separators) == roots
    assert tree.cost(3) == sum(3.0 ** (len(separator) + 1) for separator in tree.separators)
    assert_lawful(tree, n, edges)


@pytest.mark.parametrize(("rows", "columns"), [(2, 30), (25, 4), (6, 6), (10, 50)])
def test_grids_are_little_wider_than_their_short_side(rows: int, columns: int) -> None:
    n, edges = rows * columns, grid_graph(rows, columns).edges
    tree = tree_of(n, edges)
    short = min(rows, columns)
    assert short <= tree.width <= short + 4
    assert tree.cost(2) <= n * 2.0 ** (short + 2)
    assert_lawful(tree, n, edges)


def test_width_limit_holds_when_it_binds() -> None:
    assert bucket_tree(7, as_edges(combinations(range(7), 2)), 2, 5) is None
    assert bucket_tree(7, as_edges(combinations(range(7), 2)), 2, 6) is not None
    edges = grid_graph(5, 30).edges
    for max_width in (5, 6, 7):
        tree = bucket_tree(150, edges, 2, max_width)
        assert tree is None or tree.width <= max_width
    assert bucket_tree(150, edges, 2, 4) is None  # the treewidth is 5


def test_a_search_that_is_stopped_has_found_a_lawful_tree_or_says_that_it_has_none() -> None:
    edges = grid_graph(5, 6).edges
    whole = tree_of(30, edges).cost(2)
    outcomes = []
    for allowed in (0, 1, 20, 40, 80, 160, 320, 640, 5000):
        asked = repeat(False, allowed)
        try:
            tree = bucket_tree(30, edges, 2, 30, stop=partial(next, asked, True))
        except StoppedError:
            outcomes.append("nothing")
            continue
        assert tree is not None
        assert_lawful(tree, 30, edges)
        assert tree.cost(2) >= whole
        outcomes.append("best" if tree.cost(2) == whole else "some")
    assert outcomes == sorted(outcomes, key=["nothing", "some", "best"].index)
    assert (outcomes[0], outcomes[-1]) == ("nothing", "best")


@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_the_bound_that_refuses_at_once_refuses_nothing_that_an_order_attains(seed):
    n = 6 + seed
    edges = random_edges(n, 0.15 + 0.06 * seed, seed)
    adjacency, never = adjacent(n, edges), repeat(False).__next__
    width = tree_of(n, edges).width
    assert not elimination_order._wider_than(adjacency, width, never)
    least = min(map(len, adjacency))
    assert least == 0 or elimination_order._wider_than(adjacency, least - 1, never)
