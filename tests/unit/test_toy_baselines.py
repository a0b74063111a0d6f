"""Figure 1 d-f: on the first toy set the rivals fail where the distribution of labellings does not.

Numbers of errors of 1360. With the seven evenly spread labels only the minimum cut fails (677); LGC
and SGT have 5 and 7. With the ten labels all three do.
"""

from __future__ import annotations

import numpy as np
import pytest

from spinlearn import PottsClassifier, TemperatureRule
from spinlearn.baselines import (
    HarmonicFields,
    LocalGlobalConsistency,
    NormalizedCutClustering,
    SpectralGraphTransducer,
)
from spinlearn.baselines.spectral import normalized_cut
from spinlearn.datasets import two_bands
from spinlearn.errors import InvalidInputError


def errors(method, toy):
    return int(np.sum(method.fit(toy.graph(), toy.labels).transduction_ != toy.truth))


@pytest.mark.slow
def test_rivals_fail_on_ten_labels_and_sampling_does_not():
    toy = two_bands(n_labels=10)
    assert np.bincount(toy.labels[toy.labels >= 0]).tolist() == [3, 7]
    grid = np.linspace(0, 1.2, 13)
    ours = PottsClassifier(energy="min_cut", temperature=TemperatureRule(grid=grid)).fit(
        toy.graph(), toy.labels
    )
    wrong = {t: int(np.sum(ours.decide(t).calls != toy.truth)) for t in (0.0, 0.3, 0.6, 0.7)}
    # The minimum cut isolates the three upper labels, at a cost of four each.
    assert wrong[0.0] == wrong[0.3] == 677
    assert ours.equilibrium_.mean_energy[0] == 12.0
    assert wrong[0.6] <= 13  # one percent
    assert wrong[0.7] <= 13
    assert 0.6 <= ours.temperature_ <= 0.85
    assert np.sum(ours.transduction_ != toy.truth) <= 27  # two percent, confused ones included

    assert errors(LocalGlobalConsistency(alpha=0.99), toy) == 171
    assert errors(SpectralGraphTransducer(c=3200, d=80), toy) == 178
    assert errors(LocalGlobalConsistency(alpha=0.9), toy) > 68  # five percent
    assert errors(SpectralGraphTransducer(c=10_000, d=40), toy) > 68


@pytest.mark.slow
def test_evenly_spread_labels_are_no_trouble_for_distances():
    toy = two_bands()
    assert errors(LocalGlobalConsistency(alpha=0.99), toy) == 5
    assert errors(SpectralGraphTransducer(c=3200, d=80), toy) == 7
    assert errors(HarmonicFields(), toy) == 0


@pytest.mark.slow
def test_without_labels_the_normalised_cut_takes_an_arm_off():
    """Figure 1 c: the classes are one cluster, and cutting off an arm is cheaper."""
    toy = two_bands()
    model = NormalizedCutClustering(2).fit(toy.graph())
    wrong = np.sum(model.labels_ != toy.truth)
    assert min(wrong, toy.n_points - wrong) > 300
    assert model.ncut_ < 0.9 * normalized_cut(toy.graph(), toy.truth)


def test_other_numbers_of_labels_are_refused():
    with pytest.raises(InvalidInputError, match="7 or 10 labels"):
        two_bands(n_labels=8)
