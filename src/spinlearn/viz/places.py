"""Where the points of an answer can be drawn: the layouts that a reader may choose from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, float_array
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.viz.layout import neighbour_map, principal, spectral, umap_layout

MAX_MAPPED = 20_000  # points whose neighbour graph is laid out where they have features too


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A place for every point: x to the right and y upwards; pixels touch each other."""

    name: str
    coordinates: FloatArray
    pixels: bool = False


def layouts(
    graph: Graph,
    coordinates: npt.ArrayLike | None = None,
    pixels: npt.ArrayLike | None = None,
    points: npt.ArrayLike | None = None,
    components: npt.ArrayLike | None = None,
    *,
    first_only: bool = False,
) -> tuple[Layout, ...]:
    """Where the points can be drawn, the first one to begin with.

    Given places, and no others; else the neighbour graph (by UMAP where it is installed), in which
    classes lie apart that principal components put on top of each other, and the principal
    components of the features, if there are any. Beyond MAX_MAPPED points with features the
    components come alone.

    Parameters
    ----------
    graph : Graph
    coordinates, pixels : array-like (n, 2), optional
        Places of the points, or their rows and columns in an image.
    points : array-like (n, d), optional
        Features.
    components : array-like (n, 2), optional
        Their principal components, if these are known and the features are not.
    first_only : bool
        Leave out those that are not shown to begin with.
    """
    found = []
    if pixels is not None:
        rows, columns = _places(pixels, "pixels", graph.n_nodes).T
        found.append(Layout("pixels", np.column_stack([columns, -rows]), pixels=True))
    if coordinates is not None:
        found.append(Layout("coordinates", _places(coordinates, "coordinates", graph.n_nodes)))
    features: FloatArray | None = None
    if points is not None:
        features = float_array(points, "points")
        if features.ndim != 2 or len(features) != graph.n_nodes:
            raise InvalidInputError(
                f"points has shape {features.shape}, but there are {graph.n_nodes} points: give "
                "one row of features per point"
            )
        if features.shape[1] == 2:
            found.append(Layout("features", features))
    if found:
        return tuple(found[:1] if first_only else found)
    if components is not None:
        found.append(Layout("PCA", _places(components, "components", graph.n_nodes)))
    elif features is not None and features.shape[1] > 2:
        found.append(Layout("PCA", principal(features)))
    if found and graph.n_nodes > MAX_MAPPED:
        return tuple(found)
    start = spectral(graph)
    mapped = umap_layout(graph, start)
    if mapped is not None:
        found.insert(0, Layout("UMAP", mapped))
    else:
        found.insert(0, Layout("neighbours", neighbour_map(graph, start)))
    if features is None and components is None:
        found.append(Layout("spectral", start))
    return tuple(found[:1] if first_only else found)


def _places(values: npt.ArrayLike, name: str, n_points: int) -> FloatArray:
    places = float_array(values, name)
    if places.shape != (n_points, 2) or not np.all(np.isfinite(places)):
        raise InvalidInputError(
            f"{name} must be finite numbers of shape ({n_points}, 2), got shape {places.shape}: "
            "give two per point, or leave them out and a layout is computed"
        )
    return places
