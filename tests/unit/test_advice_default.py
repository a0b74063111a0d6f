"""Advice on the answer of belief propagation: large groups without a label first, anchors apart."""

import numpy as np
import pytest

from spinlearn import PottsClassifier, suggest, suspects
from spinlearn.advice.suggestion import MAX_POINTS, POWER, gaussian_batch
from spinlearn.default.walks import alpha_of
from spinlearn.errors import InvalidInputError
from spinlearn.model.equilibrium import Kind
from spinlearn.model.graph import Graph
from tests.conftest import grid_graph
from tests.energy_models import dense

# Blobs apart are parts of the graph without a label, which is the point here.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")]
SIZES = (60, 120, 50, 20)  # of the blobs


def blobs(seed: int = 0, distance: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Points in blobs along a line, and the blob of each."""
    generator = np.random.default_rng(seed)
    blob = np.repeat(np.arange(len(SIZES)), SIZES)
    X = generator.standard_normal((len(blob), 2))
    X[:, 0] += distance * blob
    return X, blob


def labels_in(blob: np.ndarray, labelled: dict[int, int]) -> np.ndarray:
    """The first point of each of these blobs labelled with a class."""
    y = np.full(len(blob), -1)
    for which, c in labelled.items():
        y[np.flatnonzero(blob == which)[0]] = c
    return y


@pytest.mark.parametrize("novelty", [0.3, 0.0])
def test_the_largest_group_without_a_label_comes_first(novelty):
    X, blob = blobs(distance=9.0)
    y = labels_in(blob, {0: 0, 2: 1})
    fitted = PottsClassifier(novelty=novelty).fit(X, y)
    assert fitted.equilibrium_.kind is Kind.APPROXIMATE
    first, second = suggest(fitted, 2)
    assert blob[first.point] == 1
    assert blob[second.point] in (1, 3)
    assert first.gain > second.gain > 0
    assert first.reach > 10


def test_new_classes_have_no_label_yet():
    X, blob = blobs(distance=9.0)
    y = labels_in(blob, {0: 0})  # beside one class, groups are held by points without label
    fitted = PottsClassifier().fit(X, y)
    anchors = np.flatnonzero((fitted.model_.clamped >= 0) & (y < 0))
    assert len(anchors) > 0
    everything = suggest(fitted, int(np.sum(y < 0)))
    assert sorted(s.point for s in everything) == np.flatnonzero(y < 0).tolist()
    assert blob[everything[0].point] == 1  # one label is enough to ask
    with pytest.raises(InvalidInputError, match="1 to that many"):
        suggest(fitted, int(np.sum(y < 0)) + 1)


def test_a_batch_without_any_label_takes_one_point_of_every_large_group():
    X, blob = blobs(distance=12.0)
    fitted = PottsClassifier().fit(X, np.full(len(X), -1))
    assert {int(blob[s.point]) for s in suggest(fitted, 3)} == {0, 1, 2}  # the largest


def test_the_same_advice_every_time_and_never_what_has_a_label():
    X, blob = blobs()
    y = labels_in(blob, {0: 0, 1: 1})
    fitted = PottsClassifier().fit(X, y)
    assert suggest(fitted, 5) == suggest(fitted, 5) == suggest(fitted.answer_, 5, seed=0)
    doubtful = PottsClassifier(label_noise=0.1).fit(X, y)  # not of a label that may be wrong either
    advised = {s.point for s in suggest(doubtful, len(X) - 2)}
    assert advised == set(np.flatnonzero(y < 0).tolist())
    # Named temperatures draw labellings.
    drawn = suggest(fitted, 2, temperatures=[fitted.temperature_], n_samples=32)
    assert len({s.point for s in drawn}) == 2


def test_gains_are_those_of_the_gaussian_field():
    graph = grid_graph(3, 4)
    labelled = np.zeros(12, dtype=bool)
    labelled[0] = True
    errors = np.linspace(0.1, 0.9, 12)
    first, second = gaussian_batch(graph, labelled, errors, 2, np.random.default_rng(0))
    field, free = field_of(graph, labelled)
    left = errors[free]
    for found in (first, second):
        variance = np.diag(field)
        gains = field**2 @ (left / variance) / variance
        best = int(np.argmax(gains))
        assert found.point == free[best]
        assert found.gain == pytest.approx(gains[best], rel=1e-3)
        share = field[best] ** 2 / (field[best, best] * variance)
        keep = np.arange(len(free)) != best
        left = (left * (1 - share))[keep]
        field = (field - np.outer(field[best], field[best]) / field[best, best])[np.ix_(keep, keep)]
        free = free[keep]


def field_of(graph: Graph, labelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The covariance between points without a label, by a dense inverse, and these points."""
    weights = dense(graph)
    degrees = weights.sum(axis=0)
    free = np.flatnonzero(~labelled)
    steps = (alpha_of(graph) * weights / np.sqrt(np.outer(degrees, degrees)))[np.ix_(free, free)]
    return np.linalg.matrix_power(np.linalg.inv(np.eye(len(free)) - steps), POWER), free


def test_of_many_points_some_are_looked_at_and_lone_points_come_last():
    size = 40
    graph = grid_graph(size, size)
    lone = Graph(size * size + 3, graph.edges)
    labelled = np.zeros(lone.n_nodes, dtype=bool)
    assert lone.n_nodes > MAX_POINTS
    found = gaussian_batch(lone, labelled, np.ones(lone.n_nodes), 3, np.random.default_rng(0))
    assert all(item.point < size * size for item in found)
    assert found[0].gain > found[1].gain > found[2].gain > 1


def test_suspects_beside_new_classes():
    X, blob = blobs(distance=9.0)
    y = labels_in(blob, {0: 0, 2: 1})
    for which, c in ((0, 0), (2, 1)):
        y[np.flatnonzero(blob == which)[1:4]] = c
    wrong = int(np.flatnonzero(blob == 0)[5])
    y[wrong] = 1
    fitted = PottsClassifier().fit(X, y)
    assert len(fitted.new_classes_) > 0
    found = suspects(fitted)
    assert [s.point for s in found] == [wrong]
    assert found[0].instead == 0
