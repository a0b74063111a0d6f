"""In which order to eliminate the nodes of a graph, and what that will cost.

Exact elimination costs q^(width+1) per node, so the order is everything. Greedy minimum fill is
good on trees, sparse random graphs and the arms of a shape; a sweep (reverse Cuthill-McKee) is good
on the grid-like core that remains. All mixtures "fill until the degree exceeds d, then sweep" are
tried, and the cheapest is taken.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Above this size bit sets of all nodes get slow, and minimum degree replaces minimum fill.
MAX_NODES_FOR_FILL = 4000


@dataclass(frozen=True, slots=True)
class BucketTree:
    """The elimination tree, its buckets numbered children first (post-order).

    `order[b]` is the node eliminated in bucket b; `separators[b]` lists, ascending, the buckets
    whose variables the message of b depends on; the first of them is its parent.
    """

    order: npt.NDArray[np.int64]
    separators: tuple[tuple[int, ...], ...]

    @property
    def width(self) -> int:
        """Largest separator: the treewidth bound that this order attains."""
        return max((len(s) for s in self.separators), default=0)

    def cost(self, q: int) -> float:
        """Number of clique states in all, sum_b q^(|separator| + 1)."""
        return float(sum(float(q) ** (len(s) + 1) for s in self.separators))


def bucket_tree(n: int, edges: npt.NDArray[np.int32], q: int, max_width: int) -> BucketTree | None:
    """The cheapest elimination found, or None when every one is wider than `max_width`."""
    adjacency: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges.tolist():
        adjacency[u].add(v)
        adjacency[v].add(u)
    best: BucketTree | None = None
    best_cost = np.inf
    for order in _candidate_orders(adjacency, max_width):
        tree = _eliminate(adjacency, order, max_width)
        if tree is not None and tree.cost(q) < best_cost:
            best, best_cost = tree, tree.cost(q)
    return best


def _candidate_orders(adjacency: list[set[int]], max_width: int) -> list[list[int]]:
    """Greedy elimination as far as it goes, and the same cut short and finished by a sweep."""
    by_fill = len(adjacency) <= MAX_NODES_FOR_FILL
    prefix, snapshots, remaining = _greedy(adjacency, by_fill, max_width)
    orders = [] if remaining else [prefix]
    for length, core in snapshots:
        orders.append(prefix[:length] + _sweep(core))
    return orders


def _greedy(
    adjacency: list[set[int]], by_fill: bool, max_width: int
) -> tuple[list[int], list[tuple[int, dict[int, set[int]]]], bool]:
    """Eliminate by minimum fill (or degree) while the degree stays within `max_width`.

    Returns the order, snapshots (number eliminated, remaining graph) taken just before the width
    first reached each new maximum, and whether nodes remain that are too wide.
    """
    graph = {v: set(nbrs) for v, nbrs in enumerate(adjacency)}
    bits = [sum(1 << u for u in nbrs) for nbrs in adjacency] if by_fill else []

    def score(v: int) -> tuple[int, int]:
        nbrs = graph[v]
        if not by_fill:
            return len(nbrs), 0
        mask = bits[v]
        missing = sum((mask & ~bits[u]).bit_count() - 1 for u in nbrs)  # each u lacks itself
        return missing // 2, len(nbrs)

    scores = {v: score(v) for v in graph}
    heap = [(s, v) for v, s in scores.items()]
    heapq.heapify(heap)
    order: list[int] = []
    snapshots: list[tuple[int, dict[int, set[int]]]] = []
    width = -1
    while heap:
        s, v = heapq.heappop(heap)
        if scores.get(v) != s:
            continue
        nbrs = graph[v]
        if len(nbrs) > width:
            # Sweeps pay on cores of grid-like width; keep few snapshots, they cost memory.
            if len(nbrs) >= 3 or len(nbrs) > max_width:
                snapshots.append((len(order), {u: set(w) for u, w in graph.items()}))
            width = len(nbrs)
        if len(nbrs) > max_width:
            return order, snapshots, True
        del graph[v], scores[v]
        order.append(v)
        touched = set(nbrs)
        for u in nbrs:
            graph[u].discard(v)
        for u in nbrs:
            new = nbrs - graph[u]
            new.discard(u)
            if new:
                graph[u] |= new
                if by_fill:
                    touched |= graph[u]
        if by_fill:
            mask = bits[v]
            for u in nbrs:
                bits[u] = (bits[u] | mask) & ~(1 << v) & ~(1 << u)
        for u in touched:
            fresh = score(u)
            if fresh != scores[u]:
                scores[u] = fresh
                heapq.heappush(heap, (fresh, u))
    return order, snapshots, False


def _sweep(core: dict[int, set[int]]) -> list[int]:
    """The remaining nodes in reverse Cuthill-McKee order: a narrow frontier moving through."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    nodes = sorted(core)
    number = {v: i for i, v in enumerate(nodes)}
    indices = [number[u] for v in nodes for u in sorted(core[v])]
    indptr = np.concatenate([[0], np.cumsum([len(core[v]) for v in nodes])])
    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(nodes), len(nodes)))
    return [nodes[i] for i in reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True)]


def _eliminate(
    adjacency: list[set[int]], order: list[int], max_width: int
) -> BucketTree | None:
    """Separators of an order, renumbered so that children come right before their parents."""
    n = len(order)
    position = {v: b for b, v in enumerate(order)}
    later: list[set[int]] = [set() for _ in range(n)]
    for b, v in enumerate(order):
        later[b] = {position[u] for u in adjacency[v] if position[u] > b}
    parents = np.full(n, -1)
    for b in range(n):
        if len(later[b]) > max_width:
            return None
        if later[b]:
            parent = min(later[b])
            parents[b] = parent
            later[parent] |= later[b]
            later[parent].discard(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    for b in range(n):
        if parents[b] >= 0:
            children[parents[b]].append(b)
    post_order: list[int] = []
    for root in np.flatnonzero(parents < 0).tolist():
        stack = [root]
        begin = len(post_order)
        while stack:  # pre-order with reversed children, then reversed: a post-order
            b = stack.pop()
            post_order.append(b)
            stack.extend(children[b])
        post_order[begin:] = post_order[begin:][::-1]
    number = np.empty(n, dtype=np.int64)
    number[post_order] = np.arange(n)
    separators = tuple(
        tuple(sorted(int(number[u]) for u in later[b])) for b in post_order
    )
    return BucketTree(np.array([order[b] for b in post_order], dtype=np.int64), separators)
