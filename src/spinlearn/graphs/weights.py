"""Similarities from distances, with length scales that unseen points can reuse.

constant   W_ij = 1
gaussian   W_ij = exp(-d_ij^2 / a^2)         a: mean distance over the edges of the graph
local      W_ij = exp(-d_ij^2 / (a_i a_j))   a_i: mean distance of point i to its neighbours

All three are exp(-(d / a_i)(d / a_j)) with a scale per point: infinite for "constant", common to
all for "gaussian".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from spinlearn.core.arrays import FloatArray

WEIGHTS = ("constant", "gaussian", "local")

# Never zero: a weak similarity is still an edge.
SMALLEST_SIMILARITY = float(np.finfo(np.float64).tiny)


class Similarity(NamedTuple):
    """Similarity as a function of distance, with the length scales of one graph.

    `point_scales` are those of its points, `scale` that of a point that has none of its own, in the
    unit of the distances: infinite for "constant" and for a graph without edges.
    """

    weights: str
    scale: float
    point_scales: FloatArray

    @classmethod
    def of_graph(cls, weights: str, n_points: int, edges: Any, distances: FloatArray) -> Similarity:
        """Scales from the edges (m, 2) of a graph and their lengths (m,)."""
        known = weights != "constant" and len(distances) > 0
        scale = float(np.mean(distances)) if known else np.inf
        if weights != "local":
            return cls(weights, scale, np.full(n_points, scale))
        lengths = np.repeat(distances, 2)
        return cls(weights, scale, _mean_by_point(n_points, np.ravel(edges), lengths, scale))

    def of_edges(self, edges: Any, distances: FloatArray) -> FloatArray:
        """Similarities (m,) along edges (m, 2) of the graph."""
        return _similarity(distances, *self.point_scales[edges].T)

    def of_unseen(self, new_points: Any, points: Any, distances: FloatArray) -> FloatArray:
        """Similarities (m,) of unseen points to points of the graph, both given by number."""
        if self.weights == "local":
            n_new = int(new_points.max(initial=-1)) + 1
            new_scales = _mean_by_point(n_new, new_points, distances, self.scale)[new_points]
        else:
            new_scales = np.full(len(distances), self.scale)
        return _similarity(distances, new_scales, self.point_scales[points])


def _mean_by_point(n_points: int, ends: Any, lengths: FloatArray, otherwise: float) -> FloatArray:
    counts = np.bincount(ends, minlength=n_points)
    sums = np.bincount(ends, weights=lengths, minlength=n_points)
    return np.where(counts > 0, sums / np.maximum(counts, 1), otherwise)


def _similarity(distances: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    # Among duplicates 0/0 arises: points at distance zero are alike whatever the scale.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponents = np.where(distances > 0, (distances / left) * (distances / right), 0.0)
    return np.maximum(np.exp(-exponents), SMALLEST_SIMILARITY)
