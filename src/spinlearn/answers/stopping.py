"""When to stop sampling: a sequential rule for calls that would hardly change any more.

B ladders of walkers are independent, so with x_b the averages of one of them and x those of all,

    x + sum_b e_b (x_b - x) / sqrt(B (B - 1)),     e_b = +-1 at random,

is as far from x as the truth is, typically, and off in the same directions. The answer is found
anew from each of K such moved averages, temperature and all, and f_k is the share of points whose
call differs. The mean of the f_k estimates the share of calls that an endless run would change: the
run is settled when

    mean f + t s / sqrt(K) <= LIMIT,

s the standard deviation of the f_k and t the quantile of Student's t with B - 1 degrees of freedom
at 1 - a_l, where the l-th look spends a_l = (1 - CONFIDENCE) / (l (l + 1)): over all looks together
the rule errs with probability 1 - CONFIDENCE at most, as far as the K moves are independent. LIMIT
is rounded down to a number of points, but no lower than to l / PATIENCE of one at the l-th look.
(Gandy, Hahn & Ding, Scand. J. Statist. 2020, stop on the side of a threshold in this spirit: what
is undecided for long is too close to matter.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spinlearn.answers.answer import Answer
from spinlearn.model.arrays import FloatArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.protocols import RunView, Verdict

LIMIT = 0.005  # share of calls that change still
CONFIDENCE = 0.95
PATIENCE = 6  # looks, after which one call may change, however few there are
MOST_MOVES = 64  # K; no fewer than there are ladders, and fewer where points are many:
MOVED_POINTS = 400_000  # in all of them together
FAR_OFF = 3.0  # times the limit: beyond, the first B moves at one temperature tell enough


class StoppingRule:
    """Stops a run once the calls of its answer are settled.

    `answer_of` makes the Answer of an Equilibrium at a temperature (None: that of the rule).
    """

    def __init__(self, answer_of: Callable[[Equilibrium, float | None], Answer]) -> None:
        self._answer_of = answer_of

    def __call__(self, snapshot: RunView, look: int) -> Verdict:
        """Look at a run, for the `look`-th time."""
        answer = self._answer_of(snapshot.equilibrium(), None)
        n_ladders, here = snapshot.n_ladders, answer.temperature
        most = max(n_ladders, min(MOST_MOVES, MOVED_POINTS // len(answer.names)))
        signs = np.random.default_rng(look).choice([-1.0, 1.0], (most, n_ladders))
        moves = signs / np.sqrt(n_ladders * (n_ladders - 1))
        n = len(answer.names)  # whole points, where they are few
        limit = float(max(np.floor(LIMIT * n), look / PATIENCE) / n)
        # One temperature costs little; the choice of it is doubted once its calls nearly stand.
        shares: list[float] = []
        for move in moves:
            shares.append(_changed(answer, self._answer_of(snapshot.moved(move, here), here)))
            if len(shares) == n_ladders and np.mean(shares) > FAR_OFF * limit:
                break
        changing, chosen = _upper_limit(shares, n_ladders, look), np.array([here])
        if changing <= FAR_OFF * limit:
            moved = [self._answer_of(snapshot.moved(move), None) for move in moves[:n_ladders]]
            shares = [_changed(answer, other) for other in moved]
            changing = max(changing, _upper_limit(shares, n_ladders, look))
            chosen = np.unique([here, *(other.temperature for other in moved)])
        settled = changing <= limit and answer.warning is None
        return Verdict(settled=settled, changing=changing, temperatures=chosen)

    def rests_on(self, snapshot: RunView) -> FloatArray:
        """The temperature of the answer so far."""
        return np.array([self._answer_of(snapshot.equilibrium(), None).temperature])


def _changed(answer: Answer, other: Answer) -> float:
    return float(np.mean(other.names != answer.names))


def _upper_limit(shares: list[float], n_ladders: int, look: int) -> float:
    """Of the expected share of calls that change."""
    from scipy.special import stdtrit

    error = (1 - CONFIDENCE) / (look * (look + 1))
    quantile = float(stdtrit(n_ladders - 1, 1 - error))
    return float(np.mean(shares) + quantile * np.std(shares, ddof=1) / np.sqrt(len(shares)))
