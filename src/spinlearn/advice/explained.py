"""Points whose labels explain most of where errors are expected, without sampling.

The classes of the points are taken for a Gaussian field with covariance C = G^2, G that of random
walks on the graph (`walks`) which end at labelled points: a point with a label has nothing left to
explain. The square makes the field smooth, so that a point speaks for the group around it. Knowing
point i explains the share

    rho_ij^2 = C_ij^2 / (C_ii C_jj)

of what is open at j (the criterion of Ji & Han 2012, where every point counts alike). Here j counts
by the error e_j that is expected there, so that asking for i removes

    gain(i) = sum_j e_j rho_ij^2

errors: most in a large group of points about which little is known, and there at its centre. The
next point of a batch is chosen with the first known: e_j is less by that share, and C is
conditioned on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.graph import Graph
from spinlearn.errors import StoppedError
from spinlearn.methods.walks import RandomWalks

MAX_POINTS = 1000  # that may be chosen, and whose errors count; of more, so many are drawn
MAX_VALUES = 30_000_000  # computed of C, at most
POWER = 2  # of G
TOLERANCE = 1e-4
BLOCK = 64  # columns of C at a time
HALF = 0.5  # share explained from which on a point is reached


class Explaining(NamedTuple):
    """A chosen point."""

    point: int
    gain: float
    reach: int


def explaining_batch(
    graph: Graph,
    labelled: BoolArray,
    errors: FloatArray,
    n: int,
    generator: np.random.Generator,
    stop: Callable[[], bool] = lambda: False,
) -> list[Explaining]:
    """The n points without a label that explain most, one after the other.

    Parameters
    ----------
    graph : Graph
        Edges of negative weight are left aside.
    labelled : bool array (n,)
    errors : float array (n,)
        Expected error at every point, in [0, 1].
    n : int
        At most the number of points without a label.
    generator : numpy.random.Generator
        Draws the points that are looked at where there are many.
    stop : callable
        Asked between blocks of columns.
    """
    free = np.flatnonzero(~labelled)
    points = _some(free, n, graph.n_nodes, generator)
    each = len(free) / len(points)  # points that one stands for
    field = _covariance(graph, ~labelled, points, stop)
    left = np.asarray(errors, dtype=np.float64)[points]
    tiny = 1e-9 * np.diag(field)
    chosen: list[Explaining] = []
    asked = np.zeros(len(points), dtype=bool)
    for _ in range(n):
        variance = np.diag(field)
        known = variance <= tiny
        inverse = np.where(known, 0.0, 1 / np.where(known, 1.0, variance))
        gains = np.square(field) @ (left * inverse) * inverse
        gains[asked] = -1.0
        best = int(np.argmax(gains))
        share = np.square(field[best]) * inverse * inverse[best]
        reach = max(round(each * int(np.sum(share >= HALF))), 1)
        chosen.append(Explaining(int(points[best]), float(each * gains[best]), reach))
        asked[best] = True
        left = left * np.maximum(1 - share, 0.0)
        left[best] = 0.0
        column = field[best].copy()
        field -= np.outer(column, column * inverse[best])
    return chosen


def _covariance(
    graph: Graph, free: BoolArray, points: npt.NDArray[np.intp], stop: Callable[[], bool]
) -> FloatArray:
    """C between the points, (points, points)."""
    walks = RandomWalks(graph, free, TOLERANCE)
    blocks = []
    for begin in range(0, len(points), BLOCK):
        if stop():
            raise StoppedError("stopped while looking for points to label")
        blocks.append(walks.columns(points[begin : begin + BLOCK], POWER)[points])
    field = np.concatenate(blocks, axis=1)
    return np.asarray(0.5 * (field + field.T))


def _some(
    free: npt.NDArray[np.intp], n: int, n_points: int, generator: np.random.Generator
) -> npt.NDArray[np.intp]:
    most = max(min(MAX_POINTS, MAX_VALUES // n_points), n)
    if len(free) <= most:
        return free
    return np.sort(generator.choice(free, most, replace=False))
