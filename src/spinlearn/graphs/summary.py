"""GraphSummary: what a graph looks like, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinlearn.analysis.grains import connected_parts
from spinlearn.core.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSummary:
    """The shape of a graph, in a few numbers; `describe` makes one.

    Attributes
    ----------
    n_nodes : int
        Number of nodes.
    n_edges : int
        Number of edges.
    n_components : int
        Parts of the graph that no edge joins.
    n_isolated : int
        Nodes without an edge; each is a component of its own.
    component_sizes : tuple of int
        Number of nodes in each component, largest first.
    mean_degree : float
        Neighbours of a node, on average.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.graphs import describe
    >>> describe(Graph(4, [(0, 1), (1, 2)])).component_sizes
    (3, 1)
    """

    n_nodes: int
    n_edges: int
    n_components: int
    n_isolated: int
    component_sizes: tuple[int, ...]
    mean_degree: float


def describe(graph: Graph) -> GraphSummary:
    """Size, components and mean degree of a graph.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    GraphSummary

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.graphs import describe
    >>> describe(Graph(4, [(0, 1), (1, 2)])).mean_degree
    1.0
    """
    component = connected_parts(graph.n_nodes, graph.edges)
    sizes = np.sort(np.bincount(component))[::-1]
    return GraphSummary(
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        n_components=len(sizes),
        n_isolated=int(np.count_nonzero(graph.degrees == 0)),
        component_sizes=tuple(sizes.tolist()),
        mean_degree=2 * graph.n_edges / graph.n_nodes,
    )
