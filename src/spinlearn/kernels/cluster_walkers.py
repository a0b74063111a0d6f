"""Moves of many walkers, each at its own level of a temperature ladder, one after the other.

Letters: R walkers, K levels, n free nodes, m edges between them. `walkers` int64 lists those that
move.
"""

from __future__ import annotations

from numba import njit

from spinlearn.kernels.cluster import (
    add_edge_law,
    add_node_law,
    bond_clusters,
    relabel_clusters,
)
from spinlearn.kernels.exchange import exchange_components
from spinlearn.kernels.node_moves import heat_bath_sweep, metropolis_sweep
from spinlearn.kernels.rng import below


@njit(cache=True, nogil=True)
def sweep_clusters(
    states,
    walkers,
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
    repeats,
    rows,
    node_sums,
    free_sums,
    edge_sums,
):
    """Swendsen-Wang updates; arguments as in `bond_clusters` and `relabel_clusters`.

    Parameters
    ----------
    states : int8 [R, n]; levels : int32 [R]; betas : float64 [K]; thresholds : uint32 [K, m]
    repeats : int64 [R], times that a walker makes `n_sweeps`
    rows : int64 [R], row of the sums to which the improved estimators after each repeat are added,
        < 0 for none
    node_sums, free_sums, edge_sums : float32 [rows, n, q], [rows, n], [rows, m]
    """
    for walker in walkers:
        level = levels[walker]
        state = states[walker]
        row = rows[walker]
        for _ in range(repeats[walker]):
            for _ in range(n_sweeps):
                bond_clusters(state, edge_u, edge_v, thresholds[level], parent, streams)
                relabel_clusters(
                    state, parent, fields, field_nodes, betas[level], law_row, law, streams
                )
            if row >= 0:
                add_node_law(parent, law_row, law, node_sums[row], free_sums[row])
                add_edge_law(parent, law_row, law, edge_u, edge_v, edge_sums[row])


@njit(cache=True, nogil=True)
def sweep_nodes(
    states,
    walkers,
    levels,
    betas,
    heat_bath,
    indptr,
    neighbors,
    weights,
    pair_cost,
    fields,
    tally,
    law,
    stream,
    n_sweeps,
):
    """Heat-bath or Metropolis sweeps; arguments as in `heat_bath_sweep`."""
    q = tally.size
    for walker in walkers:
        state = states[walker]
        beta = betas[levels[walker]]
        for _ in range(n_sweeps):
            if heat_bath:
                heat_bath_sweep(
                    state, indptr, neighbors, weights, pair_cost, fields, beta, tally, law, stream
                )
            else:
                metropolis_sweep(
                    state, q, indptr, neighbors, weights, pair_cost, fields, beta, stream
                )


@njit(cache=True, nogil=True)
def exchange_neighbors(
    states,
    order,
    betas,
    low,
    offset,
    indptr,
    neighbors,
    weights,
    pair_cost,
    fields,
    seen,
    queue,
    counts,
    stream,
):
    """Component exchanges of disjoint pairs of walkers, `offset` places apart in the ladder.

    Parameters
    ----------
    order : int64, the walkers that take part from the hottest to the coldest
    betas : float64, of these places
    low : first place that takes part
    counts : float64 [R, 2], adds components met and exchanged by the hotter walker
    """
    n_places = order.size
    start = below(stream, 2 * offset)
    for base in range(low + start - 2 * offset, n_places - offset, 2 * offset):
        for k in range(max(base, low), min(base + offset, n_places - offset)):
            exchange_components(
                states[order[k]],
                states[order[k + offset]],
                betas[k],
                betas[k + offset],
                indptr,
                neighbors,
                weights,
                pair_cost,
                fields,
                seen,
                queue,
                counts[order[k]],
                stream,
            )
