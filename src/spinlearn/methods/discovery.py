"""New classes: groups of points that no label reaches and that stand apart from the named classes.

A nameless state is added to the model and takes the group for which that pays most. It is a new
class if it stands apart from every named class rather as classes do than as points of one class,
and holds together. How far two groups are apart is the coupling between them over what chance
would put there,

    rho(A, B) = 2W J(A, B) / (V_A V_B),

J(A, B) the summed coupling between them, V their volumes (summed degrees), 2W the volume of all.
Small modules of the graph are joined in order of rho (average linkage); labels of one class come
together at some rho, and with those of the nearest other class at another, as a rule a smaller one.
A group whose rho to the nearest class is below the geometric mean of the two is apart. Where
classes are unions of several clusters (eight digits against two), labels of one class come together
late, and a cluster without label says nothing. A group holds together if it is not bound to the
others much more strongly than its halves to each other (`weakest_split`): a piece of a long class,
cut out anywhere, is. The search goes on with one nameless state more until a group does not pass;
then modules without label are tried, which must hold together better, if some class has two labels.

Every new class is then held by its most central point, as a named one is by its labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from spinlearn.core.arrays import MAX_STATES, IntArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.energies import Modularity
from spinlearn.methods.evidence import Labels
from spinlearn.methods.quick_messages import best_beliefs
from spinlearn.methods.weakest_split import weakest_split
from spinlearn.minimizers.linear_system import weight_matrix
from spinlearn.minimizers.module_tree import ModuleTree

RESOLUTION = 0.5  # of the null model in the search: a group must be half as coupled as by chance
LEAST_POINTS = 3
LEAST_SHARE = 0.01  # of all points, in a new class
MOST = 12  # new classes
FEW_CLASSES = 2  # that are often unions of clusters: more caution
WITHIN_FEW = 0.7  # most rho, over that within classes, where so few are named
MODULES = 1.0  # resolution at which modules without label are looked at as well,
MODULE_MOST = 0.6  # with these limits for rho, and for how far they may be bound to others
MODULE_BOUND = 0.7
CLUSTERS = 0.25  # rho below which groups are clusters of their own, where there are no labels
LEAST_NEIGHBOURS = 5.0  # on average, for groups to stand apart by their density
USUAL = 0.2  # rho within classes, where no class has two labels
FAR_APART = 0.1  # rho between classes below which there is no difference


class Caution(NamedTuple):
    """Where a group counts as a new class: rho to the nearest class below both of the first two."""

    factor: float  # times the geometric mean of rho within classes and between them
    most: float
    bound: float  # most coupling to all others, over that between its halves,
    bound_of_few: float  # where at most two classes are named; a third of it if none has two labels


# Measured on 44 sets, 3 and 5 labels a class, with up to three classes hidden in turn, or none: F1
# of the hidden class, and share of points called new where nothing is hidden, in sets of three
# classes and more, and of two, which are often unions of clusters. A round cloud of 60 points falls
# into two at rho = 0.43, each bound to the other as strongly as its halves: 0.96.
#   careful   0.38     4 %    7 %
#   eager     0.48     7 %   21 %
# A limit to rho alone, as large as gives 4 % with 3 labels, had F1 0.32, and 11 % of two classes.
NOVELTY: dict[str, Caution | None] = {
    "off": None,
    "careful": Caution(1.0, 0.42, 4.0, 2.85),
    "eager": Caution(3.0, 0.6, 10.0, 5.0),
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
    matrix = weight_matrix(graph.with_weights(np.maximum(graph.weights, 0.0)))
    if n_classes == 0:
        return [_found(matrix, points, np.nan) for points in _large(tree.modules_at(CLUSTERS))]
    limit, bound = _limits(tree, labels, n_classes, caution)
    usual, tight = (min(limit, caution.most), bound), (min(limit, MODULE_MOST), MODULE_BOUND)
    found: list[Found] = []
    held = np.array(labels)
    most = min(MOST, MAX_STATES - n_classes)
    while True:
        if len(found) == most or stop():
            return found
        states = _states(graph, held, n_classes + len(found), temperature, seed)
        points = _largest_piece(
            matrix, np.flatnonzero(states == n_classes + len(found)).astype(np.int32)
        )
        rho = _passes(matrix, points, states, usual)
        if rho is None:
            break
        found.append(_found(matrix, points, rho))
        held[found[-1].centre] = n_classes + len(found) - 1
    modules = tree.modules_at(MODULES) if _has_pairs(labels) else np.zeros(0, dtype=np.int32)
    for points in _large(modules):
        if len(found) < most and not np.any(held[points] >= 0):
            rho = _passes(matrix, points, states, tight)
            if rho is not None:
                found.append(_found(matrix, points, rho))
                held[found[-1].centre] = n_classes + len(found) - 1
    return found


def _has_pairs(labels: Labels) -> bool:
    """Whether labels say how classes hold together: some class has two."""
    return bool(np.bincount(labels[labels >= 0]).max(initial=0) > 1)


def _limits(
    tree: ModuleTree, labels: Labels, n_classes: int, caution: Caution
) -> tuple[float, float]:
    """rho to the nearest class below which a group is apart, and how far it may be bound to all."""
    few = n_classes <= FEW_CLASSES
    bound = caution.bound_of_few if few else caution.bound
    within, between = tree.within_and_between(labels)
    if np.isnan(within):
        within, bound = USUAL, bound / 3
    if np.isnan(between):  # one class
        between = within
    limit = float(np.sqrt(within * max(between, min(FAR_APART, within))))
    if few:
        limit = min(limit, WITHIN_FEW * within)
    return caution.factor * limit, bound


def is_sparse(graph: Graph) -> bool:
    """Whether points have so few neighbours, as on a lattice, that any group is cut off cheaply."""
    return 2 * graph.n_edges < LEAST_NEIGHBOURS * graph.n_nodes


def _states(graph: Graph, labels: Labels, n_held: int, temperature: float, seed: int) -> IntArray:
    """States of all points if there is one more than are held."""
    model: PottsModel = Modularity(resolution=RESOLUTION)(graph, labels, n_held + 1)
    beliefs = best_beliefs(model, temperature, seed)
    return np.asarray(beliefs.marginals.argmax(axis=1), dtype=np.int32)


def _largest_piece(matrix: csr_array, points: IntArray) -> IntArray:
    """The largest connected part of a group."""
    if len(points) == 0:
        return points
    _, part = connected_components(matrix[points][:, points], directed=False)
    return np.asarray(points[part == np.bincount(part).argmax()])


def _passes(
    matrix: csr_array, points: IntArray, states: IntArray, limits: tuple[float, float]
) -> float | None:
    """rho of a group to the nearest class if it is a new class, else None."""
    if len(points) < _least(len(states)):
        return None
    rho = _nearest(matrix, points, states)
    limit, bound = limits
    return rho if rho < limit and _outwards(matrix, points) <= bound else None


def _nearest(matrix: csr_array, points: IntArray, states: IntArray) -> float:
    """rho between a group and the class of these states that it is coupled to most."""
    degrees = np.asarray(matrix.sum(axis=1)).ravel()
    pull = np.asarray(matrix[points].sum(axis=0)).ravel()
    outside = np.ones(len(states), dtype=bool)
    outside[points] = False
    sizes = np.bincount(states[outside], weights=degrees[outside])
    pulls = np.bincount(states[outside], weights=pull[outside])
    volume = float(degrees[points].sum())
    if volume == 0 or not np.any(pulls > 0):
        return 0.0
    return float(np.max(pulls[sizes > 0] / sizes[sizes > 0]) * degrees.sum() / volume)


def _outwards(matrix: csr_array, points: IntArray) -> float:
    """How strongly a group is bound to all others, over how its halves are to each other."""
    outer = float(matrix[points].sum() - matrix[points][:, points].sum())
    inner = weakest_split(matrix, points)
    if outer <= 0:
        return 0.0
    return outer / inner if inner > 0 else np.inf


def _found(matrix: csr_array, points: IntArray, rho: float) -> Found:
    """A group with the point that is bound to it most."""
    inner = np.asarray(matrix[points][:, points].sum(axis=1)).ravel()
    return Found(points, int(points[np.argmax(inner)]), rho)


def _large(member: IntArray) -> list[IntArray]:
    """Groups of at least the least size, the largest first."""
    sizes = np.bincount(member)
    wanted = [int(k) for k in np.argsort(-sizes, kind="stable") if sizes[k] >= _least(len(member))]
    return [np.flatnonzero(member == k).astype(np.int32) for k in wanted]


def _least(n_points: int) -> int:
    return max(LEAST_POINTS, int(np.ceil(LEAST_SHARE * n_points)))
