"""How the weights of a graph become the couplings of an energy.

weights        J_ij = w_ij
homogeneous    J_ij ~ w_ij / sqrt(d_i d_j), of mean 1, see `Graph.homogeneous`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError


def weights(graph: Graph) -> Graph:
    """The graph as it is: its weights are the couplings."""
    return graph


def homogeneous(graph: Graph) -> Graph:
    """The graph with weights that bind all points about equally."""
    return graph.homogeneous()


COUPLINGS: dict[str, Callable[[Graph], Graph]] = {"weights": weights, "homogeneous": homogeneous}


def make_couplings(name: Any) -> Callable[[Graph], Graph]:
    """From a graph of similarities to the graph that an energy is given, by its name."""
    if not isinstance(name, str) or name not in COUPLINGS:
        raise InvalidInputError(
            f"couplings={name!r} is unknown: use one of {', '.join(map(repr, COUPLINGS))}; for "
            "couplings of your own give a graph with those weights, or energy=Custom(couplings=...)"
        )
    return COUPLINGS[name]
