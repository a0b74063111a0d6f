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
    """The paper's energy: cut weight, with labels as clamps or finite fields.

    Parameters
    ----------
    graph : Graph
        Its weights are the couplings J.
    labels : array-like of int, shape (n,)
        State of every labelled point, -1 for the others.
    n_states : int
        q.
    label_strength : float or array-like (n,)
        h_k >= 0; infinite (default) clamps the point, a finite value makes the label uncertain.
        Entries of unlabelled points are ignored.
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
    """The harmonic cost over labellings; parameters as in `min_cut`.

    Parameters
    ----------
    class_values : array-like (q,) or (q, k), optional
        Where the classes lie: numbers for ordered classes (grades, stages), so that neighbouring
        ones cost less, or points. Default: unit vectors, all classes equally far apart.
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
    """Local and global consistency's cost over labellings; parameters as in `min_cut`.

    Parameters
    ----------
    mu : float, optional
        The cost of leaving a label, mu = 1/alpha - 1 of the linear method. Its usual 0.01 is
        nothing beside the couplings, which sum to 2 or so at every point, so the default is to
        take the labels as `label_strength` says: held.
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
    u, v = graph.edges.T
    n = graph.n_nodes
    return np.asarray(
        np.bincount(u, weights=graph.weights, minlength=n)
        + np.bincount(v, weights=graph.weights, minlength=n),
        dtype=np.float64,
    )
