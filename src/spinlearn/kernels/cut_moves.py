"""Networks of binary moves: every node of a labelling chooses between two states of its own.

Node i takes zero[i] (x_i = 0, source side) or one[i] (x_i = 1, sink side); nodes whose two states
are equal take no part. With A, B, C, D the pair costs of (x_i, x_j) = 00, 01, 10, 11,

    cost = A + (C + D - A - B) / 2 x_i + (B + D - A - C) / 2 x_j + (B + C - A - D) / 2 |x_i - x_j|

which is a cut if B + C >= A + D: undirected capacities (B + C - A - D) / 2 and terminal capacities
(> 0 from the source, < 0 to the sink). Kolmogorov & Zabih, IEEE PAMI 26, 147 (2004).

Moves see the graph with its nodes renumbered, so that neighbours lie close in memory; the network
holds only the nodes that take part.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def breadth_first(arc_ptr, heads, seen, order):
    """Nodes in breadth-first order of every part: neighbours come to lie close in memory."""
    seen[:] = False
    count = 0
    for start in range(seen.size):
        if seen[start]:
            continue
        seen[start] = True
        order[count] = start
        read = count
        count += 1
        while read < count:
            i = order[read]
            read += 1
            for a in range(arc_ptr[i], arc_ptr[i + 1]):
                j = heads[a]
                if not seen[j]:
                    seen[j] = True
                    order[count] = j
                    count += 1


@njit(cache=True, nogil=True)
def renumber(
    order, arc_ptr, heads, edge_ids, couplings, rank, first_place, new_ptr, new_arcs, new_couplings
):
    """The graph with node order[k] as node k, as the arcs of a network.

    Arcs are the node that they lead to and their slot: 2k and 2k + 1 for a pair. `rank` [n] and
    `first_place` [m] are work space, the last three are filled.
    """
    for k in range(order.size):
        rank[order[k]] = k
    first_place[:] = -1
    count = 0
    n_pairs = 0
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

    `members` are the nodes that have a choice; network, capacities (by slot of the graph) and
    terminal capacities are theirs, in local numbers. `local` [n] is work space.
    """
    n_members = 0
    for i in range(zero.size):
        if zero[i] != one[i]:
            members[n_members] = i
            local[i] = n_members
            n_members += 1
    count = 0
    all_zero = 0.0
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
