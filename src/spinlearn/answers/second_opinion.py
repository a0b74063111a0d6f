"""SecondOpinion: walkers from the labels beside an approximate answer on a small set.

Where averages are an approximation, a sampler that knows nothing of it is asked at the temperature
of the answer (`spinlearn.engines.label_walkers`). A point on which most walkers differ from the
call, and their mean law from it too, is *confused* between what the two say, whatever its
probability: it is in another valley of the energy.

Measured on digits, iris, wine, breast cancer, tumours (4 sets), pancreas cells and three sets of
images, with 1, 3 and 10 labels a class, three draws each: the two differ on less than 2 % of the
points; of those calls 30 % are right, of the others 69 %. With one class hidden: 3 %, 13 % against
80 %. See docs/trust.md for where it does not help. Walkers that start from the approximation itself
never differ from it: belief propagation is right about the valley it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.arrays import FloatArray, IntArray, frozen, restore
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.model import PottsModel

MOST_POINTS = 5_000
NO_STATE = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SecondOpinion:
    """What walkers from the labels say at one temperature.

    Attributes
    ----------
    temperature : float
    marginals : float array (n, q)
        Mean over the walkers.
    against : float array (n,)
        Share of the walkers that prefer another state than the call; 0 where there is no call to
        compare with: a label, a group without a state of its own, a point undecided anyway.
    says : int array (n,)
        The state that they prefer where the two disagree, else -1.
    """

    temperature: float
    marginals: FloatArray
    against: FloatArray
    says: IntArray

    @property
    def n_disagree(self) -> int:
        """Number of points on which the two disagree."""
        return int(np.sum(self.says != NO_STATE))

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)


def second_opinion(
    equilibrium: Equilibrium, found: Profile, row: int, labels: IntArray, seed: int
) -> SecondOpinion | None:
    """A second opinion on the decision at one temperature, or None where none is to be had.

    Parameters
    ----------
    equilibrium : Equilibrium
    found : Profile
        Of the same temperatures.
    row : int
    labels : int array (n,)
        Classes given, -1 where there is none.
    seed : int
    """
    from spinlearn.engines.label_walkers import laws_from_labels

    model, temperature = equilibrium.model, float(found.temperatures[row])
    penalty = model.class_penalty
    if (
        equilibrium.kind is not Kind.APPROXIMATE
        or model.n_nodes > MOST_POINTS
        or not 0 < temperature < np.inf
        or not np.any(labels >= 0)
        or (penalty is not None and not penalty.sizes_only)
    ):
        return None
    start = np.argmax(equilibrium.marginals[row], axis=1).astype(np.int8)
    laws = laws_from_labels(model, labels, start, temperature, seed)
    return opinion_of(model, found, row, laws)


def opinion_of(model: PottsModel, found: Profile, row: int, laws: FloatArray) -> SecondOpinion:
    """The opinion of walkers with these laws, (walkers, n, q)."""
    codes = outcomes_of_states(model, found.outcomes[row], found.n_classes)
    called = _states(found.outcomes[row], codes)
    compared = (called != NO_STATE) & (found.status[row] != Status.LABELLED)
    mean = laws.mean(axis=0)
    preferred = np.argmax(mean, axis=1)
    against = np.where(compared, np.mean(np.argmax(laws, axis=2) != called, axis=0), 0.0)
    differs = compared & (against > 0.5) & (preferred != called) & (codes[preferred] != NO_STATE)
    n = found.n_classes
    differs &= (called < n) | (preferred < n)  # two new classes have no name in common
    return SecondOpinion(
        temperature=float(found.temperatures[row]),
        marginals=frozen(mean, np.float64),
        against=frozen(against, np.float64),
        says=frozen(np.where(differs, preferred, NO_STATE), np.int32),
    )


def outcomes_of_states(model: PottsModel, outcomes: IntArray, n_classes: int) -> IntArray:
    """The outcome that every state stands for, (q,): a class, a new class, or -1 for neither."""
    codes = np.full(model.n_states, NO_STATE, dtype=np.int32)
    codes[:n_classes] = np.arange(n_classes)
    for s in range(n_classes, model.n_states):
        held = np.flatnonzero(model.clamped == s)
        if len(held):  # a new class
            codes[s] = outcomes[held[0]]
    return codes


def _states(outcomes: IntArray, codes: IntArray) -> npt.NDArray[np.intp]:
    """The state that every outcome stands for, -1 for none."""
    states = np.full(outcomes.shape, NO_STATE, dtype=np.intp)
    for s, code in enumerate(codes.tolist()):
        if code != NO_STATE:
            states[outcomes == code] = s
    return states


def with_doubts(found: Profile, row: int, model: PottsModel, second: SecondOpinion) -> Profile:
    """The profile in which points are undecided on which the two opinions disagree."""
    n = found.n_classes
    codes = outcomes_of_states(model, found.outcomes[row], n)
    called = _states(found.outcomes[row], codes)
    sets = {classes: k for k, classes in enumerate(found.confused_sets)}
    outcomes, status = found.outcomes.copy(), found.status.copy()
    for i in np.flatnonzero(second.says != NO_STATE).tolist():
        between = tuple(sorted(int(s) for s in (called[i], second.says[i]) if 0 <= s < n))
        outcomes[row, i] = -1 - sets.setdefault(between, len(sets))
        status[row, i] = Status.CONFUSED
    return replace(
        found,
        outcomes=frozen(outcomes, np.int32),
        status=frozen(status, np.int8),
        confused_sets=tuple(sets),
    )
