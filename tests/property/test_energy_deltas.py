"""Kernels change the energy by what PottsModel.energy says, for every energy of the package."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.core.class_layout import ClusterLayout, GeneralLayout, cluster_reason
from spinlearn.engines.class_walkers import general_energies
from spinlearn.kernels import class_clusters, class_moves, class_term
from spinlearn.kernels.rng import make_stream
from tests.energy_models import ENERGY_NAMES, random_model

pytestmark = pytest.mark.parametrize("name", ENERGY_NAMES)
models = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 12),
    q=st.integers(2, 5),
)


def drawn(name, seed, n, q):
    rng = np.random.default_rng(seed)
    model = random_model(name, rng, n, q)
    states = rng.integers(0, q, n).astype(np.int8)
    held = model.clamped >= 0
    states[held] = model.clamped[held]
    return model, GeneralLayout(model), states, make_stream(np.random.SeedSequence(seed))


def totals(a, state):
    volumes, cuts = np.zeros_like(a.volumes), np.zeros_like(a.cuts)
    if a.term[0]:
        class_term.class_totals(state, a.term, a.indptr, a.neighbors, a.cut_weights, volumes, cuts)
    return volumes, cuts


@pytest.mark.slow
@settings(max_examples=25)
@models
def test_node_deltas_are_differences_of_energies(name, seed, n, q):
    model, a, state, _ = drawn(name, seed, n, q)
    volumes, cuts = totals(a, state)
    scale = max(model.energy_scale, 1.0)
    before = model.energy(state)
    for i in model.free_nodes:
        class_moves.move_costs(
            i, state, a.indptr, a.neighbors, a.weights, a.cut_weights, a.pair_cost, a.potts,
            a.fields, a.term, volumes, cuts, a.tally, a.cost,
        )  # fmt: skip
        moved = np.tile(state, (q, 1))
        moved[:, i] = np.arange(q)
        expected = model.energy(moved) - before
        np.testing.assert_allclose(a.cost, expected, rtol=0, atol=1e-12 * scale)


@settings(max_examples=8)
@models
def test_moves_keep_the_running_class_sizes_and_cuts_right(name, seed, n, q):
    model, a, state, stream = drawn(name, seed, n, q)
    volumes, cuts = totals(a, state)
    nodes = model.free_nodes.astype(np.int32)
    if len(nodes) == 0:
        return
    region = np.sort(np.random.default_rng(seed).permutation(nodes)[: (len(nodes) + 1) // 2])
    csr = a.indptr, a.neighbors, a.weights, a.cut_weights
    for _ in range(5):
        class_moves.node_sweep(
            state, a.free, *csr, a.pair_cost, a.potts, a.fields, 0.5, a.term, volumes, cuts,
            a.tally, a.cost, stream,
        )  # fmt: skip
        class_moves.cluster_flip(
            state, a.free, a.held, *csr, a.bond_weights, a.pair_cost, a.fields, 0.5, a.term,
            volumes, cuts, a.mark, a.queue, stream,
        )  # fmt: skip
        class_moves.region_swap(
            state, region, *csr, a.pair_cost, a.fields, 0.1, a.term, volumes, cuts, a.mark, stream
        )
    assert not a.mark.any()
    assert np.isfinite(model.energy(state))  # clamps are kept
    expected = totals(a, state)
    if a.term[0]:
        np.testing.assert_allclose(volumes, expected[0], atol=1e-11)
    if len(a.cut_weights):
        np.testing.assert_allclose(cuts, expected[1], atol=1e-11)


@settings(max_examples=8)
@models
def test_cluster_moves_keep_the_class_sizes_right(name, seed, n, q):
    model, a, state, stream = drawn(name, seed, n, q)
    if cluster_reason(model) is not None:
        return
    c = ClusterLayout(model)
    free = np.ascontiguousarray(state[c.nodes])
    volumes = np.zeros(q)
    class_clusters.free_volumes(free, c.term, c.held_volumes, volumes)
    np.testing.assert_allclose(volumes, totals(a, state)[0], atol=1e-12)
    for _ in range(5):
        class_clusters.cluster_gibbs(
            free, np.arange(len(free), dtype=np.int32), c.fields, c.field_nodes, 0.5, c.term,
            volumes, c.field_row, c.field_sums, c.cluster_size, c.cost, c.single,
            c.unmeasured[0], stream,
        )  # fmt: skip
        class_clusters.permute_classes(
            free, c.fields, c.field_nodes, 0.1, c.term, c.held_volumes, volumes, 3, stream
        )
    state[c.nodes] = free
    np.testing.assert_allclose(volumes, totals(a, state)[0], atol=1e-11)


@settings(max_examples=8)
@models
def test_energies_of_kernels_are_the_models(name, seed, n, q):
    model, a, state, _ = drawn(name, seed, n, q)
    many = np.tile(state, (4, 1))
    many[1:, model.free_nodes] = np.arange(3)[:, None] % q
    scale = max(model.energy_scale, 1.0)
    np.testing.assert_allclose(
        general_energies(a, many), model.energy(many), rtol=0, atol=1e-12 * scale
    )
