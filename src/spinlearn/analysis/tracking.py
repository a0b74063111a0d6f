"""Clusters that keep their number from one temperature to the next."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, IntArray


def tracked(
    components: IntArray,
    new: BoolArray,
    previous: IntArray | None,
    fresh: int,
    after: IntArray | None = None,
) -> tuple[IntArray, int]:
    """Numbers of clusters, taken over from `previous` where more than half of the union is shared.

    Points that are not `new` get -1, as those without a number before; `fresh` is the first number
    not yet used, also of the answer. `after` are numbers at the temperature after, if they are
    known, for clusters that have none before.
    """
    numbers = np.full(len(components), -1, dtype=np.int32)
    if not np.any(new):
        return numbers, fresh
    ids, compact, sizes = np.unique(components[new], return_inverse=True, return_counts=True)
    inherited = np.full(len(ids), -1, dtype=np.int64)
    for numbered in (previous, after):
        if numbered is None:
            continue
        before = numbered[new].astype(np.int64)
        old_sizes = np.bincount(numbered[numbered >= 0])
        shared = before >= 0
        keys = compact[shared] * max(len(old_sizes), 1) + before[shared]
        pairs, overlap = np.unique(keys, return_counts=True)
        now, then = np.divmod(pairs, max(len(old_sizes), 1))
        same = 2 * overlap > sizes[now] + old_sizes[then] - overlap
        same &= (inherited[now] < 0) & ~np.isin(then, inherited)
        inherited[now[same]] = then[same]
    unmatched = inherited < 0
    inherited[unmatched] = fresh + np.arange(int(unmatched.sum()))
    numbers[new] = inherited[compact]
    return numbers, fresh + int(unmatched.sum())
