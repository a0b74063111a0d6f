"""Connected parts of a graph, and an order of its nodes.

Grains: points that agree, at one temperature.

Edges with C_ij at or above a threshold are kept; the connected parts of what is left are the
grains. Blatt, Wiseman & Domany (Neural Computation 9, 1805, 1997) use 1/2 and then also join every
point to the neighbour with which it agrees most, which gathers the fringe of a cluster.

An order of nodes that keeps neighbours close in memory, where sweeps find them in the cache.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.model.arrays import BoolArray, FloatArray, IntArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph

# Exact answers meet the thresholds exactly (4 of 5 ground states ...); rounding must not decide.
TIE = 1e-9
LEAST_AGREEMENT = 0.0005  # of the way from chance to full agreement: less is noise


def grains(
    equilibrium: Equilibrium, row: int, threshold: float, *, join_all: bool = False
) -> IntArray:
    """Number of the grain of every node at the row-th temperature: edges agree by `threshold`.

    `join_all` joins every point to the neighbour with which it agrees most; of several equally good
    ones, to that of the strongest coupling.
    """
    graph = equilibrium.model.graph
    agreement = equilibrium.edge_agreement[row]
    kept = agreement >= threshold - TIE
    if join_all:
        strength = np.abs(equilibrium.model.couplings)
        kept[_best_edges(graph, np.rint(agreement / TIE), strength)] = True
    return connected_parts(graph.n_nodes, graph.edges[kept])


def _best_edges(graph: Graph, agreement: FloatArray, strength: FloatArray) -> IntArray:
    """Of every point that has neighbours, the edge of largest agreement, then strength."""
    starts = graph.indptr[:-1][graph.degrees > 0]
    if len(starts) == 0:
        return np.empty(0, dtype=np.int32)
    lengths = graph.degrees[graph.degrees > 0]
    ids = graph.edge_ids
    value = agreement[ids]
    top = value == np.repeat(np.maximum.reduceat(value, starts), lengths)
    value = np.where(top, strength[ids], -1.0)
    top = value == np.repeat(np.maximum.reduceat(value, starts), lengths)
    last = np.maximum.reduceat(np.where(top, np.arange(len(ids)), -1), starts)
    return np.asarray(ids[last])


def joined(
    equilibrium: Equilibrium, row: int, parts: IntArray, small: BoolArray, chance: float
) -> IntArray:
    """Grains after the small ones have joined that of the others with which they agree most.

    How much two grains agree is summed over their links, C_ij - chance each, so that no answer
    hangs on which of two links is a little the stronger in a sample; `chance` is the agreement of
    nodes that know nothing of each other. A sum within LEAST_AGREEMENT of it, as part of the way to
    1, joins nothing. Small grains join others, not each other, and all that are equally good.
    """
    graph = equilibrium.model.graph
    beyond = (equilibrium.edge_agreement[row] - chance) / max(1 - chance, TIE)
    strength = np.abs(equilibrium.model.couplings)
    from_to = [graph.edges, graph.edges[:, ::-1]]
    leaving = [np.flatnonzero(small[e[:, 0]] & ~small[e[:, 1]]) for e in from_to]
    ends = np.concatenate([e[kept] for e, kept in zip(from_to, leaving, strict=True)])
    ids = np.concatenate(leaving)
    ways, way = np.unique(parts[ends], axis=0, return_inverse=True)
    n_parts, origin = int(parts.max(initial=-1)) + 1, ways[:, 0]
    top = np.ones(len(ways), dtype=np.bool_)
    for value, least in ((beyond, LEAST_AGREEMENT), (strength, 0.0)):
        # Of equals, the more strongly coupled.
        total = np.bincount(way.ravel(), weights=value[ids], minlength=len(ways))
        best = np.full(n_parts, least)
        np.maximum.at(best, origin[top], total[top])
        top &= total >= best[origin] - TIE * np.maximum(best[origin], 1.0)
    return np.asarray(connected_parts(n_parts, ways[top])[parts])


def connected_parts(n_nodes: int, edges: IntArray) -> IntArray:
    """Number of the connected part of every node, in the order of their first nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = (edges[:, 0], edges[:, 1])
    links = coo_array((np.ones(len(edges), np.int8), ends), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int32)


def reached(graph: Graph, marked: BoolArray, links: BoolArray | None = None) -> BoolArray:
    """Nodes in a part, connected by `links` (default: all edges), that holds a marked one, (n,)."""
    part = connected_parts(graph.n_nodes, graph.edges if links is None else graph.edges[links])
    return np.isin(part, part[marked])


BALL = 20_000  # nodes; with ten neighbours and ten states their messages take 10 MB


def near_order(
    indptr: IntArray, neighbors: IntArray, left_out: BoolArray | None = None
) -> npt.NDArray[np.int32]:
    """Nodes of a graph, given by its rows of neighbours, those left out not among them.

    Up to the size of a ball this is reverse Cuthill-McKee, beyond see `kernels.node_order`.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    from spinlearn.kernels.graph_tools import list_in_balls

    n = len(indptr) - 1
    if n <= BALL and left_out is None:
        links = csr_array((np.ones(len(neighbors), dtype=np.int8), neighbors, indptr), shape=(n, n))
        order = reverse_cuthill_mckee(links, symmetric_mode=True) if n else []
        return np.asarray(order, dtype=np.int32)
    listed = np.zeros(n, dtype=np.bool_) if left_out is None else left_out.copy()
    order, borders = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    count = list_in_balls(indptr, neighbors, BALL, listed, borders, order)
    return order[:count] if count == n else order[:count].copy()
