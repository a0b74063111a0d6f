"""Where the messages of a large model lie: one pass over the graph each, nothing allocated.

A *slot* is one direction of one edge, as in `spinlearn.messages.layout`. Letters: n free nodes in
the order of sweeps, N nodes of the graph, m edges. `place` is the number of a node in the order of
sweeps, -1 if it is clamped.
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, nogil=True)
def count_slots(indptr, neighbors, edge_ids, order, place, couplings, indptr_free, strength):
    """Where the slots of every free node begin, (n + 1,), and its summed |couplings|, (n,)."""
    indptr_free[0] = 0
    for j in range(len(order)):
        count, total = 0, 0.0
        for k in range(indptr[order[j]], indptr[order[j] + 1]):
            if place[neighbors[k]] >= 0:
                count += 1
                total += abs(couplings[edge_ids[k]])
        indptr_free[j + 1] = indptr_free[j] + count
        strength[j] = total


@njit(cache=True, nogil=True)
def fill_slots(indptr, neighbors, edge_ids, order, place, cursor, senders, at_u, at_v):
    """Senders (slots,) of the messages into every node, ascending, and both slots of every edge.

    `cursor` (n,) holds where the slots of every node begin, and is used up. Of an edge with a
    clamped end both slots are -1.
    """
    for e in range(len(at_u)):
        at_u[e] = -1
        at_v[e] = -1
    for j in range(len(order)):
        node = order[j]
        for k in range(indptr[node], indptr[node + 1]):
            other = neighbors[k]
            i = place[other]
            if i < 0:
                continue
            slot = cursor[i]
            cursor[i] += 1
            senders[slot] = j
            # The slot of an edge (u < v) at its end u holds the message from v to u.
            if other < node:
                at_u[edge_ids[k]] = slot
            else:
                at_v[edge_ids[k]] = slot


@njit(cache=True, nogil=True)
def pair_slots(at_u, at_v, reverse):
    """The slot of the opposite direction of every slot."""
    for e in range(len(at_u)):
        if at_u[e] >= 0:
            reverse[at_u[e]] = at_v[e]
            reverse[at_v[e]] = at_u[e]


@njit(cache=True, nogil=True)
def couple_slots(at_u, at_v, couplings, factor, temperature, unlike, slope):
    """What `message_sweeps` takes from the couplings, times a factor, at one temperature."""
    for e in range(len(at_u)):
        if at_u[e] >= 0:
            j = couplings[e] * factor
            exponent = abs(j) / temperature
            w, rest = math.exp(-exponent), -math.expm1(-exponent)
            a, b = (w, rest) if j >= 0 else (1.0, -w)
            unlike[at_u[e]] = a
            unlike[at_v[e]] = a
            slope[at_u[e]] = b
            slope[at_v[e]] = b
