"""Swendsen-Wang sweeps of the multicanonical engine keep the exact law."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.engines.cluster_walkers import ClusterWalkers
from tests.statistical.chi_square import FAIL, PASS, Configurations, p_value

BETA = 0.9
N_GROUPS = 800  # times 64 walkers


def small_model(q: int, fields: bool) -> PottsModel:
    """Five nodes, one clamped, q^4 labellings."""
    rng = np.random.default_rng(q)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4)]
    return PottsModel(
        Graph(5, edges, rng.uniform(0.3, 1.2, len(edges))),
        q,
        fields=0.5 * rng.normal(size=(5, q)) if fields else None,
        clamped=[-1, -1, -1, -1, 1],
    )


def p_after_sweep(model: PottsModel, beta_used: float) -> float:
    """Of the law after one sweep at `beta_used`, from exact draws at BETA."""
    table = Configurations(model)
    law = table.boltzmann(BETA)
    rng = np.random.default_rng(0)
    counts = np.zeros(len(table))
    for seed in np.random.SeedSequence(1).spawn(N_GROUPS):
        group = ClusterWalkers(model, seed)
        group.use_ladder(np.array([beta_used]))
        group.put_states(table.states[rng.choice(len(table), group.n_walkers, p=law)])
        group.sweep(1)
        counts += np.bincount(table.index(group.states()), minlength=len(table))
    return p_value(counts, law)


@pytest.mark.parametrize(("q", "fields"), [(2, False), (2, True), (3, False), (3, True)])
def test_cluster_sweeps_keep_the_law(q, fields):
    model = small_model(q, fields)
    assert p_after_sweep(model, BETA) > PASS
    assert p_after_sweep(model, 1.1 * BETA) < FAIL  # the same test notices a wrong temperature


def test_energies_are_the_models():
    model = small_model(3, True)
    group = ClusterWalkers(model, np.random.SeedSequence(0))
    np.testing.assert_allclose(group.energies(), model.energy(group.states()))
