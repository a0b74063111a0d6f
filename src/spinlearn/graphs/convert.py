"""Graphs from other libraries' types, and a summary of any graph in a few numbers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import float_array
from spinlearn.model.graph import Graph, connected_parts


def from_networkx(graph: Any, weight: str | None = "weight") -> tuple[Graph, list[Hashable]]:
    """Graph of a networkx graph.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Undirected; the weights of parallel edges add up, self-loops are dropped.
    weight : str or None, default "weight"
        Edge attribute that holds the weight; edges without it, or all if None, weigh 1.

    Returns
    -------
    graph, names : Graph, list
        The same edges between numbers, and the names of the nodes in that order.

    Examples
    --------
    >>> import networkx as nx
    >>> from spinlearn.graphs import from_networkx
    >>> graph, names = from_networkx(nx.Graph([("ann", "bob"), ("bob", "cid")]))
    >>> graph.edges.tolist(), names
    ([[0, 1], [1, 2]], ['ann', 'bob', 'cid'])
    """
    if graph.is_directed():
        raise InvalidInputError(
            "the networkx graph is directed, but couplings are mutual: pass "
            "graph.to_undirected(), after adding the weights of opposite edges if both count"
        )
    names = list(graph.nodes)
    if not names:
        raise InvalidInputError("the networkx graph has no nodes, but at least one is needed")
    number = {name: position for position, name in enumerate(names)}
    edges, weights = [], []
    for one, other, attributes in graph.edges(data=True):
        value = 1.0 if weight is None else attributes.get(weight, 1.0)
        if not _is_usable(value):
            shown = value.item() if isinstance(value, np.generic) else value
            what = "NaN or infinite" if isinstance(shown, float) else "no real number"
            raise InvalidInputError(
                f"the edge ({one!r}, {other!r}) of the networkx graph has {weight}={shown!r}, "
                f"which is {what}: set it to a number, remove the attribute for weight 1, or use "
                "from_networkx(graph, weight=None) for weight 1 everywhere"
            )
        edges.append((number[one], number[other]))
        weights.append(value)
    return Graph(len(names), np.array(edges, np.int64), weights, duplicates="sum"), names


def _is_usable(value: Any) -> bool:
    if type(value) is float:  # the usual case
        return isfinite(value)
    try:
        number = float_array(value, "weight")
    except InvalidInputError:
        return False
    return number.ndim == 0 and bool(np.isfinite(number))


def as_graph(graph: Any) -> Graph:
    """A graph of this library from one of another.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix or array, or networkx graph
        A Graph is returned as it is.

    Returns
    -------
    Graph

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> from spinlearn.graphs import as_graph
    >>> as_graph(coo_array(([0.5, 0.5], ([0, 1], [1, 0])), shape=(2, 2)))
    Graph(n_nodes=2, n_edges=1)
    """
    if isinstance(graph, Graph):
        return graph
    if hasattr(graph, "tocoo"):
        return Graph.from_sparse(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "adj"):
        return from_networkx(graph)[0]
    raise InvalidInputError(
        f"{type(graph).__name__} is not a graph: pass a Graph, a SciPy sparse matrix of weights or "
        "a networkx graph; for a dense matrix of weights use Graph.from_sparse, for points a "
        "builder such as MutualKNN"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSummary:
    """The shape of a graph, in a few numbers; `describe` makes one.

    Attributes
    ----------
    n_nodes, n_edges, n_components, n_isolated : int
        Number of nodes, of edges, of parts that no edge joins, and of those of a single node.
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
