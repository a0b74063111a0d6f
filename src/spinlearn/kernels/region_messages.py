"""Messages between overlapping regions of a graph, by sweeps over their intersections.

Parents a are the regions of the approximation, children b their intersections, with counting
numbers 1 for parents, c_b for children. A belief is a table over the states of its region:

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

import numpy as np
from numba import njit

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

    The links of child b, one to every parent, are link_ptr[b]..link_ptr[b + 1]. `laws` is scratch,
    one row per parent of a child, with one more.
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
    """Parents' beliefs anew from their energies and multipliers, normalised.

    The links of parent a are below[below_ptr[a]..below_ptr[a + 1]].
    """
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
