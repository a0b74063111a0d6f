"""Limits of all engines: T = 0 and infinity, and the seconds a run may take.

T = 0 is the uniform law over the ground states, T = infinity that over all states.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray
from spinlearn.model.potts import PottsModel


def inverse_temperatures(temperatures: FloatArray, model: PottsModel) -> FloatArray:
    """1/T, so large at T = 0 that excited states get weight 0, and finite: beta * 0 stays 0."""
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


class TimeLimit:
    """A clock that starts when it is made; None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise InvalidInputError(f"max_seconds={seconds!r}: give a number > 0 or None")
        self.seconds = float("inf") if seconds is None else float(seconds)
        self._started = perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without what was left out."""
        return perf_counter() - self._started

    def passed(self, share: float = 1.0) -> bool:
        """Whether that share of the time is over."""
        return self.elapsed > share * self.seconds

    @contextmanager
    def left_out(self) -> Iterator[None]:
        """What happens inside takes no time."""
        began = perf_counter()
        try:
            yield
        finally:
            self._started += perf_counter() - began
