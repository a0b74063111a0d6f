"""A lower bound of the least energy for any number of states: half the sum of isolating cuts.

With x^a_i = [s_i = a], an edge between two different states is cut in exactly two of the q binary
problems "a against the rest", and field_i(s_i) counts once if state a of node i costs twice that in
problem a:

    E(s) = 1/2 sum_a ( sum_e J_e |x^a_u - x^a_v| + 2 sum_i field_i(a) x^a_i )
         >= 1/2 sum_a min_x ( ... )

each minimum a cut (Dahlhaus et al., SIAM J. Comput. 23, 864 (1994), for clamps only). Fields are
counted from their least value at every node, which makes the bound tighter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spinlearn.core.model import FREE, PottsModel
from spinlearn.minimizers.cut import minimum_cut
from spinlearn.minimizers.support import class_level_reason


def isolation_bound(model: PottsModel, *, stop: Callable[[], bool] | None = None) -> float | None:
    """A lower bound of the energy of all labellings, from q minimum cuts.

    It applies to couplings >= 0 and pair costs that are zero for equal states and positive for
    different ones; the smallest of these takes the place of Potts' 1.

    Parameters
    ----------
    model : PottsModel
        The energy.
    stop : callable, optional
        Asked before every cut; once it says true, the result is None.

    Returns
    -------
    float or None
        No labelling has less energy than this. None where the bound does not apply.

    References
    ----------
    E. Dahlhaus et al., The complexity of multiterminal cuts, SIAM J. Comput. 23, 864 (1994).

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import isolation_bound
    >>> isolation_bound(MinCut()(chain, [0, -1, 1, 2], n_states=3))
    1.5
    """
    q = model.n_states
    differ = model.pair_cost[~np.eye(q, dtype=np.bool_)]
    applies = np.all(model.couplings >= 0) and np.all(np.diag(model.pair_cost) == 0)
    if class_level_reason(model) is not None or not applies or np.any(differ <= 0):
        return None
    least = model.fields.min(axis=1)
    held = model.clamped != FREE
    least[held] = model.fields[held, model.clamped[held]]
    total = 0.0
    for state in range(q):
        if stop is not None and stop():
            return None
        fields = np.zeros((model.n_nodes, 2))
        fields[~held, 1] = 2 * (model.fields[~held, state] - least[~held])
        isolated = PottsModel(
            model.graph,
            2,
            couplings=model.couplings * differ.min(),
            fields=fields,
            clamped=np.where(held, model.clamped == state, FREE),
        )
        total += minimum_cut(isolated).energy
    return float(least.sum()) + total / 2
