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
from typing import ClassVar

from spinlearn.core.model import PottsModel
from spinlearn.engines.sampler import Sampler
from spinlearn.engines.tallies import MAX_COLUMNS, columns
from spinlearn.engines.walker_group import Walkers
from spinlearn.engines.walkers import walkers_for


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
