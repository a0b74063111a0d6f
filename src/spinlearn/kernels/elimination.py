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

The states of the lowest digits of a separator form a tile, in which what depends on those digits
alone (energies, child indices) is tabulated once per bucket, and the rest is constant.

All temperatures of a block are handled as one SIMD value (`Vec`), whose length is that of the
tuple `lanes`, so every arithmetic expression below means "for each temperature". Numba would leave
inner loops over 8 temperatures scalar: it unrolls them before it could vectorise them, and calls
libm for exp and log. Hence the vector type and the two functions of `kernels/simd.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spinlearn.kernels.simd import add_to_row, exp, larger, log, row_of, set_row, smaller, where

TILE_STATES = 16  # separator states handled together: enough to hide latencies, all in L1 cache


class Buckets(NamedTuple):
    """The tree of buckets with its energies; see `spinlearn.engines.exact.elimination`."""

    q: int
    pair_cost: np.ndarray  # [q, q]
    fields: np.ndarray  # [n, q], in the order of the buckets
    sep_ptr: np.ndarray  # separators, ragged
    sep: np.ndarray
    child_ptr: np.ndarray  # children, ragged
    child: np.ndarray
    link_ptr: np.ndarray  # edges of each bucket's variable to its separator: digit and coupling
    link_digit: np.ndarray
    link_coupling: np.ndarray
    at: np.ndarray  # where messages and conditionals of a bucket begin
    conditional_at: np.ndarray


class Step(NamedTuple):
    """One call: buckets first..last-1, separator states begin..end-1 (all, or whole tiles)."""

    first: int
    last: int
    begin: int
    end: int


@njit(cache=True, nogil=True)
def upward(lanes, step, betas, resolution, buckets, min_energy, messages, conditional):
    """Eliminate buckets; fills `conditional`, leaves messages on the stack.

    That of b is `min_energy[at[b] + s]` and rows log_count, mean, variance of `messages[at[b] +
    s]`.
    """
    first, last, begin, end = step
    q, pair_cost, fields, sep_ptr, sep, child_ptr, child, link_ptr, link_digit, link_coupling, at, \
        conditional_at = buckets  # fmt: skip
    digits, low_digits, strides, bases, offsets = _scratch(first, last, q, sep_ptr, child_ptr)
    n_states = TILE_STATES * q
    low_energy, excess = np.empty(n_states), np.empty(n_states)
    weight, mean = np.empty((n_states, len(lanes))), np.empty((n_states, len(lanes)))
    variance = np.empty((n_states, len(lanes)))
    beta = row_of(lanes, betas, 0)

    for b in range(first, last):
        k = sep_ptr[b + 1] - sep_ptr[b]
        n_children = child_ptr[b + 1] - child_ptr[b]
        _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides)
        n_low, n_tile = _tile(q, k, n_children, digits, low_digits, strides, bases, offsets)
        for i in range(n_tile):
            for x in range(q):
                e = fields[b, x]
                for link in range(link_ptr[b], link_ptr[b + 1]):
                    if link_digit[link] < n_low:
                        e += link_coupling[link] * pair_cost[x, low_digits[i, link_digit[link]]]
                low_energy[i * q + x] = e
        for c in range(n_children):
            bases[c] = at[child[child_ptr[b] + c]]
        cond = conditional_at[b] + begin * (q - 1)
        _seek(begin // n_tile, q, n_low, k, n_children, digits, bases, strides)

        for out in range(at[b] + begin, at[b] + min(end, q**k), n_tile):
            # Energies, then their excess over the least of each separator state.
            for x in range(q):
                high_energy = 0.0
                for link in range(link_ptr[b], link_ptr[b + 1]):
                    if link_digit[link] >= n_low:
                        high_energy += link_coupling[link] * pair_cost[x, digits[link_digit[link]]]
                for i in range(n_tile):
                    excess[i * q + x] = low_energy[i * q + x] + high_energy
            for c in range(n_children):
                for j in range(n_tile * q):
                    excess[j] += min_energy[bases[c] + offsets[c, j]]
            for i in range(n_tile):
                lowest = excess[i * q]
                for x in range(1, q):
                    lowest = min(lowest, excess[i * q + x])
                min_energy[out + i] = lowest
                for x in range(q):
                    e = excess[i * q + x] - lowest
                    excess[i * q + x] = e if e >= resolution else 0.0

            # Log weight, mean and variance of every clique state: its own and the children's.
            if n_children == 0:
                for j in range(n_tile * q):
                    set_row(weight, j, -excess[j] * beta)
                    set_row(mean, j, 0.0 * beta + excess[j])
                    set_row(variance, j, 0.0 * beta)
            else:
                for j in range(n_tile * q):
                    row = 3 * (bases[0] + offsets[0, j])
                    set_row(weight, j, row_of(lanes, messages, row) - excess[j] * beta)
                    set_row(mean, j, row_of(lanes, messages, row + 1) + excess[j])
                    set_row(variance, j, row_of(lanes, messages, row + 2))
            for c in range(1, n_children):
                for j in range(n_tile * q):
                    row = 3 * (bases[c] + offsets[c, j])
                    add_to_row(weight, j, row_of(lanes, messages, row))
                    add_to_row(mean, j, row_of(lanes, messages, row + 1))
                    add_to_row(variance, j, row_of(lanes, messages, row + 2))

            # The sum over the bucket's own variable.
            if q == 2:
                _sum_of_two(lanes, n_tile, weight, mean, variance, messages, out, conditional, cond)
            else:
                _sum(lanes, n_tile, q, weight, mean, variance, messages, out, conditional, cond)
            cond += n_tile * (q - 1)
            _advance(q, n_low, k, n_children, digits, bases, strides)


@njit(cache=True, nogil=True)
def _sum(lanes, n_tile, q, weight, mean, variance, messages, out, conditional, cond):
    """Messages and conditionals of a tile from the log weights, means and variances of states."""
    for i in range(n_tile):
        top = row_of(lanes, weight, i * q)
        for x in range(1, q):
            top = larger(top, row_of(lanes, weight, i * q + x))
        count = 0.0 * top
        for x in range(q):
            w = exp(row_of(lanes, weight, i * q + x) - top)
            set_row(weight, i * q + x, w)
            count = count + w
        share = 1.0 / count
        mean_all = 0.0 * share
        for x in range(q):
            p = row_of(lanes, weight, i * q + x) * share
            set_row(weight, i * q + x, p)
            mean_all = mean_all + p * row_of(lanes, mean, i * q + x)
        variance_all = 0.0 * share
        for x in range(q):
            d = row_of(lanes, mean, i * q + x) - mean_all
            inside = row_of(lanes, variance, i * q + x)
            variance_all = variance_all + row_of(lanes, weight, i * q + x) * (inside + d * d)
        for x in range(q - 1):
            set_row(conditional, cond + i * (q - 1) + x, row_of(lanes, weight, i * q + x))
        set_row(messages, 3 * (out + i), top + log(count))
        set_row(messages, 3 * (out + i) + 1, mean_all)
        set_row(messages, 3 * (out + i) + 2, variance_all)


@njit(cache=True, nogil=True)
def _sum_of_two(lanes, n_tile, weight, mean, variance, messages, out, conditional, cond):
    """The same for q = 2: one exp, and a variance p0 p1 gap^2 between the two states."""
    for i in range(n_tile):
        log0, log1 = row_of(lanes, weight, 2 * i), row_of(lanes, weight, 2 * i + 1)
        lead = log0 - log1
        w = exp(smaller(lead, 0.0 - lead))
        count = 1.0 + w
        share = 1.0 / count
        set_row(conditional, cond + i, where(lead < 0.0, w * share, share))
        set_row(weight, 2 * i, where(lead < 0.0, share, w * share))
        set_row(weight, 2 * i + 1, count)
        set_row(messages, 3 * (out + i), larger(log0, log1))
    for i in range(n_tile):
        add_to_row(messages, 3 * (out + i), log(row_of(lanes, weight, 2 * i + 1)))
        p0, p1 = row_of(lanes, conditional, cond + i), row_of(lanes, weight, 2 * i)
        mean0, mean1 = row_of(lanes, mean, 2 * i), row_of(lanes, mean, 2 * i + 1)
        inside = p0 * row_of(lanes, variance, 2 * i) + p1 * row_of(lanes, variance, 2 * i + 1)
        gap = mean1 - mean0
        set_row(messages, 3 * (out + i) + 1, p0 * mean0 + p1 * mean1)
        set_row(messages, 3 * (out + i) + 2, inside + p0 * p1 * (gap * gap))


@njit(cache=True, nogil=True)
def downward(lanes, step, buckets, pair_slot, conditional, separator, marginals, agreement, pairs):
    """Spread probabilities over buckets and separator states, the last ones first.

    `separator` is a stack of P(s), one at roots; `pairs` takes P(x_b, x_digit) where pair_slot >=
    0.
    """
    first, last, begin, end = step
    q, _, _, sep_ptr, sep, child_ptr, child, link_ptr, link_digit, _, at, conditional_at = buckets
    digits, low_digits, strides, bases, offsets = _scratch(first, last, q, sep_ptr, child_ptr)
    joint = np.empty((TILE_STATES * q, len(lanes)))  # P(x_b, s) in a tile,
    low_joint = np.empty((TILE_STATES * q, len(lanes)))  # summed over the other digits,
    high_joint = np.empty((q, len(lanes)))  # summed over the tile

    for b in range(last - 1, first - 1, -1):
        k = sep_ptr[b + 1] - sep_ptr[b]
        n_children = child_ptr[b + 1] - child_ptr[b]
        _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides)
        n_low, n_tile = _tile(q, k, n_children, digits, low_digits, strides, bases, offsets)
        for c in range(n_children):
            bucket = child[child_ptr[b] + c]
            bases[c] = at[bucket]
            if end >= q**k:
                n_below = q ** (sep_ptr[bucket + 1] - sep_ptr[bucket])
                separator[at[bucket] : at[bucket] + n_below] = 0.0
        low_joint[: n_tile * q] = 0.0
        cond = conditional_at[b] + begin * (q - 1)
        _seek(begin // n_tile, q, n_low, k, n_children, digits, bases, strides)

        for own in range(at[b] + begin, at[b] + min(end, q**k), n_tile):
            for i in range(n_tile):
                p_separator = row_of(lanes, separator, own + i)
                rest = p_separator
                for x in range(q - 1):
                    p = p_separator * row_of(lanes, conditional, cond + x)
                    rest = rest - p
                    set_row(joint, i * q + x, p)
                set_row(joint, i * q + q - 1, larger(rest, 0.0))  # rounding of the last state
                cond += q - 1
            for c in range(n_children):
                for j in range(n_tile * q):
                    add_to_row(separator, bases[c] + offsets[c, j], row_of(lanes, joint, j))
            for j in range(n_tile * q):
                add_to_row(low_joint, j, row_of(lanes, joint, j))
            for x in range(q):
                p = row_of(lanes, joint, x)
                for i in range(1, n_tile):
                    p = p + row_of(lanes, joint, i * q + x)
                set_row(high_joint, x, p)
            for link in range(link_ptr[b], link_ptr[b + 1]):
                if link_digit[link] >= n_low:
                    y = digits[link_digit[link]]
                    add_to_row(agreement, link, row_of(lanes, high_joint, y))
                    if pair_slot[link] >= 0:
                        for x in range(q):
                            row = (pair_slot[link] * q + x) * q + y
                            add_to_row(pairs, row, row_of(lanes, high_joint, x))
            _advance(q, n_low, k, n_children, digits, bases, strides)

        for i in range(n_tile):
            for x in range(q):
                add_to_row(marginals, b * q + x, row_of(lanes, low_joint, i * q + x))
            for link in range(link_ptr[b], link_ptr[b + 1]):
                if link_digit[link] < n_low:
                    y = low_digits[i, link_digit[link]]
                    add_to_row(agreement, link, row_of(lanes, low_joint, i * q + y))
                    if pair_slot[link] >= 0:
                        for x in range(q):
                            row = (pair_slot[link] * q + x) * q + y
                            add_to_row(pairs, row, row_of(lanes, low_joint, i * q + x))


@njit(cache=True, nogil=True)
def _scratch(first, last, q, sep_ptr, child_ptr):
    """Digits of a separator and of tile states; strides, index and tile offsets of the children."""
    k = n_children = 1
    for b in range(first, last):  # none if the caller only compiles
        k = max(k, sep_ptr[b + 1] - sep_ptr[b])
        n_children = max(n_children, child_ptr[b + 1] - child_ptr[b])
    return (
        np.empty(k, np.int64),
        np.empty((TILE_STATES, k), np.int64),
        np.empty((n_children, k), np.int64),
        np.empty(n_children, np.int64),
        np.empty((n_children, TILE_STATES * q), np.int64),
    )


@njit(cache=True, nogil=True)
def _child_strides(b, q, k, sep_ptr, sep, child_ptr, child, strides):
    """Step of every child's separator index when digit j of bucket b's separator goes up by one."""
    for c in range(child_ptr[b + 1] - child_ptr[b]):
        strides[c, :k] = 0
        bucket = child[child_ptr[b] + c]
        stride = q  # digit 0 of the child is b's own variable
        j = 0
        for i in range(sep_ptr[bucket] + 1, sep_ptr[bucket + 1]):
            while sep[sep_ptr[b] + j] != sep[i]:
                j += 1
            strides[c, j] = stride
            stride *= q


@njit(cache=True, nogil=True)
def _tile(q, k, n_children, digits, low_digits, strides, bases, offsets):
    """Tabulate digits and children's offsets of a tile; its number of digits and of states."""
    n_low, n_tile = 0, 1
    while n_low < k and n_tile * q <= TILE_STATES:
        n_low += 1
        n_tile *= q
    digits[:k] = 0
    bases[:n_children] = 0
    for i in range(n_tile):
        for j in range(n_low):
            low_digits[i, j] = digits[j]
        for c in range(n_children):
            for x in range(q):
                offsets[c, i * q + x] = bases[c] + x
        _advance(q, 0, n_low, n_children, digits, bases, strides)
    return n_low, n_tile


@njit(cache=True, nogil=True)
def _seek(tile, q, n_low, k, n_children, digits, bases, strides):
    """Set the odometer of the digits above a tile's, which stand at zero, to the given tile."""
    for j in range(n_low, k):
        digits[j] = tile % q
        tile //= q
        for c in range(n_children):
            bases[c] += digits[j] * strides[c, j]


@njit(cache=True, nogil=True)
def _advance(q, begin, end, n_children, digits, bases, strides):
    """Odometer of the digits begin..end-1 that carries the children's indices along."""
    for j in range(begin, end):
        digits[j] += 1
        if digits[j] < q:
            for c in range(n_children):
                bases[c] += strides[c, j]
            return
        digits[j] = 0
        for c in range(n_children):
            bases[c] -= (q - 1) * strides[c, j]
