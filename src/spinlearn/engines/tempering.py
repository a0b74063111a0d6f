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

from spinlearn.core.model import PottsModel
from spinlearn.engines.cluster_walkers import (
    ClassClusterWalkers,
    ClusterWalkers,
    MetropolisWalkers,
)
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
        kind: type[Walkers] = ClusterWalkers
        if self.moves != "cluster":
            kind = walkers_for(model, local=self.moves == "local")
        return kind, "components" if kind in (ClusterWalkers, ClassClusterWalkers) else "exchanged"


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
