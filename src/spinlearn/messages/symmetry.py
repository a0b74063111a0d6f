"""States that a model cannot tell apart, and what follows for its averages.

If exchanging states leaves the energy of a part of the graph unchanged, their probabilities are
equal at every node of it. Belief propagation breaks such a symmetry below the ordering temperature:
its fixed point is one of several equivalent ones. Agreements of pairs are the same in all of them;
probabilities are not, and are averaged over the *orbit*, the states that an exchange reaches.

Looked for are exchanges of two states, the reversal of their order, and their cyclic shift: what
Potts, ordinal and clock costs have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.free_part import ConditionedModel
from spinlearn.messages.large_layout import LargeLayout
from spinlearn.messages.layout import MessageLayout

BROKEN = 1e-3  # difference in probability of states in one orbit that counts as breaking


@dataclass(frozen=True, slots=True, eq=False)
class Symmetry:
    """Orbits of states at every free node.

    Attributes
    ----------
    pattern : int array (n,)
        Which of the patterns holds at a free node, in the order of `ConditionedModel.nodes`.
    patterns : int array (K, q)
        Number of the orbit of every state; a state alone has its own number.
    exchanges : list of lists of int arrays (q,)
        The permutations of states of every pattern.
    """

    pattern: npt.NDArray[np.intp]
    patterns: npt.NDArray[np.intp]
    exchanges: list[list[npt.NDArray[np.intp]]]

    @classmethod
    def of(
        cls, layout: MessageLayout | LargeLayout, free: ConditionedModel | None = None
    ) -> Symmetry:
        """The symmetries of a model's free part, looked for in every connected part of it.

        A `LargeLayout` does not know that part, which is then to be given.
        """
        if free is None:
            assert isinstance(layout, MessageLayout)
            free = layout.free
        model = layout.model
        n, q = layout.n_nodes, model.n_states
        if layout.coefficient != 0.0:
            # Class sizes tie all parts together.
            part = np.zeros(n, dtype=np.int32)
        else:
            u, v = free.edges[free.couplings != 0].T
            links = coo_array((np.ones(len(u)), (u, v)), shape=(n, n))
            _, part = connected_components(links, directed=False)
        count = int(part.max(initial=0)) + 1
        allowed = [
            p
            for p in _permutations(model.pair_cost if len(free.edges) else np.zeros((q, q)))
            if _equal(layout.targets, p) and _equal(layout.held, p)
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
        exchanges = [[allowed[k] for k in np.flatnonzero(kind).tolist()] for kind in kinds]
        patterns = np.array([_orbits(np.arange(q), own) for own in exchanges]).reshape(-1, q)
        return cls(kind_of_part.ravel()[part], patterns, exchanges)

    @property
    def exists(self) -> bool:
        """Whether any two states are alike anywhere."""
        return any(map(len, self.exchanges))

    def averaged(self, marginals: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Probabilities (n, q) equal within orbits, and the nodes at which they were not."""
        result: FloatArray = np.array(marginals)
        broken: BoolArray = np.zeros(len(marginals), dtype=np.bool_)
        for k, orbits in enumerate(self.patterns):
            nodes = np.flatnonzero(self.pattern == k)
            for orbit in np.unique(orbits):
                states = np.flatnonzero(orbits == orbit)
                if len(states) > 1:
                    own = marginals[np.ix_(nodes, states)]
                    result[np.ix_(nodes, states)] = own.mean(axis=1, keepdims=True)
                    broken[nodes] |= np.ptp(own, axis=1) > BROKEN
        return result, broken

    def averaged_pair(self, law: FloatArray, node: int) -> FloatArray:
        """A free node's law with a neighbour (q, q), equal within orbits of pairs of states."""
        exchanges = self.exchanges[self.pattern[node]]
        q = len(law)
        first, second = np.divmod(np.arange(q * q), q)
        orbits = _orbits(np.arange(q * q), [p[first] * q + p[second] for p in exchanges])
        means = np.bincount(orbits, law.ravel()) / np.bincount(orbits)
        return np.asarray(means[orbits].reshape(q, q))


def _permutations(pair_cost: FloatArray) -> list[npt.NDArray[np.intp]]:
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


def _equal(values: FloatArray, permutation: npt.NDArray[np.intp]) -> bool:
    return bool(np.array_equal(values, values[permutation]))


def _orbits(
    points: npt.NDArray[np.intp], images: list[npt.NDArray[np.intp]]
) -> npt.NDArray[np.intp]:
    """Number of the orbit of every point, given the images of all points under some maps."""
    n = len(points)
    source = np.tile(points, len(images))
    target = np.concatenate([*images, np.empty(0, dtype=np.intp)])
    links = coo_array((np.ones(len(source)), (source, target)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
