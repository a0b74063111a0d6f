"""Random models that cuts minimise, and an oracle that lists all labellings."""

import numpy as np
from hypothesis import strategies as st

from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.statistical.chi_square import Configurations


def all_labellings(model: PottsModel) -> np.ndarray:
    """Every labelling that respects the clamps, (S, n)."""
    return Configurations(model).states


def ground_states(model: PottsModel) -> np.ndarray:
    """All labellings of least energy, (S, n)."""
    labellings = all_labellings(model)
    energies = model.energy(labellings)
    return labellings[energies <= energies.min() + model.energy_resolution]


def single_moves(model: PottsModel, labels: np.ndarray) -> np.ndarray:
    """Energies of all labellings that differ from one at a free node, or not at all."""
    q, free = model.n_states, model.free_nodes
    moved = np.repeat(labels[None], len(free) * q, axis=0)
    moved[np.arange(len(moved)), np.repeat(free, q)] = np.tile(np.arange(q), len(free))
    return np.asarray(model.energy(moved))


def random_metric(rng: np.random.Generator, q: int) -> np.ndarray:
    """Distances of q random points in the plane: a metric."""
    points = rng.random((q, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=2)


@st.composite
def ferromagnets(
    draw, n_states: tuple[int, int] = (2, 2), max_labellings: int = 1500, cost: str = "potts"
) -> PottsModel:
    """Couplings >= 0 (zero among them), fields or none, clamps or none; with and without ties."""
    q = draw(st.integers(*n_states))
    n = draw(st.integers(1, int(np.log(max_labellings) / np.log(q))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)]).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))]
    kind = draw(st.sampled_from(["integer", "tenths", "real"]))

    def numbers(*shape: int) -> np.ndarray:
        # Sums of tenths tie on paper and differ by rounding: 0.1 + 0.2 != 0.3.
        unit = {"integer": 1.0, "tenths": 0.1}
        return rng.random(shape) if kind == "real" else rng.integers(0, 4, shape) * unit[kind]

    couplings = numbers(len(edges))
    fields = numbers(n, q) if draw(st.booleans()) else None
    share = draw(st.sampled_from([0.0, 0.3, 0.6]))
    clamped = np.where(rng.random(n) < share, rng.integers(0, q, n), -1)
    pair_cost = None
    if cost == "metric":
        pair_cost = random_metric(rng, q)
    elif cost == "semi-metric":
        table = rng.random((q, q)) * (1 - np.eye(q))
        pair_cost = table + table.T
    return PottsModel(
        Graph(n, edges), q, couplings=couplings, fields=fields, clamped=clamped, pair_cost=pair_cost
    )
