"""Maximum flow by two search trees, one from each terminal, kept from one augmentation to the next.

Boykov & Kolmogorov, "An experimental comparison of min-cut/max-flow algorithms for energy
minimization in vision", IEEE PAMI 26, 1124 (2004). The source tree holds nodes that the source
reaches by arcs with capacity left, the sink tree nodes that reach the sink:

    grow      an active node takes free neighbours into its tree until it meets the other tree
    augment   push what the path through both trees carries; full arcs cut subtrees loose
    adopt     every orphan looks for a parent in its own tree that is still tied to the root, or
              becomes free and orphans its children

An arc counts as full when its residual capacity is at most `tolerance`. When no node is active any
more, the source tree is *all* that the source reaches, the sink tree all that reaches the sink:
the two extreme minimum cuts. Nodes in neither are on either side in some minimum cut.

Arcs lie in CSR order: those out of node i at arc_ptr[i]:arc_ptr[i + 1]; `reverse` is the position
of the opposite arc, so the pair (a, reverse[a]) is an edge with a capacity in each direction.
"""

from __future__ import annotations

import numpy as np
from numba import njit

UNDECIDED = np.int8(0)  # values of `tree`
SOURCE = np.int8(1)
SINK = np.int8(2)

_NO_PARENT = np.int32(-1)  # values of `parent` that are no arc
_ROOT = np.int32(-2)
_ORPHAN = np.int32(-3)
_FAR = np.int32(2**31 - 1)


@njit(cache=True, nogil=True)
def _distance_to_root(node, heads, parent, stamp, distance, now):
    """Arcs from a node to its terminal, or _FAR below an orphan; stamps what it has verified."""
    steps = np.int32(0)
    j = node
    while True:
        if stamp[j] == now:
            steps += distance[j]
            break
        arc = parent[j]
        steps += np.int32(1)
        if arc == _ROOT:
            stamp[j] = now
            distance[j] = 1
            break
        if arc < 0:
            return _FAR
        j = heads[arc]
    left = steps
    j = node
    while stamp[j] != now:
        stamp[j] = now
        distance[j] = left
        left -= np.int32(1)
        j = heads[parent[j]]
    return steps


@njit(cache=True, nogil=True)
def max_flow(
    arc_ptr, heads, reverse, capacity, terminal, tolerance, tree, parent, stamp, distance, queue,
    queued, orphans,
):  # fmt: skip
    """Push a maximum flow; the value it adds.

    Parameters
    ----------
    arc_ptr : int32 [n + 1]
    heads, reverse : int32 [A]
    capacity : float64 [A], >= 0; becomes the residual capacity
    terminal : float64 [n], residual capacity from the source (> 0) or to the sink (< 0); in place
    tolerance : float, residual capacities up to this count as zero
    tree : int8 [n], out: SOURCE, SINK or UNDECIDED
    parent, stamp, distance : int32 [n], work
    queue, orphans : int32 [n], work
    queued : bool [n], work
    """
    n = terminal.size
    n_active = 0
    for i in range(n):
        queued[i] = False
        stamp[i] = 0
        if terminal[i] > tolerance:
            tree[i] = SOURCE
        elif terminal[i] < -tolerance:
            tree[i] = SINK
        else:
            tree[i] = UNDECIDED
            parent[i] = _NO_PARENT
            continue
        parent[i] = _ROOT
        distance[i] = 1
        queue[n_active] = i
        queued[i] = True
        n_active += 1
    read = 0
    write = n_active % max(n, 1)
    flow = 0.0
    now = np.int32(0)

    while n_active > 0:
        p = queue[read]
        read += 1
        if read == n:
            read = 0
        n_active -= 1
        queued[p] = False
        arc = arc_ptr[p]
        end = arc_ptr[p + 1]
        while arc < end:
            side = tree[p]
            if side == UNDECIDED:
                break  # lost its tree in an adoption; whoever takes it in activates it again
            # -- grow: the next arc of p that leads to the other tree --
            met = False
            while arc < end:
                r = heads[arc]
                other = tree[r]
                if other != side:
                    left = capacity[arc] if side == SOURCE else capacity[reverse[arc]]
                    if left > tolerance:
                        if other != UNDECIDED:
                            met = True
                            break
                        tree[r] = side
                        parent[r] = reverse[arc]
                        stamp[r] = stamp[p]
                        distance[r] = distance[p] + 1
                        if not queued[r]:
                            queued[r] = True
                            queue[write] = r
                            write += 1
                            if write == n:
                                write = 0
                            n_active += 1
                elif stamp[r] <= stamp[p] and distance[r] > distance[p] + 1 and parent[r] >= 0:
                    left = capacity[arc] if side == SOURCE else capacity[reverse[arc]]
                    if left > tolerance:  # a shorter way to the root
                        parent[r] = reverse[arc]
                        stamp[r] = stamp[p]
                        distance[r] = distance[p] + 1
                arc += 1
            if not met:
                break

            # -- augment along source ... p - r ... sink --
            middle = arc if side == SOURCE else reverse[arc]
            from_source = heads[reverse[middle]]
            to_sink = heads[middle]
            push = capacity[middle]
            i = from_source
            while parent[i] >= 0:
                push = min(push, capacity[reverse[parent[i]]])
                i = heads[parent[i]]
            push = min(push, terminal[i])
            i = to_sink
            while parent[i] >= 0:
                push = min(push, capacity[parent[i]])
                i = heads[parent[i]]
            push = min(push, -terminal[i])

            n_orphans = 0
            capacity[middle] -= push
            capacity[reverse[middle]] += push
            i = from_source
            while parent[i] >= 0:
                up = parent[i]
                down = reverse[up]
                capacity[up] += push
                capacity[down] -= push
                following = heads[up]
                if capacity[down] <= tolerance:
                    parent[i] = _ORPHAN
                    orphans[n_orphans] = i
                    n_orphans += 1
                i = following
            terminal[i] -= push
            if terminal[i] <= tolerance:
                parent[i] = _ORPHAN
                orphans[n_orphans] = i
                n_orphans += 1
            i = to_sink
            while parent[i] >= 0:
                up = parent[i]
                capacity[reverse[up]] += push
                capacity[up] -= push
                following = heads[up]
                if capacity[up] <= tolerance:
                    parent[i] = _ORPHAN
                    orphans[n_orphans] = i
                    n_orphans += 1
                i = following
            terminal[i] += push
            if terminal[i] >= -tolerance:
                parent[i] = _ORPHAN
                orphans[n_orphans] = i
                n_orphans += 1
            flow += push

            # -- adopt, those near the roots first: others may hang on them --
            orphans[:n_orphans] = orphans[:n_orphans][::-1].copy()
            now += np.int32(1)
            first = 0
            while n_orphans > 0:
                o = orphans[first]
                first += 1
                if first == n:
                    first = 0
                n_orphans -= 1
                own = tree[o]
                best = _NO_PARENT
                nearest = _FAR
                for a in range(arc_ptr[o], arc_ptr[o + 1]):
                    r = heads[a]
                    if tree[r] == own:
                        left = capacity[reverse[a]] if own == SOURCE else capacity[a]
                        if left > tolerance:
                            away = _distance_to_root(r, heads, parent, stamp, distance, now)
                            if away < nearest:
                                nearest = away
                                best = np.int32(a)
                parent[o] = best
                if best >= 0:
                    stamp[o] = now
                    distance[o] = nearest + 1
                    continue
                for a in range(arc_ptr[o], arc_ptr[o + 1]):
                    r = heads[a]
                    if tree[r] == own and parent[r] != _NO_PARENT:
                        left = capacity[reverse[a]] if own == SOURCE else capacity[a]
                        if left > tolerance and not queued[r]:  # may take the node in again
                            queued[r] = True
                            queue[write] = r
                            write += 1
                            if write == n:
                                write = 0
                            n_active += 1
                        if parent[r] >= 0 and heads[parent[r]] == o:
                            parent[r] = _ORPHAN
                            place = first + n_orphans
                            if place >= n:
                                place -= n
                            orphans[place] = r
                            n_orphans += 1
                tree[o] = UNDECIDED
    return flow
