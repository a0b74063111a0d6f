"""Settling: sweeps over messages until they stand still, at one temperature.

Sweeps go through the nodes forth, then back. Damping sets in only where messages keep moving. The
"residual" schedule updates only nodes whose incoming messages have changed by at least a tenth of
the largest change (after Elidan, McGraw & Koller 2006), and ends with whole sweeps as a check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SCHEDULES = ("sequential", "residual")
PATIENCE = 40  # sweeps after which messages should have moved less than before, by
PROGRESS = 0.7  # this factor, or else they are damped
DAMPING = 0.5
HASTY_SWEEPS = 100  # on the way to other temperatures
HASTY_TOL = 1e-4  # of messages from which only ln Z is read, which is stationary
RESIDUAL_SHARE = 0.1  # of the largest pending change, below which a node can wait


@dataclass(frozen=True, slots=True)
class Settled:
    """How the search for a fixed point ended.

    `residual` is the largest change of a message in the last sweep, relative to the largest entry
    that a message can have.
    """

    settled: bool
    residual: float
    sweeps: int
    damped: bool


class Settling:
    """How long and how well messages are settled.

    Parameters
    ----------
    n_nodes : int
    tol : float
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int
        At one temperature.
    schedule : {"sequential", "residual"}
    stop : callable
        Asked between sweeps; if true, `settle` ends early.
    """

    def __init__(
        self, n_nodes: int, tol: float, max_sweeps: int, schedule: str, stop: Callable[[], bool]
    ) -> None:
        self.tol, self.max_sweeps, self.stop = tol, max_sweeps, stop
        self.residual_first = schedule == "residual"
        forth = np.arange(n_nodes, dtype=np.int32)
        self.orders = (forth, np.ascontiguousarray(forth[::-1]))
        self.stopped = False

    def settle(self, messages: Any, *, hasty: bool = False) -> Settled:
        """Sweep until messages are settled; if hasty, less well.

        In haste entries that are next to nothing need not be right relative to themselves.
        """
        tol = max(self.tol, messages.coarsest_tol, HASTY_TOL if hasty else 0.0)
        damping, before = 0.0, np.inf
        max_sweeps = min(self.max_sweeps, HASTY_SWEEPS) if hasty else self.max_sweeps
        for sweep in range(max_sweeps):
            threshold = -1.0
            if self.residual_first:
                most = float(messages.pending.max(initial=0.0))
                threshold = 0.0 if most <= tol else RESIDUAL_SHARE * most
            messages.sweep(self.orders[sweep % 2], tol, damping, threshold)
            still = messages.movement[0] <= tol if hasty else messages.movement[1] <= 0
            if still and threshold <= 0:
                return Settled(True, float(messages.movement[0]), sweep + 1, damping > 0)
            if sweep % PATIENCE == PATIENCE - 1:
                messages.recount()
                if messages.movement[0] > PROGRESS * before:
                    damping = DAMPING
                before = float(messages.movement[0])
            if self.stop():
                self.stopped = True
                return Settled(False, before, sweep + 1, damping > 0)
        return Settled(False, float(messages.movement[0]), max_sweeps, damping > 0)
