"""TimeLimit: seconds that a run may take, and how many have passed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from spinlearn.errors import InvalidInputError


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
