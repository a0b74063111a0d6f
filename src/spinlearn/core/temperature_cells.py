"""Cells of a temperature grid: the range that each of its temperatures stands for."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray


def cell_ends(temperatures: FloatArray) -> FloatArray:
    """The ends of the cells of ascending temperatures, one more than there are of these.

    Cells meet half way between neighbours. That of the last temperature before infinity ends with
    it: half way to infinity nothing is known.
    """
    low, high = temperatures[:-1], temperatures[1:]
    middle = np.where(np.isinf(high), low, (low + high) / 2)
    return np.concatenate([temperatures[:1], middle, temperatures[-1:]])


def nearest_row(temperatures: FloatArray, temperature: float) -> int:
    """Row of the temperature closest to the given one; to infinity, of the highest."""
    if np.isinf(temperature):
        return int(np.argmax(temperatures))
    return int(np.argmin(np.abs(temperatures - temperature)))
