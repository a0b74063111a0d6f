"""The rule that ends a run when calls are settled, on ladders whose noise is known."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from spinlearn.answers.stopping import LIMIT, PATIENCE, StoppingRule

N_POINTS, N_LADDERS = 2000, 16


class Ladders:
    """Averages of one number a point by independent ladders; a call is its sign."""

    n_ladders = N_LADDERS

    def __init__(self, truth: np.ndarray, noise: float, rng: np.random.Generator) -> None:
        self.each = truth + noise * np.sqrt(N_LADDERS) * rng.normal(size=(N_LADDERS, len(truth)))
        self.mean = self.each.mean(axis=0)

    def equilibrium(self) -> np.ndarray:
        return self.mean

    def moved(self, weights: np.ndarray, temperature: float | None = None) -> np.ndarray:
        return self.mean + weights @ (self.each - self.mean)


def answer_of(values: np.ndarray, temperature: float | None, *, trusted: bool = True):
    chosen = 1.0 if values[0] > 0 else 2.0
    return SimpleNamespace(
        names=np.where(values > 0, "A", "B"),
        temperature=chosen if temperature is None else temperature,
        warning=None if trusted else "no",
        row=0,
    )


def margins(rng: np.random.Generator) -> np.ndarray:
    truth = rng.normal(size=N_POINTS)
    truth[0] = 5.0
    return truth


def test_without_noise_the_first_look_settles_it():
    rng = np.random.default_rng(0)
    verdict = StoppingRule(answer_of)(Ladders(margins(rng), 0.0, rng), 1)
    assert verdict.settled
    assert verdict.changing == 0
    assert verdict.temperatures.tolist() == [1.0]
    untrusted = StoppingRule(partial(answer_of, trusted=False))
    assert not untrusted(Ladders(margins(rng), 0.0, rng), 1).settled


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.05])
def test_the_limit_it_states_covers_the_expected_share(noise):
    rng = np.random.default_rng(1)
    covered, stated = [], []
    for _ in range(60):
        ladders = Ladders(margins(rng), noise, rng)
        verdict = StoppingRule(answer_of)(ladders, 1)
        # What an endless run would change, given what was measured.
        expected = np.mean(ndtr(-np.abs(ladders.mean) / noise))
        covered.append(verdict.changing >= expected)
        stated.append(verdict.changing / expected)
        assert not (verdict.settled and verdict.changing > LIMIT)
    assert np.mean(covered) >= 0.9
    assert np.median(stated) < 3  # and is no idle bound


def test_noise_that_changes_calls_goes_on_and_looks_cost_confidence():
    rng = np.random.default_rng(2)
    rule, ladders = StoppingRule(answer_of), Ladders(margins(rng), 0.1, rng)
    first, tenth = rule(ladders, 1), rule(ladders, 10)
    assert not first.settled
    assert tenth.changing > first.changing > LIMIT


def test_a_choice_of_temperature_that_wavers_is_not_settled():
    """Calls at either temperature stand, but which one it is does not."""
    rng = np.random.default_rng(3)
    truth = np.where(np.arange(N_POINTS) % 2, 5.0, -5.0)
    truth[0] = 0.0

    def two_answers(values, temperature):
        answer = answer_of(values, temperature)
        if answer.temperature == 2.0:
            answer.names = np.roll(answer.names, 1)
        return answer

    verdict = StoppingRule(two_answers)(Ladders(truth, 0.01, rng), 1)
    assert not verdict.settled
    assert verdict.temperatures.tolist() == [1.0, 2.0]


def test_one_point_that_wavers_is_waited_for_but_not_for_ever():
    """Of 100 points a part of one may change at first, one of them later."""
    rng = np.random.default_rng(5)
    truth = np.where(np.arange(100) % 2, 5.0, -5.0)
    truth[0] = 5.0
    ladders = Ladders(truth, 0.01, rng)
    ladders.mean[1] = 0.004  # changes in a third of all moves
    ladders.each[:, 1] += 0.004 - ladders.each[:, 1].mean()
    rule = StoppingRule(answer_of)
    assert 0.002 < rule(ladders, 1).changing < 0.01
    assert [rule(ladders, look).settled for look in (1, 2, PATIENCE)] == [False, False, True]
