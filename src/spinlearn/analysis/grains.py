"""Grains: points that agree, at one temperature.

Edges with C_ij at or above a threshold are kept; the connected parts of what is left are the
grains. Blatt, Wiseman & Domany (Neural Computation 9, 1805, 1997) use 1/2 and then also join every
point to the neighbour with which it agrees most, which gathers the fringe of a cluster.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import IntArray
from spinlearn.core.results import Equilibrium

# Exact answers meet the threshold exactly; rounding must not decide.
TIE = 1e-9


def grains(
    equilibrium: Equilibrium, row: int, threshold: float, *, join_best: bool = False
) -> IntArray:
    """Number of the grain of every node at the row-th temperature.

    Parameters
    ----------
    equilibrium : Equilibrium
    row : int
    threshold : float
        Least agreement of an edge within a grain.
    join_best : bool
        Also join every point to the neighbour with which it agrees most; of several equally good
        ones, to that of the strongest coupling.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = equilibrium.model.graph
    agreement = equilibrium.edge_agreement[row]
    kept = agreement >= threshold - TIE
    if join_best:
        linked = graph.degrees > 0
        ends = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        strength = np.abs(equilibrium.model.couplings)[graph.edge_ids]
        order = np.lexsort((strength, np.rint(agreement / TIE)[graph.edge_ids], ends))
        kept[graph.edge_ids[order[graph.indptr[1:][linked] - 1]]] = True
    u, v = graph.edges[kept].T
    shape = (graph.n_nodes, graph.n_nodes)
    links = coo_array((np.ones(len(u), dtype=np.int8), (u, v)), shape=shape)
    found: IntArray = connected_components(links, directed=False)[1]
    return found
