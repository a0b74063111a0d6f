"""Propagation: messages taken to a fixed point at one temperature after the other.

Sweeps go through the nodes forth, then back. Damping sets in only where messages keep moving. The
"residual" schedule updates only nodes whose incoming messages have changed by at least a tenth of
the largest change (after Elidan, McGraw & Koller 2006), and ends with whole sweeps as a check.
Messages are cooled from above the mean-field temperature, where nothing is ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spinlearn.engines.messages.layout import MessageLayout, is_two_valued
from spinlearn.engines.messages.potts import PottsMessages, Reading, coldest
from spinlearn.engines.messages.tables import TableMessages
from spinlearn.model.arrays import FloatArray
from spinlearn.model.phases import mean_field_temperature
from spinlearn.model.potts import FREE, PottsModel

SCHEDULES = ("sequential", "residual")
PATIENCE = 40  # sweeps after which messages should have moved less than before, by
PROGRESS = 0.7  # this factor, or else they are damped
DAMPING = 0.5
RESIDUAL_SHARE = 0.1  # of the largest pending change, below which a node can wait
HASTY_SWEEPS = 100  # on the way to other temperatures
HASTY_TOL = 1e-4  # of messages from which only ln Z is read, which is stationary
SURE = 0.9  # of a node's state, in messages made from a labelling
NOISE = 1e-3  # in the first messages where states are alike, so that one of them can win
ABOVE = 1.1  # the mean-field temperature, where nothing is ordered
STEP = 1.5  # most, between neighbouring temperatures on the way down
NEAR = 1.1  # in haste no step closer than this above a temperature that is wanted


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


class Sweeping(Protocol):
    """Messages that can be passed on; `movement` is as in `kernels.messages.sweep_potts`."""

    coarsest_tol: float
    movement: Any

    @property
    def most_pending(self) -> float:
        """Largest change of a message that has not been passed on."""

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
        """Sweep until messages are settled; if hasty, less well.

        In haste entries that are next to nothing need not be right relative to themselves.
        """
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
    """Messages of a model that follow the temperature; in single precision to `coldest` only."""

    messages: PottsMessages | TableMessages

    def __init__(self, layout: MessageLayout, settling: Settling) -> None:
        self.layout, self.settling = layout, settling
        self.coldest = coldest(layout) if is_two_valued(layout.model) else np.inf

    @classmethod
    def lean(cls, model: PottsModel, temperature: float, settling: Settling) -> Propagation:
        """In single precision and little memory, where that leads down to this temperature."""
        if is_two_valued(model):
            found = cls(MessageLayout.of(model, np.float32), settling)
            if temperature > found.coldest:
                return found
        return cls(MessageLayout.of(model), settling)

    def _fresh(self, temperature: float) -> PottsMessages | TableMessages:
        """Uniform messages, of the kind that this temperature needs."""
        return (PottsMessages if temperature > self.coldest else TableMessages)(self.layout)

    @property
    def stopped(self) -> bool:
        """Whether `settle` ended early."""
        return self.settling.stopped

    def start(self, seed: Any = 0) -> None:
        """Uniform messages; with noise where states are alike."""
        self.messages = self._fresh(np.inf)
        if self.layout.symmetry.exists:
            self.messages.disturb(np.random.default_rng(seed), NOISE)

    def start_from(self, labels: Any, temperature: float) -> None:
        """Messages of a labelling of all nodes, at this temperature."""
        self.messages = self._fresh(temperature)
        self.messages.set_temperature(temperature)
        self.messages.point_to(labels, SURE)

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
        return self.settling.settle(self.messages, hasty=hasty)

    def read(self, marginals: Any, agreement: Any) -> Reading:
        """What the messages say of all nodes (N, q) and edges (m,), written to arrays."""
        return self.messages.read(marginals, agreement)

    def marginals(self, *, averaged: bool = True) -> FloatArray:
        """Probabilities of all nodes, (N, q); if averaged, over states that are alike."""
        model, q = self.layout.model, self.layout.n_states
        found = np.empty((model.n_nodes, q))
        self.layout.write_marginals(self.messages.node_laws()[0][:, :q], found, averaged=averaged)
        return found

    def pair_laws(self, edge_ids: Any) -> FloatArray:
        """p(s_u, s_v) of edges of the model, (ids, q, q), averaged over states that are alike."""
        layout, single = self.layout, self.marginals()
        u, v = layout.model.graph.edges[edge_ids].T
        # An end that is clamped is independent of the other.
        laws: FloatArray = single[u][:, :, None] * single[v][:, None, :]
        inner = np.flatnonzero(layout.at_u[edge_ids] >= 0).tolist()
        number = np.cumsum(layout.model.clamped == FREE) - 1  # of a node among the free ones
        found = self.messages.pair_laws([int(edge_ids[k]) for k in inner])
        for k, law in zip(inner, found, strict=True):
            laws[k] = layout.symmetry.averaged_pair(law, int(number[u[k]]))
        return laws

    def restore(self, arrays: dict[str, Any], temperature: float) -> None:
        """Go on from `messages.arrays()` of this temperature."""
        kind = PottsMessages if "messages" in arrays else TableMessages
        if not isinstance(getattr(self, "messages", None), kind):
            self.messages = kind(self.layout)
        if np.isfinite(temperature):
            self.messages.set_temperature(temperature)
        self.messages.restore(arrays)


class Settleable(Protocol):
    """Messages that follow the temperature, here or on a cluster."""

    @property
    def stopped(self) -> bool:
        """Whether `settle` ended early."""

    def settle(self, temperature: float, *, hasty: bool = False) -> Settled:
        """Sweep at this temperature until messages are settled; if hasty, less well."""


def cool(
    messages: Settleable, way: Sequence[float], wanted: Sequence[float] = ()
) -> Iterator[tuple[float, Settled]]:
    """Take messages down a way, in haste where it is not wanted, until they are stopped."""
    for temperature in way:
        settled = messages.settle(temperature, hasty=temperature not in wanted)
        if messages.stopped:
            return
        yield temperature, settled


def way_down(model: PottsModel, wanted: Sequence[float]) -> list[float]:
    """The falling temperatures, from the disordered phase, with no finite step above STEP."""
    finite = [temperature for temperature in wanted if np.isfinite(temperature)]
    way = [temperature for temperature in wanted if not np.isfinite(temperature)]
    if not finite:
        return way
    above = max(ABOVE * mean_field_temperature(model), finite[0])
    if finite[0] * STEP < above:
        way.append(above)
    for temperature in finite:
        steps = int(np.ceil(np.log(max(above / temperature, 1.0)) / np.log(STEP) - 1e-9))
        between = above * (temperature / above) ** (np.arange(1, steps) / max(steps, 1))
        way += [*between.tolist(), temperature]
        above = temperature
    return way


def quick_marginals(
    model: PottsModel, temperatures: Sequence[float], seed: int = 0
) -> list[FloatArray]:
    """Probabilities (n, q) at falling temperatures, of one start that is cooled in haste.

    For choices, where several models are compared; `spinlearn.engines.BeliefPropagation` gives
    averages that are settled. States that are alike stay as one of them won, which the seed
    decides. A class-level term must be quadratic.
    """
    way: list[float] = []
    step = ABOVE * mean_field_temperature(model)
    for temperature in temperatures:
        while step > NEAR * temperature:
            way.append(step)
            step /= STEP
        way.append(temperature)
        step = min(step, temperature / STEP)
    messages = Propagation(MessageLayout.of(model), Settling(HASTY_TOL, HASTY_SWEEPS))
    messages.start(seed)
    return [
        messages.marginals(averaged=False)
        for temperature, _ in cool(messages, way)
        if temperature in temperatures
    ]
