"""Auto: picks the engine by what the model allows; the result names the one that ran."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy.typing as npt

from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.seeds import Seed
from spinlearn.core.settings import Settings
from spinlearn.core.stopping import Until
from spinlearn.engines.belief_propagation import BeliefPropagation
from spinlearn.engines.bit_walkers import BitWalkers
from spinlearn.engines.junction_tree import JunctionTree
from spinlearn.engines.multicanonical import Multicanonical
from spinlearn.engines.population_annealing import PopulationAnnealing
from spinlearn.engines.tempering import Tempering
from spinlearn.engines.walkers import GeneralWalkers, walkers_for
from spinlearn.errors import UnsupportedModelError

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
    tol : float or None, default None
        Stop when the largest standard error of a marginal or an agreement, over all temperatures,
        is below this. None: stop when the answer that the averages are for is settled, where there
        is one (`spinlearn.PottsClassifier`), else at 0.012.
    max_seconds : float or None, default None
        Stop after this time, whatever is reached. Results then depend on how busy the machine is.
    n_jobs : int, default 1
        Threads of a sampler. The result does not depend on it.
    checkpoint : path or None, default None
        File in which a sampler's run is saved now and then. If it exists, the run goes on from
        there.
    checkpoint_seconds : float, default 30
        Time between two savings.

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
        """Why no engine can treat the model, or None.

        Parameters
        ----------
        model : PottsModel
            The model to be treated.

        Returns
        -------
        str or None
        """
        if self._exact().unsupported(model) is None:
            return None
        return self._sampling(model).unsupported(model)

    def keeps_levels(self, model: PottsModel) -> bool:
        """Whether it will sample the temperatures asked for one by one.

        Parameters
        ----------
        model : PottsModel
            The model to be treated.

        Returns
        -------
        bool
        """
        sampler = self._sampling(model)
        one_by_one = isinstance(sampler, Tempering) and sampler.keeps_levels(model)
        return one_by_one and self._exact().unsupported(model) is not None

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
        until: Until | None = None,
    ) -> Equilibrium:
        """Run the engine of choice; ``Equilibrium.engine`` names it.

        Parameters
        ----------
        model : PottsModel
            What to average over; n nodes, m edges, q states.
        temperatures : array-like of float
            Where, >= 0, in the unit of the couplings; 0 and infinity are allowed.
        seed : int, SeedSequence or None
            Of a sampler; the same seed gives the same result.
        callback : callable, optional
            Called with a progress report now and then; a true answer stops the run.
        until : callable, optional
            Asked by a sampler without `tol` whether the answer is settled.

        Returns
        -------
        Equilibrium
        """
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

    def by_messages(self, n_starts: int | None = None) -> BeliefPropagation:
        """Belief propagation instead, with the settings that it shares.

        Parameters
        ----------
        n_starts : int, optional
            As for `BeliefPropagation`.

        Returns
        -------
        BeliefPropagation
        """
        return BeliefPropagation(
            tol=1e-6,  # of messages, a thousandth of what a probability is read to
            n_starts=n_starts,
            minimizer="hasty",
            second_opinion=False,  # answers have a sampled one of their own
            checkpoint=self.checkpoint,
            checkpoint_seconds=self.checkpoint_seconds,
        )

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
