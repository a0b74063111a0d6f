"""The samplers that users name: multicanonical, tempering, Swendsen-Wang, Metropolis.

Multicanonical sampling: walkers that roam all energies, reweighted to every temperature. The
ensemble has the weight

    W(E) = sum_t exp(eta_t - beta_t E)

over a ladder of inverse temperatures beta_t. With eta_t = -ln Z(beta_t) every level is visited
equally often, so W(E) is nearly 1/D(E), D the density of states, over the range of energies that
the requested temperatures need. A walker draws its level from P(t | E) and is swept at beta_t,
which leaves W invariant at the price of canonical sweeps. (Read with the level kept, this is
simulated tempering; ln W is convex, so inside a first-order gap the walk is not flat.) Between
valleys walkers go by exchanging two classes on whole regions, see
`spinlearn.engines.sampling.move_sets`.

Tempering: replica exchange over cluster moves or local ones. Walkers sit on a ladder of
temperatures chosen so that neighbours' energies overlap (`ladder.py`). With clusters
(Swendsen-Wang, clamp-aware) every walker stays at its level and neighbours exchange the components
in which they differ; averages are improved estimators. With local moves whole walkers change
places. Energies of all levels give one density of states, by which temperatures between the levels
are reached.

Metropolis and Swendsen-Wang alone hold every temperature on its own, from a random start: the
standard methods of the paper's section 4, here so that one can see them fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.limits import TimeLimit
from spinlearn.engines.sampling.ladder_run import LadderRun
from spinlearn.engines.sampling.roaming_run import RoamingRun
from spinlearn.engines.sampling.rounds import BLOCKS, MAX_COLUMNS, columns
from spinlearn.engines.sampling.walkers import (
    ClusterWalkers,
    MetropolisWalkers,
    Walkers,
    walkers_for,
)
from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.model.arrays import temperature_array
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Seed, Until, seed_sequence
from spinlearn.model.settings import Settings

SHARED = """\
tol : float or None, default None
        Stop when the largest standard error of a marginal or an agreement, over all temperatures,
        is below this. None: stop when the answer is settled, in `spinlearn.PottsClassifier`;
        elsewhere at 0.012.
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
    """Base of the sampling engines: their settings, which SHARED describes for {shared}."""

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
        for name, least in (("tol", 0.0), ("max_sweeps", 1), ("n_groups", 1), ("n_jobs", -1)):
            value = getattr(self, name)
            if value is None and name in ("tol", "max_sweeps"):
                continue
            if not isinstance(value, (int, float, np.number)) or not value >= least or value == 0:
                raise InvalidInputError(f"{name}={value!r} is out of range: give a number > 0")
        TimeLimit(self.max_seconds)  # refuses what is no time
        if self.n_groups not in (1, 2, 4, 8):
            raise InvalidInputError(
                f"n_groups={self.n_groups}: error bars are taken over {BLOCKS[-1]} or more blocks "
                "of walkers, shared evenly by the groups; use 1, 2, 4 or 8"
            )
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        run = LadderRun if dynamics in ("components", "held") else RoamingRun
        root = seed_sequence(seed)
        return run(self, kind, dynamics, model, wanted, root, callback, until).result()


@dataclass(kw_only=True)
class Multicanonical(Sampler):
    """Walkers that roam all energies, reweighted to every temperature: the paper's engine.

    For graphs too wide for an exact answer. One run gives the density of states, ln Z, and averages
    with error bars at all temperatures of its range, also at those asked for later.

    Parameters
    ----------
    {shared}

    References
    ----------
    B. A. Berg and T. Neuhaus, Multicanonical ensemble: a new approach to simulate first-order phase
    transitions, Phys. Rev. Lett. 68, 9 (1992).

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Multicanonical
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = Multicanonical(tol=0.02).run(model, [0.5, 1.0], seed=0)
    >>> bool(abs(found.marginals[1, 2, 0] - 0.607) < 0.1)  # exact: 0.607
    True
    >>> found.at([0.7]).temperatures.tolist()  # another temperature, from the same samples
    [0.7]
    """

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

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        return walkers_for(model), "drawn"


@dataclass(kw_only=True)
class Tempering(Sampler):
    """Replica exchange: walkers at all temperatures, which exchange what they found.

    For graphs of any width and size. Several independent ladders of walkers are run, half of them
    cooled, by what belief propagation expects, and half from the coldest labelling known. A
    temperature at which the two still differ is marked as not equilibrated. A run without `tol`
    ends when the answer is settled.

    Parameters
    ----------
    {shared}
    moves : {"auto", "cluster", "local"}, default "auto"
        How walkers move: Swendsen-Wang clusters, which need couplings >= 0 and the Potts pair cost,
        or single nodes. "auto" takes what has the least error per second: single nodes, 256 walkers
        at a time, for two states and equal couplings, else clusters where they can be, else single
        nodes.

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

    name: ClassVar[str] = "tempering"

    @property
    def treats_class_terms(self) -> bool:
        """Whether it moves single points, not clusters alone."""
        return self.moves != "cluster"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the moves asked for cannot treat the model, or None."""
        return _reason(self._walkers(model)[0], model, "use moves='auto'")

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        if self.moves not in ("auto", "cluster", "local"):
            raise InvalidInputError(
                f"moves={self.moves!r} is unknown: use 'auto', 'cluster' or 'local'"
            )
        if self.moves == "cluster":
            return ClusterWalkers, "components"
        kind = walkers_for(model, local=self.moves == "local")
        return kind, "components" if issubclass(kind, ClusterWalkers) else "exchanged"


@dataclass(kw_only=True)
class SwendsenWang(Sampler):
    """The Swendsen-Wang method: cluster moves, every temperature on its own.

    One of the standard methods of the paper's section 4, here so that one can see where it fails.
    Every run starts from a random labelling, and no walkers are exchanged between temperatures.

    Parameters
    ----------
    {shared}

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

    Like `SwendsenWang`, one of the standard methods of the paper's section 4.

    Parameters
    ----------
    {shared}

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
