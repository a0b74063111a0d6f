"""Moves between levels of a ladder, and what is measured there.

Moves of walkers over the levels of a temperature ladder, given their energies.

    P(t | E) = exp(eta_t - beta_t E) / W(E),    W(E) = sum_t exp(eta_t - beta_t E)

Drawing t from P(t | E) between sweeps at beta_t leaves the walkers' law proportional to W(E): they
sample the multicanonical ensemble of weight W. Replica exchange keeps as many walkers at a level as
there were.

Letters: n nodes, m edges, q states, R walkers, K levels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, below_at, uniform_at


@njit(cache=True, nogil=True)
def draw_levels(energies, betas, eta, levels, occupancy, stream):
    """Draw the `levels` of walkers by P(t | E); `occupancy` [K] adds that of every walker."""
    counter = stream[16]
    n_levels = betas.size
    weights = np.empty(n_levels)
    for walker in range(energies.size):
        energy = energies[walker]
        top = -np.inf
        for t in range(n_levels):
            weights[t] = eta[t] - betas[t] * energy
            top = max(top, weights[t])
        total = 0.0
        for t in range(n_levels):
            # Weights below 1e-16 of the largest one do not change the draw.
            difference = weights[t] - top
            weights[t] = np.exp(difference) if difference > -37.0 else 0.0
            total += weights[t]
        counter += GOLDEN
        target = uniform_at(counter) * total
        chosen = n_levels - 1
        for t in range(n_levels):
            occupancy[t] += weights[t] / total
        for t in range(n_levels):
            target -= weights[t]
            if target < 0.0:
                chosen = t
                break
        levels[walker] = chosen
    stream[16] = counter


@njit(cache=True, nogil=True)
def exchange_levels(energies, betas, levels, met, stream):
    """Replica exchange, paired at random; `met` [K, 2] adds pairs of t, t + 1 met, exchanged."""
    counter = stream[16]
    n_walkers, n_levels = levels.size, betas.size
    order, begin = np.empty(n_walkers, np.int64), np.empty(n_levels + 1, np.int64)
    for parity in range(2):
        # Walkers by level, in random order within a level.
        shuffled = np.arange(n_walkers)
        for i in range(n_walkers - 1, 0, -1):
            counter += GOLDEN
            j = below_at(counter, i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        begin[:] = 0
        for walker in range(n_walkers):
            begin[levels[walker] + 1] += 1
        for t in range(n_levels):
            begin[t + 1] += begin[t]
        place = begin[:-1].copy()
        for walker in shuffled:
            order[place[levels[walker]]] = walker
            place[levels[walker]] += 1
        for t in range(parity, n_levels - 1, 2):
            pairs = min(begin[t + 1] - begin[t], begin[t + 2] - begin[t + 1])
            for k in range(pairs):
                a, b = order[begin[t] + k], order[begin[t + 1] + k]
                exponent = (betas[t] - betas[t + 1]) * (energies[a] - energies[b])
                counter += GOLDEN
                uniform = uniform_at(counter)
                met[t, 0] += 1.0
                if exponent >= 0.0 or uniform < np.exp(exponent):
                    met[t, 1] += 1.0
                    levels[a], levels[b] = t + 1, t
    stream[16] = counter


@njit(cache=True, nogil=True)
def accumulate_levels(states, rows, edge_u, edge_v, node_sums, edge_sums):
    """Add states and agreements to `rows` (< 0: none) of float32 [., n_free, q], [., m_free]."""
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
    """Add states int8 [R, n] and agreements to row `rows` int64 [R] of the sums, < 0 for none.

    node_sums uint32 [rows, (q - 1) n] counts node i in state s + 1 at s n + i, `counts` the
    walkers.
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
