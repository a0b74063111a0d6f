"""Sampler: the base of the sampling engines, with the settings they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from spinlearn.core.arrays import temperature_array
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.seeds import Seed, seed_sequence
from spinlearn.core.settings import Settings
from spinlearn.engines.plan import Plan
from spinlearn.engines.walk import Walk
from spinlearn.engines.walker_group import Walkers
from spinlearn.errors import UnsupportedModelError


@dataclass(kw_only=True)
class Sampler(Settings):
    """Base of the sampling engines; they say which walkers move how (`_walkers`).

    Parameters
    ----------
    tol : float
        Stop when the largest standard error of a marginal, over nodes and temperatures, is below.
    max_seconds : float or None
        Stop after this time even if `tol` is not reached.
    max_sweeps : int
        Stop production after this many sweeps of every walker.
    n_groups : int
        Groups of walkers with local moves (256 or 64 each) that can run on cores of their own; of
        no effect where every level has a walker of its own.
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
    n_groups: int = 1
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str]

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        """The kind of walkers for a model, and how they move over the levels (`Walk`)."""
        raise NotImplementedError

    def unsupported(self, model: PottsModel) -> str | None:
        """Why this engine cannot treat the model, or None."""
        raise NotImplementedError

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
        wanted = temperature_array(temperatures)
        kind, dynamics = self._walkers(model)
        plan = Plan(
            engine=self.name,
            kind=kind,
            dynamics=dynamics,
            tol=self.tol,
            max_seconds=self.max_seconds,
            max_sweeps=self.max_sweeps,
            n_groups=self.n_groups,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
            checkpoint_seconds=self.checkpoint_seconds,
        )
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        return Walk(plan, model, wanted, seed_sequence(seed), callback).result()
