"""Swendsen-Wang clusters with a class term that depends on class sizes only.

    E(s) = sum_e J_e [s_u != s_v] + sum_i fields[i, s_i] + sum_c f_c(V_c)          over free nodes

Bonds are drawn on agreeing edges with probability 1 - exp(-beta J_e); given the bonds, a cluster of
size z (summed over its nodes) takes its turn and draws its class given all the others,

    p(c) ~ exp(-beta (F_c + f_c(V_c + z) - f_c(V_c))),        V without the cluster,

F_c its summed fields: a Gibbs step, so the law is kept. *Permutation moves* exchange two classes on
all free nodes: bonds and the cut between free nodes do not notice, so the judgement costs only the
nodes that have fields (those next to labels, clamps being part of the fields) and two class sizes.
They carry clusters that sit under the wrong label out of it, all at once.

Improved estimators average over the draw that a cluster made given the others: P(s_i = c | others),
and for an edge between two clusters the chance of the later one to take what the earlier one has.

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
    law,
    stream,
):
    """Every cluster in turn draws its class given the others, in the order of their roots.

    Clusters of one node without fields are most of them at high T; their weights exp(-beta (f_c(V_c
    + 1) - f_c(V_c))) are kept per class and renewed for the two classes that change.

    Parameters
    ----------
    parent : int32 [n], the smallest node of the cluster of each
    fields : float64 [n, q]; field_nodes : uint32, nodes whose row is not zero
    volumes : float64 [q], class sizes, updated
    field_row : int32 [n]; field_sums : float64 [len(field_nodes), q]; cluster_size : float64 [n];
        cost, single : float64 [q]; scratch
    law : float64 [n, q], overwritten at the roots: what the cluster drew from; [0, q] for none
    """
    n = parent.size
    q = fields.shape[1]
    told = law.shape[0] > 0
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
                if told and new >= 0:
                    for c in range(q):
                        law[i, c] = single[c] / total
        if new < 0:
            for c in range(q):
                cost[c] = _entry_cost(term, c, volumes[c], size)
                if row >= 0:
                    cost[c] += field_sums[row, c]
            new = draw_state(cost, beta, stream)
            if told:
                total = 0.0
                for c in range(q):
                    total += cost[c]  # by now the weights
                for c in range(q):
                    law[i, c] = cost[c] / total
        volumes[new] += size
        single[new] = math.exp(-beta * (_entry_cost(term, new, volumes[new], unit) - base))
        state[i] = np.int8(new)


@njit(cache=True, nogil=True)
def add_cluster_laws(state, parent, law, edge_u, edge_v, node_sum, edge_sum):
    """Add P(s_i = c | others) to node_sum float32 [n, q], and agreements to edge_sum [m].

    state : int8 [n], after the draws whose laws these are
    """
    q = law.shape[1]
    one = np.float32(1.0)
    for i in range(parent.size):
        root = parent[i]
        for c in range(q):
            node_sum[i, c] += np.float32(law[root, c])
    for e in range(edge_u.size):
        a = parent[edge_u[e]]
        b = parent[edge_v[e]]
        if a == b:
            edge_sum[e] += one
        else:
            edge_sum[e] += np.float32(law[max(a, b), state[min(a, b)]])


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
    walkers,
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
    repeats,
    rows,
    law,
    node_sums,
    edge_sums,
):
    """Cluster sweeps of walkers, each followed by permutation moves; the number accepted.

    Parameters
    ----------
    states : int8 [R, n_free]; walkers : int64, those that move; levels : int32 [R];
    betas : float64 [K]; thresholds : uint32 [K, m], 2^32 times the bond probability
    repeats : int64 [R], times that a walker makes `n_sweeps`
    rows : int64 [R], row of the sums to which the improved estimators of the last of these sweeps
        are added, < 0 for none
    law : float64 [n_free, q], scratch; [0, q] where no row is added to
    node_sums, edge_sums : float32 [rows, n_free, q], [rows, m]
    """
    accepted = 0
    for walker in walkers:
        state = states[walker]
        level = levels[walker]
        row = rows[walker]
        free_volumes(state, term, held_volumes, volumes)
        for sweep in range(n_sweeps * repeats[walker]):
            measured = row >= 0 and (sweep + 1) % n_sweeps == 0
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
                law if measured else law[:0],
                stream,
            )
            if measured:
                add_cluster_laws(state, parent, law, edge_u, edge_v, node_sums[row], edge_sums[row])
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


@njit(cache=True, nogil=True)
def exchange_class_components(
    state_a,
    state_b,
    beta_a,
    beta_b,
    indptr,
    neighbors,
    weights,
    fields,
    term,
    volumes_a,
    volumes_b,
    shift,
    seen,
    queue,
    counts,
    stream,
):
    """As `spinlearn.kernels.exchange.exchange_components`, under a term in the class sizes.

    The pair costs of the two walkers change by +gain and -gain, their class terms by whatever the
    sizes that change places make of them, so components are judged one after the other.

    Parameters
    ----------
    volumes_a, volumes_b : float64 [q], class sizes of the walkers, updated
    shift : float64 [q], scratch
    """
    n = seen.size
    q = shift.size
    sizes = term[1]
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
        for c in range(q):
            shift[c] = 0.0
        while done < size:
            u = queue[done]
            done += 1
            a = state_a[u]
            b = state_b[u]
            shift[a] -= sizes[u]
            shift[b] += sizes[u]
            twice += 2.0 * (fields[u, b] - fields[u, a])
            for t in range(indptr[u], indptr[u + 1]):
                v = neighbors[t]
                x = state_a[v]
                y = state_b[v]
                if x == y:
                    if x == a:
                        twice += 2.0 * weights[t]
                    elif x == b:
                        twice -= 2.0 * weights[t]
                else:
                    if a == x:
                        twice += weights[t]
                    if b == y:
                        twice -= weights[t]
                    if not seen[v]:
                        seen[v] = True
                        queue[size] = v
                        size += 1
        change_a = 0.5 * twice
        change_b = -change_a
        for c in range(q):
            if shift[c] != 0.0:
                change_a += _entry_cost(term, c, volumes_a[c], shift[c])
                change_b += _entry_cost(term, c, volumes_b[c], -shift[c])
        exponent = -beta_a * change_a - beta_b * change_b
        counts[0] += 1.0
        if exponent >= 0.0 or uniform(stream) < math.exp(exponent):
            counts[1] += 1.0
            for c in range(q):
                volumes_a[c] += shift[c]
                volumes_b[c] -= shift[c]
            for t in range(size):
                u = queue[t]
                state_a[u], state_b[u] = state_b[u], state_a[u]


@njit(cache=True, nogil=True)
def exchange_class_neighbors(
    states,
    order,
    betas,
    low,
    offset,
    indptr,
    neighbors,
    weights,
    fields,
    term,
    held_volumes,
    volumes_a,
    volumes_b,
    shift,
    seen,
    queue,
    counts,
    stream,
):
    """As `spinlearn.kernels.cluster_walkers.exchange_neighbors`, under a term in class sizes."""
    n_places = order.size
    start = below(stream, 2 * offset)
    for base in range(low + start - 2 * offset, n_places - offset, 2 * offset):
        for k in range(max(base, low), min(base + offset, n_places - offset)):
            hot, cold = order[k], order[k + offset]
            free_volumes(states[hot], term, held_volumes, volumes_a)
            free_volumes(states[cold], term, held_volumes, volumes_b)
            exchange_class_components(
                states[hot],
                states[cold],
                betas[k],
                betas[k + offset],
                indptr,
                neighbors,
                weights,
                fields,
                term,
                volumes_a,
                volumes_b,
                shift,
                seen,
                queue,
                counts[hot],
                stream,
            )
