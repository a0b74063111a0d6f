"""Swendsen-Wang clusters of one walker: arrays in, arrays mutated in place.

    E(s) = sum_e couplings[e] [s_u != s_v] + sum_i fields[i, s_i]      over free nodes

Clamps are part of the fields, so a cluster that touches labels draws its state from
softmax(-beta * summed fields) instead of being frozen by one bond to one of them.

Swendsen & Wang (1987), Edwards & Sokal (1988); couplings >= 0: bonds on agreeing edges with
probability 1 - exp(-beta J_e), then every cluster draws a state. The improved estimators average
over that draw: P(s_i = c | bonds), P(s_u = s_v | bonds).

Letters: n nodes, m edges, q states.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from spinlearn.kernels.rng import next_bits, next_u64, uniform

AT_A_TIME = 256  # edges: their bonds stay in the nearest cache


@njit(cache=True, nogil=True)
def bond_clusters(state, edge_u, edge_v, thresholds, parent, stream):
    """Draw bonds; on return parent[i] is the smallest node of the cluster of i.

    Parameters
    ----------
    state : int8 [n]
    edge_u, edge_v : uint32 [m], u < v
    thresholds : uint32 [m], 2^32 times the bond probability
    parent : int32 [n], overwritten

    Bonds are drawn without a branch, some edges at a time, and then joined: a branch on a draw
    costs more than the draw. Two edges share one, and the generator lives in registers.
    """
    n = parent.size
    m = edge_u.size
    for i in range(n):
        parent[i] = i
    bonds = np.empty(AT_A_TIME + 1, np.uint32)
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    for first in range(0, m, AT_A_TIME):
        last = min(first + AT_A_TIME, m)
        count = 0
        for e in range(first, last, 2):
            draw, s0, s1, s2, s3 = next_bits(s0, s1, s2, s3)
            bonds[count] = e
            agree = state[edge_u[e]] == state[edge_v[e]]
            count += agree & (np.uint32(draw) < thresholds[e])
            if e + 1 < last:
                bonds[count] = e + 1
                agree = state[edge_u[e + 1]] == state[edge_v[e + 1]]
                count += agree & (np.uint32(draw >> uint64(32)) < thresholds[e + 1])
        for k in range(count):
            # Roots by path halving; parents never exceed children.
            a = np.int64(edge_u[bonds[k]])
            while True:
                p = np.int64(parent[a])
                if p == a:
                    break
                grand = parent[p]
                parent[a] = grand
                a = np.int64(grand)
            b = np.int64(edge_v[bonds[k]])
            while True:
                p = np.int64(parent[b])
                if p == b:
                    break
                grand = parent[p]
                parent[b] = grand
                b = np.int64(grand)
            parent[max(a, b)] = min(a, b)
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
    """Add P(s_u = s_v | bonds) to edge_sum float32 [m].

    Without branches but for edges between clusters that both draw from a law: they come after, some
    edges at a time.
    """
    q = law.shape[1]
    m = edge_u.size
    certain = np.array([1.0 / q, 1.0, 0.0], np.float32)  # apart; together; to be found
    key = np.empty(parent.size, np.int32)  # of the cluster: its row, or < 0 if it has none
    for i in range(parent.size):
        row = law_row[parent[i]]
        key[i] = row if row >= 0 else -1 - parent[i]
    between = np.empty(AT_A_TIME + 1, np.uint32)
    for first in range(0, m, AT_A_TIME):
        last = min(first + AT_A_TIME, m)
        count = 0
        for e in range(first, last):
            a = key[edge_u[e]]
            b = key[edge_v[e]]
            uncertain = (a != b) & (min(a, b) >= 0)
            between[count] = e
            count += uncertain
            edge_sum[e] += certain[(a == b) + 2 * uncertain]
        for k in range(count):
            e = between[k]
            a = key[edge_u[e]]
            b = key[edge_v[e]]
            chance = 0.0
            for c in range(q):
                chance += law[a, c] * law[b, c]
            edge_sum[e] += np.float32(chance)
