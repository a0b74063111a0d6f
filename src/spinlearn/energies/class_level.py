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

from spinlearn.analysis.grains import connected_parts
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
    """The cut plus a penalty on classes of unequal size; parameters as in `min_cut`.

    Parameters
    ----------
    strength : float
        Of the penalty, in units of the mean coupling; 0 is the min cut.
    size : {"count", "volume"}
        Whether the size of a class is its number of points or their summed degree.
    proportions : array-like (q,), optional
        Expected shares of the classes, all equal by default; they are scaled to sum to one.
    """
    model = min_cut(graph, labels, n_states, label_strength=label_strength)
    if not (isinstance(strength, (int, float, np.number)) and 0 <= strength < np.inf):
        raise InvalidInputError(
            f"strength={strength!r} of the balance is no number >= 0: 0 switches it off, 2 is usual"
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
    """Cut over volume, summed over classes; parameters as in `min_cut`."""
    return _ratio(graph, labels, n_states, label_strength, weighted_degrees(graph))


def ratio_cut(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    label_strength: npt.ArrayLike = np.inf,
) -> PottsModel:
    """Cut over number of points, summed over classes; parameters as in `min_cut`."""
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
    part = connected_parts(graph.n_nodes, graph.edges)
    return np.asarray(np.isin(part, part[labelled]))


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
