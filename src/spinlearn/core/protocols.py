"""The seams: what engines, graph builders, progress reports look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy.typing as npt

from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.seeds import Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a long run stands: phase in words, fraction done in [0, 1].

    `worst_error` is the largest standard error so far, None as long as it is not known.
    """

    phase: str
    fraction: float
    worst_error: float | None = None


# Called between compiled blocks of at most about a second; a true return value stops the run.
Callback = Callable[[Progress], Any]


@runtime_checkable
class Engine(Protocol):
    """Maps a model to its equilibrium.

    `run` returns an Equilibrium whose temperatures are those asked for, or, when the callback
    stopped it, the ones it had finished (StoppedError if none).
    """

    name: ClassVar[str]

    def unsupported(self, model: PottsModel) -> str | None:
        """Why this engine cannot treat the model, or None if it can."""

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Thermal averages at the given temperatures (0 and infinity included)."""


@runtime_checkable
class GraphBuilder(Protocol):
    """Turns points into a graph of similar ones."""

    def build(self, X: Any) -> Graph:
        """Graph over the rows of X."""

    def attach(self, X_new: Any, X: Any) -> Any:
        """Similarities of unseen points to the training points, sparse (n_new, n)."""
