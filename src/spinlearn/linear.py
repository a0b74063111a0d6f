"""Sparse positive definite systems (I - N) X = B of the quadratic baselines, to a stated tolerance.

Both quadratic costs lead here after scaling by the square roots of the diagonal: N is symmetric,
non-negative, with zero diagonal and spectral radius below one. Solved by conjugate gradients with
symmetric Gauss-Seidel as preconditioner, all right-hand sides at once (`kernels.graph_tools`), in
an order that keeps neighbours close in memory. Converged means

    |B_c - (I - N) X_c| <= tol |B_c|    for every column c,

checked with the residual itself, not with the recurrence of CG.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import ConvergenceWarning
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph, near_order

REORDERED = 4096  # nodes from which on a better order pays
RESTARTS = 4  # rounding errors of the recurrence are removed by starting from the true residual


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """X (n, k), the steps it took, and the largest |residual_c| / |B_c|."""

    x: FloatArray
    n_iter: int
    residual: float


def weight_matrix(graph: Graph, dtype: Any = np.float64) -> Any:
    """W as a symmetric csr_array with sorted columns."""
    from scipy.sparse import csr_array

    values = graph.weights.astype(dtype)[graph.edge_ids]
    shape = (graph.n_nodes, graph.n_nodes)
    # Copies: SciPy sorts and scales in place, the graph's arrays are read-only.
    return csr_array((values, graph.neighbors.copy(), graph.indptr.copy()), shape=shape)


def scaled(matrix: Any, scale: FloatArray, factor: float = 1.0) -> Any:
    """factor * diag(scale) W diag(scale)."""
    result = matrix.copy()
    scale = scale.astype(matrix.dtype)
    result.data *= np.repeat(scale, np.diff(matrix.indptr))
    result.data *= scale[matrix.indices]
    result.data *= factor
    return result


def inverse_roots(degrees: FloatArray) -> FloatArray:
    """d^-1/2, zero where d is zero."""
    roots = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=roots, where=degrees > 0)
    return roots


def solve(matrix: Any, right: FloatArray, *, tol: float, max_iter: int) -> Solution:
    """Solve (I - N) X = B, (n, k): largest |residual_c| / |B_c| `tol`, at most `max_iter` steps.

    In single precision, as the matrix, where there are very many rows.
    """
    return System(matrix).solve(right, tol=tol, max_iter=max_iter)


class System:
    """One matrix N, csr_array (n, n), in a good order, for several right-hand sides."""

    def __init__(self, matrix: Any) -> None:
        self._order: npt.NDArray[np.int32] | None = None
        if matrix.shape[0] >= REORDERED:
            self._order = near_order(matrix.indptr, matrix.indices)
            matrix = matrix[self._order][:, self._order]
        matrix.sort_indices()
        self._matrix = matrix
        indptr, indices = (v.astype(np.int32, copy=False) for v in (matrix.indptr, matrix.indices))
        # Where the entries above the diagonal begin in every row.
        middle, counts = indptr[:-1].copy(), np.diff(indptr)
        filled = np.flatnonzero(counts)
        if len(filled):
            below = indices < np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            middle[filled] += np.add.reduceat(below, middle[filled], dtype=np.int32)
        self._arrays = (middle, indptr, indices, matrix.data)

    def solve(self, right: FloatArray, *, tol: float, max_iter: int) -> Solution:
        """Solve (I - N) X = B, as the function of this name."""
        from spinlearn.kernels.graph_tools import iterate, substitute

        if right.size == 0:
            return Solution(np.zeros(right.shape), 0, 0.0)
        matrix, arrays, order = self._matrix, self._arrays, self._order
        middle, indptr, indices, values = arrays
        right = right if order is None else right[order]
        right = np.ascontiguousarray(right, dtype=matrix.dtype)
        # Norms of the columns, (k,), in double precision.
        size = np.sqrt(np.einsum("ik,ik->k", right, right, dtype=np.float64))
        x, residual = np.zeros_like(right), right
        n_iter, worst = 0, 1.0
        for _ in range(RESTARTS):
            z, r, t, y = (np.zeros_like(right) for _ in range(4))
            substitute(True, indptr, middle, indices, values, residual, r)
            rho, work = np.sum(r * r, axis=0, dtype=np.float64), np.zeros((3, right.shape[1]))
            goal = (tol * size) ** 2
            n_iter += iterate(*arrays, z, r, r.copy(), t, y, rho, goal, *work, max_iter - n_iter)
            substitute(False, middle, indptr[1:], indices, values, z, z)
            x += z
            residual = right - x + matrix @ x
            left = np.sqrt(np.einsum("ik,ik->k", residual, residual, dtype=np.float64))
            worst = float((left / np.where(size > 0, size, 1.0)).max())
            if worst <= tol or n_iter >= max_iter:
                break
        if order is not None:
            x[order] = x.copy()
        return Solution(x, n_iter, worst)


def warn_unless_converged(solution: Solution, tol: float) -> None:
    """Tell the caller of `fit` when the tolerance was not reached."""
    if solution.residual > tol:
        warnings.warn(
            f"the linear system is solved to {solution.residual:.1e} of the right-hand side, not "
            f"to tol={tol:g}, after {solution.n_iter} steps: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
