"""Moves of single replicas and exchanges between two: arrays in, arrays mutated in place.

    E(s) = sum_e couplings[e] * pair_cost[s_u, s_v] + sum_i fields[i, s_i]      over free nodes

Clamps are part of the fields (`FreePart`), so a cluster that touches labels draws its state from
softmax(-beta * summed fields) instead of being frozen by one bond to one of them.

Swendsen-Wang (Swendsen & Wang 1987, Edwards & Sokal 1988; couplings >= 0, pair_cost = 1 - delta):
bonds on agreeing edges with probability 1 - exp(-beta J_e), then every cluster draws a state. The
improved estimators average over that draw: P(s_i = c | bonds), P(s_u = s_v | bonds).

Exchange by components: where two replicas differ, the connected components of the differing nodes
do not touch, so each of them is exchanged on its own with min(1, exp(-(beta_a - beta_b) gain)). At
equal temperatures this is Houdayer's move (2001), with one component it is replica exchange. Valid
for every sign of coupling and every pair cost.

Letters: n nodes, m edges, q states.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from spinlearn.kernels.rng import below, next_bits, next_u64, uniform

# -- Swendsen-Wang ---------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def bond_clusters(state, edge_u, edge_v, thresholds, parent, stream):
    """Draw bonds; on return parent[i] is the smallest node of the cluster of i.

    Parameters
    ----------
    state : int8 [n]
    edge_u, edge_v : uint32 [m], u < v
    thresholds : uint32 [m], 2^32 times the bond probability
    parent : int32 [n], overwritten

    Edges inside a cluster need no draw: only the partition is used. Two edges share a draw, and the
    generator lives in registers.
    """
    n = parent.size
    for i in range(n):
        parent[i] = i
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    spare = uint64(0)
    have = False
    for e in range(edge_u.size):
        u = edge_u[e]
        v = edge_v[e]
        if state[u] == state[v] and parent[u] != parent[v]:
            if have:
                draw = np.uint32(spare)
                have = False
            else:
                spare, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
                draw = np.uint32(spare >> uint64(32))
                have = True
            if draw < thresholds[e]:
                # Roots by path halving; parents never exceed children.
                a = np.int64(u)
                while True:
                    p = np.int64(parent[a])
                    if p == a:
                        break
                    grand = parent[p]
                    parent[a] = grand
                    a = np.int64(grand)
                b = np.int64(v)
                while True:
                    p = np.int64(parent[b])
                    if p == b:
                        break
                    grand = parent[p]
                    parent[b] = grand
                    b = np.int64(grand)
                if a < b:
                    parent[b] = a
                elif b < a:
                    parent[a] = b
    stream[0], stream[1], stream[2], stream[3] = s0, s1, s2, s3
    for i in range(n):
        parent[i] = parent[parent[i]]  # parents come first, so one pass flattens


@njit(cache=True, nogil=True)
def relabel_clusters(state, parent, fields, field_nodes, beta, law_row, law, stream):
    """Draw a state for every cluster: uniform, or from the softmax of its summed fields.

    Parameters
    ----------
    fields : float64 [n, q]; field_nodes : uint32, the nodes whose row is not zero
    law_row : int32 [n], overwritten: row of `law` of a cluster (at its root), -1 where uniform
    law : float64 [len(field_nodes), q], overwritten: what the cluster drew from
    """
    n = parent.size
    q = fields.shape[1]
    for i in range(n):
        law_row[i] = -1
    rows = 0
    for k in range(field_nodes.size):
        i = field_nodes[k]
        root = parent[i]
        row = law_row[root]
        if row < 0:
            row = rows
            law_row[root] = row
            rows += 1
            for c in range(q):
                law[row, c] = 0.0
        for c in range(q):
            law[row, c] += fields[i, c]
    states = uint64(q)
    spare = uint64(0)
    have = False
    for i in range(n):
        root = parent[i]
        if root != i:
            state[i] = state[root]
            continue
        row = law_row[i]
        if row < 0:
            if have:
                draw = spare & uint64(0xFFFFFFFF)
                have = False
            else:
                spare = next_u64(stream)
                draw = spare >> uint64(32)
                have = True
            state[i] = np.int8((draw * states) >> uint64(32))
            continue
        least = law[row, 0]
        for c in range(1, q):
            least = min(least, law[row, c])
        total = 0.0
        for c in range(q):
            weight = math.exp(-beta * (law[row, c] - least))
            law[row, c] = weight
            total += weight
        target = uniform(stream) * total
        chosen = -1
        for c in range(q):
            target -= law[row, c]
            if target < 0.0 and chosen < 0:
                chosen = c
            law[row, c] /= total
        if chosen < 0:  # rounding at the upper end: the last state of positive weight
            chosen = q - 1
            while law[row, chosen] == 0.0:
                chosen -= 1
        state[i] = np.int8(chosen)


@njit(cache=True, nogil=True)
def add_node_law(parent, law_row, law, node_sum, free_sum):
    """Add P(s_i = c | bonds): law of the cluster to node_sum float32 [n, q], or 1 to free_sum [n].

    free_sum / q is to be added to every state afterwards.
    """
    one = np.float32(1.0)
    q = law.shape[1]
    for i in range(parent.size):
        row = law_row[parent[i]]
        if row < 0:
            free_sum[i] += one
        else:
            for c in range(q):
                node_sum[i, c] += np.float32(law[row, c])


@njit(cache=True, nogil=True)
def add_edge_law(parent, law_row, law, edge_u, edge_v, edge_sum):
    """Add P(s_u = s_v | bonds) to edge_sum float32 [m]."""
    one = np.float32(1.0)
    q = law.shape[1]
    uniform_chance = np.float32(1.0 / q)
    for e in range(edge_u.size):
        a = parent[edge_u[e]]
        b = parent[edge_v[e]]
        if a == b:
            edge_sum[e] += one
            continue
        row_a = law_row[a]
        row_b = law_row[b]
        if row_a < 0 or row_b < 0:
            edge_sum[e] += uniform_chance
        else:
            chance = 0.0
            for c in range(q):
                chance += law[row_a, c] * law[row_b, c]
            edge_sum[e] += np.float32(chance)


# -- local moves -----------------------------------------------------------------------------------


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


# -- exchange between replicas ---------------------------------------------------------------------


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
