"""Equilibria written by hand, on which every decision can be worked out."""

from typing import Any

import numpy as np

from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.model.arrays import frozen
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


def profile_of(outcomes: Any, temperatures: Any = None, **said: Any) -> Profile:
    """A profile of these calls, (T, n), all confident and of margin one unless it is said."""
    outcomes = frozen(outcomes, np.int32)
    rows = np.arange(len(outcomes)) if temperatures is None else temperatures
    return Profile(
        temperatures=frozen(rows, np.float64),
        outcomes=outcomes,
        status=frozen(said.pop("status", np.full(outcomes.shape, Status.CONFIDENT)), np.int8),
        margin=frozen(np.ones(outcomes.shape), np.float64),
        **({"n_classes": 2, "confused_sets": ()} | said),
    )
