"""Two ways for messages to follow the temperature down through a large model.

`LeanWay`, in single precision and as little memory as can be, wherever a pair costs one amount if
alike and another if not; `TableWay` for other pair costs, and where it is too cold for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.model import PottsModel
from spinlearn.messages.large_layout import LargeLayout
from spinlearn.messages.large_messages import LargeMessages
from spinlearn.messages.layout import MessageLayout
from spinlearn.messages.potts_messages import is_two_valued
from spinlearn.messages.propagation import Propagation
from spinlearn.messages.reading import Reading
from spinlearn.messages.settling import Settled, Settling
from spinlearn.messages.symmetry import Symmetry


class MessageWay(Protocol):
    """Messages on their way down."""

    @property
    def stopped(self) -> bool:
        """Whether `settle` ended early."""

    def start(self, root: np.random.SeedSequence, noise: float) -> None:
        """Uniform messages; with noise where states are alike, so that one of them can win."""

    def settle(self, temperature: float, *, hasty: bool) -> Settled:
        """Sweep at this temperature until messages are settled; if hasty, less well."""

    def read(self, marginals: Any, agreement: Any) -> tuple[Reading, int]:
        """Write averages to arrays (n, q) and (m,); sums, and nodes with a broken symmetry."""


def message_way(
    model: PottsModel,
    temperature: float,
    *,
    tol: float,
    max_sweeps: int,
    schedule: str,
    stop: Callable[[], bool],
) -> MessageWay:
    """The leaner way, if it leads down to this temperature; parameters as in `Settling`."""
    if is_two_valued(model):
        lean = _LeanWay(model, tol, max_sweeps, schedule, stop)
        if temperature > lean.messages.coldest:
            return lean
    return _TableWay(model, tol, max_sweeps, schedule, stop)


class _LeanWay:
    def __init__(
        self,
        model: PottsModel,
        tol: float,
        max_sweeps: int,
        schedule: str,
        stop: Callable[[], bool],
    ) -> None:
        layout = LargeLayout(model)
        free = ConditionedModel.of(model)
        self.symmetry, self.nodes = Symmetry.of(layout, free), free.nodes
        del free  # a copy of half the model
        self.settling = Settling(layout.n_nodes, tol, max_sweeps, schedule, stop)
        self.messages = LargeMessages(layout)

    @property
    def stopped(self) -> bool:
        return self.settling.stopped

    def start(self, root: np.random.SeedSequence, noise: float) -> None:
        if self.symmetry.exists:
            self.messages.disturb(np.random.default_rng(root), noise)

    def settle(self, temperature: float, *, hasty: bool) -> Settled:
        self.messages.set_temperature(temperature)
        return self.settling.settle(self.messages, hasty=hasty)

    def read(self, marginals: Any, agreement: Any) -> tuple[Reading, int]:
        reading = self.messages.read(marginals, agreement)
        if not self.symmetry.exists:
            return reading, 0
        marginals[self.nodes], broken = self.symmetry.averaged(marginals[self.nodes])
        return reading, int(broken.sum())


class _TableWay:
    def __init__(
        self,
        model: PottsModel,
        tol: float,
        max_sweeps: int,
        schedule: str,
        stop: Callable[[], bool],
    ) -> None:
        self.layout = MessageLayout(model)
        self.symmetry = Symmetry.of(self.layout)
        self.propagation = Propagation(
            self.layout, tol=tol, max_sweeps=max_sweeps, schedule=schedule, stop=stop
        )

    @property
    def stopped(self) -> bool:
        return self.propagation.stopped

    def start(self, root: np.random.SeedSequence, noise: float) -> None:
        generator = np.random.default_rng(root) if self.symmetry.exists else None
        self.propagation.start(generator, noise)

    def settle(self, temperature: float, *, hasty: bool) -> Settled:
        return self.propagation.settle(temperature, hasty=hasty)

    def read(self, marginals: Any, agreement: Any) -> tuple[Reading, int]:
        reading, free = self.propagation.read(), self.layout.free
        laws, broken = self.symmetry.averaged(reading.marginals)
        full = free.full_marginals(laws[None])
        marginals[:] = full[0]
        agreement[:] = free.full_agreement(reading.agreement[None], full)[0]
        return reading.sums(), int(broken.sum())
