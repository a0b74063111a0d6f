"""Multicanonical sampling: walkers that roam all energies, reweighted to every temperature.

The ensemble has the weight

    W(E) = sum_t exp(eta_t - beta_t E)

over a ladder of inverse temperatures beta_t. With eta_t = -ln Z(beta_t) every level is visited
equally often, so W(E) is nearly 1/D(E), D the density of states, over the range of energies that
the requested temperatures need. Walkers with local moves draw their level from P(t | E) and are
swept at beta_t, which leaves W invariant at the price of canonical sweeps. (Read with the level
kept, this is simulated tempering; ln W is convex, so inside a first-order gap the walk is not
flat.) Walkers with cluster moves sample the same ensemble with one walker held at every level,
between which regions are exchanged: no level can be left empty. Between valleys walkers go by
exchanging two classes on whole regions, see `spinlearn.engines.regions`.
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
from spinlearn.engines.walk import MAX_COLUMNS, Plan, Walk, columns
from spinlearn.engines.walkers import ClusterWalkers, walkers_for
from spinlearn.errors import UnsupportedModelError


@dataclass(kw_only=True)
class Multicanonical(Settings):
    """The paper's engine, for graphs too wide for an exact answer.

    Parameters
    ----------
    tol : float
        Stop when the largest standard error of a marginal, over nodes and temperatures, is below.
    max_seconds : float or None
        Stop after this time even if `tol` is not reached.
    max_sweeps : int
        Stop production after this many sweeps of every walker.
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
    n_groups: int = 1
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "multicanonical"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why this engine cannot treat the model, or None."""
        if columns(model) > MAX_COLUMNS:
            return (
                f"{model.n_nodes} nodes with {model.n_states} states and {model.graph.n_edges} "
                f"edges need {columns(model)} sums per energy bin, more than {MAX_COLUMNS}: use "
                "engine='tempering'"
            )
        return None

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
        kind = walkers_for(model)
        plan = Plan(
            engine=self.name,
            kind=kind,
            dynamics="components" if kind is ClusterWalkers else "drawn",
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
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        return Walk(plan, model, wanted, root, callback).result()
