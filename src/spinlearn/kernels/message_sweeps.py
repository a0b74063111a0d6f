"""Sweeps of belief propagation over Potts couplings, a node and all its messages at a time.

A message into node i from its k-th neighbour is a row m_k(s) in [w, 1], w = exp(-|J|/T):

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
"""

from __future__ import annotations

import math

from numba import njit

from spinlearn.kernels.elementary import exp, log
from spinlearn.kernels.rows import (
    fetch_row,
    live_lanes,
    packed_row,
    row_of,
    set_packed_row,
    set_row,
)
from spinlearn.kernels.simd import lane_max, lane_sum, larger, other_lanes_sum


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
def _message(cavity, unlike, slope):
    """What a node with this cavity law, up to a factor, sends along an edge."""
    total = lane_sum(cavity)
    if slope >= 0.0:
        return cavity * (slope / total) + unlike
    return (other_lanes_sum(cavity) - cavity * slope) * (1.0 / total)


@njit(cache=True, nogil=True)
def _send(lanes, columns, cavity, unlike, slope, messages, row, damping):
    """Replace a message; returns it with how far its entries moved."""
    old = packed_row(lanes, columns, messages, row)
    new = _message(cavity, unlike, slope)
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

    Parameters
    ----------
    lanes, columns : tuples
        Their lengths are the number of lanes and of those that a message takes in memory.
    indptr, neighbors, reverse : int32 arrays (n + 1,), (slots,), (slots,)
    unlike, slope : float arrays (slots,)
        Of the message that leaves by a slot.
    heavy : bool array (n,)
    fields : float array (n, lanes)
    sizes : float array (n,); targets, volumes : float arrays (1, lanes)
    messages : float array (slots, columns), changed in place
    beliefs : float array (n, lanes), changed in place
    work : float array (largest degree + 1, lanes)
    damping : float
        Share of the old message that is kept.
    pending : float array (n,), changed in place
        Largest change of a message into a node since it was last updated.
    threshold : float
        Nodes with less pending are passed over; below 0, none is, and `pending` is not kept.
    movement : float array (2,)
        Set to the largest change of a message, and of a message less `tol` of itself.
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
        if heavy[i]:
            total = exponent
            for k in range(begin, end):
                logarithm = log(1.0 / packed_row(lanes, columns, messages, k))  # -ln m, m <= 1
                set_row(work, k - begin, logarithm)
                total = total - logarithm
            for k in range(begin, end):
                cavity = total + row_of(lanes, work, k - begin)
                cavity = exp(cavity - lane_max(cavity))
                new, change = _send(
                    lanes, columns, cavity, unlike[k], slope[k], messages, reverse[k], damping
                )
                moved = larger(moved, change)
                excess = larger(excess, change - new * tol)
                if tracked:
                    pending[neighbors[k]] = max(pending[neighbors[k]], lane_max(change))
            belief = exp(total - lane_max(total))
        else:
            forward = exp(exponent)
            for k in range(begin, end):
                set_row(work, k - begin, forward)
                forward = forward * packed_row(lanes, columns, messages, k)
            belief = forward
            backward = zero + 1.0
            for k in range(end - 1, begin - 1, -1):
                cavity = row_of(lanes, work, k - begin) * backward
                backward = backward * packed_row(lanes, columns, messages, k)
                new, change = _send(
                    lanes, columns, cavity, unlike[k], slope[k], messages, reverse[k], damping
                )
                moved = larger(moved, change)
                excess = larger(excess, change - new * tol)
                if tracked:
                    pending[neighbors[k]] = max(pending[neighbors[k]], lane_max(change))
        belief = belief * (1.0 / lane_sum(belief))
        if coefficient != 0.0:
            gain = (belief - row_of(lanes, beliefs, i)) * sizes[i]
            set_row(volumes, 0, row_of(lanes, volumes, 0) + gain)
        set_row(beliefs, i, belief)
    movement[0] = lane_max(moved)
    movement[1] = lane_max(excess)


@njit(cache=True, nogil=True)
def node_sums(
    lanes, columns, beta, indptr, heavy, fields, coefficient, sizes, targets, volumes, messages,
    beliefs, new_beliefs, log_sums,
):  # fmt: skip
    """Beliefs (n, lanes) and ln sum_s phi_i(s) prod_k m_k(s), (n,), of fixed messages.

    `new_beliefs` may be `beliefs`.
    """
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
    """C_e and ln Z_e of every edge: Z_e = sum_{s,s'} psi_e(s, s') h_u(s) h_v(s').

    h_u ~ p_u/m is the law of u without the edge, m the message that came along it.
    """
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

    A *slot* is one direction of one edge, see `spinlearn.messages.layout`. `order` (n,) are the
    free nodes as they are swept, `place` (N,) their numbers there, -1 for clamped ones. Filled are
    where the slots of every free node begin, `first` (n + 1,), its summed |couplings|, `strength`,
    the `senders` of its messages, ascending, both slots of every edge, -1 where an end is clamped,
    and the slot of the opposite direction.
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
