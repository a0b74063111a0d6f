"""The three phases of a granular ferromagnet, read off an equilibrium.

Section 4 of the paper, after Blatt, Wiseman & Domany: at low temperature the points agree as one
(*ferromagnetic*), at high temperature they are independent (*paramagnetic*); in between grains are
ordered but not with each other (*super-paramagnetic*), which is where clusters and classes show.
With the components of the graph of edges with C_ij >= (1 + 1/q)/2 as grains:

    ferromagnetic       the largest grain holds nearly all points
    paramagnetic        no grain holds more than a few
    super-paramagnetic  in between

The susceptibility is that of the grains, sum over grains of (size/n)^2 n = mean grain size seen by
a point; it falls in steps as grains break up, and the heat capacity peaks there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.grains import grains
from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.temperature_cells import cell_ends

WHOLE = 0.9  # share of the points in the largest grain, above which all act as one
GRAIN = 0.03  # share (at least GRAIN_POINTS) below which even the largest grain is none
GRAIN_POINTS = 3
GRAINS = 4  # the largest, whose sizes are kept


class Phase(Enum):
    """State of the system as a whole."""

    FERROMAGNETIC = "ferromagnetic"
    SUPERPARAMAGNETIC = "super-paramagnetic"
    PARAMAGNETIC = "paramagnetic"


@dataclass(frozen=True, slots=True)
class PhaseInterval:
    """A range of temperatures in one phase."""

    phase: Phase
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """Phases over a grid of ascending temperatures."""

    temperatures: FloatArray  # (T,)
    phases: tuple[Phase, ...]
    largest_grain: FloatArray  # (T,), share of all points
    susceptibility: FloatArray  # (T,), mean size of the grain of a point
    heat_capacity: FloatArray  # (T,)
    grains: FloatArray  # (T, GRAINS), shares of all points in the largest, descending

    def intervals(self) -> list[PhaseInterval]:
        """Maximal ranges of one phase, see `cell_ends`."""
        ends = cell_ends(self.temperatures)
        found: list[PhaseInterval] = []
        for k, phase in enumerate(self.phases):
            low, high = float(ends[k]), float(ends[k + 1])
            if found and found[-1].phase is phase:
                found[-1] = PhaseInterval(phase, found[-1].low, high)
            else:
                found.append(PhaseInterval(phase, low, high))
        return found


def phases(equilibrium: Equilibrium) -> Phases:
    """Find the phases of an equilibrium."""
    order = np.argsort(equilibrium.temperatures, kind="stable")
    n = equilibrium.model.n_nodes
    q = equilibrium.model.n_states
    sizes = [np.bincount(grains(equilibrium, int(k), (1 + 1 / q) / 2)) for k in order]
    largest = np.array([s.max() / n for s in sizes])
    few = max(GRAIN, GRAIN_POINTS / n)

    def phase(share: float) -> Phase:
        if share >= WHOLE:
            return Phase.FERROMAGNETIC
        return Phase.PARAMAGNETIC if share <= few else Phase.SUPERPARAMAGNETIC

    return Phases(
        temperatures=equilibrium.temperatures[order],
        phases=tuple(phase(float(share)) for share in largest),
        largest_grain=largest,
        susceptibility=np.array([float(np.sum(s.astype(float) ** 2)) / n for s in sizes]),
        heat_capacity=equilibrium.heat_capacity[order],
        grains=np.array([_largest(s) / n for s in sizes]).reshape(-1, GRAINS),
    )


def _largest(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The largest sizes, descending, zeros after the last, (GRAINS,)."""
    found = np.sort(sizes)[::-1][:GRAINS]
    return np.pad(found, (0, GRAINS - len(found)))
