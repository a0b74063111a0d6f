"""New classes: groups of points that no label reaches and that stand apart from the named classes.

A nameless state is added to the model and takes the group for which that pays most. It is a new
class if it stands further apart from every named class than points of one class stand from each
other. Both are measured by the same number, the coupling between two groups over what chance would
put there,

    rho(A, B) = 2W J(A, B) / (V_A V_B),

J(A, B) the summed coupling between them, V their volumes (summed degrees), 2W the volume of all. A
class holds together at the value at which its labels come together when small modules of the graph
are joined in order of rho (average linkage). Where classes are unions of several clusters (eight
digits against two), labels of one class come together late, and a cluster without label says
nothing; where every class is one cluster, it is new. Nor is a group new where the class beside it
would fall apart more easily (`weakest_split`). The search goes on with one nameless state more
until a group does not pass.

Every new class is then held by its most central point, as a named one is by its labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import MAX_STATES, FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.energies import Modularity
from spinlearn.methods.evidence import Labels
from spinlearn.methods.module_tree import ModuleTree
from spinlearn.methods.quick_messages import best_beliefs
from spinlearn.methods.weakest_split import weakest_split

RESOLUTION = 0.5  # of the null model in the search: a group must be half as coupled as by chance
LEAST_POINTS = 3
LEAST_SHARE = 0.01  # of all points, in a new class
MOST = 12  # new classes
CLUSTERS = 0.25  # rho below which groups are clusters of their own, where there are no labels
LEAST_NEIGHBOURS = 5.0  # on average, for groups to stand apart by their density
USUAL = 0.4  # rho within classes, where no class has two labels


class Caution(NamedTuple):
    """Where a group counts as a new class: rho to the nearest class below both of these."""

    factor: float  # times the rho at which labels of one class come together
    most: float
    few_classes: float  # the factor where at most two classes are named


# Measured on 38 sets with each class hidden in turn or none, 3 and 5 labels a class: F1 of the
# hidden class and share of points called new where nothing is hidden, 0.50 and 3 % (careful, sets
# of three classes and more), 0.56 and 7 % (eager). Where classes are unions of clusters (most sets
# of two classes) a group without label is common: those need more caution. A round cloud of 60
# points falls into two at 0.43.
NOVELTY: dict[str, Caution | None] = {
    "off": None,
    "careful": Caution(1.0, 0.35, 0.7),
    "eager": Caution(3.0, 0.6, 2.0),
}


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A new class.

    Attributes
    ----------
    points : int array
        Its members in the search.
    centre : int
        The most central of them.
    rho : float
        Coupling to the nearest named class over chance; nan where no class is named.
    """

    points: IntArray
    centre: int
    rho: float


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
    caution = NOVELTY[novelty]
    if caution is None or graph.n_edges == 0 or (n_classes and is_sparse(graph)):
        return []
    tree = ModuleTree(graph, seed)
    if n_classes == 0:
        return [_found(graph, points, np.nan) for points in _large(tree.modules_at(CLUSTERS))]
    within = tree.holding_together(labels)
    factor = caution.few_classes if n_classes <= 2 else caution.factor
    limit = min(factor * (USUAL if np.isnan(within) else within), caution.most)
    found: list[Found] = []
    held = np.array(labels)
    most = min(MOST, MAX_STATES - n_classes)
    while len(found) < most and not stop():
        group = _apart(graph, held, n_classes + len(found), temperature, seed)
        if group is None:
            break
        points, states = group
        rho, nearest = _nearest(graph, points, states, n_classes + len(found))
        if not rho < limit or not rho < _falls_apart(graph, points, nearest):
            break
        found.append(_found(graph, points, rho))
        held[found[-1].centre] = n_classes + len(found) - 1
    return found


def is_sparse(graph: Graph) -> bool:
    """Whether points have so few neighbours, as on a lattice, that any group is cut off cheaply."""
    return 2 * graph.n_edges < LEAST_NEIGHBOURS * graph.n_nodes


def _apart(
    graph: Graph, labels: Labels, n_held: int, temperature: float, seed: int
) -> tuple[IntArray, IntArray] | None:
    """The largest connected group that one more state takes, with the states of all points."""
    model: PottsModel = Modularity(resolution=RESOLUTION)(graph, labels, n_held + 1)
    states = best_beliefs(model, temperature, seed).marginals.argmax(axis=1)
    points = np.flatnonzero(states == n_held)
    if len(points) < _least(graph.n_nodes):
        return None
    _, part = connected_components(_matrix(graph)[points][:, points], directed=False)
    points = points[part == np.bincount(part).argmax()]
    if len(points) < _least(graph.n_nodes):
        return None
    return points.astype(np.int32), states.astype(np.int32)


def _nearest(
    graph: Graph, points: IntArray, states: IntArray, n_held: int
) -> tuple[float, IntArray]:
    """rho between a group and the class it is coupled to most, and the points of that class."""
    inside = np.zeros(graph.n_nodes, dtype=bool)
    inside[points] = True
    matrix = _matrix(graph)
    degrees = np.asarray(matrix.sum(axis=1)).ravel()
    pull = np.asarray(matrix[points].sum(axis=0)).ravel()
    volume = float(degrees[inside].sum())
    most, nearest = 0.0, np.empty(0, dtype=np.int32)
    for c in range(n_held):
        members = (states == c) & ~inside
        size = float(degrees[members].sum())
        rho = float(pull[members].sum()) * degrees.sum() / (volume * size) if size > 0 else 0.0
        if rho > most:
            most, nearest = rho, np.flatnonzero(members).astype(np.int32)
    return most, nearest


def _falls_apart(graph: Graph, points: IntArray, nearest: IntArray) -> float:
    """rho at which the class beside a group would itself fall apart into parts as large."""
    if len(nearest) == 0:
        return np.inf
    matrix = _matrix(graph)
    return weakest_split(matrix, nearest, float(matrix[points].sum()))


def _found(graph: Graph, points: IntArray, rho: float) -> Found:
    """A group with the point that is bound to it most."""
    inner = np.asarray(_matrix(graph)[points][:, points].sum(axis=1)).ravel()
    return Found(points, int(points[np.argmax(inner)]), rho)


def _large(member: IntArray) -> list[IntArray]:
    """Groups of at least the least size, the largest first."""
    sizes = np.bincount(member)
    wanted = [int(k) for k in np.argsort(-sizes, kind="stable") if sizes[k] >= _least(len(member))]
    return [np.flatnonzero(member == k).astype(np.int32) for k in wanted]


def _least(n_points: int) -> int:
    return max(LEAST_POINTS, int(np.ceil(LEAST_SHARE * n_points)))


def _matrix(graph: Graph) -> csr_array:
    shape = (graph.n_nodes, graph.n_nodes)
    values: FloatArray = np.maximum(graph.weights, 0.0)[graph.edge_ids]
    return csr_array((values, graph.neighbors, graph.indptr), shape=shape)
