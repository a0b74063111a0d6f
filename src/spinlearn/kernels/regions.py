"""Moves of whole regions, fixed sets of free nodes that do not depend on the walkers' states.

*Swaps*, for any energy: two classes change places on a region. A try picks a region, a node of it
at random, its state a and another state b, and exchanges a and b on the whole region. P(a, b) is
proportional to n_a + n_b there, which the exchange leaves as it is, so the proposal is symmetric.
Only edges of the border (one end in the region) and the fields inside change.

*Redraws*, for couplings >= 0: bonds are drawn as in the Swendsen-Wang method, but inside the region
alone. Given these bonds clusters of the region do not act on each other, and what couples them to
the rest are fields: every cluster draws its state from its law, nothing is refused. A blob that
sits beside others in their state leaves them by one draw, where Swendsen-Wang has to wait until no
bond joins them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, below, below_at, next_u64, uniform, uniform_at

OUTSIDE, INSIDE, CLUSTERED = 0, 1, 2


@njit(cache=True, nogil=True)
def swap_on_regions(
    states,
    n_walkers,
    node_stride,
    walker_stride,
    q,
    region_ptr,
    region_nodes,
    border_ptr,
    borders,
    border_couplings,
    fields,
    betas,
    n_tries,
    accepted_count,
    stream,
):
    """Region moves of all walkers, each with regions of its own draw.

    Parameters
    ----------
    states : int8 flat; node i of walker r at i * node_stride + r * walker_stride, changed in place
    region_ptr, region_nodes : int64 [G + 1], int32, free nodes of every region
    border_ptr, borders : int64 [G + 1], int32 [., 2], (node inside, node outside)
    border_couplings : float64, of the border edges
    fields : float64 [n, q], or [0, q] for none
    betas : float64 [R]
    n_tries : tries of every walker
    accepted_count : int64 [G], adds the accepted moves
    stream : uint64 [17], changed in place
    """
    n_regions = region_ptr.size - 1
    has_fields = fields.shape[0] > 0
    counter = stream[16]
    for walker in range(n_walkers):
        base = walker * walker_stride
        for _ in range(n_tries):
            counter += GOLDEN
            region = below_at(counter, n_regions)
            begin, end = region_ptr[region], region_ptr[region + 1]
            counter += GOLDEN
            node = region_nodes[begin + below_at(counter, end - begin)]
            a = states[node * node_stride + base]
            counter += GOLDEN
            b = np.int8((a + 1 + below_at(counter, q - 1)) % q)
            change = 0.0
            for edge in range(border_ptr[region], border_ptr[region + 1]):
                inside = states[borders[edge, 0] * node_stride + base]
                if inside in (a, b):
                    outside = states[borders[edge, 1] * node_stride + base]
                    if outside == inside:
                        change += border_couplings[edge]
                    elif outside in (a, b):
                        change -= border_couplings[edge]
            if has_fields:
                for at in range(begin, end):
                    i = region_nodes[at]
                    s = states[i * node_stride + base]
                    if s == a:
                        change += fields[i, b] - fields[i, a]
                    elif s == b:
                        change += fields[i, a] - fields[i, b]
            counter += GOLDEN
            uniform = uniform_at(counter)
            if change <= 0.0 or uniform < np.exp(-betas[walker] * change):
                accepted_count[region] += 1
                for at in range(begin, end):
                    place = region_nodes[at] * node_stride + base
                    s = states[place]
                    if s == a:
                        states[place] = b
                    elif s == b:
                        states[place] = a
    stream[16] = counter


@njit(cache=True, nogil=True)
def redraw_regions(
    states,
    walkers,
    levels,
    betas,
    thresholds,
    region_ptr,
    region_nodes,
    indptr,
    neighbors,
    edge_ids,
    weights,
    fields,
    n_tries,
    repeats,
    place,
    queue,
    law,
    changed,
    stream,
):
    """Redraw random regions of walkers, one after the other; nodes here are the free ones.

    Parameters
    ----------
    states : int8 [R, n], changed in place; walkers : int64, those that move
    levels : int32 [R]; betas : float64 [K]
    thresholds : uint32 [K, m], 2^32 times the bond probability
    region_ptr, region_nodes : int64 [G + 1], int32
    indptr, neighbors, edge_ids, weights : the graph in CSR order with the couplings
    fields : float64 [n, q]
    n_tries : regions of a walker; repeats : int64 [R], times that it tries so many
    place : int8 [n], all OUTSIDE, and again on return
    queue, law : int32 [n], float64 [q], scratch
    changed : int64 [G], adds redraws in which one cluster, more than half of it, changed its state
    stream : uint64 [17], changed in place
    """
    q = law.size
    for walker in walkers:
        state = states[walker]
        beta = betas[levels[walker]]
        bonds = thresholds[levels[walker]]
        for _ in range(n_tries * repeats[walker]):
            region = below(stream, region_ptr.size - 1)
            begin, end = region_ptr[region], region_ptr[region + 1]
            for at in range(begin, end):
                place[region_nodes[at]] = INSIDE
            for at in range(begin, end):
                first = region_nodes[at]
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
                    for c in range(q):
                        law[c] += fields[i, c]
                    for k in range(indptr[i], indptr[i + 1]):
                        j = neighbors[k]
                        if place[j] == OUTSIDE:
                            law[state[j]] -= weights[k]
                        elif (
                            place[j] == INSIDE
                            and state[j] == old
                            and np.uint32(next_u64(stream)) < bonds[edge_ids[k]]
                        ):
                            place[j] = CLUSTERED
                            queue[size] = j
                            size += 1
                new = _drawn(law, beta, stream)
                if new != old:
                    changed[region] += 2 * size > end - begin
                    for k in range(size):
                        state[queue[k]] = new
            for at in range(begin, end):
                place[region_nodes[at]] = OUTSIDE


@njit(cache=True, nogil=True)
def _drawn(law, beta, stream):
    """A state by exp(-beta law); law is overwritten."""
    least = law.min()
    total = 0.0
    for c in range(law.size):
        law[c] = math.exp(-beta * (law[c] - least))
        total += law[c]
    target = uniform(stream) * total
    chosen = 0
    for c in range(law.size):
        if law[c] > 0.0:
            chosen = c  # at the upper end rounding leaves the last state of positive weight
            target -= law[c]
            if target < 0.0:
                break
    return np.int8(chosen)
