"""What labels add to an energy: clamps where they are certain, fields where they are not.

h_k (1 - delta(s_k, c_k)) for the labelled points k; h_k = inf is a clamp (eq. 2 of the paper).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, float_array, integer_array
from spinlearn.core.graph import Graph
from spinlearn.core.model import FREE
from spinlearn.errors import InvalidInputError

UNLABELLED = -1
# Of all labels, in units of the strongest coupling: beyond, PottsModel.energy_resolution would come
# near the couplings.
MAX_STRENGTH = 1e8


def checked_labels(graph: Graph, labels: npt.ArrayLike, n_states: int) -> npt.NDArray[np.int64]:
    """States of the labelled points, -1 for the others, (n,)."""
    given = integer_array(labels, "labels")
    n = graph.n_nodes
    if given.shape != (n,):
        raise InvalidInputError(f"labels have shape {given.shape}, the graph has {n} nodes")
    if np.any((given < UNLABELLED) | (given >= n_states)):
        raise InvalidInputError(f"labels must be -1 or states 0 to {n_states - 1}")
    return given


def label_terms(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    label_strength: npt.ArrayLike,
    couplings: FloatArray | None = None,
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Fields (n, q) and clamps (n,) of labels with the given strength.

    `couplings` (default: the graph's weights) say which strengths would drown them.
    """
    n, q = graph.n_nodes, n_states
    given = checked_labels(graph, labels, q)
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
    strengths = graph.weights if couplings is None else couplings
    strongest = float(np.abs(strengths).max(initial=0.0))
    # A sum of shares: strengths near the largest float must not overflow.
    if strongest > 0 and np.sum(strength[soft] / MAX_STRENGTH) > strongest:
        raise InvalidInputError(
            f"label_strength {strength[soft].max():g} drowns the couplings (at most "
            f"{strongest:g}) in rounding errors: use inf, which holds the label"
        )
    fields = np.zeros((n, q))
    fields[soft] = strength[soft, None]
    fields[soft, given[soft]] = 0.0
    return fields, np.where(hard, given, FREE)
