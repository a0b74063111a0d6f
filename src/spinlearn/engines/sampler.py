"""Sampler: the base of the sampling engines, with the settings they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import temperature_array
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.seeds import Seed, seed_sequence
from spinlearn.core.settings import Settings
from spinlearn.core.stopping import Until
from spinlearn.engines.ladder_run import LadderRun
from spinlearn.engines.roaming_run import RoamingRun
from spinlearn.engines.tallies import BLOCKS
from spinlearn.engines.walker_group import Walkers
from spinlearn.errors import InvalidInputError, UnsupportedModelError

SHARED = """\
tol : float or None, default None
        Stop when the largest standard error of a marginal or an agreement, over all temperatures,
        is below this. None: stop when the answer that the averages are for is settled, where there
        is one (`spinlearn.PottsClassifier`), else at 0.012.
    max_seconds : float or None, default None
        Stop after this time, whatever is reached. Results then depend on how busy the machine is.
    max_sweeps : int or None
        Stop after this many sweeps of every walker, not counting those before equilibrium. None:
        after some minutes' work, counted in sweeps, so that a seed gives the same result on any
        machine.
    n_groups : int, default 1
        Groups of walkers with local moves (64 or 256 walkers each) that can run on cores of their
        own. It has no effect where every temperature has walkers of its own.
    n_jobs : int, default 1
        Threads. The result does not depend on it.
    checkpoint : path or None, default None
        File in which the run is saved now and then. If it exists, the run goes on from there and
        ends with the result that an uninterrupted run would have had.
    checkpoint_seconds : float, default 30
        Time between two savings."""


@dataclass(kw_only=True)
class Sampler(Settings):
    """Base of the sampling engines, which say which walkers move how.

    The settings that they share are described in SHARED; it takes the place of {shared} in the
    docstrings of the engines.
    """

    tol: float | None = None
    max_seconds: float | None = None
    max_sweeps: int | None = None
    n_groups: int = 1
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__doc__ is not None:  # python -OO
            cls.__doc__ = cls.__doc__.replace("{shared}", SHARED)

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        """The kind of walkers for a model, and how they move over the levels (`Round`)."""
        raise NotImplementedError

    def keeps_levels(self, model: PottsModel) -> bool:
        """Whether walkers stay at the temperatures asked for, see `SamplesLevels`."""
        return self._walkers(model)[1] == "components"

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
        until: Until | None = None,
    ) -> Equilibrium:
        """Sampled averages with standard errors at all temperatures.

        Stopped by the callback or by Ctrl-C during production, it returns what it has. Without a
        tolerance it ends when `until` says that the answer is settled.
        """
        wanted = temperature_array(temperatures)
        kind, dynamics = self._walkers(model)
        self._check()
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        run = LadderRun if dynamics in ("components", "held") else RoamingRun
        root = seed_sequence(seed)
        return run(self, kind, dynamics, model, wanted, root, callback, until).result()

    def _check(self) -> None:
        """Refuse settings that are out of range."""
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
