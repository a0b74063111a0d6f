"""Answer: one temperature of many, other temperatures and grids, words, copies and files."""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

from spinlearn import Answer, Result
from spinlearn.answers import Status
from spinlearn.answers.answer import Averages
from spinlearn.energies import ClassPrior, Custom
from spinlearn.engines import Enumeration, JunctionTree, Multicanonical
from spinlearn.errors import ConvergenceWarning
from tests.classifiers import classifier
from tests.conftest import cliques

GRID = [0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0]
SIZE = 5


LINKS = [(1, SIZE + 1), (SIZE + 2, 2 * SIZE + 2)]
GRAPH = cliques(SIZE, SIZE, SIZE, links=LINKS, weights=0.3)  # the last has no label
Y = np.array(["a", *[""] * (SIZE - 1), "b", *[""] * (2 * SIZE - 1)])


def fit(temperature="auto", y=Y, **settings):
    settings = {"energy": "min_cut", "temperatures": GRID} | settings
    return classifier(temperature=temperature, **settings).fit(GRAPH, y)


def same(one, two, rtol=0.0):
    assert one.temperature == two.temperature
    assert one.names.tolist() == two.names.tolist()
    assert one.calls.tolist() == two.calls.tolist()
    assert one.status.tolist() == two.status.tolist()
    assert one.notes() == two.notes()
    assert {k: v.tolist() for k, v in one.new_classes.items()} == {
        k: v.tolist() for k, v in two.new_classes.items()
    }
    np.testing.assert_allclose(one.probabilities, two.probabilities, rtol=0, atol=rtol)
    np.testing.assert_allclose(one.confidence, two.confidence, rtol=0, atol=rtol)


def test_the_classifiers_attributes_are_its_answers():
    fitted = fit()
    found = fitted.answer_
    assert isinstance(found, Answer)
    assert found.rule == "auto"
    assert found.temperature == fitted.temperature_
    assert found.equilibrium is fitted.equilibrium_
    assert found.profile is fitted.profile_
    assert found.model is fitted.model_
    assert found.graph is fitted.graph_
    assert found.labels.tolist() == [0] + [-1] * 4 + [1] + [-1] * 9
    other = {"calls": "transduction", "probabilities": "label_distributions"}
    for name in ("calls", "confidence", "status", "probabilities", "forced_labels"):
        own = getattr(fitted, f"{other.get(name, name)}_")
        np.testing.assert_array_equal(getattr(found, name), own)
    assert sum(found.count(s) for s in Status) == GRAPH.n_nodes
    assert found.std_error is None


# -- other temperatures --------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", GRID)
def test_at_a_temperature_of_the_grid_is_a_look_up(temperature):
    found = fit().answer_
    there = found.at(temperature)
    assert there.temperature == temperature
    assert there.rule == "given"
    assert there.temperatures.tolist() == GRID
    assert there.equilibrium is found.equilibrium
    np.testing.assert_array_equal(
        there.probabilities, found.equilibrium.marginals[GRID.index(temperature)]
    )
    same(there, fit(temperature).decide(temperature))


@pytest.mark.parametrize("temperature", [0.05, 0.45, 1.2, 5.0, np.inf])
def test_at_a_temperature_off_the_grid_is_one_more_row(temperature):
    found = fit().answer_
    there = found.at(temperature)
    assert there.temperatures.tolist() == sorted([*GRID, temperature])
    assert there.equilibrium.temperatures.tolist() == sorted([*GRID, temperature])
    assert there.temperatures[there.row] == there.temperature == temperature
    exact = JunctionTree().run(found.model, [temperature])
    np.testing.assert_allclose(there.probabilities, exact.marginals[0], atol=1e-12)
    # The same as if it had been on the grid from the beginning, but for numbers of new classes.
    direct = fit(temperature, temperatures=[*GRID, temperature]).answer_
    assert there.status.tolist() == direct.status.tolist()
    np.testing.assert_allclose(there.confidence, direct.confidence, atol=1e-9)
    assert found.temperatures.tolist() == GRID  # unchanged


@pytest.mark.parametrize("rule", ["calibrated", "paper"])
def test_at_a_rule_is_a_fit_by_that_rule(rule):
    there = fit(0.1).decide(rule)
    assert there.rule == rule
    assert there.temperature == fit(rule).temperature_
    same(there.renumbered(), fit(rule).answer_)


def test_new_classes_keep_their_numbers_at_other_temperatures():
    found = fit().answer_
    for temperature in (*GRID, 0.45):
        there = found.at(temperature)
        for row, before in enumerate(found.profile.outcomes):
            kept = there.profile.nearest_row(found.temperatures[row])
            assert there.profile.outcomes[kept].tolist() == before.tolist()


def test_on_another_grid_asks_the_same_question():
    other = np.linspace(0, 2, 9)
    for temperature in ("auto", "paper", 0.25, 0.3):
        moved = fit(temperature).answer_.on(other)
        direct = fit(temperature, temperatures=other).answer_
        assert moved.rule == ("given" if isinstance(temperature, float) else temperature)
        np.testing.assert_allclose(moved.temperatures, direct.temperatures)
        np.testing.assert_array_equal(moved.profile.outcomes, direct.profile.outcomes)
        same(moved, direct, rtol=1e-12)
    unordered = fit().answer_.on([1.0, 0.2, 1.0])
    assert unordered.temperatures.tolist() == [0.2, 1.0]


# -- words ---------------------------------------------------------------------------------------

CUT = "minimum cut"
ENERGIES = [
    ("min_cut", True),
    ("min_cut:label_strength=2", False),  # finite labels are fields
    ("balanced_cut", False),
    (ClassPrior(prior=[0.7, 0.3]), False),
    (Custom(pair_cost=[[0.0, 2.0], [2.0, 0.0]]), False),
    (Custom(), True),
]


@pytest.mark.parametrize(("energy", "cut"), ENERGIES)
def test_the_minimum_cut_is_named_where_it_is_the_answer(energy, cut):
    y = np.where(np.arange(3 * SIZE) >= SIZE + 2, "b", Y)  # few free points: enumerated
    fitted = fit(0.0, y=y, energy=energy, engine=Enumeration())
    assert fitted.answer_.is_cut is cut
    for temperature in (0.0, 0.1, 0.2):
        notes = " ".join(fitted.decide(temperature).notes())
        assert (CUT in notes) == (cut and temperature == 0)
        assert ("labelling of least energy" in notes) == (temperature == 0)


def test_notes_say_how_it_was_computed():
    found = fit(0.0).answer_
    assert any("exact by junction_tree at 7 temperatures 0 to 2" in n for n in found.notes())
    assert found.notes()[0] == found.headline()
    assert "T = 0" in found.notes()[1]
    assert found.new_classes == {}
    assert found.proposals == ()
    assert repr(found) == "Answer(T = 0: 2 labelled, 13 confident)"


# -- copies and files ----------------------------------------------------------------------------


def sampled(temperature=0.6):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(
            temperature, engine=Multicanonical(tol=0.05, max_sweeps=2000), random_state=0,
            temperatures=[0.3, 0.6, 1.0, 2.0],
        )  # fmt: skip


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("way", [pickled, copy.deepcopy])
@pytest.mark.parametrize("make", [fit, sampled])
def test_a_copy_is_the_same_answer(way, make):
    found = make().answer_
    again = way(found)
    same(again, found)
    same(again.at(0.4), found.at(0.4))
    for name in ("marginals", "temperatures"):
        assert not getattr(again.equilibrium, name).flags.writeable


@pytest.mark.slow
@pytest.mark.parametrize("whole_numbers", [True, False])
@pytest.mark.parametrize(
    ("temperature", "small_groups"),
    [(0.0, "join"), (0.45, "new"), ("auto", "outlier"), ("paper", "join"), (np.inf, "outlier")],
)
def test_a_stored_answer_is_the_same(tmp_path, temperature, whole_numbers, small_groups):
    y = np.select([Y == "a", Y == "b"], [3, 7], -1) if whole_numbers else Y
    fitted = fit(temperature, y=y, small_groups=small_groups)
    ids = [f"p{k}" for k in range(3 * SIZE)]
    result = Result.of(fitted, ids, settings={"file": "x"})
    result.save(tmp_path / "model.npz")
    stored = Result.load(tmp_path / "model.npz")
    same(result, fitted.answer_)
    same(stored, result)
    assert stored.ids == ids
    assert stored.labels.tolist() == result.labels.tolist()
    assert stored.classes.tolist() == result.classes.tolist()
    for name in ("rule", "tau", "small_groups", "eta_min", "settings"):
        assert getattr(stored, name) == getattr(result, name)
    assert stored.equilibrium.exact
    np.testing.assert_array_equal(stored.profile.outcomes, result.profile.outcomes)
    assert stored.table(ids) == result.table(ids)
    for other in (0.1, 0.77, "paper"):
        same(stored.at(other), result.at(other), rtol=1e-12)


def test_a_stored_sample_is_the_same_to_single_precision(tmp_path):
    result = Result.of(sampled(), [str(k) for k in range(3 * SIZE)])
    result.save(tmp_path / "model.npz")
    stored = Result.load(tmp_path / "model.npz")
    same(stored, result, rtol=1e-6)
    np.testing.assert_allclose(stored.std_error, result.std_error, atol=1e-6)
    assert stored.equilibrium.kind == "sampled"
    assert stored.warning == result.warning
    whole = result.equilibrium
    errors = np.where(whole.std_error >= 0, 0.4, 0.0)
    doubtful = replace(
        result,
        averages=Averages.of(replace(whole, std_error=errors, evaluate=None, reweights=False)),
    )
    assert doubtful.warning.startswith("nothing here can be trusted")
    doubtful.save(tmp_path / "model.npz")
    assert Result.load(tmp_path / "model.npz").warning == doubtful.warning
