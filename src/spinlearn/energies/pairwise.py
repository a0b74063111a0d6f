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

from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.energies.base import Energy, Labels, weighted_degrees
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import float_array
from spinlearn.model.graph import Graph


@dataclass(kw_only=True)
class MinCut(Energy):
    """The paper's energy: the weight of the edges between classes.

    ``E = sum_<ij> w_ij [s_i != s_j] + sum_k h_k [s_k != c_k]``, eq. 2 of the paper, with the
    labelled points k, their classes c_k and h_k the strength of their labels. Weights may be of
    either sign. Give it to ``PottsClassifier(energy=...)``, or call it as below.

    Parameters
    ----------
    <shared>

    References
    ----------
    A. Blum and S. Chawla, Learning from labeled and unlabeled data using graph mincuts, ICML 2001.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> model = MinCut()(chain, [0, -1, -1, 1], n_states=2)
    >>> model.energy([[0, 0, 1, 1], [0, 1, 1, 1]]).tolist()  # the first cuts the weak edge
    [0.5, 1.0]
    """


@dataclass(kw_only=True)
class Harmonic(Energy):
    """The squared distance between the classes of neighbours, for classes that are ordered.

    ``E = sum_<ij> w_ij |x(s_i) - x(s_j)|^2`` plus the label term of `MinCut`, with the classes at
    points x(c): the quadratic cost of harmonic functions, taken at labellings. For unit vectors,
    the default, that is twice the energy of the minimum cut. Weights may be of either sign.

    Parameters
    ----------
    class_values : array-like of shape (q,) or (q, k), optional
        Where the classes lie: numbers for ordered classes (grades, stages), so that neighbouring
        ones cost less, or points. Default: unit vectors, all classes equally far apart.
    <shared>

    See Also
    --------
    spinlearn.baselines.HarmonicFields : The method that minimises this cost over real numbers.

    References
    ----------
    X. Zhu, Z. Ghahramani and J. Lafferty, Semi-supervised learning using Gaussian fields and
    harmonic functions, ICML 2003.

    Examples
    --------
    Three grades: a step of two costs four times as much as a step of one.

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Harmonic
    >>> pair = Graph(2, [(0, 1)])
    >>> grades = Harmonic(class_values=[0, 1, 2])
    >>> grades(pair, [0, -1], n_states=3).energy([[0, 1], [0, 2]]).tolist()
    [1.0, 4.0]
    """

    class_values: Any = None

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        if self.class_values is None:  # |e_a - e_b|^2 = 2; as couplings, so that clusters can move
            return {"couplings": 2 * graph.weights}
        places = float_array(self.class_values, "class_values")
        if places.shape[:1] != (q,) or places.ndim > 2 or not np.all(np.isfinite(places)):
            raise InvalidInputError(
                f"class_values has shape {places.shape} or holds NaN or infinity: give one finite "
                f"number, or one point, for each of the {q} classes"
            )
        points = places.reshape(q, -1)
        return {"pair_cost": np.sum((points[:, None] - points[None]) ** 2, axis=2)}


@dataclass(kw_only=True)
class LGC(Energy):
    """The cut with every edge divided by the degrees of its ends.

    ``E = sum_<ij> 2 w_ij / sqrt(d_i d_j) [s_i != s_j]`` plus the label term of `MinCut`: the cost
    of learning with local and global consistency, taken at labellings. d_i is the summed weight of
    the edges of point i, so that a point with many neighbours is bound no more tightly than one
    with few. Weights must be positive.

    Parameters
    ----------
    mu : float, optional
        The cost of leaving a label, in place of `label_strength`: mu = 1/alpha - 1 of the linear
        method. Its usual value 0.01 is nothing beside the couplings, which sum to about 2 at every
        point; therefore the default takes the labels as `label_strength` says.
    <shared>

    See Also
    --------
    spinlearn.baselines.LocalGlobalConsistency : The linear method.

    References
    ----------
    D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schoelkopf, Learning with local and global
    consistency, NIPS 2003.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import LGC
    >>> star = Graph(3, [(0, 1), (0, 2)])
    >>> LGC()(star, [0, -1, -1], n_states=2).couplings.round(2).tolist()
    [1.41, 1.41]
    """

    mu: float | None = None

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        degrees = weighted_degrees(graph)
        u, v = graph.edges.T
        terms = {"couplings": 2 * graph.weights / np.sqrt(degrees[u]) / np.sqrt(degrees[v])}
        return terms if self.mu is None else terms | {"label_strength": self.mu}
