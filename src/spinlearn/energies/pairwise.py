"""Energies that are sums over edges, with a term for every labelled point.

    min_cut    sum_<ij> w_ij (1 - delta(s_i, s_j)) + sum_k h_k (1 - delta(s_k, c_k))
    harmonic   sum_<ij> w_ij |x(s_i) - x(s_j)|^2 + the same label term
    lgc        sum_<ij> 2 w_ij / sqrt(d_i d_j) (1 - delta(s_i, s_j)) + the same with h = mu

min_cut is eq. 2 of the paper. The other two are quadratic costs over real functions, taken at
labellings: harmonic that of Zhu, Ghahramani & Lafferty (2003), with the classes at points x(c), by
default the unit vectors, where it is twice the min-cut cost; lgc that of Zhou et al. (2004),

    Q(F) = 1/2 (sum_ij w_ij |F_i/sqrt(d_i) - F_j/sqrt(d_j)|^2 + mu sum_i |F_i - Y_i|^2),

at unit vectors F_i, without the constant. d_i is the summed weight of the edges of i.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, float_array
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel, checked_n_states
from spinlearn.energies.label_terms import label_terms
from spinlearn.errors import InvalidInputError


def min_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
) -> PottsModel:
    """The paper's energy: the weight of the edges between classes.

    The equation is ``E = sum_<ij> w_ij [s_i != s_j] + sum_k h_k [s_k != c_k]``, eq. 2 of the paper,
    with the labelled points k, their classes c_k and ``h_k`` the strength of their labels.

    Parameters
    ----------
    graph : Graph
        Similar points; n nodes, m edges. Its weights, >= 0 or of either sign, are the couplings.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    MinCut : The same as an object, for ``PottsClassifier(energy=...)``.

    References
    ----------
    A. Blum and S. Chawla, Learning from labeled and unlabeled data using graph mincuts, ICML 2001.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import min_cut
    >>> model = min_cut(chain, [0, -1, -1, 1], n_states=2)
    >>> model.energy([0, 0, 1, 1])  # cuts the weak edge in the middle
    0.5
    >>> model.energy([0, 1, 1, 1])
    1.0
    """
    q = checked_n_states(n_states)
    fields, clamped = label_terms(graph, labels, q, label_strength)
    return PottsModel(graph, q, fields=fields, clamped=clamped)


def harmonic(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
    class_values: npt.ArrayLike | None = None,
) -> PottsModel:
    """The quadratic cost of harmonic functions, taken at labellings.

    ``E = sum_<ij> w_ij |x(s_i) - x(s_j)|^2`` plus the label term of `min_cut`, with the classes at
    points x(c). For unit vectors, the default, that is twice the min-cut energy.

    Parameters
    ----------
    graph : Graph
        Similar points; n nodes, m edges. Its weights, >= 0 or of either sign, are the couplings.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    class_values : array-like of shape (q,) or (q, k), optional
        Where the classes lie: numbers for ordered classes (grades, stages), so that neighbouring
        ones cost less, or points. Default: unit vectors, all classes equally far apart.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    Harmonic : The same as an object, for ``PottsClassifier(energy=...)``.
    spinlearn.baselines.HarmonicFields : The method that minimises this cost over real numbers.

    References
    ----------
    X. Zhu, Z. Ghahramani and J. Lafferty, Semi-supervised learning using Gaussian fields and
    harmonic functions, ICML 2003.

    Examples
    --------
    Three grades: a step of two costs four times as much as a step of one.

    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import harmonic
    >>> model = harmonic(chain, [0, -1, -1, 2], n_states=3, class_values=[0, 1, 2])
    >>> model.energy([[0, 0, 2, 2], [0, 0, 1, 2]]).tolist()
    [2.0, 1.5]
    """
    q = checked_n_states(n_states)
    places = np.eye(q) if class_values is None else float_array(class_values, "class_values")
    if places.shape[:1] != (q,) or places.ndim > 2 or not np.all(np.isfinite(places)):
        raise InvalidInputError(
            f"class_values has shape {places.shape} or holds NaN or infinity: give one finite "
            f"number, or one point, for each of the {q} classes"
        )
    fields, clamped = label_terms(graph, labels, q, label_strength)
    if class_values is None:  # |e_a - e_b|^2 = 2; as couplings, so that clusters can move
        return PottsModel(graph, q, couplings=2 * graph.weights, fields=fields, clamped=clamped)
    points = places.reshape(q, -1)
    cost = np.sum((points[:, None] - points[None]) ** 2, axis=2)
    return PottsModel(graph, q, pair_cost=cost, fields=fields, clamped=clamped)


def lgc(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
    mu: float | None = None,
) -> PottsModel:
    """The cost of learning with local and global consistency, taken at labellings.

    ``E = sum_<ij> 2 w_ij / sqrt(d_i d_j) [s_i != s_j]`` plus the label term of `min_cut`. d_i is
    the summed weight of the edges of point i, so that a point with many neighbours is bound no more
    tightly than one with few.

    Parameters
    ----------
    graph : Graph
        Similar points; n nodes, m edges. Its weights, > 0, are the couplings.
    labels : array-like of int, shape (n,)
        Class of every labelled point, from 0 to q - 1; -1 for the others.
    n_states : int
        Number of classes, q, from 2 to 127.
    label_strength : float or array-like of shape (n,), default inf
        Cost of leaving a label, >= 0, in the unit of the couplings. Infinite holds the point in its
        class, a finite value lets the neighbours overrule it. Entries of unlabelled points are
        ignored.
    mu : float, optional
        The cost of leaving a label, which then takes the place of `label_strength`: mu = 1/alpha -
        1 of the linear method. Its usual value 0.01 is nothing beside the couplings, which sum to
        about 2 at every point. The default therefore takes the labels as `label_strength` says.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    LGC : The same as an object, for ``PottsClassifier(energy=...)``.
    spinlearn.baselines.LocalGlobalConsistency : The linear method.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schoelkopf, Learning with local and global
    consistency, NIPS 2003.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import lgc
    >>> lgc(chain, [0, -1, -1, 1], n_states=2).couplings.round(2).tolist()
    [1.63, 0.67, 1.63]
    """
    q = checked_n_states(n_states)
    degrees = weighted_degrees(graph)
    u, v = graph.edges.T
    couplings = 2 * graph.weights / np.sqrt(degrees[u]) / np.sqrt(degrees[v])
    strength = label_strength if mu is None else mu
    fields, clamped = label_terms(graph, labels, q, strength, couplings)
    return PottsModel(graph, q, couplings=couplings, fields=fields, clamped=clamped)


def weighted_degrees(graph: Graph) -> FloatArray:
    """d_i = sum_j w_ij, (n,); weights must be positive, for degrees are divided by."""
    if np.any(graph.weights < 0):
        raise InvalidInputError(
            f"{int(np.sum(graph.weights < 0))} edges have negative weight, but this energy divides "
            "by sums of weights: use energy='min_cut', or similarities >= 0"
        )
    return graph.node_sums(graph.weights)
