"""Clusters that keep their number from one temperature to the next."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, IntArray


def tracked(
    components: IntArray, new: BoolArray, previous: IntArray | None, fresh: int
) -> tuple[IntArray, int]:
    """Numbers of clusters, taken over from `previous` where more than half of the union is shared.

    Parameters
    ----------
    components : int array (n,)
        The clusters at this temperature, under any numbers.
    new : bool array (n,)
        The points to number; the others get -1.
    previous : int array (n,) or None
        Numbers at the temperature before, -1 for points without one.
    fresh : int
        The first number not yet used.

    Returns
    -------
    numbers : int array (n,)
    fresh : int
    """
    numbers = np.full(len(components), -1, dtype=np.int32)
    if not np.any(new):
        return numbers, fresh
    ids, compact, sizes = np.unique(components[new], return_inverse=True, return_counts=True)
    inherited = np.full(len(ids), -1, dtype=np.int64)
    if previous is not None:
        before = previous[new].astype(np.int64)
        old_sizes = np.bincount(previous[previous >= 0])
        shared = before >= 0
        keys = compact[shared] * max(len(old_sizes), 1) + before[shared]
        pairs, overlap = np.unique(keys, return_counts=True)
        now, then = np.divmod(pairs, max(len(old_sizes), 1))
        same = 2 * overlap > sizes[now] + old_sizes[then] - overlap
        inherited[now[same]] = then[same]
    unmatched = inherited < 0
    inherited[unmatched] = fresh + np.arange(int(unmatched.sum()))
    numbers[new] = inherited[compact]
    return numbers, fresh + int(unmatched.sum())
