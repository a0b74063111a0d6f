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
    """An energy from arrays of your own; the labels are added to them.

    Parameters
    ----------
    graph : Graph
        Which pairs of points interact; n nodes, m edges.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    couplings : array-like of shape (m,), optional
        Strength of every edge, in the order of ``graph.edges``; either sign. Default: its weights.
    pair_cost : array-like of shape (q, q), optional
        Symmetric table of the cost of two neighbouring classes. Default: 0 if equal, else 1.
    fields : array-like of shape (n, q), optional
        Cost of every class at every point. Default: none.
    class_penalty : ClassPenalty or array-like of shape (q, n + 1), optional
        A term in whole classes; a table gives the cost of every number of points for every class.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    Custom : The same as an object, for ``PottsClassifier(energy=...)``.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import custom
    >>> repelling = custom(chain, [0, -1, -1, -1], n_states=2, couplings=[-1, -1, -1])
    >>> repelling.energy([0, 1, 0, 1])
    -3.0
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

    The field is ``-strength <J> ln prior[s_i]``, with <J> the mean coupling of that energy.

    Parameters
    ----------
    graph : Graph
        Similar points; n nodes, m edges. Its weights, >= 0 or of either sign, are the couplings.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    prior : array-like of shape (q,)
        Probability of every class, > 0; scaled to sum to one.
    energy : callable
        What the prior is added to: a function of (graph, labels, n_states, label_strength=...) that
        returns a PottsModel, for example `min_cut`.
    strength : float, default 1
        In units of the mean coupling. At T = strength times the mean coupling a point without
        neighbours has exactly the prior as its law.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    ClassPrior : The same as an object, for ``PottsClassifier(energy=...)``.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import class_prior, min_cut
    >>> model = class_prior(chain, [0, -1, -1, 1], 2, prior=[0.9, 0.1], energy=min_cut)
    >>> model.fields.round(2).tolist()
    [[0.0, 0.0], [0.0, 1.83], [0.0, 1.83], [0.0, 0.0]]
    """
    model = energy(graph, labels, n_states, label_strength=label_strength)
    values = real_array(prior, "prior", (model.n_states,))
    if np.any(values <= 0):
        raise InvalidInputError(
            "prior holds values <= 0: a class that cannot occur needs no state; give every class "
            "a positive probability"
        )
    if not (isinstance(strength, (int, float, np.number)) and 0 <= strength < np.inf):
        raise InvalidInputError(f"strength={strength!r} of the prior is not a number >= 0")
    unit = float(np.abs(model.effective_couplings).mean()) if graph.n_edges else 1.0
    cost = -strength * unit * np.log(values / values.max())
    free = checked_labels(graph, labels, model.n_states) == UNLABELLED
    return model.replace(fields=model.fields + free[:, None] * cost)
