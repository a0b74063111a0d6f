"""Energies from arrays of the user's own: couplings, costs, fields, priors.

custom        sum_e couplings[e] pair_cost[s_u, s_v] + sum_i fields[i, s_i] + class penalty
class_prior   any energy - strength <J> sum_{i unlabelled} ln prior[s_i]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import real_array
from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel, checked_n_states
from spinlearn.energies.label_terms import UNLABELLED, checked_labels, label_terms
from spinlearn.errors import InvalidInputError


def custom(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
    couplings: npt.ArrayLike | None = None,
    pair_cost: npt.ArrayLike | None = None,
    fields: npt.ArrayLike | None = None,
    class_penalty: Any = None,
) -> PottsModel:
    """An energy given by its arrays; the labels' clamps and fields are added.

    Parameters
    ----------
    couplings, pair_cost, fields
        As in `PottsModel`.
    class_penalty : ClassPenalty or array-like (q, n + 1), optional
        A class-level term; a table gives the cost of every number of points for every class.
    """
    q = checked_n_states(n_states)
    strengths = None if couplings is None else real_array(couplings, "couplings", (graph.n_edges,))
    label_fields, clamped = label_terms(graph, labels, q, label_strength, strengths)
    if fields is not None:
        label_fields = label_fields + real_array(fields, "fields", (graph.n_nodes, q))
    if class_penalty is not None and not isinstance(class_penalty, ClassPenalty):
        class_penalty = ClassPenalty.from_table(class_penalty)
    return PottsModel(
        graph,
        q,
        couplings=strengths,
        pair_cost=pair_cost,
        fields=label_fields,
        clamped=clamped,
        class_penalty=class_penalty,
    )


def class_prior(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    prior: npt.ArrayLike,
    energy: Callable[..., PottsModel],
    label_strength: npt.ArrayLike = np.inf,
    strength: float = 1.0,
) -> PottsModel:
    """Another energy with a field that favours likely classes at every unlabelled point.

    Parameters
    ----------
    prior : array-like (q,)
        Positive; scaled to sum to one.
    energy : callable
        What the prior is added to, for example `min_cut`.
    strength : float
        In units of the mean coupling. At T = strength times the mean coupling a point without
        neighbours has exactly the prior as its law.
    """
    model = energy(graph, labels, n_states, label_strength=label_strength)
    values = real_array(prior, "prior", (model.n_states,))
    if np.any(values <= 0):
        raise InvalidInputError(
            "prior holds values <= 0: a class that cannot occur needs no state; give every class "
            "a positive probability"
        )
    if not (isinstance(strength, (int, float, np.number)) and 0 <= strength < np.inf):
        raise InvalidInputError(f"strength={strength!r} of the prior is no number >= 0")
    unit = float(np.abs(model.effective_couplings).mean()) if graph.n_edges else 1.0
    cost = -strength * unit * np.log(values / values.max())
    free = checked_labels(graph, labels, model.n_states) == UNLABELLED
    return model.replace(fields=model.fields + free[:, None] * cost)
