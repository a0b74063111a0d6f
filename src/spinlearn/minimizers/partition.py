"""Blocks of nodes that few edges join: what workers share out among themselves.

Small modules of the graph are ordered by Fiedler's vector, the second eigenvector of the normalised
adjacency of the contracted graph, and cut into ranges of about equally many nodes. On neighbour
graphs of 10,000 and 70,000 points 2 % of the edges then join two halves; in reverse Cuthill-McKee
order it is 10 to 12 %. Beyond MANY nodes modules would take too long: ranges of an order in which
neighbours are close (`spinlearn.analysis.node_order`) do instead.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.node_order import near_order
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.coarsening import contracted, masses, modules

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
        place = np.empty(graph.n_nodes, dtype=np.intp)
        place[near_order(graph.indptr, graph.neighbors)] = np.arange(graph.n_nodes)
        return place * n_blocks // graph.n_nodes
    member = small_modules(graph, FINE, MOST_MODULES, seed)
    order = np.argsort(_second_vector(graph, member), kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    place = np.empty(graph.n_nodes, dtype=np.intp)
    place[np.argsort(rank[member], kind="stable")] = np.arange(graph.n_nodes)
    return place * n_blocks // graph.n_nodes


def small_modules(
    graph: Graph, resolution: float, most: int, seed: int, inner: FloatArray | None = None
) -> IntArray:
    """Number of the module of every node; modules are joined to larger ones while too many.

    Nodes that are modules themselves have the coupling `inner` inside them.
    """
    generator = np.random.default_rng(seed)
    model = PottsModel(graph, 2)
    mass = masses(model) if inner is None else masses(model) + 2 * inner
    member = np.arange(graph.n_nodes, dtype=np.int32)
    while True:
        joined = modules(model, resolution, generator, mass)
        count = int(joined.max(initial=-1)) + 1
        member = joined[member]
        if count <= most or count == model.n_nodes:
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
