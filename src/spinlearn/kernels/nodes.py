"""Moves of single nodes and of given sets of nodes: every pair cost, every class-level term.

    E(s) = sum_e couplings[e] pair_cost[s_u, s_v] + sum_i fields[i, s_i] + sum_c f_c(V_c, cut_c)

V_c = sum_i sizes[i] [s_i = c] and cut_c, the cut weight that leaves class c, are kept up to date:
a node that goes from x to y, with W its cut weight and t_c that towards class c, changes

    V_x -= size      V_y += size      cut_x -= W - 2 t_x      cut_y += W - 2 t_y

Node moves draw a state given the rest (heat bath), or offer one (Metropolis, annealing). Cluster
flips follow Wolff (1989) with surrogate couplings J >= 0: grow a set of one class over bonds of
probability 1 - exp(-beta J), offer it another class, accept with min(1, exp(-beta (dE - dE_J))),
dE_J the change of the surrogate's cut. Region moves take fixed sets of free nodes that do not
depend on the walkers' states:

*Swaps*, for any energy: two classes change places on a region. A try picks a region, a node of it
at random, its state a and another state b, and exchanges a and b on the whole region. P(a, b) is
proportional to n_a + n_b there, which the exchange leaves as it is, so the proposal is symmetric.
Only edges of the border (one end in the region) and the fields inside change.

*Redraws*, for couplings >= 0: bonds are drawn as in the Swendsen-Wang method, but inside the region
alone. Given these bonds clusters of the region do not act on each other, and what couples them to
the rest are fields: every cluster draws its state from its law, nothing is refused. A blob that
sits beside others in their state leaves them by one draw, where Swendsen-Wang has to wait until no
bond joins them.

Models are `spinlearn.model.kernel_arguments.KernelModel`, or `ClusterModel` where it is said;
regions are where the nodes of each begin, int64 [G + 1], and the nodes, int32. Letters: n nodes,
q states, R walkers, G regions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, below, below_at, mix64, next_u64, uniform, uniform_at

QUADRATIC, RATIO, TABLE = 1, 2, 3


@njit(cache=True, nogil=True)
def _form_cost(form, coefficient, target, smallest, empty, table, c, volume, cut):
    """The same in numbers: compiled once, not at each of the dozen places that ask."""
    value = 0.0
    if form == QUADRATIC:
        off = volume - target
        value = 0.5 * coefficient * off * off
    elif form == RATIO:
        value = coefficient * empty
        if volume > smallest:
            value = coefficient * cut / volume
    elif form == TABLE:
        value = table[c, np.int64(volume + 0.5)]
    return value


@njit(cache=True, nogil=True, inline="always")  # a call would copy the tuple: five times slower
def class_cost(term, c, volume, cut):
    """f_c(V_c, cut_c)."""
    return _form_cost(
        term.form, term.coefficient, term.targets[c], term.smallest, term.empty, term.table, c,
        volume, cut,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def class_totals(state, model, volumes, cuts):
    """V_c and cut_c of a labelling int8 [n], into float64 [q]."""
    sizes, cut_weights = model.term.sizes, model.cut_weights
    volumes[:] = 0.0
    cuts[:] = 0.0
    for i in range(sizes.size):
        volumes[state[i]] += sizes[i]
    if cut_weights.size:
        for i in range(sizes.size):
            for t in range(model.indptr[i], model.indptr[i + 1]):
                if state[model.neighbors[t]] != state[i]:
                    cuts[state[i]] += cut_weights[t]


@njit(cache=True, nogil=True, inline="always")
def move_costs(i, state, model, cost):
    """E with node i in state c minus E as it is, into cost [q]; model.tally takes cut weights."""
    old = state[i]
    q, tally = cost.size, model.tally
    begin, end = model.indptr[i], model.indptr[i + 1]
    for c in range(q):
        cost[c] = model.fields[i, c]
        tally[c] = 0.0
    for t in range(begin, end):
        s = state[model.neighbors[t]]
        weight = model.weights[t]
        if model.potts:
            cost[s] -= weight
        else:
            for c in range(q):
                cost[c] += weight * model.pair_cost[s, c]
    if model.term.form != 0:
        volumes, cuts = model.volumes, model.cuts
        reach = 0.0
        if model.cut_weights.size:
            for t in range(begin, end):
                tally[state[model.neighbors[t]]] += model.cut_weights[t]
                reach += model.cut_weights[t]
        size = model.term.sizes[i]
        cut = cuts[old] - reach + 2.0 * tally[old]
        gain = class_cost(model.term, old, volumes[old] - size, cut)
        gain -= class_cost(model.term, old, volumes[old], cuts[old])
        for c in range(q):
            if c != old:
                cut = cuts[c] + reach - 2.0 * tally[c]
                entered = class_cost(model.term, c, volumes[c] + size, cut)
                cost[c] += gain + entered - class_cost(model.term, c, volumes[c], cuts[c])
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


@njit(cache=True, nogil=True, inline="always")  # compiled once, not twice
def node_sweep(state, model, beta, stream):
    """Every free node in turn draws its state given the rest."""
    sizes, tally = model.term.sizes, model.tally
    for k in range(model.free.size):
        i = model.free[k]
        move_costs(i, state, model, model.cost)
        old = np.int64(state[i])
        new = draw_state(model.cost, beta, stream)
        if new == old:
            continue
        state[i] = np.int8(new)
        if model.term.form != 0:
            model.volumes[old] -= sizes[i]
            model.volumes[new] += sizes[i]
            if model.cut_weights.size:
                reach = 0.0
                for c in range(tally.size):
                    reach += tally[c]
                model.cuts[old] -= reach - 2.0 * tally[old]
                model.cuts[new] += reach - 2.0 * tally[new]


# Moves of sets


@njit(cache=True, nogil=True)
def exchange_change(state, nodes, model, bonds, a, b):
    """What exchanging a and b on marked nodes changes: dE, surrogate, volume of a to b, both cuts.

    `bonds` are the surrogate couplings in CSR order if the set was grown over them, else [0].
    """
    change = surrogate = volume = cut_a = cut_b = 0.0
    mark, held, indptr, neighbors = model.mark, model.held, model.indptr, model.neighbors
    fields, pair_cost, weights = model.fields, model.pair_cost, model.weights
    cut_weights, sizes = model.cut_weights, model.term.sizes
    grown = bonds.size > 0
    inner = 0.5 * (pair_cost[b, b] - pair_cost[a, a])
    for k in range(nodes.size):
        i = nodes[k]
        if not mark[i]:
            continue
        x = np.int64(state[i])
        y = a + b - x
        change += fields[i, y] - fields[i, x]
        if model.term.form != 0:
            volume += sizes[i] if x == a else -sizes[i]
        for t in range(indptr[i], indptr[i + 1]):
            j = neighbors[t]
            s = np.int64(state[j])
            if mark[j]:  # inner edges are met twice
                if grown:
                    change += weights[t] * inner
                else:
                    change += 0.5 * weights[t] * (pair_cost[y, a + b - s] - pair_cost[x, s])
                continue
            change += weights[t] * (pair_cost[y, s] - pair_cost[x, s])
            if grown and not held[j]:
                if s == x:
                    surrogate += bonds[t]
                elif s == y:
                    surrogate -= bonds[t]
            if cut_weights.size:
                w = cut_weights[t]
                other = s != a and s != b
                cut_a += w if s == x or (other and x == b) else -w
                cut_b += w if s == x or (other and x == a) else -w
    if model.term.form != 0:
        volumes, cuts = model.volumes, model.cuts
        change += class_cost(model.term, a, volumes[a] - volume, cuts[a] + cut_a)
        change -= class_cost(model.term, a, volumes[a], cuts[a])
        change += class_cost(model.term, b, volumes[b] + volume, cuts[b] + cut_b)
        change -= class_cost(model.term, b, volumes[b], cuts[b])
    return change, surrogate, volume, cut_a, cut_b


@njit(cache=True, nogil=True)
def end_exchange(state, nodes, model, a, b, accepted, volume, cut_a, cut_b):
    """Take the marks away, and exchange the classes where that was accepted."""
    for k in range(nodes.size):
        i = nodes[k]
        if accepted and model.mark[i]:
            state[i] = np.int8(a + b - state[i])
        model.mark[i] = False
    if accepted:
        model.volumes[a] -= volume
        model.volumes[b] += volume
        model.cuts[a] += cut_a
        model.cuts[b] += cut_b


@njit(cache=True, nogil=True)
def cluster_flip(state, model, beta, stream):
    """One Wolff flip with correction; true if it was accepted."""
    queue, mark, held, bonds = model.queue, model.mark, model.held, model.bond_weights
    indptr, neighbors = model.indptr, model.neighbors
    first = model.free[below(stream, model.free.size)]
    a = np.int64(state[first])
    b = (a + 1 + below(stream, model.cost.size - 1)) % model.cost.size
    mark[first] = True
    queue[0] = first
    size, done = 1, 0
    while done < size:
        i = queue[done]
        done += 1
        for t in range(indptr[i], indptr[i + 1]):
            j = neighbors[t]
            if (
                state[j] == a
                and not mark[j]
                and not held[j]
                and uniform(stream) < -math.expm1(-beta * bonds[t])
            ):
                mark[j] = True
                queue[size] = j
                size += 1
    nodes = queue[:size]
    change, surrogate, volume, cut_a, cut_b = exchange_change(state, nodes, model, bonds, a, b)
    exponent = -beta * (change - surrogate)
    accepted = exponent >= 0.0 or uniform(stream) < math.exp(exponent)
    end_exchange(state, nodes, model, a, b, accepted, volume, cut_a, cut_b)
    return accepted


@njit(cache=True, nogil=True)
def region_swap(state, nodes, model, beta, stream):
    """Offer to exchange two classes on `nodes`, that of a random one and another; if accepted."""
    q = model.cost.size
    a = np.int64(state[nodes[below(stream, nodes.size)]])
    b = (a + 1 + below(stream, q - 1)) % q
    for k in range(nodes.size):
        s = state[nodes[k]]
        model.mark[nodes[k]] = s in (a, b)
    none = model.bond_weights[:0]
    change, _, volume, cut_a, cut_b = exchange_change(state, nodes, model, none, a, b)
    accepted = change <= 0.0 or uniform(stream) < math.exp(-beta * change)
    end_exchange(state, nodes, model, a, b, accepted, volume, cut_a, cut_b)
    return accepted


# All walkers, one after the other


@njit(cache=True, nogil=True)
def sweep_walkers(states, betas, model, stream, n_sweeps, n_flips):
    """Sweeps of every walker int8 [R, n] at its beta: all nodes, then `n_flips` cluster flips."""
    for walker in range(states.shape[0]):
        state = states[walker]
        # Afresh in every call, so that rounding errors of the running sums cannot pile up.
        if model.term.form != 0:
            class_totals(state, model, model.volumes, model.cuts)
        for _ in range(n_sweeps):
            node_sweep(state, model, betas[walker], stream)
            if model.free.size:
                for _flip in range(n_flips):
                    cluster_flip(state, model, betas[walker], stream)


@njit(cache=True, nogil=True)
def heat_bath(states, betas, model, stream):
    """The same with one sweep of nodes and no flips: smaller, for it is compiled in every fit."""
    for walker in range(states.shape[0]):
        state = states[walker]
        if model.term.form != 0:
            class_totals(state, model, model.volumes, model.cuts)
        node_sweep(state, model, betas[walker], stream)


@njit(cache=True, nogil=True)
def swap_regions(states, betas, regions, model, stream, n_tries, accepted_count):
    """Swaps of every walker, each with regions of its own draw; counts what is accepted [G]."""
    ptr, nodes = regions
    for walker in range(states.shape[0]):
        state = states[walker]
        if model.term.form != 0:
            class_totals(state, model, model.volumes, model.cuts)
        for _ in range(n_tries):
            g = below(stream, ptr.size - 1)
            region = nodes[ptr[g] : ptr[g + 1]]
            accepted_count[g] += region_swap(state, region, model, betas[walker], stream)


@njit(cache=True, nogil=True)
def energies_of(states, model):
    """E of every walker int8 [R, n], float64 [R], by the arithmetic of the moves."""
    energies = np.empty(states.shape[0])
    for walker in range(states.shape[0]):
        state = states[walker]
        energy = 0.0
        for i in range(model.indptr.size - 1):
            s = state[i]
            energy += model.fields[i, s]
            for t in range(model.indptr[i], model.indptr[i + 1]):
                j = model.neighbors[t]
                if j > i:
                    energy += model.weights[t] * model.pair_cost[s, state[j]]
        if model.term.form != 0:
            class_totals(state, model, model.volumes, model.cuts)
            for c in range(model.volumes.size):
                energy += class_cost(model.term, c, model.volumes[c], model.cuts[c])
        energies[walker] = energy
    return energies


# Offers of single nodes, for models without class term


@njit(cache=True, nogil=True, inline="always")
def offer_change(i, new, state, model):
    """E with node i in state `new` minus E as it is, without class term."""
    old = state[i]
    change = model.fields[i, new] - model.fields[i, old]
    for t in range(model.indptr[i], model.indptr[i + 1]):
        s = state[model.neighbors[t]]
        change += model.weights[t] * (model.pair_cost[s, new] - model.pair_cost[s, old])
    return change


@njit(cache=True, nogil=True)
def metropolis_sweeps(states, walkers, betas, model, stream, n_sweeps):
    """Every node of a `ClusterModel` in turn is offered a state, the same chance for each.

    Its own is among them: without, free spins of q = 2 would flip at every visit, for ever.
    """
    q = model.fields.shape[1]
    for walker in walkers:
        state = states[walker]
        beta = betas[walker]
        for _ in range(n_sweeps):
            for i in range(model.indptr.size - 1):
                new = np.int8(below(stream, q))
                if new == state[i]:
                    continue
                change = offer_change(i, new, state, model)
                if change <= 0.0 or uniform(stream) < math.exp(-beta * change):
                    state[i] = new


@njit(cache=True, nogil=True)
def anneal(temperatures, model, states, best, stream):
    """One sweep at every temperature > 0; how far `best`, first the start, lies below it."""
    q = model.pair_cost.shape[0]
    counter = stream[0]
    energy = 0.0  # of `states`, counted from the start
    lowest = 0.0
    for t in range(temperatures.size):
        beta = 1.0 / temperatures[t]
        for k in range(model.free.size):
            i = model.free[k]
            counter += GOLDEN
            bits = mix64(counter)
            shift = ((bits >> np.uint64(32)) * np.uint64(q - 1)) >> np.uint64(32)
            new = np.int8((states[i] + 1 + np.int64(shift)) % q)
            change = offer_change(i, new, states, model)
            draw = (np.float64(bits & np.uint64(0xFFFFFFFF)) + 0.5) * 2.0**-32
            if change <= 0.0 or draw < np.exp(-beta * change):
                states[i] = new
                energy += change
        if energy < lowest:
            lowest = energy
            for i in range(states.size):  # to assign it whole takes two seconds to compile
                best[i] = states[i]
    stream[0] = counter
    return lowest


@njit(cache=True, nogil=True)
def descend(model, threshold, max_sweeps, states):
    """Put every node into its best state until none gains more than `threshold`; sweeps made."""
    for sweep in range(max_sweeps):
        idle = True
        for k in range(model.free.size):
            i = model.free[k]
            lowest = -threshold
            favourite = states[i]
            for new in range(model.pair_cost.shape[0]):
                if new != states[i]:
                    change = offer_change(i, new, states, model)
                    if change < lowest:
                        lowest = change
                        favourite = np.int8(new)
            if favourite != states[i]:
                states[i] = favourite
                idle = False
        if idle:
            return sweep + 1
    return max_sweeps


OUTSIDE, INSIDE, CLUSTERED = 0, 1, 2


@njit(cache=True, nogil=True)
def swap_on_regions(states, q, regions, fields, betas, n_tries, accepted_count, stream):
    """Swaps without class term, of every walker's own draw of regions.

    `regions` has the edges of borders too (node inside, node outside), with their couplings.
    """
    ptr, nodes, border_ptr, borders, border_couplings = regions
    has_fields = fields.shape[0] > 0
    counter = stream[16]
    for walker in range(states.shape[0]):
        state = states[walker]
        for _ in range(n_tries):
            counter += GOLDEN
            region = below_at(counter, ptr.size - 1)
            begin, end = ptr[region], ptr[region + 1]
            counter += GOLDEN
            a = state[nodes[begin + below_at(counter, end - begin)]]
            counter += GOLDEN
            b = np.int8((a + 1 + below_at(counter, q - 1)) % q)
            change = 0.0
            for edge in range(border_ptr[region], border_ptr[region + 1]):
                inside = state[borders[edge, 0]]
                if inside in (a, b):
                    outside = state[borders[edge, 1]]
                    if outside == inside:
                        change += border_couplings[edge]
                    elif outside in (a, b):
                        change -= border_couplings[edge]
            if has_fields:
                for i in nodes[begin:end]:
                    s = state[i]
                    if s == a:
                        change += fields[i, b] - fields[i, a]
                    elif s == b:
                        change += fields[i, a] - fields[i, b]
            counter += GOLDEN
            uniform = uniform_at(counter)
            if change <= 0.0 or uniform < np.exp(-betas[walker] * change):
                accepted_count[region] += 1
                for i in nodes[begin:end]:
                    if state[i] in (a, b):
                        state[i] = a + b - state[i]
    stream[16] = counter


@njit(cache=True, nogil=True)
def redraw_regions(group, model, regions, n_tries, changed):
    """Redraw random regions of a `Group` of walkers, `n_tries` in each repeat of a walker.

    `changed` int64 [G] adds redraws in which a cluster of more than half of it changed its state.
    """
    states, walkers, levels, repeats, betas, thresholds, stream = group
    ptr, nodes = regions
    indptr, neighbors, place, queue, law = (
        model.indptr, model.neighbors, model.place, model.parent, model.cost,
    )  # fmt: skip
    for walker in walkers:
        state = states[walker]
        beta = betas[levels[walker]]
        bonds = thresholds[levels[walker]]
        for _ in range(n_tries * repeats[walker]):
            region = below(stream, ptr.size - 1)
            begin, end = ptr[region], ptr[region + 1]
            for at in range(begin, end):
                place[nodes[at]] = INSIDE
            for first in nodes[begin:end]:
                if place[first] != INSIDE:
                    continue
                old = state[first]
                law[:] = 0.0
                place[first] = CLUSTERED
                queue[0] = first
                done, size = 0, 1
                while done < size:
                    i = queue[done]
                    done += 1
                    for c in range(law.size):
                        law[c] += model.fields[i, c]
                    for k in range(indptr[i], indptr[i + 1]):
                        j = neighbors[k]
                        if place[j] == OUTSIDE:
                            law[state[j]] -= model.weights[k]
                        elif (
                            place[j] == INSIDE
                            and state[j] == old
                            and np.uint32(next_u64(stream)) < bonds[model.edge_ids[k]]
                        ):
                            place[j] = CLUSTERED
                            queue[size] = j
                            size += 1
                new = np.int8(draw_state(law, beta, stream))
                if new != old:
                    changed[region] += 2 * size > end - begin
                    for k in range(size):
                        state[queue[k]] = new
            for at in range(begin, end):
                place[nodes[at]] = OUTSIDE
