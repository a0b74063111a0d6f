"""Exact minimum spanning trees: Prim's algorithm for a matrix, Boruvka's for points.

Boruvka's algorithm joins each component to its nearest outsider. Short lists of nearest neighbours
tell it exactly for a component whose best listed edge is no longer than the reach of every list
that holds insiders only. Lists that fall short are extended, those of the smallest components
first: among s points, s neighbours are always enough. Large components that remain are compared
pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.graphs.search import Ids, Neighbors, Search

MIN_LIST = 8  # neighbours per point worth having for a spanning tree

_MAX_LIST = 128  # longest list asked for; larger components are compared pair by pair


def matrix_spanning_tree(distances: FloatArray) -> Ids:
    """Edges (n - 1, 2) of the minimum spanning tree of a dense distance matrix (n, n)."""
    n_points = len(distances)
    outside = np.ones(n_points, dtype=bool)
    lengths, ends = np.full(n_points, np.inf), np.zeros(n_points, dtype=np.int64)
    tree, newest = np.empty((n_points - 1, 2), dtype=np.int64), 0
    for edge in tree:
        outside[newest], lengths[newest] = False, np.inf
        nearer = outside & (distances[newest] < lengths)
        lengths[nearer], ends[nearer] = distances[newest][nearer], newest
        newest = int(np.argmin(lengths))
        edge[:] = ends[newest], newest
    return tree


def points_spanning_tree(
    coordinates: FloatArray,
    neighbors: Neighbors,
    longer_lists: Callable[[Ids, int], Neighbors],
) -> Ids:
    """Edges (n - 1, 2) of the minimum spanning tree of points.

    Parameters
    ----------
    coordinates : ndarray, shape (n, d)
    neighbors : Neighbors
        The k nearest points of each, k >= 1.
    longer_lists : callable
        `longer_lists(points, k)` are their k nearest points, with the distances of `neighbors`.
    """
    ids, lengths = (array.copy() for array in neighbors)
    n_points, width = ids.shape
    everyone = np.arange(n_points)
    reach = lengths[:, -1].copy()  # points that a list leaves out are no nearer than this
    component, n_components = everyone, n_points
    tree = [np.empty((0, 2), dtype=np.int64)]
    while n_components > 1:
        foreign = component[ids] != component[:, None]
        first = foreign.argmax(axis=1)
        found = foreign[everyone, first]
        outsiders, distances = ids[everyone, first], lengths[everyone, first]
        best, chosen = _shortest(n_components, component, np.where(found, distances, np.inf))
        limit, _ = _shortest(n_components, component, np.where(found, np.inf, reach))
        certain = chosen[(best <= limit) & np.isfinite(best)]
        if len(certain):
            edges = np.column_stack([certain, outsiders[certain]])
            kept, label = _forest(n_components, component[edges], distances[certain])
            tree.append(edges[kept])
            component, n_components = label[component], int(label.max()) + 1
            continue
        sizes = np.bincount(component)[component]
        doubtful = ~found & (reach < best[component])
        smallest = int(sizes[doubtful].min())
        if smallest > _MAX_LIST:
            tree.append(_joining_edges(coordinates, component))
            break
        depth = min(2 * smallest, _MAX_LIST, n_points - 1)
        rows = np.flatnonzero(doubtful & (sizes <= depth))
        longer = longer_lists(rows, depth)
        # Insiders stay insiders: keep the nearest outsiders only, in lists of the same width.
        inside = component[longer.ids] == component[rows, None]
        order = np.argsort(inside, axis=1, kind="stable")[:, :width]
        ids[rows] = np.take_along_axis(longer.ids, order, axis=1)
        lengths[rows] = np.take_along_axis(longer.distances, order, axis=1)
        full = np.count_nonzero(~inside, axis=1) >= width
        reach[rows] = np.where(full, lengths[rows, -1], longer.distances[:, -1])
    return np.concatenate(tree)


def _shortest(n_groups: int, group: Ids, lengths: FloatArray) -> tuple[FloatArray, Ids]:
    """Least length in every group, and the first position that has it."""
    best = np.full(n_groups, np.inf)
    np.minimum.at(best, group, lengths)
    positions = np.flatnonzero(lengths == best[group])
    chosen = np.empty(n_groups, dtype=np.int64)
    chosen[group[positions[::-1]]] = positions[::-1]
    return best, chosen


def _forest(n_nodes: int, edges: Ids, lengths: FloatArray) -> tuple[Ids, Ids]:
    """Positions of the edges in the minimum spanning forest, and every node's component.

    Edges may be listed twice and may have length zero, which SciPy would take for no edge: it is
    given ranks instead.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    low, high = edges.min(axis=1), edges.max(axis=1)
    ranking = np.lexsort((high, low, lengths))
    _, ranks = np.unique((low * n_nodes + high)[ranking], return_index=True)
    kept = ranking[ranks]
    graph = coo_array((ranks + 1.0, (low[kept], high[kept])), shape=(n_nodes, n_nodes))
    forest = minimum_spanning_tree(graph.tocsr())
    _, label = connected_components(forest, directed=False)
    return np.sort(ranking[forest.data.astype(np.int64) - 1]), label.astype(np.int64)


def _joining_edges(coordinates: FloatArray, component: Ids) -> Ids:
    """Edges of the minimum spanning tree between components, from their closest pairs."""
    by_size = np.argsort(np.bincount(component), kind="stable")
    rank = np.empty_like(by_size)
    rank[by_size] = np.arange(len(by_size))
    component = rank[component]
    n_components = len(by_size)
    gaps = np.zeros((n_components, n_components))
    pairs = np.zeros((n_components, n_components, 2), dtype=np.int64)
    for one in range(n_components - 1):
        members, others = np.flatnonzero(component == one), np.flatnonzero(component > one)
        nearest = Search(coordinates[members]).nearest(coordinates[others], 1)
        best, chosen = _shortest(n_components, component[others], nearest.distances[:, 0])
        gaps[one, one + 1 :] = best[one + 1 :]
        chosen = chosen[one + 1 :]
        pairs[one, one + 1 :] = np.column_stack([members[nearest.ids[chosen, 0]], others[chosen]])
    ends = np.sort(matrix_spanning_tree(gaps + gaps.T), axis=1)
    return pairs[ends[:, 0], ends[:, 1]]
