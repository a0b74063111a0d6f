"""Classifiers that spread labels over the graph by a linear system.

Harmonic Gaussian fields (Zhu, Ghahramani & Lafferty, ICML 2003). f minimises
1/2 sum_ij W_ij |f_i - f_j|^2 with the labelled points held: with L = D - W, u the unlabelled and l
the labelled points,

    L_uu f_u = W_ul Y_l

so f_i is the mean of its neighbours, and f_ic the probability that a random walk from i meets a
label of class c first. At few labels f is almost constant away from them, and one class takes
nearly all points; codes that stop after a few dozen averaging steps look better there than the
method is. Class mass normalisation scales class c to its prior p_c,

    f_ic  ->  f_ic p_c / sum_{j in u} f_jc .

Blocks of points that hang on the rest by weights many orders of magnitude below their own make L_uu
singular in floating point. Since sum_c f_ic = 1 holds exactly, wrong rows show; there f is constant
on a block to all digits that matter, and the blocks are solved for as points of a smaller graph.

Local and global consistency (Zhou, Bousquet, Lal, Weston & Schoelkopf, NIPS 2004). With
S = D^-1/2 W D^-1/2 and Y the labels as unit vectors, F minimises

    1/2 sum_ij W_ij |F_i / sqrt(d_i) - F_j / sqrt(d_j)|^2 + (1/alpha - 1) sum_i |F_i - Y_i|^2

and solves (I - alpha S) F = (1 - alpha) Y, here by conjugate gradients; a point takes the class of
its largest entry. F falls off exponentially with the distance from the labels, and a residual of
`tol` says nothing about entries below it. Points that far away are solved for again with their
solved neighbours as right-hand side, in its own scale, and so on outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from spinlearn.baselines.base import GraphClassifier
from spinlearn.errors import InvalidInputError
from spinlearn.linear import (
    Solution,
    inverse_roots,
    scaled,
    solve,
    warn_unless_converged,
    weight_matrix,
)
from spinlearn.model.arrays import BoolArray, FloatArray, IntArray, float_array
from spinlearn.model.graph import Graph, reached

WRONG = 1e-3  # error of the sum of a row of f, which should be one
REFINEMENTS = 3  # at most, where some are; where some still are, the system is singular
REFINED = 1e-5  # of the residual left by the round before
WEAK = 1e-8  # times the weights of the weaker end: such an edge holds no block together
TRUSTED = 1e4  # times tol and the largest entry of F: smaller rows are solved for again


@dataclass(kw_only=True, eq=False, repr=False)
class _LinearClassifier(GraphClassifier):
    """Base: conjugate gradients, to a stated tolerance.

    Parameters
    ----------
    tol : float, default 1e-10
        Largest residual relative to the right-hand side.
    max_iter : int, default 10000
        Most steps of conjugate gradients.

    Attributes
    ----------
    n_iter_, residual_ : int, float
        Steps taken, and the relative residual reached.
    """

    tol: float = 1e-10
    max_iter: int = 10_000
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def _take_note_of(self, solution: Solution) -> None:
        self.n_iter_, self.residual_ = max(solution.n_iter, 1), solution.residual
        warn_unless_converged(solution, self.tol)


@dataclass(kw_only=True, eq=False, repr=False)
class HarmonicFields(_LinearClassifier):
    """Harmonic functions on the graph: every point is the mean of its neighbours, labels are held.

    X. Zhu, Z. Ghahramani and J. Lafferty, Semi-supervised learning using Gaussian fields and
    harmonic functions, ICML 2003. With few labels in large sets one class takes most points.

    Parameters
    ----------
    class_mass_normalization : bool, default False
        Scale the unlabelled points' soft labels so that every class has its prior mass.
    class_prior : array-like of shape (n_classes,) or None, default None
        Priors for it, in the order of `classes_`; None: the shares among the given labels.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.baselines import HarmonicFields
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> HarmonicFields().fit(chain, [0, -1, -1, 1]).label_distributions_[:, 0].round(3).tolist()
    [1.0, 0.667, 0.333, 0.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LinearClassifier._parameter_constraints,
        "class_mass_normalization": ["boolean"],
    }

    class_mass_normalization: bool = False
    class_prior: Any = None

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        labelled = states >= 0
        priors: FloatArray = np.bincount(states[labelled], minlength=n_classes).astype(np.float64)
        if self.class_prior is not None:
            priors = float_array(self.class_prior, "class_prior")
            if priors.shape != (n_classes,) or not np.all(np.isfinite(priors) & (priors > 0)):
                raise InvalidInputError(
                    f"class_prior={self.class_prior!r} must hold one finite number > 0 for each of "
                    f"the {n_classes} classes"
                )
        unlabelled = ~labelled & reached(graph, labelled)
        soft = np.zeros((graph.n_nodes, n_classes))
        soft[labelled, states[labelled]] = 1.0

        rows = weight_matrix(graph)[unlabelled]
        pulls = rows[:, labelled] @ soft[labelled]
        field, solution = _harmonic_values(
            rows[:, unlabelled], pulls, tol=self.tol, max_iter=self.max_iter
        )
        self._take_note_of(solution)
        if self.class_mass_normalization:
            mass = field.sum(axis=0)
            priors = priors / priors.sum()
            field *= np.divide(priors, mass, out=np.zeros(n_classes), where=mass > 0)
        else:  # the last class makes up for the tolerance, so that f stays harmonic
            some = field.any(axis=1)
            field[some, -1] = np.maximum(1.0 - field[some, :-1].sum(axis=1), 0.0)
        soft[unlabelled] = field
        return soft


@dataclass(kw_only=True, eq=False, repr=False)
class LocalGlobalConsistency(_LinearClassifier):
    """Learning with local and global consistency: labels diffuse over the graph.

    Given labels may be overruled by the neighbours. D. Zhou, O. Bousquet, T. N. Lal, J. Weston and
    B. Schoelkopf, Learning with local and global consistency, NIPS 2003.

    Parameters
    ----------
    alpha : float, default 0.99
        Weight of the neighbours against the given labels, 0 < alpha < 1; the authors use 0.99.

    Examples
    --------
    >>> from spinlearn.baselines import LocalGlobalConsistency
    >>> LocalGlobalConsistency().fit([[0], [1], [2], [3]], [0, -1, -1, 1]).transduction_.tolist()
    [0, 0, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_LinearClassifier._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="neither")],
    }

    alpha: float = 0.99

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        weights = weight_matrix(graph)
        roots = inverse_roots(weights.sum(axis=1))
        matrix = scaled(weights, roots, self.alpha)
        labelled = states >= 0
        right = np.zeros((graph.n_nodes, n_classes))
        right[labelled, states[labelled]] = 1 - self.alpha
        solution = solve(matrix, right, tol=self.tol, max_iter=self.max_iter)
        self._take_note_of(solution)
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


def _harmonic_values(
    weights: Any, pulls: FloatArray, *, tol: float, max_iter: int
) -> tuple[FloatArray, Solution]:
    """f (n, k) of (diag(W 1 + B 1) - W) f = B, and the solution of the system as a whole.

    W (n, n) are the weights between the free points, B (n, k) those to the labels of every class.
    """
    roots = inverse_roots(weights.sum(axis=1) + pulls.sum(axis=1))[:, None]
    matrix, right = scaled(weights, roots.ravel()), roots * pulls
    solution = solve(matrix, right, tol=tol, max_iter=max_iter)
    x = solution.x
    for _ in range(REFINEMENTS):
        if not np.any(_wrong(roots * x)):
            break
        rest = right - x + matrix @ x
        x = x + solve(matrix, rest, tol=REFINED, max_iter=max_iter).x
    values = np.clip(roots * x, 0.0, 1.0)  # against rounding errors
    wrong = _wrong(values)
    if np.any(wrong):
        _solve_blocks(weights, pulls, values, wrong, tol, max_iter)
    return values, solution


def _wrong(values: FloatArray) -> BoolArray:
    """Rows that do not sum to one."""
    return np.asarray(np.abs(values.sum(axis=1) - 1.0) > WRONG)


def _solve_blocks(
    weights: Any, pulls: FloatArray, values: FloatArray, wrong: BoolArray, tol: float, max_iter: int
) -> None:
    """Replace the wrong rows of `values` by those of the blocks that strong edges make."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = weights[wrong]
    inner = rows[:, wrong]
    pulled = pulls[wrong] + rows[:, ~wrong] @ values[~wrong]
    strength = inner.sum(axis=1) + pulled.sum(axis=1)
    ends = np.repeat(np.arange(len(strength)), np.diff(inner.indptr))
    weaker = np.minimum(strength[ends], strength[inner.indices])
    strong = inner.data >= WEAK * weaker
    joined = csr_array(
        (strong[strong].astype(np.int8), (ends[strong], inner.indices[strong])), shape=inner.shape
    )
    n_blocks, block = connected_components(joined, directed=False)
    if n_blocks == len(values):  # nothing to merge: this is all that rounding errors allow
        return
    members = csr_array(
        (np.ones(len(block)), (block, np.arange(len(block)))), shape=(n_blocks, len(block))
    )
    between = (members @ inner @ members.T).tocsr()
    between.setdiag(0.0)
    between.eliminate_zeros()
    of_blocks, _ = _harmonic_values(between, members @ pulled, tol=tol, max_iter=max_iter)
    values[wrong] = of_blocks[block]
