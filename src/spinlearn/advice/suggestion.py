"""Which points to label next: those whose label is expected to remove most errors.

Classifying point j by its most probable class is wrong with probability 1 - max_s p_j(s), and once
the class of point i is known with 1 - sum_c max_s p_ij(c, s), so that asking for i removes

    gain(i, j) = sum_c max_s p_ij(c, s) - max_s p_j(s)  >= 0

errors at j. The pair marginals p_ij of points that are no neighbours come from whole labellings,
drawn at several temperatures of the ordered phases over which the gain is averaged: which regions
hang together shows at some temperatures more than at others. Which s is best for each c is found on
one half of the labellings and its success counted on the other, and the other way round: the
largest of noisy numbers would promise gains where there are none.

A batch B of drawn labellings is worth sum_j max_{i in B} gain(i, j): a second point in a region
that the first has settled adds nothing. The sum is submodular, and adding the best point at a time
comes within 1 - 1/e of the best batch (Nemhauser, Wolsey & Fisher 1978).

An approximate answer, such as that of belief propagation, stands for models of which labellings are
not drawn in seconds. There the classes of the points are taken for a Gaussian field with covariance
C = G^2, G that of random walks on the graph (`walks`) which end at labelled points: a point with a
label has nothing left to explain. The square makes the field smooth, so that a point speaks for the
group around it. Knowing point i explains the share

    rho_ij^2 = C_ij^2 / (C_ii C_jj)

of what is open at j (the criterion of Ji & Han 2012, where every point counts alike). Here j counts
by the error e_j = 1 - max_c p_j(c) that is expected there, so that asking for i removes

    gain(i) = sum_j e_j rho_ij^2

errors: most in a large group of points about which little is known, and there at its centre. The
next point of a batch is chosen with the first known: e_j is less by that share, and C is
conditioned on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.answers import Answer
from spinlearn.answers.temperature import calibrated_temperature
from spinlearn.classifier import PottsClassifier
from spinlearn.default.walks import RandomWalks
from spinlearn.engines.sampling.population import draw_labellings
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.graph import Graph
from spinlearn.model.phases import Phase, phases
from spinlearn.model.protocols import Seed, seed_sequence

N_SAMPLES = 256  # labellings at each temperature
N_TEMPERATURES = 3
SPREAD = (0.3, 0.6)  # of the temperature above which nothing is ordered
MAX_CANDIDATES = 500  # points that may be suggested; more are drawn from at random
MAX_TARGETS = 2000  # points whose errors are counted
PRIOR = 1.0  # labellings' worth of trust in "knowing i changes nothing"
BLOCK = 16  # candidates at a time
# Of the Gaussian field:
MAX_POINTS = 1000  # that may be chosen, and whose errors count; of more, so many are drawn
MAX_VALUES = 30_000_000  # computed of C, at most
POWER = 2  # of G
TOLERANCE = 1e-4
COLUMNS = 64  # of C at a time
HALF = 0.5  # share explained from which on a point is reached

Points = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A point worth labelling; `spinlearn.suggest` makes these.

    Attributes
    ----------
    point : int
        Row number.
    gain : float
        Errors, among all unlabelled points, that its label is expected to remove beyond those
        removed by the suggestions before it.
    reach : int
        Number of points whose most probable class the label bears on noticeably.

    Examples
    --------
    >>> from spinlearn.advice import Suggestion
    >>> Suggestion(point=17, gain=4.5, reach=12).point
    17
    """

    point: int
    gain: float
    reach: int


def suggest(
    source: Answer | PottsClassifier | Equilibrium,
    n: int = 5,
    *,
    temperatures: npt.ArrayLike | None = None,
    n_samples: int = N_SAMPLES,
    seed: Seed = 0,
    stop: Callable[[], bool] = lambda: False,
) -> list[Suggestion]:
    """The next points to label: those whose class, once known, is expected to remove most errors.

    Parameters
    ----------
    source : Answer, Result, fitted PottsClassifier or Equilibrium
        What the labels so far have given.
    n : int, default 5
        How many points.
    temperatures : array-like of float, optional
        Where to draw labellings; default: some in the ordered phases, none for an approximation.
    n_samples : int, default 256
        Labellings at each of them.
    seed : int, SeedSequence or None, default 0
    stop : callable, optional
        Asked now and then; if true, nothing is suggested (`spinlearn.errors.StoppedError`).

    Returns
    -------
    list of Suggestion

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn import PottsClassifier, suggest
    >>> X = np.r_[np.linspace(0, 1, 12), np.linspace(3, 4, 12), np.linspace(6, 7, 12)][:, None]
    >>> y = np.full(36, -1)
    >>> y[5], y[30] = 0, 1  # none in the middle
    >>> clf = PottsClassifier(method="paper").fit(X, y)
    >>> [bool(12 <= s.point < 24) for s in suggest(clf, 1)]
    [True]
    """
    answer = source.answer_ if isinstance(source, PottsClassifier) else source
    model = answer.model
    labels = model.clamped.astype(np.int32)
    if isinstance(answer, Answer):  # labels may be fields, and points held in new classes
        labels = answer.labels
    free = np.flatnonzero(labels < 0)
    if not 1 <= n <= len(free):
        raise InvalidInputError(
            f"cannot suggest {n} points: {len(free)} are without a label, ask for 1 to that many"
        )
    root = seed_sequence(seed)
    generator = np.random.default_rng(root)
    p = _approximate_law(answer) if temperatures is None else None
    if p is not None:
        # A point in a class without a name counts as an error: its class is not known.
        errors = np.where(labels >= 0, 0.0, 1 - p.max(axis=1, initial=0.0))
        graph = model.graph.with_weights(model.couplings)
        return gaussian_batch(graph, labels >= 0, errors, n, generator, stop)
    if temperatures is None:
        run = answer.equilibrium if isinstance(answer, Answer) else answer
        temperatures = telling_temperatures(run)
    labellings = draw_labellings(model, temperatures, n_samples, seed=root)
    candidates = _some(free, max(MAX_CANDIDATES, n), generator)
    targets = _some(free, MAX_TARGETS, generator)
    gains = np.mean(
        [pair_gains(states, model.n_states, candidates, targets) for states in labellings], axis=0
    )
    return best_batch(gains * (len(free) / len(targets)), candidates, n)


def _approximate_law(answer: Answer | Equilibrium) -> FloatArray | None:
    """Probabilities of the named classes where they are an approximation, (n, k), else None."""
    if isinstance(answer, Answer):
        sampled = answer.law is None and answer.equilibrium.kind is not Kind.APPROXIMATE
        return None if sampled else answer.probabilities
    if answer.kind is not Kind.APPROXIMATE:
        return None
    whole = answer.ascending()
    row = int(np.flatnonzero(whole.temperatures == calibrated_temperature(whole))[0])
    return np.asarray(whole.marginals[row])


def telling_temperatures(equilibrium: Equilibrium, count: int = N_TEMPERATURES) -> FloatArray:
    """Positive temperatures spread over the part of the grid where points are ordered."""
    known = phases(equilibrium)
    positive = (known.temperatures > 0) & np.isfinite(known.temperatures)
    ordered = positive & [phase is not Phase.PARAMAGNETIC for phase in known.phases]
    grid = known.temperatures[ordered if np.any(ordered) else positive]
    if len(grid) == 0:
        raise InvalidInputError("the result holds no positive temperature: fit with some")
    # Near the top nothing hangs together any more, far below all is frozen.
    return np.unique(np.linspace(*SPREAD, count) * float(grid.max()))


def pair_gains(
    states: StateArray, n_states: int, candidates: Points, targets: Points
) -> FloatArray:
    """gain(i, j) >= 0 for candidates i and targets j, (candidates, targets)."""
    half = len(states) // 2
    if half < 1:
        raise InvalidInputError("at least two labellings are needed")
    order = np.arange(2 * half).reshape(2, half, order="F")  # alternate: both see all walkers
    parts = [_indicators(states[rows], n_states, targets) for rows in order]
    ones = [_indicators(states[rows], n_states, candidates) for rows in order]
    gains = np.zeros((len(candidates), len(targets)))
    for learn, test in ((0, 1), (1, 0)):
        plain = parts[learn].mean(axis=0).reshape(len(targets), n_states)
        success = parts[test].mean(axis=0).reshape(len(targets), n_states)
        base = success[np.arange(len(targets)), plain.argmax(axis=1)]
        for begin in range(0, len(candidates), BLOCK):
            block = slice(begin * n_states, (begin + BLOCK) * n_states)
            shape = (-1, n_states, len(targets), n_states)
            seen = (ones[learn][:, block].T @ parts[learn]).reshape(shape)
            best = (seen + PRIOR * plain).argmax(axis=3)
            counted = (ones[test][:, block].T @ parts[test]).reshape(shape)
            right = np.take_along_axis(counted, best[..., None], axis=3).sum(axis=(1, 3)) / half
            gains[begin : begin + BLOCK] += 0.5 * (right - base)
    return np.maximum(gains, 0.0)


def best_batch(gains: FloatArray, candidates: Points, n: int) -> list[Suggestion]:
    """Greedy choice of n candidates for the largest sum_j max_i gain(i, j)."""
    covered = np.zeros(gains.shape[1])
    left = np.ones(len(candidates), dtype=bool)
    batch: list[Suggestion] = []
    for _ in range(n):
        added = np.where(left, np.maximum(gains - covered, 0.0).sum(axis=1), -1.0)
        best = int(np.argmax(added))
        reach = int(np.sum(gains[best] > 0.5 * gains[best].max(initial=0.0)))
        batch.append(Suggestion(int(candidates[best]), float(added[best]), reach))
        covered = np.maximum(covered, gains[best])
        left[best] = False
    return batch


def gaussian_batch(
    graph: Graph,
    labelled: BoolArray,
    errors: FloatArray,
    n: int,
    generator: np.random.Generator,
    stop: Callable[[], bool] = lambda: False,
) -> list[Suggestion]:
    """The n points without a label that explain most, one after the other.

    `errors` (n,) are expected at the points, in [0, 1]. Of many points the `generator` draws those
    that are looked at. `stop` is asked between blocks of columns.
    """
    free = np.flatnonzero(~labelled)
    points = _some(free, max(min(MAX_POINTS, MAX_VALUES // graph.n_nodes), n), generator)
    each = len(free) / len(points)  # points that one stands for
    walks = RandomWalks(graph, ~labelled, TOLERANCE)
    blocks = []
    for begin in range(0, len(points), COLUMNS):
        if stop():
            raise StoppedError("stopped while looking for points to label")
        blocks.append(walks.columns(points[begin : begin + COLUMNS], POWER)[points])
    field = np.concatenate(blocks, axis=1)  # C between the points
    field = np.asarray(0.5 * (field + field.T))
    left = np.asarray(errors, dtype=np.float64)[points]
    tiny = 1e-9 * np.diag(field)
    chosen: list[Suggestion] = []
    asked = np.zeros(len(points), dtype=bool)
    for _ in range(n):
        variance = np.diag(field)
        known = variance <= tiny
        inverse = np.where(known, 0.0, 1 / np.where(known, 1.0, variance))
        gains = np.square(field) @ (left * inverse) * inverse
        gains[asked] = -1.0
        best = int(np.argmax(gains))
        share = np.square(field[best]) * inverse * inverse[best]
        reach = max(round(each * int(np.sum(share >= HALF))), 1)
        chosen.append(Suggestion(int(points[best]), float(each * gains[best]), reach))
        asked[best] = True
        left = left * np.maximum(1 - share, 0.0)
        left[best] = 0.0
        column = field[best].copy()
        field -= np.outer(column, column * inverse[best])
    return chosen


def _indicators(states: StateArray, n_states: int, points: Points) -> npt.NDArray[np.float32]:
    """One column per (point, state): 1 where the labelling has it, (S, points * q)."""
    chosen = states[:, points]
    table = chosen[:, :, None] == np.arange(n_states, dtype=np.int8)
    return np.asarray(table.reshape(len(states), -1), dtype=np.float32)


def _some(points: Points, most: int, generator: np.random.Generator) -> Points:
    if len(points) <= most:
        return points
    return np.sort(generator.choice(points, most, replace=False))
