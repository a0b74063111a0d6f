"""Simulated annealing of one walker by single-node Metropolis moves, the best labelling kept."""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.rng import GOLDEN, mix64


@njit(cache=True, nogil=True)
def _change(i, new, arc_ptr, heads, edge_ids, couplings, pair_cost, fields, states):
    """Energy of node i in state `new` minus that in its present one."""
    old = states[i]
    change = fields[i, new] - fields[i, old]
    for a in range(arc_ptr[i], arc_ptr[i + 1]):
        s = states[heads[a]]
        change += couplings[edge_ids[a]] * (pair_cost[new, s] - pair_cost[old, s])
    return change


@njit(cache=True, nogil=True)
def anneal(
    temperatures, free, arc_ptr, heads, edge_ids, couplings, pair_cost, fields, states, best, stream
):  # fmt: skip
    """One sweep over the free nodes at every temperature; how far `best` lies below the start.

    Parameters
    ----------
    temperatures : float64 [sweeps], > 0
    free : int32, nodes that may change
    arc_ptr, heads, edge_ids : int32, CSR of the graph
    couplings : float64 [m]
    pair_cost : float64 [q, q]
    fields : float64 [n, q]
    states : int8 [n], in place
    best : int8 [n], the start; the labelling of least energy after any sweep is written here
    stream : uint64 [1], counter of random numbers, in place
    """
    q = pair_cost.shape[0]
    counter = stream[0]
    energy = 0.0  # of `states`, counted from the start
    lowest = 0.0
    for t in range(temperatures.size):
        beta = 1.0 / temperatures[t]
        for k in range(free.size):
            i = free[k]
            counter += GOLDEN
            bits = mix64(counter)
            shift = ((bits >> np.uint64(32)) * np.uint64(q - 1)) >> np.uint64(32)
            new = np.int8((states[i] + 1 + np.int64(shift)) % q)
            change = _change(i, new, arc_ptr, heads, edge_ids, couplings, pair_cost, fields, states)
            uniform = (np.float64(bits & np.uint64(0xFFFFFFFF)) + 0.5) * 2.0**-32
            if change <= 0.0 or uniform < np.exp(-beta * change):
                states[i] = new
                energy += change
        if energy < lowest:
            lowest = energy
            best[:] = states
    stream[0] = counter
    return lowest


@njit(cache=True, nogil=True)
def descend(
    free, arc_ptr, heads, edge_ids, couplings, pair_cost, fields, threshold, max_sweeps, states
):
    """Put every node into its best state until none gains more than `threshold`; sweeps made."""
    q = pair_cost.shape[0]
    for sweep in range(max_sweeps):
        idle = True
        for k in range(free.size):
            i = free[k]
            lowest = -threshold
            favourite = states[i]
            for new in range(q):
                if new != states[i]:
                    change = _change(
                        i, new, arc_ptr, heads, edge_ids, couplings, pair_cost, fields, states
                    )
                    if change < lowest:
                        lowest = change
                        favourite = np.int8(new)
            if favourite != states[i]:
                states[i] = favourite
                idle = False
        if idle:
            return sweep + 1
    return max_sweeps
