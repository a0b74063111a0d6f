"""Single parts of the default answer, each on a case that can be worked out by hand."""

import sys

import numpy as np
import pytest

from spinlearn import Graph, PottsClassifier
from spinlearn.answers.temperature import information
from spinlearn.default import walks
from spinlearn.default.forest import Forest, _contracted, weakest_cut
from spinlearn.default.new_classes import clusters
from spinlearn.default.plan import _balanced
from spinlearn.default.walks import alpha_of, subsample, walk_fields, walk_law
from spinlearn.linear import weight_matrix
from tests.conftest import cliques
from tests.hand_made import profile_of


def ring(n: int, reach: int = 1) -> Graph:
    """Every point is linked to the `reach` next ones on both sides."""
    ends = [(i, (i + k) % n) for k in range(1, reach + 1) for i in range(n)]
    return Graph(n, np.array(ends))


def method_chosen(**settings) -> str | None:
    """What a ring of twelve points with four labels is told about its method."""
    y = np.full(12, -1)
    y[[0, 1, 6, 7]] = 0, 0, 1, 1
    model = PottsClassifier(**settings).fit(ring(12), y)
    return next((text for text in map(str, model.choices_) if text.startswith("method")), None)


def test_the_papers_method_is_weighed_on_a_lattice_and_where_null_models_are_beyond_an_engine():
    assert method_chosen() is not None
    assert method_chosen(method="messages") is None  # another is named
    assert "cannot treat a null model" in method_chosen(engine="junction_tree")
    assert method_chosen(engine="junction_tree", method="paper") is None


@pytest.mark.parametrize(("nats", "paper"), [(2.0, True), (-2.9, True), (-3.1, False)])
def test_the_paper_is_left_once_labels_say_three_nats_against_it(nats, paper, monkeypatch):
    plan = sys.modules["spinlearn.default.plan"]  # the package has a function of that name
    learnt, known = plan.learnt, []
    monkeypatch.setattr(plan, "learnt", lambda *a, **k: known.append(learnt(*a, **k)) or known[-1])
    monkeypatch.setattr(plan, "paper_evidence", lambda *_: known[-1].log_evidence + nats)
    assert method_chosen().startswith("method: paper" if paper else "method: messages")


def test_a_sample_takes_as_many_labels_of_each_class():
    labels = np.where(np.arange(4000) < 3000, 0, 1)
    points, _ = subsample(ring(4000, reach=2), labels, size=2)
    taken = np.bincount(labels[points])
    assert taken.sum() <= 2002  # two more were drawn
    assert np.all(taken >= 1000)
    few = np.full(4000, -1)
    few[:2000] = 0
    points, _ = subsample(ring(4000, reach=2), few, size=100)
    assert set(range(2000)) <= set(points.tolist())


def test_points_of_a_sample_are_linked_to_those_that_walks_meet_first():
    points, graph = subsample(ring(400, reach=3), np.full(400, -1), size=400)
    assert len(points) == 400
    apart = np.abs(np.diff(graph.edges, axis=1)).ravel()
    apart = np.minimum(apart, 400 - apart)
    assert set(apart) == {1, 2, 3, 4, 5}  # ten of the nearest, never itself
    assert graph.n_edges == 2000


@pytest.mark.parametrize(
    ("n", "reach", "steps"), [(100, 1, 80.0), (10_000, 8, 100.0), (101, 50, 2.0)]
)
def test_advice_walks_are_the_longer_the_larger_and_sparser_the_graph(n, reach, steps):
    """Of 16 sqrt(n) / (number of neighbours) steps on average, but of two at least."""
    assert alpha_of(ring(n, reach)) == pytest.approx(1 - 1 / steps)


@pytest.mark.parametrize(
    ("n_labels", "piece", "counts"),
    # Below a twentieth of the points only where labels are so many that they would have met it:
    # 0.955^150 = 0.001 and 0.955^120 = 0.004, against a twentieth of the share, 0.00225.
    [(150, 9, True), (120, 9, False), (0, 9, False), (0, 12, True), (500, 2, False)],
)
def test_a_small_new_class_counts_where_labels_would_have_met_it(n_labels, piece, counts):
    sizes = np.array([110, 90 - piece, piece])
    found = profile_of(np.repeat([0, 1, 2], sizes)[None], [1.0], n_labels=n_labels)
    share = sizes / 200
    missed = (1 - share[2]) ** n_labels if n_labels else 0.0
    kept = share * [1, 1, counts * (1 - missed) / (1 + missed)]
    expected = kept.sum() * (np.exp(-np.sum(kept * np.log(share))) - 1)
    np.testing.assert_allclose(information(found), [expected])


def test_long_walks_of_many_points_are_cut_short(monkeypatch):
    labels = np.full(30, -1)
    labels[[0, 15]] = 0, 1
    whole = walk_fields(ring(30), labels, 2, 1.0)
    monkeypatch.setattr(walks, "MOST_STEPS", 2.0)
    np.testing.assert_array_equal(walk_fields(ring(30), labels, 2, 1.0), whole)
    monkeypatch.setattr(walks, "MANY", 29)
    short = walk_fields(ring(30), labels, 2, 1.0)
    assert abs(short[3, 1] - short[3, 0]) < abs(whole[3, 1] - whole[3, 0])
    assert walk_law(ring(30), labels, 2).dtype == np.float64  # as of half a million points not
    monkeypatch.setattr(walks, "VERY_MANY", 29)
    assert walk_law(ring(30), labels, 2).dtype == np.float32


def test_a_balanced_law_has_the_mean_shares_asked_for():
    law = np.random.default_rng(0).dirichlet([1.0, 2.0, 3.0], size=50)
    law[:, 2] = 0.0  # a class without a label here
    law /= law.sum(axis=1, keepdims=True)
    found = _balanced(law, np.array([0.7, 0.3, 0.0]))
    np.testing.assert_allclose(found.mean(axis=0), [0.7, 0.3, 0.0], atol=1e-9)
    odds = found[:, 0] / found[:, 1] / (law[:, 0] / law[:, 1])
    np.testing.assert_allclose(odds, odds[0])  # one weight for each class


def test_small_modules_become_nodes_with_the_couplings_inside_them():
    graph = Graph(5, [(0, 1), (1, 2), (0, 3), (2, 3), (3, 4)], [1.0, 2.0, 4.0, 8.0, 16.0])
    small, inner = _contracted(graph, np.array([1, 1, 0, 2, 2]))
    assert small.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert small.weights.tolist() == [2.0, 8.0, 4.0]
    assert inner.tolist() == [0.0, 1.0, 16.0]


def test_the_weakest_cut_by_hand():
    def cut(*sizes, links=()):
        graph = cliques(*sizes, links=links)
        return weakest_cut(weight_matrix(graph), np.arange(graph.n_nodes))

    assert cut(3, 3, links=[(0, 3)]) == pytest.approx(1)
    assert cut(3, 2, links=[(0, 3)]) == 0  # fewer than six points cannot be judged
    # Parts of less than a fifth of all edges are not cut off: of thirty points, three are not.
    assert cut(27, 3, links=[(0, 27)]) > 100
    assert cut(4, 4, 2, links=[(0, 4)]) == pytest.approx(1)  # of several pieces the largest
    assert cut(5, 5, 5) == 0
    assert cut(4, 4, 1, links=[(0, 4)]) == pytest.approx(1)


def test_groups_without_labels_are_the_modules_of_one_point_in_a_hundred_or_more():
    def sizes(*given):
        return [len(points) for points in clusters(Forest(cliques(*given)))]

    assert sizes(40, 30, 3, 2) == [40, 30, 3]  # three points at the least
    assert sizes(*[49] * 8, 5, 3) == [*[49] * 8, 5]


def test_where_all_points_are_alike_there_is_a_weakest_cut_too():
    for n in range(6, 50):  # of equal eigenvalues LAPACK loses one now and then
        smaller = -(-n // 5)
        cut = weakest_cut(weight_matrix(cliques(n)), np.arange(n))
        assert cut == pytest.approx(smaller * (n - smaller))
