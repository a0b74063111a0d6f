"""Limits of the exact engine: refused before any work, ended between blocks, else no trace."""

import numpy as np
import pytest

from spinlearn.engines import JunctionTree
from spinlearn.engines import limits as time_limit
from spinlearn.engines.exact import elimination as elimination_solver
from spinlearn.engines.limits import TimeLimit
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Progress
from tests.conftest import grid_graph

TEMPERATURES = np.linspace(0.3, 2.0, 24)
ARRAYS = ("marginals", "edge_agreement", "mean_energy", "heat_capacity", "log_partition")


def random_lattice(height: int, width: int, q: int) -> PottsModel:
    rng = np.random.default_rng(q)
    graph = grid_graph(height, width)
    fields = rng.normal(size=(graph.n_nodes, q))
    return PottsModel(graph, q, couplings=rng.normal(size=graph.n_edges), fields=fields)


class Clock:
    """Time that passes when a test says so."""

    now = 100.0

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time_limit, "perf_counter", lambda: clock.now)
    return clock


@pytest.mark.parametrize(
    "model",
    [
        PottsModel(Graph(1, []), 2),
        random_lattice(3, 500, 3),
        random_lattice(15, 60, 2),
        PottsModel(Graph(80, [(i, j) for i in range(80) for j in range(i)]), 10),
    ],
    ids=["one node", "strip", "wide lattice", "complete"],
)
def test_a_limit_of_no_time_refuses_before_any_work(model):
    engine = JunctionTree(max_seconds=1e-9)
    seen: list[Progress] = []
    for attempt in (
        lambda: engine.run(model, TEMPERATURES, callback=seen.append),
        lambda: engine.draw(model, 1.0, 5, seed=0),
        lambda: engine.plan(model),
    ):
        with pytest.raises(UnsupportedModelError, match=r"max_seconds=1e-09.*sampling engine"):
            attempt()
    assert not seen
    assert "max_seconds" in engine.unsupported(model)


@pytest.mark.parametrize("model", [random_lattice(4, 50, 2), random_lattice(3, 9, 5)])
def test_what_ends_in_time_does_not_depend_on_the_limit(model):
    free, limited = JunctionTree(), JunctionTree(max_seconds=600)
    a, b = free.run(model, TEMPERATURES), limited.run(model, TEMPERATURES)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for twins in (
        [engine.draw(model, 0.7, 20, seed=1) for engine in (free, limited)],
        [engine.pair_marginals(model, [0.7], [0, 3]) for engine in (free, limited)],
    ):
        np.testing.assert_array_equal(*twins)


def test_a_refusal_counts_temperatures_and_states_prediction_limit_and_remedy(clock):
    model = random_lattice(13, 40, 2)
    one = JunctionTree().plan(model).seconds(1, 1)
    engine = JunctionTree(max_seconds=one + 5)
    assert engine.unsupported(model) is None
    predicted = r"needs a predicted [\d.e+]+ s at 4000 temperatures .*max_seconds=.*sampling engine"
    with pytest.raises(UnsupportedModelError, match=predicted):
        engine.run(model, np.linspace(0.1, 2, 4000))
    # Here the width alone is too much, which a bound shows without any order.
    by_width = r"more than [\d.e+]+ s .*width above .*: use a sampling engine"
    with pytest.raises(UnsupportedModelError, match=by_width):
        JunctionTree(max_seconds=5).run(random_lattice(40, 40, 2), TEMPERATURES)


def test_a_run_slower_than_predicted_is_ended_between_blocks(monkeypatch, clock):
    monkeypatch.setattr(elimination_solver, "BLOCK_STATES", 1000)
    model = random_lattice(4, 60, 2)
    seen: list[float] = []

    def slow(progress: Progress) -> None:
        seen.append(progress.fraction)
        clock.wait(0.2)

    engine = JunctionTree(max_seconds=2.0)
    ended = r"% ready after .* beyond max_seconds=2.*raise"
    with pytest.raises(UnsupportedModelError, match=ended):
        engine.run(model, TEMPERATURES, callback=slow)
    assert len(seen) == 10  # 2 s, but for rounding
    assert max(seen) < 1
    with pytest.raises(StoppedError):  # the caller's own stop is another thing
        engine.run(model, TEMPERATURES, callback=lambda progress: True)


@pytest.mark.parametrize("q", [2, 3, 20])
def test_large_buckets_in_parts_give_the_same_averages(q, monkeypatch):
    model = random_lattice(*{2: (6, 9), 3: (5, 6), 20: (2, 5)}[q], q)
    edge_ids = np.arange(model.graph.n_edges)
    temperatures = [0.0, 0.5, 1.0, 2.0]
    whole = JunctionTree().run(model, temperatures)
    pairs = JunctionTree().pair_marginals(model, temperatures, edge_ids)
    monkeypatch.setattr(elimination_solver, "BLOCK_STATES", 20 * q * len(temperatures))
    seen: list[Progress] = []
    in_parts = JunctionTree().run(model, temperatures, callback=seen.append)
    # Two passes, runs of up to twice the size.
    assert len(seen) >= whole.diagnostics["clique_states"] / (20 * q)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(in_parts, name), getattr(whole, name), atol=1e-13)
    np.testing.assert_allclose(
        JunctionTree().pair_marginals(model, temperatures, edge_ids), pairs, atol=1e-13
    )


def test_time_left_out_is_not_counted(clock):
    limit = TimeLimit(0.2)
    with limit.left_out():
        clock.wait(0.4)
    assert not limit.passed()
    clock.wait(0.21)
    assert limit.passed()
    assert not TimeLimit(None).passed()
    for bad in (0.0, np.nan):
        with pytest.raises(InvalidInputError, match="max_seconds"):
            JunctionTree(max_seconds=bad).run(random_lattice(2, 2, 2), [1.0])
