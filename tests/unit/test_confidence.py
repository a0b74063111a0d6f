"""Confidence of the paper's calls: their probability, at T = 0 its mean up to melting."""

import numpy as np
import pytest

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.answers import Answer
from spinlearn.answers.labels import parse_labels
from spinlearn.engines import JunctionTree
from spinlearn.model.phases import Phase
from spinlearn.model.potts import PottsModel
from tests.conftest import cliques

SIZE = 4
BRIDGE = 2 * SIZE
TEMPERATURES = np.linspace(0, 2, 21)


def two_clusters(towards=(0.6, 0.5), size=SIZE):
    """Two cliques and a point between them, which has the first as its slightly better side."""
    return cliques(size, size, 1, links=[(1, 2 * size), (size + 1, 2 * size)], weights=towards)


Y = np.full(BRIDGE + 1, -1)
Y[[0, SIZE]] = 0, 1


def answer(graph, y=Y, temperature=0.0, temperatures=TEMPERATURES, n_states=2, **settings):
    code = parse_labels(y, graph.n_nodes)
    run = JunctionTree().run(PottsModel(graph, n_states, clamped=code.states), temperatures)
    return Answer.from_equilibrium(run, code, temperature=temperature, **settings)


SHORT = ([0.0], [0.3], [np.inf], [0.0, np.inf])


@pytest.mark.parametrize(
    ("temperature", "grid"),
    [*((t, TEMPERATURES) for t in (0.0, 0.2, 2.0, "auto")), *(("auto", grid) for grid in SHORT)],
)
@pytest.mark.parametrize("small_groups", ["join", "outlier", "new"])
def test_range_labelled_and_undecided(temperature, grid, small_groups):
    found = answer(
        two_clusters(), temperature=temperature, temperatures=grid, small_groups=small_groups
    )
    assert found.confidence.shape == (BRIDGE + 1,)
    assert np.all((found.confidence >= 0) & (found.confidence <= 1))
    np.testing.assert_array_equal(found.confidence[Y >= 0], 1.0)
    if found.temperature > 0:  # undecided points have that of the class they are nearest to
        largest = found.probabilities.max(axis=1)
        named = found.status != "new"
        np.testing.assert_allclose(found.confidence[named], largest[named])
    if temperature == 0.2 and small_groups == "outlier":
        between = answer(two_clusters((0.5, 0.5)), temperature=0.2, small_groups="outlier")
        assert between.status[BRIDGE] == "outlier"
        assert between.confidence[BRIDGE] == pytest.approx(0.5)


def test_at_zero_temperature_it_is_the_mean_up_to_melting():
    cold = answer(two_clusters())
    standing = [phase is not Phase.PARAMAGNETIC for phase in cold.grid_phases.phases]
    assert 3 < sum(standing) < len(standing)
    step = TEMPERATURES[1]
    widths = np.where(TEMPERATURES == 0, step / 2, step) * standing
    mean = np.tensordot(widths / widths.sum(), cold.equilibrium.marginals, axes=1)
    free = Y < 0
    expected = mean[np.arange(len(Y)), cold.decision.outcomes]
    np.testing.assert_allclose(cold.confidence[free], expected[free])
    assert any("up to melting" in note for note in cold.notes())
    warm = answer(two_clusters(), temperature=0.3)
    assert not any("up to melting" in note for note in warm.notes())


def test_a_class_that_takes_everything_is_not_sure_of_it():
    """The minimum cut sets one label aside and gives all the rest to the other class."""
    size = 5
    graph = cliques(size, size, links=[(k, size + k) for k in range(1, size)], weights=1.5)
    y = np.full(2 * size, -1)
    y[[0, 1, 2]] = 0
    y[size] = 1
    cold = answer(graph, y)
    assert cold.calls.tolist() == [0] * size + [1] + [0] * (size - 1)
    np.testing.assert_array_equal(cold.probabilities[y < 0, 0], 1.0)
    taken, own = cold.confidence[size + 1 :], cold.confidence[3:size]
    assert taken.max() < own.min()  # those beside the label set aside are the less sure
    assert cold.confidence[y < 0].max() < 1


def test_members_of_a_new_class_are_sure_as_far_as_no_label_reaches_them():
    """P(bound to no label) <= q min_c p(c), with equality for a clique of its own."""
    y = np.full(12, -1)
    y[[0, 4]] = 0, 1
    found = answer(cliques(4, 4, 4), y, temperature=0.3)
    third = found.confidence[8:]
    assert set(found.status[8:]) == {"new"}
    np.testing.assert_allclose(third, 1.0)
    assert np.all(found.confidence[[1, 2, 3, 5, 6, 7]] > 0.5)


@pytest.mark.slow
def test_wrong_calls_are_less_sure_than_right_ones():
    """Two overlapping blobs, three labels each, at T = 0: more often than not, over five draws."""
    truth = np.repeat([0, 1], 60)
    labelled = [0, 20, 40, 60, 80, 100]
    shares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 2)) + np.outer(truth, [2.6, 0.0])
        y = np.full(120, -1)
        y[labelled] = truth[labelled]
        fitted = PottsClassifier(
            temperature=TemperatureRule(name=0.0, grid=np.linspace(0, 1, 11))
        ).fit(X, y)
        named = (y < 0) & (fitted.transduction_ >= 0)
        right = fitted.transduction_ == truth
        assert np.sum(named & ~right) >= 3  # else this shows nothing
        sure, doubtful = fitted.confidence_[named & right], fitted.confidence_[named & ~right]
        shares.append(np.mean(sure[:, None] > doubtful))
    assert np.mean(shares) > 0.6
