"""How many points lie where, and what most of them are: what a map shows where points overlap.

The square around a layout is cut into SIDE x SIDE bins. Of every bin the page is given the number
of points and, at every temperature, the outcome that most of them have. No point is left out, so
that what the sample of drawn points misses shows here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray

SIDE = 192
MOST_LEVEL = 255


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """Bins that hold points.

    Attributes
    ----------
    bins : int array (b,)
        Row times SIDE plus column, counted from the lowest corner, ascending.
    levels : uint8 array (b,)
        Number of points on a logarithmic scale, 255 in the fullest bin.
    outcomes : int array (T, b)
        Outcome of most of the points of a bin.
    """

    bins: IntArray
    levels: npt.NDArray[np.uint8]
    outcomes: IntArray


def density(places: FloatArray, outcomes: IntArray) -> Density:
    """Bins of points at `places` (n, 2), in units of the longer side, with outcomes (T, n)."""
    cell = np.minimum((places * SIDE).astype(np.int32), SIDE - 1)
    bins, member = np.unique(cell[:, 1] * SIDE + cell[:, 0], return_inverse=True)
    counts = np.bincount(member)
    levels = np.rint(MOST_LEVEL * np.log1p(counts) / np.log1p(counts.max()))
    return Density(
        bins=bins.astype(np.int32),
        levels=levels.astype(np.uint8),
        outcomes=np.array([_most_frequent(member, row, len(bins)) for row in outcomes]),
    )


def _most_frequent(member: npt.NDArray[np.intp], outcomes: IntArray, n_bins: int) -> IntArray:
    """The outcome that most points of every bin have; of several, that of the lowest code."""
    codes, code = np.unique(outcomes, return_inverse=True)
    pairs, counts = np.unique(member * len(codes) + code, return_counts=True)
    order = np.lexsort((pairs, -counts, pairs // len(codes)))
    first = np.searchsorted(pairs[order] // len(codes), np.arange(n_bins))
    return np.asarray(codes[pairs[order][first] % len(codes)], dtype=np.int32)
