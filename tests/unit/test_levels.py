"""Where the levels of a ladder are placed; regions that walkers move."""

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
from spinlearn.engines.sampling.move_sets import harvest, regions_of
from spinlearn.errors import ConvergenceWarning
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from tests.cluster.models import clouds
from tests.conftest import cliques


def energies(betas: np.ndarray, n: int) -> np.ndarray:
    """<E> of n independent two-state systems."""
    return n / (1 + np.exp(betas))


@pytest.mark.parametrize("n", [10, 200, 100_000, None])
def test_wanted_levels_are_there_to_the_last_bit_and_z_is_known_at_the_first(n):
    """Energies of an approximation (None) may be out of order."""
    wanted = np.array([0.3, 1 / 3, 1.7, 5.1])
    expected = np.array([10.0, 12.0, 9.0, 9.0]) if n is None else energies(wanted, n)
    levels, _ = place_levels(wanted, expected, 8.0 if n is None else n / 2)
    assert np.all(np.isin(wanted, levels))
    assert levels[0] == 0
    assert np.all(np.isfinite(levels))
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


def chain_of_cliques(count: int, size: int) -> Graph:
    return cliques(*[size] * count, links=[(c - 1, c) for c in range(size, count * size, size)])


def sets_of(regions):
    return [set(part.tolist()) for part in np.split(regions.nodes, regions.ptr[1:-1])]


def test_groups_of_the_graph_are_regions_without_their_labels():
    clamped = np.full(60, -1)
    clamped[0] = 1
    model = PottsModel(chain_of_cliques(6, 10), 2, clamped=clamped)
    nothing = np.empty((0, 60), dtype=np.int8)
    found = sets_of(harvest(model, nothing, None, np.random.default_rng(0)))
    assert found[0] == set(range(1, 60))
    for c in range(0, 60, 10):
        assert set(range(c, c + 10)) - {0} in found
    assert all(len(nodes) <= 30 for nodes in found[1:])


def test_pieces_where_labellings_differ_are_regions():
    model = PottsModel(Graph(40, [(i, i + 1) for i in range(39)]), 2)
    labellings = np.zeros((2, 40), dtype=np.int8)
    labellings[1, 7:12] = 1
    found = sets_of(harvest(model, labellings, labellings[0], np.random.default_rng(0)))
    assert set(range(7, 12)) in found


def test_regions_that_hardly_move_are_dropped():
    model = PottsModel(chain_of_cliques(3, 4), 2)
    library = regions_of(model, [np.arange(12), np.arange(4), np.arange(4, 8), np.arange(8, 12)])
    kept = library.busy(model, np.array([1000, 0, 300, 5]))
    assert sets_of(kept) == [set(range(12)), {4, 5, 6, 7}]
    np.testing.assert_array_equal(kept.borders, [[4, 3], [7, 8]])
    np.testing.assert_array_equal(kept.border_ptr, [0, 0, 2])
    assert library.busy(model, np.zeros(4, dtype=np.int64)).count == 0
