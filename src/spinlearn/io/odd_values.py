"""Columns whose values are no measurements: marks for what is missing, hints at the labels."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray

FAR = 10.0  # ranges of all other values
FEWEST = 10  # values that make a range


def far_value(values: FloatArray) -> tuple[float, int] | None:
    """A value, the largest or the smallest, that is far from all others, and how often it stands.

    -999 for a missing number is such a value, and so is a number with a point too few. Scaled to
    deviation 1, it leaves all other values of its column nearly the same.
    """
    given = values[~np.isnan(values)]
    for end in (given.min(), given.max()) if len(given) else ():
        others = given[given != end]
        if len(others) < FEWEST:
            continue
        low, high = others.min(), others.max()
        if high > low and max(low - end, end - high) > FAR * (high - low):
            return float(end), len(given) - len(others)
    return None


def tells_who_is_labelled(values: FloatArray, labelled: BoolArray) -> bool:
    """Whether a column says one thing, or nothing, in all rows without a label, and others in rest.

    So does the class as a number, with 0 where it is unknown: to distances, labelled points would
    be unlike all that should learn from them.
    """
    if labelled.sum() < 2 or (~labelled).sum() < FEWEST:
        return False
    inside, outside = values[labelled], values[~labelled]
    if np.any(np.isnan(inside)):
        return False
    if np.all(np.isnan(outside)):
        return True
    return bool(np.all(outside == outside[0]) and np.all(inside != outside[0]))
