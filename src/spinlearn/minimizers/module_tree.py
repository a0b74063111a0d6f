"""A tree of a graph's modules: which groups hold together, and how well.

Small modules are joined two at a time, those with the largest

    rho(A, B) = 2W J(A, B) / (V_A V_B)

first: the coupling between two groups over what chance would put there. Joining while rho exceeds
gamma is greedy optimisation of modularity at resolution gamma, so that one tree holds the modules
of all resolutions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.minimizers.coarsening import numbered
from spinlearn.minimizers.partition import FINE, MOST_MODULES, small_modules


class ModuleTree:
    """The tree of one graph.

    Parameters
    ----------
    graph : Graph
        Weights >= 0 count.
    seed : int
    """

    def __init__(self, graph: Graph, seed: int = 0) -> None:
        self.member = small_modules(graph, FINE, MOST_MODULES, seed)
        self.heights, self.joined = _heights(graph, self.member)

    def modules_at(self, resolution: float) -> IntArray:
        """Module of every node, (n,), of all that are joined above this rho."""
        together = csr_array(self.heights > resolution)
        _, part = connected_components(together, directed=False)
        return numbered(part[self.member])

    def groups(self, least: int, most: int) -> list[npt.NDArray[np.intp]]:
        """Nodes of all groups of `least` to `most` of them that come together on the way up."""
        sizes = np.bincount(self.member)
        nodes = np.split(np.argsort(self.member, kind="stable"), np.cumsum(sizes)[:-1])
        every = [[m] for m in range(len(sizes))] + self.joined
        fitting = [group for group in every if least <= sizes[group].sum() <= most]
        return [np.sort(np.concatenate([nodes[m] for m in group])) for group in fitting]


def _heights(graph: Graph, member: IntArray) -> tuple[FloatArray, list[list[int]]]:
    """rho at which every two modules have come together, (k, k); infinite on the diagonal.

    And the groups of modules that were made by it, one after the other.
    """
    k = int(member.max(initial=-1)) + 1
    coupling = np.zeros((k, k))
    weights = np.maximum(graph.weights, 0.0)
    one, other = member[graph.edges].T
    np.add.at(coupling, (one, other), weights)
    coupling = coupling + coupling.T
    volume = coupling.sum(axis=1)
    total = volume.sum()
    np.fill_diagonal(coupling, 0.0)
    alive = np.ones(k, dtype=bool)
    groups: list[list[int]] = [[m] for m in range(k)]
    heights = np.zeros((k, k))
    np.fill_diagonal(heights, np.inf)
    rho = np.full((k, k), -1.0)
    chance = np.outer(volume, volume)
    np.divide(coupling * total, chance, out=rho, where=chance > 0)
    np.fill_diagonal(rho, -1.0)
    joined = []
    lowest = np.inf
    for _ in range(k - 1):
        a, b = np.unravel_index(int(np.argmax(rho)), rho.shape)
        if rho[a, b] <= 0:
            break  # what is left is not connected
        lowest = min(lowest, float(rho[a, b]))  # average linkage may turn back: heights do not
        heights[np.ix_(groups[a], groups[b])] = lowest
        heights[np.ix_(groups[b], groups[a])] = lowest
        groups[a] += groups[b]
        groups[b] = []
        joined.append(list(groups[a]))
        alive[b] = False
        coupling[a] += coupling[b]
        coupling[a, a] = 0.0
        coupling[:, a] = coupling[a]
        volume[a] += volume[b]
        row = np.where(alive, coupling[a] * total / (volume[a] * np.maximum(volume, 1e-300)), -1.0)
        row[a] = -1.0
        rho[a], rho[:, a] = row, row
        rho[b], rho[:, b] = -1.0, -1.0
    return heights, joined
