"""No rule chooses a temperature that is not sampled well, and an answer there says so."""

import numpy as np
import pytest

from spinlearn.answers import TEMPERATURE_RULES, Answer
from spinlearn.answers.labels import parse_labels
from spinlearn.answers.law import trusted_rows, usable_rows
from spinlearn.engines import JunctionTree
from spinlearn.model.equilibrium import Kind
from tests.hand_made import equilibrium

N = 12
LABELS = parse_labels(["a", *[""] * (N - 2), "b"], N)
HALVES = np.repeat([1.0, 0.0], N // 2)
THIRDS = np.repeat([1.0, 0.5, 0.0], N // 3)
APART = np.concatenate([[1.0], np.full(N - 2, 0.5), [0.0]])
GROUND = np.concatenate([np.ones(N - 1), [0.0]])
EDGES = [(k, k + 1) for k in range(N - 1)]


def run(errors, **said):
    """Four temperatures: all class a; two halves; halves and a new class between; nothing."""
    torn = np.isin(np.arange(N - 1), [N // 3 - 1, 2 * N // 3 - 1])
    half = np.arange(N - 1) == N // 2 - 1
    rows = [
        (0.0, GROUND, np.where(np.arange(N - 1) == N - 2, 0.0, 1.0)),
        (1.0, HALVES, np.where(half, 0.0, 0.9)),
        (2.0, THIRDS, np.where(torn, 0.4, 0.9)),
        (3.0, APART, np.full(N - 1, 0.5)),
    ]
    if errors is not None:
        said["std_error"] = np.reshape(errors, (-1, 1, 1)) + np.zeros((len(rows), N, 2))
    clamped = np.where(LABELS.states >= 0, LABELS.states, -1)
    return equilibrium(N, EDGES, rows, clamped=clamped, **said)


def answer(errors, temperature="auto", **said):
    return Answer.from_equilibrium(run(errors, **said), LABELS, temperature=temperature)


@pytest.mark.parametrize("rule", TEMPERATURE_RULES)
def test_no_rule_chooses_what_is_not_trusted(rule):
    free = answer([0.0] * 4, rule)
    assert trusted_rows(free.equilibrium).all()
    assert free.warning is None
    assert free.row == (0 if rule == "calibrated" else 2)
    for bad in (free.row, 0, 3):
        errors = np.full(4, 0.01)
        errors[bad] = 0.3
        there = answer(errors, rule)
        assert trusted_rows(there.equilibrium).tolist() == [k != bad for k in range(4)]
        assert there.row != bad
        assert there.warning is None
    only = np.full(4, 0.3)
    only[3] = 0.2
    assert answer(only, rule).temperature == 3.0
    assert answer(only, rule).warning is None


@pytest.mark.parametrize("rule", TEMPERATURE_RULES)
def test_where_nothing_is_trusted_the_answer_says_so_first(rule):
    hopeless = answer([0.3, 0.4, 0.5, 0.3], rule)
    assert not trusted_rows(hopeless.equilibrium).any()
    assert usable_rows(hopeless.equilibrium).all()
    assert hopeless.temperature == answer([0.0] * 4, rule).temperature  # of all rows, the same
    assert hopeless.warning.startswith("nothing here can be trusted")
    assert hopeless.notes()[0] == hopeless.warning
    worst = f"{(0.3, 0.4, 0.5)[hopeless.row]} at T = {hopeless.row}"
    assert f"standard errors of probabilities reach {worst}" in hopeless.warning


def test_a_temperature_of_the_users_own_is_taken_with_a_warning():
    errors = [0.01, 0.3, 0.01, 0.01]
    there = answer(errors, 1.0)
    assert there.temperature == 1.0
    assert there.warning.startswith("do not trust this answer: at T = 1 standard errors")
    assert "one of the 3 temperatures from 0 to 3" in there.warning
    assert there.notes()[0] == there.warning
    assert there.at(2.0).warning is None
    assert there.at("auto").temperature == 2.0


@pytest.mark.parametrize("temperature", ["auto", 0.0])
def test_a_cooled_run_answers_with_a_warning(temperature):
    """Its rows may be chosen, as labellings of low energy, but they are not trusted for that."""
    cooled = answer([0.5, 0.01, 0.4, 0.01], temperature, annealed=True)
    assert trusted_rows(cooled.equilibrium).tolist() == [False, True, False, True]
    assert usable_rows(cooled.equilibrium).all()
    assert cooled.row in (0, 2)
    assert cooled.warning.startswith("do not trust the probabilities: at T = ")
    assert "one labelling of low energy" in cooled.warning
    assert cooled.notes()[0] == cooled.warning
    assert cooled.at(1.0).warning is None


def test_not_a_number_is_no_small_error_and_rows_are_ascending():
    assert trusted_rows(run([0.0, np.nan, 0.0, 0.0])).tolist() == [True, False, True, True]
    swapped = run([0.3, 0.0, 0.0, 0.0]).take([3, 2, 1, 0])
    assert trusted_rows(swapped).tolist() == [False, True, True, True]


def test_an_approximation_is_trusted_where_it_converged():
    converged = np.array([True, True, False, True])
    found = answer(None, converged=converged, kind=Kind.APPROXIMATE)
    assert trusted_rows(found.equilibrium).tolist() == converged.tolist()
    assert found.row != 2
    assert found.warning is None
    assert "the engine did not converge" in found.at(2.0).warning
    lost = answer(None, converged=np.zeros(4, bool))
    assert lost.warning.startswith("nothing here can be trusted: the engine did not converge")


def test_exact_answers_carry_no_warning():
    model = run(None).model
    exact = JunctionTree().run(model, [0.0, 0.3, 1.0, np.inf])
    for temperature in (*TEMPERATURE_RULES, 0.0, 0.2, np.inf):
        found = Answer.from_equilibrium(exact, LABELS, temperature=temperature)
        assert trusted_rows(found.equilibrium).all()
        assert found.warning is None
        assert "trust" not in found.notes()[0]
