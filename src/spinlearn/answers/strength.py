"""Strength of a new class: how far it stands apart from the named classes.

    strength = V_A V_B / (2W J(A, B))

for the new class A and the named class B that it is coupled to most: how many times more weakly the
two are coupled than chance would couple them. J(A, B) is the summed coupling between them, V the
summed coupling of all their points, 2W that of all points. 1 is no separation at all, 5 a clear
one; infinite where no coupling joins A to a named class, or none is named.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.model import PottsModel


def new_class_strengths(model: PottsModel, outcomes: IntArray, n_classes: int) -> dict[int, float]:
    """Strength by the number of the new class, from 1.

    Parameters
    ----------
    model : PottsModel
    outcomes : int array (n,)
        As in `Decision`.
    n_classes : int
    """
    n_outcomes = max(int(outcomes.max(initial=-1)) + 1, n_classes)
    coupling = np.abs(model.couplings)
    between: FloatArray = np.zeros((n_outcomes, n_outcomes))
    volume: FloatArray = np.zeros(n_outcomes)
    total = 2 * float(coupling.sum())
    for one, other in (model.graph.edges.T, model.graph.edges.T[::-1]):
        a, b = outcomes[one], outcomes[other]
        known = a >= 0
        volume += np.bincount(a[known], weights=coupling[known], minlength=n_outcomes)
        known &= b >= 0
        np.add.at(between, (a[known], b[known]), coupling[known])
    strengths = {}
    for new in np.unique(outcomes[outcomes >= n_classes]).tolist():
        expected = volume[new] * volume[:n_classes]
        observed = between[new, :n_classes] * total
        joined = observed > 0
        ratios = expected[joined] / observed[joined]
        strengths[new - n_classes + 1] = float(ratios.min(initial=np.inf))
    return strengths
