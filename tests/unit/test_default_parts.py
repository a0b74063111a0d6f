"""Single parts of the default answer, each on a case that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn import Graph, PottsClassifier
from spinlearn.answers.profile import Profile
from spinlearn.answers.temperature import information
from spinlearn.default.walks import MOST_LABELS, NEIGHBORS, alpha_of, subsample
from spinlearn.model.arrays import frozen


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


def test_the_papers_method_is_weighed_on_a_lattice_unless_another_is_named():
    assert method_chosen() is not None
    assert method_chosen(method="messages") is None


def test_an_engine_without_null_models_means_the_paper_unless_a_method_is_named():
    assert "cannot treat a null model" in method_chosen(engine="junction_tree")
    assert method_chosen(engine="junction_tree", method="paper") is None


def test_a_sample_takes_as_many_labels_of_each_class():
    n = 2 * MOST_LABELS
    labels = np.where(np.arange(n) < 3 * n // 4, 0, 1)
    points, _ = subsample(ring(n, reach=2), labels, size=2)
    taken = np.bincount(labels[points])
    assert np.all(abs(taken - MOST_LABELS // 2) <= 2)  # two more were drawn
    few = np.full(n, -1)
    few[:5] = 0
    points, _ = subsample(ring(n, reach=2), few, size=100)
    assert set(range(5)) <= set(points.tolist())


def test_points_of_a_sample_are_linked_to_those_that_walks_meet_first():
    points, graph = subsample(ring(400, reach=3), np.full(400, -1), size=400)
    assert len(points) == 400
    apart = np.abs(np.diff(graph.edges, axis=1)).ravel()
    apart = np.minimum(apart, 400 - apart)
    assert apart.min() == 1  # never to itself
    assert apart.max() <= NEIGHBORS // 2 + 1  # ten of the nearest
    assert np.all(graph.degrees >= NEIGHBORS)


@pytest.mark.parametrize(
    ("n", "reach", "steps"), [(100, 1, 80.0), (10_000, 8, 100.0), (101, 50, 2.0)]
)
def test_advice_walks_are_the_longer_the_larger_and_sparser_the_graph(n, reach, steps):
    """Of 16 sqrt(n) / (number of neighbours) steps on average, but of two at least."""
    assert alpha_of(ring(n, reach)) == pytest.approx(1 - 1 / steps)


@pytest.mark.parametrize(
    ("n_labels", "piece", "counts"),
    # Below a twentieth of the points only where labels are so many that they would have met it:
    # 0.955^150 = 0.001 and 0.955^100 = 0.01, against a twentieth of the share, 0.00225.
    [(150, 9, True), (100, 9, False), (0, 9, False), (0, 12, True), (500, 2, False)],
)
def test_a_small_new_class_counts_where_labels_would_have_met_it(n_labels, piece, counts):
    sizes = np.array([110, 90 - piece, piece])
    shape = (1, 200)
    found = Profile(
        temperatures=frozen([1.0], np.float64),
        outcomes=frozen(np.repeat([0, 1, 2], sizes)[None], np.int32),
        status=frozen(np.ones(shape), np.int8),
        margin=frozen(np.ones(shape), np.float64),
        n_classes=2,
        confused_sets=(),
        n_labels=n_labels,
    )
    share = sizes / 200
    missed = (1 - share[2]) ** n_labels if n_labels else 0.0
    kept = share * [1, 1, counts * (1 - missed) / (1 + missed)]
    expected = kept.sum() * (np.exp(-np.sum(kept * np.log(share))) - 1)
    np.testing.assert_allclose(information(found), [expected])
