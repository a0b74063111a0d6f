"""Every kernel of kernels/cluster.py keeps the Boltzmann law, and a planted bug does not.

States are drawn from the exact law of a model with 27 to 81 labellings and moved once; their counts
are compared with the same law by chi-square. Draws are independent, so there is no burn-in.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from spinlearn.core.class_layout import bond_thresholds
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.engines.enumeration import Enumeration
from spinlearn.kernels import cluster, node_moves
from spinlearn.kernels.exchange import exchange_components
from spinlearn.kernels.levels import exchange_levels
from spinlearn.kernels.rng import make_stream

DRAWS = 20_000
ALPHA = 1e-4  # of a right kernel to fail; seeds are fixed
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


class Law:
    """The exact law over the free nodes of a model, and a chi-square test against it."""

    def __init__(self, model: PottsModel, temperature: float = TEMPERATURE) -> None:
        free = ConditionedModel.of(model)
        self.model, self.free, self.beta = model, free, 1 / temperature
        graph = Graph(len(free.nodes), free.edges)
        self.csr = graph.indptr, graph.neighbors
        self.weights = free.couplings[graph.edge_ids]
        self.edge_u, self.edge_v = free.edges.T.astype(np.uint32)
        self.field_nodes = np.flatnonzero(np.any(free.fields != 0, axis=1)).astype(np.uint32)
        n, q = len(free.nodes), model.n_states
        self.n, self.q = n, q
        self.powers = q ** np.arange(n)
        self.states = ((np.arange(q**n)[:, None] // self.powers) % q).astype(np.int8)
        whole = np.tile(model.clamped, (len(self.states), 1))
        whole[:, free.nodes] = self.states
        self.energies = model.energy(whole)  # the reference, clamps and all
        weights = np.exp(-self.beta * (self.energies - self.energies.min()))
        self.chances = weights / weights.sum()

    def draw(self, seed: int) -> np.ndarray:
        numbers = np.random.default_rng(seed).choice(len(self.states), DRAWS, p=self.chances)
        return np.ascontiguousarray(self.states[numbers])

    def p_value(self, draws: np.ndarray) -> float:
        numbers = draws.astype(np.int64) @ self.powers
        counts = np.bincount(numbers, minlength=len(self.states))
        expected = self.chances * len(draws)
        common = expected >= 5
        seen = np.append(counts[common], counts[~common].sum())
        due = np.append(expected[common], expected[~common].sum())
        seen, due = seen[due > 0], due[due > 0]
        return float(chi2.sf(np.sum((seen - due) ** 2 / due), len(due) - 1))


def stream(seed: int) -> np.ndarray:
    return make_stream(np.random.SeedSequence(seed))


def judge(p_value: float, bug: str | None) -> None:
    if bug is None:
        assert p_value > ALPHA
    else:
        assert p_value < ALPHA, "the test is blind to this bug"


class Scratch:
    def __init__(self, law: Law) -> None:
        self.parent = np.zeros(law.n, dtype=np.int32)
        self.law_row = np.zeros(law.n, dtype=np.int32)
        self.law = np.zeros((len(law.field_nodes), law.q))


def swendsen_wang(law: Law, state, thresholds, fields, scratch: Scratch, rng) -> None:
    cluster.bond_clusters(state, law.edge_u, law.edge_v, thresholds, scratch.parent, rng)
    cluster.relabel_clusters(
        state,
        scratch.parent,
        fields,
        law.field_nodes,
        law.beta,
        scratch.law_row,
        scratch.law,
        rng,
    )


@pytest.mark.parametrize("bug", [None, "bonds", "fields", "shifted"])
@pytest.mark.parametrize(("q", "fields"), [(2, True), (3, False), (3, True), (4, True)])
def test_swendsen_wang_with_clamps_keeps_the_law(q, fields, bug):
    law = Law(tiny_model(q, fields=fields))
    scratch, rng = Scratch(law), stream(1)
    strength = 1.15 if bug == "bonds" else 1.0
    thresholds = bond_thresholds(np.array([law.beta * strength]), law.free.couplings)[0]
    if bug == "shifted":  # every edge has its neighbour's bond probability
        thresholds = np.roll(thresholds, 1)
    table = law.free.fields * (0.8 if bug == "fields" else 1.0)
    draws = law.draw(2)
    for state in draws:
        swendsen_wang(law, state, thresholds, table, scratch, rng)
    judge(law.p_value(draws), bug)


@pytest.mark.parametrize("bug", [None, "beta", "weights"])
@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("kernel", ["heat_bath", "metropolis"])
def test_local_sweeps_keep_the_law_of_either_sign(kernel, table, bug):
    law = Law(tiny_model(3, fields=True, either_sign=True, table=table))
    rng, beta = stream(3), law.beta * (1.15 if bug == "beta" else 1.0)
    weights = np.abs(law.weights) if bug == "weights" else law.weights
    tally, chances = np.zeros(3), np.zeros(3)
    csr = *law.csr, weights, law.model.pair_cost, law.free.fields, beta
    draws = law.draw(4)
    for state in draws:
        if kernel == "heat_bath":
            node_moves.heat_bath_sweep(state, *csr, tally, chances, rng)
        else:
            node_moves.metropolis_sweep(state, 3, *csr, rng)
    judge(law.p_value(draws), bug)


@pytest.mark.parametrize("bug", [None, "weights", "fields", "betas"])
@pytest.mark.parametrize("table", [False, True])
def test_component_exchange_keeps_both_laws(table, bug):
    model = tiny_model(3, fields=True, either_sign=True, table=table)
    hot, cold = Law(model, 1.6), Law(model, 0.7)
    rng = stream(5)
    weights = hot.weights * (0.5 if bug == "weights" else 1.0)
    fields = hot.free.fields * (0.0 if bug == "fields" else 1.0)
    cold_beta = cold.beta * (1.5 if bug == "betas" else 1.0)
    seen, queue = np.zeros(hot.n, dtype=np.bool_), np.zeros(hot.n, dtype=np.int32)
    counts = np.zeros(2)
    at_hot, at_cold = hot.draw(6), cold.draw(7)
    for a, b in zip(at_hot, at_cold, strict=True):
        exchange_components(
            a, b, hot.beta, cold_beta, *hot.csr, weights, model.pair_cost, fields,
            seen, queue, counts, rng,
        )  # fmt: skip
    assert 0.2 < counts[1] / counts[0] < 1
    judge(min(hot.p_value(at_hot), cold.p_value(at_cold)), bug)


@pytest.mark.parametrize("bug", [None, "betas", "energies"])
def test_exchange_of_levels_keeps_all_laws(bug):
    """Walkers drawn from the laws of three levels, two walkers each, change places."""
    model = tiny_model(3, fields=True, either_sign=True)
    laws = [Law(model, t) for t in (1.6, 0.9, 0.6)]
    betas = np.array([law.beta for law in laws])
    used = betas * np.array([1.0, 1.3, 1.0]) if bug == "betas" else betas
    start = np.array([0, 1, 2, 2, 1, 0], dtype=np.int32)
    draws = [laws[t].draw(20 + k)[:10_000] for k, t in enumerate(start)]
    numbers = np.stack([d.astype(np.int64) @ laws[0].powers for d in draws], axis=1)
    energies = laws[0].energies[numbers] * (0.7 if bug == "energies" else 1.0)
    rng, met = stream(15), np.zeros((3, 2))
    ends: list[list[np.ndarray]] = [[], [], []]
    for walkers, energy in zip(zip(*draws, strict=True), energies, strict=True):
        levels = start.copy()
        exchange_levels(np.ascontiguousarray(energy), used, levels, met, rng)
        assert sorted(levels) == [0, 0, 1, 1, 2, 2]
        for state, level in zip(walkers, levels, strict=True):
            ends[level].append(state)
    assert np.all((met[:2, 1] > 0.2 * met[:2, 0]) & (met[:2, 1] < met[:2, 0]))
    p_values = [law.p_value(np.array(end)) for law, end in zip(laws, ends, strict=True)]
    judge(min(p_values), bug)


@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("q", [2, 3])
def test_improved_estimators_average_to_the_exact_marginals(q, fields):
    law = Law(tiny_model(q, fields=fields))
    scratch, rng = Scratch(law), stream(11)
    exact = Enumeration().run(law.model, [TEMPERATURE])
    thresholds = bond_thresholds(np.array([law.beta]), law.free.couplings)[0]
    nodes = np.zeros((law.n, q), dtype=np.float32)
    free = np.zeros(law.n, dtype=np.float32)
    edges = np.zeros(len(law.edge_u), dtype=np.float32)
    for state in law.draw(12):
        swendsen_wang(law, state, thresholds, law.free.fields, scratch, rng)
        cluster.add_node_law(scratch.parent, scratch.law_row, scratch.law, nodes, free)
        cluster.add_edge_law(
            scratch.parent, scratch.law_row, scratch.law, law.edge_u, law.edge_v, edges
        )
    # Improved estimators vary less than the states themselves, so 4.5 sigma is generous.
    bound = 4.5 * 0.5 / np.sqrt(DRAWS)
    marginals = (nodes + free[:, None] / q) / DRAWS
    expected = exact.marginals[0, law.free.nodes]
    assert np.abs(marginals - expected).max() < bound
    expected = exact.edge_agreement[0, law.free.edge_ids]
    assert np.abs(edges / DRAWS - expected).max() < bound
