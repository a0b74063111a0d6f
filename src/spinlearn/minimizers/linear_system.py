"""Sparse positive definite systems (I - N) X = B of the quadratic baselines, to a stated tolerance.

Both quadratic costs lead here after scaling by the square roots of the diagonal: N is symmetric,
non-negative, with zero diagonal and spectral radius below one. Solved by conjugate gradients with
symmetric Gauss-Seidel as preconditioner, all right-hand sides at once (`kernels/linear.py`), in
reverse Cuthill-McKee order, which keeps neighbours close in memory. Converged means

    |B_c - (I - N) X_c| <= tol |B_c|    for every column c,

checked with the residual itself, not with the recurrence of CG.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.core.graph import Graph
from spinlearn.errors import ConvergenceWarning, InvalidInputError

REORDERED = 4096  # nodes from which on a better order pays
RESTARTS = 4  # rounding errors of the recurrence are removed by starting from the true residual


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """X (n, k), the steps it took, and the largest |residual_c| / |B_c|."""

    x: FloatArray
    n_iter: int
    residual: float


def weight_matrix(graph: Graph) -> Any:
    """W as a symmetric csr_array with sorted columns."""
    from scipy.sparse import csr_array

    values = graph.weights[graph.edge_ids]
    shape = (graph.n_nodes, graph.n_nodes)
    # Copies: SciPy sorts and scales in place, the graph's arrays are read-only.
    return csr_array((values, graph.neighbors.copy(), graph.indptr.copy()), shape=shape)


def scaled(matrix: Any, scale: FloatArray, factor: float = 1.0) -> Any:
    """factor * diag(scale) W diag(scale)."""
    result = matrix.copy()
    result.data *= factor * np.repeat(scale, np.diff(matrix.indptr)) * scale[matrix.indices]
    return result


def inverse_roots(degrees: FloatArray) -> FloatArray:
    """d^-1/2, zero where d is zero."""
    roots = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=roots, where=degrees > 0)
    return roots


def solve(matrix: Any, right: FloatArray, *, tol: float, max_iter: int) -> Solution:
    """Solve (I - N) X = B.

    Parameters
    ----------
    matrix : csr_array (n, n)
        N, see the module's docstring.
    right : float array (n, k)
        B.
    tol : float
        Largest |residual_c| / |B_c|.
    max_iter : int
        Most steps of CG in all.
    """
    n, k = right.shape
    if n == 0 or k == 0:
        return Solution(np.zeros((n, k)), 0, 0.0)
    if n < REORDERED:
        return _solve_in_order(matrix, right, tol, max_iter)
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    found = _solve_in_order(matrix[order][:, order], right[order], tol, max_iter)
    x = np.empty_like(found.x)
    x[order] = found.x
    return Solution(x, found.n_iter, found.residual)


def warn_unless_converged(solution: Solution, tol: float) -> None:
    """Tell the caller of `fit` when the tolerance was not reached."""
    if solution.residual > tol:
        warnings.warn(
            f"the linear system is solved to {solution.residual:.1e} of the right-hand side, not "
            f"to tol={tol:g}, after {solution.n_iter} steps: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )


def check_solver_settings(tol: Any, max_iter: Any) -> None:
    """Refuse a tolerance or a number of steps that makes no sense."""
    if not (isinstance(tol, (int, float, np.number)) and 0 < tol < 1):
        raise InvalidInputError(f"tol={tol!r} is not a tolerance: use a number between 0 and 1")
    whole = isinstance(max_iter, (int, np.integer)) and not isinstance(max_iter, bool)
    if not (whole and max_iter >= 1):
        raise InvalidInputError(f"max_iter={max_iter!r} must be a whole number >= 1")


def _solve_in_order(matrix: Any, right: FloatArray, tol: float, max_iter: int) -> Solution:
    from spinlearn.kernels import linear

    matrix.sort_indices()
    indptr, indices = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    below = np.bincount(rows[indices < rows], minlength=len(indptr) - 1)
    arrays = ((indptr[:-1] + below).astype(np.int32), indptr, indices, matrix.data)

    right = np.ascontiguousarray(right, dtype=np.float64)
    size = np.linalg.norm(right, axis=0)
    x, residual = np.zeros_like(right), right
    n_iter, worst = 0, 1.0
    for _ in range(RESTARTS):
        z, r, t, y = (np.zeros_like(right) for _ in range(4))
        linear.forward(*arrays, residual, r)
        rho, work = np.sum(r * r, axis=0), np.zeros((3, right.shape[1]))
        goal = (tol * size) ** 2
        n_iter += linear.iterate(*arrays, z, r, r.copy(), t, y, rho, goal, *work, max_iter - n_iter)
        linear.backward(*arrays, z, z)
        x += z
        residual = right - x + matrix @ x
        shares = np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1.0)
        worst = float(shares.max())
        if worst <= tol or n_iter >= max_iter:
            break
    return Solution(x, n_iter, worst)
