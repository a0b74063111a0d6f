"""Spectral graph transducer (Joachims, ICML 2003): the normalised cut with labels.

For one class against the rest, with l+ and l- labels of either, l = l+ + l-, z minimises

    z' L z + c (z - gamma)' C (z - gamma)    subject to  z'1 = 0,  z'z = n

gamma_i = sqrt(l-/l+) at positive labels, -sqrt(l+/l-) at negative ones, else 0; C_ii = l/(2 l+),
l/(2 l-), 0. As in the paper z = V w is restricted to the d eigenvectors of the normalised Laplacian
after the first, and their eigenvalues are replaced by 1, 4, 9, ... (equal ones by equal numbers, so
that the answer does not depend on the basis). With G = diag(1, 4, ...) + c V'CV, b = c V'C gamma,

    minimise w'Gw - 2b'w on |w|^2 = n:    w = (G - lambda I)^-1 b,    |w|^2 = n,

lambda below the least eigenvalue of G. In the basis of G this is one secular equation; Joachims
finds the same lambda as the least eigenvalue of [[G, -I], [-b b'/n, G]].

The threshold of the paper is half way between gamma- and gamma+. Classes are compared by
(z_c - gamma-)/(gamma+ - gamma-), one at positive labels and zero at negative ones; for two classes
that is the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.analysis.grains import reached
from spinlearn.baselines.base import GraphClassifier
from spinlearn.baselines.spectral import low_spectrum
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.linear_system import weight_matrix

SAME = 1e-9  # eigenvalues closer than this, relative to the largest, count as equal
HARD = 1e-12  # of |b|: directions of G about which the labels say nothing


class SpectralGraphTransducer(GraphClassifier):
    """Spectral graph transducer: the normalised cut with labels, one class against the rest.

    Given labels may be overruled.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.
    c : float, default 3200
        Cost of departing from the given labels, > 0; the author uses 3200.
    d : int, default 80
        Number of eigenvectors; the author uses 80. At least as many as the graph has parts and at
        most as many as there are points are used.

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
    decision_values_ : float array (n, n_classes)
        z of every class against the rest, scaled so that labelled points are asked to have one for
        their class and zero for the others; NaN where no label reaches a point.

    References
    ----------
    T. Joachims, Transductive learning via spectral graph partitioning, ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.full(20, -1)
    >>> y[4], y[15] = 0, 1
    >>> from spinlearn.baselines import SpectralGraphTransducer
    >>> SpectralGraphTransducer().fit(X, y).transduction_.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(self, *, graph: Any = "mutual_knn", c: float = 3200.0, d: int = 80) -> None:
        self.graph = graph
        self.c = c
        self.d = d

    def _check_settings(self) -> None:
        if not (isinstance(self.c, (int, float, np.number)) and 0 < self.c < np.inf):
            raise InvalidInputError(f"c={self.c!r} is not a cost: use a finite number > 0")
        whole = isinstance(self.d, (int, np.integer)) and not isinstance(self.d, bool)
        if not (whole and self.d >= 1):
            raise InvalidInputError(
                f"d={self.d!r} is not a number of eigenvectors: use a whole number >= 1"
            )

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        labelled = states >= 0
        known = reached(graph, labelled)
        self.decision_values_ = np.full((graph.n_nodes, n_classes), np.nan)
        if n_classes == 1:
            self.decision_values_[known] = 1.0
        else:
            rows = weight_matrix(graph)[known]
            self.decision_values_[known] = self._scores(rows[:, known], states[known], n_classes)
        soft = np.zeros((graph.n_nodes, n_classes))
        soft[known] = _non_negative(self.decision_values_[known])
        return soft

    def _scores(self, weights: Any, states: IntArray, n_classes: int) -> FloatArray:
        """Scaled z of every class against the rest; every part of the graph holds a label."""
        basis, spectrum = _basis(weights, int(self.d))
        labelled = np.flatnonzero(states >= 0)
        rows = basis[labelled]
        scores = np.empty((len(states), n_classes))
        for k in range(n_classes if n_classes > 2 else 1):
            positive = states[labelled] == k
            n_positive, n_negative = int(positive.sum()), int((~positive).sum())
            high, low = np.sqrt(n_negative / n_positive), -np.sqrt(n_positive / n_negative)
            half = len(labelled) / 2
            cost = self.c * np.where(positive, half / n_positive, half / n_negative)
            gamma = np.where(positive, high, low)
            matrix = np.diag(spectrum) + rows.T @ (cost[:, None] * rows)
            w = on_the_sphere(matrix, rows.T @ (cost * gamma), float(len(states)))
            scores[:, k] = (basis @ w - low) / (high - low)
        if n_classes == 2:
            scores[:, 1] = 1.0 - scores[:, 0]  # the same problem with the sign changed
        return scores


def on_the_sphere(matrix: FloatArray, b: FloatArray, square: float) -> FloatArray:
    """w that minimises w'Gw - 2b'w on |w|^2 = square.

    Where b has no part along the least eigenvectors of G and the rest is too short, two opposite
    vectors are equally good; their mean is returned.
    """
    from scipy.optimize import brentq

    values, vectors = np.linalg.eigh(matrix)
    target = vectors.T @ b
    target[np.abs(target) <= HARD * np.linalg.norm(b)] = 0.0
    if not np.any(target):
        return np.zeros(len(b))
    radius = np.sqrt(square)
    # gap = (least eigenvalue of G) - lambda > 0; |w| falls as it grows.
    above = values - values[0]

    def excess(gap: float) -> float:
        return float(np.linalg.norm(target / (above + gap)) / radius - 1.0)

    widest = float(np.linalg.norm(target)) / radius
    free = above > SAME * max(abs(values[0]), abs(values[-1]))
    narrowest = float(np.linalg.norm(target[~free])) / radius
    if narrowest == 0.0:
        w = np.zeros(len(b))
        w[free] = target[free] / above[free]
        if np.linalg.norm(w) <= radius:
            return np.asarray(vectors @ w)
        narrowest = 1e-15 * widest
        while excess(narrowest) < 0:
            narrowest *= 0.1
    gap = widest
    if excess(narrowest) > 0 > excess(widest):
        gap = brentq(excess, narrowest, widest, xtol=1e-300, rtol=1e-14, maxiter=1000)
    return np.asarray(vectors @ (target / (above + gap)))


def _basis(weights: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """V (n, d) and the numbers that stand for its eigenvalues."""
    from scipy.sparse.csgraph import connected_components

    n_parts = connected_components(weights, directed=False)[0]
    low = low_spectrum(weights, max(d, n_parts) + 1)
    # Within the null space, the directions orthogonal to its sum over the parts, D^1/2 1.
    null = low.vectors[:, : low.n_parts]
    share = null.T @ _first(weights)
    directions = np.linalg.svd(share[None, :])[2][1:]
    basis = np.column_stack([null @ directions.T, low.vectors[:, low.n_parts :]])
    values = np.concatenate([np.zeros(len(directions)), low.values[low.n_parts :]])
    index = np.arange(1, len(values) + 1)
    fresh = np.diff(values, prepend=-1.0) > SAME * max(values.max(initial=0.0), SAME)
    first = np.maximum.accumulate(np.where(fresh, index, 0))
    return basis, first.astype(np.float64) ** 2


def _first(weights: Any) -> FloatArray:
    """D^1/2 1 of length one, with one for points without an edge."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    root = np.where(degrees > 0, np.sqrt(degrees), 1.0)
    return np.asarray(root / np.linalg.norm(root))


def _non_negative(scores: FloatArray) -> FloatArray:
    """Scores without their negative parts; rows that have nothing else are shifted."""
    soft = np.maximum(scores, 0.0)
    empty = ~np.any(soft > 0, axis=1)
    soft[empty] = scores[empty] - scores[empty].min(axis=1, keepdims=True)
    return soft
