"""Whole labellings from the Boltzmann law: exact where the graph is narrow, else sampled.

Marginals and pair agreement say nothing of how far points are bound together across the graph;
labellings do: any joint average is a mean over them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from spinlearn.engines.exact.junction_tree import JunctionTree
from spinlearn.engines.sampling.population import Population
from spinlearn.engines.sampling.walkers import walkers_for
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray, StateArray, temperature_array
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Seed, seed_sequence

READ_SWEEPS = 2  # times the cooling sweeps, between two readings of a population
EXACT_OPERATIONS = 3e7  # clique states per temperature (seconds) up to which drawing is exact


def draw_labellings(
    model: PottsModel,
    temperatures: npt.ArrayLike,
    n_samples: int = 256,
    *,
    seed: Seed = None,
    n_groups: int = 2,
) -> list[StateArray]:
    """Whole labellings from the Boltzmann law: exact where the graph is narrow, else sampled.

    Parameters
    ----------
    model : PottsModel
        What to draw from; n nodes.
    temperatures : array-like of float
        In the unit of the couplings; > 0 where the graph is too wide for the exact answer.
    n_samples : int, default 256
        Least number of labellings at each temperature, S.
    seed : int, SeedSequence or None
        Of random numbers; the same seed gives the same labellings.
    n_groups : int, default 2
        Independent populations where they are sampled.

    Returns
    -------
    list of int8 arrays (S, n)
        One for every temperature.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import draw_labellings
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> cold, hot = draw_labellings(model, [0.0, 1.0], 1000, seed=0)
    >>> cold.shape, int(cold.max())  # at T = 0 all follow the label
    ((1000, 3), 0)
    >>> bool(abs(hot[:, 2].mean() - 0.393) < 0.05)  # exact: 0.393 in state 1
    True
    """
    wanted = temperature_array(temperatures)
    if n_samples < 1:
        raise InvalidInputError(f"n_samples={n_samples}: at least one labelling is needed")
    exact = JunctionTree(max_operations=EXACT_OPERATIONS, max_memory_gb=2.0)
    if exact.unsupported(model) is None:
        children = seed_sequence(seed).spawn(len(wanted))
        return [
            exact.draw(model, float(t), n_samples, seed=child)
            for t, child in zip(wanted, children, strict=True)
        ]
    if np.any(wanted == 0):
        raise InvalidInputError(
            "labellings at T = 0 are not sampled, only drawn exactly, and this graph is too wide: "
            "ask for a positive temperature"
        )
    cooled = cooled_labellings(model, wanted, n_samples=n_samples, n_groups=n_groups, seed=seed)
    by_temperature = dict(cooled)
    return [by_temperature[float(t)] for t in wanted]


def cooled_labellings(
    model: PottsModel,
    temperatures: FloatArray,
    *,
    n_samples: int,
    n_groups: int = 4,
    seed: Seed = None,
) -> Iterator[tuple[float, StateArray]]:
    """Labellings (at least n_samples, n) at each positive temperature, from hot to cold.

    Those of `n_groups` independent populations are stacked in equal parts, and show by their spread
    how far a population is large enough.
    """
    sweeps = walkers_for(model).cooling_sweeps
    children = seed_sequence(seed).spawn(n_groups)
    populations = [Population(model, child, n_sweeps=sweeps) for child in children]
    reads = max(-(-n_samples // sum(p.n_walkers for p in populations)), 1)
    for temperature in np.unique(temperatures)[::-1].tolist():
        parts = []
        for population in populations:
            while population.beta < 1 / temperature:
                population.advance(1 / temperature)
            for _ in range(reads):
                population.sweep(READ_SWEEPS * sweeps)
                parts.append(population.states())
        yield temperature, np.concatenate(parts)
