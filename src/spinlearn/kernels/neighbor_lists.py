"""Better lists of nearest neighbours from rough ones: the neighbours of neighbours are looked at.

One round of nearest-neighbour descent (Dong, Moses & Li, WWW 2011): a point meets those that its
neighbours list, and those that list its neighbours; and the same of the points that list it. Lists
are read from one array and written to another, so that the result does not depend on the order in
which points are done.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from spinlearn.kernels.rows import fetch_row
from spinlearn.kernels.simd import lane_sum, load_f32x8, splat_f32x8

LANES = 8
ROW = (0,) * LANES


@njit(cache=True, nogil=True)
def list_back(lists, back, counts):
    """For every point some of those that list it, the nearest ranks first.

    Parameters
    ----------
    lists : int32 array (n, width)
        Neighbours, nearest first; -1 where there are no more.
    back : int32 array (n, most), filled with -1
    counts : int32 array (n,), zeros
    """
    most = back.shape[1]
    for rank in range(lists.shape[1]):
        for i in range(len(lists)):
            j = lists[i, rank]
            if j >= 0 and counts[j] < most:
                back[j, counts[j]] = i
                counts[j] += 1


@njit(cache=True, nogil=True)
def improve_lists(points, lists, back, begin, end, new, squares):
    """New lists of the points from `begin` to `end`, nearest first, ties by number.

    Parameters
    ----------
    points : float32 array (n, d)
        Flat in memory, d a multiple of LANES: padded with zeros.
    lists, back : int32 arrays (n, width), (n, most)
        See `list_back`.
    new : int32 array (n, width), filled
    squares : float32 array (width,)
        Work space: squared distances.
    """
    width, most = lists.shape[1], back.shape[1]
    for i in range(begin, end):
        count = 0
        for a in range(width):
            if lists[i, a] >= 0:
                count = _insert(points, i, lists[i, a], new, squares, count)
        for a in range(width + most):
            j = lists[i, a] if a < width else back[i, a - width]
            if j < 0:
                continue
            if a >= width:
                count = _insert(points, i, j, new, squares, count)
            if a + 1 < width + most:
                following = lists[i, a + 1] if a + 1 < width else back[i, a + 1 - width]
                if following >= 0:
                    _fetch(points, lists, back, following)
            for b in range(width + most):
                c = lists[j, b] if b < width else back[j, b - width]
                if c >= 0 and c != i:
                    count = _insert(points, i, c, new, squares, count)
        for a in range(count, width):
            new[i, a] = -1


@njit(cache=True, nogil=True)
def _fetch(points, lists, back, j):
    """Ask for the points that j lists, and that list j, to be in the cache when needed."""
    step = points.shape[1] // LANES
    for b in range(lists.shape[1]):
        fetch_row(ROW, points, max(lists[j, b], 0) * step)
    for b in range(back.shape[1]):
        fetch_row(ROW, points, max(back[j, b], 0) * step)


@njit(cache=True, nogil=True)
def _insert(points, i, c, new, squares, count):
    """Take c into the list of i if it is near enough and not in it; returns its length."""
    width = len(squares)
    limit = squares[width - 1] if count == width else np.float32(np.inf)
    d = points.shape[1]
    sums = splat_f32x8(np.float32(0.0))
    for x in range(0, d, LANES):
        gap = load_f32x8(points, i * d + x) - load_f32x8(points, c * d + x)
        sums = sums + gap * gap
    square = lane_sum(sums)
    if square > limit:
        return count
    for a in range(count):
        if new[i, a] == c:
            return count
    place = min(count, width - 1)
    if count == width and square == limit and c > new[i, place]:
        return count
    while place > 0 and (
        squares[place - 1] > square or (squares[place - 1] == square and new[i, place - 1] > c)
    ):
        squares[place], new[i, place] = squares[place - 1], new[i, place - 1]
        place -= 1
    squares[place], new[i, place] = square, c
    return min(count + 1, width)
