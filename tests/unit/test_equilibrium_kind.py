"""What an equilibrium says of itself decides what is done with it, never its engine's name."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from spinlearn import PottsClassifier, Result, TemperatureRule
from spinlearn.engines import JunctionTree, Kind
from spinlearn.errors import InvalidInputError
from tests.conftest import cliques
from tests.hand_made import CHAIN, equilibrium

ROWS = [(1.0, [0.5] * 4, [0.5] * 3), (2.0, [0.5] * 4, [0.5] * 3)]
ERRORS = np.zeros((2, 4, 2))


@pytest.mark.parametrize(("errors", "kind"), [(None, Kind.APPROXIMATE), (ERRORS, Kind.SAMPLED)])
def test_who_does_not_say_is_never_exact(errors, kind):
    silent = equilibrium(4, CHAIN, ROWS, std_error=errors)
    assert silent.kind is kind
    assert silent.has_errors == (errors is not None)
    for claim in ("exact", "other_temperatures", "reweights", "can_continue", "annealed"):
        assert not getattr(silent, claim)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("errors", [None, ERRORS])
def test_who_says_is_believed(kind, errors):
    for said in (kind, str(kind)):
        run = equilibrium(4, CHAIN, ROWS, kind=said, std_error=errors)
        assert run.kind is kind
        assert run.exact == (kind is Kind.EXACT)
        assert str(kind) in repr(run)
        for copied in (pickle.loads(pickle.dumps(run)), run.take([1]), run.ascending()):
            assert copied.kind is kind


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="guessed"):
        equilibrium(4, CHAIN, ROWS, kind="guessed")
    silent = equilibrium(4, CHAIN, ROWS)
    assert silent.at([2.0]).temperatures.tolist() == [2.0]
    with pytest.raises(InvalidInputError, match="cannot be evaluated at others: ask for one of"):
        silent.at([1.5])


# -- an engine from outside ----------------------------------------------------------------------


class Outside:
    """Exact averages under another name, without `evaluate`; errors and kind are as it is told."""

    name = "outside"

    def __init__(self, *, error=None, kind=None):
        self.error, self.kind = error, kind
        self.asked = []

    def unsupported(self, model):
        return None

    def run(self, model, temperatures, *, seed=None, callback=None):
        self.asked.append(np.atleast_1d(temperatures).tolist())
        exact = JunctionTree().run(model, temperatures)
        errors = None
        if self.error is not None:
            free = (model.clamped < 0)[:, None]
            errors = np.where(free, self.error, 0.0) * np.ones(exact.marginals.shape)
        claims = {"engine": self.name, "kind": self.kind, "std_error": errors, "evaluate": None}
        return replace(exact, **claims, log_partition=None, diagnostics={})


def fit(rule=None, **claims):
    """The paper's answer of an outside engine."""
    temperature = {} if rule is None else {"temperature": TemperatureRule(**rule)}
    return PottsClassifier(method="paper", engine=Outside(**claims), **temperature).fit(GRAPH, Y)


GRAPH = cliques(5, 5, links=[(1, 6)], weights=0.4)
Y = np.array([0, *[-1] * 4, 1, *[-1] * 4])
IDS = [str(k) for k in range(10)]
KINDS = [(None, None, "approximate"), (0.01, None, "sampled"), (None, "exact", "exact")]


def stored(fitted, folder):
    result = Result.of(fitted, IDS)
    result.save(folder / "model.npz")
    again = Result.load(folder / "model.npz")
    assert again.names.tolist() == result.names.tolist()
    assert again.status.tolist() == result.status.tolist()
    assert again.notes() == result.notes()
    np.testing.assert_allclose(again.confidence, result.confidence, atol=1e-6)
    return again


def exact_at(model, temperature):
    return JunctionTree().run(model, [temperature]).marginals[0]


@pytest.mark.parametrize(("error", "said", "kind"), KINDS)
def test_an_outside_engine_works_on_the_automatic_grid(error, said, kind, tmp_path):
    fitted = fit(error=error, kind=said)
    assert fitted.equilibrium_.kind == kind
    assert fitted.transduction_.tolist() == [0] * 5 + [1] * 5
    assert f"{kind} by outside" in " ".join(fitted.answer_.notes())
    assert len(fitted.engine.asked) == 2  # a coarse grid, then the one it was refined to
    assert fitted.engine.asked[1] == fitted.profile_.temperatures.tolist()
    again = stored(fitted, tmp_path)
    assert again.equilibrium.engine == "outside"
    assert again.equilibrium.kind == kind


@pytest.mark.parametrize(("error", "said", "kind"), KINDS)
@pytest.mark.parametrize("temperatures", ["auto", [0.2, 0.5, 0.8]])
def test_its_answer_may_be_off_the_grid(error, said, kind, temperatures, tmp_path):
    fitted = fit({"name": 0.37, "grid": temperatures}, error=error, kind=said)
    assert fitted.temperature_ == 0.37
    assert np.sum(fitted.profile_.temperatures == 0.37) == 1
    exact = exact_at(fitted.model_, 0.37)
    np.testing.assert_allclose(fitted.label_distributions_, exact, atol=1e-12)
    np.testing.assert_allclose(stored(fitted, tmp_path).probabilities, exact, atol=1e-6)


@pytest.mark.parametrize("error", [None, 0.01])
def test_after_loading_it_is_interpolated_and_its_errors_say_so(error, tmp_path):
    fitted = fit({"grid": np.linspace(0.2, 2.0, 7)}, error=error)
    with pytest.raises(InvalidInputError, match="cannot be evaluated at others"):
        fitted.decide(0.9)
    again = stored(fitted, tmp_path)
    off = []
    for temperature in (0.3, 0.6, 0.77, 0.95, 1.3, 1.9):
        there = again.at(temperature)
        assert not there.equilibrium.exact
        assert there.equilibrium.engine == "outside"
        wrong = np.abs(there.probabilities - exact_at(again.model, temperature))
        off.append(wrong.max())
        assert np.all(wrong <= there.std_error + 1e-6)
        if error is not None:  # not less than that of the run itself
            assert np.all(there.std_error[Y < 0] >= 0.99 * error)
        np.testing.assert_allclose(there.probabilities.sum(axis=1), 1.0, atol=1e-6)
    assert max(off) > 1e-3  # else this shows nothing
    for outside in (0.1, 3.0):
        with pytest.raises(InvalidInputError, match="was not sampled: this result covers"):
            again.at(outside)


def test_an_exact_one_is_computed_anew_after_loading(tmp_path):
    again = stored(fit({"grid": np.linspace(0.2, 2.0, 7)}, kind="exact"), tmp_path)
    for temperature in (0.0, 0.05, 0.77, 5.0):  # also beyond its grid
        there = again.at(temperature)
        assert there.equilibrium.exact
        assert there.std_error is None
        exact = exact_at(again.model, temperature)
        np.testing.assert_allclose(there.probabilities, exact, atol=1e-12)


def test_a_name_makes_nobody_exact(tmp_path, monkeypatch):
    """Not even that of the junction tree."""
    monkeypatch.setattr(Outside, "name", "junction_tree")
    fitted = fit({"grid": [0.2, 1.0, 2.0]})
    assert fitted.equilibrium_.engine == "junction_tree"
    again = stored(fitted, tmp_path).at(0.6)
    assert not again.equilibrium.exact
    assert np.abs(again.probabilities - exact_at(again.model, 0.6)).max() > 1e-3  # interpolated


def test_joined_error_bars_are_kept():
    one = equilibrium(4, CHAIN, ROWS)
    other = equilibrium(4, CHAIN, [(1.5, [0.5] * 4, [0.5] * 3)], std_error=np.full((1, 4, 2), 0.1))
    both = one.ascending(other)
    assert both.temperatures.tolist() == [1.0, 1.5, 2.0]
    assert both.std_error.max(axis=(1, 2)).tolist() == [0.0, 0.1, 0.0]
    assert both.kind is one.kind
    neither = one.ascending(replace(other, std_error=None, kind=Kind.APPROXIMATE))
    assert neither.std_error is None
