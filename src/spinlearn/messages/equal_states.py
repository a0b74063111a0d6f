"""States that a model cannot tell apart, kept equal in the messages.

If two states have the same fields at every node of a connected part, the same pair costs, then the
law of that part does not change when they are swapped. An iteration on the computer would leave
this symmetry below the temperature at which regions order, because rounding errors grow; the
answer would look like knowledge. So multipliers are averaged over all such swaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.free_part import ConditionedModel
from spinlearn.messages.region_graph import RegionGraph


@dataclass(frozen=True, slots=True)
class SymmetricStates:
    """For every multiplier entry of a symmetric part the orbit it is averaged over."""

    entries: npt.NDArray[np.int64]
    orbits: npt.NDArray[np.int64]

    @classmethod
    def of(cls, free: ConditionedModel, regions: RegionGraph) -> SymmetricStates:
        """Orbits of all multipliers of parts that have equal states."""
        part = _connected_parts(len(free.nodes), free.edges)
        kinds: dict[int, npt.NDArray[np.int64]] = {}
        for number in np.unique(part).tolist():
            kind = _equal_states(free, np.flatnonzero(part == number))
            if len(np.unique(kind)) < len(kind):
                kinds[number] = kind
        entries: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        orbits: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        known: dict[tuple[int, bytes], npt.NDArray[np.int64]] = {}
        total = 0
        for b, child in enumerate(regions.children):
            states = kinds.get(int(part[child[0]]))
            if states is None:
                continue
            key = (len(child), states.tobytes())
            if key not in known:
                known[key] = _orbits(len(child), states)
            numbers = known[key]
            for link in range(int(regions.link_ptr[b]), int(regions.link_ptr[b + 1])):
                entries.append(int(regions.link_at[link]) + np.arange(len(numbers)))
                orbits.append(numbers + total)
                total += int(numbers.max()) + 1
        return cls(np.concatenate(entries), np.concatenate(orbits))

    def restore(self, multiplier: FloatArray) -> None:
        """Average over the orbits, in place."""
        if len(self.entries):
            sums = np.bincount(self.orbits, multiplier[self.entries])
            multiplier[self.entries] = (sums / np.bincount(self.orbits))[self.orbits]


def _connected_parts(n_nodes: int, edges: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Number of the connected part of every node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def _equal_states(free: ConditionedModel, nodes: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """For every state the first one that it can be swapped with on these nodes."""
    cost, fields = free.model.pair_cost, free.fields[nodes]
    q = len(cost)
    same = np.arange(q)
    for s in range(q):
        for t in range(s):
            order = np.arange(q)
            order[[s, t]] = t, s
            if (
                same[t] == t
                and np.array_equal(fields[:, s], fields[:, t])
                and np.array_equal(cost[np.ix_(order, order)], cost)
            ):
                same[s] = t
                break
    return same


def _orbits(n_nodes: int, same: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Orbit of every joint state of n nodes: equal states renamed in the order they appear."""
    q = len(same)
    states = np.arange(q**n_nodes)
    digits = np.stack([states // q**k % q for k in range(n_nodes)])
    names = np.zeros_like(digits)
    for k in range(n_nodes):
        name = np.zeros(len(states), dtype=np.int64)
        found = np.zeros(len(states), dtype=bool)
        for j in range(k):
            repeat = ~found & (digits[j] == digits[k])
            name[repeat] = names[j][repeat]
            found |= repeat
        # A state not seen before: its kind, with the number of different ones of that kind so far.
        kind = same[digits[k]]
        fresh = np.zeros(len(states), dtype=np.int64)
        for j in range(k):
            new = np.all(digits[:j] != digits[j], axis=0) if j else np.ones(len(states), dtype=bool)
            fresh += new & (same[digits[j]] == kind)
        names[k] = np.where(found, name, kind * n_nodes + fresh)
    _, orbit = np.unique(names.T, axis=0, return_inverse=True)
    return np.asarray(orbit, dtype=np.int64).ravel()
