"""Law: the one probability of every point, from which its call, its status and all words follow.

    call = the most probable class,    confidence = its probability.

Status puts the same number into words: *confident* from SURE on, *confused* where the second class
is within tau of the first, *grown* between the two: ahead, but carried by its neighbours. A call is
*new* where a class without label is the most probable, and its point an *outlier* where no label
reaches it: then the commonest class is called. Axes: n points, k named classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.grains import TIE
from spinlearn.answers.rule import Decision, Status
from spinlearn.core.arrays import BoolArray, FloatArray, IntArray, frozen
from spinlearn.core.constants import SURE

LAWS = ("graph", "distance to labels", "features", "guessing")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Law:
    """Probabilities of all points, and what the labels taught about them.

    Attributes
    ----------
    probabilities : float array (n, k + new)
        Of the named classes, then of the new ones. What a row lacks to one is the probability of
        another class without label; a row of zeros is a point of which nothing is known.
    shares : tuple of four float
        Of the phase (belief propagation), of the walk, of the features, of guessing.
    n_judged, n_right : int
        Labels that were left out, and how many of them were called right.
    chance : bool
        Whether left-out labels were predicted no better than by guessing.
    class_errors : float array (k,)
        Standard error of the share of every class in all points, beyond that of single points.
    temperatures : tuple of float
        Of the phase, in the unit of the couplings.
    resolutions : tuple of float
        Strengths of its null model.
    phase_weights : tuple of tuples of float
        What each resolution (rows) and temperature (columns) counts in the phase; they sum to one.
    """

    probabilities: FloatArray
    shares: tuple[float, float, float, float]
    n_judged: int
    n_right: int
    chance: bool
    class_errors: FloatArray
    temperatures: tuple[float, ...]
    resolutions: tuple[float, ...]
    phase_weights: tuple[tuple[float, ...], ...]

    def decision(
        self,
        labels: IntArray,
        n_classes: int,
        tau: float,
        held: BoolArray,
        reached: BoolArray,
        temperature: float,
    ) -> Decision:
        """Call and status of every point; two classes are confused within `tau`.

        The label of points `held` stands. Points `reached` are in parts of the graph with a label.
        """
        p = self.probabilities
        n, width = p.shape
        outcomes = np.zeros(n, dtype=np.int32)
        if width:  # equal up to rounding, which must not pick one
            outcomes[:] = np.argmax(p >= p.max(axis=1, keepdims=True) - TIE, axis=1)
        first = p[np.arange(n), outcomes] if width else np.zeros(n)
        second = np.partition(p, width - 2, axis=1)[:, width - 2] if width > 1 else np.zeros(n)
        margin = np.maximum(first - second, 0.0)
        status = np.full(n, Status.GROWN, dtype=np.int8)
        status[first >= SURE] = Status.CONFIDENT
        status[margin <= tau + TIE] = Status.CONFUSED
        status[~reached] = Status.OUTLIER
        status[outcomes >= n_classes] = Status.NEW
        unknown = first == 0
        outcomes[unknown], status[unknown] = -1, Status.OUTLIER
        outcomes[held] = labels[held]
        status[held] = Status.LABELLED
        return Decision(
            temperature=temperature,
            outcomes=frozen(outcomes, np.int32),
            status=frozen(status, np.int8),
            margin=frozen(margin, np.float64),
            n_classes=n_classes,
            confused_sets=((),) if np.any(unknown & ~held) else (),
        )


def second_choices(probabilities: FloatArray, outcomes: IntArray) -> npt.NDArray[np.int32]:
    """The most probable other class of every point, -1 where there is none."""
    if probabilities.shape[1] < 2:
        return np.full(len(probabilities), -1, dtype=np.int32)
    others = np.array(probabilities)
    known = np.flatnonzero((outcomes >= 0) & (outcomes < others.shape[1]))
    others[known, outcomes[known]] = -1.0
    undecided = np.flatnonzero(outcomes < 0)
    others[undecided, np.argmax(others[undecided], axis=1)] = -1.0
    return np.asarray(np.argmax(others, axis=1), dtype=np.int32)
