"""Energies with a term in whole classes, which keeps one class from taking over.

    balanced_cut     cut(s) + (strength <J> / 2N) sum_c (V_c - N p_c)^2
    normalized_cut   (A / 2q) sum_c cut_c / vol_c        vol_c = summed degree of class c
    ratio_cut        (A / 2q) sum_c cut_c / n_c          n_c = number of points of class c

plus the label term of min_cut. <J> is the mean coupling, V_c = n_c or vol_c scaled to sum to N; A
is the summed size of all points. The factor A/2q makes the ratio forms equal to the cut when all
classes are equally large, so that temperatures mean the same for all energies: the unit is that of
the couplings. Shi & Malik (2000); Hagen & Kahng (1992).

N and V_c of the balanced cut count the points that may be of one of the q classes. A part of the
graph that no label reaches is never called by a name, so where every state has a label it makes no
class larger; where a state has none, the part may be of that, and counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.grains import reached
from spinlearn.core.arrays import BoolArray, FloatArray, real_array
from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel, checked_n_states
from spinlearn.energies.label_terms import UNLABELLED, checked_labels, label_terms
from spinlearn.energies.pairwise import min_cut, weighted_degrees
from spinlearn.errors import InvalidInputError


def balanced_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
    strength: float = 2.0,
    size: str = "count",
    proportions: npt.ArrayLike | None = None,
) -> PottsModel:
    """The cut plus a penalty on classes of unequal size.

    ``E = cut(s) + (strength <J> / 2N) sum_c (V_c - N p_c)^2`` plus the label term of `min_cut`: <J>
    is the mean coupling, N the number of points, V_c the size of class c and p_c its expected
    share. Where all shares are equal, p_c = 0 is used, which adds a constant.

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
    strength : float, default 2
        Of the penalty, in units of the mean coupling; 0 is the minimum cut.
    size : {"count", "volume"}, default "count"
        Whether the size of a class is its number of points or their summed degree.
    proportions : array-like of shape (q,), optional
        Expected shares of the classes, all equal by default; they are scaled to sum to one.

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    BalancedCut : The same as an object, for ``PottsClassifier(energy=...)``.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import balanced_cut
    >>> model = balanced_cut(chain, [0, -1, -1, 1], n_states=2)
    >>> model.energy([[0, 0, 1, 1], [0, 0, 0, 1]]).round(2).tolist()
    [2.17, 3.08]
    """
    model = min_cut(graph, labels, n_states, label_strength=label_strength)
    if not (isinstance(strength, (int, float, np.number)) and 0 <= strength < np.inf):
        raise InvalidInputError(
            f"strength={strength!r} is not a number >= 0: 0 switches the balance off, 2 is usual"
        )
    if size not in ("count", "volume"):
        raise InvalidInputError(f"size={size!r} is unknown: use 'count' or 'volume'")
    q = model.n_states
    counted = counted_points(graph, labels, q)
    sizes = counted.astype(np.float64)
    if size == "volume":
        degrees = weighted_degrees(graph) * counted
        sizes = over_mean(degrees, counted)[0] if np.any(degrees > 0) else sizes
    shares = None if proportions is None else class_shares(proportions, q)
    unit = float(np.abs(graph.weights).mean()) if graph.n_edges else 1.0
    return model.replace(class_penalty=balance(sizes, strength * unit, q, shares))


def normalized_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
) -> PottsModel:
    """The cut of every class over its volume.

    ``E = (A / 2q) sum_c cut_c / vol_c`` plus the label term of `min_cut`. cut_c is the weight of
    the edges that leave class c, vol_c the summed degree of its points, A the volume of all. The
    factor makes the energy that of the cut where all classes are equally large, so that
    temperatures mean the same for both.

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

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    NormalizedCut : The same as an object, for ``PottsClassifier(energy=...)``.
    spinlearn.baselines.NormalizedCutClustering : The spectral method, without labels.

    References
    ----------
    J. Shi and J. Malik, Normalized cuts and image segmentation, IEEE PAMI 22, 888 (2000).

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import normalized_cut
    >>> model = normalized_cut(chain, [0, -1, -1, 1], n_states=2)
    >>> model.energy([[0, 0, 1, 1], [0, 0, 0, 1]]).round(2).tolist()
    [0.5, 1.56]
    """
    return _ratio(graph, labels, n_states, label_strength, weighted_degrees(graph))


def ratio_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
) -> PottsModel:
    """The cut of every class over its number of points.

    ``E = (n / 2q) sum_c cut_c / n_c`` plus the label term of `min_cut`. cut_c is the weight of the
    edges that leave class c, n_c its number of points. Where all classes are equally large this is
    the cut.

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

    Returns
    -------
    PottsModel
        The energy of every labelling, in the unit of the couplings.

    See Also
    --------
    RatioCut : The same as an object, for ``PottsClassifier(energy=...)``.

    References
    ----------
    L. Hagen and A. B. Kahng, New spectral methods for ratio cut partitioning and clustering, IEEE
    Trans. CAD 11, 1074 (1992).

    Examples
    --------
    >>> from spinlearn import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 0.5, 1.0])
    >>> from spinlearn.energies import ratio_cut
    >>> model = ratio_cut(chain, [0, -1, -1, 1], n_states=2)
    >>> model.energy([[0, 0, 1, 1], [0, 0, 0, 1]]).round(2).tolist()
    [0.5, 1.33]
    """
    weighted_degrees(graph)  # refuses negative weights
    return _ratio(graph, labels, n_states, label_strength, np.ones(graph.n_nodes))


def _ratio(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    label_strength: npt.ArrayLike,
    sizes: FloatArray,
) -> PottsModel:
    q = checked_n_states(n_states)
    fields, clamped = label_terms(graph, labels, q, label_strength)
    scale = float(sizes.sum()) / (2 * q)
    return PottsModel(
        graph,
        q,
        couplings=np.zeros(graph.n_edges),
        fields=fields,
        clamped=clamped,
        class_penalty=ClassPenalty.ratio(graph, sizes, n_states=q, scale=scale),
    )


def counted_points(graph: Graph, labels: npt.ArrayLike, n_states: int) -> BoolArray:
    """Points that count in the sizes of classes, (n,): at least one."""
    states = checked_labels(graph, labels, n_states)
    labelled = states != UNLABELLED
    if len(np.unique(states[labelled])) < n_states:
        return np.ones(graph.n_nodes, dtype=np.bool_)
    return reached(graph, labelled)


def over_mean(sizes: FloatArray, counted: BoolArray) -> tuple[FloatArray, float]:
    """Sizes over their mean over the points that count, (n,), beside that mean; some are > 0."""
    largest = float(sizes.max())  # a sum of sizes could overflow
    mean = float(np.sum(sizes / largest) / counted.sum())
    return np.asarray(sizes / largest / mean), largest * mean


def balance(
    sizes: FloatArray, strength: float, n_states: int, shares: FloatArray | None
) -> ClassPenalty:
    """(strength / 2N) sum_c (V_c - N share_c)^2, N the sum of the sizes."""
    targets = None if shares is None else float(sizes.sum()) * shares
    return ClassPenalty.quadratic(sizes, strength, n_states=n_states, targets=targets)


def class_shares(proportions: npt.ArrayLike, n_states: int) -> FloatArray:
    """Expected shares of the classes, scaled to sum to one, (q,)."""
    values = real_array(proportions, "proportions", (n_states,))
    if np.any(values < 0) or values.sum() <= 0:
        raise InvalidInputError(
            "proportions must be >= 0 and not all zero: give the expected share of every class"
        )
    return np.asarray(values / values.sum())
