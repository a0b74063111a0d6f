"""Metrics as Euclidean geometry, so that one exact search serves them all.

euclidean    |x - y|
cosine       1 - x.y / |x||y| = |x' - y'|^2 / 2     with x' = x / |x|
correlation  1 - Pearson r: cosine of the rows less their means
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError

PRECOMPUTED = "precomputed"
METRICS = ("euclidean", "cosine", "correlation", PRECOMPUTED)

_FAR = 1e150  # squares of larger numbers overflow


class Embedding:
    """Coordinates whose Euclidean distances order points as the metric does.

    `unit` of length is a power of two near the largest coordinate of the training points, lest
    squares overflow or vanish; 1 for "cosine" and "correlation".
    """

    def __init__(self, metric: str, X: FloatArray) -> None:
        self._metric = metric
        self.unit = float(_power_of_two(np.abs(X).max())) if metric == "euclidean" else 1.0

    def coordinates(self, X: FloatArray, name: str = "X") -> FloatArray:
        """Rows of `X` as coordinates, shape (n, d)."""
        if self._metric == "euclidean":
            with np.errstate(over="ignore"):
                return np.clip(X / self.unit, -_FAR, _FAR)
        shrunk = X / _power_of_two(np.abs(X).max(axis=1, keepdims=True))
        if self._metric == "cosine":
            _refuse_rows(~X.any(axis=1), name, "zero", self._metric)
            return _unit_rows(shrunk)
        _refuse_rows(np.ptp(shrunk, axis=1) == 0, name, "constant", self._metric)
        return _unit_rows(shrunk - shrunk.mean(axis=1, keepdims=True))

    def distances(self, separations: FloatArray) -> FloatArray:
        """Distances in the metric, in `unit`, from Euclidean ones between coordinates."""
        return separations if self._metric == "euclidean" else separations**2 / 2

    def separations(self, distances: FloatArray) -> FloatArray:
        """Euclidean distances between coordinates from those in the metric, in `unit`."""
        return distances if self._metric == "euclidean" else np.sqrt(2 * distances)


def _power_of_two(magnitude: Any) -> Any:
    """A power of two near `magnitude`, 1 for zero; dividing by it is free of rounding."""
    _, exponent = np.frexp(magnitude)
    return np.ldexp(1.0, np.where(magnitude > 0, np.minimum(exponent, 1023), 0))


def _unit_rows(X: FloatArray) -> FloatArray:
    shrunk = X / _power_of_two(np.abs(X).max(axis=1, keepdims=True))
    lengths = np.sqrt(np.einsum("id,id->i", shrunk, shrunk))
    return np.asarray(shrunk / lengths[:, None])


def _refuse_rows(bad: Any, name: str, kind: str, metric: str) -> None:
    if bad.any():
        raise InvalidInputError(
            f"{metric} distances are undefined for {np.count_nonzero(bad)} rows of {name} that "
            f"are {kind}, the first of them row {int(np.argmax(bad))}: drop these points or use "
            "metric='euclidean'"
        )
