"""Single-node sweeps of one walker, for any couplings, pair cost, fields.

    E(s) = sum_e couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]      over free nodes

Clamps are part of the fields (`ConditionedModel`). Letters: n nodes, q states.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spinlearn.kernels.rng import below, uniform


@njit(cache=True, nogil=True)
def heat_bath_sweep(
    state,
    indptr,
    neighbors,
    weights,
    pair_cost,
    fields,
    beta,
    tally,
    law,
    stream,
):
    """Every node in turn draws its state given its neighbours; any couplings and pair cost.

    Parameters
    ----------
    indptr, neighbors, weights : CSR of the couplings, int32, int32, float64
    tally, law : float64 [q], scratch
    """
    q = tally.size
    for i in range(indptr.size - 1):
        for c in range(q):
            tally[c] = 0.0
        for t in range(indptr[i], indptr[i + 1]):
            tally[state[neighbors[t]]] += weights[t]
        least = np.inf
        for c in range(q):
            cost = fields[i, c]
            for d in range(q):
                cost += tally[d] * pair_cost[d, c]
            law[c] = cost
            least = min(least, cost)
        total = 0.0
        for c in range(q):
            law[c] = math.exp(-beta * (law[c] - least))
            total += law[c]
        target = uniform(stream) * total
        chosen = -1
        for c in range(q):
            target -= law[c]
            if target < 0.0 and chosen < 0:
                chosen = c
        if chosen < 0:
            chosen = q - 1
            while law[chosen] == 0.0:
                chosen -= 1
        state[i] = np.int8(chosen)


@njit(cache=True, nogil=True)
def metropolis_sweep(state, q, indptr, neighbors, weights, pair_cost, fields, beta, stream):
    """Every node in turn is offered a state, the same chance for each.

    Its own is among them: without, free spins of q = 2 would flip at every visit, for ever.
    """
    for i in range(indptr.size - 1):
        old = state[i]
        new = np.int8(below(stream, q))
        if new == old:
            continue
        change = fields[i, new] - fields[i, old]
        for t in range(indptr[i], indptr[i + 1]):
            s = state[neighbors[t]]
            change += weights[t] * (pair_cost[s, new] - pair_cost[s, old])
        if change <= 0.0 or uniform(stream) < math.exp(-beta * change):
            state[i] = new
