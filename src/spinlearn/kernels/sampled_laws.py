"""Marginals along the walks of a few walkers of any model, by heat bath."""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.class_moves import draw_state, move_costs
from spinlearn.kernels.class_term import class_totals


@njit(cache=True, nogil=True)
def sampled_laws(
    states,
    beta,
    free,
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
    stream,
    n_idle,
    n_read,
    laws,
):
    """Mean law of every free node given the rest, over the sweeps that are read.

    Parameters
    ----------
    states : int8 [R, n], where walkers start, in place
    n_idle, n_read : sweeps before reading, and while
    laws : float64 [R, n, q], overwritten at free nodes

    Others as in `spinlearn.kernels.class_moves`. The term is none or depends on sizes alone.
    """
    q = cost.size
    for walker in range(states.shape[0]):
        state = states[walker]
        if term[0] != 0:
            class_totals(state, term, indptr, neighbors, cut_weights, volumes, cuts)
        for k in range(free.size):
            for c in range(q):
                laws[walker, free[k], c] = 0.0
        for sweep in range(n_idle + n_read):
            for k in range(free.size):
                i = free[k]
                move_costs(
                    i, state, indptr, neighbors, weights, cut_weights, pair_cost, potts, fields,
                    term, volumes, cuts, tally, cost,
                )  # fmt: skip
                old = np.int64(state[i])
                new = draw_state(cost, beta, stream)
                if new != old:
                    state[i] = np.int8(new)
                    if term[0] != 0:
                        volumes[old] -= term[1][i]
                        volumes[new] += term[1][i]
                if sweep >= n_idle:
                    total = 0.0
                    for c in range(q):
                        total += cost[c]
                    for c in range(q):
                        laws[walker, i, c] += cost[c] / total / n_read
