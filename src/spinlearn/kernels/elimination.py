"""Exact sum-product over a tree of buckets, for a block of temperatures at once.

Bucket b eliminates its variable given the states `s` of its separator. Energies are split as

    E(states) - E_min = sum_b excess_b(x_b, s_b),    excess_b(x, s) = e_b(x, s) - min_x' e_b(x', s)
    e_b(x, s) = own terms of b + sum over child buckets c of min_energy_c(s_c)

so every excess is >= 0 and the weights exp(-beta * excess) never overflow. What underflows is
negligible at that place for good, because upward messages are kept as logarithms and the downward
pass only multiplies probabilities. beta = 1/T may be 0 (T = inf) or huge (T = 0): then the messages
count states, and the result is the uniform law over all states or over the ground states.

Upward message of b at s, per temperature t:
    log_count  = ln sum_{configurations below b} exp(-beta_t * excess below)
    mean, variance of the excess below (law of total variance: children are independent given s)
Downward: P(x_b, s) = P(s) * conditional_b(x_b | s).

Layout: separator index s = sum_j digit_j * q^j, digit 0 being the variable of the parent bucket, so
a child's index is `base(s) + x`. Temperatures are the innermost, contiguous axis. Messages live on
a stack (children are consumed by their parent), conditionals are kept for the downward pass.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def upward(
    first,
    last,
    q,
    betas,
    resolution,
    pair_cost,
    fields,
    sep_ptr,
    sep,
    child_ptr,
    child,
    link_ptr,
    link_digit,
    link_coupling,
    read_at,
    write_at,
    conditional_at,
    min_energy,
    messages,
    conditional,
):
    """Eliminate buckets first..last-1; fills `conditional`, leaves messages on the stack."""
    n_t = len(betas)
    max_k, max_children = 1, 1
    for b in range(first, last):
        max_k = max(max_k, sep_ptr[b + 1] - sep_ptr[b])
        max_children = max(max_children, child_ptr[b + 1] - child_ptr[b])
    digits = np.empty(max_k, np.int64)
    strides = np.empty((max_children, max_k), np.int64)
    bases = np.empty(max_children, np.int64)
    energy = np.empty(q)
    log_weight = np.empty((q, n_t))
    mean = np.empty((q, n_t))
    variance = np.empty((q, n_t))
    top = np.empty(n_t)
    total = np.empty(n_t)
    mean_all = np.empty(n_t)

    for b in range(first, last):
        k = sep_ptr[b + 1] - sep_ptr[b]
        n_children = child_ptr[b + 1] - child_ptr[b]
        _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides)
        n_sep = 1
        for j in range(k):
            n_sep *= q
            digits[j] = 0
        for c in range(n_children):
            bases[c] = read_at[child[child_ptr[b] + c]]
        out = write_at[b]
        cond = conditional_at[b]

        for s in range(n_sep):
            lowest = np.inf
            for x in range(q):
                e = fields[b, x]
                for link in range(link_ptr[b], link_ptr[b + 1]):
                    e += link_coupling[link] * pair_cost[x, digits[link_digit[link]]]
                for c in range(n_children):
                    e += min_energy[bases[c] + x]
                energy[x] = e
                lowest = min(lowest, e)
            min_energy[out + s] = lowest

            for x in range(q):
                excess = energy[x] - lowest
                if excess < resolution:
                    excess = 0.0
                for t in range(n_t):
                    log_weight[x, t] = -betas[t] * excess
                    mean[x, t] = excess
                    variance[x, t] = 0.0
                for c in range(n_children):
                    row = messages[bases[c] + x]
                    for t in range(n_t):
                        log_weight[x, t] += row[0, t]
                        mean[x, t] += row[1, t]
                        variance[x, t] += row[2, t]

            for t in range(n_t):
                top[t] = log_weight[0, t]
                total[t] = 0.0
                mean_all[t] = 0.0
            for x in range(1, q):
                for t in range(n_t):
                    top[t] = max(top[t], log_weight[x, t])
            for x in range(q):
                for t in range(n_t):
                    w = np.exp(log_weight[x, t] - top[t])
                    log_weight[x, t] = w  # from here on the weight itself
                    total[t] += w
            row = messages[out + s]
            for t in range(n_t):
                row[0, t] = top[t] + np.log(total[t])
                total[t] = 1.0 / total[t]
            for x in range(q):
                for t in range(n_t):
                    p = log_weight[x, t] * total[t]
                    log_weight[x, t] = p
                    mean_all[t] += p * mean[x, t]
            for t in range(n_t):
                row[1, t] = mean_all[t]
                row[2, t] = 0.0
            for x in range(q):
                for t in range(n_t):
                    d = mean[x, t] - mean_all[t]
                    row[2, t] += log_weight[x, t] * (variance[x, t] + d * d)
            for x in range(q - 1):
                for t in range(n_t):
                    conditional[cond + x, t] = log_weight[x, t]
            cond += q - 1
            _advance(q, k, n_children, digits, bases, strides)

        # The children are consumed: move the own message down to where they began.
        final = read_at[b]
        if final != out:
            for s in range(n_sep):
                min_energy[final + s] = min_energy[out + s]
                for r in range(3):
                    for t in range(n_t):
                        messages[final + s, r, t] = messages[out + s, r, t]


@njit(cache=True, nogil=True)
def downward(
    first,
    last,
    q,
    n_t,
    sep_ptr,
    sep,
    child_ptr,
    child,
    link_ptr,
    link_digit,
    pair_slot,
    read_at,
    write_at,
    conditional_at,
    conditional,
    separator,
    marginals,
    agreement,
    pairs,
):
    """Spread probabilities from bucket last-1 down to bucket first.

    `separator` is a stack of P(s) per bucket; roots find it preset to one at read_at. `pairs`
    receives P(x_b, x_digit) for the links with pair_slot >= 0.
    """
    max_k, max_children = 1, 1
    for b in range(first, last):
        max_k = max(max_k, sep_ptr[b + 1] - sep_ptr[b])
        max_children = max(max_children, child_ptr[b + 1] - child_ptr[b])
    digits = np.empty(max_k, np.int64)
    strides = np.empty((max_children, max_k), np.int64)
    bases = np.empty(max_children, np.int64)
    joint = np.empty((q, n_t))

    for b in range(last - 1, first - 1, -1):
        k = sep_ptr[b + 1] - sep_ptr[b]
        n_children = child_ptr[b + 1] - child_ptr[b]
        _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides)
        n_sep = 1
        for j in range(k):
            n_sep *= q
            digits[j] = 0
        # Children start where the stack ends while b still stands on it; they move down afterwards.
        shift = write_at[b] - read_at[b] if n_children else 0
        own = write_at[b] if n_children else read_at[b]
        if shift:
            for s in range(n_sep - 1, -1, -1):
                for t in range(n_t):
                    separator[own + s, t] = separator[read_at[b] + s, t]
        if n_children:
            separator[read_at[b] : write_at[b]] = 0.0
        for c in range(n_children):
            bases[c] = read_at[child[child_ptr[b] + c]]
        cond = conditional_at[b]
        for s in range(n_sep):
            for t in range(n_t):
                joint[q - 1, t] = separator[own + s, t]
            for x in range(q - 1):
                for t in range(n_t):
                    p = separator[own + s, t] * conditional[cond + x, t]
                    joint[x, t] = p
                    joint[q - 1, t] -= p
            cond += q - 1
            for t in range(n_t):
                joint[q - 1, t] = max(joint[q - 1, t], 0.0)  # rounding of the last state
            for x in range(q):
                for t in range(n_t):
                    marginals[b, x, t] += joint[x, t]
                for c in range(n_children):
                    for t in range(n_t):
                        separator[bases[c] + x, t] += joint[x, t]
            for link in range(link_ptr[b], link_ptr[b + 1]):
                y = digits[link_digit[link]]
                for t in range(n_t):
                    agreement[link, t] += joint[y, t]
                slot = pair_slot[link]
                if slot >= 0:
                    for x in range(q):
                        for t in range(n_t):
                            pairs[slot, x, y, t] += joint[x, t]
            _advance(q, k, n_children, digits, bases, strides)


@njit(cache=True, nogil=True, inline="always")
def _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides):
    """Step of every child's separator index when digit j of bucket b's separator goes up by one."""
    for c in range(child_ptr[b + 1] - child_ptr[b]):
        for j in range(k):
            strides[c, j] = 0
        bucket = child[child_ptr[b] + c]
        stride = q  # digit 0 of the child is b's own variable
        j = 0
        for i in range(sep_ptr[bucket] + 1, sep_ptr[bucket + 1]):
            while sep[sep_ptr[b] + j] != sep[i]:
                j += 1
            strides[c, j] = stride
            stride *= q


@njit(cache=True, nogil=True, inline="always")
def _advance(q, k, n_children, digits, bases, strides):
    """Next separator state: an odometer that carries the children's indices along."""
    for j in range(k):
        digits[j] += 1
        if digits[j] < q:
            for c in range(n_children):
                bases[c] += strides[c, j]
            return
        digits[j] = 0
        for c in range(n_children):
            bases[c] -= (q - 1) * strides[c, j]
