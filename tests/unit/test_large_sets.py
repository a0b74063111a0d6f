"""What is done differently for many points, held against what is done for few."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsTransformer

from spinlearn import Graph
from spinlearn.default.walks import subsample
from spinlearn.engines import BeliefPropagation, Tempering
from spinlearn.engines.messages import belief_propagation
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.graphs import KNN
from spinlearn.minimizers.modules import partition
from spinlearn.viz.explorer import SIDE, density
from spinlearn.workflows.fitting import predicted_cost
from tests.cluster.models import clouds

pytestmark = pytest.mark.slow


def two_rings(n: int) -> Graph:
    """Two rings of n nodes, each joined to the next three."""
    steps = [(i, (i + d) % n) for i in range(n) for d in (1, 2, 3)]
    return Graph(2 * n, steps + [(u + n, v + n) for u, v in steps])


def test_a_sample_holds_the_labels_and_joins_no_parts():
    labels = np.full(600, -1)
    labels[[5, 17, 320]] = 0, 1, 1
    points, graph = subsample(two_rings(300), labels, size=150)
    assert {5, 17, 320} <= set(points.tolist())
    assert 150 <= len(points) <= 153
    ring = points // 300
    u, v = graph.edges.T
    assert np.array_equal(ring[u], ring[v])
    near = np.abs(points[u] - points[v]) % 300
    assert np.median(np.minimum(near, 300 - near)) <= 8
    again = subsample(two_rings(300), labels, size=150)
    assert np.array_equal(again[0], points)
    assert np.array_equal(again[1].edges, graph.edges)


@pytest.mark.parametrize("n_blocks", [2, 3])
def test_blocks_are_of_equal_size_and_cut_few_edges(n_blocks):
    graph = clouds().graph
    block = partition(graph, n_blocks)
    sizes = np.bincount(block, minlength=n_blocks)
    assert sizes.max() - sizes.min() <= 1
    u, v = graph.edges.T
    shuffled = np.random.default_rng(0).permutation(block)
    assert np.mean(block[u] != block[v]) < 0.5 * np.mean(shuffled[u] != shuffled[v])
    rings = two_rings(60)
    ends = partition(rings, 2)[rings.edges]
    assert np.sum(ends[:, 0] != ends[:, 1]) <= 12


@pytest.mark.parametrize("temperatures", [[0.8, 1.5, 2.5], [np.inf, 3.0, 1.5]])
def test_one_way_down_from_infinity_finds_what_many_starts_find(monkeypatch, temperatures):
    model = clouds()
    usual = BeliefPropagation().run(model, temperatures, seed=0)
    monkeypatch.setattr(belief_propagation, "HUGE_MESSAGES", 100)
    large = BeliefPropagation().run(model, temperatures, seed=0)
    assert large.marginals.dtype == np.float32
    assert np.array_equal(large.temperatures, temperatures)
    assert np.abs(large.marginals - usual.marginals).max() < 2e-3
    assert np.allclose(large.log_partition, usual.log_partition, rtol=1e-5)
    if temperatures[0] == np.inf:
        assert large.heat_capacity[0] == 0 < large.heat_capacity[1]
        alone = BeliefPropagation().run(model, [np.inf], seed=0)
        assert np.array_equal(alone.marginals[0], large.marginals[0])


def test_tempering_starts_from_messages_of_large_models(monkeypatch):
    monkeypatch.setattr(belief_propagation, "HUGE_MESSAGES", 100)
    found = Tempering(tol=0.5).run(clouds(), [1.0], seed=0)
    assert found.diagnostics["walkers"].endswith("ClusterWalkers")


def test_a_stop_on_the_way_down_leaves_what_is_found(monkeypatch):
    monkeypatch.setattr(belief_propagation, "HUGE_MESSAGES", 100)
    monkeypatch.setattr("spinlearn.engines.messages.cooling.REPORT_SECONDS", 0.0)
    with pytest.raises(StoppedError):
        BeliefPropagation().run(clouds(), [1.0], callback=lambda progress: True)


def test_density_counts_every_point_and_shows_the_majority():
    places = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.5]])
    found = density(places, np.array([[2, 2, 1, 0], [1, 2, 1, -1]]))
    assert found["bins"].tolist() == [0, SIDE // 2 * SIDE + SIDE - 1]
    assert found["outcomes"].tolist() == [[2, 0], [1, -1]]
    assert found["levels"][0] == 255 > found["levels"][1]


@pytest.fixture(scope="module")
def points():
    return make_blobs(2000, centers=6, n_features=8, random_state=3)[0]


def test_any_transformer_finds_neighbours_if_it_finds_enough(points):
    exact = KNN(n_neighbors=7, search="exact")
    other = KNN(n_neighbors=7, search=KNeighborsTransformer(n_neighbors=8))
    one, two = exact.build(points), other.build(points)
    assert np.array_equal(one.edges, two.edges)
    assert np.allclose(one.weights, two.weights)
    unseen = points[:5] + 0.01
    assert (other.attach(unseen, points) > 0).nnz >= 35
    with pytest.raises(InvalidInputError, match="fewer than 9"):
        KNN(n_neighbors=9, search=KNeighborsTransformer(n_neighbors=4)).build(points)
    with pytest.raises(InvalidInputError, match="'exact'"):
        KNN(search="quick").build(points)


def test_building_tells_how_far_it_is_and_stops(points):
    told = []
    KNN().build(points, callback=lambda progress: told.append(progress.fraction))
    assert told[-1] == 1.0
    with pytest.raises(StoppedError, match="building the graph"):
        KNN().build(points, callback=lambda progress: True)


def test_cost_is_near_what_was_measured():
    small, large = (predicted_cost(n, 10, 10) for n in (10**6, 10**7))
    assert 2.5e9 < small.memory < 3.5e9  # 3.0 GB were measured
    assert 5 < large.memory / small.memory < 8  # rows of temperatures wait on the disk
    assert large.memory < 20e9
    assert "GB" in str(small)
