"""Sweeps of messages: Potts, tables, regions.

*Potts*, a node and all its messages at a time. A message into node i from its k-th neighbour is a
row m_k(s) in [w, 1], w = exp(-|J|/T):

    h_k(s) ~ phi_i(s) prod_{l != k} m_l(s)          the cavity law of i without that neighbour
    m(s)   = w + (1 - w) h_k(s)         for J >= 0: what goes back to it
    m(s)   = w h_k(s) + sum_{s' != s} h_k(s')       for J < 0

All terms are positive, so that small entries are right too. `unlike` is w for J >= 0 and 1 for
J < 0, `slope` is 1 - w for J >= 0 and -w for J < 0.

phi_i(s) = exp(-(field_i(s) + class field)/T). The messages into a node are consecutive rows;
`reverse` names the row of the opposite direction. States fill the lanes of a vector; lanes beyond
the last state have an infinite field. Products of messages cannot underflow where the summed |J|/T
and fields/T of a node are below some 600; the other nodes ("heavy") are done in logarithms.

The class term (c/2) sum_s (V_s - t_s)^2 acts as a field that follows the sweep, with V_s the sizes
expected from the beliefs of all nodes but i itself: c a_i (V_s - a_i p_i(s) - t_s).

*Tables*, for any pair cost at any temperature, zero included. A message is kept as two numbers a
state, m(s) = exp(l(s) - e(s)/T), the energy e apart from the logarithm l of a count, so that at
T = 0 minima and the number of ways to reach them are both exact:

    H_k(s) = phi_i(s) prod_{l != k} m_l(s)              of node i without its k-th neighbour
    m(s)   = sum_{s'} exp(-J cost(s', s)/T) H_k(s')     what goes to that neighbour

Energies that differ by less than `resolution` count as equal. The smallest energy of a message is
0, and the largest l among the states that have it. Slots and the class term as a field as above.

*Regions* of a graph that overlap, by sweeps over their intersections. Parents a are the regions of
the approximation, children b their intersections, with counting numbers 1 for parents, c_b for
children. A belief is a table over the states of its region:

    ln Q_a(x) = -beta * energy_a(x) + sum_{b in a} multiplier_ab(x_b) + const

Children are visited one after the other. With n_b parents, mu_ab the law that parent a gives to the
states of b, and r_b the part of c_b that is held at an earlier law Q_b^old (see below),

    ln Q_b = [ sum_a (ln mu_ab - multiplier_ab) + r_b ln Q_b^old ] / (n_b + c_b + r_b) + const
    multiplier_ab += ln Q_b - ln mu_ab,        Q_a *= Q_b / mu_ab

after which all parents agree on b. Where nothing changes any more, the beliefs are a stationary
point of the Kikuchi free energy (Heskes, Albers & Kappen 2003, section 4). With Q_b^old held during
several sweeps and r_b = max(-c_b, 0), a sweep ascends the dual of a convex bound of that free
energy, and renewing Q_b^old lowers the bound: the double loop that cannot but converge.

A table is held as plain probabilities where temperature allows it, else as logarithms (`cold`).
Child states are found from parent states by maps shared by all pairs with the same places.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spinlearn.kernels.simd import (
    exp,
    f32x8_to_i32x8,
    fetch_line,
    fetch_row,
    i32x8_to_f32x8,
    i32x8_to_i16x8,
    lane_max,
    lane_sum,
    larger,
    live_lanes,
    load_f32x8,
    load_i16_i32x8,
    log,
    other_lanes_sum,
    packed_row,
    row_of,
    set_packed_row,
    set_row,
    store,
)


@njit(cache=True, nogil=True)
def node_field(lanes, i, beta, fields, coefficient, sizes, targets, volumes, beliefs):
    """-(field_i + class field)/T, its largest lane shifted to 0, with that shift."""
    cost = row_of(lanes, fields, i)
    if coefficient != 0.0:
        a = sizes[i]
        others = row_of(lanes, volumes, 0) - row_of(lanes, beliefs, i) * a
        cost = cost + (others - row_of(lanes, targets, 0)) * (coefficient * a)
    exponent = cost * -beta
    top = lane_max(exponent)
    return exponent - top, top


@njit(cache=True, nogil=True)
def _send(lanes, columns, cavity, unlike, slope, messages, row, damping):
    """Replace a message by that of a cavity law, up to a factor; how far its entries moved."""
    old, total = packed_row(lanes, columns, messages, row), lane_sum(cavity)
    if slope >= 0.0:
        new = cavity * (slope / total) + unlike
    else:
        new = (other_lanes_sum(cavity) - cavity * slope) * (1.0 / total)
    new = new + (old - new) * damping
    set_packed_row(columns, messages, row, new)
    change = (new - old) * live_lanes(lanes, columns)
    return new, larger(change, change * -1.0)


@njit(cache=True, nogil=True)
def sweep_potts(
    lanes, columns, forth, beta, tol, indptr, neighbors, reverse, unlike, slope, heavy, fields,
    coefficient, sizes, targets, volumes, messages, beliefs, work, damping, pending, threshold,
    movement,
):  # fmt: skip
    """Update all nodes in their order, or backwards; see the module's docstring.

    The lengths of `lanes` and `columns` are the number of lanes and of those that a message takes
    in memory. `unlike` and `slope` (slots,) are of the message that leaves by a slot, `work`
    (largest degree + 1, lanes) is scratch, `damping` the share of the old message that is kept.
    `pending` (n,) holds the largest change of a message into a node since its last update; nodes
    with less than `threshold` are passed over, below 0 none, and it is not kept. `movement` is set
    to the largest change of a message, and that less `tol` of it.
    """
    zero = row_of(lanes, targets, 0) * 0.0
    moved, excess = zero, zero - 1.0
    tracked = threshold >= 0.0
    n = len(indptr) - 1
    step = 1 if forth else -1
    for at in range(n):
        i = at if forth else n - 1 - at
        if tracked:
            if pending[i] < threshold:
                continue
            pending[i] = 0.0
        begin, end = indptr[i], indptr[i + 1]
        if at + 1 < n:  # the rows that the next node will write to lie anywhere
            for k in range(indptr[i + step], indptr[i + step + 1]):
                fetch_row(columns, messages, reverse[k])
        exponent, _ = node_field(
            lanes, i, beta, fields, coefficient, sizes, targets, volumes, beliefs
        )
        total, backward, logarithmic = exponent, zero + 1.0, heavy[i]
        if logarithmic:
            for k in range(begin, end):
                logarithm = log(1.0 / packed_row(lanes, columns, messages, k))  # -ln m, m <= 1
                set_row(work, k - begin, logarithm)
                total = total - logarithm
            belief = exp(total - lane_max(total))
        else:
            belief = exp(exponent)
            for k in range(begin, end):
                set_row(work, k - begin, belief)
                belief = belief * packed_row(lanes, columns, messages, k)
        for k in range(end - 1, begin - 1, -1):
            if logarithmic:
                cavity = total + row_of(lanes, work, k - begin)
                cavity = exp(cavity - lane_max(cavity))
            else:
                cavity = row_of(lanes, work, k - begin) * backward
                backward = backward * packed_row(lanes, columns, messages, k)
            new, change = _send(
                lanes, columns, cavity, unlike[k], slope[k], messages, reverse[k], damping
            )
            moved, excess = larger(moved, change), larger(excess, change - new * tol)
            if tracked:
                pending[neighbors[k]] = max(pending[neighbors[k]], lane_max(change))
        belief = belief * (1.0 / lane_sum(belief))
        if coefficient != 0.0:
            gain = (belief - row_of(lanes, beliefs, i)) * sizes[i]
            set_row(volumes, 0, row_of(lanes, volumes, 0) + gain)
        set_row(beliefs, i, belief)
    movement[0] = lane_max(moved)
    movement[1] = lane_max(excess)


CODES = 65535.0  # steps of a law h that is kept in 16 bits


@njit(cache=True, nogil=True)
def _of_code(messages, row, step, unlike):
    """m = w + (1 - w) h of eight models, never below w, `unlike`; `step` is (1 - w) / CODES."""
    return i32x8_to_f32x8(load_i16_i32x8(messages, 8 * row)) * step + unlike


@njit(cache=True, nogil=True)
def sweep_replicas(
    lanes, forth, beta, indptr, neighbors, reverse, unlike, heavy, fields, coefficients, sizes,
    targets, volumes, messages, beliefs, work, logs, damping, pending, threshold,
):  # fmt: skip
    """Update all nodes of several models on one graph, side by side; see `sweep_potts`.

    The lanes of a row are the models, and a state of a node or a message takes a row: number
    i q + s, or k q + s. Of a message the law h(s) is kept, in 16 bits: a sweep waits for memory
    more than for numbers. `coefficients` (1, lanes), `sizes` (n, lanes), `targets` and `volumes`
    (q, lanes) are of the class terms; `work` (q (largest degree + 4), lanes) and `logs`
    (2 q, lanes) are scratch. Couplings are >= 0 and all temperatures the same. Beliefs and `work`
    are float32, eight lanes a row, and messages are multiplied as such but in `heavy` nodes.
    Returns the largest change of a message and the number of nodes that were visited.
    """
    coefficient = row_of(lanes, coefficients, 0)
    zero = load_f32x8(beliefs, 0) * 0.0
    moved = zero
    q, n, visited = len(targets), len(indptr) - 1, 0
    running, backward, cavity = len(work) - 4 * q, len(work) - 3 * q, len(work) - 2 * q
    message = len(work) - q
    step = 1 if forth else -1
    for at in range(n):
        i = at if forth else n - 1 - at
        if pending[i] < threshold:
            continue
        pending[i] = 0.0
        visited += 1
        begin, end = indptr[i], indptr[i + 1]
        if at + 1 < n and pending[i + step] >= threshold:
            for k in range(indptr[i + step], indptr[i + step + 1]):
                for line in range(reverse[k] * q // 4, (reverse[k] * q + q - 1) // 4 + 1):
                    fetch_line(messages, 64 * line)
        a = row_of(lanes, sizes, i)
        top = coefficient * 0.0 - math.inf
        for s in range(q):
            others = row_of(lanes, volumes, s) - row_of(lanes, beliefs, i * q + s) * a
            null = (others - row_of(lanes, targets, s)) * coefficient * a
            exponent = (row_of(lanes, fields, i * q + s) + null) * -beta
            if heavy[i]:
                for k in range(begin, end):  # -ln m, m <= 1
                    share = (1.0 - unlike[k]) / CODES
                    store(work, 8 * message, _of_code(messages, k * q + s, share, unlike[k]))
                    exponent = exponent - log(1.0 / row_of(lanes, work, message))
            set_row(logs, s, exponent)
            top = larger(top, exponent)
        for s in range(q):
            set_row(work, running + s, exp(row_of(lanes, logs, s) - top))
            store(work, 8 * (backward + s), zero + 1.0)
        if not heavy[i]:
            for k in range(begin, end):
                share = (1.0 - unlike[k]) / CODES
                for s in range(q):
                    law = load_f32x8(work, 8 * (running + s))
                    store(work, 8 * ((k - begin) * q + s), law)
                    law = law * _of_code(messages, k * q + s, share, unlike[k])
                    store(work, 8 * (running + s), law)
        total = zero
        for s in range(q):
            total = total + load_f32x8(work, 8 * (running + s))
        norm = 1.0 / total
        for s in range(q):
            store(work, 8 * (running + s), load_f32x8(work, 8 * (running + s)) * norm)
            belief = row_of(lanes, work, running + s)
            gain = (belief - row_of(lanes, beliefs, i * q + s)) * a
            set_row(volumes, s, row_of(lanes, volumes, s) + gain)
            set_row(beliefs, i * q + s, belief)
        for k in range(end - 1, begin - 1, -1):
            total = zero
            share = (1.0 - unlike[k]) / CODES
            for s in range(q):
                if heavy[i]:
                    store(work, 8 * (message + s), _of_code(messages, k * q + s, share, unlike[k]))
                    continue
                other = load_f32x8(work, 8 * (backward + s))
                law = load_f32x8(work, 8 * ((k - begin) * q + s)) * other
                store(work, 8 * (cavity + s), law)
                other = other * _of_code(messages, k * q + s, share, unlike[k])
                store(work, 8 * (backward + s), other)
                total = total + law
            if heavy[i]:
                _heavy_cavity(lanes, q, logs, work, cavity, message)
                for s in range(q):
                    total = total + load_f32x8(work, 8 * (cavity + s))
            norm = CODES / total
            change = zero
            for s in range(q):
                at_message = 8 * (reverse[k] * q + s)
                old = i32x8_to_f32x8(load_i16_i32x8(messages, at_message))
                new = load_f32x8(work, 8 * (cavity + s)) * norm
                new = new + (old - new) * damping
                # Rounded to the nearest: what is beyond the point is cut off.
                store(messages, at_message, i32x8_to_i16x8(f32x8_to_i32x8(new + 0.5)))
                gap = new - old
                change = larger(change, larger(gap, gap * -1.0))
            change = change * share
            moved = larger(moved, change)
            pending[neighbors[k]] = max(pending[neighbors[k]], lane_max(change))
    return lane_max(moved), visited


@njit(cache=True, nogil=True)
def _heavy_cavity(lanes, q, logs, work, cavity, message):
    """The law of a node without a message, in logarithms, up to a factor."""
    top = row_of(lanes, logs, 0) * 0.0 - math.inf
    for s in range(q):
        exponent = row_of(lanes, logs, s) + log(1.0 / row_of(lanes, work, message + s))
        set_row(logs, q + s, exponent)
        top = larger(top, exponent)
    for s in range(q):
        set_row(work, cavity + s, exp(row_of(lanes, logs, q + s) - top))


@njit(cache=True, nogil=True)
def node_sums(
    lanes, columns, beta, indptr, heavy, fields, coefficient, sizes, targets, volumes, messages,
    beliefs, new_beliefs, log_sums,
):  # fmt: skip
    """Beliefs (n, lanes) and ln sum_s phi_i(s) prod_k m_k(s); `new_beliefs` may be `beliefs`."""
    for i in range(len(indptr) - 1):
        total, top = node_field(
            lanes, i, beta, fields, coefficient, sizes, targets, volumes, beliefs
        )
        most = 0.0
        if heavy[i]:
            for k in range(indptr[i], indptr[i + 1]):
                total = total - log(1.0 / packed_row(lanes, columns, messages, k))
            most = lane_max(total)
            belief = exp(total - most)
        else:
            belief = exp(total)
            for k in range(indptr[i], indptr[i + 1]):
                belief = belief * packed_row(lanes, columns, messages, k)
        whole = lane_sum(belief)
        log_sums[i] = top + most + math.log(whole)
        set_row(new_beliefs, i, belief * (1.0 / whole))


@njit(cache=True, nogil=True)
def edge_sums(
    lanes, columns, at_u, at_v, u, v, unlike, slope, messages, beliefs, agreement, log_sums
):
    """C_e, ln Z_e of Z_e = sum_{s,s'} psi_e(s, s') h_u(s) h_v(s'), h ~ p/m without the edge."""
    for e in range(len(at_u)):
        k = at_u[e]
        one = row_of(lanes, beliefs, u[e]) / packed_row(lanes, columns, messages, k)
        other = row_of(lanes, beliefs, v[e]) / packed_row(lanes, columns, messages, at_v[e])
        one = one * (1.0 / lane_sum(one))
        other = other * (1.0 / lane_sum(other))
        like = lane_sum(one * other) * (1.0 if slope[k] >= 0.0 else -slope[k])
        differ = lane_sum(one * other_lanes_sum(other)) * unlike[k]
        agreement[e] = like / (like + differ)
        log_sums[e] = math.log(like + differ)


@njit(cache=True, nogil=True)
def place_slots(
    indptr, neighbors, edge_ids, couplings, order, place, first, strength, senders, at_u, at_v,
    reverse,
):  # fmt: skip
    """Where messages lie: one pass over the rows of a graph, nothing allocated.

    `order` (n,) are the free nodes as they are swept, `place` (N,) their numbers there, -1 for
    clamped ones. Filled are where the slots of a node begin, `first` (n + 1,), its summed
    |couplings|, `strength`, the `senders` of its messages, ascending, both slots of every edge, -1
    where an end is clamped, and opposite slots.
    """
    n = len(order)
    first[:] = 0
    at_u[:] = -1
    at_v[:] = -1
    for j in range(n):
        strength[j] = 0.0
        for k in range(indptr[order[j]], indptr[order[j] + 1]):
            if place[neighbors[k]] >= 0:
                first[j + 1] += 1
                strength[j] += abs(couplings[edge_ids[k]])
    for j in range(n):
        first[j + 1] += first[j]
    for j in range(n):
        node = order[j]
        for k in range(indptr[node], indptr[node + 1]):
            other = neighbors[k]
            if place[other] < 0:
                continue
            slot = first[place[other]]
            first[place[other]] += 1  # in the end where those of the next node begin
            senders[slot] = j
            # The slot of an edge (u < v) at its end u holds the message from v to u.
            if other < node:
                at_u[edge_ids[k]] = slot
            else:
                at_v[edge_ids[k]] = slot
    for j in range(n, 0, -1):
        first[j] = first[j - 1]
    first[0] = 0
    for e in range(len(at_u)):
        if at_u[e] >= 0:
            reverse[at_u[e]] = at_v[e]
            reverse[at_v[e]] = at_u[e]


@njit(cache=True, nogil=True)
def _added(energies, logs, beta, resolution):
    """(e, l) with exp(l - beta e) = sum_s exp(logs[s] - beta energies[s]), e the least energy."""
    least = energies.min()
    most = -math.inf
    for s in range(len(energies)):
        gap = energies[s] - least
        drop = logs[s] - (beta * gap if gap > resolution else 0.0)
        most = max(most, drop)
    total = 0.0
    for s in range(len(energies)):
        gap = energies[s] - least
        total += math.exp(logs[s] - (beta * gap if gap > resolution else 0.0) - most)
    return least, most + math.log(total)


@njit(cache=True, nogil=True)
def _normalised(energies, logs, resolution):
    """Subtract the least energy, and the largest logarithm among the states that have it."""
    least = energies.min()
    top = -math.inf
    for s in range(len(energies)):
        energies[s] -= least
        if energies[s] <= resolution:
            top = max(top, logs[s])
    for s in range(len(logs)):
        logs[s] -= top


@njit(cache=True, nogil=True)
def node_total(
    i, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs, energy,
    log_count,
):  # fmt: skip
    """Field and messages of node i added up, into `energy` and `log_count` (q,)."""
    for s in range(len(energy)):
        energy[s] = fields[i, s]
        log_count[s] = 0.0
        if coefficient != 0.0:
            a = sizes[i]
            energy[s] += coefficient * a * (volumes[s] - a * beliefs[i, s] - targets[s])
    for k in range(indptr[i], indptr[i + 1]):
        for s in range(len(energy)):
            energy[s] += energies[k, s]
            log_count[s] += logs[k, s]


@njit(cache=True, nogil=True)
def law(energies, logs, beta, resolution, probabilities):
    """The law ~ exp(l - beta e), and (e, l) of its normalisation."""
    least, log_sum = _added(energies, logs, beta, resolution)
    for s in range(len(energies)):
        gap = energies[s] - least
        probabilities[s] = math.exp(logs[s] - (beta * gap if gap > resolution else 0.0) - log_sum)
    return least, log_sum


@njit(cache=True, nogil=True)
def sweep_tables(
    forth, beta, tol, resolution, indptr, reverse, couplings, pair_cost, fields, coefficient, sizes,
    targets, volumes, energies, logs, beliefs, work, damping, movement,
):  # fmt: skip
    """Update all nodes in their order, or backwards; work is (9, q).

    `movement` is set to the largest change of ln m, at most 1, and to that less tol.
    """
    q = len(pair_cost)
    total_e, total_l, cavity_e, cavity_l = work[0], work[1], work[2], work[3]
    sum_e, sum_l, new_e, new_l, belief = work[4], work[5], work[6], work[7], work[8]
    moved = 0.0
    n = len(indptr) - 1
    for at in range(n):
        i = at if forth else n - 1 - at
        node_total(
            i, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs,
            total_e, total_l,
        )  # fmt: skip
        for k in range(indptr[i], indptr[i + 1]):
            for s in range(q):
                cavity_e[s] = total_e[s] - energies[k, s]
                cavity_l[s] = total_l[s] - logs[k, s]
            for s in range(q):
                for other in range(q):
                    sum_e[other] = cavity_e[other] + couplings[k] * pair_cost[other, s]
                    sum_l[other] = cavity_l[other]
                new_e[s], new_l[s] = _added(sum_e, sum_l, beta, resolution)
            _normalised(new_e, new_l, resolution)
            back = reverse[k]
            for s in range(q):
                new_e[s] += damping * (energies[back, s] - new_e[s])
                new_l[s] += damping * (logs[back, s] - new_l[s])
                gap = abs(new_e[s] - energies[back, s])
                change = abs(new_l[s] - logs[back, s])
                change += beta * gap if gap > resolution else 0.0
                moved = max(moved, min(change, 1.0))
                energies[back, s], logs[back, s] = new_e[s], new_l[s]
        law(total_e, total_l, beta, resolution, belief)
        for s in range(q):
            volumes[s] += sizes[i] * (belief[s] - beliefs[i, s])
            beliefs[i, s] = belief[s]
    movement[0], movement[1] = moved, moved - tol


@njit(cache=True, nogil=True)
def table_node_sums(
    beta, resolution, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs,
    total_e, total_l, new_beliefs, least, log_sums,
):  # fmt: skip
    """All that acts on every node and its belief, (n, q); (e, l) of its normalisation, (n,)."""
    for i in range(len(indptr) - 1):
        node_total(
            i, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs,
            total_e[i], total_l[i],
        )  # fmt: skip
        least[i], log_sums[i] = law(total_e[i], total_l[i], beta, resolution, new_beliefs[i])


@njit(cache=True, nogil=True)
def table_edge_sums(
    beta, resolution, u, v, at_u, at_v, couplings, pair_cost, energies, logs, total_e, total_l,
    table_e, table_l, pair, agreement, pair_energy, least, log_sums,
):  # fmt: skip
    """Agreement, energy, (e, l) of every edge, (m,) each; the last edge's law stays in `pair`."""
    q = len(pair_cost)
    for e in range(len(u)):
        i, j, k, back = u[e], v[e], at_u[e], at_v[e]
        for s in range(q):
            for other in range(q):
                table_e[s * q + other] = (
                    total_e[i, s] - energies[k, s] + total_e[j, other] - energies[back, other]
                    + couplings[k] * pair_cost[s, other]
                )  # fmt: skip
                table_l[s * q + other] = (
                    total_l[i, s] - logs[k, s] + total_l[j, other] - logs[back, other]
                )
        least[e], log_sums[e] = law(table_e, table_l, beta, resolution, pair)
        agreement[e], pair_energy[e] = 0.0, 0.0
        for s in range(q):
            agreement[e] += pair[s * q + s]
            for other in range(q):
                pair_energy[e] += pair[s * q + other] * couplings[k] * pair_cost[s, other]


LEAST = 1e-300  # a law below this counts as this: keeps logarithms finite


@njit(cache=True, nogil=True)
def law_of_child(cold, first, size, places, table, child_size, law, high):
    """ln mu: logarithms of the sums of a parent's table over what the child does not hold."""
    for x in range(child_size):
        law[x] = 0.0
    if not cold:
        for y in range(size):
            law[places[y]] += table[first + y]
        for x in range(child_size):
            law[x] = np.log(max(law[x], LEAST))
        return
    for x in range(child_size):
        high[x] = -np.inf
    for y in range(size):
        high[places[y]] = max(high[places[y]], table[first + y])
    for y in range(size):
        law[places[y]] += np.exp(table[first + y] - high[places[y]])
    for x in range(child_size):
        law[x] = high[x] + np.log(law[x])


@njit(cache=True, nogil=True)
def normalize_logarithms(values, first, size):
    """Subtract a constant so that the exponentials sum to one."""
    high = -np.inf
    for x in range(size):
        high = max(high, values[first + x])
    total = 0.0
    for x in range(size):
        total += np.exp(values[first + x] - high)
    shift = high + np.log(total)
    for x in range(size):
        values[first + x] -= shift


@njit(cache=True, nogil=True)
def sweep_children(
    first, last, backward, cold, link_ptr, link_parent, link_map, link_at, parent_at, maps,
    child_at, held, divisor, old_law, child_law, multiplier, table, laws,
):  # fmt: skip
    """Visit the children first..last-1; returns the largest |Q_b - mu_ab| met before the updates.

    The links of child b are link_ptr[b]..link_ptr[b + 1]; `laws` has a row per parent, and one
    more.
    """
    worst = 0.0
    for count in range(first, last):
        b = last - 1 - (count - first) if backward else count
        at, size = child_at[b], child_at[b + 1] - child_at[b]
        n_parents = link_ptr[b + 1] - link_ptr[b]
        for x in range(size):
            child_law[at + x] = held[b] * old_law[at + x]
        for j in range(n_parents):
            link = link_ptr[b] + j
            a = link_parent[link]
            begin, end = parent_at[a], parent_at[a + 1]
            places = maps[link_map[link] : link_map[link] + end - begin]
            law_of_child(cold, begin, end - begin, places, table, size, laws[j], laws[n_parents])
            for x in range(size):
                child_law[at + x] += laws[j, x] - multiplier[link_at[link] + x]
        for x in range(size):
            child_law[at + x] /= divisor[b]
        normalize_logarithms(child_law, at, size)
        for j in range(n_parents):
            link = link_ptr[b] + j
            a = link_parent[link]
            begin, end = parent_at[a], parent_at[a + 1]
            for x in range(size):
                step = child_law[at + x] - laws[j, x]
                multiplier[link_at[link] + x] += step
                worst = max(worst, abs(np.exp(child_law[at + x]) - np.exp(laws[j, x])))
                laws[j, x] = step if cold else np.exp(step)
            places = maps[link_map[link] : link_map[link] + end - begin]
            if cold:
                for y in range(end - begin):
                    table[begin + y] += laws[j, places[y]]
            else:
                for y in range(end - begin):
                    table[begin + y] *= laws[j, places[y]]
    return worst


@njit(cache=True, nogil=True)
def fill_tables(
    cold, beta, energy, parent_at, below_ptr, below, link_map, link_at, maps, multiplier, table
):
    """Parents' beliefs anew, normalised; links of parent a are below[below_ptr[a]...]."""
    for a in range(len(parent_at) - 1):
        begin, end = parent_at[a], parent_at[a + 1]
        for y in range(begin, end):
            table[y] = -beta * energy[y]
        for k in range(below_ptr[a], below_ptr[a + 1]):
            link = below[k]
            offset = link_map[link] - begin
            for y in range(begin, end):
                table[y] += multiplier[link_at[link] + maps[offset + y]]
        normalize_logarithms(table, begin, end - begin)
        if not cold:
            for y in range(begin, end):
                table[y] = np.exp(table[y])


@njit(cache=True, nogil=True)
def entropies(logarithms, at, out):
    """-sum p ln p of normalised tables given by their logarithms."""
    for r in range(len(out)):
        total = 0.0
        for y in range(at[r], at[r + 1]):
            total -= np.exp(logarithms[y]) * logarithms[y]
        out[r] = total
