"""Choice of the regions of a graph for generalized belief propagation: loops, grown to stars.

1. Loops. Shortest cycles through every node are candidates, up to a largest length; short ones come
   first, of equal ones those through the node with most neighbours, and a loop is kept if it is not
   a sum (modulo 2) of loops kept before. So a pixel grid gives its faces, a complete graph the
   triangles at one node, both of which are tree-robust (Gelfand & Welling 2012), and independent
   loops never count a correlation twice. Longer loops are searched until the basis is complete: the
   counting numbers then sum to one over all regions, so that a mixture of valleys has the entropy
   it should, which matters more than anything else at low temperature. A part of the graph that is
   one ring is a loop at any length.
2. Stars. All loops around a node are merged into one region where its table fits the budget: 3 x 3
   pixels on a grid, which then hold domain walls that its faces cannot see. Whether stars are used
   is decided by their counting numbers (`RegionGraph.is_regular`): on irregular graphs they count
   some intersections many times over, and the loops by themselves do better.
3. Fans. A loop too long for a table becomes the fan of triangles of its chords from one node, which
   is the same approximation, since a ring is exactly solved by that fan.

Axes: n nodes, m edges (rows of two node numbers).
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import pairwise

import numpy as np

from spinlearn.core.arrays import IntArray
from spinlearn.messages.symmetry import components

Loop = tuple[int, ...]  # nodes in the order of the ring
Region = frozenset[int]
PASSES = (4, 6, 8, 12)  # lengths searched before longer ones, which few graphs need
SMALL_GRAPH = 2000  # nodes up to which loops of all lengths are searched from every node


def loop_basis(n_nodes: int, edges: IntArray, max_loop: int) -> list[Loop]:
    """Independent loops of at most `max_loop` nodes, short ones first."""
    neighbors = _neighbor_edges(n_nodes, edges)
    # The busiest nodes first: triangles of a dense part then share one node, a tree-robust choice.
    by_degree = sorted(range(n_nodes), key=lambda i: (-len(neighbors[i]), i))
    rank = [0] * n_nodes
    for place, node in enumerate(by_degree):
        rank[node] = place
    rings = _lone_rings(neighbors)
    wanted = len(edges) - n_nodes + len(np.unique(components(n_nodes, *edges.T)))
    pivots: dict[int, int] = {}
    kept: list[Loop] = []
    longest = 2
    for limit in (*(length for length in PASSES if length < max_loop), max_loop):
        candidates: dict[frozenset[int], Loop] = {}
        for node in _roots(neighbors, kept) if limit > 2 else ():
            for loop in _shortest_loops(node, neighbors, limit):
                if len(loop) > longest:
                    candidates.setdefault(_edges_of(loop, neighbors), loop)
        if limit == max_loop:
            for ring in rings:
                candidates.setdefault(_edges_of(ring, neighbors), ring)
        ordered = sorted(
            candidates.items(),
            key=lambda item: (len(item[1]), sorted(rank[i] for i in item[1])),
        )
        kept += [loop for members, loop in ordered if _is_new(members, pivots)]
        longest = limit
        if len(kept) == wanted:
            break
    return kept


def _roots(neighbors: list[dict[int, int]], kept: list[Loop]) -> list[int]:
    """Nodes through which further loops are searched.

    In large graphs those with an edge in fewer than two loops so far: of a planar graph these are
    all nodes that a missing face can have.
    """
    if not kept or len(neighbors) <= SMALL_GRAPH:
        return list(range(len(neighbors)))
    count = Counter(edge for loop in kept for edge in _edges_of(loop, neighbors))
    return [
        node for node, row in enumerate(neighbors) if any(count[edge] < 2 for edge in row.values())
    ]


def _is_new(members: frozenset[int], pivots: dict[int, int]) -> bool:
    """Whether a loop is no sum of those before, which then includes it (Gaussian elimination)."""
    bits = sum(1 << edge for edge in members)
    while bits:
        top = bits.bit_length()
        if top not in pivots:
            pivots[top] = bits
            return True
        bits ^= pivots[top]
    return False


def loop_regions(loops: list[Loop], n_states: int, max_states: int) -> list[Region]:
    """The loops as regions, those whose table would be too large as fans of triangles."""
    regions: list[Region] = []
    for loop in loops:
        if n_states ** len(loop) <= max_states:
            regions.append(frozenset(loop))
        elif n_states**3 <= max_states:
            regions += [frozenset((loop[0], *pair)) for pair in pairwise(loop[1:])]
    return regions


def star_regions(loops: list[Loop], n_states: int, max_states: int) -> list[Region]:
    """Around every node the union of its loops, where the table of that is not too large."""
    around: dict[int, set[int]] = {}
    for loop in loops:
        if n_states ** len(loop) <= max_states:
            for node in loop:
                around.setdefault(node, set()).update(loop)
    return [frozenset(star) for star in around.values() if n_states ** len(star) <= max_states]


def _neighbor_edges(n_nodes: int, edges: IntArray) -> list[dict[int, int]]:
    """The neighbours of every node with the number of the edge to each, ascending."""
    neighbors: list[dict[int, int]] = [{} for _ in range(n_nodes)]
    for number, (u, v) in enumerate(edges.tolist()):
        neighbors[u][v] = number
        neighbors[v][u] = number
    return [dict(sorted(row.items())) for row in neighbors]


def _edges_of(loop: Loop, neighbors: list[dict[int, int]]) -> frozenset[int]:
    """The numbers of the loop's edges."""
    return frozenset(neighbors[node][loop[k - 1]] for k, node in enumerate(loop))


def _shortest_loops(root: int, neighbors: list[dict[int, int]], max_loop: int) -> list[Loop]:
    """Loops of two shortest paths from the root and the edge between their ends (Horton 1987)."""
    depth, before = {root: 0}, {root: -1}
    queue = deque([root])
    while queue:
        node = queue.popleft()
        if depth[node] >= max_loop // 2:
            continue
        for other in neighbors[node]:
            if other not in depth:
                depth[other], before[other] = depth[node] + 1, node
                queue.append(other)
    loops = []
    for node in depth:
        for other in neighbors[node]:
            if (
                node < other
                and other in depth
                and before[node] != other
                and before[other] != node
                and depth[node] + depth[other] < max_loop
            ):
                left, right = _path(node, before), _path(other, before)
                if not set(left[:-1]) & set(right[:-1]):
                    loops.append((*reversed(left), *right[:-1]))
    return loops


def _path(node: int, before: dict[int, int]) -> list[int]:
    """From the node back to the root."""
    path = [node]
    while before[path[-1]] != -1:
        path.append(before[path[-1]])
    return path


def _lone_rings(neighbors: list[dict[int, int]]) -> list[Loop]:
    """Parts of the graph that are one ring once dangling trees are cut off, as loops."""
    degree = [len(row) for row in neighbors]
    leaves = deque(i for i, d in enumerate(degree) if d == 1)
    while leaves:
        leaf = leaves.popleft()
        if degree[leaf] != 1:
            continue
        degree[leaf] = 0
        for other in neighbors[leaf]:
            if degree[other] > 0:
                degree[other] -= 1
                if degree[other] == 1:
                    leaves.append(other)
    seen: set[int] = set()
    rings = []
    for start, d in enumerate(degree):
        if d != 2 or start in seen:
            continue
        walk, previous = [start], -1
        while True:
            onward = [j for j in neighbors[walk[-1]] if degree[j] > 0 and j != previous]
            if degree[walk[-1]] != 2:
                break
            previous = walk[-1]
            if onward[0] == start:
                rings.append(tuple(walk))
                break
            walk.append(onward[0])
            if len(walk) > len(neighbors):
                break
        seen.update(walk)
    return rings
