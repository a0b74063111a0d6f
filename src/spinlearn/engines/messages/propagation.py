"""Propagation: messages taken to a fixed point at one temperature after the other.

Sweeps go through the nodes forth, then back. Damping sets in only where messages keep moving. The
"residual" schedule updates only nodes whose incoming messages have changed by at least a tenth of
the largest change (after Elidan, McGraw & Koller 2006), and ends with whole sweeps as a check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spinlearn.engines.messages.layout import MessageLayout, blocks, is_two_valued
from spinlearn.engines.messages.potts import LARGEST_EXPONENT, PottsMessages
from spinlearn.engines.messages.tables import TableMessages
from spinlearn.model.arrays import FloatArray
from spinlearn.model.potts import FREE, PottsModel

SCHEDULES = ("sequential", "residual")
LARGEST_SINGLE = 80.0  # J/T of a message that single precision can still hold, e^-87
LARGEST_FIELD = 1e6  # over T, beyond which the rounding errors of fields would show in ln Z
PATIENCE = 40  # sweeps after which messages should have moved less than before, by
PROGRESS = 0.7  # this factor, or else they are damped
DAMPING = 0.5
RESIDUAL_SHARE = 0.1  # of the largest pending change, below which a node can wait
HASTY_SWEEPS = 100  # on the way to other temperatures
HASTY_TOL = 1e-4  # of messages from which only ln Z is read, which is stationary
SURE = 0.9  # of a node's state, in messages made from a labelling
NOISE = 1e-3  # in the first messages where states are alike, so that one of them can win


@dataclass(frozen=True, slots=True)
class Settled:
    """How a search ended; `residual` is the last change relative to the largest possible entry."""

    settled: bool
    residual: float
    sweeps: int
    damped: bool


class Sweeping(Protocol):
    """Messages that can be passed on; `movement` is as in `kernels.messages.sweep_potts`."""

    coarsest_tol: float
    movement: Any
    most_pending: float  # largest change of a message that has not been passed on

    def sweep(self, forth: bool, tol: float, damping: float, threshold: float) -> None:
        """Pass messages once, from the first node to the last or backwards."""

    def recount(self) -> None:
        """Sums that sweeps keep up to date anew."""


@dataclass(slots=True, eq=False)
class Settling:
    """How long and how well messages are settled."""

    tol: float  # the most that an entry may change in a sweep, as a part of itself
    max_sweeps: int  # at one temperature
    schedule: str = "residual"
    stop: Callable[[], bool] = lambda: False  # asked between sweeps; if true, `settle` ends early
    stopped: bool = False

    def settle(self, messages: Sweeping, *, hasty: bool = False) -> Settled:
        """Sweep until messages are settled; if hasty, entries next to nothing may be wrong."""
        tol = max(self.tol, messages.coarsest_tol, HASTY_TOL if hasty else 0.0)
        damping, before = 0.0, np.inf
        max_sweeps = min(self.max_sweeps, HASTY_SWEEPS) if hasty else self.max_sweeps
        for sweep in range(max_sweeps):
            threshold = -1.0
            if self.schedule == "residual":
                most = messages.most_pending
                threshold = 0.0 if most <= tol else RESIDUAL_SHARE * most
            messages.sweep(sweep % 2 == 0, tol, damping, threshold)
            still = messages.movement[0] <= tol if hasty else messages.movement[1] <= 0
            if still and threshold <= 0:  # a sweep that passes nodes over is no check
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


class Propagation:
    """Messages of a model that follow the temperature: `PottsMessages` while above `coldest`."""

    messages: PottsMessages | TableMessages
    sweeps = 0  # in all

    def __init__(self, layout: MessageLayout, settling: Settling) -> None:
        self.layout, self.settling = layout, settling
        # Colder, messages leave the range of floats, or fields their precision.
        self.coldest = np.inf
        if is_two_valued(layout.model):
            strongest = 0.0
            for rows in blocks(len(layout.at_u)):
                couplings = layout.couplings[rows][layout.at_u[rows] >= 0]
                strongest = max(strongest, float(np.abs(couplings).max(initial=0.0)))
            limit = LARGEST_SINGLE if layout.lean else LARGEST_EXPONENT
            stiffness = float(layout.stiffness.max(initial=0.0))
            self.coldest = max(strongest * abs(layout.factor) / limit, stiffness / LARGEST_FIELD)

    @classmethod
    def lean(cls, model: PottsModel, temperature: float, settling: Settling) -> Propagation:
        """In single precision and little memory, where that leads down to this temperature."""
        if is_two_valued(model):
            lean = cls(MessageLayout.of(model, np.float32), settling)
            if temperature > lean.coldest:
                return lean
        return cls(MessageLayout.of(model), settling)

    def start(self, seed: Any = 0, labels: Any = None, temperature: float = np.inf) -> None:
        """Begin with messages of `labels` at `temperature`, or uniform ones that break symmetry."""
        kind = PottsMessages if temperature > self.coldest else TableMessages
        self.messages = kind(self.layout)
        if labels is not None:
            self.messages.set_temperature(temperature)
            self.messages.point_to(labels, SURE)
        elif any(map(len, self.layout.symmetry.exchanges)):
            self.messages.disturb(np.random.default_rng(seed), NOISE)

    def settle(self, temperature: float, *, hasty: bool = False) -> Settled:
        """Sweep at this temperature until messages are settled; if hasty, less well."""
        old, cold = self.messages, temperature <= self.coldest
        if isinstance(old, PottsMessages) and cold:
            self.messages = TableMessages(self.layout)
            # Before anything was settled messages have no temperature; they are uniform, or noise.
            known = old.temperature if np.isfinite(old.temperature) else 0.0
            self.messages.take(old.log_messages(), known, old.beliefs[:, : self.layout.n_states])
        elif isinstance(old, TableMessages) and not cold:
            self.messages = PottsMessages(self.layout)
            self.messages.take(old.log_messages(), old.beliefs)
        self.messages.set_temperature(temperature)
        settled = self.settling.settle(self.messages, hasty=hasty)
        self.sweeps += settled.sweeps
        return settled

    def marginals(self, *, averaged: bool = True) -> FloatArray:
        """Probabilities of all nodes, (N, q); if averaged, over states that are alike."""
        model, q = self.layout.model, self.layout.n_states
        marginals = np.empty((model.n_nodes, q))
        laws = self.messages.node_laws()[0][:, :q]
        self.layout.write_marginals(laws, marginals, averaged=averaged)
        return marginals

    def pair_laws(self, edge_ids: Any) -> FloatArray:
        """p(s_u, s_v) of edges of the model, (ids, q, q), averaged over states that are alike."""
        layout, single = self.layout, self.marginals()
        u, v = layout.model.graph.edges[edge_ids].T
        # An end that is clamped is independent of the other.
        laws: FloatArray = single[u][:, :, None] * single[v][:, None, :]
        inner = np.flatnonzero(layout.at_u[edge_ids] >= 0).tolist()
        number = np.cumsum(layout.model.clamped == FREE) - 1  # of a node among the free ones
        tables = self.messages.pair_laws([int(edge_ids[k]) for k in inner])
        for k, law in zip(inner, tables, strict=True):
            laws[k] = layout.symmetry.averaged_pair(law, int(number[u[k]]))
        return laws

    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on from here."""
        return {name: getattr(self.messages, name).copy() for name in self.messages.state}

    def restore(self, state: dict[str, Any], temperature: float) -> None:
        """Go on from the `state` of this temperature."""
        kind = PottsMessages if "messages" in state else TableMessages
        if not isinstance(getattr(self, "messages", None), kind):
            self.messages = kind(self.layout)
        if np.isfinite(temperature):
            self.messages.set_temperature(temperature)
        for name, values in state.items():
            getattr(self.messages, name)[:] = values
        self.messages.recount()
