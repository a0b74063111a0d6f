"""Replica exchange over cluster and local moves, and its one-replica cases.

Walkers sit on a ladder of temperatures chosen so that neighbours' energies overlap
(`engines/ladder.py`). With clusters (Swendsen-Wang, clamp-aware) every walker stays at its level
and neighbours exchange the components in which they differ; averages are improved estimators. With
local moves whole walkers change places. Energies of all levels give one density of states, by
which temperatures between the levels are reached.

Metropolis and Swendsen-Wang alone hold every temperature on its own, from a random start: the
standard methods of the paper's section 4, here so that one can see them fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import temperature_array
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Seed
from spinlearn.core.results import Equilibrium
from spinlearn.core.settings import Settings
from spinlearn.engines.walk import Plan, Walk
from spinlearn.engines.walkers import (
    ClusterWalkers,
    MetropolisWalkers,
    Walkers,
    walkers_for,
)
from spinlearn.errors import InvalidInputError, UnsupportedModelError


@dataclass(kw_only=True)
class Tempering(Settings):
    """Replica exchange, for graphs of any width and size.

    Parameters
    ----------
    tol : float
        Stop when the largest standard error of a marginal, over nodes and temperatures, is below.
    max_seconds : float or None
        Stop after this time even if `tol` is not reached.
    max_sweeps : int
        Stop production after this many sweeps of every walker.
    moves : {"auto", "cluster", "local"}
        Swendsen-Wang clusters need couplings >= 0 and the Potts pair cost. "auto" takes what has
        the least error per second: the bits of words for q = 2 and equal couplings, else clusters
        where they can be, else local moves.
    n_groups : int
        Groups of walkers with local moves (256 or 64 each) that can run on cores of their own.
    n_jobs : int
        Threads. The result does not depend on it.
    checkpoint : path or None
        File in which the run is saved now and then; if it exists, the run goes on from there and
        ends with the result an uninterrupted run would have had.
    checkpoint_seconds : float
        Time between two savings.
    """

    tol: float = 0.012
    max_seconds: float | None = None
    max_sweeps: int = 200_000
    moves: str = "auto"
    n_groups: int = 1
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "tempering"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the moves asked for cannot treat the model, or None."""
        kind = self._kind(model)
        reason = kind.unsupported(model)
        return None if reason is None else _cannot(kind, reason, "use moves='auto'")

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures.

        Stopped by the callback or by Ctrl-C during production, it returns what it has.
        """
        kind = self._kind(model)
        dynamics = "components" if kind is ClusterWalkers else "exchanged"
        return _run(self, kind, dynamics, self.n_groups, model, temperatures, seed, callback)

    def _kind(self, model: PottsModel) -> type[Walkers]:
        if self.moves in ("auto", "local"):
            return walkers_for(model, local=self.moves == "local")
        if self.moves == "cluster":
            return ClusterWalkers
        raise InvalidInputError(
            f"moves={self.moves!r} is unknown: use 'auto', 'cluster' or 'local'"
        )


@dataclass(kw_only=True)
class SwendsenWang(Settings):
    """Swendsen-Wang at every temperature on its own; parameters as in `Tempering`."""

    tol: float = 0.012
    max_seconds: float | None = None
    max_sweeps: int = 5_000
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "swendsen_wang"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why clusters cannot treat the model, or None."""
        reason = ClusterWalkers.unsupported(model)
        remedy = "use engine='tempering' or engine='metropolis'"
        return None if reason is None else _cannot(ClusterWalkers, reason, remedy)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures."""
        return _run(self, ClusterWalkers, "held", 1, model, temperatures, seed, callback)


@dataclass(kw_only=True)
class Metropolis(Settings):
    """Metropolis at every temperature on its own; parameters as in `Tempering`."""

    tol: float = 0.012
    max_seconds: float | None = None
    max_sweeps: int = 5_000
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "metropolis"

    def unsupported(self, model: PottsModel) -> str | None:
        """None: local moves treat every model."""
        return MetropolisWalkers.unsupported(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures."""
        return _run(self, MetropolisWalkers, "held", 1, model, temperatures, seed, callback)


def _run(
    settings: Tempering | SwendsenWang | Metropolis,
    kind: type[Walkers],
    dynamics: str,
    n_groups: int,
    model: PottsModel,
    temperatures: npt.ArrayLike,
    seed: Seed,
    callback: Callback | None,
) -> Equilibrium:
    wanted = temperature_array(temperatures)
    plan = Plan(
        engine=settings.name,
        kind=kind,
        dynamics=dynamics,
        tol=settings.tol,
        max_seconds=settings.max_seconds,
        max_sweeps=settings.max_sweeps,
        n_groups=n_groups,
        n_jobs=settings.n_jobs,
        checkpoint=settings.checkpoint,
        checkpoint_seconds=settings.checkpoint_seconds,
    )
    reason = settings.unsupported(model)
    if reason is not None:
        raise UnsupportedModelError(reason)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return Walk(plan, model, wanted, root, callback).result()


def _cannot(kind: type[Walkers], reason: str, remedy: str) -> str:
    moves = "clusters" if kind is ClusterWalkers else "these moves"
    return f"there are no {moves} for {reason}: {remedy}"
