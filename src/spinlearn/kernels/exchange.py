"""Exchange between two walkers by components of the nodes in which they differ.

    E(s) = sum_e couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]      over free nodes

Where two walkers differ, the connected components of the differing nodes do not touch, so each of
them is exchanged on its own with min(1, exp(-(beta_a - beta_b) gain)). At equal temperatures this
is Houdayer's move (2001), with one component it is replica exchange. Valid for every sign of
coupling and every pair cost. Letters: n nodes, q states.
"""

from __future__ import annotations

import math

from numba import njit

from spinlearn.kernels.rng import uniform


@njit(cache=True, nogil=True)
def exchange_components(
    state_a,
    state_b,
    beta_a,
    beta_b,
    indptr,
    neighbors,
    weights,
    pair_cost,
    fields,
    seen,
    queue,
    counts,
    stream,
):
    """Exchange two replicas component by component of the nodes in which they differ.

    Exchanging a component changes the two energies by +gain and -gain whatever happens on the
    others, and leaves the set of differing nodes as it is.

    Parameters
    ----------
    state_a, state_b : int8 [n], changed in place
    seen : bool [n]; queue : int32 [n]; scratch
    counts : float64 [2], adds components met and exchanged
    """
    n = seen.size
    difference = beta_a - beta_b
    for i in range(n):
        seen[i] = state_a[i] == state_b[i]
    for i in range(n):
        if seen[i]:
            continue
        seen[i] = True
        queue[0] = i
        size = 1
        done = 0
        twice = 0.0  # edges inside the component are met from both ends
        while done < size:
            u = queue[done]
            done += 1
            a = state_a[u]
            b = state_b[u]
            twice += 2.0 * (fields[u, b] - fields[u, a])
            for t in range(indptr[u], indptr[u + 1]):
                v = neighbors[t]
                x = state_a[v]
                y = state_b[v]
                if x == y:
                    twice += 2.0 * weights[t] * (pair_cost[b, x] - pair_cost[a, x])
                else:
                    twice += weights[t] * (pair_cost[b, y] - pair_cost[a, x])
                    if not seen[v]:
                        seen[v] = True
                        queue[size] = v
                        size += 1
        exponent = -0.5 * difference * twice
        counts[0] += 1.0
        if exponent >= 0.0 or uniform(stream) < math.exp(exponent):
            counts[1] += 1.0
            for t in range(size):
                u = queue[t]
                state_a[u], state_b[u] = state_b[u], state_a[u]
