"""What generalized belief propagation says about settings, regions, progress."""

import numpy as np
import pytest

from spinlearn.engines import GeneralizedBP
from spinlearn.engines.messages.regions import RegionGraph, loop_basis, loop_regions, star_regions
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    StoppedError,
    UnsupportedModelError,
)
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.potts import PottsModel
from tests.conftest import grid_graph


@pytest.fixture
def model() -> PottsModel:
    clamped = np.full(30, -1)
    clamped[[0, 29]] = [0, 1]
    return PottsModel(grid_graph(5, 6), 2, clamped=clamped)


@pytest.mark.parametrize(
    ("name", "bad"),
    [("max_loop", 1), ("max_loop", True), ("max_region_states", 0), ("max_iterations", 0.5),
     ("tol", np.nan), ("tol", "small"), ("max_operations", -1.0)],
)  # fmt: skip
def test_bad_settings_are_refused_with_a_remedy(model, name, bad):
    with pytest.raises(InvalidInputError, match=rf"{name}=.*give"):
        GeneralizedBP(**{name: bad}).run(model, [1.0])


COMPLETE = [(i, j) for i in range(6) for j in range(i + 1, 6)]
JOINED = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 2)]


@pytest.mark.parametrize(
    ("n", "edges", "longest", "lengths"),
    [
        (12, grid_graph(3, 4).edges, 4, [4] * 6),  # the faces of a grid
        (6, np.array(COMPLETE), 5, [3] * 10),  # triangles, m - n + 1
        (8, np.array(JOINED), 4, [3, 3]),  # the square is the sum of two triangles
        (8, np.array(JOINED), 5, [3, 3, 5]),
    ],
)
def test_no_loop_is_a_sum_of_others_or_longer_than_asked(n, edges, longest, lengths):
    loops = loop_basis(n, edges, longest)
    assert sorted(map(len, loops)) == lengths
    if n == 6:  # all triangles of a complete graph share one node
        assert set.intersection(*map(set, loops)) == {0}
    if n == 12:
        assert {len(star) for star in star_regions(loops, 2, 512)} == {4, 6, 9}


def test_a_long_loop_becomes_a_fan_of_triangles():
    loop = tuple(range(12))
    fan = loop_regions([loop], 3, 100)
    assert len(fan) == 10
    assert all(len(part) == 3 and 0 in part for part in fan)
    assert loop_regions([loop], 3, 26) == []  # not even a triangle fits


def test_the_regions_of_an_interior_grid_are_those_of_kikuchi():
    graph = grid_graph(5, 5)
    loops = loop_basis(25, graph.edges, 4)
    regions = RegionGraph.of(25, graph.edges, loop_regions(loops, 2, 16), 2)
    counts = dict(zip(regions.children, regions.counting, strict=True))
    assert counts[(12,)] == 1
    assert counts[(12, 13)] == -1
    assert (0, 1) not in counts  # an edge of one face only is counted by that face


def test_result_tells_what_was_done(model):
    run = GeneralizedBP().run(model, [0.5, 2.0])
    assert run.converged.all()
    assert run.diagnostics["largest_loop"] == 4  # the grid needs no others
    assert run.diagnostics["largest_region"] == 9
    assert len(run.diagnostics["iterations"]) == 2
    assert max(run.diagnostics["residual"]) <= 1e-4
    assert run.diagnostics["counting_sum"] == 1
    np.testing.assert_allclose(run.at([1.0]).marginals.sum(axis=2), 1.0)
    with pytest.warns(ConvergenceWarning, match="still disagree"):
        fewer = GeneralizedBP(max_iterations=1).run(model, [0.9])
    assert not fewer.converged.any()


def test_a_smaller_budget_means_smaller_regions_or_a_refusal_with_a_remedy(model):
    tight, small = GeneralizedBP(max_operations=100), GeneralizedBP(max_operations=3000)
    assert small.run(model, [1.0]).diagnostics["largest_region"] == 4
    assert "belief_propagation" in tight.unsupported(model)
    with pytest.raises(UnsupportedModelError, match="max_operations"):
        tight.run(model, [1.0])
    penalty = ClassPenalty.quadratic(np.ones(30), 1.0, n_states=2)
    assert "class-level" in GeneralizedBP().unsupported(model.replace(class_penalty=penalty))


def test_the_callback_stops_between_temperatures(model):
    seen = []

    def stop_in_the_middle(progress):
        seen.append(progress.fraction)
        return progress.fraction >= 1 / 3

    run = GeneralizedBP().run(model, [0.6, 2.0, 1.0], callback=stop_in_the_middle)
    assert run.temperatures.tolist() == [2.0]
    assert seen == sorted(seen)
    with pytest.raises(StoppedError):
        GeneralizedBP().run(model, [1.0], callback=lambda p: True)
