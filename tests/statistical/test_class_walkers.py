"""Moves under class-level terms keep the exact law, and twins with a planted error do not."""

import numpy as np
import pytest

from spinlearn.engines.exact.enumeration import Enumeration
from spinlearn.engines.sampling.sums import LevelSums
from spinlearn.engines.sampling.walkers import (
    BitWalkers,
    ClassClusterWalkers,
    ClusterWalkers,
    GeneralWalkers,
    LockstepWalkers,
    walkers_for,
)
from spinlearn.kernels import clusters as cluster
from spinlearn.kernels import nodes as node_moves
from spinlearn.kernels.rng import make_stream
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.graph import Graph
from spinlearn.model.kernel_arguments import bond_thresholds, cluster_model, kernel_model
from spinlearn.model.potts import PottsModel
from tests.statistical.chi_square import Draws, assert_verdict

BETA = 0.6
DRAWS = 8_000
N, Q = 6, 3


def small_model(form: str, table: bool = False, signed: bool = False) -> PottsModel:
    """Six nodes, two clamped, 81 labellings, fields."""
    rng = np.random.default_rng(7)
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (3, 4), (0, 5)]
    graph = Graph(N, edges, rng.uniform(0.4, 1.3, len(edges)))
    half = rng.normal(size=(Q, Q))
    sizes = rng.uniform(0.5, 2.0, N)
    penalty = {
        "none": None,
        "quadratic": ClassPenalty.quadratic(sizes, 3.0, n_states=Q, targets=[1.0, 2.0, 3.0]),
        "ratio": ClassPenalty.ratio(graph, sizes, n_states=Q, scale=1.5),
        "table": ClassPenalty.from_table(rng.normal(size=(Q, N + 1))),
    }[form]
    return PottsModel(
        graph,
        Q,
        couplings=graph.weights * (rng.choice([-1, 1], len(edges)) if signed else 1.0),
        pair_cost=half + half.T if table else None,
        fields=0.4 * rng.normal(size=(N, Q)),
        clamped=[-1, -1, -1, -1, 1, 2],
        class_penalty=penalty,
    )


def without_class_term(model: PottsModel) -> PottsModel:
    return model.replace(class_penalty=ClassPenalty.from_table(np.zeros((Q, N + 1))))


@pytest.mark.slow
@pytest.mark.parametrize("move", ["nodes", "flips", "region"])
@pytest.mark.parametrize(
    ("form", "table", "signed", "bug"),
    [
        ("quadratic", False, False, None),
        ("table", False, False, None),
        ("ratio", True, True, None),
        ("none", True, False, None),
        ("ratio", True, True, "beta"),
        ("quadratic", False, False, "class term"),
        ("ratio", False, False, "class term"),
    ],
)
def test_general_moves_keep_the_law(form, table, signed, move, bug):
    model = small_model(form, table, signed)
    draws = Draws(model, BETA, DRAWS, 3)
    a = kernel_model(without_class_term(model) if bug == "class term" else model)
    beta = BETA * (1.6 if bug == "beta" else 1.0)
    stream = make_stream(np.random.SeedSequence(5))
    region = np.array([0, 1, 3], dtype=np.int32)
    for state in draws.states:
        if a.term.form:
            node_moves.class_totals(state, a, a.volumes, a.cuts)
        if move == "nodes":
            node_moves.node_sweep(state, a, beta, stream)
            continue
        for _ in range(3):
            if move == "flips":
                node_moves.cluster_flip(state, a, beta, stream)
            else:
                node_moves.region_swap(state, region, a, beta, stream)
    assert_verdict(draws.p_value(), bug is None)


@pytest.mark.parametrize("move", ["clusters", "permutations"])
@pytest.mark.parametrize(
    ("form", "bug"),
    [
        ("quadratic", None),
        ("table", None),
        ("quadratic", "beta"),
        ("table", "class term"),
        ("quadratic", "held volumes"),  # of a table it would read beyond the end
    ],
)
def test_cluster_and_permutation_moves_keep_the_law(form, move, bug):
    model = small_model(form)
    draws = Draws(model, BETA, DRAWS, 3)
    c, sizes, part = cluster_model(without_class_term(model) if bug == "class term" else model)
    beta = BETA * (1.6 if bug == "beta" else 1.0)
    if bug == "held volumes":
        sizes = sizes._replace(held_volumes=sizes.held_volumes[::-1].copy())
    thresholds = bond_thresholds(np.array([beta]), c.couplings)[0]
    stream = make_stream(np.random.SeedSequence(6))
    free = np.ascontiguousarray(draws.states[:, part.nodes])
    for state in free:
        cluster.class_sizes(state, sizes, sizes.volumes)
        if move == "clusters":
            cluster.bond_clusters(state, c.edge_u, c.edge_v, thresholds, c.parent, stream)
            cluster.relabel_in_turn(state, c, sizes, beta, False, stream)
        else:
            cluster.permute_classes(state, c, sizes, beta, 2, stream)
    draws.states[:, part.nodes] = free
    assert_verdict(draws.p_value(), bug is None)


@pytest.mark.parametrize("bug", [False, True])
@pytest.mark.parametrize(
    ("kind", "form"), [(ClassClusterWalkers, "quadratic"), (GeneralWalkers, "ratio")]
)
def test_groups_of_walkers_keep_the_law(kind, form, bug):
    model = small_model(form)
    draws = Draws(model, BETA, DRAWS, 3)
    group = kind(model, np.random.SeedSequence(1))
    group.use_ladder(np.array([0.1, BETA * (1.2 if bug else 1.0)]))
    group.levels[:] = 1
    group.apply_levels()
    size = group.n_walkers
    draws.states = draws.states[: DRAWS - DRAWS % size]
    for states in np.split(draws.states, DRAWS // size):
        group.put_states(states)
        group.sweep(1)
        states[:] = group.states()
    np.testing.assert_allclose(group.energies(), model.energy(group.states()))
    assert_verdict(draws.p_value(), not bug)


def test_every_model_finds_its_walkers():
    assert walkers_for(small_model("quadratic")) is ClassClusterWalkers
    assert walkers_for(small_model("table")) is ClassClusterWalkers
    assert walkers_for(small_model("ratio")) is GeneralWalkers
    assert walkers_for(small_model("none", table=True)) is GeneralWalkers
    assert walkers_for(small_model("quadratic", signed=True)) is GeneralWalkers
    for kind in (BitWalkers, ClusterWalkers, LockstepWalkers):
        assert "class-level" in str(kind.unsupported(small_model("quadratic")))


@pytest.mark.parametrize("bug", [False, True])
def test_exchange_under_a_class_term_keeps_both_laws(bug):
    model = small_model("quadratic")
    betas = np.array([0.3 * BETA, BETA])
    hot, cold = (Draws(model, beta, DRAWS, 4 + k) for k, beta in enumerate(betas))
    pair = ClassClusterWalkers(model, np.random.SeedSequence(2), 2)
    pair.use_ladder(betas * np.array([1.0, 0.2 if bug else 1.0]))
    pair.levels[:] = 0, 1
    pair.apply_levels()
    for k in range(DRAWS):
        pair.put_states(np.stack([hot.states[k], cold.states[k]]))
        pair.exchange_components(0)
        hot.states[k], cold.states[k] = pair.states()
    assert pair.exchanged[0, 0, 1] > 0.1 * DRAWS
    for draws in (hot, cold):
        assert_verdict(draws.p_value(), not bug)


def test_averages_over_the_draws_of_clusters_are_those_of_the_law():
    model = small_model("quadratic")
    draws = Draws(model, BETA, DRAWS, 3)
    free = cluster_model(model)[2]
    sums = LevelSums(free, 1, 1)
    group = ClassClusterWalkers(model, np.random.SeedSequence(1), DRAWS)
    group.use_ladder(np.array([BETA]))
    group.put_states(draws.states)
    group.sweep_and_measure(np.zeros(DRAWS, dtype=np.int64), sums)
    exact = Enumeration().run(model, [1 / BETA])
    assert sums.counts[0] == DRAWS
    error = 4 * 0.5 / np.sqrt(DRAWS)  # the averages scatter less than the states do
    assert np.abs(sums.nodes[0] / DRAWS - exact.marginals[0, free.nodes]).max() < error
    assert np.abs(sums.edges[0] / DRAWS - exact.edge_agreement[0, free.edge_ids]).max() < error
