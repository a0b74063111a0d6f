"""Swendsen-Wang sweeps of many walkers, each at its own level of a temperature ladder."""

from __future__ import annotations

from numba import njit

from spinlearn.kernels.cluster import bond_clusters, relabel_clusters


@njit(cache=True, nogil=True)
def sweep_clusters(
    states,
    levels,
    betas,
    thresholds,
    edge_u,
    edge_v,
    fields,
    field_nodes,
    parent,
    law_row,
    law,
    streams,
    n_sweeps,
):
    """Cluster updates of free nodes; arguments as in `bond_clusters` and `relabel_clusters`.

    states : int8 [R, n_free]; levels : int32 [R]; betas : float64 [K]; thresholds : uint32 [K, m]
    """
    for walker in range(states.shape[0]):
        level = levels[walker]
        state = states[walker]
        for _ in range(n_sweeps):
            bond_clusters(state, edge_u, edge_v, thresholds[level], parent, streams)
            relabel_clusters(
                state, parent, fields, field_nodes, betas[level], law_row, law, streams
            )
