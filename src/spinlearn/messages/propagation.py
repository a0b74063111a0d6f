"""Propagation: messages taken to a fixed point at one temperature after the other.

Sweeps go through the nodes forth, then back. Damping sets in only where messages keep moving. The
"residual" schedule updates only nodes whose incoming messages have changed by at least a tenth of
the largest change (after Elidan, McGraw & Koller 2006), and ends with whole sweeps as a check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.potts_messages import PottsMessages, is_two_valued
from spinlearn.messages.reading import Reading
from spinlearn.messages.table_messages import TableMessages

SCHEDULES = ("sequential", "residual")
PATIENCE = 40  # sweeps after which messages should have moved less than before, by
PROGRESS = 0.7  # this factor, or else they are damped
DAMPING = 0.5
HASTY_SWEEPS = 100  # on the way to other temperatures
HASTY_TOL = 1e-4  # of messages from which only ln Z is read, which is stationary
RESIDUAL_SHARE = 0.1  # of the largest pending change, below which a node can wait
SURE = 0.9  # of a node's state, in messages made from a labelling


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


class Propagation:
    """Messages of a model that follow the temperature.

    Parameters
    ----------
    layout : MessageLayout
    tol : float
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int
        At one temperature.
    schedule : {"sequential", "residual"}
    weights : float array (m,), optional
        Edge weights of tree-reweighted propagation.
    stop : callable, optional
        Asked between sweeps; if true, `settle` ends early.
    """

    def __init__(
        self,
        layout: MessageLayout,
        *,
        tol: float,
        max_sweeps: int,
        schedule: str = "sequential",
        weights: FloatArray | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.layout, self.tol, self.max_sweeps = layout, tol, max_sweeps
        self.residual_first = schedule == "residual"
        self.weights, self.stop = weights, stop
        forth = np.arange(layout.n_nodes, dtype=np.int32)
        self.orders = (forth, np.ascontiguousarray(forth[::-1]))
        self.messages: PottsMessages | TableMessages = self._fresh(np.inf)
        self.stopped = False

    def _fresh(self, temperature: float) -> PottsMessages | TableMessages:
        """Uniform messages, of the kind that this temperature needs."""
        if is_two_valued(self.layout.model):
            fast = PottsMessages(self.layout, self.weights)
            if temperature > fast.coldest:
                return fast
        return TableMessages(self.layout, self.weights)

    def start(self, generator: np.random.Generator | None = None, noise: float = 0.0) -> None:
        """Uniform messages, with some noise to break symmetries."""
        self.messages = self._fresh(np.inf)
        if generator is not None:
            self.messages.disturb(generator, noise)

    def start_from(self, states: Any, temperature: float) -> None:
        """Messages of a labelling of the free nodes, at this temperature."""
        self.messages = self._fresh(temperature)
        self.messages.set_temperature(temperature)
        self.messages.point_to(states, SURE)

    def settle(self, temperature: float, *, hasty: bool = False) -> Settled:
        """Sweep at this temperature until messages are settled; if hasty, less well.

        In haste entries that are next to nothing need not be right relative to themselves.
        """
        self._go_to(temperature)
        messages = self.messages
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

    def _go_to(self, temperature: float) -> None:
        old = self.messages
        if isinstance(old, PottsMessages) and temperature <= old.coldest:
            self.messages = TableMessages(self.layout, self.weights)
            # Before anything was settled messages have no temperature; they are uniform, or noise.
            known = old.temperature if np.isfinite(old.temperature) else 0.0
            q = self.layout.model.n_states
            self.messages.take(old.log_messages(), known, old.beliefs[:, :q])
        elif isinstance(old, TableMessages) and is_two_valued(self.layout.model):
            fast = PottsMessages(self.layout, self.weights)
            if temperature > fast.coldest:
                fast.take(old.log_messages(), old.beliefs)
                self.messages = fast
        self.messages.set_temperature(temperature)

    def read(self) -> Reading:
        """What the present messages say."""
        return self.messages.read()

    def arrays(self) -> dict[str, Any]:
        """The present messages, for `restore`."""
        return self.messages.arrays()

    def restore(self, arrays: dict[str, Any], temperature: float) -> None:
        """Messages kept by `arrays` at this temperature."""
        kind = PottsMessages if "messages" in arrays else TableMessages
        if not isinstance(self.messages, kind):
            self.messages = kind(self.layout, self.weights)
        if np.isfinite(temperature):
            self.messages.set_temperature(temperature)
        self.messages.restore(arrays)
