"""Trees of modules, and the partition of a graph into blocks.

`ModuleTree`: which groups of a graph hold together, and how well. Small modules are joined two at a
time, first those with the largest coupling over what chance would put between them,

    rho(A, B) = 2W J(A, B) / (V_A V_B).

Joining while rho exceeds gamma is greedy optimisation of modularity at resolution gamma, so that
one tree holds the modules of all resolutions. Parts that nothing couples are joined last, the
smallest first.

`partition`: blocks of nodes that few edges join, for workers to share. Small modules are ordered by
Fiedler's vector, the second eigenvector of the normalised adjacency of the contracted graph, and
cut into ranges of about equally many nodes. On neighbour graphs of 10,000 and 70,000 points 2 % of
the edges then join two halves; in reverse Cuthill-McKee order it is 10 to 12 %. Beyond MANY nodes
modules would take too long: ranges of an order in which neighbours are close do instead.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.multilevel import contracted, masses, modules
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import Graph, near_order
from spinlearn.model.potts import PottsModel

MANY = 300_000
FINE = 4.0  # resolution of the modules
MOST_MODULES = 600  # else they are joined further


def partition(graph: Graph, n_blocks: int, seed: int = 0) -> npt.NDArray[np.intp]:
    """Number of the block of every node, (n,); weights >= 0 count."""
    if not 1 <= n_blocks <= graph.n_nodes:
        raise InvalidInputError(
            f"n_blocks={n_blocks} is out of range: {graph.n_nodes} nodes make 1 to "
            f"{graph.n_nodes} blocks"
        )
    if graph.n_nodes > MANY:
        order = near_order(graph.indptr, graph.neighbors).astype(np.intp)
    else:
        member = small_modules(graph, seed)
        rank = np.argsort(np.argsort(_second_vector(graph, member), kind="stable"))
        order = np.argsort(rank[member], kind="stable")
    return np.argsort(order) * n_blocks // graph.n_nodes


def small_modules(graph: Graph, seed: int, inner: FloatArray | None = None) -> IntArray:
    """Module of every node, at most MOST_MODULES; `inner` couplings are inside the nodes."""
    generator = np.random.default_rng(seed)
    model = PottsModel(graph, 2)
    mass = masses(model) if inner is None else masses(model) + 2 * inner
    member = np.arange(graph.n_nodes, dtype=np.int32)
    while True:
        joined = modules(model, FINE, generator, mass)
        count = int(joined.max(initial=-1)) + 1
        member = joined[member]
        if count <= MOST_MODULES or count == model.n_nodes:
            return member
        mass = np.bincount(joined, weights=mass).astype(np.float64)
        model = contracted(model, joined)


def module_couplings(graph: Graph, member: IntArray) -> FloatArray:
    """Summed weights >= 0 between modules, (k, k); on the diagonal twice those inside."""
    k = int(member.max(initial=-1)) + 1
    coupling = np.zeros((k, k))
    one, other = member[graph.edges].T
    np.add.at(coupling, (one, other), np.maximum(graph.weights, 0.0))
    return coupling + coupling.T


def _second_vector(graph: Graph, member: IntArray) -> FloatArray:
    """Fiedler's vector of the graph of modules."""
    count = int(member.max()) + 1
    if count < 3 or count > 4 * MOST_MODULES:
        return np.arange(count, dtype=np.float64)
    between = module_couplings(graph, member)
    np.fill_diagonal(between, 0.0)
    degrees = between.sum(axis=1)
    roots = 1 / np.sqrt(np.maximum(degrees, 1e-12 * max(float(degrees.max()), 1.0)))
    vectors = np.linalg.eigh(roots[:, None] * between * roots)[1]
    return np.asarray(vectors[:, -2] * roots)


class ModuleTree:
    """The tree of one graph, of which weights >= 0 count; nodes that are modules hold `inner`.

    Groups are numbered: the k modules from 0, then what was joined, the whole graph last.
    `children[i]` are the two groups of which group k + i was made, `crossing[i]` the coupling
    between them, `heights[i]` the least rho up to there. `order` are nodes in an order in which
    every group is a run, from `begin` to `end`.
    """

    def __init__(self, graph: Graph, seed: int = 0, inner: FloatArray | None = None) -> None:
        member = small_modules(graph, seed, inner)
        self.n_modules = k = int(member.max(initial=-1)) + 1
        coupling = module_couplings(graph, member)
        volume = coupling.sum(axis=1)
        if inner is not None:
            volume += 2 * np.bincount(member, weights=inner, minlength=k)
        total = volume.sum()
        rho = np.full((k, k), -1.0)
        chance = np.outer(volume, volume)
        np.divide(coupling * total, chance, out=rho, where=chance > 0)
        np.fill_diagonal(coupling, 0.0)
        np.fill_diagonal(rho, -1.0)
        self.children = np.empty((max(k - 1, 0), 2), dtype=np.intp)
        self.crossing, self.heights = np.zeros((2, max(k - 1, 0)))
        sizes = np.zeros(k + len(self.children), dtype=np.intp)
        sizes[:k] = np.bincount(member, minlength=k)
        # Row a of `coupling` and `rho` stands for group number[a], until that is joined to another.
        number, alive, lowest = np.arange(k), np.ones(k, dtype=bool), np.inf
        for step in range(k - 1):
            a, b = (int(v) for v in np.unravel_index(int(np.argmax(rho)), rho.shape))
            lowest = min(lowest, float(rho[a, b]))  # average linkage may turn back: heights do not
            if rho[a, b] <= 0:  # what is left is not connected
                left = np.flatnonzero(alive)
                a, b = left[np.argsort(sizes[number[left]], kind="stable")][:2]
            self.children[step], self.crossing[step] = (number[a], number[b]), coupling[a, b]
            self.heights[step] = max(lowest, 0.0)
            sizes[k + step] = sizes[self.children[step]].sum()
            number[a] = k + step
            alive[b] = False
            coupling[a] += coupling[b]
            coupling[a, a] = 0.0
            coupling[:, a] = coupling[a]
            volume[a] += volume[b]
            chance_of_a = np.maximum(volume[a] * volume, 1e-300)
            row = np.where(alive, coupling[a] * total / chance_of_a, -1.0)
            row[a] = -1.0
            rho[a], rho[:, a] = row, row
            rho[b], rho[:, b] = -1.0, -1.0
        self.begin = np.zeros(len(sizes), dtype=np.intp)
        for step in range(k - 2, -1, -1):  # from the whole graph down
            a, b = self.children[step]
            self.begin[a] = self.begin[k + step]
            self.begin[b] = self.begin[a] + sizes[a]
        self.end = self.begin + sizes
        self.order = np.argsort(self.begin[member], kind="stable")

    def group(self, number: int) -> npt.NDArray[np.intp]:
        """Nodes of a group."""
        return self.order[self.begin[number] : self.end[number]]

    def modules_at(self, resolution: float) -> list[npt.NDArray[np.intp]]:
        """Nodes of the groups that are joined above this rho, and no further."""
        roots = [self.n_modules + len(self.children) - 1]
        groups = []
        while roots:
            v = roots.pop()
            step = v - self.n_modules
            if step >= 0 and self.heights[step] <= resolution:
                roots += self.children[step].tolist()
            else:
                groups.append(self.group(v))
        return groups

    def groups(self, least: int, most: int) -> list[npt.NDArray[np.intp]]:
        """Nodes of all groups of `least` to `most` of them that hold together."""
        coupled = np.append(np.ones(self.n_modules, dtype=bool), self.crossing > 0)
        sizes = self.end - self.begin
        fitting = np.flatnonzero(coupled & (sizes >= least) & (sizes <= most))
        return [np.sort(self.group(int(v))) for v in fitting]
