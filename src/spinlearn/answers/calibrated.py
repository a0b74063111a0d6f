"""The temperature at which the probabilities of belief propagation are about right.

Neighbours in a graph of similar points are neighbours of each other, so that belief propagation
counts what they say more than once. Too low a temperature makes that worse, too high a one leaves
nothing decided. The unit is

    T = (mean summed coupling of a point) / NEIGHBOURS;

where one temperature has to be chosen it also stays below the transition, where the mean energy
rises fastest with temperature: ten classes order abruptly and later than two.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.constants import NEIGHBOURS
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph


def temperature_scale(graph: Graph) -> float:
    """The unit of temperature of a graph whose weights are couplings; 1 where there are none."""
    scale = 2 * float(np.abs(graph.weights).sum()) / max(graph.n_nodes, 1) / NEIGHBOURS
    return scale if scale > 0 else 1.0


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


def calibrated_temperature(equilibrium: Equilibrium, usable: BoolArray | None = None) -> float:
    """The highest usable temperature of the grid at which classes stand and calibration is good.

    Parameters
    ----------
    equilibrium : Equilibrium
        Ascending in temperature.
    usable : bool array (T,), optional
        Temperatures that may be chosen; default all.
    """
    grid, model = equilibrium.temperatures, equilibrium.model
    couplings = np.abs(model.couplings) * float(np.ptp(model.pair_cost))
    limit = temperature_scale(model.graph.with_weights(couplings))
    limit = min(limit, transition(grid, equilibrium.mean_energy))
    allowed = np.isfinite(grid) & (np.ones(len(grid), dtype=bool) if usable is None else usable)
    below = allowed & (grid <= limit * (1 + 1e-9))
    if np.any(below):
        return float(grid[below].max())
    return float(grid[allowed].min() if np.any(allowed) else grid[0])
