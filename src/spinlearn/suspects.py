"""Given labels that the rest of the data disagrees with.

A label is a field that costs h wherever the point leaves it (eq. 2 of the paper, h finite). Without
the field of point k itself, the others keeping theirs, the point has the law

    p_0(s) = E[ f(s) / g ] / E[ 1 / g ],    g = sum_s f(s) exp(-h (1 - delta(s, c_k)) / T)

where f(s) is the law of s_k given its neighbours alone and the averages are over labellings with
all fields on: one set of labellings leaves out every label in turn, exactly. A label is suspect
where another class is more probable than its own under p_0, by more than `margin`, on average over
temperatures of the ordered phases.

A wrong label makes the right labels around it suspect too. So there is a second round in which all
suspects of the first are left out together; those that agree with the rest after all are cleared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray, integer_array
from spinlearn.core.graph import Graph
from spinlearn.core.protocols import Seed
from spinlearn.energies import min_cut
from spinlearn.errors import InvalidInputError
from spinlearn.labellings import draw_labellings

N_SAMPLES = 256
STRENGTH = 6.0  # h, in units of the highest temperature: strong enough to be heard by its region
FIRST_MARGIN = 0.3  # of the first round, in which too many are suspect
MARGIN = 0.5

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A label that the rest of the data disagrees with.

    Attributes
    ----------
    point : int
        Row number.
    given : int
        Class of its label.
    instead : int
        The class that the others make most probable.
    p_given, p_instead : float
        Probabilities of the two without the label itself.
    """

    point: int
    given: int
    instead: int
    p_given: float
    p_instead: float


def suspects(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    temperatures: npt.ArrayLike,
    *,
    margin: float = MARGIN,
    n_samples: int = N_SAMPLES,
    seed: Seed = 0,
) -> list[Suspect]:
    """Labels that are probably wrong, the most suspect first.

    Parameters
    ----------
    graph : Graph
    labels : array-like of int (n,)
        State of every labelled point, -1 for the others.
    n_states : int
    temperatures : array-like
        Positive; see `spinlearn.suggestion.telling_temperatures`.
    margin : float
        By how much the other class must be more probable, 0 <= margin < 1.
    n_samples : int
        Labellings at each temperature.
    seed : int, SeedSequence or None
    """
    given = integer_array(labels, "labels")
    if not 0 <= margin < 1:
        raise InvalidInputError(f"margin={margin!r} is no difference of probabilities: use 0 to 1")
    labelled = np.flatnonzero(given >= 0)
    if len(labelled) < 2:
        raise InvalidInputError(
            f"{len(labelled)} labels cannot disagree: suspects are found among 2 or more"
        )
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    first, second = np.random.SeedSequence(root.entropy, spawn_key=root.spawn_key).spawn(2)
    grid = np.asarray(temperatures, dtype=np.float64)
    law = left_out_laws(graph, given, labelled, n_states, grid, n_samples, first)
    doubtful = labelled[_margins(law, given[labelled]) > min(FIRST_MARGIN, margin)]
    if len(doubtful) == 0:
        return []
    rest = given.copy()
    rest[doubtful] = -1
    if not np.any(rest >= 0):  # all against all: nobody is left to judge
        return []
    law = left_out_laws(graph, rest, doubtful, n_states, grid, n_samples, second)
    found = []
    for point, p, by in zip(doubtful, law, _margins(law, given[doubtful]), strict=True):
        if by > margin:
            own = int(given[point])
            other = int(np.argmax(np.where(np.arange(n_states) == own, -1.0, p)))
            found.append(Suspect(int(point), own, other, float(p[own]), float(p[other])))
    return sorted(found, key=lambda s: s.p_given - s.p_instead)


def left_out_laws(
    graph: Graph,
    labels: Labels,
    points: npt.NDArray[np.intp],
    n_states: int,
    temperatures: FloatArray,
    n_samples: int,
    seed: Seed,
) -> FloatArray:
    """Law of each point without its own label, (points, q), averaged over the temperatures."""
    strength = STRENGTH * float(np.max(temperatures))
    model = min_cut(graph, labels, n_states, label_strength=strength)
    laws = [
        _without_own_field(graph, labels, points, n_states, states, float(t), strength)
        for t, states in zip(
            temperatures, draw_labellings(model, temperatures, n_samples, seed=seed), strict=True
        )
    ]
    return np.asarray(np.mean(laws, axis=0))


def _without_own_field(
    graph: Graph,
    labels: Labels,
    points: npt.NDArray[np.intp],
    n_states: int,
    states: StateArray,
    temperature: float,
    strength: float,
) -> FloatArray:
    laws = np.empty((len(points), n_states))
    for row, point in enumerate(points):
        around = slice(graph.indptr[point], graph.indptr[point + 1])
        neighbours = states[:, graph.neighbors[around]]
        weights = graph.weights[graph.edge_ids[around]]
        pull = np.stack([(neighbours == s) @ weights for s in range(n_states)], axis=1)
        law = np.exp((pull - pull.max(axis=1, keepdims=True)) / temperature)
        law /= law.sum(axis=1, keepdims=True)
        if labels[point] >= 0:
            kept = np.full(n_states, np.exp(-strength / temperature))
            kept[labels[point]] = 1.0
            law /= (law @ kept)[:, None]
        total = law.sum(axis=0)
        laws[row] = total / total.sum()
    return laws


def _margins(laws: FloatArray, given: Labels) -> FloatArray:
    """How much more probable the best other class is than the given one."""
    rows = np.arange(len(given))
    others = laws.copy()
    others[rows, given] = -1.0
    return np.asarray(others.max(axis=1) - laws[rows, given])
