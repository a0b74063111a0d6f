"""Plan: the settings of a sampling run, whatever the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.engines.tallies import BLOCKS
from spinlearn.engines.walker_group import Walkers
from spinlearn.errors import InvalidInputError


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings of a run, whatever the engine."""

    engine: str
    kind: type[Walkers]
    dynamics: str
    tol: float | None
    max_seconds: float | None
    max_sweeps: int | None
    n_groups: int
    n_jobs: int
    checkpoint: Any
    checkpoint_seconds: float

    def __post_init__(self) -> None:
        for name, least in (("tol", 0.0), ("max_sweeps", 1), ("n_groups", 1), ("n_jobs", -1)):
            value = getattr(self, name)
            if value is None and name in ("tol", "max_sweeps"):
                continue
            if not isinstance(value, (int, float, np.number)) or not value >= least or value == 0:
                raise InvalidInputError(f"{name}={value!r} is out of range: give a number > 0")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidInputError(f"max_seconds={self.max_seconds!r}: give a number > 0 or None")
        if self.n_groups not in (1, 2, 4, 8):
            raise InvalidInputError(
                f"n_groups={self.n_groups}: error bars are taken over {BLOCKS[-1]} or more blocks "
                "of walkers, shared evenly by the groups; use 1, 2, 4 or 8"
            )

    @property
    def pinned(self) -> bool:
        """Whether every walker stays at its level."""
        return self.dynamics in ("components", "held")
