"""MessageStack: where the messages of an elimination stand in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.engines.elimination_order import BucketTree


@dataclass(frozen=True, slots=True)
class MessageStack:
    """Where each bucket's message stands, on a stack with two ends.

    Buckets of even depth are stacked from the front and those of odd depth from the back, so that a
    bucket is written while its children, on the other end, are still read.
    """

    at: npt.NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, tree: BucketTree, q: int) -> MessageStack:
        """The stack of a tree whose buckets come children first."""
        n = len(tree.separators)
        odd = np.zeros(n, dtype=bool)
        freed = np.zeros(n, dtype=np.int64)  # by consuming the children
        for b in range(n - 1, -1, -1):
            if tree.separators[b]:
                odd[b] = not odd[tree.separators[b][0]]
        at = np.zeros(n, dtype=np.int64)
        heights = [0, 0]
        size = 0
        for b, separator in enumerate(tree.separators):
            length = q ** len(separator)
            side = int(odd[b])
            at[b] = heights[side] if not side else -heights[side] - length
            heights[side] += length
            size = max(size, sum(heights))
            heights[1 - side] -= int(freed[b])
            if separator:
                freed[separator[0]] += length
        at[odd] += size
        return cls(at, size)
