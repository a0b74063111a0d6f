"""What every engine of the registry owes its callers."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from spinlearn.engines import ENGINES, Enumeration, Kind, make_engine
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Engine, Progress

TEMPERATURES = [0.0, 0.4, 1.0, np.inf]
# The paper's standard methods: every temperature on its own, so no T = 0, ln Z or reweighting.
ONE_TEMPERATURE = ("metropolis", "swendsen_wang")


# What the approximate engines may be off by on the small loopy model below; they are measured where
# it matters in tests/property, where they are exact on trees.
APPROXIMATION = 0.2


def assert_close(value, exact, error):
    """Equal for an exact engine, within six standard errors for a sampling one."""
    if error is None:
        np.testing.assert_allclose(value, exact, rtol=0, atol=1e-10)
    elif error is APPROXIMATION:
        np.testing.assert_allclose(value, exact, rtol=0, atol=error)
    else:
        assert np.all(np.abs(value - exact) <= 6 * error + 1e-12)
        assert np.max(error) < 0.03


@pytest.fixture(params=sorted(ENGINES))
def engine(request) -> Engine:
    return make_engine(request.param)


@pytest.fixture
def temperatures(engine) -> list[float]:
    return TEMPERATURES[1:] if engine.name in ONE_TEMPERATURE else TEMPERATURES


@pytest.fixture
def model() -> PottsModel:
    rng = np.random.default_rng(0)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (3, 4), (4, 5)]
    return PottsModel(
        Graph(7, edges, rng.random(7) + 0.2),
        3,
        fields=0.3 * rng.normal(size=(7, 3)),
        clamped=[0, -1, -1, -1, -1, 2, -1],
    )


def error_of(run, name="std_error"):
    return APPROXIMATION if run.kind is Kind.APPROXIMATE else getattr(run, name)


@pytest.fixture(scope="module")
def ran():
    """One run of every engine, which changes no input, with what it said on its way."""
    found = {}

    def run(engine, model, temperatures):
        if engine.name not in found:
            heard: list[Progress] = []
            before = pickle.dumps([model.couplings, model.fields, model.clamped])
            run = engine.run(model, temperatures, seed=0, callback=heard.append)
            assert pickle.dumps([model.couplings, model.fields, model.clamped]) == before
            found[engine.name] = run, [p.fraction for p in heard]
        return found[engine.name]

    return run


@pytest.mark.slow
def test_agrees_with_enumeration_and_says_how_far_it_is(engine, model, temperatures, ran):
    exact = Enumeration().run(model, temperatures)
    run, fractions = ran(engine, model, temperatures)
    assert_close(run.marginals, exact.marginals, error_of(run))
    assert_close(run.edge_agreement, exact.edge_agreement, error_of(run, "agreement_std_error"))
    loose = APPROXIMATION if run.kind is Kind.APPROXIMATE else 0.02
    assert_close(run.mean_energy, exact.mean_energy, None if run.exact else loose)
    if engine.name in ONE_TEMPERATURE:
        assert run.log_partition is None
    else:
        assert_close(run.log_partition[1:], exact.log_partition[1:], None if run.exact else loose)
    assert run.converged.all()
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="read-only"):
        run.marginals[0, 0, 0] = 1.0
    with pytest.raises(StoppedError):
        engine.run(model, temperatures, seed=0, callback=lambda p: True)


@pytest.mark.slow
def test_same_seed_same_result_also_of_copies(engine, model, temperatures, ran):
    run, _ = ran(engine, model, temperatures)
    twin = pickle.loads(pickle.dumps(copy.deepcopy(clone(engine))))
    assert twin == engine
    assert isinstance(twin, Engine)
    assert ENGINES[twin.name] is type(engine)
    again = twin.run(model, temperatures, seed=0)
    np.testing.assert_array_equal(run.marginals, again.marginals)
    np.testing.assert_array_equal(run.edge_agreement, again.edge_agreement)


@pytest.mark.slow
def test_order_and_repetition_of_temperatures_do_not_matter(engine, model):
    run = engine.run(model, [1.0, 0.4, 1.0], seed=0)
    again = engine.run(model, [0.4, 1.0], seed=0)
    assert run.temperatures.tolist() == [1.0, 0.4, 1.0]
    error = 2 * again.std_error if run.has_errors else None
    assert_close(run.marginals[[1, 0]], again.marginals, error)
    np.testing.assert_allclose(run.marginals[0], run.marginals[2], rtol=0, atol=1e-14)


@pytest.mark.slow
def test_result_can_be_evaluated_elsewhere_and_pickled(engine, model, temperatures, ran):
    run = pickle.loads(pickle.dumps(ran(engine, model, temperatures)[0]))
    if engine.name in ONE_TEMPERATURE:
        with pytest.raises(InvalidInputError, match="cannot be evaluated"):
            run.at([0.7])
        return
    elsewhere = run.at([0.7, 0.0])
    exact = Enumeration().run(model, [0.7, 0.0])
    assert_close(elsewhere.marginals, exact.marginals, error_of(elsewhere))
    np.testing.assert_array_equal(run.at([0.4]).marginals[0], run.marginals[1])


def test_too_large_a_model_is_refused_before_work_starts(engine):
    n = 70
    complete = Graph(n, [(i, j) for i in range(n) for j in range(i)])
    cost = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))  # no Potts cost: no cluster moves
    model = PottsModel(complete, 5, pair_cost=cost)
    if engine.unsupported(model) is not None:
        with pytest.raises(UnsupportedModelError, match="use"):
            engine.run(model, [1.0])


def test_bad_temperatures_are_refused(engine, model):
    for bad in ([], [-1.0], [np.nan], [[1.0]], "hot", None):
        with pytest.raises(InvalidInputError, match="temperatures"):
            engine.run(model, bad)


@pytest.mark.parametrize("bad", ["foo", Enumeration, 3, None])
def test_bad_engines_are_refused(bad):
    with pytest.raises(InvalidInputError, match="engine"):
        make_engine(bad)
