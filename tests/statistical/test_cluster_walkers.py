"""Swendsen-Wang sweeps of the multicanonical engine keep the exact law."""

import numpy as np
import pytest

from spinlearn.engines.sampling.move_sets import regions_of
from spinlearn.engines.sampling.walkers import ClusterWalkers
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.statistical.chi_square import FAIL, PASS, Configurations, p_value

pytestmark = pytest.mark.slow

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


REGIONS = [[0], [1, 2], [0, 2], [0, 1, 2, 3]]  # neighbours or not, alone, everything


def sweep(group: ClusterWalkers) -> None:
    group.sweep(1)


def redraw(group: ClusterWalkers) -> None:
    group.move_regions(3)
    assert not group._clusters.place.any()


def p_after(move, model: PottsModel, beta_used: float) -> float:
    """Of the law after a move at `beta_used`, from exact draws at BETA."""
    table = Configurations(model)
    law = table.boltzmann(BETA)
    rng = np.random.default_rng(0)
    counts = np.zeros(len(table))
    for seed in np.random.SeedSequence(1).spawn(N_GROUPS):
        group = ClusterWalkers(model, seed)
        group.use_ladder(np.array([beta_used]))
        group.use_regions(regions_of(model, [np.array(nodes) for nodes in REGIONS]))
        group.put_states(table.states[rng.choice(len(table), group.n_walkers, p=law)])
        move(group)
        counts += np.bincount(table.index(group.states()), minlength=len(table))
    np.testing.assert_allclose(group.energies(), model.energy(group.states()))
    return p_value(counts, law)


@pytest.mark.parametrize(("q", "fields"), [(2, False), (3, True)])
@pytest.mark.parametrize("move", [sweep, redraw])
def test_cluster_moves_keep_the_law(move, q, fields):
    model = small_model(q, fields)
    assert p_after(move, model, BETA) > PASS
    assert p_after(move, model, 1.1 * BETA) < FAIL  # the same test notices a wrong temperature


def test_a_blob_leaves_its_neighbours_by_one_redraw():
    # Two cliques of 8, 20 weak edges between them, a label in each: to part them, a sweep has to
    # draw no bond on any of the 20, which happens once in e^12 times.
    cliques = [(i + c, j + c) for c in (0, 8) for i in range(8) for j in range(i)]
    weak = [(i, 8 + (i + d) % 8) for i in range(8) for d in range(3)][:20]
    graph = Graph(
        18,
        [*cliques, *weak, *[(16, i) for i in range(8)], *[(17, 8 + i) for i in range(8)]],
        [3.0] * 56 + [0.6] * 20 + [1.5] * 16,
    )
    model = PottsModel(graph, 2, clamped=[*[-1] * 16, 0, 1])
    moved = {}
    for name, regions in (("sweeps", []), ("redraws", [np.arange(8), np.arange(8, 16)])):
        group = ClusterWalkers(model, np.random.SeedSequence(3), 200)
        group.use_ladder(np.array([1.0]))
        group.use_regions(regions_of(model, regions))
        group.put_states(np.tile(np.array([0] * 17 + [1], dtype=np.int8), (200, 1)))
        for _ in range(10):
            group.sweep(1)
            group.move_regions(1)
        parted = group.states()
        moved[name] = np.mean(parted[:, :8].mean(axis=1) + 1 < parted[:, 8:16].mean(axis=1) + 0.5)
    assert moved["sweeps"] < 0.02
    assert moved["redraws"] > 0.2
