"""Random walks on a graph: how much of what starts at one point comes by another.

    G = (I - alpha S)^-1,    S = D^-1/2 W D^-1/2,

W the weights, D the summed weights of the points. Walks have about 1/(1 - alpha) steps, here
REACH sqrt(n) / (mean number of neighbours): in a small set, or one with many neighbours a point,
long walks forget where they began. G is also the covariance of a Gaussian field on the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.constants import FAINT, SHARPNESS
from spinlearn.core.graph import Graph
from spinlearn.energies.base import weighted_degrees
from spinlearn.minimizers.linear_system import System, inverse_roots, scaled, weight_matrix

REACH = 16.0  # on mutual neighbours of the digits 100 steps, the alpha = 0.99 of Zhou et al. (2004)
FEWEST_STEPS = 2.0
TOLERANCE = 1e-8
VERY_MANY = 500_000  # points beyond which single precision is enough, and half the memory,
SINGLE_TOLERANCE = 1e-5  # with what it allows
MAX_STEPS = 10_000


def alpha_of(graph: Graph) -> float:
    """Share of the walks that go on at every step."""
    neighbors = 2 * max(int(np.sum(graph.weights > 0)), 1) / graph.n_nodes
    steps = REACH * float(np.sqrt(graph.n_nodes)) / neighbors
    return 1 - 1 / max(steps, FEWEST_STEPS)


def sharpened(shares: FloatArray, known: BoolArray) -> FloatArray:
    """Probabilities of classes from shares of their walks, (..., q); zero where none is known.

    Where hardly any walk comes by, FAINT leaves all classes alike. Shares are blunter than
    probabilities, for walks blur borders; the power makes up for part of that.

    Parameters
    ----------
    shares : float array (..., q)
        Of each class's walks those that come by, over the mean of all points.
    known : bool array
        Whether a class has walks at all; as `shares`, or (q,).
    """
    values = np.where(known, (np.maximum(shares, 0.0) + FAINT) ** SHARPNESS, 0.0)
    total = values.sum(axis=-1, keepdims=True)
    return np.asarray(values / np.where(total > 0, total, 1.0))


def precision(n_points: int) -> tuple[float, Any]:
    """Tolerance and number type of walks among so many points."""
    many = n_points > VERY_MANY
    return (SINGLE_TOLERANCE, np.float32) if many else (TOLERANCE, np.float64)


class Walks:
    """Columns of G.

    Parameters
    ----------
    graph : Graph
        Edges of negative weight are left aside.
    open_points : bool array (n,), optional
        Points that walks may enter; at the others they end. Default: all.
    tol : float
        Of the linear systems.
    alpha : float, optional
        Share of the walks that go on at every step; default: `alpha_of`.
    dtype : {float64, float32}
        Single precision halves the memory, and allows a tol of 1e-6 at best.
    """

    def __init__(
        self,
        graph: Graph,
        open_points: BoolArray | None = None,
        tol: float = TOLERANCE,
        alpha: float | None = None,
        dtype: Any = np.float64,
    ) -> None:
        if np.any(graph.weights < 0):
            graph = graph.with_weights(np.maximum(graph.weights, 0.0))
        scale = inverse_roots(weighted_degrees(graph))
        entered = scale if open_points is None else np.where(open_points, scale, 0.0)
        alpha = alpha_of(graph) if alpha is None else alpha
        weights = weight_matrix(graph, dtype)
        self._system = System(scaled(weights, entered, alpha))
        self._n_nodes, self._dtype = graph.n_nodes, dtype
        self._weights, self._left = weights, scale.astype(dtype)
        self._entered = (alpha * entered).astype(dtype)
        self._tol = tol

    def columns(self, points: npt.NDArray[np.intp], power: int = 1) -> FloatArray:
        """Columns of a power of G at the points, (n, points)."""
        values = np.zeros((self._n_nodes, len(points)), dtype=self._dtype)
        values[points, np.arange(len(points))] = 1.0
        for _ in range(power):
            values = self._solve(values)
        return values

    def carried(self, values: FloatArray) -> FloatArray:
        """G B of values B (n, k) >= 0."""
        return self._solve(values)

    def first_steps(self, values: FloatArray) -> FloatArray:
        """What the first step of walks from values B (n, k) brings to open points, (n, k)."""
        return np.asarray(self._entered[:, None] * (self._weights @ (self._left[:, None] * values)))

    def total(self) -> FloatArray:
        """sum_i G_il of every point l, (n,)."""
        return self._solve(np.ones((self._n_nodes, 1), dtype=self._dtype))[:, 0]

    def _solve(self, right: FloatArray) -> FloatArray:
        found = self._system.solve(right, tol=self._tol, max_iter=MAX_STEPS).x
        return np.maximum(found, 0.0, out=found)
