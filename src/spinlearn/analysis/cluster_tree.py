"""The dendrogram over temperature: clusters with the temperatures at which they live.

A cluster at one temperature is the same as one at the next lower temperature when they share more
than half of their union; otherwise it is new, and its parent is the cluster below that holds most
of its members. At the lowest temperature clusters have no parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.tracking import tracked
from spinlearn.core.arrays import FloatArray, IntArray, frozen, restore

NO_PARENT = -1


@dataclass(frozen=True, slots=True, eq=False)
class ClusterTree:
    """Clusters over ascending temperatures, c in all.

    A cluster lives from `low` to `high`, half way to the next temperature of the grid.
    """

    temperatures: FloatArray  # (T,)
    members: IntArray  # (T, n), cluster of every point at every temperature
    parents: IntArray  # (c,), the cluster each one splits off from; -1 at the root
    low: FloatArray  # (c,)
    high: FloatArray  # (c,)
    sizes: IntArray  # (c,), points at the lowest temperature of its life

    @property
    def n_clusters(self) -> int:
        """Number of clusters over all temperatures."""
        return len(self.parents)

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)


def cluster_tree(temperatures: FloatArray, parts: Sequence[IntArray]) -> ClusterTree:
    """Follow clusters, given at every temperature under any numbers, through ascending T."""
    everyone = np.ones(len(parts[0]), dtype=bool)
    members: list[IntArray] = []
    parents: list[npt.NDArray[np.int64]] = []
    first: list[npt.NDArray[np.int64]] = []
    sizes: list[npt.NDArray[np.int64]] = []
    fresh = 0
    for row, part in enumerate(parts):
        previous = members[-1] if members else None
        numbers, after = tracked(part, everyone, previous, fresh)
        parents.append(_parents(numbers, previous, fresh, after))
        first.append(np.full(after - fresh, row))
        sizes.append(np.bincount(numbers, minlength=after)[fresh:])
        members.append(numbers)
        fresh = after
    last = np.zeros(fresh, dtype=np.intp)
    for row, numbers in enumerate(members):
        last[numbers] = row
    ends = np.concatenate(
        [temperatures[:1], (temperatures[:-1] + temperatures[1:]) / 2, temperatures[-1:]]
    )
    return ClusterTree(
        temperatures=frozen(temperatures, np.float64),
        members=frozen(np.array(members), np.int32),
        parents=frozen(np.concatenate(parents), np.int32),
        low=frozen(ends[np.concatenate(first)], np.float64),
        high=frozen(ends[last + 1], np.float64),
        sizes=frozen(np.concatenate(sizes), np.int32),
    )


def _parents(
    numbers: IntArray, previous: IntArray | None, fresh: int, after: int
) -> npt.NDArray[np.int64]:
    """Where most members of the clusters fresh ... after - 1 were before; of equals, the first."""
    found = np.full(after - fresh, NO_PARENT, dtype=np.int64)
    if previous is None:
        return found
    new = numbers >= fresh
    count = int(previous.max(initial=0)) + 1
    keys = (numbers[new] - fresh).astype(np.int64) * count + previous[new]
    pairs, shared = np.unique(keys, return_counts=True)
    cluster, before = np.divmod(pairs, count)
    order = np.lexsort((-before, shared, cluster))  # the last of a cluster is its parent
    found[cluster[order]] = before[order]
    return found
