"""Moves of one walker of any model: every pair cost, every class-level term.

    E(s) = sum_e couplings[e] pair_cost[s_u, s_v] + sum_i fields[i, s_i] + sum_c f_c(V_c, cut_c)

V_c = sum_i sizes[i] [s_i = c] and cut_c, the cut weight that leaves class c, are kept up to date:
a node that goes from x to y, with W its cut weight and t_c that towards class c, changes

    V_x -= size      V_y += size      cut_x -= W - 2 t_x      cut_y += W - 2 t_y

Node moves draw a state given the rest (heat bath). Cluster flips follow Wolff (1989) with surrogate
couplings J >= 0: grow a set of one class over bonds of probability 1 - exp(-beta J), offer it
another class, accept with min(1, exp(-beta (dE - dE_J))), dE_J the change of the surrogate's cut.
Region moves exchange two classes on a given set of nodes. All are valid for every class term
(`spinlearn.kernels.class_term`).

Letters: n nodes, q states.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spinlearn.kernels.class_term import class_cost
from spinlearn.kernels.rng import below, uniform


@njit(cache=True, nogil=True)
def move_costs(
    i,
    state,
    indptr,
    neighbors,
    weights,
    cut_weights,
    pair_cost,
    potts,
    fields,
    term,
    volumes,
    cuts,
    tally,
    cost,
):
    """E with node i in state c minus E as it is, into cost float64 [q].

    Parameters
    ----------
    weights, cut_weights : float64 in CSR order (cut_weights [0] unless the term is a ratio)
    potts : whether pair_cost is 1 - identity
    tally : float64 [q], overwritten: cut weight towards every class
    """
    old = state[i]
    q = cost.size
    for c in range(q):
        cost[c] = fields[i, c]
        tally[c] = 0.0
    for t in range(indptr[i], indptr[i + 1]):
        s = state[neighbors[t]]
        if potts:
            cost[s] -= weights[t]
        else:
            for c in range(q):
                cost[c] += weights[t] * pair_cost[s, c]
    if term[0] != 0:
        reach = 0.0
        if cut_weights.size:
            for t in range(indptr[i], indptr[i + 1]):
                tally[state[neighbors[t]]] += cut_weights[t]
                reach += cut_weights[t]
        size = term[1][i]
        left = class_cost(term, old, volumes[old] - size, cuts[old] - reach + 2.0 * tally[old])
        gain = left - class_cost(term, old, volumes[old], cuts[old])
        for c in range(q):
            if c != old:
                entered = class_cost(term, c, volumes[c] + size, cuts[c] + reach - 2.0 * tally[c])
                cost[c] += gain + entered - class_cost(term, c, volumes[c], cuts[c])
    base = cost[old]
    for c in range(q):
        cost[c] -= base


@njit(cache=True, nogil=True)
def draw_state(cost, beta, stream):
    """A state from exp(-beta cost); cost float64 [q] is overwritten by the weights."""
    q = cost.size
    least = cost[0]
    for c in range(1, q):
        least = min(least, cost[c])
    total = 0.0
    for c in range(q):
        cost[c] = math.exp(-beta * (cost[c] - least))
        total += cost[c]
    target = uniform(stream) * total
    for c in range(q):
        target -= cost[c]
        if target < 0.0:
            return c
    chosen = q - 1  # rounding at the upper end: the last state of positive weight
    while cost[chosen] == 0.0:
        chosen -= 1
    return chosen


@njit(cache=True, nogil=True)
def node_sweep(
    state,
    free,
    indptr,
    neighbors,
    weights,
    cut_weights,
    pair_cost,
    potts,
    fields,
    beta,
    term,
    volumes,
    cuts,
    tally,
    cost,
    stream,
):
    """Every free node in turn draws its state given the rest; arguments as in `move_costs`."""
    sizes = term[1]
    for k in range(free.size):
        i = free[k]
        move_costs(
            i,
            state,
            indptr,
            neighbors,
            weights,
            cut_weights,
            pair_cost,
            potts,
            fields,
            term,
            volumes,
            cuts,
            tally,
            cost,
        )
        old = np.int64(state[i])
        new = draw_state(cost, beta, stream)
        if new == old:
            continue
        state[i] = np.int8(new)
        if term[0] != 0:
            volumes[old] -= sizes[i]
            volumes[new] += sizes[i]
            if cut_weights.size:
                reach = 0.0
                for c in range(tally.size):
                    reach += tally[c]
                cuts[old] -= reach - 2.0 * tally[old]
                cuts[new] += reach - 2.0 * tally[new]


@njit(cache=True, nogil=True)
def cluster_flip(
    state,
    free,
    held,
    indptr,
    neighbors,
    weights,
    cut_weights,
    bond_weights,
    pair_cost,
    fields,
    beta,
    term,
    volumes,
    cuts,
    mark,
    queue,
    stream,
):
    """One Wolff flip with correction; true if it was accepted.

    Parameters
    ----------
    held : bool [n], clamped nodes, which never join
    bond_weights : float64 in CSR order, surrogate couplings >= 0
    mark : bool [n], all false, and again on return; queue : int32 [n], scratch
    """
    q = volumes.size
    first = free[below(stream, free.size)]
    a = np.int64(state[first])
    b = (a + 1 + below(stream, q - 1)) % q
    mark[first] = True
    queue[0] = first
    size = 1
    done = 0
    while done < size:
        i = queue[done]
        done += 1
        for t in range(indptr[i], indptr[i + 1]):
            j = neighbors[t]
            if (
                state[j] == a
                and not mark[j]
                and not held[j]
                and uniform(stream) < -math.expm1(-beta * bond_weights[t])
            ):
                mark[j] = True
                queue[size] = j
                size += 1
    change = 0.0
    surrogate = 0.0
    volume = 0.0
    cut_a = 0.0
    cut_b = 0.0
    sizes = term[1]
    inner = 0.5 * (pair_cost[b, b] - pair_cost[a, a])  # every inner edge is met twice
    for k in range(size):
        i = queue[k]
        change += fields[i, b] - fields[i, a]
        if term[0] != 0:
            volume += sizes[i]
        for t in range(indptr[i], indptr[i + 1]):
            j = neighbors[t]
            if mark[j]:
                change += weights[t] * inner
                continue
            s = state[j]
            change += weights[t] * (pair_cost[s, b] - pair_cost[s, a])
            if not held[j]:
                if s == a:
                    surrogate += bond_weights[t]
                elif s == b:
                    surrogate -= bond_weights[t]
            if cut_weights.size:
                if s == a:
                    cut_a += cut_weights[t]
                    cut_b += cut_weights[t]
                elif s == b:
                    cut_a -= cut_weights[t]
                    cut_b -= cut_weights[t]
                else:
                    cut_a -= cut_weights[t]
                    cut_b += cut_weights[t]
    if term[0] != 0:
        change += class_cost(term, a, volumes[a] - volume, cuts[a] + cut_a)
        change -= class_cost(term, a, volumes[a], cuts[a])
        change += class_cost(term, b, volumes[b] + volume, cuts[b] + cut_b)
        change -= class_cost(term, b, volumes[b], cuts[b])
    exponent = -beta * (change - surrogate)
    accepted = exponent >= 0.0 or uniform(stream) < math.exp(exponent)
    for k in range(size):
        mark[queue[k]] = False
        if accepted:
            state[queue[k]] = np.int8(b)
    if accepted:
        volumes[a] -= volume
        volumes[b] += volume
        cuts[a] += cut_a
        cuts[b] += cut_b
    return accepted


@njit(cache=True, nogil=True)
def region_swap(
    state,
    nodes,
    indptr,
    neighbors,
    weights,
    cut_weights,
    pair_cost,
    fields,
    beta,
    term,
    volumes,
    cuts,
    mark,
    stream,
):
    """Offer to exchange two classes on a set of free nodes; true if accepted.

    Parameters
    ----------
    nodes : int32, the region; the classes are those of a random node of it and another one, which
        makes (a, b) as likely as (b, a) after the exchange
    mark : bool [n], all false, and again on return
    """
    q = volumes.size
    a = np.int64(state[nodes[below(stream, nodes.size)]])
    b = (a + 1 + below(stream, q - 1)) % q
    for k in range(nodes.size):
        s = state[nodes[k]]
        mark[nodes[k]] = s in (a, b)
    change = 0.0
    volume = 0.0  # that class a loses to b
    cut_a = 0.0
    cut_b = 0.0
    sizes = term[1]
    for k in range(nodes.size):
        i = nodes[k]
        if not mark[i]:
            continue
        x = np.int64(state[i])
        y = a + b - x
        change += fields[i, y] - fields[i, x]
        if term[0] != 0:
            volume += sizes[i] if x == a else -sizes[i]
        for t in range(indptr[i], indptr[i + 1]):
            j = neighbors[t]
            s = np.int64(state[j])
            if mark[j]:
                change += 0.5 * weights[t] * (pair_cost[y, a + b - s] - pair_cost[x, s])
                continue
            change += weights[t] * (pair_cost[y, s] - pair_cost[x, s])
            if cut_weights.size:
                w = cut_weights[t]
                if s == x:
                    cut_a += w
                    cut_b += w
                elif s == y:
                    cut_a -= w
                    cut_b -= w
                elif x == a:
                    cut_a -= w
                    cut_b += w
                else:
                    cut_a += w
                    cut_b -= w
    if term[0] != 0:
        change += class_cost(term, a, volumes[a] - volume, cuts[a] + cut_a)
        change -= class_cost(term, a, volumes[a], cuts[a])
        change += class_cost(term, b, volumes[b] + volume, cuts[b] + cut_b)
        change -= class_cost(term, b, volumes[b], cuts[b])
    accepted = change <= 0.0 or uniform(stream) < math.exp(-beta * change)
    for k in range(nodes.size):
        i = nodes[k]
        if mark[i] and accepted:
            state[i] = np.int8(a + b - state[i])
        mark[i] = False
    if accepted:
        volumes[a] -= volume
        volumes[b] += volume
        cuts[a] += cut_a
        cuts[b] += cut_b
    return accepted
