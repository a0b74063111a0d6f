"""Where a group of points would fall apart most easily.

The points are ordered by the second eigenvector of the normalised adjacency D^-1/2 J D^-1/2 of the
group (Fiedler's vector, Shi & Malik 2000) and cut in two at every place; of all cuts whose smaller
part is large enough the one with the least summed coupling across counts.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import FloatArray, IntArray

FEWEST = 6  # points: fewer cannot be judged
DENSE = 400  # points up to which all eigenvectors are computed
TOLERANCE = 1e-3
LEAST_PART = 0.2  # of the volume, in the smaller part


def weakest_split(matrix: csr_array, points: IntArray) -> float:
    """Summed coupling across the weakest split of a group.

    Zero for groups that are too small to judge; of a group in several pieces the largest is looked
    at.

    Parameters
    ----------
    matrix : sparse array (n, n)
        Couplings >= 0.
    points : int array
        Members.
    """
    inside = matrix[points][:, points]
    _, piece = connected_components(inside, directed=False)
    kept = np.flatnonzero(piece == np.bincount(piece).argmax())
    if len(kept) < FEWEST:
        return 0.0
    inside = inside[kept][:, kept]
    degrees: FloatArray = np.asarray(inside.sum(axis=1)).ravel()
    order = np.argsort(_second_vector(inside, degrees), kind="stable")
    place = np.empty(len(kept), dtype=np.intp)
    place[order] = np.arange(len(kept))
    pairs = inside.tocoo()
    ends = np.sort(np.column_stack([place[pairs.row], place[pairs.col]]), axis=1)
    change = np.bincount(ends[:, 0], weights=pairs.data / 2, minlength=len(kept))
    change -= np.bincount(ends[:, 1], weights=pairs.data / 2, minlength=len(kept))
    across = np.cumsum(change)[:-1]
    before = np.cumsum(degrees[order])[:-1]
    smaller = np.minimum(before, degrees.sum() - before)
    allowed = smaller >= min(LEAST_PART * degrees.sum(), smaller.max())
    return float(np.min(across[allowed]))


def _second_vector(inside: csr_array, degrees: FloatArray) -> FloatArray:
    """Fiedler's vector of a connected group, up to sign."""
    roots = 1 / np.sqrt(degrees)
    scale = diags_array(roots)
    normal = scale @ inside @ scale
    if len(degrees) <= DENSE:
        return np.asarray(np.linalg.eigh(normal.toarray())[1][:, -2] * roots)
    from scipy.sparse.linalg import eigsh

    start = np.sqrt(degrees) * (1 + 0.1 * np.cos(np.arange(len(degrees))))
    vectors = eigsh(normal, k=2, which="LA", tol=TOLERANCE, v0=start)[1]
    return np.asarray(vectors[:, 0] * roots)
