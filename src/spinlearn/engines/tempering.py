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
from spinlearn.engines.class_walkers import ClassClusterWalkers
from spinlearn.engines.cluster_walkers import ClusterWalkers
from spinlearn.engines.node_walkers import MetropolisWalkers
from spinlearn.engines.sampler import Sampler
from spinlearn.engines.walker_group import Walkers
from spinlearn.engines.walkers import walkers_for
from spinlearn.errors import InvalidInputError


@dataclass(kw_only=True)
class Tempering(Sampler):
    """Replica exchange, for graphs of any width and size.

    Parameters
    ----------
    moves : {"auto", "cluster", "local"}
        Swendsen-Wang clusters need couplings >= 0 and the Potts pair cost. "auto" takes what has
        the least error per second: the bits of words for q = 2 and equal couplings, else clusters
        where they can be, else local moves.
    tol, max_seconds, max_sweeps, n_groups, n_jobs, checkpoint, checkpoint_seconds
        See `Sampler`.
    """

    moves: str = "auto"

    name: ClassVar[str] = "tempering"

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
        if self.moves != "cluster":
            kind = walkers_for(model, local=self.moves == "local")
        return kind, "components" if kind in (ClusterWalkers, ClassClusterWalkers) else "exchanged"


@dataclass(kw_only=True)
class SwendsenWang(Sampler):
    """Swendsen-Wang at every temperature on its own; parameters as in `Sampler`."""

    max_sweeps: int | None = 5_000

    name: ClassVar[str] = "swendsen_wang"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why clusters cannot treat the model, or None."""
        return _reason(ClusterWalkers, model, "use engine='tempering' or engine='metropolis'")

    def _walkers(self, model: PottsModel) -> tuple[type[Walkers], str]:
        return ClusterWalkers, "held"


@dataclass(kw_only=True)
class Metropolis(Sampler):
    """Metropolis at every temperature on its own; parameters as in `Sampler`."""

    max_sweeps: int | None = 5_000

    name: ClassVar[str] = "metropolis"

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
