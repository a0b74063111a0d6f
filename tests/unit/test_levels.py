"""Where the levels of a ladder are placed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from spinlearn.engines import Enumeration, Tempering
from spinlearn.engines.sampling import ladder_run
from spinlearn.engines.sampling.ladder import (
    JOINED,
    LEVEL_DISTANCE,
    MAX_RATIO,
    PART_RATIO,
    place_levels,
)
from spinlearn.errors import ConvergenceWarning
from tests.cluster.models import clouds


def energies(betas: np.ndarray, n: int) -> np.ndarray:
    """<E> of n independent two-state systems."""
    return n / (1 + np.exp(betas))


@pytest.mark.parametrize("n", [10, 200, 100_000])
def test_wanted_levels_are_there_to_the_last_bit_and_z_is_known_at_the_first(n):
    wanted = np.array([0.3, 1 / 3, 1.7, 5.1])
    levels, _ = place_levels(wanted, energies(wanted, n), n / 2)
    assert np.all(np.isin(wanted, levels))
    assert levels[0] == 0
    assert np.all(np.diff(levels) > 0)


def test_levels_of_a_small_model_overlap():
    wanted = np.array([0.5, 1.0, 4.0])
    levels, joined = place_levels(wanted, energies(wanted, 300), 150.0)
    assert joined
    steps = np.sqrt(-np.diff(energies(levels, 300)) * np.diff(levels))
    assert np.all(steps < 1.3 * LEVEL_DISTANCE)
    cold = levels[levels >= 0.5]
    assert np.all(cold[1:] / cold[:-1] < MAX_RATIO * 1.01)


def test_their_number_does_not_grow_with_a_large_model():
    wanted = np.geomspace(0.5, 5.0, 8)
    counts = []
    for n in (10**7, 10**9):
        levels, joined = place_levels(wanted, energies(wanted, n), n / 2)
        assert not joined
        counts.append(len(levels))
        inner = levels[levels >= 0.5]
        assert np.all(inner[1:] / inner[:-1] > 1 + 0.4 * (PART_RATIO - 1))
    assert counts[0] == counts[1] <= 2 * JOINED


def test_energies_of_an_approximation_may_be_out_of_order():
    wanted = np.array([0.5, 1.0, 2.0])
    levels, _ = place_levels(wanted, np.array([10.0, 12.0, 9.0]), 8.0)
    assert np.all(np.isfinite(levels))
    assert np.all(np.isin(wanted, levels))


@pytest.mark.slow
def test_levels_that_do_not_overlap_are_averaged_one_by_one(monkeypatch):
    apart = ladder_run.overlaps
    monkeypatch.setattr(ladder_run, "overlaps", lambda *given: np.zeros_like(apart(*given)))
    model, temperatures = clouds(24, 2), [0.5, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = Tempering(max_sweeps=2000).run(model, temperatures, seed=0)
    exact = Enumeration().run(model, temperatures)
    assert not found.reweights
    assert np.abs(found.marginals - exact.marginals).max() < 0.03
