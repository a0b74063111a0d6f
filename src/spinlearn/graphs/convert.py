"""Graphs from other libraries' types."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError


def from_networkx(graph: Any, weight: str | None = "weight") -> tuple[Graph, list[Hashable]]:
    """Graph of a networkx graph.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Undirected; the weights of parallel edges add up, self-loops are dropped.
    weight : str or None
        Edge attribute that holds the weight; edges without it, or all if None, weigh 1.

    Returns
    -------
    graph : Graph
    names : list
        Name of every node, in the order of their numbers.
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
        edges.append((number[one], number[other]))
        weights.append(1.0 if weight is None else attributes.get(weight, 1.0))
    ends = np.array(edges, dtype=np.int64)
    return Graph(len(names), ends, weights, duplicates="sum"), names


def as_graph(graph: Any) -> Graph:
    """A Graph as it is; a SciPy sparse matrix or array, or a networkx graph, converted."""
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
