"""Exchange of components between two walkers under a term in the sizes of classes.

As `spinlearn.kernels.exchange`, with Potts' pair cost. The pair costs of the two walkers change by
+gain and -gain, their class terms by whatever the sizes that change places make of them, so
components are judged one after the other:

    min(1, exp(-beta_a change_a - beta_b change_b))
"""

from __future__ import annotations

import math

from numba import njit

from spinlearn.kernels.class_clusters import entry_cost, free_volumes
from spinlearn.kernels.rng import below, uniform


@njit(cache=True, nogil=True)
def exchange_class_components(
    state_a,
    state_b,
    beta_a,
    beta_b,
    indptr,
    neighbors,
    weights,
    fields,
    term,
    volumes_a,
    volumes_b,
    shift,
    seen,
    queue,
    counts,
    stream,
):
    """Exchange two walkers component by component of the nodes in which they differ.

    Parameters
    ----------
    volumes_a, volumes_b : float64 [q], class sizes of the walkers, updated
    shift : float64 [q], scratch
    """
    n = seen.size
    q = shift.size
    sizes = term[1]
    for i in range(n):
        seen[i] = state_a[i] == state_b[i]
    for i in range(n):
        if seen[i]:
            continue
        seen[i] = True
        queue[0] = i
        size = 1
        done = 0
        twice = 0.0  # edges inside the component are met from both ends
        for c in range(q):
            shift[c] = 0.0
        while done < size:
            u = queue[done]
            done += 1
            a = state_a[u]
            b = state_b[u]
            shift[a] -= sizes[u]
            shift[b] += sizes[u]
            twice += 2.0 * (fields[u, b] - fields[u, a])
            for t in range(indptr[u], indptr[u + 1]):
                v = neighbors[t]
                x = state_a[v]
                y = state_b[v]
                if x == y:
                    if x == a:
                        twice += 2.0 * weights[t]
                    elif x == b:
                        twice -= 2.0 * weights[t]
                else:
                    if a == x:
                        twice += weights[t]
                    if b == y:
                        twice -= weights[t]
                    if not seen[v]:
                        seen[v] = True
                        queue[size] = v
                        size += 1
        change_a = 0.5 * twice
        change_b = -change_a
        for c in range(q):
            if shift[c] != 0.0:
                change_a += entry_cost(term, c, volumes_a[c], shift[c])
                change_b += entry_cost(term, c, volumes_b[c], -shift[c])
        exponent = -beta_a * change_a - beta_b * change_b
        counts[0] += 1.0
        if exponent >= 0.0 or uniform(stream) < math.exp(exponent):
            counts[1] += 1.0
            for c in range(q):
                volumes_a[c] += shift[c]
                volumes_b[c] -= shift[c]
            for t in range(size):
                u = queue[t]
                state_a[u], state_b[u] = state_b[u], state_a[u]


@njit(cache=True, nogil=True)
def exchange_class_neighbors(
    states,
    order,
    betas,
    low,
    offset,
    indptr,
    neighbors,
    weights,
    fields,
    term,
    held_volumes,
    volumes_a,
    volumes_b,
    shift,
    seen,
    queue,
    counts,
    stream,
):
    """As `spinlearn.kernels.cluster_walkers.exchange_neighbors`, under a term in class sizes."""
    n_places = order.size
    start = below(stream, 2 * offset)
    for base in range(low + start - 2 * offset, n_places - offset, 2 * offset):
        for k in range(max(base, low), min(base + offset, n_places - offset)):
            hot, cold = order[k], order[k + offset]
            free_volumes(states[hot], term, held_volumes, volumes_a)
            free_volumes(states[cold], term, held_volumes, volumes_b)
            exchange_class_components(
                states[hot],
                states[cold],
                betas[k],
                betas[k + offset],
                indptr,
                neighbors,
                weights,
                fields,
                term,
                volumes_a,
                volumes_b,
                shift,
                seen,
                queue,
                counts[hot],
                stream,
            )
