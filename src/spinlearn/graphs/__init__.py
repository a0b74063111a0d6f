"""Graph builders: from points, distances, pixels, other libraries' graphs to a Graph."""

from __future__ import annotations

from typing import Any

from spinlearn.core.protocols import GraphBuilder
from spinlearn.errors import InvalidInputError
from spinlearn.graphs.convert import as_graph, from_networkx
from spinlearn.graphs.grid import PixelGrid
from spinlearn.graphs.neighbors import KNN, MutualKNN, Radius
from spinlearn.graphs.summary import GraphSummary, describe

__all__ = [
    "BUILDERS",
    "KNN",
    "GraphSummary",
    "MutualKNN",
    "PixelGrid",
    "Radius",
    "as_graph",
    "describe",
    "from_networkx",
    "make_builder",
]

BUILDERS: dict[str, type[GraphBuilder]] = {"knn": KNN, "mutual_knn": MutualKNN, "radius": Radius}
"""The graph builders by name, as ``PottsClassifier(graph=...)`` takes them.

Examples
--------
>>> from spinlearn.graphs import BUILDERS
>>> list(BUILDERS)
['knn', 'mutual_knn', 'radius']
"""


def make_builder(spec: Any) -> GraphBuilder:
    """A graph builder from its name, with default settings; a builder is returned as it is.

    Parameters
    ----------
    spec : str or graph builder
        A name from `BUILDERS`, or an object with ``build(X)`` and ``attach(X_new, X)``.

    Returns
    -------
    GraphBuilder

    Raises
    ------
    InvalidInputError
        If there is no such builder.

    Examples
    --------
    >>> from spinlearn.graphs import make_builder
    >>> make_builder("mutual_knn")
    MutualKNN(n_neighbors=10, metric='euclidean', weights='gaussian', spanning_tree=True)
    """
    kinds = ", ".join(map(repr, BUILDERS))
    if isinstance(spec, str) and spec in BUILDERS:
        try:
            return BUILDERS[spec]()
        except TypeError as error:
            raise InvalidInputError(
                f"graph builder {spec!r} has settings without a default ({error}): pass an "
                "instance such as Radius(radius=0.5)"
            ) from error
    if isinstance(spec, str):
        raise InvalidInputError(
            f"graph builder {spec!r} is unknown: use one of {kinds} or a builder such as "
            "KNN(n_neighbors=5)"
        )
    if isinstance(spec, type) or not isinstance(spec, GraphBuilder):
        shown = spec.__name__ if isinstance(spec, type) else type(spec).__name__
        raise InvalidInputError(
            f"{shown} is not a graph builder: pass a name ({kinds}) or an instance such as "
            "KNN(n_neighbors=5)"
        )
    return spec
