"""Auto: picks the engine by what the model allows; the result names the one that ran."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy.typing as npt

from spinlearn.engines.exact.junction_tree import JunctionTree
from spinlearn.engines.sampling.population_annealing import PopulationAnnealing
from spinlearn.engines.sampling.samplers import Multicanonical, Tempering
from spinlearn.engines.sampling.walkers import BitWalkers, GeneralWalkers, walkers_for
from spinlearn.errors import UnsupportedModelError
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Seed, Until
from spinlearn.model.settings import Settings

MANY_VALLEYS = 200  # free nodes, above which a cut in disguise is cooled
WALKER_NODES = 115_000  # walkers times nodes of a population, under a minute of cooling
FEWEST_WALKERS, MOST_WALKERS = 64, 256
POPULATION_TOL = 0.03  # which such a population can reach
LEAST_SECONDS = 0.2  # of a limit that are left for sampling once an exact answer was tried


@dataclass(kw_only=True)
class Auto(Settings):
    """The engine that a model allows: exact if the graph is narrow enough, else a sampler.

    Exact means `JunctionTree` within the budget. The sampler is `Multicanonical` for two states,
    equal couplings and no fields, and `Tempering` otherwise. Models with terms in whole classes
    that are not functions of class sizes alone go to `PopulationAnnealing`. ``Equilibrium.engine``
    names the engine that ran.

    Parameters
    ----------
    max_memory_gb : float, default 2
        Memory for the exact answer, in GiB; models that need more are sampled.
    max_operations : float, default 1e8
        Budget of the exact answer: clique states per temperature, 4 to 30 ns each.
    max_seconds : float or None, default None
        Stop after this time, whatever is reached. Results then depend on how busy the machine is.
    tol, n_jobs, checkpoint, checkpoint_seconds
        Of a sampler, see `Tempering`.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Auto
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = Auto().run(model, [1.0])
    >>> found.engine, found.marginals[0, :, 0].round(3).tolist()
    ('junction_tree', [1.0, 0.731, 0.607])
    """

    max_memory_gb: float = 2.0
    max_operations: float = 1e8
    tol: float | None = None
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

    def keeps_levels(self, model: PottsModel) -> bool:
        """Whether it will sample the temperatures asked for one by one."""
        if self._exact().unsupported(model) is None:
            return False
        sampler = self._sampling(model)
        return isinstance(sampler, Tempering) and sampler.keeps_levels(model)

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
        until: Until | None = None,
    ) -> Equilibrium:
        """Run the engine of choice; a sampler without `tol` asks `until` whether to stop."""
        began = perf_counter()
        # Only samplers save: one goes on with its own run, and refuses that of another.
        if self.checkpoint is None or not Path(self.checkpoint).exists():
            try:
                return self._exact().run(model, temperatures, seed=seed, callback=callback)
            except UnsupportedModelError:  # too wide, or too slow
                pass
        sampler = self._sampling(model, perf_counter() - began)
        if isinstance(sampler, PopulationAnnealing):
            return sampler.run(model, temperatures, seed=seed, callback=callback)
        return sampler.run(model, temperatures, seed=seed, callback=callback, until=until)

    def _exact(self) -> JunctionTree:
        return JunctionTree(
            max_memory_gb=self.max_memory_gb,
            max_operations=self.max_operations,
            max_seconds=self.max_seconds,
        )

    def _sampling(
        self, model: PottsModel, used: float = 0.0
    ) -> Multicanonical | Tempering | PopulationAnnealing:
        """The sampler for a model, once `used` seconds are gone."""
        limit = self.max_seconds
        settings = {
            "max_seconds": None if limit is None else max(limit - used, LEAST_SECONDS * limit),
            "n_jobs": self.n_jobs,
            "checkpoint": self.checkpoint,
            "checkpoint_seconds": self.checkpoint_seconds,
        }
        kind, n_free = walkers_for(model), len(model.free_nodes)
        if kind is GeneralWalkers and model.class_penalty is not None and n_free > MANY_VALLEYS:
            walkers = max(FEWEST_WALKERS, min(MOST_WALKERS, WALKER_NODES // n_free))
            return PopulationAnnealing(
                n_walkers=walkers, n_sweeps=8, memory=0.8, n_reads=4,
                tol=max(self.tol or 0.0, POPULATION_TOL), **settings,
            )  # fmt: skip
        multicanonical = Multicanonical(tol=self.tol, **settings)
        if kind is BitWalkers and multicanonical.unsupported(model) is None:
            return multicanonical
        return Tempering(tol=self.tol, **settings)
