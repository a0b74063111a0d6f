"""GraphSummary: what a graph looks like, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinlearn.core.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSummary:
    """The shape of a graph.

    Attributes
    ----------
    n_nodes, n_edges, n_components : int
    n_isolated : int
        Nodes without an edge; each is a component of its own.
    component_sizes : tuple of int
        Number of nodes in each component, largest first.
    mean_degree : float
        Edges per node, counted at both ends.
    """

    n_nodes: int
    n_edges: int
    n_components: int
    n_isolated: int
    component_sizes: tuple[int, ...]
    mean_degree: float


def describe(graph: Graph) -> GraphSummary:
    """Size, components and mean degree of a graph."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    joined = csr_array(
        (np.ones(len(graph.neighbors)), graph.neighbors, graph.indptr),
        shape=(graph.n_nodes, graph.n_nodes),
    )
    n_components, component = connected_components(joined, directed=False)
    sizes = np.sort(np.bincount(component))[::-1]
    return GraphSummary(
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        n_components=int(n_components),
        n_isolated=int(np.count_nonzero(graph.degrees == 0)),
        component_sizes=tuple(sizes.tolist()),
        mean_degree=2 * graph.n_edges / graph.n_nodes,
    )
