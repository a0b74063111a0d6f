"""States that a model cannot tell apart, and what follows for its averages.

If exchanging states leaves the energy of a part of the graph unchanged, their probabilities are
equal at every node of it. Messages break such a symmetry below the ordering temperature: their
fixed point is one of several equivalent ones, and would look like knowledge. Agreements of pairs
are the same in all of them; probabilities are not, and are averaged over the *orbit*, the states
that an exchange reaches.

Looked for are exchanges of two states, the reversal of their order, and their cyclic shift: what
Potts, ordinal and clock costs have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.free_part import ConditionedModel

BROKEN = 1e-3  # difference in probability of states in one orbit that counts as breaking

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Symmetry:
    """Orbits of states at every free node.

    Attributes
    ----------
    pattern : int array (n,)
        Which of the patterns holds at a free node, in the order of `ConditionedModel.nodes`.
    exchanges : list of int arrays (permutations, q)
        The permutations of states of every pattern.
    """

    pattern: Indices
    exchanges: list[Indices]

    @classmethod
    def of(
        cls,
        free: ConditionedModel,
        *,
        tied: bool = False,
        sizes: FloatArray | None = None,
        swaps_only: bool = False,
    ) -> Symmetry:
        """The symmetries of a model's free part, looked for in every connected part of it.

        Parameters
        ----------
        free : ConditionedModel
        tied : bool
            Whether class sizes tie all parts together.
        sizes : float array (k, q), optional
            Numbers of the class term that have to be equal, too.
        swaps_only : bool
            Whether only exchanges of two states count.
        """
        model, (n, q) = free.model, free.fields.shape
        part: Indices = np.zeros(n, dtype=np.intp)
        if not tied:
            u, v = free.edges[free.couplings != 0].T
            part = components(n, u, v)
        count = int(part.max(initial=0)) + 1
        own = np.zeros((0, q)) if sizes is None else sizes
        allowed = [
            p
            for p in _permutations(model.pair_cost if len(free.edges) else np.zeros((q, q)))
            if np.array_equal(own, own[:, p]) and not (swaps_only and np.sum(p != np.arange(q)) > 2)
        ]
        holds = np.zeros((count, len(allowed)), dtype=np.bool_)
        sums = np.stack([np.bincount(part, column, minlength=count) for column in free.fields.T], 1)
        for k, permutation in enumerate(allowed):
            if np.all(
                np.abs(sums - sums[:, permutation]).max(axis=1) > n * model.energy_resolution
            ):
                continue  # most permutations change the sum of fields already
            changed = np.flatnonzero(permutation != np.arange(q))
            gap = np.abs(free.fields[:, changed] - free.fields[:, permutation[changed]])
            worst = np.zeros(count)
            np.maximum.at(worst, part, gap.max(axis=1, initial=0.0))
            holds[:, k] = worst <= model.energy_resolution
        kinds, kind_of_part = np.unique(holds, axis=0, return_inverse=True)
        table = np.array(allowed, dtype=np.intp).reshape(-1, q)
        return cls(kind_of_part.ravel()[part], [table[kind] for kind in kinds])

    @property
    def exists(self) -> bool:
        """Whether any two states are alike anywhere."""
        return any(map(len, self.exchanges))

    def averaged(self, marginals: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Probabilities (n, q) equal within orbits, and the nodes at which they were not."""
        result: FloatArray = np.array(marginals)
        broken: BoolArray = np.zeros(len(marginals), dtype=np.bool_)
        for k in range(len(self.exchanges)):
            orbits, nodes = self.orbits(k), np.flatnonzero(self.pattern == k)
            for orbit in np.unique(orbits):
                states = np.flatnonzero(orbits == orbit)
                if len(states) > 1:
                    own = marginals[np.ix_(nodes, states)]
                    result[np.ix_(nodes, states)] = own.mean(axis=1, keepdims=True)
                    broken[nodes] |= np.ptp(own, axis=1) > BROKEN
        return result, broken

    def averaged_pair(self, law: FloatArray, node: int) -> FloatArray:
        """A free node's law with a neighbour (q, q), equal within orbits of pairs of states."""
        orbits = self.orbits(int(self.pattern[node]), 2)
        means = np.bincount(orbits, law.ravel()) / np.bincount(orbits)
        return np.asarray(means[orbits].reshape(law.shape))

    def orbits(self, pattern: int, n_nodes: int = 1) -> Indices:
        """Number of the orbit of every joint state of some nodes, (q ** n_nodes,)."""
        exchanges = self.exchanges[pattern]
        q = exchanges.shape[1]
        states = np.arange(q**n_nodes)
        images = np.zeros((len(exchanges), len(states)), dtype=np.intp)
        for k in range(n_nodes):
            images += exchanges[:, states // q**k % q] * q**k
        return components(len(states), np.tile(states, len(exchanges)), images.ravel())


def components(n: int, one: Any, other: Any) -> Indices:
    """Number of the connected part of every node."""
    links = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def _permutations(pair_cost: FloatArray) -> list[Indices]:
    """Permutations of states, of those that are looked for, which leave the pair cost unchanged."""
    q = len(pair_cost)
    identity = np.arange(q)
    candidates = [identity[::-1], np.roll(identity, 1)]
    for a in range(q):
        for b in range(a + 1, q):
            exchanged = identity.copy()
            exchanged[[a, b]] = b, a
            candidates.append(exchanged)
    return [p for p in candidates if np.array_equal(pair_cost, pair_cost[np.ix_(p, p)])]
