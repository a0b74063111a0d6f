"""Sweeps of belief propagation for any pair cost at any temperature, zero included.

A message is kept as two numbers a state, m(s) = exp(l(s) - e(s)/T), the energy e apart from the
logarithm l of a count, so that at T = 0 minima and the number of ways to reach them are both exact:

    H_k(s) = phi_i(s) prod_{l != k} m_l(s)              of node i without its k-th neighbour
    m(s)   = sum_{s'} exp(-J cost(s', s)/T) H_k(s')     what goes to that neighbour

Energies that differ by less than `resolution` count as equal. The smallest energy of a message is
0, and the largest l among the states that have it. Slots and the class term as a field are those of
`spinlearn.kernels.message_sweeps`.
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, nogil=True)
def _added(energies, logs, beta, resolution):
    """(e, l) with exp(l - beta e) = sum_s exp(logs[s] - beta energies[s]), e the least energy."""
    least = energies.min()
    most = -math.inf
    for s in range(len(energies)):
        gap = energies[s] - least
        drop = logs[s] - (beta * gap if gap > resolution else 0.0)
        most = max(most, drop)
    total = 0.0
    for s in range(len(energies)):
        gap = energies[s] - least
        total += math.exp(logs[s] - (beta * gap if gap > resolution else 0.0) - most)
    return least, most + math.log(total)


@njit(cache=True, nogil=True)
def _normalised(energies, logs, resolution):
    """Subtract the least energy, and the largest logarithm among the states that have it."""
    least = energies.min()
    top = -math.inf
    for s in range(len(energies)):
        energies[s] -= least
        if energies[s] <= resolution:
            top = max(top, logs[s])
    for s in range(len(logs)):
        logs[s] -= top


@njit(cache=True, nogil=True)
def node_total(
    i, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs, energy,
    log_count,
):  # fmt: skip
    """Field and messages of node i added up, into `energy` and `log_count` (q,)."""
    for s in range(len(energy)):
        energy[s] = fields[i, s]
        log_count[s] = 0.0
        if coefficient != 0.0:
            a = sizes[i]
            energy[s] += coefficient * a * (volumes[s] - a * beliefs[i, s] - targets[s])
    for k in range(indptr[i], indptr[i + 1]):
        for s in range(len(energy)):
            energy[s] += energies[k, s]
            log_count[s] += logs[k, s]


@njit(cache=True, nogil=True)
def law(energies, logs, beta, resolution, probabilities):
    """The law ~ exp(l - beta e), and (e, l) of its normalisation."""
    least, log_sum = _added(energies, logs, beta, resolution)
    for s in range(len(energies)):
        gap = energies[s] - least
        probabilities[s] = math.exp(logs[s] - (beta * gap if gap > resolution else 0.0) - log_sum)
    return least, log_sum


@njit(cache=True, nogil=True)
def sweep_tables(
    forth, beta, tol, resolution, indptr, reverse, couplings, pair_cost, fields, coefficient, sizes,
    targets, volumes, energies, logs, beliefs, work, damping, movement,
):  # fmt: skip
    """Update all nodes in their order, or backwards.

    `couplings` are J by slot; `energies` and `logs` the messages (slots, q); `work` is a float
    array (9, q). `movement` is set to the largest change of ln m, at most 1, and to that less tol.
    """
    q = len(pair_cost)
    total_e, total_l, cavity_e, cavity_l = work[0], work[1], work[2], work[3]
    sum_e, sum_l, new_e, new_l, belief = work[4], work[5], work[6], work[7], work[8]
    moved = 0.0
    n = len(indptr) - 1
    for at in range(n):
        i = at if forth else n - 1 - at
        node_total(
            i, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs,
            total_e, total_l,
        )  # fmt: skip
        for k in range(indptr[i], indptr[i + 1]):
            for s in range(q):
                cavity_e[s] = total_e[s] - energies[k, s]
                cavity_l[s] = total_l[s] - logs[k, s]
            for s in range(q):
                for other in range(q):
                    sum_e[other] = cavity_e[other] + couplings[k] * pair_cost[other, s]
                    sum_l[other] = cavity_l[other]
                new_e[s], new_l[s] = _added(sum_e, sum_l, beta, resolution)
            _normalised(new_e, new_l, resolution)
            back = reverse[k]
            for s in range(q):
                new_e[s] += damping * (energies[back, s] - new_e[s])
                new_l[s] += damping * (logs[back, s] - new_l[s])
                gap = abs(new_e[s] - energies[back, s])
                change = abs(new_l[s] - logs[back, s])
                change += beta * gap if gap > resolution else 0.0
                moved = max(moved, min(change, 1.0))
                energies[back, s], logs[back, s] = new_e[s], new_l[s]
        law(total_e, total_l, beta, resolution, belief)
        for s in range(q):
            volumes[s] += sizes[i] * (belief[s] - beliefs[i, s])
            beliefs[i, s] = belief[s]
    movement[0], movement[1] = moved, moved - tol


@njit(cache=True, nogil=True)
def table_node_sums(
    beta, resolution, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs,
    total_e, total_l, new_beliefs, least, log_sums,
):  # fmt: skip
    """All that acts on every node and its belief, (n, q); (e, l) of its normalisation, (n,)."""
    for i in range(len(indptr) - 1):
        node_total(
            i, indptr, fields, coefficient, sizes, targets, volumes, energies, logs, beliefs,
            total_e[i], total_l[i],
        )  # fmt: skip
        least[i], log_sums[i] = law(total_e[i], total_l[i], beta, resolution, new_beliefs[i])


@njit(cache=True, nogil=True)
def table_edge_sums(
    beta, resolution, u, v, at_u, at_v, couplings, pair_cost, energies, logs, total_e, total_l,
    table_e, table_l, pair, agreement, pair_energy, least, log_sums,
):  # fmt: skip
    """Agreement, mean pair energy, and (e, l) of the normalisation of every edge, (m,) each.

    `table_*` and `pair` (q * q,) are scratch; the law p(s_u, s_v) of the last edge is left in
    `pair`.
    """
    q = len(pair_cost)
    for e in range(len(u)):
        i, j, k, back = u[e], v[e], at_u[e], at_v[e]
        for s in range(q):
            for other in range(q):
                table_e[s * q + other] = (
                    total_e[i, s] - energies[k, s] + total_e[j, other] - energies[back, other]
                    + couplings[k] * pair_cost[s, other]
                )  # fmt: skip
                table_l[s * q + other] = (
                    total_l[i, s] - logs[k, s] + total_l[j, other] - logs[back, other]
                )
        least[e], log_sums[e] = law(table_e, table_l, beta, resolution, pair)
        agreement[e], pair_energy[e] = 0.0, 0.0
        for s in range(q):
            agreement[e] += pair[s * q + s]
            for other in range(q):
                pair_energy[e] += pair[s * q + other] * couplings[k] * pair_cost[s, other]
