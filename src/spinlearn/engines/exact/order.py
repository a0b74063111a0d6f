"""In which order to eliminate the nodes of a graph at the least cost.

Exact elimination costs q^(width+1) per node, so the order is everything. Greedy minimum fill is
good on trees, sparse random graphs and the arms of a shape, the more so when ties are decided along
the graph's longest direction; a sweep (reverse Cuthill-McKee) is good on the grid-like core that
remains. All mixtures "fill until the degree exceeds d, then sweep" are tried, and the cheapest is
taken.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.errors import StoppedError

# Above this size bit sets of all nodes get slow: minimum degree replaces minimum fill, and only the
# first core is swept, so that a graph far too wide is given up within seconds.
MAX_NODES_FOR_FILL = 4000
SWEPT_WIDTH = 3  # cores of smaller degree are left to the greedy part

Stop = Callable[[], bool]  # asked at every node


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


def bucket_tree(
    n: int, edges: npt.NDArray[np.int32], q: int, max_width: int, stop: Stop = lambda: False
) -> BucketTree | None:
    """The cheapest elimination found until `stop()`, None if all are wider than `max_width`."""
    adjacency: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges.tolist():
        adjacency[u].add(v)
        adjacency[v].add(u)
    if _wider_than(adjacency, max_width, stop):
        return None
    best: BucketTree | None = None
    best_cost = np.inf
    try:
        for order in _candidate_orders(adjacency, max_width, stop):
            tree = _eliminate(adjacency, order, max_width, q, best_cost, stop)
            if tree is not None:
                best, best_cost = tree, tree.cost(q)
    except StoppedError:
        if best is None:
            raise
    return best


def _check(stop: Stop) -> None:
    if stop():
        raise StoppedError("stopped before an elimination order was found")


def _wider_than(adjacency: list[set[int]], max_width: int, stop: Stop) -> bool:
    """Whether a lower bound shows that no order is narrow enough, in a fraction of their time.

    No minor of a graph is wider than it, and every graph is at least as wide as its least degree.
    Minors come from contracting the node of least degree into its least connected neighbour.
    """
    graph = dict(enumerate(map(set, adjacency)))
    heap = [(len(nbrs), v) for v, nbrs in graph.items()]
    heapq.heapify(heap)
    while heap:
        _check(stop)
        degree, v = heapq.heappop(heap)
        if v not in graph or len(graph[v]) != degree:
            continue
        if degree > max_width:
            return True
        nbrs = graph.pop(v)
        for u in nbrs:
            graph[u].discard(v)
        if nbrs:
            into = min(nbrs, key=lambda u: (len(graph[u]), u))
            gained = nbrs - graph[into] - {into}
            graph[into] |= gained
            for u in gained:
                graph[u].add(into)
        for u in nbrs:
            heapq.heappush(heap, (len(graph[u]), u))
    return False


def _candidate_orders(adjacency: list[set[int]], max_width: int, stop: Stop) -> Iterator[list[int]]:
    """Greedy elimination as far as it goes, and the same cut short and finished by a sweep."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = len(adjacency)
    small = n <= MAX_NODES_FOR_FILL
    for ties in (list(range(n)), _depths(adjacency)) if small else (list(range(n)),):
        prefix, marks = _greedy(adjacency, small, ties, max_width, stop)
        if len(prefix) == n:
            yield prefix
        graph = dict(enumerate(map(set, adjacency)))
        done = 0
        for mark in marks if small else marks[:1]:
            for v in prefix[done:mark]:
                _check(stop)
                _remove(graph, v)
            done = mark
            # What remains in reverse Cuthill-McKee order: a narrow frontier moving through.
            nodes = sorted(graph)
            number = {v: i for i, v in enumerate(nodes)}
            indices = [number[u] for v in nodes for u in sorted(graph[v])]
            indptr = np.concatenate([[0], np.cumsum([len(graph[v]) for v in nodes])])
            core = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(nodes),) * 2)
            swept = reverse_cuthill_mckee(core, symmetric_mode=True)
            yield prefix[:mark] + [nodes[i] for i in swept]


def _depths(adjacency: list[set[int]]) -> list[int]:
    """Distance of every node from a far end of its connected part."""
    depth = [-1] * len(adjacency)
    for root in range(len(adjacency)):
        if depth[root] < 0:
            far_end = list(_distances(adjacency, root))[-1]
            for v, distance in _distances(adjacency, far_end).items():
                depth[v] = distance
    return depth


def _distances(adjacency: list[set[int]], start: int) -> dict[int, int]:
    """Distances of the nodes reached from `start`, nearest first."""
    distance, queue = {start: 0}, [start]
    for v in queue:
        fresh = sorted(adjacency[v] - distance.keys())
        distance.update(dict.fromkeys(fresh, distance[v] + 1))
        queue.extend(fresh)
    return distance


def _greedy(
    adjacency: list[set[int]], by_fill: bool, ties: list[int], max_width: int, stop: Stop
) -> tuple[list[int], list[int]]:
    """Eliminate by minimum fill (or degree) while the degree stays within `max_width`.

    Returns the order, shorter than the graph if nodes remain that are too wide, and how many were
    eliminated when the width first reached each new maximum.
    """
    graph = dict(enumerate(map(set, adjacency)))
    bits = [sum(1 << u for u in nbrs) for nbrs in adjacency] if by_fill else []

    def score(v: int) -> tuple[int, int, int]:
        nbrs = graph[v]
        if not by_fill:
            return len(nbrs), 0, ties[v]
        mask = bits[v]
        missing = sum((mask & ~bits[u]).bit_count() - 1 for u in nbrs)  # each u lacks itself
        return missing // 2, len(nbrs), ties[v]

    scores = {v: score(v) for v in graph}
    heap = [(s, v) for v, s in scores.items()]
    heapq.heapify(heap)
    order: list[int] = []
    marks: list[int] = []
    width = SWEPT_WIDTH - 1
    while heap:
        _check(stop)
        s, v = heapq.heappop(heap)
        if scores.get(v) != s:
            continue
        nbrs = graph[v]
        if len(nbrs) > width:
            width = len(nbrs)
            marks.append(len(order))
        if len(nbrs) > max_width:
            break
        del scores[v]
        order.append(v)
        changed = _remove(graph, v)
        touched = set(nbrs)
        if by_fill:
            mask = bits[v]
            for u in nbrs:
                bits[u] = (bits[u] | mask) & ~(1 << v) & ~(1 << u)
            touched.update(*(graph[u] for u in changed))
        for u in touched:
            fresh = score(u)
            if fresh != scores[u]:
                scores[u] = fresh
                heapq.heappush(heap, (fresh, u))
    return order, marks


def _remove(graph: dict[int, set[int]], v: int) -> list[int]:
    """Eliminate v: its neighbours become a clique. Returns those that gained an edge."""
    nbrs = graph.pop(v)
    changed = []
    for u in nbrs:
        degree = len(graph[u])
        graph[u] |= nbrs
        graph[u] -= {u, v}
        if len(graph[u]) >= degree:
            changed.append(u)
    return changed


def _eliminate(
    adjacency: list[set[int]], order: list[int], max_width: int, q: int, max_cost: float, stop: Stop
) -> BucketTree | None:
    """Separators, children right before parents; None if too wide or not below `max_cost`."""
    n = len(order)
    position = {v: b for b, v in enumerate(order)}
    later = [{position[u] for u in adjacency[v] if position[u] > b} for b, v in enumerate(order)]
    children: list[list[int]] = [[] for _ in range(n)]
    roots: list[int] = []
    cost = 0.0
    for b in range(n):
        _check(stop)
        if len(later[b]) > max_width:
            return None
        cost += float(q) ** (len(later[b]) + 1)
        if cost >= max_cost:
            return None
        if later[b]:
            parent = min(later[b])
            children[parent].append(b)
            later[parent] |= later[b]
            later[parent].discard(parent)
        else:
            roots.append(b)
    post_order: list[int] = []
    for root in roots:
        stack = [root]
        begin = len(post_order)
        while stack:  # pre-order with reversed children, then reversed: a post-order
            b = stack.pop()
            post_order.append(b)
            stack.extend(children[b])
        post_order[begin:] = post_order[begin:][::-1]
    number = np.empty(n, dtype=np.int64)
    number[post_order] = np.arange(n)
    separators = tuple(tuple(sorted(int(number[u]) for u in later[b])) for b in post_order)
    return BucketTree(np.array([order[b] for b in post_order], dtype=np.int64), separators)
