"""Conjugate gradients for (I - N) X = B, all right-hand sides in one pass over the matrix.

N is symmetric with zero diagonal, N = Lo + Up (strictly lower and upper part), I - N positive
definite. Symmetric Gauss-Seidel is the preconditioner, built in by Eisenstat's trick (SIAM J. Sci.
Stat. Comput. 2, 1, 1981): CG runs on

    A~ Z = (I - Lo)^-1 B,    A~ = (I - Lo)^-1 (I - N) (I - Up)^-1,    X = (I - Up)^-1 Z

and since I - N = (I - Lo) + (I - Up) - I,

    A~ P = T + (I - Lo)^-1 (P - T),    T = (I - Up)^-1 P,

one backward and one forward sweep, each over half of the entries: the cost of one product with N.

Layout: CSR with sorted columns; the entries of row i below the diagonal are indptr[i] to middle[i],
those above middle[i] to indptr[i+1]. Vectors are (n, k), k right-hand sides.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def split_rows(indptr, indices, middle):
    """Where the entries above the diagonal begin in every row."""
    for i in range(len(middle)):
        e = indptr[i]
        while e < indptr[i + 1] and indices[e] < i:
            e += 1
        middle[i] = e


@njit(cache=True, nogil=True)
def backward(middle, indptr, indices, values, right, out):
    """out = (I - Up)^-1 right; out may be right."""
    n, k = right.shape
    for i in range(n - 1, -1, -1):
        for c in range(k):
            out[i, c] = right[i, c]
        for e in range(middle[i], indptr[i + 1]):
            j, w = indices[e], values[e]
            for c in range(k):
                out[i, c] += w * out[j, c]


@njit(cache=True, nogil=True)
def forward(middle, indptr, indices, values, right, out):
    """out = (I - Lo)^-1 right; out may be right."""
    n, k = right.shape
    for i in range(n):
        for c in range(k):
            out[i, c] = right[i, c]
        for e in range(indptr[i], middle[i]):
            j, w = indices[e], values[e]
            for c in range(k):
                out[i, c] += w * out[j, c]


@njit(cache=True, nogil=True)
def true_residual(middle, indptr, indices, values, transformed, square):
    """square[c] = |(I - Lo) transformed_c|^2, the squared residuals of (I - N) X = B."""
    n, k = transformed.shape
    for c in range(k):
        square[c] = 0.0
    for i in range(n):
        for c in range(k):
            value = transformed[i, c]
            for e in range(indptr[i], middle[i]):
                value -= values[e] * transformed[indices[e], c]
            square[c] += value * value


@njit(cache=True, nogil=True)
def iterate(
    middle, indptr, indices, values, z, r, p, t, y, rho, goal, square, scale, ratio, max_iter
):
    """CG steps until |residual_c|^2 <= goal[c] for all c; returns how many.

    z (n, k) holds the solution of the transformed system so far, r its residual, p the direction
    (equal to r at the start), rho[c] = r_c.r_c. t, y, square, scale, ratio are work space.
    """
    n, k = z.shape
    for step in range(max_iter):
        # The transformed residual tells when it is worth looking at the true one.
        close = True
        for c in range(k):
            if rho[c] > goal[c]:
                close = False
        if close:
            true_residual(middle, indptr, indices, values, r, square)
            done = True
            for c in range(k):
                if square[c] > goal[c]:
                    done = False
            if done:
                return step
        backward(middle, indptr, indices, values, p, t)
        for c in range(k):
            scale[c] = 0.0
        for i in range(n):
            for c in range(k):
                y[i, c] = p[i, c] - t[i, c]
            for e in range(indptr[i], middle[i]):
                j, w = indices[e], values[e]
                for c in range(k):
                    y[i, c] += w * y[j, c]
            for c in range(k):
                scale[c] += p[i, c] * (t[i, c] + y[i, c])
        for c in range(k):
            scale[c] = rho[c] / scale[c] if scale[c] > 0 else 0.0
            ratio[c] = 0.0
        for i in range(n):
            for c in range(k):
                z[i, c] += scale[c] * p[i, c]
                r[i, c] -= scale[c] * (t[i, c] + y[i, c])
                ratio[c] += r[i, c] * r[i, c]
        for c in range(k):
            new = ratio[c]
            ratio[c] = new / rho[c] if rho[c] > 0 else 0.0
            rho[c] = new
        for i in range(n):
            for c in range(k):
                p[i, c] = r[i, c] + ratio[c] * p[i, c]
    return max_iter
