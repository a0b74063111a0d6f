"""Clusters, offers to single nodes and exchanges keep the Boltzmann law; a planted bug does not."""

import numpy as np
import pytest

from spinlearn.engines.exact.enumeration import Enumeration
from spinlearn.kernels import clusters as cluster
from spinlearn.kernels.clusters import exchange_components
from spinlearn.kernels.levels import exchange_levels
from spinlearn.kernels.nodes import metropolis_sweeps
from spinlearn.kernels.rng import make_stream
from spinlearn.model.graph import Graph
from spinlearn.model.kernel_arguments import bond_thresholds, cluster_model
from spinlearn.model.potts import PottsModel
from tests.statistical.chi_square import Draws, assert_verdict

DRAWS = 20_000
TEMPERATURE = 0.9


def tiny_model(q: int, *, fields: bool, either_sign: bool = False, table: bool = False):
    """A ring of five with two chords, two nodes clamped to different states."""
    rng = np.random.default_rng(0)
    n_free = 4 if q <= 3 else 3
    n = n_free + 2
    edges = [(0, 1), (1, 2), (2, 3), (3, n - 1), (0, n - 1), (1, 3), (0, 2)]
    edges += [(3, 4)] if n == 6 else []
    couplings = rng.uniform(0.4, 1.2, len(edges))
    if either_sign:
        couplings *= np.where(np.arange(len(edges)) % 2, -1, 1)
    cost = None
    if table:
        half = rng.normal(size=(q, q))
        cost = half + half.T
    clamped = np.full(n, -1)
    clamped[[0, n - 1]] = 0, 1
    return PottsModel(
        Graph(n, edges, couplings),
        q,
        pair_cost=cost,
        fields=rng.normal(0, 0.5, (n, q)) if fields else None,
        clamped=clamped,
    )


class FreeDraws(Draws):
    """Draws whose moves see the free nodes of a model alone, `free_states`."""

    def __init__(self, model: PottsModel, seed: int, temperature: float = TEMPERATURE) -> None:
        self.beta = 1 / temperature
        super().__init__(model, self.beta, DRAWS, seed)
        self.clusters, _, self.free = cluster_model(model)
        self.free_states = np.ascontiguousarray(self.states[:, self.free.nodes])

    def p_value(self) -> float:
        self.states[:, self.free.nodes] = self.free_states
        return super().p_value()


def stream(seed: int) -> np.ndarray:
    return make_stream(np.random.SeedSequence(seed))


def swendsen_wang(state, clusters, beta, thresholds, rng) -> None:
    edges = clusters.edge_u, clusters.edge_v
    cluster.bond_clusters(state, *edges, thresholds, clusters.parent, rng)
    cluster.relabel_clusters(state, clusters, beta, rng)


@pytest.mark.parametrize(
    ("q", "fields", "bug"),
    [(2, True, None), (3, False, None), (4, True, None), (3, False, "bonds"), (3, True, "fields"),
     (4, True, "shifted")],
)  # fmt: skip
def test_swendsen_wang_with_clamps_keeps_the_law(q, fields, bug):
    law = FreeDraws(tiny_model(q, fields=fields), 2)
    rng, strength = stream(1), 1.15 if bug == "bonds" else 1.0
    thresholds = bond_thresholds(np.array([law.beta * strength]), law.free.couplings)[0]
    if bug == "shifted":  # every edge has its neighbour's bond probability
        thresholds = np.roll(thresholds, 1)
    used = law.clusters._replace(fields=law.free.fields * (0.8 if bug == "fields" else 1.0))
    for state in law.free_states:
        swendsen_wang(state, used, law.beta, thresholds, rng)
    assert_verdict(law.p_value(), bug is None)


@pytest.mark.parametrize(
    ("table", "bug"), [(False, None), (True, None), (True, "beta"), (False, "weights")]
)
def test_metropolis_sweeps_keep_the_law_of_either_sign(table, bug):
    law = FreeDraws(tiny_model(3, fields=True, either_sign=True, table=table), 4)
    betas = np.full(DRAWS, law.beta * (1.15 if bug == "beta" else 1.0))
    weights = law.clusters.weights
    used = law.clusters._replace(weights=np.abs(weights) if bug == "weights" else weights)
    metropolis_sweeps(law.free_states, np.arange(DRAWS), betas, used, stream(3), 1)
    assert_verdict(law.p_value(), bug is None)


@pytest.mark.parametrize(
    ("table", "bug"),
    [(False, None), (True, None), (True, "weights"), (False, "fields"), (True, "betas")],
)
def test_component_exchange_keeps_both_laws(table, bug):
    model = tiny_model(3, fields=True, either_sign=True, table=table)
    hot, cold = FreeDraws(model, 6, 1.6), FreeDraws(model, 7, 0.7)
    rng = stream(5)
    used = hot.clusters._replace(
        weights=hot.clusters.weights * (0.5 if bug == "weights" else 1.0),
        fields=hot.free.fields * (0.0 if bug == "fields" else 1.0),
    )
    cold_beta = cold.beta * (1.5 if bug == "betas" else 1.0)
    counts = np.zeros(2)
    for a, b in zip(hot.free_states, cold.free_states, strict=True):
        exchange_components(a, b, hot.beta, cold_beta, used, None, counts, rng)
    assert 0.2 < counts[1] / counts[0] < 1
    assert_verdict(min(hot.p_value(), cold.p_value()), bug is None)


@pytest.mark.parametrize("bug", [None, "betas", "energies"])
def test_exchange_of_levels_keeps_all_laws(bug):
    """Walkers drawn from the laws of three levels, two walkers each, change places."""
    model = tiny_model(3, fields=True, either_sign=True)
    betas = 1 / np.array([1.6, 0.9, 0.6])
    used = betas * np.array([1.0, 1.3, 1.0]) if bug == "betas" else betas
    start = np.array([0, 1, 2, 2, 1, 0], dtype=np.int32)
    draws = [Draws(model, betas[t], 10_000, 20 + k) for k, t in enumerate(start)]
    states = np.stack([d.states for d in draws], axis=1)  # (rounds, walkers, n)
    energies = model.energy(states.reshape(-1, model.n_nodes)).reshape(states.shape[:2])
    energies = energies * (0.7 if bug == "energies" else 1.0)
    rng, met = stream(15), np.zeros((3, 2))
    levels = np.tile(start, (len(states), 1))
    for energy, row in zip(energies, levels, strict=True):
        exchange_levels(energy, used, row, met, rng)
    np.testing.assert_array_equal(np.sort(levels), np.tile(np.sort(start), (len(states), 1)))
    assert np.all((met[:2, 1] > 0.2 * met[:2, 0]) & (met[:2, 1] < met[:2, 0]))
    for level in range(3):
        draws[level].states = states[levels == level]
    assert_verdict(min(d.p_value() for d in draws[:3]), bug is None)


@pytest.mark.parametrize(("q", "fields"), [(2, False), (3, True)])
def test_improved_estimators_average_to_the_exact_marginals(q, fields):
    model = tiny_model(q, fields=fields)
    law, rng = FreeDraws(model, 12), stream(11)
    exact = Enumeration().run(model, [TEMPERATURE])
    thresholds = bond_thresholds(np.array([law.beta]), law.free.couplings)[0]
    nodes = np.zeros((len(law.free.nodes), q), dtype=np.float32)
    free = np.zeros(len(law.free.nodes), dtype=np.float32)
    edges = np.zeros(len(law.free.edges), dtype=np.float32)
    for state in law.free_states:
        swendsen_wang(state, law.clusters, law.beta, thresholds, rng)
        cluster.add_laws(law.clusters, nodes, free, edges)
    # Improved estimators vary less than the states themselves, so 4.5 sigma is generous.
    bound = 4.5 * 0.5 / np.sqrt(DRAWS)
    marginals = (nodes + free[:, None] / q) / DRAWS
    assert np.abs(marginals - exact.marginals[0, law.free.nodes]).max() < bound
    agreement = exact.edge_agreement[0, law.free.edge_ids]
    assert np.abs(edges / DRAWS - agreement).max() < bound
