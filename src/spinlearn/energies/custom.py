"""Energies from arrays of the user's own: couplings, costs, fields, priors.

custom        sum_e couplings[e] pair_cost[s_u, s_v] + sum_i fields[i, s_i] + class penalty
class_prior   any energy - strength <J> sum_{i unlabelled} ln prior[s_i]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.energies.base import UNLABELLED, Energy, Labels, mean_coupling
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import real_array
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.settings import Settings, is_number


@dataclass(kw_only=True)
class Custom(Energy):
    """An energy from arrays of your own; the labels are added to them.

    The arrays are those of `spinlearn.PottsModel`: n points, m edges, q classes. `couplings` may be
    an array of shape (m,) too: the strength of every edge, in the order of ``graph.edges``, of
    either sign.

    Parameters
    ----------
    pair_cost : array-like of shape (q, q), optional
        Symmetric table of the cost of two neighbouring classes. Default: 0 if equal, else 1.
    fields : array-like of shape (n, q), optional
        Cost of every class at every point. Default: none.
    class_penalty : ClassPenalty or array-like of shape (q, n + 1), optional
        A term in whole classes; a table gives the cost of every number of points for every class.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Custom
    >>> pair = Graph(2, [(0, 1)])
    >>> tilted = Custom(fields=[[0, 0], [0.0, 0.25]])
    >>> tilted(pair, [0, -1], n_states=2).energy([[0, 0], [0, 1]]).tolist()
    [0.0, 1.25]
    """

    pair_cost: Any = None
    fields: Any = None
    class_penalty: Any = None

    _own_couplings = True

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        terms: dict[str, Any] = {"pair_cost": self.pair_cost}
        if not isinstance(self.couplings, str):
            terms["couplings"] = real_array(self.couplings, "couplings", (graph.n_edges,))
        if self.fields is not None:
            terms["fields"] = real_array(self.fields, "fields", (graph.n_nodes, q))
        penalty = self.class_penalty
        if penalty is not None and not isinstance(penalty, ClassPenalty):
            penalty = ClassPenalty.from_table(penalty)
        return terms | {"class_penalty": penalty}


@dataclass(kw_only=True)
class ClassPrior(Settings):
    """Another energy with a field that favours likely classes at every unlabelled point.

    The field is ``-strength <J> ln prior[s_i]``, with <J> the mean coupling of that energy.

    Parameters
    ----------
    prior : array-like of shape (q,)
        Probability of every class, > 0; scaled to sum to one. It must be given.
    energy : str or energy, default "min_cut"
        What the prior is added to: one of the names in `ENERGIES`, or another energy.
    strength : float, default 1
        In units of the mean coupling. At T = strength times the mean coupling a point without
        neighbours has exactly the prior as its law.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import ClassPrior
    >>> pair = Graph(2, [(0, 1)])
    >>> rare = ClassPrior(prior=[0.99, 0.01])
    >>> rare(pair, [-1, -1], n_states=2).fields.round(2).tolist()
    [[0.0, 4.6], [0.0, 4.6]]
    """

    prior: Any = None
    energy: Any = "min_cut"
    strength: float = 1.0

    def __call__(
        self, graph: Graph, labels: npt.ArrayLike, n_states: int, **label_strength: Any
    ) -> PottsModel:
        """The model of the inner energy with the fields of the prior; see `MinCut`."""
        from spinlearn.energies import make_energy

        if self.prior is None:
            raise InvalidInputError("ClassPrior needs prior=..., the probability of every class")
        model = make_energy(self.energy)(graph, labels, n_states, **label_strength)
        values = real_array(self.prior, "prior", (model.n_states,))
        if np.any(values <= 0):
            raise InvalidInputError(
                "prior holds values <= 0: a class that cannot occur needs no state; give every "
                "class a positive probability"
            )
        if not (is_number(self.strength) and 0 <= self.strength < np.inf):
            raise InvalidInputError(f"strength={self.strength!r} of the prior is not a number >= 0")
        unit = mean_coupling(model.effective_couplings)
        cost = -self.strength * unit * np.log(values / values.max())
        free = np.asarray(labels) == UNLABELLED
        return model.replace(fields=model.fields + free[:, None] * cost)
