"""Regions of generalized belief propagation: which loops, and how they are counted.

RegionGraph: overlapping regions with their intersections, as the flat arrays of the kernels.

Parents are the largest regions: those given, edges in none of them, nodes without edges. Children
are intersections of two parents, edges, nodes. Counting numbers are 1 for parents, and from the
largest child to the smallest

    c_b = 1 - sum of c over all regions that hold b

(Yedidia, Freeman & Weiss 2005, eq. 17), so the regions that hold a given node, or a given edge,
have counting numbers that sum to one. Children with c_b = 0 are dropped, single nodes excepted:
they tie the parents together, which speeds the messages up.

A table over a region of k nodes has q^k entries, the first node's state running fastest. Energies
are shared evenly among the parents that hold them.

Choice of the regions of a graph for generalized belief propagation: loops, grown to stars.

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
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from spinlearn.engines.messages.layout import components
from spinlearn.model.arrays import FloatArray, IntArray

Region = frozenset[int]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RegionGraph:
    """Parents, children and the links between them; `link_*` run child by child."""

    n_states: int
    parents: list[tuple[int, ...]]
    children: list[tuple[int, ...]]
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
        for held in holders:
            candidates.update(a & b for a, b in combinations(held, 2))
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
        return cls._linked(n_states, tops, inner, [count[child] for child in inner], owners)

    @classmethod
    def _linked(
        cls,
        q: int,
        tops: list[Region],
        inner: list[Region],
        counting: list[int],
        owners: list[list[int]],
    ) -> RegionGraph:
        parents = [tuple(sorted(top)) for top in tops]
        children = [tuple(sorted(child)) for child in inner]
        starts: dict[tuple[int, tuple[int, ...]], int] = {}
        maps: list[IntArray] = []
        link_map, size = [], 0
        for child, numbers in zip(children, owners, strict=True):
            for a in numbers:
                parent = parents[a]
                key = (len(parent), tuple(parent.index(node) for node in child))
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
            counting=np.array(counting, dtype=np.float64),
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
    def n_parents_of(self) -> FloatArray:
        """Number of parents of every child."""
        return np.diff(self.link_ptr).astype(np.float64)

    @property
    def is_regular(self) -> bool:
        """Whether children are counted -1, 0 or 1 times, as on grids of any shape."""
        return bool(np.all(np.abs(self.counting) <= 1))

    @property
    def operations(self) -> float:
        """Table entries read in a sweep over all children."""
        return float(np.sum(np.diff(self.parent_at)[self.link_parent])) + float(self.parent_at[-1])

    def share_energies(
        self, edges: IntArray, couplings: FloatArray, pair_cost: FloatArray, fields: FloatArray
    ) -> FloatArray:
        """Energies of the parents' tables, every term shared evenly by those that hold it."""
        holders: list[list[int]] = [[] for _ in range(len(fields))]
        for a, parent in enumerate(self.parents):
            for node in parent:
                holders[node].append(a)
        energy = np.zeros(int(self.parent_at[-1]))
        q = self.n_states
        for node, numbers in enumerate(holders):
            for a in numbers:
                shape = self._split(a, node)
                energy[self._rows(a)].reshape(shape)[...] += fields[node][:, None] / len(numbers)
        for (u, v), coupling in zip(edges.tolist(), couplings, strict=True):
            both = [a for a in holders[u] if v in self.parents[a]]
            for a in both:
                table = energy[self._rows(a)]
                places = tuple(self.parents[a].index(node) for node in (u, v))
                states = _child_states(q, len(self.parents[a]), places)
                table += coupling / len(both) * pair_cost.ravel()[states]
        return energy

    def node_laws(self, tables: FloatArray, n_nodes: int) -> FloatArray:
        """Marginals of all nodes, each from the first parent that holds it, (n, q)."""
        laws = np.zeros((n_nodes, self.n_states))
        done = np.zeros(n_nodes, dtype=bool)
        for a, parent in enumerate(self.parents):
            for node in parent:
                if not done[node]:
                    laws[node] = tables[self._rows(a)].reshape(self._split(a, node)).sum((0, 2))
                    done[node] = True
        return np.asarray(laws / laws.sum(axis=1, keepdims=True))

    def pair_laws(self, tables: FloatArray, edges: IntArray) -> FloatArray:
        """Pair tables of the edges, each from the first parent that holds it, (m, q, q)."""
        q = self.n_states
        first: dict[int, list[int]] = {}
        for a, parent in enumerate(self.parents):
            for node in parent:
                first.setdefault(node, []).append(a)
        laws = np.empty((len(edges), q, q))
        for e, (u, v) in enumerate(edges.tolist()):
            a = next(a for a in first[u] if v in self.parents[a])
            places = tuple(self.parents[a].index(node) for node in (u, v))
            states = _child_states(q, len(self.parents[a]), places)
            # The first node of a table runs fastest, so rows and columns change places.
            laws[e] = np.bincount(states, tables[self._rows(a)], q * q).reshape(q, q).T
        return np.asarray(laws / laws.sum(axis=(1, 2), keepdims=True))

    def _rows(self, a: int) -> slice:
        return slice(int(self.parent_at[a]), int(self.parent_at[a + 1]))

    def _split(self, a: int, node: int) -> tuple[int, int, int]:
        """Shape of a parent's table with the node's state as the middle axis."""
        stride = self.n_states ** self.parents[a].index(node)
        return (-1, self.n_states, stride)


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


Loop = tuple[int, ...]  # nodes in the order of the ring
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
