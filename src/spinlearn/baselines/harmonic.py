"""Harmonic Gaussian fields (Zhu, Ghahramani & Lafferty, ICML 2003).

f minimises 1/2 sum_ij W_ij |f_i - f_j|^2 with the labelled points held: with L = D - W, u the
unlabelled and l the labelled points,

    L_uu f_u = W_ul Y_l

so f_i is the mean of its neighbours, and f_ic the probability that a random walk from i meets a
label of class c first. This is the converged solution. At few labels it degenerates: f is almost
constant away from the labels, and one class takes nearly all points; codes that stop after a few
dozen averaging steps look better there than the method is. Class mass normalisation scales class c
to its prior p_c,

    f_ic  ->  f_ic p_c / sum_{j in u} f_jc .
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.baselines.base import GraphClassifier
from spinlearn.baselines.linear_system import (
    check_solver_settings,
    inverse_roots,
    scaled,
    solve,
    warn_unless_converged,
    weight_matrix,
)
from spinlearn.core.arrays import FloatArray, IntArray, float_array
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.inputs import in_parts_with


class HarmonicFields(GraphClassifier):
    """Harmonic functions on the graph, the given labels held.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph, as in `PottsClassifier`.
    class_mass_normalization : bool, default False
        Scale the unlabelled points' soft labels so that every class has its prior mass.
    class_prior : array-like (n_classes,) or None, default None
        Priors for it, in the order of `classes_`; None: the shares among the given labels.
    tol : float, default 1e-10
        Largest residual relative to the right-hand side.
    max_iter : int, default 10000
        Most steps of conjugate gradients.

    Attributes
    ----------
    classes_, label_distributions_, transduction_, graph_
        See `GraphClassifier`.
    n_iter_ : int
        Steps taken.
    residual_ : float
        Relative residual reached.
    """

    def __init__(
        self,
        *,
        graph: Any = "mutual_knn",
        class_mass_normalization: bool = False,
        class_prior: Any = None,
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.graph = graph
        self.class_mass_normalization = class_mass_normalization
        self.class_prior = class_prior
        self.tol = tol
        self.max_iter = max_iter

    def _check_settings(self) -> None:
        if not isinstance(self.class_mass_normalization, (bool, np.bool_)):
            raise InvalidInputError(
                "class_mass_normalization must be True or False, got "
                f"{self.class_mass_normalization!r}"
            )
        check_solver_settings(self.tol, self.max_iter)

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        priors = self._priors(states, n_classes)
        labelled = states >= 0
        unlabelled = ~labelled & in_parts_with(graph, labelled)
        soft = np.zeros((graph.n_nodes, n_classes))
        soft[labelled, states[labelled]] = 1.0

        weights = weight_matrix(graph)
        roots = inverse_roots(weights.sum(axis=1))[unlabelled]
        rows = weights[unlabelled]
        matrix = scaled(rows[:, unlabelled], roots)
        # Rows of f sum to one, so one class less is enough, but for its mass: rounding errors of
        # a class that is absent would be scaled up to its prior.
        n_solved = n_classes if self.class_mass_normalization else n_classes - 1
        right = roots[:, None] * (rows[:, labelled] @ soft[labelled, :n_solved])
        solution = solve(matrix, right, tol=self.tol, max_iter=self.max_iter)
        self.n_iter_, self.residual_ = max(solution.n_iter, 1), solution.residual
        warn_unless_converged(solution, self.tol)
        field = np.clip(roots[:, None] * solution.x, 0.0, 1.0)  # against rounding errors
        if n_solved < n_classes:
            field = np.column_stack([field, np.maximum(1.0 - field.sum(axis=1), 0.0)])
        if self.class_mass_normalization:
            mass = field.sum(axis=0)
            field *= np.divide(priors, mass, out=np.zeros(n_classes), where=mass > 0)
        soft[unlabelled] = field
        return soft

    def _priors(self, states: IntArray, n_classes: int) -> FloatArray:
        if self.class_prior is None:
            counts = np.bincount(states[states >= 0], minlength=n_classes)
            return np.asarray(counts / counts.sum())
        priors = float_array(self.class_prior, "class_prior")
        if priors.shape != (n_classes,) or not np.all(np.isfinite(priors) & (priors > 0)):
            raise InvalidInputError(
                f"class_prior={self.class_prior!r} must hold one finite number > 0 for each of "
                f"the {n_classes} classes"
            )
        return np.asarray(priors / priors.sum())
