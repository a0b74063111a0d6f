"""A temperature grid that covers the three phases.

The first grid comes from the couplings alone: mean-field theory bounds the ordering temperature of
a ferromagnet from above,

    T_mf = lambda_max(|J|) * (q - 2) / (2 (q - 1) ln(q - 1)),   lambda_max / 2 for q = 2,

lambda_max the largest eigenvalue of the matrix of couplings (on the square lattice T_mf = 2 for
q = 2, where the transition is at 1.135). Above it nothing is ordered: that is the top of the grid.
Towards zero the grid is geometric, because clusters of different density order at temperatures of
different magnitude, and it starts with T = 0 itself. Once averages are known on a coarse grid, the
top is lowered to just above the temperature at which the last grains break up.
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.phases import Phase, phases
from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import PottsModel

COARSE_SIZE = 16
DEFAULT_SIZE = 32
SPAN = 40.0  # highest over lowest non-zero temperature
STEPS = 60  # of power iteration; the root is then right to a few percent, which is enough
MANY, FEWER_STEPS = 200_000, 15  # nodes from which on each step takes its time


def temperature_grid(model: PottsModel, size: int = DEFAULT_SIZE) -> FloatArray:
    """T = 0 and size - 1 geometrically spaced temperatures up to the mean-field bound."""
    top = 1.1 * mean_field_temperature(model)
    if top <= 0:  # no couplings: the fields, if any, set the scale
        spread = float(np.max(np.ptp(model.fields, axis=1), initial=0.0))
        top = spread if spread > 0 else 1.0
    return _geometric(top, size)


def refined_grid(coarse: Equilibrium, size: int = DEFAULT_SIZE) -> FloatArray:
    """A grid like `temperature_grid` that ends where the paramagnetic phase begins."""
    found = phases(coarse)
    top = float(found.temperatures[-1])
    for temperature, phase in zip(found.temperatures[::-1], found.phases[::-1], strict=True):
        if phase is not Phase.PARAMAGNETIC:
            break
        top = float(temperature)
    if top <= 0:  # too few points to call anything a grain
        top = float(found.temperatures[-1])
    return _geometric(top, size)


def _geometric(top: float, size: int) -> FloatArray:
    return np.concatenate([[0.0], np.geomspace(top / SPAN, top, size - 1)])


def mean_field_temperature(model: PottsModel) -> float:
    """Upper bound of the ordering temperature, in the unit of the couplings."""
    q = model.n_states
    factor = 0.5 if q == 2 else (q - 2) / (2 * (q - 1) * np.log(q - 1))
    spread = 1.0 if np.all(model.couplings == 0) else float(np.ptp(model.pair_cost))
    return float(factor * spread * _largest_eigenvalue(model))


def _largest_eigenvalue(model: PottsModel) -> float:
    """Perron root of the matrix |J| by power iteration."""
    from scipy.sparse import csr_array

    strength = np.abs(model.effective_couplings)
    largest = float(strength.max(initial=0.0))
    if largest == 0:
        return 0.0
    strength = strength / largest  # squares of tiny couplings would vanish
    graph, n = model.graph, model.n_nodes
    matrix = csr_array((strength[graph.edge_ids], graph.neighbors, graph.indptr), shape=(n, n))
    vector = np.ones(n)
    value = 0.0
    for _ in range(STEPS if n <= MANY else FEWER_STEPS):
        # (plus the vector itself: without that shift bipartite graphs would oscillate)
        image: FloatArray = matrix @ vector + vector
        value = float(np.linalg.norm(image) / np.linalg.norm(vector))
        vector = image / np.linalg.norm(image)
    return (value - 1) * largest
