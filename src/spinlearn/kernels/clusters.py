"""Moves by clusters of Swendsen and Wang, and exchanges between walkers.

    E(s) = sum_e couplings[e] [s_u != s_v] + sum_i fields[i, s_i] + sum_c f_c(V_c)    free nodes

Swendsen & Wang (1987), Edwards & Sokal (1988); couplings >= 0: bonds on agreeing edges with
probability 1 - exp(-beta J_e), then every cluster draws a state. Clamps are part of the fields
(`ConditionedModel`), so a cluster that touches labels draws from its summed fields F_c instead of
being frozen by one bond to one of them:

    p(c) ~ exp(-beta F_c)                                       without class term
    p(c) ~ exp(-beta (F_c + f_c(V_c + z) - f_c(V_c)))           given all other clusters, in turn

z is the size of the cluster, summed over its nodes, V_c those of the classes without it. Under a
class term *permutation moves* exchange two classes on all free nodes besides: bonds and the cut
between free nodes do not notice, so the judgement costs only the nodes that have fields and two
class sizes. They carry clusters that sit under the wrong label out of it, all at once.

The improved estimators average over the draw of a cluster: P(s_i = c | bonds) and P(s_u = s_v |
bonds); under a class term given the others, and for an edge between two clusters the chance of the
later one to take what the earlier one has.

Exchange between two walkers by components of the nodes in which they differ, for every sign of
coupling and every pair cost: these components do not touch. Exchanging one changes the two energies
by +gain and -gain whatever happens on the others, and leaves the set of differing nodes as it is,
so each is exchanged on its own with min(1, exp(-(beta_a - beta_b) gain)). At equal temperatures
this is Houdayer's move (2001), with one component it is replica exchange. A term in class sizes
changes by whatever the sizes that change places make of it, so components are judged one after the
other:

    min(1, exp(-beta_a change_a - beta_b change_b))

Models are `spinlearn.model.kernel_arguments.ClusterModel`; the class term is a `SizeTerm`, or None,
which leaves the code for it out of what is compiled. Letters: n free nodes, m edges between them,
q states, R walkers, K levels.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from spinlearn.kernels.nodes import class_cost, draw_state
from spinlearn.kernels.rng import below, next_bits, next_u64, uniform

AT_A_TIME = 256  # edges: their bonds stay in the nearest cache
PERMUTATIONS = 5  # tries after every sweep under a class term


@njit(cache=True, nogil=True, inline="always")
def root_of(parent, node):
    """The root of a node's tree by path halving; parents never exceed children."""
    i = np.int64(node)
    while True:
        p = np.int64(parent[i])
        if p == i:
            return i
        grand = parent[p]
        parent[i] = grand
        i = np.int64(grand)


@njit(cache=True, nogil=True)
def bond_clusters(state, edge_u, edge_v, thresholds, parent, stream):
    """Draw bonds on edges u < v; on return parent int32 [n] is the smallest node of every cluster.

    `thresholds` are 2^32 times the bond probability. Bonds are drawn without a branch, which costs
    more than a draw, some edges at a time, and then joined. Two edges share a draw.
    """
    n, m = parent.size, edge_u.size
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
            a, b = root_of(parent, edge_u[bonds[k]]), root_of(parent, edge_v[bonds[k]])
            parent[max(a, b)] = min(a, b)
    stream[0], stream[1], stream[2], stream[3] = s0, s1, s2, s3
    for i in range(n):
        parent[i] = parent[parent[i]]  # parents come first, so one pass flattens


@njit(cache=True, nogil=True, inline="always")  # compiled once, not twice
def sum_fields(model):
    """Summed fields of the clusters into rows of model.law, a root's row into law_row or -1."""
    parent, law_row, law = model.parent, model.law_row, model.law
    law_row[:] = -1
    rows = 0
    for i in model.field_nodes:
        root = parent[i]
        row = law_row[root]
        if row < 0:
            row = rows
            law_row[root] = row
            rows += 1
            law[row] = 0.0
        for c in range(law.shape[1]):
            law[row, c] += model.fields[i, c]


# Without class term


@njit(cache=True, nogil=True)
def relabel_clusters(state, model, beta, stream):
    """Draw states of clusters, uniform or from their summed fields; the laws into model.law."""
    has_fields = model.field_nodes.size > 0
    if has_fields:
        sum_fields(model)
    parent, law_row, law = model.parent, model.law_row, model.law
    q = law.shape[1]
    states, spare = uint64(q), uint64(0)
    have = False
    for i in range(parent.size):
        root = parent[i]
        if root != i:
            state[i] = state[root]
            continue
        row = law_row[i] if has_fields else -1
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
        state[i] = np.int8(draw_state(law[row], beta, stream))
        normalize(law[row])


@njit(cache=True, nogil=True)
def normalize(weights):
    total = 0.0
    for c in range(weights.size):
        total += weights[c]
    for c in range(weights.size):
        weights[c] /= total


@njit(cache=True, nogil=True)
def add_laws(model, node_sum, free_sum, edge_sum):
    """Add what the states are given the bonds, float32 [n, q], [n], [m].

    Laws of clusters go to node_sum; without one 1 is added to free_sum, of which 1/q is to be added
    to every state. P(s_u = s_v | bonds) is added without branches but for edges between clusters
    that both have a law: they come after, some at a time.
    """
    parent, law_row, law = model.parent, model.law_row, model.law
    edge_u, edge_v = model.edge_u, model.edge_v
    q = law.shape[1]
    m = edge_u.size
    one = np.float32(1.0)
    for i in range(parent.size):
        row = law_row[parent[i]]
        if row < 0:
            free_sum[i] += one
        else:
            for c in range(q):
                node_sum[i, c] += np.float32(law[row, c])
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
            a, b = key[edge_u[e]], key[edge_v[e]]
            uncertain = (a != b) & (min(a, b) >= 0)
            between[count] = e
            count += uncertain
            edge_sum[e] += certain[(a == b) + 2 * uncertain]
        for k in range(count):
            e = between[k]
            a, b = key[edge_u[e]], key[edge_v[e]]
            chance = 0.0
            for c in range(q):
                chance += law[a, c] * law[b, c]
            edge_sum[e] += np.float32(chance)


@njit(cache=True, nogil=True)
def count_shared(state, model, thresholds, stream, counts, energies):
    """Sweeps of one walker of a model without fields; how often ends of edges share a cluster.

    Else they agree with probability 1/q, so that this is all that C_ij takes. `counts` are uint16
    [m], or [0] to keep the state alone; `energies` takes sum_e J_e [s_u != s_v] after each sweep.
    """
    edge_u, edge_v, parent = model.edge_u, model.edge_v, model.parent
    for sweep in range(energies.size):
        bond_clusters(state, edge_u, edge_v, thresholds, parent, stream)
        relabel_clusters(state, model, 0.0, stream)
        energy = 0.0
        for e in range(counts.size):
            u = edge_u[e]
            v = edge_v[e]
            counts[e] += np.uint16(parent[u] == parent[v])
            energy += model.couplings[e] * (state[u] != state[v])
        energies[sweep] = energy


# Under a term in class sizes


@njit(cache=True, nogil=True, inline="always")  # compiled once, not twice
def class_sizes(state, sizes, volumes):
    """V_c of free nodes int8 [n] and clamped ones, into float64 [q]."""
    for c in range(volumes.size):  # arrays that are assigned whole take two seconds to compile
        volumes[c] = sizes.held_volumes[c]
    for i in range(state.size):
        volumes[state[i]] += sizes.term.sizes[i]


@njit(cache=True, nogil=True, inline="always")
def entry_cost(term, c, volume, size):
    """What a class of the given volume pays for taking in something of the given size."""
    return class_cost(term, c, volume + size, 0.0) - class_cost(term, c, volume, 0.0)


@njit(cache=True, nogil=True, inline="always")  # compiled once, not twice
def relabel_in_turn(state, model, sizes, beta, measured, stream):
    """Every cluster in turn draws its class given the others, in the order of their roots.

    At high T most have one node and no fields: their weights exp(-beta (f_c(V_c + 1) - f_c(V_c)))
    are kept per class. sizes.volumes are updated; if `measured`, sizes.law takes the laws at the
    roots.
    """
    sum_fields(model)
    parent, field_row, field_sums, cost = model.parent, model.law_row, model.law, model.cost
    single, cluster_size, law, volumes = sizes.single, sizes.cluster_size, sizes.law, sizes.volumes
    n, q, term = parent.size, cost.size, sizes.term
    unit = term.sizes[0] if n else 0.0
    base = np.inf
    for c in range(q):
        base = min(base, entry_cost(term, c, volumes[c], unit))
    for c in range(q):
        single[c] = math.exp(-beta * (entry_cost(term, c, volumes[c], unit) - base))
    cluster_size[:] = 0.0
    for i in range(n):
        cluster_size[parent[i]] += term.sizes[i]
    for i in range(n):
        if parent[i] != i:
            state[i] = state[parent[i]]
            continue
        size = cluster_size[i]
        row = field_row[i]
        old = state[i]
        volumes[old] -= size
        single[old] = math.exp(-beta * (entry_cost(term, old, volumes[old], unit) - base))
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
                if measured and new >= 0:
                    for c in range(q):
                        law[i, c] = single[c] / total
        if new < 0:
            for c in range(q):
                cost[c] = entry_cost(term, c, volumes[c], size)
                if row >= 0:
                    cost[c] += field_sums[row, c]
            new = draw_state(cost, beta, stream)
            if measured:
                normalize(cost)  # by now the weights
                for c in range(q):
                    law[i, c] = cost[c]
        volumes[new] += size
        single[new] = math.exp(-beta * (entry_cost(term, new, volumes[new], unit) - base))
        state[i] = np.int8(new)


@njit(cache=True, nogil=True)
def add_laws_in_turn(state, model, law, node_sum, edge_sum):
    """Add P(s_i = c | others) and agreements to float32 [n, q], [m], given the drawn `state`."""
    parent = model.parent
    one = np.float32(1.0)
    for i in range(parent.size):
        root = parent[i]
        for c in range(law.shape[1]):
            node_sum[i, c] += np.float32(law[root, c])
    for e in range(model.edge_u.size):
        a, b = parent[model.edge_u[e]], parent[model.edge_v[e]]
        if a == b:
            edge_sum[e] += one
        else:
            edge_sum[e] += np.float32(law[max(a, b), state[min(a, b)]])


@njit(cache=True, nogil=True, inline="always")  # compiled once, not twice
def permute_classes(state, model, sizes, beta, n_tries, stream):
    """Offer `n_tries` exchanges of two classes on all free nodes; the number accepted."""
    term, held, volumes, fields = sizes.term, sizes.held_volumes, sizes.volumes, model.fields
    q = volumes.size
    accepted = 0
    for _ in range(n_tries):
        a = below(stream, q)
        b = (a + 1 + below(stream, q - 1)) % q
        change = 0.0
        for i in model.field_nodes:
            s = state[i]
            if s == a:
                change += fields[i, b] - fields[i, a]
            elif s == b:
                change += fields[i, a] - fields[i, b]
        new_a = held[a] + volumes[b] - held[b]
        new_b = held[b] + volumes[a] - held[a]
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


# All walkers, each at its own level of a temperature ladder, one after the other


@njit(cache=True, nogil=True)
def sweep_clusters(group, model, sizes, n_sweeps, rows, node_sums, free_sums, edge_sums):
    """`n_sweeps` in each repeat of a `Group` of walkers; the number of permutations accepted.

    After each repeat the improved estimators are added to row `rows` int64 [R] of the sums float32
    [rows, n, q], [rows, n], [rows, m], < 0 for none.
    """
    states, walkers, levels, repeats, betas, thresholds, stream = group
    permuted = 0
    for walker in walkers:
        state = states[walker]
        bonds = thresholds[levels[walker]]
        beta = betas[levels[walker]]
        row = rows[walker]
        if sizes is not None:
            class_sizes(state, sizes, sizes.volumes)
        for sweep in range(n_sweeps * repeats[walker]):
            read = row >= 0 and (sweep + 1) % n_sweeps == 0
            bond_clusters(state, model.edge_u, model.edge_v, bonds, model.parent, stream)
            if sizes is None:
                relabel_clusters(state, model, beta, stream)
                if read:
                    add_laws(model, node_sums[row], free_sums[row], edge_sums[row])
            else:
                relabel_in_turn(state, model, sizes, beta, read, stream)
                if read:
                    add_laws_in_turn(state, model, sizes.law, node_sums[row], edge_sums[row])
                permuted += permute_classes(state, model, sizes, beta, PERMUTATIONS, stream)
    return permuted


@njit(cache=True, nogil=True)
def redraw_classes(states, beta, thresholds, model, sizes, stream):
    """The same for walkers int8 [R, n] at one beta, one sweep under a class term, not measured.

    Smaller, for it is compiled in every fit.
    """
    for walker in range(states.shape[0]):
        state = states[walker]
        class_sizes(state, sizes, sizes.volumes)
        bond_clusters(state, model.edge_u, model.edge_v, thresholds, model.parent, stream)
        relabel_in_turn(state, model, sizes, beta, False, stream)
        permute_classes(state, model, sizes, beta, PERMUTATIONS, stream)


@njit(cache=True, nogil=True)
def exchange_components(state_a, state_b, beta_a, beta_b, model, sizes, counts, stream):
    """Exchange walkers by components, with their class sizes; `counts` adds met, exchanged."""
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
        done, size = 0, 1
        twice = 0.0  # edges inside the component are met from both ends
        if sizes is not None:
            sizes.shift[:] = 0.0
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
            change_a, change_b = gain, -gain
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
    """Component exchanges of pairs `offset` apart in `order`, hottest first, from `low` on."""
    n_places = order.size
    start = below(stream, 2 * offset)
    for base in range(low + start - 2 * offset, n_places - offset, 2 * offset):
        for k in range(max(base, low), min(base + offset, n_places - offset)):
            hot, cold = states[order[k]], states[order[k + offset]]
            if sizes is not None:
                class_sizes(hot, sizes, sizes.volumes)
                class_sizes(cold, sizes, sizes.other_volumes)
            exchange_components(
                hot, cold, betas[k], betas[k + offset], model, sizes, counts[order[k]], stream
            )
