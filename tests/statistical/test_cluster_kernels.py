"""Every kernel of kernels/cluster.py keeps the Boltzmann law, and a planted bug does not.

States are drawn from the exact law of a model with 27 to 81 labellings and moved once; their counts
are compared with the same law by chi-square. Draws are independent, so there is no burn-in.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from spinlearn.core.free_part import FreePart
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.engines.enumeration import Enumeration
from spinlearn.engines.ladder import Layout, bond_thresholds
from spinlearn.engines.regions import harvest
from spinlearn.kernels import cluster
from spinlearn.kernels.regions import swap_on_regions
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
        free = FreePart.of(model)
        self.model, self.layout, self.beta = model, Layout.of(free), 1 / temperature
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
        """Labellings with the ghosts of the states behind them."""
        numbers = np.random.default_rng(seed).choice(len(self.states), DRAWS, p=self.chances)
        ghosts = np.tile(np.arange(self.q, dtype=np.int8), (DRAWS, 1))
        return np.ascontiguousarray(np.hstack([self.states[numbers], ghosts]))

    def p_value(self, draws: np.ndarray) -> float:
        numbers = draws[:, : self.n].astype(np.int64) @ self.powers
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
        layout = law.layout
        self.parent = np.zeros(law.n, dtype=np.int32)
        self.law_row = np.zeros(law.n, dtype=np.int32)
        self.law = np.zeros((len(layout.field_nodes), law.q))


def swendsen_wang(law: Law, state, thresholds, fields, scratch: Scratch, rng) -> None:
    layout = law.layout
    cluster.bond_clusters(state, layout.edge_u, layout.edge_v, thresholds, scratch.parent, rng)
    cluster.relabel_clusters(
        state,
        scratch.parent,
        fields,
        layout.field_nodes,
        law.beta,
        scratch.law_row,
        scratch.law,
        rng,
    )


@pytest.mark.parametrize("bug", [None, "bonds", "fields", "shifted"])
@pytest.mark.parametrize(("q", "fields"), [(2, True), (3, False), (3, True), (4, True)])
def test_swendsen_wang_with_clamps_keeps_the_law(q, fields, bug):
    law = Law(tiny_model(q, fields=fields))
    layout, scratch, rng = law.layout, Scratch(law), stream(1)
    strength = 1.15 if bug == "bonds" else 1.0
    thresholds = bond_thresholds(layout, np.array([law.beta * strength]))[0]
    if bug == "shifted":  # every edge has its neighbour's bond probability
        thresholds = np.roll(thresholds, 1)
    table = layout.model.fields * (0.8 if bug == "fields" else 1.0)
    draws = law.draw(2)
    for state in draws:
        swendsen_wang(law, state, thresholds, table, scratch, rng)
    judge(law.p_value(draws), bug)


@pytest.mark.parametrize("bug", [None, "beta", "weights"])
@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("kernel", ["heat_bath", "metropolis"])
def test_local_sweeps_keep_the_law_of_either_sign(kernel, table, bug):
    law = Law(tiny_model(3, fields=True, either_sign=True, table=table))
    model, rng = law.layout.model, stream(3)
    graph, beta = model.graph, law.beta * (1.15 if bug == "beta" else 1.0)
    weights = np.abs(law.layout.weights) if bug == "weights" else law.layout.weights
    tally, chances, nothing = np.zeros(3), np.zeros(3), np.zeros((0, 0), dtype=np.float32)
    csr = graph.indptr, graph.neighbors, weights, model.pair_cost, model.fields, beta
    draws = law.draw(4)
    for state in draws:
        if kernel == "heat_bath":
            cluster.heat_bath_sweep(state, *csr, tally, chances, False, nothing, rng)
        else:
            cluster.metropolis_sweep(state, 3, *csr, rng)
    judge(law.p_value(draws), bug)


@pytest.mark.parametrize("bug", [None, "weights", "fields", "betas"])
@pytest.mark.parametrize("table", [False, True])
def test_component_exchange_keeps_both_laws(table, bug):
    model = tiny_model(3, fields=True, either_sign=True, table=table)
    hot, cold = Law(model, 1.6), Law(model, 0.7)
    free, rng = hot.layout.model, stream(5)
    weights = hot.layout.weights * (0.5 if bug == "weights" else 1.0)
    fields = free.fields * (0.0 if bug == "fields" else 1.0)
    cold_beta = cold.beta * (1.5 if bug == "betas" else 1.0)
    seen, queue = np.zeros(hot.n, dtype=np.bool_), np.zeros(hot.n, dtype=np.int32)
    counts = np.zeros(2)
    at_hot, at_cold = hot.draw(6), cold.draw(7)
    for a, b in zip(at_hot, at_cold, strict=True):
        cluster.exchange_components(
            a, b, hot.beta, cold_beta, free.graph.indptr, free.graph.neighbors, weights,
            free.pair_cost, fields, seen, queue, counts, rng,
        )  # fmt: skip
    assert 0.2 < counts[1] / counts[0] < 1
    judge(min(hot.p_value(at_hot), cold.p_value(at_cold)), bug)


@pytest.mark.parametrize("bug", [None, "borders"])
@pytest.mark.parametrize("q", [2, 3])
def test_region_moves_over_ghosts_keep_the_law(q, bug):
    law = Law(tiny_model(q, fields=True))
    ghost = law.layout.ghost
    regions = harvest(ghost, law.draw(8)[:50], None, np.random.default_rng(0))
    couplings = regions.border_couplings * (0.7 if bug else 1.0)
    draws = law.draw(9)
    swap_on_regions(
        draws.reshape(-1), DRAWS, 1, law.n + q, q, regions.ptr, regions.nodes, regions.border_ptr,
        regions.borders, couplings, np.empty((0, q)), np.full(DRAWS, law.beta), 3,
        np.zeros(regions.count, dtype=np.int64), stream(10),
    )  # fmt: skip
    assert np.all(draws[:, law.n :] == np.arange(q))
    judge(law.p_value(draws), bug)


@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("q", [2, 3])
def test_improved_estimators_average_to_the_exact_marginals(q, fields):
    law = Law(tiny_model(q, fields=fields))
    layout, scratch, rng = law.layout, Scratch(law), stream(11)
    exact = Enumeration().run(law.model, [TEMPERATURE])
    thresholds = bond_thresholds(layout, np.array([law.beta]))[0]
    nodes = np.zeros((law.n, q), dtype=np.float32)
    free = np.zeros(law.n, dtype=np.float32)
    edges = np.zeros(len(layout.edge_u), dtype=np.float32)
    for state in law.draw(12):
        swendsen_wang(law, state, thresholds, layout.model.fields, scratch, rng)
        cluster.add_node_law(scratch.parent, scratch.law_row, scratch.law, nodes, free)
        cluster.add_edge_law(
            scratch.parent, scratch.law_row, scratch.law, layout.edge_u, layout.edge_v, edges
        )
    # Improved estimators vary less than the states themselves, so 4.5 sigma is generous.
    bound = 4.5 * 0.5 / np.sqrt(DRAWS)
    marginals = (nodes + free[:, None] / q) / DRAWS
    expected = exact.marginals[0, layout.free.nodes]
    assert np.abs(marginals - expected).max() < bound
    expected = exact.edge_agreement[0, layout.free.edge_ids]
    assert np.abs(edges / DRAWS - expected).max() < bound


def test_heat_bath_estimator_averages_to_the_exact_marginals():
    law = Law(tiny_model(3, fields=True, either_sign=True))
    model, rng = law.layout.model, stream(13)
    sums, scratch = np.zeros((law.n, 3), dtype=np.float32), np.zeros((2, 3))
    for state in law.draw(14):
        cluster.heat_bath_sweep(
            state, model.graph.indptr, model.graph.neighbors, law.layout.weights, model.pair_cost,
            model.fields, law.beta, scratch[0], scratch[1], True, sums, rng,
        )  # fmt: skip
    exact = Enumeration().run(law.model, [TEMPERATURE]).marginals[0, law.layout.free.nodes]
    assert np.abs(sums / DRAWS - exact).max() < 4.5 * 0.5 / np.sqrt(DRAWS)


def test_the_layout_has_the_energies_of_the_model():
    for q, table in ((2, False), (3, False), (3, True)):
        law = Law(tiny_model(q, fields=True, either_sign=True, table=table))
        layout = law.layout
        model = layout.model
        energies = [
            cluster.potts_energy(
                state, layout.edge_u, layout.edge_v, model.couplings, model.pair_cost,
                model.fields, layout.field_nodes,
            )
            for state in law.states
        ]  # fmt: skip
        np.testing.assert_allclose(np.array(energies) + layout.constant, law.energies, atol=1e-12)
        if not table:
            whole = np.hstack([law.states, np.tile(np.arange(q), (len(law.states), 1))])
            ghosts = layout.ghost.energy(whole)
            np.testing.assert_allclose(np.ptp(ghosts - energies), 0, atol=1e-12)
