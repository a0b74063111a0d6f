"""Equilibria written by hand, on which every decision can be worked out."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel

CHAIN = [(0, 1), (1, 2), (2, 3)]


def equilibrium(
    n: int, edges: Any, rows: Any, q: int = 2, clamped: Any = None, **said: Any
) -> Equilibrium:
    """An equilibrium with given marginals and agreements: rows of (T, p of state 0, C).

    `said` is what it says of itself: kind, std_error, annealed ...
    """
    model = PottsModel(Graph(n, edges), q, clamped=clamped)
    temperatures = [r[0] for r in rows]
    first = np.array([r[1] for r in rows], dtype=float)
    marginals = first if first.ndim == 3 else np.stack([first, 1 - first], axis=2)
    averages = {
        "temperatures": temperatures,
        "marginals": marginals,
        "edge_agreement": [r[2] for r in rows],
        "mean_energy": np.zeros(len(rows)),
        "heat_capacity": np.zeros(len(rows)),
        "converged": np.ones(len(rows), bool),
        "engine": "by hand",
    }
    return Equilibrium(model=model, **(averages | said))
