"""Swendsen-Wang clusters with a class term that depends on class sizes only.

    E(s) = sum_e J_e [s_u != s_v] + sum_i fields[i, s_i] + sum_c f_c(V_c)          over free nodes

Bonds are drawn on agreeing edges with probability 1 - exp(-beta J_e); given the bonds, a cluster of
size z (summed over its nodes) takes its turn and draws its class given all the others,

    p(c) ~ exp(-beta (F_c + f_c(V_c + z) - f_c(V_c))),        V without the cluster,

F_c its summed fields: a Gibbs step, so the law is kept. *Permutation moves* exchange two classes on
all free nodes: bonds and the cut between free nodes do not notice, so the judgement costs only the
nodes that have fields (those next to labels, clamps being part of the fields) and two class sizes.
They carry clusters that sit under the wrong label out of it, all at once.

The class term is a tuple as in `spinlearn.kernels.class_term`, with the sizes of the free nodes;
`held_volumes` float64 [q] is what clamped nodes add to the classes.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spinlearn.kernels.class_moves import draw_state
from spinlearn.kernels.class_term import class_cost
from spinlearn.kernels.cluster import bond_clusters
from spinlearn.kernels.rng import below, uniform


@njit(cache=True, nogil=True)
def free_volumes(state, term, held_volumes, volumes):
    """V_c of free nodes int8 [n_free] and clamped ones, into float64 [q]."""
    for c in range(volumes.size):
        volumes[c] = held_volumes[c]
    sizes = term[1]
    for i in range(sizes.size):
        volumes[state[i]] += sizes[i]


@njit(cache=True, nogil=True, inline="always")
def _entry_cost(term, c, volume, size):
    """What a class of the given volume pays for taking in something of the given size."""
    return class_cost(term, c, volume + size, 0.0) - class_cost(term, c, volume, 0.0)


@njit(cache=True, nogil=True)
def cluster_gibbs(
    state,
    parent,
    fields,
    field_nodes,
    beta,
    term,
    volumes,
    field_row,
    field_sums,
    cluster_size,
    cost,
    single,
    stream,
):
    """Every cluster in turn draws its class given the others.

    Clusters of one node without fields are most of them at high T; their weights exp(-beta (f_c(V_c
    + 1) - f_c(V_c))) are kept per class and renewed for the two classes that change.

    Parameters
    ----------
    parent : int32 [n], the smallest node of the cluster of each
    fields : float64 [n, q]; field_nodes : uint32, nodes whose row is not zero
    volumes : float64 [q], class sizes, updated
    field_row : int32 [n]; field_sums : float64 [len(field_nodes), q]; cluster_size : float64 [n];
        cost, single : float64 [q]; scratch
    """
    n = parent.size
    q = fields.shape[1]
    sizes = term[1]
    unit = sizes[0] if n else 0.0
    base = np.inf
    for c in range(q):
        base = min(base, _entry_cost(term, c, volumes[c], unit))
    for c in range(q):
        single[c] = math.exp(-beta * (_entry_cost(term, c, volumes[c], unit) - base))
    for i in range(n):
        field_row[i] = -1
        cluster_size[i] = 0.0
    for i in range(n):
        cluster_size[parent[i]] += sizes[i]
    rows = 0
    for k in range(field_nodes.size):
        i = field_nodes[k]
        root = parent[i]
        row = field_row[root]
        if row < 0:
            row = rows
            field_row[root] = row
            rows += 1
            for c in range(q):
                field_sums[row, c] = 0.0
        for c in range(q):
            field_sums[row, c] += fields[i, c]
    for i in range(n):
        if parent[i] != i:
            state[i] = state[parent[i]]
            continue
        size = cluster_size[i]
        row = field_row[i]
        old = state[i]
        volumes[old] -= size
        single[old] = math.exp(-beta * (_entry_cost(term, old, volumes[old], unit) - base))
        new = -1
        if row < 0 and size == unit:
            total = 0.0
            for c in range(q):
                total += single[c]
            if 1e-200 < total < 1e200:  # else the class sizes have moved too far from `base`
                target = uniform(stream) * total
                for c in range(q):
                    target -= single[c]
                    if target < 0.0:
                        new = c
                        break
        if new < 0:
            for c in range(q):
                cost[c] = _entry_cost(term, c, volumes[c], size)
                if row >= 0:
                    cost[c] += field_sums[row, c]
            new = draw_state(cost, beta, stream)
        volumes[new] += size
        single[new] = math.exp(-beta * (_entry_cost(term, new, volumes[new], unit) - base))
        state[i] = np.int8(new)


@njit(cache=True, nogil=True)
def permute_classes(state, fields, field_nodes, beta, term, held_volumes, volumes, n_tries, stream):
    """Offer `n_tries` exchanges of two classes on all free nodes; the number accepted."""
    q = volumes.size
    accepted = 0
    for _ in range(n_tries):
        a = below(stream, q)
        b = (a + 1 + below(stream, q - 1)) % q
        change = 0.0
        for k in range(field_nodes.size):
            i = field_nodes[k]
            s = state[i]
            if s == a:
                change += fields[i, b] - fields[i, a]
            elif s == b:
                change += fields[i, a] - fields[i, b]
        new_a = held_volumes[a] + volumes[b] - held_volumes[b]
        new_b = held_volumes[b] + volumes[a] - held_volumes[a]
        change += class_cost(term, a, new_a, 0.0) - class_cost(term, a, volumes[a], 0.0)
        change += class_cost(term, b, new_b, 0.0) - class_cost(term, b, volumes[b], 0.0)
        if change <= 0.0 or uniform(stream) < math.exp(-beta * change):
            accepted += 1
            volumes[a] = new_a
            volumes[b] = new_b
            for i in range(state.size):
                if state[i] == a:
                    state[i] = np.int8(b)
                elif state[i] == b:
                    state[i] = np.int8(a)
    return accepted


@njit(cache=True, nogil=True)
def sweep_class_clusters(
    states,
    levels,
    betas,
    thresholds,
    edge_u,
    edge_v,
    fields,
    field_nodes,
    term,
    held_volumes,
    volumes,
    parent,
    field_row,
    field_sums,
    cluster_size,
    cost,
    single,
    stream,
    n_sweeps,
    n_permutations,
):
    """Cluster sweeps of every walker, each followed by permutation moves; the number accepted.

    states : int8 [R, n_free]; levels : int32 [R]; betas : float64 [K]; thresholds : uint32 [K, m],
    2^32 times the bond probability.
    """
    accepted = 0
    for walker in range(states.shape[0]):
        state = states[walker]
        level = levels[walker]
        free_volumes(state, term, held_volumes, volumes)
        for _ in range(n_sweeps):
            bond_clusters(state, edge_u, edge_v, thresholds[level], parent, stream)
            cluster_gibbs(
                state,
                parent,
                fields,
                field_nodes,
                betas[level],
                term,
                volumes,
                field_row,
                field_sums,
                cluster_size,
                cost,
                single,
                stream,
            )
            accepted += permute_classes(
                state,
                fields,
                field_nodes,
                betas[level],
                term,
                held_volumes,
                volumes,
                n_permutations,
                stream,
            )
    return accepted
