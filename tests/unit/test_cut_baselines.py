"""MinCutClassifier, AlphaExpansion, AlphaBetaSwap and RandomizedMinCut as estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from spinlearn.baselines import (
    AlphaBetaSwap,
    AlphaExpansion,
    MinCutClassifier,
    RandomizedMinCut,
)
from spinlearn.datasets import two_bands
from spinlearn.errors import (
    GraphWarning,
    InvalidInputError,
    LabelWarning,
    UnsupportedModelError,
)
from spinlearn.model.graph import Graph
from tests.conftest import few_labels

ALL = [
    MinCutClassifier(),
    AlphaExpansion(),
    AlphaBetaSwap(),
    RandomizedMinCut(n_cuts=10, random_state=0),
]
HARD = ALL[:3]
NAMES = [type(e).__name__ for e in ALL]
CHAIN = Graph(6, [(i, i + 1) for i in range(5)], [1.0, 0.1, 1.0, 0.2, 1.0])


BLOBS, TRUTH = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
Y = few_labels(TRUTH, 5)


@pytest.mark.parametrize("estimator", ALL, ids=NAMES)
def test_three_separate_blobs_are_told_apart(estimator):
    np.testing.assert_array_equal(clone(estimator).fit(BLOBS, Y).transduction_, TRUTH)


@pytest.mark.parametrize("estimator", ALL, ids=NAMES)
def test_labels_are_kept_and_the_weakest_bond_is_cut(estimator):
    fitted = clone(estimator).fit(CHAIN, [7, -1, -1, -1, -1, 9])
    assert (fitted.transduction_[0], fitted.transduction_[-1]) == (7, 9)
    if not isinstance(estimator, RandomizedMinCut):  # noise may make another bond the weakest
        assert list(fitted.transduction_) == [7, 7, 9, 9, 9, 9]
        assert fitted.energy_ == pytest.approx(0.1)


def test_min_cut_is_exact_for_two_classes_only():
    assert not MinCutClassifier().fit(BLOBS, Y).minimum_.exact
    assert MinCutClassifier().fit(BLOBS, np.where(Y == 2, -1, Y)).minimum_.exact


def test_ties_are_unknown_or_go_to_the_lowest_class():
    graph = Graph(6, [(0, 1), (1, 2), (2, 3), (4, 5)])  # unknown points 4 and 5 whatever ties do
    for ties, called in (("unknown", "unknown"), ("lowest", "a")):
        with pytest.warns(GraphWarning, match="2 points are in parts"):
            fitted = MinCutClassifier(ties=ties).fit(graph, ["b", "", "", "a", "", ""])
        assert list(fitted.transduction_) == ["b", called, called, "a", "unknown", "unknown"]
        np.testing.assert_array_equal(fitted.label_distributions_[4:], 0.5)
        if ties == "unknown":
            np.testing.assert_array_equal(fitted.label_distributions_[1:3], 0.5)
            assert fitted.minimum_.n_undecided == 4


def test_pair_costs_between_named_classes():
    """Neighbours 'low' and 'high' cost 9, so that 'mid' comes to lie between them."""
    chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    graph = Graph(6, np.concatenate([chain.edges, [[4, 5]]]))
    y = ["low", "", "", "high", "mid", ""]
    cost = [[0, 9, 2], [9, 0, 2], [2, 2, 0]]  # in the order high, low, mid
    fitted = AlphaBetaSwap(pair_cost=cost).fit(graph, y)
    assert fitted.energy_ == 4
    assert list(fitted.transduction_) in (
        ["low", "mid", "mid", "high", "mid", "mid"],
        ["low", "mid", "high", "high", "mid", "mid"],
        ["low", "low", "mid", "high", "mid", "mid"],
    )
    with pytest.raises(UnsupportedModelError, match="triangle inequality"):
        AlphaExpansion(pair_cost=cost).fit(graph, y)
    with pytest.raises(InvalidInputError, match="all labels are of one class"):
        AlphaExpansion(pair_cost=cost).fit(graph, ["low"] + [""] * 3 + ["low", ""])


def test_vote_warns_when_no_cut_is_balanced():
    toy = two_bands()
    with pytest.warns(LabelWarning, match="all 5 cuts"):
        fitted = RandomizedMinCut(n_cuts=5, random_state=0).fit(toy.graph(), toy.labels)
    assert fitted.vote_.n_balanced == 0
    np.testing.assert_allclose(fitted.vote_.shares.sum(axis=1), 1)  # all are counted


def test_balance_filter_rescues_the_toy_set_where_noise_finds_the_border():
    """Strong noise now and then makes the true border the minimum cut; the filter keeps those."""
    toy = two_bands()
    voter = RandomizedMinCut(n_cuts=60, noise=8.0, min_balance=0.5, random_state=0)
    fitted = voter.fit(toy.graph(), toy.labels)
    assert 0 < fitted.vote_.n_balanced < 60
    assert np.mean(fitted.transduction_ != toy.truth) < 0.1
