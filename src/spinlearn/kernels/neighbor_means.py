"""Sums over the neighbours of every node, edge by edge, without arrays of the size of all edges."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def beside_sums(edges, couplings, member, calls, beside, total):
    """Add |J_ij| member[j, calls[i]] to beside[i] and |J_ij| to total[i], over all neighbours j.

    Parameters
    ----------
    edges : int32 array (m, 2)
    couplings : float array (m,)
    member : float array (n, k)
    calls : int array (n,)
        From 0 to k - 1; others add nothing to `beside`.
    beside, total : float arrays (n,), changed in place
    """
    k = member.shape[1]
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        strength = abs(couplings[e])
        total[u] += strength
        total[v] += strength
        if 0 <= calls[u] < k:
            beside[u] += strength * member[v, calls[u]]
        if 0 <= calls[v] < k:
            beside[v] += strength * member[u, calls[v]]
