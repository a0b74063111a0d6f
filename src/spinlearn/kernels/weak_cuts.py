"""The weakest cut of a group of points, by Fiedler's vector; see `spinlearn.default.forest`.

The second eigenvector of the normalised adjacency N = D^-1/2 J D^-1/2 of a connected group is the
first one on what is orthogonal to sqrt(d), which N leaves as it is. Lanczos steps find it,

    b_k v_k+1 = N v_k - a_k v_k - b_k-1 v_k-1,

as V y with y the vector of the largest eigenvalue of the tridiagonal matrix of a and b. What was
found is not taken off again at every step: rounding brings it back only once it has converged,
and then the search ends.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MOST_STEPS = 100
LOOK = 8  # steps between two looks at how far it has come
BISECTIONS = 60
GONE = 1e-10  # b below which nothing is left to find


@njit(cache=True, nogil=True)
def _below(a, b, count, value):
    """How many eigenvalues of the tridiagonal matrix lie below a value."""
    number, pivot = 0, 1.0
    for k in range(count):
        square = b[k - 1] * b[k - 1] if k else 0.0
        pivot = a[k] - value - square / pivot
        if pivot == 0.0:
            pivot = 1e-300
        if pivot < 0.0:
            number += 1
    return number


@njit(cache=True, nogil=True)
def _top(a, b, count, low, y, work):
    """Largest eigenvalue, at least `low`, of a tridiagonal matrix, and its vector y."""
    high = low
    for k in range(count):
        reach = a[k] + (b[k] if k + 1 < count else 0.0) + (b[k - 1] if k else 0.0)
        high = max(high, reach)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if _below(a, b, count, middle) == count:
            high = middle
        else:
            low = middle
    # Inverse iteration just above the eigenvalue: all pivots of T - high are negative.
    for k in range(count):
        y[k] = 1.0
    shift = high + 1e-14 * max(abs(high), 1e-3)
    for _ in range(3):
        pivot = a[0] - shift
        work[0] = pivot
        for k in range(1, count):
            factor = b[k - 1] / pivot
            y[k] -= factor * y[k - 1]
            pivot = a[k] - shift - factor * b[k - 1]
            if pivot == 0.0:
                pivot = -1e-300
            work[k] = pivot
        y[count - 1] /= work[count - 1]
        most = abs(y[count - 1])
        for k in range(count - 2, -1, -1):
            y[k] = (y[k] - b[k] * y[k + 1]) / work[k]
            most = max(most, abs(y[k]))
        for k in range(count):
            y[k] /= most
    norm = 0.0
    for k in range(count):
        norm += y[k] * y[k]
    norm = math.sqrt(norm)
    for k in range(count):
        y[k] /= norm
    return low


@njit(cache=True, nogil=True)
def _second_vector(indptr, indices, values, roots, tolerance, basis, found):
    """Fiedler's vector of a connected group, up to a factor, into `found`.

    `values` are those of N, `roots` the square roots of the degrees, `basis` (MOST_STEPS + 1, n)
    scratch.
    """
    n = len(roots)
    length = 0.0
    for i in range(n):
        length += roots[i] * roots[i]
    a, b = np.zeros(MOST_STEPS), np.zeros(MOST_STEPS)
    y, work = np.empty(MOST_STEPS), np.empty(MOST_STEPS)
    along, norm = 0.0, 0.0
    for i in range(n):
        basis[0, i] = roots[i] * (i / n - 0.5 + 0.01 * math.cos(i))
        along += basis[0, i] * roots[i]
    for i in range(n):
        basis[0, i] -= along / length * roots[i]
        norm += basis[0, i] * basis[0, i]
    for i in range(n):
        basis[0, i] /= math.sqrt(norm)
    most, low, step = min(MOST_STEPS, n - 1), -1.0, 0
    for step in range(most):
        v, new = basis[step], basis[step + 1]
        along, dot = 0.0, 0.0
        before = b[step - 1] if step else 0.0
        earlier = basis[step - 1] if step else v
        for i in range(n):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                total += values[k] * v[indices[k]]
            new[i] = total - before * earlier[i]
            along += new[i] * roots[i]
            dot += new[i] * v[i]
        a[step], norm, along = dot, 0.0, along / length
        for i in range(n):
            new[i] -= dot * v[i] + along * roots[i]
            norm += new[i] * new[i]
        b[step] = math.sqrt(norm)
        ended = b[step] < GONE or step + 1 == most
        if ended or step % LOOK == LOOK - 1:
            low = _top(a, b, step + 1, low, y, work)
            if ended or b[step] * abs(y[step]) <= tolerance:
                break
        for i in range(n):
            new[i] /= b[step]
    for i in range(n):
        found[i] = 0.0
    for k in range(step + 1):
        for i in range(n):
            found[i] += y[k] * basis[k, i]


@njit(cache=True, nogil=True)
def weakest_cuts(indptr, indices, data, begins, ends, fewest, least_part, tolerance):
    """Summed coupling across the weakest cut of every run of nodes, 0 where a run is too small.

    The matrix is symmetric, in rows, its diagonal counts for degrees. Of a run in several pieces
    the largest is looked at; with fewer nodes than `fewest` it is too small. The smaller part of a
    cut has at least the share `least_part` of the volume, or as much as there can be. N v - lambda
    v is at most as long as the `tolerance`.
    """
    cuts = np.zeros(len(begins))
    largest = 0
    for run in range(len(begins)):
        largest = max(largest, ends[run] - begins[run])
    piece, place = np.empty(largest, np.int32), np.empty(largest, np.int32)
    queue = np.empty(largest, np.int32)
    basis = np.empty((min(MOST_STEPS, max(largest, 1)) + 1) * max(largest, 1))
    for run in range(len(begins)):
        begin, end = begins[run], ends[run]
        size = end - begin
        # The largest piece: the first of equals.
        piece[:size] = -1
        n_pieces, best, n = 0, 0, 0
        for start in range(size):
            if piece[start] >= 0:
                continue
            piece[start], queue[0], first, last = n_pieces, start, 0, 1
            while first < last:
                i = begin + queue[first]
                first += 1
                for k in range(indptr[i], indptr[i + 1]):
                    j = indices[k] - begin
                    if 0 <= j < size and piece[j] < 0 and data[k] > 0:
                        piece[j], queue[last] = n_pieces, j
                        last += 1
            if last > n:
                best, n = n_pieces, last
            n_pieces += 1
        if n < fewest:
            continue
        count, slots = 0, 0
        for start in range(size):
            if piece[start] == best:
                place[start] = count
                count += 1
                slots += indptr[begin + start + 1] - indptr[begin + start]
        first_of, column = np.empty(n + 1, np.int64), np.empty(slots, np.int32)
        weight, degrees = np.empty(slots), np.zeros(n)
        count, slots = 0, 0
        for start in range(size):
            if piece[start] != best:
                continue
            first_of[count] = slots
            for k in range(indptr[begin + start], indptr[begin + start + 1]):
                j = indices[k] - begin
                if 0 <= j < size and piece[j] == best:
                    column[slots], weight[slots] = place[j], data[k]
                    degrees[count] += data[k]
                    slots += 1
            count += 1
        first_of[n] = slots
        roots, values, found = np.sqrt(degrees), np.empty(slots), np.empty(n)
        for i in range(n):
            for k in range(first_of[i], first_of[i + 1]):
                values[k] = weight[k] / (roots[i] * roots[column[k]])
        rows = basis[: (min(MOST_STEPS, n) + 1) * n].reshape(min(MOST_STEPS, n) + 1, n)
        _second_vector(first_of, column, values, roots, tolerance, rows, found)
        order = np.argsort(found / roots, kind="mergesort")
        # Nodes cross over one by one.
        volume, across, before = degrees.sum(), 0.0, 0.0
        most = 0.0
        for i in order[: n - 1]:
            before += degrees[i]
            most = max(most, min(before, volume - before))
        side, before, least = np.zeros(n, np.bool_), 0.0, math.inf
        allowed = min(least_part * volume, most)
        for i in order[: n - 1]:
            for k in range(first_of[i], first_of[i + 1]):
                if column[k] != i:
                    across += -weight[k] if side[column[k]] else weight[k]
            side[i] = True
            before += degrees[i]
            if min(before, volume - before) >= allowed:
                least = min(least, across)
        cuts[run] = least
    return cuts
