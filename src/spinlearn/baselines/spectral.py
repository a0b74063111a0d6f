"""The low end of the spectrum of the normalised Laplacian I - D^-1/2 W D^-1/2.

Its null space is known: one vector D^1/2 1_part for every connected part, so these are written
down, and only what comes after them is computed: densely for small graphs, by shift-invert where
the matrix is narrow enough to be factorised, else by Lanczos on D^-1/2 W D^-1/2. A point without
an edge is a part of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.minimizers.linear_system import inverse_roots, scaled

DENSE = 600  # nodes up to which all eigenvectors are computed
MAX_FACTOR = 2e7  # numbers in a banded factor, beyond which Lanczos is used
SHIFT = -1e-3  # below the spectrum, which starts at zero
ACCURACY = 1e-11  # of the eigenpairs


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Ascending eigenvalues (k,) and orthonormal eigenvectors (n, k); the first n_parts are zero.

    Eigenvectors of the parts come largest part first.
    """

    values: FloatArray
    vectors: FloatArray
    n_parts: int


def low_spectrum(weights: Any, n_vectors: int) -> Spectrum:
    """The `n_vectors` smallest eigenpairs (or n, if that is less) of a csr_array of weights."""
    from scipy.sparse import diags_array
    from scipy.sparse.csgraph import connected_components

    n = weights.shape[0]
    k = min(n_vectors, n)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    n_parts, part = connected_components(weights, directed=False)
    by_size = np.argsort(-np.bincount(part), kind="stable")
    number = np.empty(n_parts, dtype=np.intp)
    number[by_size] = np.arange(n_parts)
    column = number[part]
    entries = np.where(degrees > 0, np.sqrt(degrees), 1.0)
    entries /= np.sqrt(np.bincount(column, weights=entries**2))[column]
    values, vectors = np.zeros(k), np.zeros((n, k))
    kept = column < k
    vectors[kept, column[kept]] = entries[kept]
    if k > n_parts:
        matrix = scaled(weights, inverse_roots(degrees))
        if np.any(degrees == 0):
            matrix = (matrix + diags_array((degrees == 0).astype(np.float64))).tocsr()
        found, directions = _beyond(matrix, _largest(matrix, k), vectors[:, :n_parts])
        values[n_parts:] = np.clip(1.0 - found, 0.0, 2.0)
        vectors[:, n_parts:] = directions
    return Spectrum(values, vectors, int(n_parts))


def _beyond(matrix: Any, directions: FloatArray, null: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenpairs, descending, of what is left of the span of `directions` without `null`.

    Parts that hang together by next to nothing have eigenvalues equal to those of the null space in
    floating point, so the eigenvectors found mix with it in any way.
    """
    left = directions - null @ (null.T @ directions)
    basis = np.linalg.svd(left, full_matrices=False)[0][:, : left.shape[1] - null.shape[1]]
    values, rotation = np.linalg.eigh(basis.T @ (matrix @ basis))
    return values[::-1], basis @ rotation[:, ::-1]


def _largest(matrix: Any, k: int) -> FloatArray:
    """Eigenvectors of the k largest eigenvalues of a symmetric matrix."""
    n = matrix.shape[0]
    if n <= DENSE or 3 * k >= n:
        return np.linalg.eigh(matrix.toarray())[1][:, -k:]
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(n)  # ARPACK's own is random
    if _factor_size(matrix) <= MAX_FACTOR:
        laplacian = (eye_array(n) - matrix).tocsc()
        found = eigsh(laplacian, k, sigma=SHIFT, which="LM", v0=start, tol=ACCURACY)
    else:
        found = eigsh(matrix, k, which="LA", v0=start, tol=ACCURACY)
    return np.asarray(found[1])


def _factor_size(matrix: Any) -> float:
    """Numbers in a banded factor after reverse Cuthill-McKee ordering."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    rows = np.repeat(np.arange(len(order)), np.diff(matrix.indptr))
    return float(len(order)) * int(np.abs(position[rows] - position[matrix.indices]).max())
