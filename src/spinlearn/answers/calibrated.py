"""The temperature at which the probabilities of belief propagation are about right.

Neighbours in a graph of similar points are neighbours of each other, so that belief propagation
counts what they say more than once. Too low a temperature makes that worse, too high a one leaves
nothing decided. The expected calibration error was least at

    T = (mean summed coupling of a point) / 5

within a factor 1.5 on nine sets (images, cells, tumours, tables, a Gaussian mixture; 2 to 10
classes) with 5, 10 and 20 neighbours and either resolution of the null model. Where labels can be
left out they correct it by a factor (`spinlearn.methods.resolution`). Where they cannot, the answer
also stays below the transition, where the mean energy rises fastest with temperature, by a factor
FORMED: ten classes order abruptly and later than two.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel

NEIGHBOURS = 5.0
FORMED = 0.8  # of the transition temperature


def calibrated_scale(model: PottsModel) -> float:
    """A fifth of the mean summed coupling of a point, in the unit of the couplings."""
    couplings = np.abs(model.couplings) * float(np.ptp(model.pair_cost))
    return 2 * float(couplings.sum()) / max(model.n_nodes, 1) / NEIGHBOURS


def transition(temperatures: FloatArray, mean_energy: FloatArray) -> float:
    """Where <E> rises fastest between neighbouring temperatures; infinite if it never does.

    Parameters
    ----------
    temperatures : float array (T,)
        Ascending.
    mean_energy : float array (T,)
    """
    finite = np.flatnonzero(np.isfinite(temperatures) & (temperatures > 0))
    t, energy = temperatures[finite], mean_energy[finite]
    if len(t) < 2:
        return np.inf
    slope = np.diff(energy) / np.diff(np.log(t))
    steepest = int(np.argmax(slope))
    return float(np.sqrt(t[steepest] * t[steepest + 1])) if slope[steepest] > 0 else np.inf


def calibrated_temperature(
    equilibrium: Equilibrium, usable: BoolArray | None = None, factor: float | None = None
) -> float:
    """The highest usable temperature of the grid at which classes stand and calibration is good.

    Parameters
    ----------
    equilibrium : Equilibrium
        Ascending in temperature.
    usable : bool array (T,), optional
        Temperatures that may be chosen; default all.
    factor : float or None
        What left-out labels make of it, which then need no rule; None where there were none.
    """
    grid = equilibrium.temperatures
    limit = calibrated_scale(equilibrium.model)
    if factor is None:
        limit = min(limit, FORMED * transition(grid, equilibrium.mean_energy))
    else:
        limit *= factor
    allowed = np.isfinite(grid) & (np.ones(len(grid), dtype=bool) if usable is None else usable)
    below = allowed & (grid <= limit * (1 + 1e-9))
    if np.any(below):
        return float(grid[below].max())
    return float(grid[allowed].min() if np.any(allowed) else grid[0])
