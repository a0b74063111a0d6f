"""Regions of generalized belief propagation: which loops, and how they are counted.

`RegionGraph` holds overlapping regions and their intersections as the flat arrays of the kernels.
Parents are the largest regions: those given, edges in none of them, nodes without edges. Children
are intersections of two parents, edges, nodes. Counting numbers are 1 for parents, and from the
largest child to the smallest

    c_b = 1 - sum of c over all regions that hold b

(Yedidia, Freeman & Weiss 2005, eq. 17), so the regions that hold a given node, or a given edge,
have counting numbers that sum to one. Children with c_b = 0 are dropped, single nodes excepted:
they tie the parents together, which speeds the messages up.

A table over a region of k nodes has q^k entries, the first node's state running fastest. Energies
are shared evenly among the parents that hold them.

Which regions a graph has:

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
   is decided by their counting numbers: on irregular graphs they count
   some intersections many times over, and the loops by themselves do better.
3. Fans. A loop too long for a table becomes the fan of triangles of its chords from one node, which
   is the same approximation, since a ring is exactly solved by that fan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import connected_parts
from spinlearn.model.potts import ConditionedModel

PASSES = (4, 6, 8, 12)  # lengths of loops searched before longer ones, which few graphs need
SMALL_GRAPH = 2000  # nodes up to which loops of all lengths are searched from every node

Region = frozenset[int]
Loop = tuple[int, ...]  # nodes in the order of the ring
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RegionGraph:
    """Parents, children and the links between them; `link_*` run child by child."""

    n_states: int
    parents: list[tuple[int, ...]]
    children: list[tuple[int, ...]]
    holders: list[list[int]]  # parents of every node
    counting: FloatArray
    parent_at: Positions
    child_at: Positions
    link_ptr: Positions
    link_parent: Positions
    link_map: Positions
    link_at: Positions
    maps: npt.NDArray[np.uint32]
    below_ptr: Positions
    below: Positions

    @classmethod
    def of(
        cls, n_nodes: int, edges: IntArray, regions: Iterable[Region], n_states: int
    ) -> RegionGraph:
        """Parents from regions, edges and nodes, with all children they need."""
        pairs = [frozenset(edge) for edge in edges.tolist()]
        nodes = [frozenset((i,)) for i in range(n_nodes)]
        wanted = sorted(set(regions), key=_large_first)
        holders: list[list[Region]] = [[] for _ in range(n_nodes)]
        tops: list[Region] = []
        for region in (*wanted, *pairs, *nodes):
            if not _holding(region, holders):
                tops.append(region)
                for node in region:
                    holders[node].append(region)
        candidates = {*pairs, *nodes}
        for around in holders:
            candidates.update(a & b for a, b in combinations(around, 2))
        count = dict.fromkeys(tops, 1)
        inner = []
        for child in sorted(candidates - set(tops), key=_large_first):
            number = 1 - sum(count[region] for region in _holding(child, holders))
            if number != 0 or len(child) == 1:
                count[child] = number
                inner.append(child)
                for node in child:
                    holders[node].append(child)
        place = {top: number for number, top in enumerate(tops)}
        owners = [[place[r] for r in _holding(child, holders) if r in place] for child in inner]
        q = n_states
        parents = [tuple(sorted(top)) for top in tops]
        children = [tuple(sorted(child)) for child in inner]
        starts: dict[tuple[int, tuple[int, ...]], int] = {}
        maps: list[IntArray] = []
        link_map, size = [], 0
        for nodes_below, numbers in zip(children, owners, strict=True):
            for parent in (parents[a] for a in numbers):
                key = len(parent), tuple(map(parent.index, nodes_below))
                if key not in starts:
                    starts[key] = size
                    maps.append(_child_states(q, *key))
                    size += len(maps[-1])
                link_map.append(starts[key])
        link_parent = np.array([a for numbers in owners for a in numbers], dtype=np.int64)
        lengths = np.array([q ** len(c) for c in children], dtype=np.int64)
        per_child = [len(numbers) for numbers in owners]
        return cls(
            n_states=q,
            parents=parents,
            children=children,
            holders=[[place[r] for r in around if r in place] for around in holders],
            counting=np.array([count[child] for child in inner], dtype=np.float64),
            parent_at=_starts([q ** len(p) for p in parents]),
            child_at=_starts(lengths),
            link_ptr=_starts(per_child),
            link_parent=link_parent,
            link_map=np.array(link_map, dtype=np.int64),
            link_at=_starts(np.repeat(lengths, per_child)),
            # Unsigned: Numba need not look for negative indices.
            maps=np.concatenate([*maps, np.empty(0, dtype=np.int32)]).astype(np.uint32),
            below_ptr=_starts(np.bincount(link_parent, minlength=len(parents))),
            below=np.argsort(link_parent, kind="stable").astype(np.int64),
        )

    @property
    def operations(self) -> float:
        """Table entries read in a sweep over all children."""
        return float(np.sum(np.diff(self.parent_at)[self.link_parent])) + float(self.parent_at[-1])

    def share_energies(self, free: ConditionedModel) -> FloatArray:
        """Energies of the parents' tables, every term shared evenly by those that hold it."""
        energy = np.zeros(int(self.parent_at[-1]))
        for node, numbers in enumerate(self.holders):
            for a in numbers:
                energy[self._rows(a)] += free.fields[node][self._states(a, node)] / len(numbers)
        cost = free.model.pair_cost.ravel()
        for (u, v), coupling in zip(free.edges.tolist(), free.couplings, strict=True):
            both = [a for a in self.holders[u] if v in self.parents[a]]
            for a in both:
                energy[self._rows(a)] += coupling / len(both) * cost[self._states(a, u, v)]
        return energy

    def node_laws(self, tables: FloatArray) -> FloatArray:
        """Marginals of all nodes, each from the first parent that holds it, (n, q)."""
        q = self.n_states
        laws = np.empty((len(self.holders), q))
        for node, (a, *_) in enumerate(self.holders):
            shape = (-1, q, q ** self.parents[a].index(node))
            laws[node] = tables[self._rows(a)].reshape(shape).sum((0, 2))
        return np.asarray(laws / laws.sum(axis=1, keepdims=True))

    def pair_laws(self, tables: FloatArray, edges: IntArray) -> FloatArray:
        """Pair tables of the edges, each from the first parent that holds it, (m, q, q)."""
        q = self.n_states
        laws = np.empty((len(edges), q, q))
        for e, (u, v) in enumerate(edges.tolist()):
            a = next(a for a in self.holders[u] if v in self.parents[a])
            # The first node of a table runs fastest, so rows and columns change places.
            law = np.bincount(self._states(a, u, v), tables[self._rows(a)], q * q)
            laws[e] = law.reshape(q, q).T
        return np.asarray(laws / laws.sum(axis=(1, 2), keepdims=True))

    def _rows(self, a: int) -> slice:
        return slice(int(self.parent_at[a]), int(self.parent_at[a + 1]))

    def _states(self, a: int, *nodes: int) -> IntArray:
        """The joint state of some nodes for every state of a parent."""
        parent = self.parents[a]
        return _child_states(self.n_states, len(parent), tuple(map(parent.index, nodes)))


def _large_first(region: Region) -> tuple[int, list[int]]:
    return -len(region), sorted(region)


def _holding(region: Region, holders: list[list[Region]]) -> list[Region]:
    """The regions in the lists that contain all nodes of the given one."""
    rarest = min(region, key=lambda node: len(holders[node]))
    return [other for other in holders[rarest] if region <= other]


def _starts(lengths: npt.ArrayLike) -> Positions:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


def _child_states(q: int, n_nodes: int, places: tuple[int, ...]) -> IntArray:
    """State number of the nodes at `places` for every state of a region of n nodes, (q^n,)."""
    states = np.arange(q**n_nodes)
    child = np.zeros_like(states)
    for k, place in enumerate(places):
        child += states // q**place % q * q**k
    return child.astype(np.int32)


def loop_basis(n_nodes: int, edges: IntArray, max_loop: int) -> list[Loop]:
    """Independent loops of at most `max_loop` nodes, short ones first."""
    # The neighbours of every node, ascending, with the number of the edge to each.
    neighbors: list[dict[int, int]] = [{} for _ in range(n_nodes)]
    for number, (u, v) in enumerate(edges.tolist()):
        neighbors[u][v] = neighbors[v][u] = number
    neighbors = [dict(sorted(row.items())) for row in neighbors]
    # The busiest nodes first: triangles of a dense part then share one node, a tree-robust choice.
    by_degree = sorted(range(n_nodes), key=lambda i: (-len(neighbors[i]), i))
    rank = dict(zip(by_degree, range(n_nodes), strict=True))
    complete = len(edges) - n_nodes + len(np.unique(connected_parts(n_nodes, edges)))
    pivots: dict[int, int] = {}
    kept: list[Loop] = []
    longest = 2
    for limit in (*(length for length in PASSES if length < max_loop), max_loop):
        roots = list(range(n_nodes if limit > 2 else 0))
        if kept and n_nodes > SMALL_GRAPH:
            # Of a planar graph those with an edge in fewer than two loops so far are all nodes that
            # a missing face can have.
            count = Counter(edge for loop in kept for edge in _edges_of(loop, neighbors))
            roots = [i for i in roots if any(count[e] < 2 for e in neighbors[i].values())]
        candidates: dict[frozenset[int], Loop] = {}
        for node in roots:
            for loop in _shortest_loops(node, neighbors, limit):
                if len(loop) > longest:
                    candidates.setdefault(_edges_of(loop, neighbors), loop)
        for ring in _lone_rings(neighbors) if limit == max_loop else ():
            candidates.setdefault(_edges_of(ring, neighbors), ring)
        for members, loop in sorted(
            candidates.items(), key=lambda item: (len(item[1]), sorted(rank[i] for i in item[1]))
        ):
            # Gaussian elimination (modulo 2): a loop that is a sum of those before leaves nothing.
            bits = sum(1 << edge for edge in members)
            while bits and bits.bit_length() in pivots:
                bits ^= pivots[bits.bit_length()]
            if bits:
                pivots[bits.bit_length()] = bits
                kept.append(loop)
        longest = limit
        if len(kept) == complete:
            break
    return kept


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


def _edges_of(loop: Loop, neighbors: list[dict[int, int]]) -> frozenset[int]:
    """The numbers of the loop's edges."""
    return frozenset(neighbors[node][loop[k - 1]] for k, node in enumerate(loop))


def _shortest_loops(root: int, neighbors: list[dict[int, int]], max_loop: int) -> list[Loop]:
    """Loops of two shortest paths from the root and the edge between their ends (Horton 1987)."""
    depth, before = {root: 0}, {root: -1}
    paths = {root: [root]}  # from every node back to the root
    queue = [root]
    for node in queue:
        if depth[node] < max_loop // 2:
            for other in neighbors[node]:
                if other not in depth:
                    depth[other], before[other] = depth[node] + 1, node
                    paths[other] = [other, *paths[node]]
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
                and not set(paths[node][:-1]) & set(paths[other][:-1])
            ):
                loops.append((*reversed(paths[node]), *paths[other][:-1]))
    return loops


def _lone_rings(neighbors: list[dict[int, int]]) -> list[Loop]:
    """Parts of the graph that are one ring once dangling trees are cut off, as loops."""
    degree = [len(row) for row in neighbors]
    leaves = [i for i, d in enumerate(degree) if d == 1]
    for leaf in leaves:
        degree[leaf] = 0
        for other in neighbors[leaf]:
            degree[other] -= degree[other] > 0
            if degree[other] == 1:
                leaves.append(other)
    seen: set[int] = set()
    rings = []
    for start, d in enumerate(degree):
        if d != 2 or start in seen:
            continue
        walk, previous = [start], -1
        while degree[walk[-1]] == 2:
            here = walk[-1]
            onward = next(j for j in neighbors[here] if degree[j] > 0 and j != previous)
            if onward == start:
                rings.append(tuple(walk))
                break
            previous = here
            walk.append(onward)
        seen.update(walk)
    return rings
