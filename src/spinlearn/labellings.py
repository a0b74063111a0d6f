"""Whole labellings from the Boltzmann law: exact where the graph is narrow, else sampled.

Marginals and pair agreement say nothing of how far points are bound together across the graph;
labellings do: any joint average is a mean over them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import StateArray, temperature_array
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Seed
from spinlearn.engines import JunctionTree
from spinlearn.engines.population import cooled_labellings
from spinlearn.errors import InvalidInputError

EXACT_OPERATIONS = 3e7  # clique states per temperature (seconds) up to which drawing is exact


def draw_labellings(
    model: PottsModel,
    temperatures: npt.ArrayLike,
    n_samples: int = 256,
    *,
    seed: Seed = None,
    n_groups: int = 2,
) -> list[StateArray]:
    """Labellings (S, n), S >= n_samples, at each of the temperatures.

    Parameters
    ----------
    model : PottsModel
    temperatures : array-like
        Positive where the graph is too wide for the exact answer.
    n_samples : int
    seed : int, SeedSequence or None
    n_groups : int
        Independent populations where they are sampled.
    """
    wanted = temperature_array(temperatures)
    if n_samples < 1:
        raise InvalidInputError(f"n_samples={n_samples}: at least one labelling is needed")
    exact = JunctionTree(max_operations=EXACT_OPERATIONS, max_memory_gb=2.0)
    if exact.unsupported(model) is None:
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        children = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key).spawn(len(wanted))
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
