"""Replica exchange over cluster moves or local ones, with its one-replica cases.

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
from typing import ClassVar

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.stopping import Until
from spinlearn.engines.class_walkers import ClassClusterWalkers
from spinlearn.engines.cluster_walkers import ClusterWalkers
from spinlearn.engines.contraction import Contraction, checked_budget
from spinlearn.engines.node_walkers import MetropolisWalkers
from spinlearn.engines.plan import Plan
from spinlearn.engines.sampler import Sampler
from spinlearn.engines.walker_group import Walkers
from spinlearn.engines.walkers import walkers_for
from spinlearn.errors import InvalidInputError


@dataclass(kw_only=True)
class Tempering(Sampler):
    """Replica exchange: walkers at all temperatures, which exchange what they found.

    For graphs of any width and size. Several independent ladders of walkers are run, half of them
    cooled, by what belief propagation expects, and half from the coldest labelling known. A
    temperature at which the two still differ is marked as not equilibrated. A run without `tol`
    ends when the answer is settled.

    Parameters
    ----------
    tol : float or None, default None
        Stop when the largest standard error of a marginal or an agreement, over all temperatures,
        is below this. None: stop when the answer that the averages are for is settled, where there
        is one (`spinlearn.PottsClassifier`), else at 0.012.
    max_seconds : float or None, default None
        Stop after this time, whatever is reached. Results then depend on how busy the machine is.
    max_sweeps : int or None, default None
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
        Time between two savings.
    moves : {"auto", "cluster", "local"}, default "auto"
        How walkers move: Swendsen-Wang clusters, which need couplings >= 0 and the Potts pair cost,
        or single nodes. "auto" takes what has the least error per second: single nodes, 256 walkers
        at a time, for two states and equal couplings, else clusters where they can be, else single
        nodes.
    contract : float or None, default None
        Sample a smaller model, in which nodes that agree almost surely are one: no probability
        changes by more than this, see `spinlearn.engines.contraction`. The bound that was found is
        in ``diagnostics["contraction"]`` and in every error bar. It helps where all temperatures
        are low; where nothing can be contracted, the model is sampled whole. It needs clusters.

    References
    ----------
    K. Hukushima and K. Nemoto, Exchange Monte Carlo method and application to spin glass
    simulations, J. Phys. Soc. Jpn. 65, 1604 (1996).

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Tempering
    >>> chain = Graph(3, [(0, 1), (1, 2)], weights=[1.0, 0.5])
    >>> model = PottsModel(chain, 2, clamped=[0, -1, -1])
    >>> found = Tempering(tol=0.02).run(model, [0.5, 1.0], seed=0)
    >>> bool(found.converged.all()), found.std_error.shape
    (True, (2, 3, 2))
    """

    moves: str = "auto"
    contract: float | None = None

    name: ClassVar[str] = "tempering"

    @property
    def treats_class_terms(self) -> bool:
        """Whether it moves single points, not clusters alone."""
        return self.moves != "cluster"

    def _averages(
        self,
        plan: Plan,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        until: Until | None,
    ) -> Equilibrium:
        if self.contract is None or not plan.pinned:
            return super()._averages(plan, model, wanted, root, callback, until)
        budget = checked_budget(self.contract, plan, until)
        pilot, own = root.spawn(2)
        smaller = Contraction.of(plan, model, wanted, pilot, callback, budget)
        if smaller is None:
            return super()._averages(plan, model, wanted, own, callback, until)
        asking, rest = until and smaller.asking(until), smaller.rest_of(plan, until)
        found = super()._averages(rest, smaller.small, wanted, own, callback, asking)
        return smaller.expanded(found)

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the moves asked for cannot treat the model, or None."""
        kind, _ = self._walkers(model)
        return _reason(kind, model, "use moves='auto'")

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        if self.moves not in ("auto", "cluster", "local"):
            raise InvalidInputError(
                f"moves={self.moves!r} is unknown: use 'auto', 'cluster' or 'local'"
            )
        kind: type[Walkers] = ClusterWalkers
        modules = self.contract is not None and ClusterWalkers.unsupported(model) is None
        if self.moves == "local" or (self.moves == "auto" and not modules):
            kind = walkers_for(model, local=self.moves == "local")
        return kind, "components" if kind in (ClusterWalkers, ClassClusterWalkers) else "exchanged"


@dataclass(kw_only=True)
class SwendsenWang(Sampler):
    """The Swendsen-Wang method: cluster moves, every temperature on its own.

    One of the standard methods of the paper's section 4, here so that one can see where it fails.
    Every run starts from a random labelling, and no walkers are exchanged between temperatures.

    Parameters
    ----------
    tol : float or None, default None
        Stop when the largest standard error of a marginal or an agreement, over all temperatures,
        is below this. None: stop when the answer that the averages are for is settled, where there
        is one (`spinlearn.PottsClassifier`), else at 0.012.
    max_seconds : float or None, default None
        Stop after this time, whatever is reached. Results then depend on how busy the machine is.
    max_sweeps : int or None, default 5000
        Stop after this many sweeps of every walker, not counting those before equilibrium. None:
        after some minutes' work, counted in sweeps.
    n_groups : int, default 1
        Groups of walkers with local moves (64 or 256 walkers each) that can run on cores of their
        own. It has no effect where every temperature has walkers of its own.
    n_jobs : int, default 1
        Threads. The result does not depend on it.
    checkpoint : path or None, default None
        File in which the run is saved now and then. If it exists, the run goes on from there and
        ends with the result that an uninterrupted run would have had.
    checkpoint_seconds : float, default 30
        Time between two savings.

    References
    ----------
    R. H. Swendsen and J.-S. Wang, Nonuniversal critical dynamics in Monte Carlo simulations, Phys.
    Rev. Lett. 58, 86 (1987).

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import SwendsenWang
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = SwendsenWang(tol=0.02).run(model, [1.0], seed=0)
    >>> bool(abs(found.marginals[0, 2, 0] - 0.607) < 0.1)  # exact: 0.607
    True
    """

    max_sweeps: int | None = 5_000

    name: ClassVar[str] = "swendsen_wang"
    treats_class_terms: ClassVar[bool] = False

    def unsupported(self, model: PottsModel) -> str | None:
        """Why clusters cannot treat the model, or None."""
        return _reason(ClusterWalkers, model, "use engine='tempering' or engine='metropolis'")

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        return ClusterWalkers, "held"


@dataclass(kw_only=True)
class Metropolis(Sampler):
    """The Metropolis method: moves of single nodes, every temperature on its own.

    One of the standard methods of the paper's section 4, here so that one can see where it fails.
    Every run starts from a random labelling, and no walkers are exchanged between temperatures.

    Parameters
    ----------
    tol : float or None, default None
        Stop when the largest standard error of a marginal or an agreement, over all temperatures,
        is below this. None: stop when the answer that the averages are for is settled, where there
        is one (`spinlearn.PottsClassifier`), else at 0.012.
    max_seconds : float or None, default None
        Stop after this time, whatever is reached. Results then depend on how busy the machine is.
    max_sweeps : int or None, default 5000
        Stop after this many sweeps of every walker, not counting those before equilibrium. None:
        after some minutes' work, counted in sweeps.
    n_groups : int, default 1
        Groups of walkers with local moves (64 or 256 walkers each) that can run on cores of their
        own. It has no effect where every temperature has walkers of its own.
    n_jobs : int, default 1
        Threads. The result does not depend on it.
    checkpoint : path or None, default None
        File in which the run is saved now and then. If it exists, the run goes on from there and
        ends with the result that an uninterrupted run would have had.
    checkpoint_seconds : float, default 30
        Time between two savings.

    References
    ----------
    N. Metropolis, A. W. Rosenbluth, M. N. Rosenbluth, A. H. Teller and E. Teller, Equation of state
    calculations by fast computing machines, J. Chem. Phys. 21, 1087 (1953).

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Metropolis
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = Metropolis(tol=0.02).run(model, [1.0], seed=0)
    >>> bool(abs(found.marginals[0, 2, 0] - 0.607) < 0.1)  # exact: 0.607
    True
    """

    max_sweeps: int | None = 5_000

    name: ClassVar[str] = "metropolis"
    treats_class_terms: ClassVar[bool] = False

    def unsupported(self, model: PottsModel) -> str | None:
        """Why single-node moves cannot treat the model, or None."""
        return _reason(MetropolisWalkers, model, "use engine='multicanonical' or 'tempering'")

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        return MetropolisWalkers, "held"


def _reason(kind: type[Walkers], model: PottsModel, remedy: str) -> str | None:
    """Why walkers cannot treat the model, with what to do about it, or None."""
    reason = kind.unsupported(model)
    moves = "clusters" if kind is ClusterWalkers else "such moves"
    return None if reason is None else f"there are no {moves} for {reason}: {remedy}"
