"""LGC, local with global consistency (Zhou, Bousquet, Lal, Weston & Schoelkopf, NIPS 2004).

With S = D^-1/2 W D^-1/2 and Y the labels as unit vectors, F minimises

    1/2 sum_ij W_ij |F_i / sqrt(d_i) - F_j / sqrt(d_j)|^2 + (1/alpha - 1) sum_i |F_i - Y_i|^2

and solves (I - alpha S) F = (1 - alpha) Y; a point takes the class of its largest entry. The paper
iterates F <- alpha S F + (1 - alpha) Y; here the limit is computed by conjugate gradients.

F falls off exponentially with the distance from the labels, and a residual of `tol` says nothing
about entries below it. Points that far away are solved for again with their solved neighbours as
right-hand side, in its own scale, and so on outwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.analysis.grains import reached
from spinlearn.baselines.base import GraphClassifier
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.linear_system import (
    check_solver_settings,
    inverse_roots,
    scaled,
    solve,
    warn_unless_converged,
    weight_matrix,
)

TRUSTED = 1e4  # times tol and the largest entry: smaller rows are solved for again


class LocalGlobalConsistency(GraphClassifier):
    """Learning with local and global consistency: labels diffuse over the graph.

    Given labels may be overruled by the neighbours.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.
    alpha : float, default 0.99
        Weight of the neighbours against the given labels, 0 < alpha < 1; the authors use 0.99.
    tol : float, default 1e-10
        Largest residual relative to the right-hand side.
    max_iter : int, default 10000
        Most steps of conjugate gradients.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The labels given, sorted.
    label_distributions_ : float array (n, n_classes)
        Soft labels, rows sum to one; equal where no label reaches a point.
    transduction_ : array (n,)
        The class of the largest soft label; -1 (text labels: 'unknown') where no label reaches the
        point or the largest two are equal.
    graph_ : Graph
        What was built, or given.
    n_iter_ : int
        Steps taken.
    residual_ : float
        Relative residual reached.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schoelkopf, Learning with local and global
    consistency, NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.full(20, -1)
    >>> y[4], y[15] = 0, 1
    >>> from spinlearn.baselines import LocalGlobalConsistency
    >>> LocalGlobalConsistency().fit(X, y).transduction_.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(
        self,
        *,
        graph: Any = "mutual_knn",
        alpha: float = 0.99,
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.graph = graph
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def _check_settings(self) -> None:
        number = isinstance(self.alpha, (int, float, np.number))
        if not (number and 0 < self.alpha < 1):
            raise InvalidInputError(
                f"alpha={self.alpha!r} is not a share of the neighbours: use 0 < alpha < 1"
            )
        check_solver_settings(self.tol, self.max_iter)

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        weights = weight_matrix(graph)
        roots = inverse_roots(weights.sum(axis=1))
        matrix = scaled(weights, roots, self.alpha)
        labelled = states >= 0
        right = np.zeros((graph.n_nodes, n_classes))
        right[labelled, states[labelled]] = 1 - self.alpha
        solution = solve(matrix, right, tol=self.tol, max_iter=self.max_iter)
        self.n_iter_, self.residual_ = max(solution.n_iter, 1), solution.residual
        warn_unless_converged(solution, self.tol)
        soft = solution.x
        known = reached(graph, labelled)
        soft[~known] = 0.0
        self._solve_far_points(matrix, soft, known)
        return np.maximum(soft, 0.0)  # rounding errors of entries that are zero

    def _solve_far_points(self, matrix: Any, soft: FloatArray, known: Any) -> None:
        """Replace the rows of points so far from all labels that the residual drowns them."""
        level = soft.max()
        floor = min(TRUSTED * self.tol, 0.1)
        far = known & (soft.max(axis=1) < floor * level)
        while np.any(far):
            rows = matrix[far]
            right = rows[:, ~far] @ soft[~far]
            level = right.max()
            if not level > np.finfo(np.float64).tiny:  # beyond the range of floating point
                soft[far] = 0.0
                return
            inner = solve(rows[:, far], right / level, tol=self.tol, max_iter=self.max_iter)
            soft[far] = inner.x * level
            nearer = far & (soft.max(axis=1) >= floor * level)
            if not np.any(nearer):
                return
            far &= ~nearer
