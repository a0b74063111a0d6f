"""The limits of the temperature, zero or infinite, in one place for all engines.

T = 0 is the uniform law over the ground states, T = infinity that over all states.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel


def inverse_temperatures(temperatures: FloatArray, model: PottsModel) -> FloatArray:
    """beta = 1/T, finite at T = 0: so large that the smallest energy step underflows to weight 0.

    Products beta * 0 stay 0, so that ground states keep their full weight.
    """
    step = max(model.energy_resolution, np.finfo(float).tiny * 1e12)
    coldest = min(1e4 / step, 1e300)
    with np.errstate(divide="ignore"):
        return np.minimum(1.0 / temperatures, coldest)


def heat_capacity(variance: FloatArray, temperatures: FloatArray) -> FloatArray:
    """d<E>/dT = variance of E / T^2, zero in both limits (at T = 0 the variance wins)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (np.sqrt(variance) / temperatures) ** 2  # T^2 alone may underflow
    return np.where((temperatures == 0) | np.isinf(temperatures), 0.0, values)


def log_partition(ground: float, log_count: FloatArray, temperatures: FloatArray) -> FloatArray:
    """ln Z = -E_min/T + ln sum exp(-(E - E_min)/T); at T = 0 its limit (+inf, -inf or ln count)."""
    if ground == 0.0:
        return log_count.copy()
    with np.errstate(divide="ignore"):
        return -ground / temperatures + log_count
