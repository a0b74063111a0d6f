"""RegionGraph: overlapping regions with their intersections, as the flat arrays of the kernels.

Parents are the largest regions: those given, edges in none of them, nodes without edges. Children
are intersections of two parents, edges, nodes. Counting numbers are 1 for parents, and from the
largest child to the smallest

    c_b = 1 - sum of c over all regions that hold b

(Yedidia, Freeman & Weiss 2005, eq. 17), so the regions that hold a given node, or a given edge,
have counting numbers that sum to one. Children with c_b = 0 are dropped, single nodes excepted:
they tie the parents together, which speeds the messages up.

A table over a region of k nodes has q^k entries, the first node's state running fastest. Energies
are shared evenly among the parents that hold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray

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
    def is_plain(self) -> bool:
        """Whether the iteration without held laws exists: n_b + c_b > 0 for all children."""
        return bool(np.all(self.n_parents_of + self.counting > 0))

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
