"""Maximum flows with real capacities, and the moves by cuts made of them.

*Maximum flow* by two search trees, one from each terminal, kept from one augmentation to the next.
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

Arcs lie in CSR order: those out of node i are rows arc_ptr[i]:arc_ptr[i + 1] of `arcs`, each the
node it leads to and its slot in `capacity`. An arc and its opposite share a pair of slots, s and
s ^ 1, so that a step along a path touches two places in memory: the link of the node, and the pair.

*Binary moves*: every node of a labelling chooses between two states of its own. Node i takes
zero[i] (x_i = 0, source side) or one[i] (x_i = 1, sink side); nodes whose two states are equal take
no part. With A, B, C, D the pair costs of (x_i, x_j) = 00, 01, 10, 11,

    cost = A + (C + D - A - B) / 2 x_i + (B + D - A - C) / 2 x_j + (B + C - A - D) / 2 |x_i - x_j|

which is a cut if B + C >= A + D: undirected capacities (B + C - A - D) / 2 and terminal capacities
(> 0 from the source, < 0 to the sink). Kolmogorov & Zabih, IEEE PAMI 26, 147 (2004).

Moves see the graph with its nodes renumbered, so that neighbours lie close in memory; the network
holds only the nodes that take part.
"""

from __future__ import annotations

import numpy as np
from numba import njit

UNDECIDED = np.int8(0)  # values of `tree`
SOURCE = np.int8(1)
SINK = np.int8(2)

_NO_PARENT = np.int32(-1)  # values of links[:, 0] that are no node
_ROOT = np.int32(-2)
_ORPHAN = np.int32(-3)
_FAR = np.int32(2**31 - 1)


@njit(cache=True, nogil=True)
def _distance_to_root(node, links, marks, now):
    """Arcs from a node to its terminal, or _FAR below an orphan; stamps what it has verified."""
    steps = np.int32(0)
    j = node
    while True:
        if marks[j, 0] == now:
            steps += marks[j, 1]
            break
        steps += np.int32(1)
        up = links[j, 0]
        if up == _ROOT:
            marks[j, 0] = now
            marks[j, 1] = 1
            break
        if up < 0:
            return _FAR
        j = up
    left, j = steps, node
    while marks[j, 0] != now:
        marks[j, 0] = now
        marks[j, 1] = left
        left -= np.int32(1)
        j = links[j, 0]
    return steps


@njit(cache=True, nogil=True)
def max_flow(
    arc_ptr, arcs, capacity, terminal, tolerance, tree, links, marks, queue, queued, orphans
):
    """Push a maximum flow; the value it adds.

    arc_ptr [n + 1] and arcs [A, 2] as above; capacity by slot, >= 0, becomes the residual one;
    terminal [n] is that from the source (> 0) or to the sink (< 0), in place; tree [n] is filled.
    The rest is work space: links [n, 2] parent and slot of the arc to it; marks [n, 2] number of
    the last augmentation that verified the distance to the root, and that distance.
    """
    n = terminal.size
    n_active = 0
    for i in range(n):
        queued[i] = False
        marks[i, 0] = 0
        if terminal[i] > tolerance:
            tree[i] = SOURCE
        elif terminal[i] < -tolerance:
            tree[i] = SINK
        else:
            tree[i] = UNDECIDED
            links[i, 0] = _NO_PARENT
            continue
        links[i, 0] = _ROOT
        marks[i, 1] = 1
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
        arc, end = arc_ptr[p], arc_ptr[p + 1]
        while arc < end:
            side = tree[p]
            if side == UNDECIDED:
                break  # lost its tree in an adoption; whoever takes it in activates it again
            # Capacity counts from the source tree outwards, into the sink tree inwards.
            away = 0 if side == SOURCE else 1
            # -- grow: the next arc of p that leads to the other tree --
            met = False
            while arc < end:
                r = arcs[arc, 0]
                other = tree[r]
                if other != side:
                    slot = arcs[arc, 1]
                    if capacity[slot ^ away] > tolerance:
                        if other != UNDECIDED:
                            met = True
                            break
                        tree[r] = side
                        links[r, 0] = p
                        links[r, 1] = slot ^ 1
                        marks[r, 0] = marks[p, 0]
                        marks[r, 1] = marks[p, 1] + 1
                        if not queued[r]:
                            queued[r] = True
                            queue[write] = r
                            write += 1
                            if write == n:
                                write = 0
                            n_active += 1
                elif (
                    marks[r, 0] <= marks[p, 0]
                    and marks[r, 1] > marks[p, 1] + 1
                    and links[r, 0] >= 0
                ):
                    slot = arcs[arc, 1]
                    if capacity[slot ^ away] > tolerance:  # a shorter way to the root
                        links[r, 0] = p
                        links[r, 1] = slot ^ 1
                        marks[r, 0] = marks[p, 0]
                        marks[r, 1] = marks[p, 1] + 1
                arc += 1
            if not met:
                break

            # -- augment along source ... from_source - to_sink ... sink --
            middle = arcs[arc, 1] ^ away
            if side == SOURCE:
                from_source, to_sink = p, arcs[arc, 0]
            else:
                from_source, to_sink = arcs[arc, 0], p
            push = capacity[middle]
            for half in range(2):  # that of the source, and that of the sink
                i = to_sink if half else from_source
                while links[i, 0] >= 0:
                    push = min(push, capacity[links[i, 1] ^ 1 ^ half])
                    i = links[i, 0]
                push = min(push, abs(terminal[i]))

            n_orphans = 0
            capacity[middle] -= push
            capacity[middle ^ 1] += push
            for half in range(2):
                i = to_sink if half else from_source
                while links[i, 0] >= 0:
                    up = links[i, 0]
                    slot = links[i, 1] ^ 1 ^ half
                    capacity[slot] -= push
                    capacity[slot ^ 1] += push
                    if capacity[slot] <= tolerance:
                        links[i, 0] = _ORPHAN
                        orphans[n_orphans] = i
                        n_orphans += 1
                    i = up
                terminal[i] += push if half else -push
                if abs(terminal[i]) <= tolerance:
                    links[i, 0] = _ORPHAN
                    orphans[n_orphans] = i
                    n_orphans += 1
            flow += push

            # -- adopt, those near the roots first: the others may hang on them --
            for k in range(n_orphans // 2):
                last = n_orphans - 1 - k
                orphans[k], orphans[last] = orphans[last], orphans[k]
            now += np.int32(1)
            first = 0
            while n_orphans > 0:
                o = orphans[first]
                first += 1
                if first == n:
                    first = 0
                n_orphans -= 1
                own = tree[o]
                towards = 1 if own == SOURCE else 0  # flow comes from the source, goes to the sink
                nearest = _FAR
                links[o, 0] = _NO_PARENT
                for a in range(arc_ptr[o], arc_ptr[o + 1]):
                    r = arcs[a, 0]
                    if tree[r] == own and capacity[arcs[a, 1] ^ towards] > tolerance:
                        steps = _distance_to_root(r, links, marks, now)
                        if steps < nearest:
                            nearest = steps
                            links[o, 0] = r
                            links[o, 1] = arcs[a, 1]
                if nearest < _FAR:
                    marks[o, 0] = now
                    marks[o, 1] = nearest + 1
                    continue
                for a in range(arc_ptr[o], arc_ptr[o + 1]):
                    r = arcs[a, 0]
                    if tree[r] != own:
                        continue
                    # The neighbour may take the node in again.
                    if not queued[r] and capacity[arcs[a, 1] ^ towards] > tolerance:
                        queued[r] = True
                        queue[write] = r
                        write += 1
                        if write == n:
                            write = 0
                        n_active += 1
                    if links[r, 0] == o:
                        links[r, 0] = _ORPHAN
                        place = first + n_orphans
                        if place >= n:
                            place -= n
                        orphans[place] = r
                        n_orphans += 1
                tree[o] = UNDECIDED
    return flow


@njit(cache=True, nogil=True)
def renumber(
    order, arc_ptr, heads, edge_ids, couplings, rank, first_place, new_ptr, new_arcs, new_couplings
):
    """The graph with node order[k] as node k, slots of pairs 2k, 2k + 1: fills the last three."""
    for k in range(order.size):
        rank[order[k]] = k
    first_place[:] = -1
    count, n_pairs = 0, 0
    for k in range(order.size):
        new_ptr[k] = count
        i = order[k]
        for a in range(arc_ptr[i], arc_ptr[i + 1]):
            e = edge_ids[a]
            new_arcs[count, 0] = rank[heads[a]]
            other = first_place[e]
            if other < 0:
                first_place[e] = count
                new_couplings[count] = couplings[e]
                new_arcs[count, 1] = 2 * n_pairs
                n_pairs += 1
            else:  # close in memory
                new_couplings[count] = new_couplings[other]
                new_arcs[count, 1] = new_arcs[other, 1] + 1
            count += 1
    new_ptr[order.size] = count


@njit(cache=True, nogil=True)
def build_network(
    arc_ptr, arcs, couplings, pair_cost, fields, zero, one, local, members, network_ptr,
    network_arcs, capacity, terminal,
):  # fmt: skip
    """Fill the network of a move; the number of its nodes and the weight of the all-zero cut.

    `members` are the nodes that have a choice; network and terminals are theirs, in local numbers.
    """
    n_members = 0
    for i in range(zero.size):
        if zero[i] != one[i]:
            members[n_members] = i
            local[i] = n_members
            n_members += 1
    count, all_zero = 0, 0.0
    for k in range(n_members):
        network_ptr[k] = count
        i = members[k]
        z = zero[i]
        o = one[i]
        towards_zero = fields[i, o] - fields[i, z]
        for a in range(arc_ptr[i], arc_ptr[i + 1]):
            head = arcs[a, 0]
            other_z = zero[head]
            other_o = one[head]
            to_zero = pair_cost[o, other_z] - pair_cost[z, other_z]  # C - A
            if other_z == other_o:
                towards_zero += couplings[a] * to_zero
                continue
            to_one = pair_cost[o, other_o] - pair_cost[z, other_o]  # D - B
            towards_zero += 0.5 * couplings[a] * (to_zero + to_one)
            slot = arcs[a, 1]
            # Below zero by rounding only: the caller has checked the pair costs.
            capacity[slot] = max(0.5 * couplings[a] * (to_zero - to_one), 0.0)
            network_arcs[count, 0] = local[head]
            network_arcs[count, 1] = slot
            count += 1
        terminal[k] = towards_zero
        all_zero += max(-towards_zero, 0.0)
    network_ptr[n_members] = count
    return n_members, all_zero


@njit(cache=True, nogil=True)
def labelling_energy(arc_ptr, arcs, couplings, pair_cost, fields, states):
    """E(s), every edge counted from its lower end."""
    total = 0.0
    for i in range(states.size):
        s = states[i]
        own = fields[i, s]
        for a in range(arc_ptr[i], arc_ptr[i + 1]):
            head = arcs[a, 0]
            if head > i:
                own += couplings[a] * pair_cost[s, states[head]]
        total += own
    return total
