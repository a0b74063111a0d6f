"""Super-paramagnetic clustering: known phases, the dendrogram's laws, and the original code."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from spinlearn import Graph
from spinlearn.baselines import SuperparamagneticClustering
from spinlearn.baselines.superparamagnetic import _stability, _stable_row, cluster_tree
from spinlearn.engines import JunctionTree
from spinlearn.model.phases import _best_edges, grains
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph, grids


def joined_lattices(n_lattices=3, weak=0.05):
    """4 x 5 lattices in a row, each joined to the next by one weak edge."""
    return grids(n_lattices, 4, 5, [(20 * k - 1, 20 * k) for k in range(1, n_lattices)], weak)


def exact(**settings):
    defaults = {"n_states": 3, "engine": "junction_tree"}
    return SuperparamagneticClustering(**(defaults | settings))


def test_weakly_joined_lattices_are_the_clusters():
    model = exact().fit(joined_lattices())
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 20))
    assert model.equilibrium_.exact
    assert 0.05 < model.temperature_ < 0.6
    alone = exact(temperatures=np.geomspace(0.02, 2, 20)).fit(grid_graph(5, 8))
    assert set(alone.labels_) == {0}


def test_temperature_may_be_chosen():
    grid = np.geomspace(0.01, 3, 16)
    for given, used, n_clusters in (
        (0.0, 0.01, 1), (0.2, grid[np.argmin(np.abs(grid - 0.2))], 3), (np.inf, grid[-1], None)
    ):  # fmt: skip
        found = exact(temperatures=grid, temperature=given).fit(joined_lattices())
        assert found.temperature_ == used
        assert n_clusters in (None, len(set(found.labels_)))


def test_dendrogram_of_lattices_within_lattices():
    # Two pairs: within a pair the joint is 0.1, between the pairs 0.005.
    graph = joined_lattices(4, weak=[0.1, 0.005, 0.1])
    model = exact(temperatures=np.geomspace(5e-4, 2, 40)).fit(graph)
    tree = model.tree_
    assert set(tree.members[0]) == {0}
    assert tree.parents[0] == -1
    assert tree.sizes[0] == 80
    # An edge J holds (C > 1/2) below J/ln(q - 1): first one of 80, then two of 40, four of 20.
    by_size = {size: np.flatnonzero(tree.sizes == size) for size in (40, 20)}
    assert len(by_size[40]) == 2
    assert len(by_size[20]) == 4
    assert set(tree.parents[by_size[40]]) == {0}
    assert sorted(tree.parents[by_size[20]]) == sorted([*by_size[40], *by_size[40]])
    np.testing.assert_allclose(tree.high[0], 0.005 / np.log(2), rtol=0.12)
    np.testing.assert_allclose(tree.low[by_size[20]], 0.1 / np.log(2), rtol=0.12)
    # The stable answer is the four, which live over the widest range of T.
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2, 3], 20))


def test_tree_follows_clusters_by_their_members():
    tree = cluster_tree(np.array([1.0, 2, 4]), np.array([[0, 0, 0, 0], [1, 1, 1, 0], [3, 3, 2, 1]]))
    assert tree.members.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 1]]
    assert tree.parents.tolist() == [-1, 0, 0]
    assert tree.sizes.tolist() == [4, 1, 1]
    assert tree.low.tolist() == [1.0, 1.5, 3.0]
    assert tree.high.tolist() == [4.0, 4.0, 4.0]
    again = pickle.loads(pickle.dumps(tree))
    assert not again.members.flags.writeable


def test_parents_are_where_most_members_were():
    generator = np.random.default_rng(0)
    for _ in range(20):
        parts = [generator.integers(0, k, 40) for k in (3, 6, 12, 25)]
        tree = cluster_tree(np.array([1.0, 2.0, 3.0, 4.0]), parts)
        for cluster in range(tree.n_clusters):
            row = int(np.flatnonzero(np.any(tree.members == cluster, axis=1))[0])
            mine = tree.members[row] == cluster
            before = -1 if row == 0 else np.bincount(tree.members[row - 1][mine]).argmax()
            assert tree.parents[cluster] == before
            assert tree.sizes[cluster] == mine.sum()


def test_a_cluster_that_parted_lived_no_longer():
    # Three of 20, of which two are one up to T = 4: the tree follows the larger part, eta does not.
    temperatures = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    apart = np.repeat([0, 1, 2], [30, 20, 20])
    merged = np.repeat([0, 0, 1], [30, 20, 20])
    tree = cluster_tree(temperatures, [merged, merged, apart, apart, apart])
    assert tree.members[0][0] == tree.members[-1][0]
    stability = _stability(tree, [merged, merged, apart, apart, apart], smallest=3)
    # Lives: the merged one 1 to 3, its parts 3 to 16, the third 1 to 16.
    np.testing.assert_allclose(stability, [50 * 2 + 20 * 15] * 2 + [50 * 13 + 20 * 15] * 3)
    chipped = np.repeat([0, 3, 1, 2], [25, 5, 20, 20])  # a sixth comes off: still the same
    tree = cluster_tree(temperatures, [apart, apart, chipped, chipped, chipped])
    stability = _stability(tree, [apart, apart, chipped, chipped, chipped], smallest=3)
    np.testing.assert_allclose(stability[0], 70 * 15)


def test_the_middle_of_equally_stable_temperatures_is_chosen():
    temperatures = np.geomspace(1, 64, 7)
    cores = [np.zeros(10, dtype=np.int32)] * 7
    eta = np.array([0, 99, 100, 99, 99, 99, 0]) * 10.0
    assert _stable_row(temperatures, eta, cores, 3) == 3
    assert _stable_row(temperatures, eta / 100, cores, 3) == 0  # nothing is stable enough


def test_points_join_the_neighbour_they_agree_with_most():
    # A chain whose last edge is too weak to hold: alone it is a grain of its own.
    chain = PottsModel(Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 0.1]), 2)
    run = JunctionTree().run(chain, [0.4])
    assert grains(run, 0, 0.6).tolist() == [0, 0, 0, 1]
    assert grains(run, 0, 0.6, join_all=True).tolist() == [0, 0, 0, 0]


def test_of_equal_agreements_the_strongest_coupling_joins():
    generator = np.random.default_rng(1)
    for _ in range(50):
        n = int(generator.integers(2, 20))
        pairs = np.array(np.triu_indices(n, 1)).T
        graph = Graph(n, pairs[generator.random(len(pairs)) < 0.2])
        strength = generator.integers(1, 9, graph.n_edges).astype(float)
        agreement = generator.integers(0, 4, graph.n_edges) / 8
        mine = np.split(graph.edge_ids, graph.indptr[1:-1])
        kept = {
            max((agreement[e], strength[e], k, int(e)) for k, e in enumerate(ids))[3]
            for ids in mine if len(ids)
        }  # fmt: skip
        assert set(_best_edges(graph, agreement, strength).tolist()) == kept


def test_isolated_points_stay_alone():
    model = exact(temperatures=np.geomspace(0.05, 2, 16)).fit(grids(2, 4, 5, alone=2))
    expected = np.concatenate([np.repeat([0, 1], 20), [-1, -1]])
    np.testing.assert_array_equal(model.labels_, expected)
    assert exact().fit(Graph(1, [])).labels_.tolist() == [0]


def test_blobs_by_sampling():
    X, truth = make_blobs([120, 80, 60], 2, centers=[[0, 0], [7, 0], [0, 7]], random_state=2)
    model = SuperparamagneticClustering(random_state=0).fit(X)
    clustered = model.labels_ >= 0
    assert clustered.mean() > 0.9
    assert adjusted_rand_score(truth[clustered], model.labels_[clustered]) == 1.0
    assert model.model_.n_states == 20
    np.testing.assert_array_equal(model.equilibrium_.marginals, 1 / 20)
    again = SuperparamagneticClustering(random_state=0).fit(X)
    np.testing.assert_array_equal(again.tree_.members, model.tree_.members)


def test_sampled_agreement_is_the_exact_one():
    grid = [0.1, 0.2, 0.4, 0.8, 1.6]
    seen = []
    sampled = SuperparamagneticClustering(
        n_states=3, temperatures=grid, random_state=1, callback=lambda p: seen.append(p.fraction)
    ).fit(joined_lattices())
    expected = exact(temperatures=grid).fit(joined_lattices()).equilibrium_
    found = sampled.equilibrium_
    assert found.temperatures.tolist() == grid
    error = np.abs(found.edge_agreement - expected.edge_agreement)
    assert np.all(error <= 6 * found.agreement_std_error + 1e-12)
    assert found.agreement_std_error.max() < 0.15
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_as_good_as_the_original_code_on_blobs(tmp_path, monkeypatch):
    """Best agreement with the truth over temperatures, as our tree and spclustering report them."""
    spc = pytest.importorskip("spclustering")
    monkeypatch.chdir(tmp_path)  # it may write files
    for seed in range(2):
        X, truth = make_blobs(240, 2, centers=4, cluster_std=0.7, random_state=seed)
        theirs = spc.SPC(mintemp=0, maxtemp=0.25, tempstep=0.01, randomseed=1).run(X)
        best = max(adjusted_rand_score(truth, labels) for labels in theirs)
        model = SuperparamagneticClustering(random_state=seed).fit(X)
        ours = max(adjusted_rand_score(truth, labels) for labels in model.tree_.members)
        assert ours > best - 0.02
        assert adjusted_rand_score(truth, model.labels_) > best - 0.05
