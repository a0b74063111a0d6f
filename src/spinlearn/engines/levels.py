"""The levels of a ladder on which every walker stays where it is, from approximate energies.

Between neighbours at beta and beta', energies differ by E - E', which in units of their standard
deviation is the thermodynamic length

    sqrt((E - E') (beta' - beta))

to leading order. Levels that are at most LEVEL_DISTANCE apart overlap, so that samples of all of
them join to one density of states. That takes sqrt(n) levels. In large models they are up to
PART_DISTANCE apart, or PART_RATIO in temperature: what changes places between neighbours there are
parts of labellings, whose energies do not grow with the model.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import FloatArray

LEVEL_DISTANCE = 1.5
PART_DISTANCE = 6.0
PART_RATIO = 1.12
MAX_RATIO = 1.25  # of neighbouring temperatures, where the energy hardly changes
JOINED = 40  # levels, up to which they are placed so that all overlap
HOT_LEVELS = (3, 8)  # least and most from T = infinity, where Z is known, to the first wanted


def place_levels(
    wanted: FloatArray, energies: FloatArray, hot_energy: float
) -> tuple[FloatArray, bool]:
    """The levels, ascending from beta = 0, and whether energies of neighbours overlap.

    Parameters
    ----------
    wanted : float array
        Inverse temperatures that must be levels, ascending.
    energies : float array
        <E> there, about.
    hot_energy : float
        The same at beta = 0.
    """
    betas, means = wanted, np.minimum.accumulate(np.minimum(energies, hot_energy))
    if betas[0] > 0:
        betas, means = np.append(0.0, betas), np.append(hot_energy, means)
    lengths = np.sqrt(np.maximum(-np.diff(means), 0.0) * np.diff(betas))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_ratio = np.log(betas[1:] / betas[:-1]) / np.log(MAX_RATIO)
    by_ratio = np.where(np.isfinite(by_ratio), np.ceil(by_ratio - 1e-9), 1)
    parts = np.ceil(by_ratio * np.log(MAX_RATIO) / np.log(PART_RATIO))
    dense = np.maximum(np.ceil(lengths / LEVEL_DISTANCE), by_ratio)
    joined = bool(dense.sum() <= max(JOINED, len(wanted)))
    pieces = dense if joined else np.minimum(np.ceil(lengths / PART_DISTANCE), parts)
    if wanted[0] > 0 and not joined:
        pieces[0] = np.ceil(lengths[0] / PART_DISTANCE)
    if wanted[0] > 0:
        pieces[0] = np.clip(pieces[0], HOT_LEVELS[0], max(HOT_LEVELS[1], int(joined) * JOINED))
    placed = [betas[:1]]
    for low, high, count in zip(betas[:-1], betas[1:], pieces, strict=True):
        count = max(int(count), 1)
        if low == 0:
            inner = np.linspace(low, high, count + 1)
        else:
            inner = np.geomspace(low, high, count + 1)
        inner[-1] = high  # to the last bit: it has a row of its own
        placed.append(inner[1:])
    return np.concatenate(placed), joined
