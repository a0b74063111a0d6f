"""New classes: groups of points that no label reaches and that stand apart from the named classes.

We add one unlabelled state; it settles on the group that lowers the free energy most. The group A
is a new class if it hangs on no class B more strongly than the two hold together themselves,

    kappa(A, B) = (J(A, B) + 1/2) / (min(c_A, c_B) + 1/2)  <=  limit,

J(A, B) the summed coupling between the two, c the weakest balanced cut of each (`weakest_split`):
arcs of a ring and slices of a cloud have kappa >= 1, a dip in density less. The search goes on with
one unlabelled state more until a group does not pass. A part of the graph without any label is a
new class anyway. Every new class is then held by its most
central point, as a named one is by its labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import MAX_STATES, IntArray
from spinlearn.core.constants import (
    APART,
    CLUSTERS,
    LEAST_NEIGHBOURS,
    LEAST_SHARE,
)
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.energies import Modularity
from spinlearn.methods.evidence import Labels
from spinlearn.methods.quick_messages import best_beliefs
from spinlearn.methods.weakest_split import weakest_split
from spinlearn.minimizers.linear_system import weight_matrix
from spinlearn.minimizers.module_tree import ModuleTree

LEAST_POINTS = 3  # of a new class, as in the paper
MOST = 12  # new classes: a limit of time
NOVELTY = {"off": 0.0, "careful": 1.0, "eager": 3.0}  # times APART, the limit of kappa


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A new class.

    Attributes
    ----------
    points : int array
        Its members in the search.
    centre : int
        The most central of them.
    apart : float
        Its largest kappa; nan where no class is named.
    """

    points: IntArray
    centre: int
    apart: float


def discover(
    graph: Graph,
    labels: Labels,
    n_classes: int,
    temperature: float,
    novelty: str,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> list[Found]:
    """New classes of a graph, in the order in which they were found.

    Parameters
    ----------
    graph : Graph
        With the weights that the energy is given.
    labels : int array (n,)
    n_classes : int
        Named classes; 0 makes it a clustering.
    temperature : float
    novelty : {"off", "careful", "eager"}
    seed : int
    stop : callable
        Asked between groups.
    """
    limit = NOVELTY[novelty] * APART
    if np.bincount(labels[labels >= 0], minlength=1).max() < 2:
        limit /= 3  # one label a class may have missed any part of it
    if not limit or graph.n_edges == 0 or stop():
        return []
    matrix = weight_matrix(graph.with_weights(np.maximum(graph.weights, 0.0)))
    if n_classes == 0:
        clusters = ModuleTree(graph, seed).modules_at(CLUSTERS)
        return [_found(matrix, points, np.nan) for points in _large(clusters)]
    held = np.array(labels)
    least = max(LEAST_POINTS, int(np.ceil(LEAST_SHARE * graph.n_nodes)))
    most = min(MOST, MAX_STATES - n_classes)
    _, part = connected_components(matrix, directed=False)
    apart = [points for points in _large(part) if not np.any(labels[points] >= 0)]
    found = [_found(matrix, points, 0.0) for points in apart[:most]]
    for k, group in enumerate(found):
        held[group.centre] = n_classes + k
    if is_sparse(graph):
        return found
    while len(found) < most and not stop():
        state = n_classes + len(found)
        states = _states(graph, held, state, temperature, seed)
        points = _largest_piece(matrix, np.flatnonzero(states == state).astype(np.int32))
        if len(points) < least or np.any(held[points] >= 0):
            break
        kappa = _largest_kappa(matrix, points, states, limit)
        if kappa > limit:
            break
        found.append(_found(matrix, points, kappa))
        held[found[-1].centre] = state
    return found


def is_sparse(graph: Graph) -> bool:
    """Whether points have so few neighbours, as on a lattice, that any group is cut off cheaply."""
    return 2 * graph.n_edges < LEAST_NEIGHBOURS * graph.n_nodes


def _states(graph: Graph, labels: Labels, n_held: int, temperature: float, seed: int) -> IntArray:
    """States of all points if there is one more than are held."""
    model: PottsModel = Modularity()(graph, labels, n_held + 1)
    beliefs = best_beliefs(model, temperature, seed)
    return np.asarray(beliefs.marginals.argmax(axis=1), dtype=np.int32)


def _largest_piece(matrix: csr_array, points: IntArray) -> IntArray:
    """The largest connected part of a group."""
    if len(points) == 0:
        return points
    _, part = connected_components(matrix[points][:, points], directed=False)
    return np.asarray(points[part == np.bincount(part).argmax()])


def _largest_kappa(matrix: csr_array, points: IntArray, states: IntArray, limit: float) -> float:
    """kappa between a group and the class of these states on which it hangs most.

    Larger values are not told apart once it exceeds the limit.
    """
    inside = np.zeros(len(states), dtype=bool)
    inside[points] = True
    pull = np.asarray(matrix[points].sum(axis=0)).ravel()
    border = np.bincount(states[~inside], weights=pull[~inside])
    own, largest = weakest_split(matrix, points), 0.0
    for other in np.argsort(-border, kind="stable"):
        if border[other] <= 0 or largest > limit:
            break
        members = np.flatnonzero((states == other) & ~inside).astype(np.int32)
        weakest = min(own, weakest_split(matrix, members))
        largest = max(largest, (border[other] + 0.5) / (weakest + 0.5))
    return float(largest)


def _found(matrix: csr_array, points: IntArray, apart: float) -> Found:
    """A group with the point that is bound to it most."""
    inner = np.asarray(matrix[points][:, points].sum(axis=1)).ravel()
    return Found(points, int(points[np.argmax(inner)]), apart)


def _large(member: IntArray) -> list[IntArray]:
    """Groups of at least the least size, the largest first."""
    sizes = np.bincount(member)
    least = max(LEAST_POINTS, int(np.ceil(LEAST_SHARE * len(member))))
    wanted = [int(k) for k in np.argsort(-sizes, kind="stable") if sizes[k] >= least]
    return [np.flatnonzero(member == k).astype(np.int32) for k in wanted]
