"""The spectrum of the normalised Laplacian I - D^-1/2 W D^-1/2, and two rivals made from it.

Its null space is known: one vector D^1/2 1_part for every connected part, so these are written
down, and only what comes after them is computed: densely for small graphs, by shift-invert where
the matrix is narrow enough to be factorised, else by Lanczos. A point without an edge is a part.

Normalised cut (Shi & Malik, IEEE PAMI 22, 888, 2000), unsupervised:

    Ncut(A, B) = cut(A, B)/vol(A) + cut(A, B)/vol(B),    vol(A) = sum of the degrees in A

The second eigenvector v of D^-1/2 (D - W) D^-1/2, as D^-1/2 v, is the relaxed minimiser; points are
sorted by it and split where Ncut is least. More than two clusters come by recursion: the part whose
own best split has the least Ncut is split next. Parts without connection are split first, at no
cost, largest against the rest.

Spectral graph transducer (Joachims, ICML 2003), the normalised cut with labels. For one class
against the rest, with l+ and l- labels of either, l = l+ + l-, z minimises

    z' L z + c (z - gamma)' C (z - gamma)    subject to  z'1 = 0,  z'z = n

gamma_i = sqrt(l-/l+) at positive labels, -sqrt(l+/l-) at negative ones, else 0; C_ii = l/(2 l+),
l/(2 l-), 0. As in the paper z = V w is restricted to the d eigenvectors of the normalised Laplacian
after the first, and their eigenvalues are replaced by 1, 4, 9, ... (equal ones by equal numbers, so
that the answer does not depend on the basis). With G = diag(1, 4, ...) + c V'CV, b = c V'C gamma,

    minimise w'Gw - 2b'w on |w|^2 = n:    w = (G - lambda I)^-1 b,    |w|^2 = n,

lambda below the least eigenvalue of G, by one secular equation in the basis of G; Joachims finds
it as the least eigenvalue of [[G, -I], [-b b'/n, G]].

The threshold of the paper is half way between gamma- and gamma+. Classes are compared by
(z_c - gamma-)/(gamma+ - gamma-), which for two classes is that threshold.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval

from spinlearn.baselines.base import GraphClassifier, GraphClusterer, numbered_by_size
from spinlearn.errors import GraphWarning, InvalidInputError
from spinlearn.linear import inverse_roots, scaled, weight_matrix
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import Graph, reached

CLOSE = 1e-9  # share of the range of the eigenvector: points closer than this stay together
SAME = 1e-9  # eigenvalues closer than this, relative to the largest, count as equal
HARD = 1e-12  # of |b|: directions of G about which the labels say nothing
DENSE = 600  # nodes up to which all eigenvectors are computed
MAX_FACTOR = 2e7  # numbers in a banded factor, beyond which Lanczos is used
SHIFT = -1e-3  # below the spectrum, which starts at zero
ACCURACY = 1e-11  # of the eigenpairs


class Spectrum(NamedTuple):
    """Ascending eigenvalues (k,), orthonormal eigenvectors (n, k); those of parts by size."""

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
    column = numbered_by_size(part)
    entries = np.where(degrees > 0, np.sqrt(degrees), 1.0)
    entries /= np.sqrt(np.bincount(column, weights=entries**2))[column]
    values, vectors = np.zeros(k), np.zeros((n, k))
    stored = column < k
    vectors[stored, column[stored]] = entries[stored]
    if k > n_parts:
        matrix = scaled(weights, inverse_roots(degrees))
        if np.any(degrees == 0):
            matrix = (matrix + diags_array((degrees == 0).astype(np.float64))).tocsr()
        # Parts that hang together by next to nothing have eigenvalues equal to those of the null
        # space in floating point, so the eigenvectors found mix with it in any way.
        null, directions = vectors[:, :n_parts], _largest(matrix, k)
        left = directions - null @ (null.T @ directions)
        basis = np.linalg.svd(left, full_matrices=False)[0][:, : k - n_parts]
        top, rotation = np.linalg.eigh(basis.T @ (matrix @ basis))
        values[n_parts:] = np.clip(1.0 - top[::-1], 0.0, 2.0)
        vectors[:, n_parts:] = basis @ rotation[:, ::-1]
    return Spectrum(values, vectors, int(n_parts))


def _largest(matrix: Any, k: int) -> FloatArray:
    """Eigenvectors of the k largest eigenvalues of a symmetric matrix."""
    n = matrix.shape[0]
    if n <= DENSE or 3 * k >= n:
        return np.linalg.eigh(matrix.toarray())[1][:, -k:]
    from scipy.sparse import eye_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    from scipy.sparse.linalg import eigsh

    # Numbers in a banded factor after reordering.
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    factor_size = float(n) * int(np.abs(position[rows] - position[matrix.indices]).max())
    start = np.random.default_rng(0).standard_normal(n)  # ARPACK's own is random
    if factor_size <= MAX_FACTOR:
        laplacian = (eye_array(n) - matrix).tocsc()
        pairs = eigsh(laplacian, k, sigma=SHIFT, which="LM", v0=start, tol=ACCURACY)
    else:
        pairs = eigsh(matrix, k, which="LA", v0=start, tol=ACCURACY)
    return np.asarray(pairs[1])


@dataclass(kw_only=True, eq=False, repr=False)
class NormalizedCutClustering(GraphClusterer):
    """Normalised cut by recursive bisection, largest cluster first; the same in every run.

    J. Shi and J. Malik, Normalized cuts and image segmentation, IEEE PAMI 22, 888 (2000).

    Parameters
    ----------
    n_clusters : int, default 2

    Attributes
    ----------
    ncut_ : float
        Sum over clusters of cut(A, rest) / vol(A).
    eigenvalues_, embedding_ : float arrays (n_clusters,), (n, n_clusters)
        Least eigenvalues of the normalised Laplacian; D^-1/2 times its eigenvectors.

    Examples
    --------
    >>> from spinlearn.baselines import NormalizedCutClustering
    >>> NormalizedCutClustering(2).fit([[0], [1], [2], [8], [9]]).labels_.tolist()
    [0, 0, 0, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")]
    }

    n_clusters: int = field(default=2, kw_only=False)

    def _cluster(self, graph: Graph) -> IntArray:
        self._refuse_negative_weights()
        k = int(self.n_clusters)
        if k > graph.n_nodes:
            raise InvalidInputError(
                f"n_clusters={k} is more than the {graph.n_nodes} points: ask for fewer clusters"
            )
        weights = weight_matrix(graph)
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        spectrum = low_spectrum(weights, max(k, 2))
        if spectrum.n_parts > k:
            warnings.warn(
                f"the graph has {spectrum.n_parts} parts without connection, more than "
                f"n_clusters={k}: the largest are clusters, the rest together is one more; a "
                "builder with a spanning tree joins all parts",
                GraphWarning,
                stacklevel=3,
            )
        self.eigenvalues_ = spectrum.values[:k]
        self.embedding_ = inverse_roots(degrees)[:, None] * spectrum.vectors[:, :k]
        splits = [_best_split(weights, np.arange(graph.n_nodes), spectrum)]
        while len(splits) < k:
            chosen = splits.pop(int(np.argmin([split.ncut for split in splits])))
            for nodes in (chosen.nodes[chosen.first], chosen.nodes[~chosen.first]):
                splits.append(_best_split(weights, nodes))
        parts = np.empty(graph.n_nodes, dtype=np.intp)
        for number, split in enumerate(splits):
            parts[split.nodes] = number
        self.ncut_ = normalized_cut(graph, parts)
        return numbered_by_size(parts)


def normalized_cut(graph: Graph, labels: npt.NDArray[Any]) -> float:
    """sum over clusters of cut(A, rest)/vol(A); clusters without an edge count nothing."""
    _, part = np.unique(labels, return_inverse=True)
    (u, v), weights, size = part[graph.edges].T, graph.weights, part.max() + 1
    volume, cut = (
        np.bincount(u[kept], weights[kept], size) + np.bincount(v[kept], weights[kept], size)
        for kept in (slice(None), u != v)
    )
    return float(np.sum(np.divide(cut, volume, out=np.zeros(len(cut)), where=volume > 0)))


class _Split(NamedTuple):
    """Some nodes, which of them are the first half of their best split, and its Ncut."""

    nodes: npt.NDArray[np.intp]
    first: npt.NDArray[np.bool_]
    ncut: float


def _best_split(
    all_weights: Any, nodes: npt.NDArray[np.intp], spectrum: Spectrum | None = None
) -> _Split:
    """The best bisection of the graph induced on `nodes`."""
    if len(nodes) == 1:
        return _Split(nodes, np.ones(1, dtype=bool), np.inf)
    weights = all_weights[nodes][:, nodes]
    low = low_spectrum(weights, 2) if spectrum is None else spectrum
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    if low.n_parts > 1:  # the first eigenvector is that of the largest part
        return _Split(nodes, low.vectors[:, 0] != 0, 0.0)
    position = inverse_roots(degrees) * low.vectors[:, 1]
    order = np.argsort(position, kind="stable")
    # Ncut of {order[0], ..., order[k]} against the rest, for every k.
    n = len(order)
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(weights.indptr))
    one, other = rank[rows], rank[weights.indices]
    up = one < other
    # An edge is cut by every split between its ends.
    change = np.bincount(one[up], weights.data[up], n) - np.bincount(other[up], weights.data[up], n)
    cut = np.cumsum(change)[:-1]
    volume = np.cumsum(degrees[order])[:-1]
    ncut = cut / volume + cut / (degrees.sum() - volume)
    together = np.diff(position[order]) <= CLOSE * np.ptp(position)
    ncut[together] = np.inf
    best = int(np.argmin(ncut))
    first = np.zeros(len(nodes), dtype=bool)
    first[order[: best + 1]] = True
    return _Split(nodes, first, float(ncut[best]))


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralGraphTransducer(GraphClassifier):
    """Spectral graph transducer: the normalised cut with labels, one class against the rest.

    Given labels may be overruled. T. Joachims, Transductive learning via spectral graph
    partitioning, ICML 2003.

    Parameters
    ----------
    c : float, default 3200
        Cost of departing from the given labels, > 0; the author uses 3200.
    d : int, default 80
        Number of eigenvectors; the author uses 80. At least as many as the graph has parts and at
        most as many as there are points are used.

    Attributes
    ----------
    decision_values_ : float array (n, n_classes)
        z of every class against the rest, scaled so that labelled points are asked to have one for
        their class and zero for the others; NaN where no label reaches a point.

    Examples
    --------
    >>> from spinlearn.baselines import SpectralGraphTransducer
    >>> SpectralGraphTransducer().fit([[0], [1], [2], [3]], [0, -1, -1, 1]).transduction_.tolist()
    [0, 0, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "c": [Interval(Real, 0, None, closed="neither")],
        "d": [Interval(Integral, 1, None, closed="left")],
    }

    c: float = 3200.0
    d: int = 80

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        labelled = states >= 0
        known = reached(graph, labelled)
        self.decision_values_ = np.full((graph.n_nodes, n_classes), np.nan)
        if n_classes == 1:
            self.decision_values_[known] = 1.0
        else:
            rows = weight_matrix(graph)[known]
            self.decision_values_[known] = self._scores(rows[:, known], states[known], n_classes)
        # Without their negative parts; rows that have nothing else are shifted.
        scores = np.where(known[:, None], self.decision_values_, 0.0)
        soft = np.maximum(scores, 0.0)
        empty = ~np.any(soft > 0, axis=1)
        soft[empty] = scores[empty] - scores[empty].min(axis=1, keepdims=True)
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
    """w that minimises w'Gw - 2b'w on |w|^2 = square; where two opposite ones do, their mean.

    That is where b has no part along the least eigenvectors of G and the rest is too short.
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
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    root = np.where(degrees > 0, np.sqrt(degrees), 1.0)  # D^1/2 1, one for points without an edge
    share = null.T @ (root / np.linalg.norm(root))
    directions = np.linalg.svd(share[None, :])[2][1:]
    basis = np.column_stack([null @ directions.T, low.vectors[:, low.n_parts :]])
    values = np.concatenate([np.zeros(len(directions)), low.values[low.n_parts :]])
    index = np.arange(1, len(values) + 1)
    fresh = np.diff(values, prepend=-1.0) > SAME * max(values.max(initial=0.0), SAME)
    first = np.maximum.accumulate(np.where(fresh, index, 0))
    return basis, first.astype(np.float64) ** 2
