"""Given labels that the rest of the data disagrees with.

A label is a finite field here, that of Zhou et al. (2004): the classes F of all points minimise

    1/2 sum_ij W_ij |F_i / sqrt(d_i) - F_j / sqrt(d_j)|^2 + (1/alpha - 1) sum_i |F_i - Y_i|^2 ,

so that label l adds to its class the column G_.l of G = (I - alpha S)^-1, S = D^-1/2 W D^-1/2: what
random walks carry from l (`walks`). One set of columns leaves out every label in turn, exactly.
What the others say of point k is

    P_k(c) ~ (r_kc + FAINT / n)^SHARPNESS,    r_kc = sum_l G_kl / sum_l sum_i G_il,

both sums over the labels l != k of class c: the share of the class's own walks that come by, so
that a class with more or better placed labels weighs no more than another. Where hardly any walk
comes by, FAINT leaves all classes alike. Shares are blunter than probabilities, for walks blur
borders; the power makes up for part of that, on the careful side.

A label is suspect where another class is more probable than its own by more than `margin`. A wrong
label also makes right ones around it suspect, so the most suspect label alone is left out for good,
then the others are judged anew without it, until none is suspect. The last label of a class is
never suspect: nothing is known of the class without it.

Sampled labellings of the cut energy find fewer: at temperatures at which the regions of single
labels are ordered a wrong label carries its region, and at higher ones the law of a point is spread
over many classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.answers import Answer
from spinlearn.classifier import PottsClassifier
from spinlearn.constants import FAINT, SHARPNESS
from spinlearn.default.walks import RandomWalks, precision
from spinlearn.energies.base import checked_labels
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import FloatArray
from spinlearn.model.graph import Graph

MARGIN = 0.5
BLOCK = 64  # columns of G at a time
MAX_VALUES = 16_000_000  # numbers in them, of many points

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A label that the rest of the data disagrees with; `spinlearn.suspects` makes these.

    Attributes
    ----------
    point : int
        Row number.
    given, instead : int
        Class of its label, and the most probable one to the others: positions in ``classes_``.
    p_given, p_instead : float
        Their probabilities without this label and those of the other suspects.

    Examples
    --------
    >>> from spinlearn.advice import Suspect
    >>> Suspect(point=1, given=1, instead=0, p_given=0.2, p_instead=0.8).instead
    0
    """

    point: int
    given: int
    instead: int
    p_given: float
    p_instead: float


def suspects(answer: Answer | PottsClassifier, *, margin: float = MARGIN) -> list[Suspect]:
    """Given labels of an answer that are probably wrong, the most suspect first.

    Every label in turn is left out and judged by what random walks carry from the others.

    Parameters
    ----------
    answer : Answer, Result or fitted PottsClassifier
        What was found.
    margin : float, default 0.5
        By how much the other class must be more probable, 0 <= margin < 1.

    Returns
    -------
    list of Suspect

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn import PottsClassifier, suspects
    >>> X = np.r_[np.linspace(0, 1, 20), np.linspace(5, 6, 20)][:, None]
    >>> y = np.full(40, -1)
    >>> y[[2, 8, 14]], y[[5, 22, 28, 34]] = 0, 1  # that of point 5 is wrong
    >>> [s.point for s in suspects(PottsClassifier(method="paper").fit(X, y))]
    [5]
    """
    whole = answer.answer_ if isinstance(answer, PottsClassifier) else answer
    model = whole.model
    graph = model.graph.with_weights(model.couplings)
    return suspect_labels(graph, whole.labels, model.n_states, margin=margin)


def suspect_labels(
    graph: Graph,
    labels: npt.ArrayLike,
    n_states: int,
    *,
    margin: float = MARGIN,
) -> list[Suspect]:
    """Labels on a graph that are probably wrong, the most suspect first.

    Parameters
    ----------
    graph : Graph
        Similar points, n nodes. Edges of negative weight are left aside: they carry no label.
    labels : array-like of int, shape (n,)
        Class of every labelled point, -1 for the others.
    n_states : int
        Number of classes.
    margin : float, default 0.5
        As for `suspects`.

    Returns
    -------
    list of Suspect

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.advice import suspect_labels
    >>> edges = [(i + k, j + k) for k in (0, 5) for i in range(5) for j in range(i)]
    >>> found = suspect_labels(Graph(10, edges), [0, 1, 0, 0, -1, 1, 1, 1, -1, -1], n_states=2)
    >>> [(s.point, s.given, s.instead) for s in found]  # two groups of five
    [(1, 1, 0)]
    """
    given = checked_labels(graph, labels, n_states)
    if not 0 <= margin < 1:
        raise InvalidInputError(
            f"margin={margin!r} is not between 0 and 1: give a difference of probabilities"
        )
    labelled = np.flatnonzero(given >= 0)
    if len(labelled) < 2:
        raise InvalidInputError(
            f"{len(labelled)} labels cannot disagree: suspects are found among 2 or more"
        )
    others = LeftOut(graph, labelled, given[labelled], n_states)
    while True:
        by, instead = others.margins()
        worst = int(np.argmax(np.where(others.heard, by, -1.0)))
        if not others.heard[worst] or by[worst] <= margin:
            break
        others.silence(worst)
    laws = others.laws()
    listed = []
    for k in np.flatnonzero(~others.heard & (by > margin)):
        own, other = int(given[labelled[k]]), int(instead[k])
        p_own, p_other = float(laws[k, own]), float(laws[k, other])
        listed.append(Suspect(int(labelled[k]), own, other, p_own, p_other))
    return sorted(listed, key=lambda s: s.p_given - s.p_instead)


class LeftOut:
    """What the other labels say of each of L labelled points; labels can be silenced."""

    def __init__(
        self, graph: Graph, points: npt.NDArray[np.intp], states: Labels, n_states: int
    ) -> None:
        tol, dtype = precision(graph.n_nodes)
        self._walks = RandomWalks(graph, tol=tol, dtype=dtype)
        self._points, self._states = points, states
        self._n_points = graph.n_nodes
        self._rows = np.arange(len(points))
        self.heard = np.ones(len(points), dtype=bool)
        self._mass = self._walks.total()[points]  # sum_i G_il
        self._arriving = np.zeros((len(points), n_states))  # sum_l G_kl, l != k heard, of class c
        width = max(1, min(BLOCK, MAX_VALUES // graph.n_nodes))
        for begin in range(0, len(points), width):
            block = self._rows[begin : begin + width]
            columns = self._walks.columns(points[block])[points]
            columns[block, np.arange(len(block))] = 0.0
            np.add.at(self._arriving.T, states[block], columns.T)

    def silence(self, k: int) -> None:
        """Leave out the label of the k-th point for all others too."""
        column = self._walks.columns(self._points[k : k + 1])[self._points, 0]
        column[k] = 0.0
        self._arriving[:, self._states[k]] -= column
        self.heard[k] = False

    def laws(self) -> FloatArray:
        """P_k(c), (L, q); zero for classes that have no other label."""
        mass, known = self._other_mass()
        shares = np.divide(self._arriving, mass, out=np.zeros_like(mass), where=known)
        values = (np.maximum(shares * self._n_points, 0.0) + FAINT) ** SHARPNESS * known
        total = values.sum(axis=1, keepdims=True)
        return np.asarray(values / np.where(total > 0, total, 1.0))

    def margins(self) -> tuple[FloatArray, npt.NDArray[np.intp]]:
        """By how much the best other class is more probable, -1 for the last label, and which."""
        laws = self.laws()
        own = laws[self._rows, self._states].copy()
        laws[self._rows, self._states] = -1.0
        judged = self._other_mass()[1][self._rows, self._states]
        return np.where(judged, laws.max(axis=1) - own, -1.0), laws.argmax(axis=1)

    def _other_mass(self) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """sum_l sum_i G_il and whether there is any such l, both (L, q)."""
        mine = np.zeros(self._arriving.shape, dtype=bool)
        mine[self._rows, self._states] = self.heard
        masses = np.where(mine, self._mass[:, None], 0.0)
        return masses.sum(axis=0) - masses, (mine.sum(axis=0) - mine) > 0
