"""Propagation: messages taken to a fixed point at one temperature after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.potts_messages import PottsMessages, is_two_valued
from spinlearn.messages.reading import Reading
from spinlearn.messages.settling import Settled, Settling
from spinlearn.messages.table_messages import TableMessages

SURE = 0.9  # of a node's state, in messages made from a labelling


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
        self.layout, self.weights = layout, weights
        self.settling = Settling(layout.n_nodes, tol, max_sweeps, schedule, stop)
        self.messages: PottsMessages | TableMessages = self._fresh(np.inf)

    def _fresh(self, temperature: float) -> PottsMessages | TableMessages:
        """Uniform messages, of the kind that this temperature needs."""
        if is_two_valued(self.layout.model):
            fast = PottsMessages(self.layout, self.weights)
            if temperature > fast.coldest:
                return fast
        return TableMessages(self.layout, self.weights)

    @property
    def stopped(self) -> bool:
        """Whether `settle` ended early."""
        return self.settling.stopped

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
        return self.settling.settle(self.messages, hasty=hasty)

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
