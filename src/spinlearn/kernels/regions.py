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

import numpy as np
from numba import njit

from spinlearn.kernels.node_moves import draw_state
from spinlearn.kernels.rng import GOLDEN, below, below_at, next_u64, uniform_at

OUTSIDE, INSIDE, CLUSTERED = 0, 1, 2


@njit(cache=True, nogil=True)
def swap_on_regions(states, q, regions, fields, betas, n_tries, accepted_count, stream):
    """Region moves of all walkers, each with regions of its own draw.

    Parameters
    ----------
    states : int8 [R, n], changed in place
    regions : tuple of
        ptr, nodes : int64 [G + 1], int32, free nodes of every region
        border_ptr, borders : int64 [G + 1], int32 [., 2], (node inside, node outside)
        border_couplings : float64, of the border edges
    fields : float64 [n, q], or [0, q] for none
    betas : float64 [R]
    n_tries : tries of every walker
    accepted_count : int64 [G], adds the accepted moves
    stream : uint64 [17], changed in place
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
                for at in range(begin, end):
                    i = nodes[at]
                    s = state[i]
                    if s == a:
                        change += fields[i, b] - fields[i, a]
                    elif s == b:
                        change += fields[i, a] - fields[i, b]
            counter += GOLDEN
            uniform = uniform_at(counter)
            if change <= 0.0 or uniform < np.exp(-betas[walker] * change):
                accepted_count[region] += 1
                for at in range(begin, end):
                    s = state[nodes[at]]
                    if s == a:
                        state[nodes[at]] = b
                    elif s == b:
                        state[nodes[at]] = a
    stream[16] = counter


@njit(cache=True, nogil=True)
def redraw_regions(group, model, regions, n_tries, changed):
    """Redraw random regions of a `Group` of walkers, one after the other.

    Parameters
    ----------
    regions : int64 [G + 1], int32: where regions begin, and their nodes among the free ones
    n_tries : regions of a walker in each of its repeats
    changed : int64 [G], adds redraws in which one cluster, more than half of it, changed its state
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
            for at in range(begin, end):
                first = nodes[at]
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
