"""Exact minimum spanning trees: Prim's algorithm for a matrix, Boruvka's for points.

Boruvka's algorithm joins each component to its nearest outsider. Short lists of nearest neighbours
tell it exactly for a component whose best listed edge is no longer than the reach of every list
that holds insiders only. Lists that fall short are extended, those of the smallest components
first: among s points, s neighbours are always enough. When only large components remain, their
nearest outsiders are searched one component at a time.
"""

from __future__ import annotations

import numpy as np

from spinlearn.graphs.search import Ids, Neighbors, Search, separations
from spinlearn.model.arrays import BoolArray, FloatArray

MIN_LIST = 8  # neighbours per point worth having for a spanning tree

_MAX_LIST = 128  # longest list asked for: at most n / 128 components are searched one by one
_ROUNDING = 1e-12  # relative, far above that of a distance


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


def points_spanning_tree(search: Search, neighbors: Neighbors) -> Ids:
    """Edges (n - 1, 2) of the minimum spanning tree, given some nearest points of each point."""
    ids, lengths = (array.copy() for array in neighbors)
    reach = lengths[:, -1].copy()  # of every list: it holds all points that are nearer
    everyone, n_components = np.arange(len(ids)), len(ids)
    component = everyone
    tree = [np.empty((0, 2), dtype=np.int64)]
    while n_components > 1:
        foreign = component[ids] != component[:, None]
        first = foreign.argmax(axis=1)
        found, outsiders = foreign[everyone, first], ids[everyone, first]
        nearest = np.where(found, lengths[everyone, first], np.inf)
        best, chosen = _shortest(n_components, component, nearest)
        limit, _ = _shortest(n_components, component, np.where(found, np.inf, reach))
        certain = chosen[(best <= limit) & np.isfinite(best)]
        if len(certain):
            edges = np.column_stack([certain, outsiders[certain]])
            kept, label = _forest(n_components, component[edges], nearest[certain])
            tree.append(edges[kept])
            component, n_components = label[component], int(label.max()) + 1
            continue
        # No list of a component's doubtful ones holds an outsider, and what is farther than its
        # best edge does not matter: extend them until some component is certain, or all but the
        # largest are.
        doubtful, sizes = ~found & (reach < best[component]), np.bincount(component)
        if sizes.min() <= _MAX_LIST:
            depth = min(2 * int(sizes.min()), _MAX_LIST, len(ids) - 1)
            rows = np.flatnonzero(doubtful & (sizes[component] <= depth))
            longer = search.nearest(search.points[rows], depth, own=rows)
            # Insiders stay insiders: keep the nearest outsiders only, in lists of the same width.
            inside = component[longer.ids] == component[rows, None]
            order = np.argsort(inside, axis=1, kind="stable")[:, : ids.shape[1]]
            ids[rows] = np.take_along_axis(longer.ids, order, axis=1)
            lengths[rows] = np.take_along_axis(longer.distances, order, axis=1)
            full = np.count_nonzero(~inside, axis=1) >= ids.shape[1]
            reach[rows] = np.where(full, lengths[rows, -1], longer.distances[:, -1])
        else:
            for one in np.delete(np.arange(len(sizes)), np.argmax(sizes)):
                rows, outside = np.flatnonzero(doubtful & (component == one)), component != one
                near = _nearest_outside(search.points, outside, rows, best[one])
                ids[rows, 0], lengths[rows, 0] = near
                reach[rows] = near[1]
    return np.concatenate(tree)


def _nearest_outside(
    points: FloatArray, outside: BoolArray, rows: Ids, bound: float
) -> tuple[Ids, FloatArray]:
    """For every row the nearest outsider within `bound`, else the row, and how far.

    An infinite bound is lowered to the length of some edge that leads outside: nothing longer
    counts.
    """
    insiders, outsiders = points[rows], np.flatnonzero(outside)
    centre = insiders.mean(axis=0, keepdims=True)
    from_centre = separations(centre, np.zeros_like(outsiders), points, outsiders)
    spread = separations(centre, np.zeros_like(rows), points, rows).max()
    if not np.isfinite(bound):
        outsider = np.full_like(rows, outsiders[np.argmin(from_centre)])
        bound = float(separations(points, rows, points, outsider).min())
    near = outsiders[from_centre <= (spread + bound) * (1 + _ROUNDING)]
    if len(near) == 0:
        return rows, np.full(len(rows), bound)
    nearest = Search(points[near]).nearest(insiders, 1)
    found, distances = near[nearest.ids[:, 0]], nearest.distances[:, 0]
    within = distances <= bound
    return np.where(within, found, rows), np.where(within, distances, bound)


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

    Edges may be listed twice and have length zero, no edge for SciPy: it is given ranks instead.
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
