"""The class-level term of an energy: what a class of a given size, with a given cut, costs.

    sum_c f_c(V_c, cut_c),    V_c = sum_i sizes[i] [s_i = c],    cut_c = cut weight that leaves c

It comes as one tuple, see `spinlearn.core.class_layout`:
    term = (form, sizes [n], coefficient, targets [q], table [q, n + 1], smallest, empty)
"""

from __future__ import annotations

import numpy as np
from numba import njit

QUADRATIC, RATIO, TABLE = 1, 2, 3


@njit(cache=True, nogil=True, inline="always")  # a call would copy the tuple: five times slower
def class_cost(term, c, volume, cut):
    """f_c(V_c, cut_c)."""
    value = 0.0
    if term[0] == QUADRATIC:
        off = volume - term[3][c]
        value = 0.5 * term[2] * off * off
    elif term[0] == RATIO:
        value = term[2] * cut / volume if volume > term[5] else term[2] * term[6]
    elif term[0] == TABLE:
        value = term[4][c, np.int64(volume + 0.5)]
    return value


@njit(cache=True, nogil=True)
def class_totals(state, term, indptr, neighbors, cut_weights, volumes, cuts):
    """V_c and cut_c of a labelling int8 [n], into float64 [q]; cut_weights in CSR order or [0]."""
    sizes = term[1]
    for c in range(volumes.size):
        volumes[c] = 0.0
        cuts[c] = 0.0
    for i in range(sizes.size):
        volumes[state[i]] += sizes[i]
    if cut_weights.size:
        for i in range(sizes.size):
            for t in range(indptr[i], indptr[i + 1]):
                if state[neighbors[t]] != state[i]:
                    cuts[state[i]] += cut_weights[t]
