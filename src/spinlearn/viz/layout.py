"""Where the points of an answer can be drawn: given places, or coordinates made from the data.

- `principal`: the first two principal components of the features.
- `spectral`: the second and third eigenvectors of the random walk on the graph, with a weak link
  between all pairs, W + tau/n, so that a graph in several parts has a layout too (Amini, Chen,
  Bickel & Levina 2013).
- `neighbour_map`: starts from the spectral layout and moves points so that similar ones come close
  and others apart, with attraction 2d/(1+d^2) along edges and repulsion 2d/((eps+d^2)(1+d^2)) from
  random points, the gradients of UMAP's cross entropy with a = b = 1 (McInnes, Healy & Melville
  2018), in whole steps of all points at once.
- `umap_layout`: UMAP itself on the same graph, from the same start, where it is installed.

All are deterministic; axes are turned so that the largest deviations are positive.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.linear import weight_matrix
from spinlearn.model.arrays import FloatArray, float_array
from spinlearn.model.graph import Graph

MAX_MAPPED = 20_000  # points whose neighbour graph is laid out where they have features too
LINK = 0.05  # tau, in units of the mean degree
DENSE = 500  # points up to which all eigenvectors are cheap
STEPS = 150  # of the neighbour map, up to MANY points; fewer beyond, at least a fifth
MANY = 50_000
START_WIDTH = 20.0
REPELLERS = 6  # random points per point and step
REPULSION = 5.0  # per edge, as in UMAP's five negative samples
LEAST_UMAP = 300  # points; below, the map of our own is as good and there at once
UMAP_WIDTH, UMAP_MIN_DIST, UMAP_EPOCHS = 20.0, 0.1, 300


class Layout(NamedTuple):
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
    components; these alone beyond MAX_MAPPED points. `coordinates` and `pixels` (n, 2) are places,
    or rows and columns in an image; `points` (n, d) features, or `components` (n, 2) of them.
    `first_only` leaves out what is not shown to begin with.
    """
    n, places = graph.n_nodes, {}
    for name, values in (
        ("pixels", pixels), ("coordinates", coordinates), ("components", components)
    ):  # fmt: skip
        if values is None:
            continue
        places[name] = float_array(values, name)
        if places[name].shape != (n, 2) or not np.all(np.isfinite(places[name])):
            raise InvalidInputError(
                f"{name} must be finite numbers of shape ({n}, 2), got shape "
                f"{places[name].shape}: give two per point, or leave them out and a layout is "
                "computed"
            )
    offered = []
    if pixels is not None:
        rows, columns = places["pixels"].T
        offered.append(Layout("pixels", np.column_stack([columns, -rows]), pixels=True))
    if coordinates is not None:
        offered.append(Layout("coordinates", places["coordinates"]))
    features: FloatArray | None = None
    if points is not None:
        features = float_array(points, "points")
        if features.ndim != 2 or len(features) != n:
            raise InvalidInputError(
                f"points has shape {features.shape}, but there are {n} points: give one row of "
                "features per point"
            )
        if features.shape[1] == 2:
            offered.append(Layout("features", features))
    if offered:
        return tuple(offered[:1] if first_only else offered)
    if components is not None:
        offered.append(Layout("PCA", places["components"]))
    elif features is not None and features.shape[1] > 2:
        offered.append(Layout("PCA", principal(features)))
    if offered and n > MAX_MAPPED:
        return tuple(offered)
    start = spectral(graph)
    # Half way between coordinates and ranks, in the unit square: eigenvectors put most points into
    # a few spots; ranks alone would tear clusters apart.
    ranks = np.argsort(np.argsort(start, axis=0, kind="stable"), axis=0) / max(n - 1, 1)
    spread = np.ptp(start, axis=0)
    unit = (start - start.min(axis=0, initial=0.0)) / np.where(spread > 0, spread, 1.0)
    even = np.asarray((ranks + unit) / 2 - 0.5)
    mapped = umap_layout(graph, even)
    if mapped is None:
        offered.insert(0, Layout("neighbours", neighbour_map(graph, even)))
    else:
        offered.insert(0, Layout("UMAP", mapped))
    if features is None and components is None:
        offered.append(Layout("spectral", start))
    return tuple(offered[:1] if first_only else offered)


def principal(points: FloatArray) -> FloatArray:
    """First two principal components, (n, 2)."""
    from scipy.sparse.linalg import svds

    centred = np.asarray(points, dtype=np.float64) - np.mean(points, axis=0)
    scale = np.abs(centred).max(initial=0.0)
    n, d = centred.shape
    flat = np.zeros((n, 2))
    if scale == 0:
        return flat
    centred /= scale
    if min(n, d) <= 3:
        left, values, _ = np.linalg.svd(centred, full_matrices=False)
    else:
        left, values, _ = svds(centred, k=2, v0=np.random.default_rng(0).normal(size=min(n, d)))
    order = np.argsort(-values)[:2]
    flat[:, : len(order)] = left[:, order] * values[order] * scale
    return _oriented(flat)


def spectral(graph: Graph) -> FloatArray:
    """Two slow directions of the random walk on the graph, (n, 2)."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = graph.n_nodes
    adjacency = abs(weight_matrix(graph))
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    if n < 5 or not np.any(degree > 0):
        angle = 2 * np.pi * np.arange(n) / max(n, 1)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    link = LINK * degree.mean()
    root = 1 / np.sqrt(degree + link)

    def walk(vector: FloatArray) -> FloatArray:
        scaled = root * np.ravel(vector)
        return np.asarray(root * (adjacency @ scaled + link / n * scaled.sum()))

    if n <= DENSE:  # Lanczos may miss one of two equal eigenvalues, as a ring has
        dense = root[:, None] * (adjacency.toarray() + link / n) * root
        values, vectors = np.linalg.eigh(dense)
    else:
        operator = LinearOperator((n, n), matvec=walk, dtype=np.float64)
        start = np.random.default_rng(0).uniform(0.5, 1.5, n)
        values, vectors = eigsh(operator, k=5, which="LA", v0=start, tol=1e-5)
    slow = np.argsort(-values)[1:3]
    return _oriented(vectors[:, slow] * root[:, None])


def neighbour_map(graph: Graph, start: FloatArray) -> FloatArray:
    """Similar points side by side, (n, 2), from a `start` in the unit square."""
    n, place = graph.n_nodes, start
    weights = np.abs(graph.weights)
    if len(weights) == 0 or n < 5:
        return place
    pull = np.sqrt(weights / weights.max())  # of weak edges too, or they are never seen
    u, v = graph.edges.T.astype(np.intp)
    rng = np.random.default_rng(0)
    place = START_WIDTH * place + rng.normal(scale=0.05, size=(n, 2))
    rows = np.repeat(np.arange(n), REPELLERS)
    furthest = max(1.0, np.sqrt(n) / 40)  # of one step; more points need longer ones
    share = REPULSION * 2 * float(pull.sum()) / n / REPELLERS
    n_steps = int(STEPS * np.clip(MANY / n, 0.2, 1))
    for step in range(n_steps):
        rate = 1 - step / n_steps
        force = np.zeros((n, 2))
        gap = place[u] - place[v]
        strength = (2 * pull / (1 + np.sum(gap**2, axis=1)))[:, None] * gap
        others = rng.integers(0, n, len(rows))
        away = place[rows] - place[others]
        square = np.sum(away**2, axis=1)
        push = np.clip((2 / ((0.01 + square) * (1 + square)))[:, None] * away, -4, 4) * share
        for axis in (0, 1):
            force[:, axis] -= np.bincount(u, strength[:, axis], n)
            force[:, axis] += np.bincount(v, strength[:, axis], n)
            force[:, axis] += push[:, axis].reshape(n, REPELLERS).sum(axis=1)
        length = np.sqrt(np.sum(force**2, axis=1, keepdims=True))
        place += rate * force * np.minimum(0.3, furthest / np.maximum(length, 1e-12))
    return _oriented(place - place.mean(axis=0))


def umap_layout(graph: Graph, start: FloatArray) -> FloatArray | None:
    """UMAP's layout (n, 2) from a `start` in the unit square; None if missing or not worth it."""
    n = graph.n_nodes
    if n < LEAST_UMAP or graph.n_edges == 0:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what it would like to have beside it
            from umap.umap_ import find_ab_params, simplicial_set_embedding
    except ImportError:
        return None
    from scipy.sparse import csr_matrix

    links = csr_matrix(abs(weight_matrix(graph)))
    links.data = np.sqrt(links.data / links.data.max())  # weak edges too, or they are never seen
    place = (UMAP_WIDTH * start).astype(np.float32)
    place += np.random.default_rng(0).normal(scale=1e-3, size=(n, 2)).astype(np.float32)
    a, b = find_ab_params(1.0, UMAP_MIN_DIST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places, _ = simplicial_set_embedding(
            None, links, 2, 1.0, a, b, 1.0, 5, UMAP_EPOCHS, place, np.random.RandomState(0),
            "euclidean", {}, False, {}, False,
        )  # fmt: skip
    mapped = np.asarray(places, dtype=np.float64)
    if not np.all(np.isfinite(mapped)):
        return None
    return _oriented(mapped - mapped.mean(axis=0))


def _oriented(place: FloatArray) -> FloatArray:
    """Signs fixed by the largest deviation, which eigenvectors leave open."""
    if len(place) == 0:
        return place
    largest = place[np.argmax(np.abs(place), axis=0), np.arange(place.shape[1])]
    return np.asarray(place * np.where(largest < 0, -1.0, 1.0))
