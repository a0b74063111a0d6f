"""Pair agreements of a model without fields, by Swendsen-Wang sweeps of one walker.

Given the bonds, the ends of an edge agree surely within one cluster and with probability 1/q
between two, so that counting how often they share a cluster is all that C_ij takes: no marginals,
no laws of clusters as in `cluster.py`.

Letters: n nodes, m edges, q states.
"""

from __future__ import annotations

import numpy as np
from numba import njit, uint64

from spinlearn.kernels.cluster import bond_clusters
from spinlearn.kernels.rng import next_u64


@njit(cache=True, nogil=True)
def redraw_clusters(state, n_states, parent, stream):
    """Draw a state of q for every cluster, all alike; parent as `bond_clusters` leaves it."""
    states = uint64(n_states)
    spare = uint64(0)
    have = False
    for i in range(parent.size):
        root = parent[i]
        if root != i:
            state[i] = state[root]
            continue
        if have:
            draw = spare & uint64(0xFFFFFFFF)
            have = False
        else:
            spare = next_u64(stream)
            draw = spare >> uint64(32)
            have = True
        state[i] = np.int8((draw * states) >> uint64(32))


@njit(cache=True, nogil=True)
def sweep_apart(state, n_states, edge_u, edge_v, thresholds, parent, stream, n_sweeps):
    """Sweeps of which nothing is kept but the state; arguments as in `count_shared`."""
    for _ in range(n_sweeps):
        bond_clusters(state, edge_u, edge_v, thresholds, parent, stream)
        redraw_clusters(state, n_states, parent, stream)


@njit(cache=True, nogil=True)
def count_shared(
    state, n_states, edge_u, edge_v, couplings, thresholds, parent, stream, counts, energies
):
    """Sweeps; adds to `counts` how often the ends of every edge shared a cluster.

    Parameters
    ----------
    state : int8 [n]
    edge_u, edge_v : uint32 [m], u < v
    couplings : float64 [m], >= 0
    thresholds : uint32 [m], 2^32 times the bond probability 1 - exp(-beta J)
    parent : int32 [n], overwritten
    counts : uint16 [m]
    energies : float64 [sweeps], overwritten: sum_e J_e [s_u != s_v] after each of them
    """
    for sweep in range(energies.size):
        bond_clusters(state, edge_u, edge_v, thresholds, parent, stream)
        redraw_clusters(state, n_states, parent, stream)
        energy = 0.0
        for e in range(edge_u.size):
            u = edge_u[e]
            v = edge_v[e]
            counts[e] += np.uint16(parent[u] == parent[v])
            energy += couplings[e] * (state[u] != state[v])
        energies[sweep] = energy
