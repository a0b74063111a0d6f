"""Measurements of walkers: energies, counts of states by node, counts of agreement by edge."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def accumulate_levels(states, rows, edge_u, edge_v, node_sums, edge_sums):
    """Add the states and agreements of free nodes to the rows of their levels.

    states : int8 [R, n_free]; rows : int64 [R], < 0 for none
    node_sums, edge_sums : float32 [rows, n_free, q], [rows, m_free]
    """
    one = np.float32(1.0)
    for walker in range(states.shape[0]):
        row = rows[walker]
        if row < 0:
            continue
        state = states[walker]
        for i in range(state.size):
            node_sums[row, i, state[i]] += one
        for e in range(edge_u.size):
            if state[edge_u[e]] == state[edge_v[e]]:
                edge_sums[row, e] += one


@njit(cache=True, nogil=True)
def accumulate(states, rows, q, edge_u, edge_v, node_sums, edge_sums, counts):
    """Add every walker's states and edge agreements to its row.

    Parameters
    ----------
    states : int8 [R, n]
    rows : int64 [R], row of the sums to add to, < 0 for none
    edge_u, edge_v : int32 [m]
    node_sums : uint32 [rows, (q - 1) n]: times node i was in state s + 1, at s n + i
    edge_sums : uint32 [rows, m]: times the ends agreed
    counts : int64 [rows]
    """
    n = states.shape[1]
    for walker in range(states.shape[0]):
        row = rows[walker]
        if row < 0:
            continue
        counts[row] += 1
        state = states[walker]
        sums = node_sums[row]
        if q == 2:
            for i in range(n):
                sums[i] += np.uint32(state[i])
        else:
            for i in range(n):
                s = np.int64(state[i])
                if s > 0:
                    sums[(s - 1) * n + i] += np.uint32(1)
        agreed = edge_sums[row]
        for e in range(edge_u.size):
            agreed[e] += np.uint32(state[edge_u[e]] == state[edge_v[e]])


@njit(cache=True, nogil=True)
def walker_energies(states, edge_u, edge_v, couplings, fields, energies):
    """Potts energies of states int8 [R, n]; fields float64 [n, q], or [0, q] for none."""
    for walker in range(states.shape[0]):
        state = states[walker]
        energy = 0.0
        for e in range(edge_u.size):
            energy += couplings[e] * (state[edge_u[e]] != state[edge_v[e]])  # no branch: it is fast
        for i in range(fields.shape[0]):
            energy += fields[i, state[i]]
        energies[walker] = energy
