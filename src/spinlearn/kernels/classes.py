"""Moves of all walkers of any model, one walker after the other.

The moves are those of `spinlearn.kernels.class_moves`, the energies are theirs too, down to the
rounding. Letters: n nodes, q states, R walkers.
"""

from __future__ import annotations

from numba import njit

from spinlearn.kernels.class_moves import cluster_flip, node_sweep, region_swap
from spinlearn.kernels.class_term import class_cost, class_totals
from spinlearn.kernels.rng import below


@njit(cache=True, nogil=True)
def sweep_walkers(
    states,
    betas,
    free,
    held,
    indptr,
    neighbors,
    weights,
    cut_weights,
    bond_weights,
    pair_cost,
    potts,
    fields,
    term,
    volumes,
    cuts,
    tally,
    cost,
    mark,
    queue,
    stream,
    n_sweeps,
    n_flips,
):
    """Sweeps of every walker int8 [R, n] at its beta: all nodes, then `n_flips` cluster flips."""
    for walker in range(states.shape[0]):
        state = states[walker]
        beta = betas[walker]
        # Afresh in every call, so that rounding errors of the running sums cannot pile up.
        if term[0] != 0:
            class_totals(state, term, indptr, neighbors, cut_weights, volumes, cuts)
        for _ in range(n_sweeps):
            node_sweep(
                state,
                free,
                indptr,
                neighbors,
                weights,
                cut_weights,
                pair_cost,
                potts,
                fields,
                beta,
                term,
                volumes,
                cuts,
                tally,
                cost,
                stream,
            )
            if free.size == 0:
                continue
            for _flip in range(n_flips):
                cluster_flip(
                    state,
                    free,
                    held,
                    indptr,
                    neighbors,
                    weights,
                    cut_weights,
                    bond_weights,
                    pair_cost,
                    fields,
                    beta,
                    term,
                    volumes,
                    cuts,
                    mark,
                    queue,
                    stream,
                )


@njit(cache=True, nogil=True)
def swap_regions(
    states,
    betas,
    region_ptr,
    region_nodes,
    indptr,
    neighbors,
    weights,
    cut_weights,
    pair_cost,
    fields,
    term,
    volumes,
    cuts,
    mark,
    stream,
    n_tries,
    accepted_count,
):
    """Region moves of every walker, each with regions of its own draw (int64 [G + 1], int32)."""
    for walker in range(states.shape[0]):
        state = states[walker]
        if term[0] != 0:
            class_totals(state, term, indptr, neighbors, cut_weights, volumes, cuts)
        for _ in range(n_tries):
            g = below(stream, region_ptr.size - 1)
            accepted_count[g] += region_swap(
                state,
                region_nodes[region_ptr[g] : region_ptr[g + 1]],
                indptr,
                neighbors,
                weights,
                cut_weights,
                pair_cost,
                fields,
                betas[walker],
                term,
                volumes,
                cuts,
                mark,
                stream,
            )


@njit(cache=True, nogil=True)
def energies_of(
    states,
    indptr,
    neighbors,
    weights,
    cut_weights,
    pair_cost,
    fields,
    term,
    volumes,
    cuts,
    energies,
):
    """E of every walker, float64 [R]."""
    for walker in range(states.shape[0]):
        state = states[walker]
        energy = 0.0
        for i in range(indptr.size - 1):
            s = state[i]
            energy += fields[i, s]
            for t in range(indptr[i], indptr[i + 1]):
                j = neighbors[t]
                if j > i:
                    energy += weights[t] * pair_cost[s, state[j]]
        if term[0] != 0:
            class_totals(state, term, indptr, neighbors, cut_weights, volumes, cuts)
            for c in range(volumes.size):
                energy += class_cost(term, c, volumes[c], cuts[c])
        energies[walker] = energy
