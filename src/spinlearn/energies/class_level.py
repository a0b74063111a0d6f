"""Energies with a term in whole classes, which keeps one class from taking over.

The factor A/2q of the ratio forms makes them equal to the cut when all classes are equally large,
so that temperatures mean the same for all energies: the unit is that of the couplings.

The number of points N and the class sizes V_c count the points that may be of one of the q classes:
all where a state has no label. Where every state has one, parts of the graph without label count
for no class, because they are never called by a name.

The diffused cut is for very few labels: with one label a class, a labelling in which two classes
have changed places costs the cut only the edges of two labelled points. P_i(c) is what reaches
point i of the labels of class c in random walks (Zhou et al. 2004 with alpha near one),

    G = (I - alpha S)^-1 Y,    S = D^-1/2 W D^-1/2,    P_i(c) = G_ic / g_c / sum_c' G_ic' / g_c',

g_c = sum_i G_ic, so that all classes carry the same mass however well their labels are placed. A
state without label has no field. Because of the division by m, `diffusion` is the usual field
difference of a point in units of <J>, whatever alpha and the graph: at 0.2 a single neighbour
outweighs it at one point, while a group of a hundred points feels twenty.

Modularity is the cut beside a null model. In a random graph with the same degrees an edge joins i
and j with weight d_i d_j / 2W, W = sum_<ij> w_ij, so its second term is gamma times the weight that
chance would put inside the classes. With Newman's modularity (Reichardt & Bornholdt 2006)

    Q = (1/2W) sum_ij (w_ij - gamma d_i d_j / 2W) [s_i = s_j]        E = W (1 - Q).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.energies.base import UNLABELLED, Energy, Labels, mean_coupling, weighted_degrees
from spinlearn.energies.pairwise import MinCut
from spinlearn.errors import InvalidInputError
from spinlearn.linear import inverse_roots, scaled, solve, weight_matrix
from spinlearn.model.arrays import BoolArray, FloatArray, real_array
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph, reached
from spinlearn.model.settings import is_number

TOLERANCE = 1e-8  # residual relative to the labels, far below the margins that fields are made of
MAX_STEPS = 10_000


@dataclass(kw_only=True)
class BalancedCut(MinCut):
    """The cut plus a penalty on classes of unequal size.

    ``E = cut(s) + (strength <J> / 2N) sum_c (V_c - N p_c)^2`` plus the label term of `MinCut`: <J>
    is the mean coupling, N the number of points, V_c the size of class c, scaled to sum to N, and
    p_c its expected share (0 where all are equal, which adds a constant).

    Parameters
    ----------
    strength : float, default 2
        Of the penalty, in units of the mean coupling; 0 is the minimum cut.
    size : {"count", "volume"}, default "count"
        Whether the size of a class is its number of points or their summed degree.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes, all equal by default; they are scaled to sum to one.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import BalancedCut
    >>> model = BalancedCut(strength=3)(Graph(3, [(0, 1), (1, 2)]), [0, -1, -1], n_states=2)
    >>> model.energy([[0, 0, 0], [0, 0, 1]]).round(2).tolist()
    [4.5, 3.5]
    """

    strength: float = 2.0
    size: str = "count"
    proportions: Any = None

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        if not (is_number(self.strength) and 0 <= self.strength < np.inf):
            raise InvalidInputError(
                f"strength={self.strength!r} is not a number >= 0: 0 switches the balance off, 2 "
                "is usual"
            )
        if self.size not in ("count", "volume"):
            raise InvalidInputError(f"size={self.size!r} is unknown: use 'count' or 'volume'")
        sizes = counted_points(graph, states, q).astype(np.float64)
        if self.size == "volume":
            volumes, mean_degree = counted_volumes(graph, states, q)
            sizes = volumes if mean_degree > 0 else sizes
        strength, targets = self.strength * mean_coupling(graph.weights), self.proportions
        if targets is not None:
            targets = float(sizes.sum()) * class_shares(targets, q)
        return {
            "class_penalty": ClassPenalty.quadratic(sizes, strength, n_states=q, targets=targets)
        }


@dataclass(kw_only=True)
class DiffusedCut(BalancedCut):
    """The balanced cut with a weak field from diffused labels, for one or two labels a class.

    The cut says well which points belong together, but with few labels hardly which class they are;
    random walks from the labels say the opposite. The energy is that of `BalancedCut` minus
    ``(diffusion <J> / m) sum_i (P_i(s_i) - 1/k)`` over the unlabelled points: P_i(c) is the share
    of class c in what reaches point i, k the number of labelled classes, and m the mean difference
    between a point's two largest shares. Weights must be positive.

    Parameters
    ----------
    diffusion : float, default 0.2
        Strength of the fields, in units of the mean coupling; 0 leaves the balanced cut.
    alpha : float, default 0.999
        Reach of the random walks from the labels, 0 < alpha < 1: about 1/(1 - alpha) steps.
    strength : float, optional
        Of the balance, in units of the mean coupling. Default: the mean degree in that unit; then
        ``size="volume"`` and ``diffusion=0`` make the energy that of `Modularity`.
    size, proportions
        As for `BalancedCut`.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import DiffusedCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> DiffusedCut(diffusion=0.5)(chain, [0, -1, -1, 1], n_states=2).fields[1:3].round(2).tolist()
    [[-0.25, 0.25], [0.25, -0.25]]
    """

    diffusion: float = 0.2
    alpha: float = 0.999
    strength: float | None = None  # type: ignore[assignment]

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        strength = self.strength
        if strength is None:
            # The summed |coupling| of a point, mean over those that count, over <J>
            counted = counted_points(graph, states, q)
            weights = np.abs(graph.weights) / mean_coupling(graph.weights)
            strength = float(np.sum(weights * counted[graph.edges].sum(axis=1)) / counted.sum())
        balance = BalancedCut(strength=strength, size=self.size, proportions=self.proportions)
        terms = balance._terms(graph, states, q)
        gamma, alpha = self.diffusion, self.alpha
        if not (is_number(gamma) and 0 <= gamma < np.inf):
            raise InvalidInputError(
                f"diffusion={gamma!r} is not a strength of a field: use a number >= 0, 0.2 is usual"
            )
        if not (is_number(alpha) and 0 < alpha < 1):
            raise InvalidInputError(f"alpha={alpha!r} is not a share: use 0 < alpha < 1")
        preferences = _preferences(graph, states, q, float(alpha))
        return terms | {"fields": -(gamma * mean_coupling(graph.weights) * preferences)}


@dataclass(kw_only=True)
class Modularity(MinCut):
    """The cut beside a null model, so that no class gains by taking everything.

    ``E = cut(s) + (gamma / 4W) sum_c (V_c - 2W p_c)^2`` plus the label term of `MinCut`. W is the
    weight of all edges, V_c the summed degree of the points of class c, p_c its expected share (0
    where all are equal, which adds a constant). Weights must be positive. J. Reichardt and S.
    Bornholdt, Statistical mechanics of community detection, Phys. Rev. E 74, 016110 (2006).

    Parameters
    ----------
    resolution : float, default 1
        gamma, >= 0; 0 is the minimum cut, and larger values make more and smaller classes.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes in the summed degree, scaled to sum to one; default: equal.
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import Modularity
    >>> model = Modularity()(Graph(4, [(0, 1), (1, 2), (2, 3)]), [0, -1, -1, -1], n_states=2)
    >>> model.energy([[0, 0, 0, 0], [0, 0, 1, 1]]).round(2).tolist()  # a cut alone would not pay
    [3.0, 2.5]
    """

    resolution: float = 1.0
    proportions: Any = None

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        gamma = self.resolution
        if not (is_number(gamma) and 0 <= gamma < np.inf):
            raise InvalidInputError(
                f"resolution={gamma!r} is not a number >= 0: 1 is usual, less makes fewer and "
                "larger classes, and 0 leaves the minimum cut"
            )
        shares = None if self.proportions is None else class_shares(self.proportions, q)
        # Volumes in units of the mean degree: their squares must not overflow.
        sizes, mean_degree = counted_volumes(graph, states, q)
        if gamma == 0 or mean_degree == 0:
            return {}  # without edges chance joins nothing
        chance = float(gamma) * mean_degree
        if not np.isfinite(chance):
            raise InvalidInputError(
                f"energies overflow: resolution={gamma:g} times the mean degree {mean_degree:g} "
                "is too large a number; 1 is usual"
            )
        targets = None if shares is None else float(sizes.sum()) * shares
        return {"class_penalty": ClassPenalty.quadratic(sizes, chance, n_states=q, targets=targets)}


@dataclass(kw_only=True)
class NormalizedCut(Energy):
    """The cut of every class over its volume.

    ``E = (A / 2q) sum_c cut_c / vol_c`` plus the label term of `MinCut`. cut_c is the weight of the
    edges that leave class c, vol_c the summed degree of its points, A the volume of all. Weights
    must be positive. J. Shi and J. Malik, Normalized cuts and image segmentation, IEEE PAMI 22, 888
    (2000); its method, without labels: `spinlearn.baselines.NormalizedCutClustering`.

    Parameters
    ----------
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import NormalizedCut
    >>> model = NormalizedCut()(Graph(4, [(0, 1), (1, 2), (2, 3)]), [0, -1, -1, 1], n_states=2)
    >>> model.energy([0, 0, 1, 1])
    1.0
    """

    _by_degree: ClassVar[bool] = True  # whether sizes are summed degrees, or numbers of points

    def _terms(self, graph: Graph, states: Labels, q: int) -> dict[str, Any]:
        degrees = weighted_degrees(graph)
        sizes = degrees if self._by_degree else np.ones(graph.n_nodes)
        scale = float(sizes.sum()) / (2 * q)
        penalty = ClassPenalty.ratio(graph, sizes, n_states=q, scale=scale)
        return {"couplings": np.zeros(graph.n_edges), "class_penalty": penalty}


@dataclass(kw_only=True)
class RatioCut(NormalizedCut):
    """The cut of every class over its number of points.

    ``E = (n / 2q) sum_c cut_c / n_c`` plus the label term of `MinCut`. cut_c is the weight of the
    edges that leave class c, n_c its number of points. Weights must be positive. L. Hagen and A. B.
    Kahng, New spectral methods for ratio cut partitioning and clustering, IEEE Trans. CAD 11, 1074
    (1992).

    Parameters
    ----------
    <shared>

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import RatioCut
    >>> RatioCut()(Graph(3, [(0, 1), (1, 2)]), [0, -1, 1], n_states=2).energy([0, 0, 1])
    1.125
    """

    _by_degree = False


def counted_points(graph: Graph, states: Labels, n_states: int) -> BoolArray:
    """Points that count in the sizes of classes, (n,): at least one."""
    labelled = states != UNLABELLED
    if len(np.unique(states[labelled])) < n_states:
        return np.ones(graph.n_nodes, dtype=np.bool_)
    return reached(graph, labelled)


def counted_volumes(graph: Graph, states: Labels, n_states: int) -> tuple[FloatArray, float]:
    """Degrees of the points that count over their mean, (n,), and that mean; it may be 0."""
    counted = counted_points(graph, states, n_states)
    degrees = weighted_degrees(graph) * counted
    largest = float(degrees.max())
    if largest == 0:
        return degrees, 0.0
    mean = float(np.sum(degrees / largest) / counted.sum())  # a sum of degrees could overflow
    return np.asarray(degrees / largest / mean), largest * mean


def class_shares(proportions: npt.ArrayLike, n_states: int) -> FloatArray:
    """Expected shares of the classes, scaled to sum to one, (q,)."""
    values = real_array(proportions, "proportions", (n_states,))
    if np.any(values < 0) or values.sum() <= 0:
        raise InvalidInputError(
            "proportions must be >= 0 and not all zero: give the expected share of every class"
        )
    return np.asarray(values / values.sum())


def _preferences(graph: Graph, states: Labels, n_states: int, alpha: float) -> FloatArray:
    """(P_i(c) - 1/k) / m for unlabelled points, (n, q); zero where no label reaches."""
    preferences = np.zeros((graph.n_nodes, n_states))
    labelled = np.flatnonzero(states != UNLABELLED)
    classes = np.unique(states[labelled])
    if len(classes) < 2:
        return preferences  # one class everywhere says nothing
    roots = inverse_roots(weighted_degrees(graph))
    right = np.zeros((graph.n_nodes, len(classes)))
    right[labelled, np.searchsorted(classes, states[labelled])] = 1.0
    matrix = scaled(weight_matrix(graph), roots, alpha)
    reached = np.maximum(solve(matrix, right, tol=TOLERANCE, max_iter=MAX_STEPS).x, 0.0)
    reached /= reached.sum(axis=0)
    total = reached.sum(axis=1)
    # Below the solver's resolution shares are noise.
    known = (states == UNLABELLED) & (total > TOLERANCE * total.max())
    shares = reached[known] / total[known, None]
    two = np.sort(shares, axis=1)[:, -2:]
    margin = float(np.mean(two[:, 1] - two[:, 0])) if len(two) else 0.0
    if margin > 0:
        preferences[np.ix_(known, classes)] = (shares - 1 / len(classes)) / margin
    return preferences
