"""Auto: picks the engine by what the model allows; the result names the one that ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.seeds import Seed
from spinlearn.core.settings import Settings
from spinlearn.engines.belief_propagation import BeliefPropagation
from spinlearn.engines.junction_tree import JunctionTree
from spinlearn.engines.multicanonical import Multicanonical
from spinlearn.engines.population_annealing import PopulationAnnealing
from spinlearn.engines.tempering import Tempering
from spinlearn.errors import UnsupportedModelError

# Free nodes above which a class-level energy has valleys that walkers on a ladder do not leave:
# on 1,800 points and ten classes a minute of multicanonical sampling makes no round trip.
MANY_VALLEYS = 200
WALKER_NODES = 115_000  # walkers times nodes of a population, under a minute of cooling
FEWEST_WALKERS, MOST_WALKERS = 64, 256
DEFAULT_SECONDS = 300.0


@dataclass(kw_only=True)
class Auto(Settings):
    """Exact where the width of the graph allows it within the given budget, else sampled.

    The sampler is the multicanonical one up to the size at which sums for every energy no longer
    fit (`Multicanonical.unsupported`), and tempering beyond. Energies with a class-level term on
    more than a few points are cooled as a population, see `PopulationAnnealing`.
    `Equilibrium.engine` names the engine.

    Parameters
    ----------
    max_memory_gb, max_operations : float
        Budget for the exact answer, see `JunctionTree`.
    max_seconds : float or None
        Of the sampling engine. None is DEFAULT_SECONDS for those that know all temperatures at any
        time, and no limit for a population, which has the low ones only at its end.
    tol, n_jobs, checkpoint, checkpoint_seconds
        Of the sampling engine, see `Multicanonical`.
    """

    max_memory_gb: float = 2.0
    max_operations: float = 1e8
    tol: float = 0.012
    max_seconds: float | None = None
    n_jobs: int = 1
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "auto"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why no engine can treat the model, or None."""
        if self._exact().unsupported(model) is None:
            return None
        return self._sampling(model).unsupported(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Run the engine of choice; `Equilibrium.engine` names it."""
        try:
            return self._exact().run(model, temperatures, seed=seed, callback=callback)
        except UnsupportedModelError:  # too wide
            return self._sampling(model).run(model, temperatures, seed=seed, callback=callback)

    def by_messages(self, n_starts: int | None = None) -> BeliefPropagation:
        """Belief propagation instead, with the settings that it shares."""
        return BeliefPropagation(
            tol=1e-6,  # of messages, a thousandth of what a probability is read to
            n_starts=n_starts,
            minimizer="hasty",
            second_opinion=False,  # answers have a sampled one of their own
            checkpoint=self.checkpoint,
            checkpoint_seconds=self.checkpoint_seconds,
        )

    def _exact(self) -> JunctionTree:
        return JunctionTree(max_memory_gb=self.max_memory_gb, max_operations=self.max_operations)

    def _sampling(self, model: PottsModel) -> Multicanonical | Tempering | PopulationAnnealing:
        n_free = len(model.free_nodes)
        settings = {
            "tol": self.tol,
            "max_seconds": self.max_seconds,
            "n_jobs": self.n_jobs,
            "checkpoint": self.checkpoint,
            "checkpoint_seconds": self.checkpoint_seconds,
        }
        if model.class_penalty is not None and n_free > MANY_VALLEYS:
            walkers = max(FEWEST_WALKERS, min(MOST_WALKERS, WALKER_NODES // n_free))
            settings["tol"] = max(self.tol, 0.03)
            return PopulationAnnealing(
                n_walkers=walkers, n_sweeps=8, memory=0.8, n_reads=4, **settings
            )
        if self.max_seconds is None:
            settings["max_seconds"] = DEFAULT_SECONDS
        multicanonical = Multicanonical(**settings)
        if multicanonical.unsupported(model) is None:
            return multicanonical
        return Tempering(**settings)
