"""Connected parts of a graph given as a list of edges, by joining trees (union-find)."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def connect(edges, part):
    """Number the parts in the order of their first nodes; returns how many there are.

    Parameters
    ----------
    edges : int32 array (m, 2)
    part : int32 array (n,), filled
    """
    n = len(part)
    for i in range(n):
        part[i] = i
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        while part[a] != a:
            part[a] = part[part[a]]
            a = part[a]
        while part[b] != b:
            part[b] = part[part[b]]
            b = part[b]
        if a < b:
            part[b] = a
        elif b < a:
            part[a] = b
    # Roots are the lowest nodes of their parts, and what leads to them lies lower: one pass.
    count = 0
    for i in range(n):
        if part[i] == i:
            part[i] = -1 - count
            count += 1
        else:
            part[i] = part[part[i]]
    for i in range(n):
        part[i] = -1 - part[i]
    return count
