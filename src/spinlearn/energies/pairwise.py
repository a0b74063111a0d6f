"""Energies that are sums over edges, with a term for every labelled point; arrays of one's own.

Harmonic and lgc are quadratic costs over real functions, taken at labellings: the first that of
Zhu, Ghahramani & Lafferty (2003), lgc that of Zhou et al. (2004),

    Q(F) = 1/2 (sum_ij w_ij |F_i/sqrt(d_i) - F_j/sqrt(d_j)|^2 + mu sum_i |F_i - Y_i|^2),

at unit vectors F_i, without the constant. d_i is the summed weight of the edges of i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.energies.base import UNLABELLED, Energy, Labels, mean_coupling, weighted_degrees
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import float_array, real_array
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.settings import Settings, is_number


@dataclass(kw_only=True)
class MinCut(Energy):
    """The paper's energy: the weight of the edges between classes.

    ``E = sum_<ij> w_ij [s_i != s_j] + sum_k h_k [s_k != c_k]``, eq. 2 of the paper, with the
    labelled points k, their classes c_k and h_k the strength of their labels. Weights may be of
    either sign. Give it to ``PottsClassifier(energy=...)``, or call it as below. A. Blum and S.
    Chawla, Learning from labeled and unlabeled data using graph mincuts, ICML 2001.

    Parameters
    ----------
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> model = MinCut()(Graph(3, [(0, 1), (1, 2)], [1.0, 0.5]), [0, -1, 1], n_states=2)
    >>> model.energy([[0, 0, 1], [0, 1, 1]]).tolist()  # the first cuts the weak edge
    [0.5, 1.0]
    """


@dataclass(kw_only=True)
class Harmonic(Energy):
    """The squared distance between the classes of neighbours, for classes that are ordered.

    ``E = sum_<ij> w_ij |x(s_i) - x(s_j)|^2`` plus the label term of `MinCut`, with the classes at
    points x(c): the quadratic cost of harmonic functions, taken at labellings. For unit vectors,
    the default, that is twice the energy of the minimum cut. Weights may be of either sign. X. Zhu,
    Z. Ghahramani and J. Lafferty, Semi-supervised learning using Gaussian fields and harmonic
    functions, ICML 2003. The method that minimises this cost over real numbers:
    `spinlearn.baselines.HarmonicFields`.

    Parameters
    ----------
    class_values : array-like of shape (q,) or (q, k), optional
        Where the classes lie: numbers for ordered classes (grades, stages), so that neighbouring
        ones cost less, or points. Default: unit vectors, all classes equally far apart.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Harmonic
    >>> grades = Harmonic(class_values=[0, 1, 2])  # a step of two costs four times one of one
    >>> grades(Graph(2, [(0, 1)]), [0, -1], n_states=3).energy([[0, 1], [0, 2]]).tolist()
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
    with few. Weights must be positive. D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B.
    Schoelkopf, Learning with local and global consistency, NIPS 2003. The linear method:
    `spinlearn.baselines.LocalGlobalConsistency`.

    Parameters
    ----------
    mu : float, optional
        The cost of leaving a label, in place of `label_strength`: 1/alpha - 1 of the linear method,
        whose usual 0.01 is nothing beside the couplings, which sum to about 2 at every point.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import LGC
    >>> LGC()(Graph(3, [(0, 1), (0, 2)]), [0, -1, -1], n_states=2).couplings.round(2).tolist()
    [1.41, 1.41]
    """

    mu: float | None = None

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        degrees = weighted_degrees(graph)
        u, v = graph.edges.T
        terms = {"couplings": 2 * graph.weights / np.sqrt(degrees[u]) / np.sqrt(degrees[v])}
        return terms if self.mu is None else terms | {"label_strength": self.mu}


@dataclass(kw_only=True)
class Custom(Energy):
    """An energy from arrays of your own; the labels are added to them.

    The arrays are those of `spinlearn.PottsModel`, for n points, m edges, q classes. `couplings`
    may be of shape (m,) too: the strength of every edge in the order of ``graph.edges``, of either
    sign.

    Parameters
    ----------
    pair_cost : array-like of shape (q, q), optional
        Symmetric table of the cost of two neighbouring classes. Default: 0 if equal, else 1.
    fields : array-like of shape (n, q), optional
        Cost of every class at every point.
    class_penalty : ClassPenalty or array-like of shape (q, n + 1), optional
        A term in whole classes; a table gives the cost of every number of points for every class.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Custom
    >>> tilted = Custom(fields=[[0, 0], [0.0, 0.25]])
    >>> tilted(Graph(2, [(0, 1)]), [0, -1], n_states=2).energy([[0, 0], [0, 1]]).tolist()
    [0.0, 1.25]
    """

    pair_cost: Any = None
    fields: Any = None
    class_penalty: Any = None

    _own_couplings = True

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        terms: dict[str, Any] = {"pair_cost": self.pair_cost}
        if not isinstance(self.couplings, str):
            terms["couplings"] = real_array(self.couplings, "couplings", (graph.n_edges,))
        if self.fields is not None:
            terms["fields"] = real_array(self.fields, "fields", (graph.n_nodes, q))
        penalty = self.class_penalty
        if penalty is not None and not isinstance(penalty, ClassPenalty):
            penalty = ClassPenalty.from_table(penalty)
        return terms | {"class_penalty": penalty}


@dataclass(kw_only=True)
class ClassPrior(Settings):
    """Another energy plus ``-strength <J> sum_i ln prior[s_i]`` over the unlabelled points.

    It favours likely classes; <J> is the mean coupling of that energy.

    Parameters
    ----------
    prior : array-like of shape (q,)
        Probability of every class, > 0; scaled to sum to one. It must be given.
    energy : str or energy, default "min_cut"
        What the prior is added to: one of the names in `ENERGIES`, or another energy.
    strength : float, default 1
        In units of the mean coupling: at that T a point without neighbours has the prior as its
        law.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import ClassPrior
    >>> rare = ClassPrior(prior=[0.99, 0.01])
    >>> rare(Graph(2, [(0, 1)]), [-1, -1], n_states=2).fields.round(2).tolist()
    [[0.0, 4.6], [0.0, 4.6]]
    """

    prior: Any = None
    energy: Any = "min_cut"
    strength: float = 1.0

    def __call__(
        self, graph: Graph, labels: npt.ArrayLike, n_states: int, **label_strength: Any
    ) -> PottsModel:
        """The model of the inner energy with the fields of the prior; see `MinCut`."""
        from spinlearn.energies import make_energy

        if self.prior is None:
            raise InvalidInputError("ClassPrior needs prior=..., the probability of every class")
        model = make_energy(self.energy)(graph, labels, n_states, **label_strength)
        values = real_array(self.prior, "prior", (model.n_states,))
        if np.any(values <= 0):
            raise InvalidInputError(
                "prior holds values <= 0: a class that cannot occur needs no state; give every "
                "class a positive probability"
            )
        if not (is_number(self.strength) and 0 <= self.strength < np.inf):
            raise InvalidInputError(f"strength={self.strength!r} of the prior is not a number >= 0")
        unit = mean_coupling(model.effective_couplings)
        cost = -self.strength * unit * np.log(values / values.max())
        free = np.asarray(labels) == UNLABELLED
        return model.replace(fields=model.fields + free[:, None] * cost)
