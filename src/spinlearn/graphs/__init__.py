"""Graph builders: from points, distances, pixels, other libraries' graphs to a Graph."""

from __future__ import annotations

from typing import Any

from spinlearn.errors import InvalidInputError
from spinlearn.graphs.convert import GraphSummary, as_graph, describe, from_networkx
from spinlearn.graphs.grid import PixelGrid
from spinlearn.graphs.neighbors import KNN, MutualKNN, Radius
from spinlearn.model.protocols import GraphBuilder
from spinlearn.model.settings import made

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
    """A graph builder from its name, with settings if need be; a builder is returned as it is.

    Parameters
    ----------
    spec : str or graph builder
        A name from `BUILDERS`, or one with settings, "knn:5,metric=cosine"; or an object with
        ``build(X)`` and ``attach(X_new, X)``.

    Returns
    -------
    GraphBuilder

    Examples
    --------
    >>> from spinlearn.graphs import make_builder
    >>> make_builder("radius:0.5")
    Radius(radius=0.5, metric='euclidean', weights='gaussian', n_components=None)
    """
    example = "'knn:5,metric=cosine', 'radius:0.5' or KNN(n_neighbors=5)"
    builder = made("graph", BUILDERS, spec, example)
    if isinstance(builder, type) or not isinstance(builder, GraphBuilder):
        shown = spec.__name__ if isinstance(spec, type) else type(spec).__name__
        raise InvalidInputError(
            f"{shown} is not a graph builder: pass a name ({', '.join(BUILDERS)}) or an "
            "instance such as KNN(n_neighbors=5)"
        )
    return builder
