"""Exchange between two walkers by components of the nodes in which they differ.

    E(s) = sum_e couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i] + sum_c f_c(V_c)

Where two walkers differ, the connected components of the differing nodes do not touch. Exchanging
one changes the two energies by +gain and -gain whatever happens on the others, and leaves the set
of differing nodes as it is, so each is exchanged on its own with min(1, exp(-(beta_a - beta_b)
gain)). At equal temperatures this is Houdayer's move (2001), with one component it is replica
exchange. Valid for every sign of coupling and every pair cost. A term in class sizes changes by
whatever the sizes that change places make of it, so components are judged one after the other:

    min(1, exp(-beta_a change_a - beta_b change_b))

Models and class terms as in `spinlearn.kernels.cluster`. Letters: n free nodes, q states.
"""

from __future__ import annotations

import math

from numba import njit

from spinlearn.kernels.cluster import class_sizes, entry_cost
from spinlearn.kernels.rng import below, uniform


@njit(cache=True, nogil=True)
def exchange_components(state_a, state_b, beta_a, beta_b, model, sizes, counts, stream):
    """Exchange two walkers component by component of the nodes in which they differ.

    Parameters
    ----------
    state_a, state_b : int8 [n], changed in place
    sizes : SizeTerm, whose volumes and other_volumes are those of the walkers, updated; or None
    counts : float64 [2], adds components met and exchanged
    """
    fields, pair_cost, weights = model.fields, model.pair_cost, model.weights
    indptr, neighbors = model.indptr, model.neighbors
    seen, queue = model.seen, model.parent
    for i in range(seen.size):
        seen[i] = state_a[i] == state_b[i]
    for i in range(seen.size):
        if seen[i]:
            continue
        seen[i] = True
        queue[0] = i
        size = 1
        done = 0
        twice = 0.0  # edges inside the component are met from both ends
        if sizes is not None:
            for c in range(sizes.shift.size):
                sizes.shift[c] = 0.0
        while done < size:
            u = queue[done]
            done += 1
            a = state_a[u]
            b = state_b[u]
            if sizes is not None:
                sizes.shift[a] -= sizes.term.sizes[u]
                sizes.shift[b] += sizes.term.sizes[u]
            twice += 2.0 * (fields[u, b] - fields[u, a])
            for t in range(indptr[u], indptr[u + 1]):
                v = neighbors[t]
                x = state_a[v]
                y = state_b[v]
                if x == y:
                    twice += 2.0 * weights[t] * (pair_cost[b, x] - pair_cost[a, x])
                else:
                    if sizes is None:
                        twice += weights[t] * (pair_cost[b, y] - pair_cost[a, x])
                    else:  # the same for Potts' pair cost, in the order that seeds are used to
                        twice += weights[t] * (a == x)
                        twice -= weights[t] * (b == y)
                    if not seen[v]:
                        seen[v] = True
                        queue[size] = v
                        size += 1
        gain = 0.5 * twice
        if sizes is None:
            exponent = -(beta_a - beta_b) * gain
        else:
            change_a = gain
            change_b = -gain
            for c in range(sizes.shift.size):
                moved = sizes.shift[c]
                if moved != 0.0:
                    change_a += entry_cost(sizes.term, c, sizes.volumes[c], moved)
                    change_b += entry_cost(sizes.term, c, sizes.other_volumes[c], -moved)
            exponent = -beta_a * change_a - beta_b * change_b
        counts[0] += 1.0
        if exponent >= 0.0 or uniform(stream) < math.exp(exponent):
            counts[1] += 1.0
            if sizes is not None:
                for c in range(sizes.shift.size):
                    sizes.volumes[c] += sizes.shift[c]
                    sizes.other_volumes[c] -= sizes.shift[c]
            for t in range(size):
                u = queue[t]
                state_a[u], state_b[u] = state_b[u], state_a[u]


@njit(cache=True, nogil=True)
def exchange_neighbors(states, order, betas, low, offset, model, sizes, counts, stream):
    """Component exchanges of disjoint pairs of walkers, `offset` places apart in the ladder.

    Parameters
    ----------
    order : int64, the walkers that take part from the hottest to the coldest
    betas : float64, of these places
    low : first place that takes part
    counts : float64 [R, 2], adds components met and exchanged by the hotter walker
    """
    n_places = order.size
    start = below(stream, 2 * offset)
    for base in range(low + start - 2 * offset, n_places - offset, 2 * offset):
        for k in range(max(base, low), min(base + offset, n_places - offset)):
            hot = states[order[k]]
            cold = states[order[k + offset]]
            if sizes is not None:
                class_sizes(hot, sizes, sizes.volumes)
                class_sizes(cold, sizes, sizes.other_volumes)
            exchange_components(
                hot, cold, betas[k], betas[k + offset], model, sizes, counts[order[k]], stream
            )
