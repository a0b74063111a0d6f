"""Greedy moves of nodes between modules: the first phase of Louvain's method.

Every node in turn joins the module of a neighbour that gains most,

    gain(b) = sum_{j in b} J_ij - null * mass_i * M_b - misfit(i, b),       M_b without node i

M_b = sum_{j in b} mass_j, or stays. With mass the weighted degree and null = resolution / 2W this
is modularity at that resolution (Blondel, Guillaume, Lambiotte & Lefebvre, J. Stat. Mech. P10008,
2008; Reichardt & Bornholdt 2006). The misfit is what fields lose when node and module have to
agree, min_c (F_i + F_b)(c) - min_c F_i(c) - min_c F_b(c), F_b summed over the module.

Letters: n nodes, q states.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _least(fields, i):
    """min_c F_i(c)."""
    least = fields[i, 0]
    for c in range(1, fields.shape[1]):
        least = min(least, fields[i, c])
    return least


@njit(cache=True, nogil=True)
def join_modules(
    order,
    indptr,
    neighbors,
    weights,
    mass,
    null,
    fields,
    slack,
    member,
    module_mass,
    module_fields,
    tally,
    touched,
):
    """Offer every node of `order` the modules of its neighbours once; the number that moved.

    weights are in CSR order; fields [n, q], or [0, q] for none; gains below `slack` are rounding;
    `member` and the sums over modules are updated. tally [n] is all zero, and again on return;
    touched [largest degree + 1] is scratch.
    """
    with_fields = fields.shape[0] > 0
    q = fields.shape[1]
    moved = 0
    for k in range(order.size):
        i = order[k]
        home = member[i]
        module_mass[home] -= mass[i]
        own_least = 0.0
        if with_fields:
            own_least = _least(fields, i)
            for c in range(q):
                module_fields[home, c] -= fields[i, c]
        touched[0] = home
        n_touched = 1
        for t in range(indptr[i], indptr[i + 1]):
            b = member[neighbors[t]]
            if tally[b] == 0.0 and b != home:
                touched[n_touched] = b
                n_touched += 1
            tally[b] += weights[t]
            if tally[b] == 0.0:
                tally[b] = 1e-300  # opposite couplings that cancel: still touched
        best = home
        best_gain = 0.0
        for p in range(n_touched):
            b = touched[p]
            gain = tally[b] - null * mass[i] * module_mass[b]
            tally[b] = 0.0
            if with_fields:
                together = np.inf
                for c in range(q):
                    together = min(together, module_fields[b, c] + fields[i, c])
                gain -= together - own_least - _least(module_fields, b)
            if p == 0:
                best_gain = gain + slack
            elif gain > best_gain:
                best_gain = gain
                best = b
        member[i] = best
        module_mass[best] += mass[i]
        if with_fields:
            for c in range(q):
                module_fields[best, c] += fields[i, c]
        if best != home:
            moved += 1
    return moved
