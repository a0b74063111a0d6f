"""Kernels change the energy by what PottsModel.energy says, for every energy of the package."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.kernels import clusters as cluster
from spinlearn.kernels import nodes as node_moves
from spinlearn.kernels.rng import make_stream
from spinlearn.model.kernel_arguments import cluster_model, cluster_reason, kernel_model
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
    return model, kernel_model(model), states, make_stream(np.random.SeedSequence(seed))


def totals(a, state):
    """Class sizes and cuts, afresh."""
    volumes, cuts = np.zeros_like(a.volumes), np.zeros_like(a.cuts)
    if a.term.form:
        node_moves.class_totals(state, a, volumes, cuts)
    return volumes, cuts


@pytest.mark.slow
@settings(max_examples=25)
@models
def test_energies_of_kernels_and_their_differences_are_the_models(name, seed, n, q):
    model, a, state, _ = drawn(name, seed, n, q)
    scale = max(model.energy_scale, 1.0)
    before = model.energy(state)
    many = np.tile(state, (4, 1))
    many[1:, model.free_nodes] = np.arange(3)[:, None] % q
    energies = node_moves.energies_of(many, a)
    np.testing.assert_allclose(energies, model.energy(many), rtol=0, atol=1e-12 * scale)
    a.volumes[:], a.cuts[:] = totals(a, state)
    for i in model.free_nodes:
        node_moves.move_costs(i, state, a, a.cost)
        moved = np.tile(state, (q, 1))
        moved[:, i] = np.arange(q)
        expected = model.energy(moved) - before
        np.testing.assert_allclose(a.cost, expected, rtol=0, atol=1e-12 * scale)


@settings(max_examples=8)
@models
def test_moves_keep_the_running_class_sizes_and_cuts_right(name, seed, n, q):
    model, a, state, stream = drawn(name, seed, n, q)
    a.volumes[:], a.cuts[:] = totals(a, state)
    nodes = a.free
    if len(nodes) == 0:
        return
    region = np.sort(np.random.default_rng(seed).permutation(nodes)[: (len(nodes) + 1) // 2])
    for _ in range(5):
        node_moves.node_sweep(state, a, 0.5, stream)
        node_moves.cluster_flip(state, a, 0.5, stream)
        node_moves.region_swap(state, region, a, 0.1, stream)
    assert not a.mark.any()
    assert np.isfinite(model.energy(state))  # clamps are kept
    volumes, cuts = totals(a, state)
    if a.term.form:
        np.testing.assert_allclose(a.volumes, volumes, atol=1e-11)
    if len(a.cut_weights):
        np.testing.assert_allclose(a.cuts, cuts, atol=1e-11)


@settings(max_examples=8)
@models
def test_cluster_moves_keep_the_class_sizes_right(name, seed, n, q):
    model, a, state, stream = drawn(name, seed, n, q)
    if cluster_reason(model) is not None:
        return
    c, sizes, part = cluster_model(model)
    free = np.ascontiguousarray(state[part.nodes])
    cluster.class_sizes(free, sizes, sizes.volumes)
    np.testing.assert_allclose(sizes.volumes, totals(a, state)[0], atol=1e-12)
    c.parent[:] = np.arange(len(free))
    for _ in range(5):
        cluster.relabel_in_turn(free, c, sizes, 0.5, False, stream)
        cluster.permute_classes(free, c, sizes, 0.1, 3, stream)
    state[part.nodes] = free
    np.testing.assert_allclose(sizes.volumes, totals(a, state)[0], atol=1e-11)
