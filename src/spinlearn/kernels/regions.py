"""Metropolis moves of whole regions: two classes change places on a fixed set of free nodes.

A try picks a region, a node of it at random, its state a and another state b, and exchanges a and b
on the whole region. P(a, b) is proportional to n_a + n_b there, which the exchange leaves as it is,
so the proposal is symmetric; regions do not depend on the walkers' states. Only edges of the border
(one end in the region) and the fields inside change.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, below_at, uniform_at


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
