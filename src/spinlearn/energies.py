"""Energies as data: functions from a graph and labels to a PottsModel.

min_cut: E(s) = sum_<ij> J_ij (1 - delta(s_i, s_j)) + sum_k h_k (1 - delta(s_k, c_k))   (eq. 2)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import float_array, integer_array
from spinlearn.core.graph import Graph
from spinlearn.core.model import FREE, PottsModel, checked_n_states
from spinlearn.errors import InvalidInputError

UNLABELLED = -1
# Of all labels, in units of the strongest coupling: beyond, PottsModel.energy_resolution would come
# near the couplings.
MAX_STRENGTH = 1e8


def min_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
) -> PottsModel:
    """The paper's energy: cut weight, with labels as clamps or finite fields.

    Parameters
    ----------
    graph : Graph
        Its weights are the couplings J.
    labels : array-like of int, shape (n,)
        State of every labelled point, -1 for the others.
    n_states : int
        q.
    label_strength : float or array-like (n,)
        h_k >= 0; infinite (default) clamps the point, a finite value makes the label uncertain.
        Entries of unlabelled points are ignored.
    """
    q = checked_n_states(n_states)
    given = integer_array(labels, "labels")
    n = graph.n_nodes
    if given.shape != (n,):
        raise InvalidInputError(f"labels have shape {given.shape}, the graph has {n} nodes")
    if np.any((given < UNLABELLED) | (given >= q)):
        raise InvalidInputError(f"labels must be -1 or states 0 to {q - 1}")
    strength = float_array(label_strength, "label_strength")
    if strength.shape not in ((), (n,)):
        raise InvalidInputError(
            f"label_strength has shape {strength.shape}: give one number, or one per point, ({n},)"
        )
    strength = np.broadcast_to(strength, (n,))
    labelled = given != UNLABELLED
    if np.any(np.isnan(strength[labelled]) | (strength[labelled] < 0)):
        raise InvalidInputError(
            "label_strength must be >= 0 (inf clamps the label, 0 ignores it), got a negative "
            "or NaN value"
        )
    hard = labelled & np.isinf(strength)
    soft = np.flatnonzero(labelled & ~hard)
    strongest = float(np.abs(graph.weights).max(initial=0.0))
    # A sum of shares: strengths near the largest float must not overflow.
    if strongest > 0 and np.sum(strength[soft] / MAX_STRENGTH) > strongest:
        raise InvalidInputError(
            f"label_strength {strength[soft].max():g} drowns the couplings (at most "
            f"{strongest:g}) in rounding errors: use inf, which holds the label"
        )
    fields = np.zeros((n, q))
    fields[soft] = strength[soft, None]
    fields[soft, given[soft]] = 0.0
    return PottsModel(graph, q, fields=fields, clamped=np.where(hard, given, FREE))


ENERGIES: dict[str, Callable[..., PottsModel]] = {"min_cut": min_cut}
