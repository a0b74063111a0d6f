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
"""The ways from similarities to couplings, by name: functions from a graph to a graph.

"weights" takes the weights as they are, "homogeneous" makes them bind all points about equally
(see `spinlearn.Graph.homogeneous`).

Examples
--------
>>> from spinlearn.energies import COUPLINGS
>>> list(COUPLINGS)
['weights', 'homogeneous']
"""


def make_couplings(name: Any) -> Callable[[Graph], Graph]:
    """The way from similarities to couplings, by its name.

    Parameters
    ----------
    name : {"weights", "homogeneous"}
        See `COUPLINGS`.

    Returns
    -------
    callable
        From a graph of similarities to the graph that an energy is given.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import make_couplings
    >>> star = Graph(4, [(0, 1), (0, 2), (2, 3)], [4.0, 1.0, 1.0])
    >>> make_couplings("homogeneous")(star).weights.round(2).tolist()
    [1.4, 0.49, 1.11]
    """
    if not isinstance(name, str) or name not in COUPLINGS:
        raise InvalidInputError(
            f"couplings={name!r} is unknown: use one of {', '.join(map(repr, COUPLINGS))}; for "
            "couplings of your own give a graph with those weights, or energy=Custom(couplings=...)"
        )
    return COUPLINGS[name]
