"""When to stop sampling: a sequential rule for calls that would hardly change any more.

B ladders of walkers are independent, so the averages moved by the deviation of one of them over
sqrt(B - 1) are as far from the averages of all as those are from the truth, typically. The answer
is found anew from each of the B moved averages, temperature and all, and f_b is the share of points
whose call differs. The mean of the f_b estimates the share of calls that an endless run would
change, their spread says how well: the run is settled when

    mean f + t s / sqrt(B) <= LIMIT (or one point),

s the standard deviation of the f_b and t the quantile of Student's t at 1 - a_k, where the k-th
look spends a_k = (1 - CONFIDENCE) / (k (k + 1)): over all looks together the rule errs with
probability 1 - CONFIDENCE at most. (Gandy, Hahn & Ding, Scand. J. Statist. 2020, stop on the side
of a threshold in this spirit: what is undecided for long is too close to matter.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spinlearn.answers.answer import Answer
from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.stopping import Snapshot, Verdict

LIMIT = 0.005  # expected share of calls that change still, or one call where that is more
CONFIDENCE = 0.95


class SettledCalls:
    """Stops a run once the calls of its answer are settled.

    Parameters
    ----------
    answer_of : callable
        From an Equilibrium and a temperature (None: that of the rule) to the Answer.
    """

    def __init__(self, answer_of: Callable[[Equilibrium, float | None], Answer]) -> None:
        self._answer_of = answer_of

    def __call__(self, snapshot: Snapshot, look: int) -> Verdict:
        """Look at a run, for the `look`-th time."""
        answer = self._answer_of(snapshot.equilibrium(), None)
        ladders = range(snapshot.n_ladders)
        here = answer.temperature
        # One temperature costs little; only where its calls stand, the choice of it is doubted too.
        near = [self._answer_of(snapshot.moved(b, here), here) for b in ladders]
        changing = _upper_limit(answer, near, look)
        limit = max(LIMIT, 1 / len(answer.names))
        if changing > limit:
            return Verdict(settled=False, changing=changing, temperatures=np.array([here]))
        moved = [self._answer_of(snapshot.moved(b), None) for b in ladders]
        changing = _upper_limit(answer, moved, look)
        chosen = np.unique([here, *(other.temperature for other in moved)])
        trusted = bool(answer.trust.rows[answer.row])
        return Verdict(
            settled=changing <= limit and trusted, changing=changing, temperatures=chosen
        )

    def rests_on(self, snapshot: Snapshot) -> FloatArray:
        """The temperature of the answer so far."""
        return np.array([self._answer_of(snapshot.equilibrium(), None).temperature])


def _upper_limit(answer: Answer, moved: list[Answer], look: int) -> float:
    """Of the expected share of calls that change."""
    from scipy.special import stdtrit

    shares: FloatArray = np.array([np.mean(other.names != answer.names) for other in moved])
    error = (1 - CONFIDENCE) / (look * (look + 1))
    quantile = float(stdtrit(len(shares) - 1, 1 - error))
    return float(shares.mean() + quantile * shares.std(ddof=1) / np.sqrt(len(shares)))
