"""The paper's decision rule (section 5) at one temperature: an outcome for every point.

With p1 >= p2 the two largest marginals of a point and C_ij the pair agreement:

1. A point with p1 - p2 > tau is *confident* and takes the class of p1. Points that are held are
   *labelled*. A point that no label reaches is never confident, whatever its marginals.
2. Edges with C_ij < (1 + 1/q)/2, half way between random and perfect agreement, are deleted. A
   point that is not confident follows its connected component: it is *grown* if all classified
   points there are of one class, *confused* between these classes if they are of several, *new* if
   there is none. Each component without a classified point is a new class. A state without a name
   in which a point is held is a new class like a named one: points confident of it are *new*.
3. A component of fewer than LEAST_NEW points, none of them classified, is too small for a class:
   "join" gives it to the larger component with which it agrees most over all its edges (after the
   last step of Blatt, Wiseman & Domany's clustering), or makes it *outliers* if there is none,
   "outlier" makes it outliers at once, "new" a new class all the same, as in the paper.

Measured (`benchmarks/answers.py`, share of wrong calls with "join" / "outlier" / "new"), when the
strongest single edge decided which component a small group joins: with a hidden class, three labels
of each other one, tumours 0.33/0.39/0.39, 0.46/0.46/0.46, 0.36/0.42/0.42 and 0.57/0.61/0.61,
pancreas cells 0.22/0.28/0.28; with labels of all classes, breast cancer 0.41/0.47/0.47, digits
0.10, iris 0.16/0.17/0.17, wine 0.11.

Without labels every marginal is 1/q, every point is *new*, and the components are the clusters of
Blatt, Wiseman & Domany.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import TIE, BoolArray, FloatArray, IntArray, integer_array
from spinlearn.model.equilibrium import Equilibrium, NotebookTable
from spinlearn.model.graph import connected_parts
from spinlearn.model.phases import grains, joined
from spinlearn.model.potts import FREE, PottsModel

LEAST_NEW = 3  # points of a new class
SMALL_GROUPS = ("join", "outlier", "new")  # what becomes of smaller ones
"""What can become of groups of one or two points that agree with no others enough.

"join" makes them part of the larger group with which they agree most, "outlier" sets them aside,
"new" makes each a new class, as the paper does.

Examples
--------
>>> from spinlearn.answers import SMALL_GROUPS
>>> SMALL_GROUPS
('join', 'outlier', 'new')
"""


class Status(IntEnum):
    """How a point came by its outcome.

    LABELLED: its label was given. CONFIDENT: one class is clearly more probable than the others.
    GROWN: it follows neighbours of one class. CONFUSED: it is bound to several classes. NEW: it is
    in a group that agrees with no class. OUTLIER: it agrees with no others.

    Examples
    --------
    >>> from spinlearn.answers import Status
    >>> [status.name.lower() for status in Status]
    ['labelled', 'confident', 'grown', 'confused', 'new', 'outlier']
    """

    LABELLED = 0
    CONFIDENT = 1
    GROWN = 2
    CONFUSED = 3
    NEW = 4
    OUTLIER = 5


STATUS_NAMES = tuple(status.name.lower() for status in Status)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Decision(NotebookTable):
    """The outcome of every point at one temperature.

    Attributes
    ----------
    temperature : float
        In the unit of the couplings.
    outcomes : int array (n,)
        0 to n_classes - 1 are named classes, n_classes + k is the new class number k + 1, and -1 -
        k is the k-th of `confused_sets`.
    status : int8 array (n,)
        Values of `Status`.
    margin : float array (n,)
        Difference between a point's two largest probabilities, which the rule compares with tau.
    n_classes : int
        Number of named classes.
    confused_sets : tuple of tuples of int
        Classes of the k-th confused set; the empty one is that of outliers.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.answers import decide
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.engines import Enumeration
    >>> graph = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)], [0.2, 1, 1, 1, 0.2])
    >>> run = Enumeration().run(MinCut()(graph, [0, -1, -1, -1, 1], n_states=2), [0.6])
    >>> decide(run, 0.6).new_classes()[1].tolist()
    [1, 2, 3]
    """

    temperature: float
    outcomes: IntArray
    status: npt.NDArray[np.int8]
    margin: FloatArray
    n_classes: int
    confused_sets: tuple[tuple[int, ...], ...]

    def new_classes(self) -> dict[int, npt.NDArray[np.intp]]:
        """Members of every new class, by its number (1, 2, ...)."""
        codes = np.unique(self.outcomes[self.outcomes >= self.n_classes])
        return {int(c) - self.n_classes + 1: np.flatnonzero(self.outcomes == c) for c in codes}

    def candidates(self, point: int) -> tuple[int, ...]:
        """Classes a `point` may belong to: its class, its confused set, or none for a new class."""
        outcome = int(self.outcomes[point])
        if outcome < 0:
            return self.confused_sets[-1 - outcome]
        return (outcome,) if outcome < self.n_classes else ()

    def count(self, status: Status) -> int:
        """Number of points with this `status`."""
        return int(np.sum(self.status == status))


class RuleOutcome(NamedTuple):
    """What the rule says at one temperature; `components` tells the new classes apart."""

    outcomes: IntArray
    status: npt.NDArray[np.int8]
    margin: FloatArray
    components: IntArray


def decision_rule(
    equilibrium: Equilibrium,
    row: int,
    *,
    tau: float,
    n_classes: int,
    small_groups: str,
    reached: BoolArray,
    sets: dict[tuple[int, ...], int],
    new_groups: bool = True,
) -> RuleOutcome:
    """The rule at one temperature; its settings are those of `profile`.

    `reached` are the points that labels reach; numbers of new confused sets are added to `sets`.
    """
    model = equilibrium.model
    n, q = model.n_nodes, model.n_states
    p = equilibrium.marginals[row]
    favourite = np.argmax(p, axis=1)
    top_two = np.partition(p, q - 2, axis=1)[:, q - 2 :]
    margin = top_two[:, 1] - top_two[:, 0]
    labelled = (model.clamped != FREE) & (model.clamped < n_classes)
    named = np.arange(q) < n_classes
    anchored = ~named  # states without a name that a point is held in: new classes already
    anchored[anchored] = np.isin(np.flatnonzero(anchored), model.clamped)
    sure = margin > tau + TIE
    confident = reached & sure & named[favourite]
    held_new = anchored[favourite] & sure
    classified = labelled | confident | held_new

    threshold = (1 + 1 / q) / 2
    components = grains(equilibrium, row, threshold)
    if small_groups == "join":
        small = np.bincount(components)[components] < LEAST_NEW
        small &= ~np.isin(components, components[classified])
        components = joined(equilibrium, row, components, small, 1 / q)
    # The last column: a new class that is held, whichever.
    present = np.zeros((int(components.max(initial=-1)) + 1, n_classes + 1), dtype=bool)
    present[components[classified], np.minimum(favourite[classified], n_classes)] = True

    status = np.full(n, Status.NEW, dtype=np.int8)
    outcomes = np.full(n, n_classes, dtype=np.int32)
    n_present = present.sum(axis=1)[components]
    beside_new = present[:, n_classes][components]
    grown = (n_present == 1) & ~beside_new
    only = present[:, :n_classes] @ np.arange(n_classes)
    outcomes[grown] = only[components[grown]]  # its only class
    status[grown] = Status.GROWN
    status[n_present > 1] = Status.CONFUSED
    if small_groups != "new":
        outlier = (n_present == 0) & (np.bincount(components)[components] < LEAST_NEW)
        status[outlier] = Status.OUTLIER
        if np.any(outlier):
            outcomes[outlier] = -1 - sets.setdefault((), len(sets))
    outcomes[classified] = favourite[classified]
    status[classified] = Status.CONFIDENT
    status[labelled] = Status.LABELLED
    confused = status == Status.CONFUSED
    code = np.zeros(len(present), dtype=np.int32)
    for c in np.unique(components[confused]):
        classes = tuple(np.flatnonzero(present[c, :n_classes]).tolist())
        code[c] = -1 - sets.setdefault(classes, len(sets))
    outcomes[confused] = code[components[confused]]
    if not new_groups:
        alone = (status == Status.NEW) | (status == Status.OUTLIER)
        open_to = p[:, :n_classes] >= top_two[:, 1:] - tau
        points = np.flatnonzero(alone & reached & (n_present == 0) & open_to.any(axis=1))
        packed = np.packbits(open_to[points], axis=1)  # sorts as the flags do
        _, first, kind = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        code = np.zeros(len(first), dtype=np.int32)
        for k, members in enumerate(open_to[points[first]]):
            classes = tuple(np.flatnonzero(members).tolist())
            code[k] = -1 - sets.setdefault(classes, len(sets))
        outcomes[points] = code[kind.ravel()]
        status[points] = Status.CONFUSED
    status[held_new] = Status.NEW
    if np.any(held_new):
        # One component for each new class, also for those that have grown on to it.
        joining = (status == Status.NEW) & beside_new
        preferred = np.argmax(np.where(anchored, p, -1.0), axis=1)
        components = np.where(joining, len(present) + preferred, components).astype(np.int32)
    return RuleOutcome(outcomes, status, margin, components)


def label_reach(model: PottsModel, n_classes: int) -> tuple[BoolArray, BoolArray]:
    """Points with a label of a named class, hard or soft, and points in connected parts with one.

    Labels are clamped points and free ones with a field of their own. A field that most points
    share, up to a constant, is a prior and no label; nor are fields labels where most free points
    have one of their own (diffused labels). Where no label reaches, a class-level term or a prior
    may prefer a class, but no label says so. Fields that differ within a part are the user's own
    evidence and reach it as labels do; so does the unusual field of a point alone.
    """
    free = model.clamped == FREE
    own = model.fields - model.fields[:, :1]
    tie = TIE * float(np.abs(own).max(initial=0.0))
    unusual = np.any(np.abs(own - np.median(own, axis=0)) > tie, axis=1)
    soft = free & unusual
    if 2 * soft.sum() > free.sum():
        soft[:] = False
    holders = soft | (~free & (model.clamped < n_classes))
    part = connected_parts(model.n_nodes, model.graph.edges[model.couplings != 0])
    one = np.empty((int(part.max(initial=-1)) + 1, own.shape[1]))
    one[part] = own  # of any one point of each part
    differs = np.any(np.abs(own - one[part]) > tie, axis=1)
    alone = (np.bincount(part)[part] == 1) & np.any(np.abs(own) > tie, axis=1) & unusual
    return holders, np.isin(part, part[holders | differs | alone])


def misclassified(
    decision: Decision, truth: npt.ArrayLike, *, labelled_classes: npt.ArrayLike | None = None
) -> BoolArray:
    """Which points are wrong, counted as in the paper's figures.

    A point is right if it carries the name of its true class, or if it is in the new class that
    stands for its true class and nobody labelled that class. All else is wrong. New classes are
    assigned to unlabelled true classes one to one, so that most points are right.

    Parameters
    ----------
    decision : Decision
    truth : array-like of int, shape (n,)
        True classes; from n_classes on those that have no name in the decision.
    labelled_classes : array-like of int, optional
        The classes of which a label was given (default: all named ones; an empty list when nothing
        was labelled). Only the others can be discovered.

    Returns
    -------
    bool array (n,)

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.answers import decide, misclassified
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.engines import Enumeration
    >>> graph = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)], [0.3, 1, 1, 1, 0.2])
    >>> run = Enumeration().run(MinCut()(graph, [0, -1, -1, -1, 1], n_states=2), [0.0, 0.7])
    >>> [int(misclassified(decide(run, t), [0, 2, 2, 2, 1]).sum()) for t in (0.0, 0.7)]
    [3, 0]
    """
    from scipy.optimize import linear_sum_assignment

    true = integer_array(truth, "truth")
    if true.shape != decision.outcomes.shape:
        raise InvalidInputError(
            f"truth has shape {true.shape}, the decision is about {len(decision.outcomes)} points"
        )
    named = decision.n_classes
    labelled = np.arange(named) if labelled_classes is None else np.asarray(labelled_classes)
    right = decision.outcomes == true
    hidden = np.setdiff1d(np.unique(true), labelled)
    is_new = decision.outcomes >= named
    right[is_new] = False
    if len(hidden) and np.any(is_new):
        codes, new_row = np.unique(decision.outcomes[is_new], return_inverse=True)
        of_hidden = np.isin(true[is_new], hidden)
        columns = np.searchsorted(hidden, true[is_new][of_hidden])
        shared = np.zeros((len(codes), len(hidden)), dtype=np.int64)
        np.add.at(shared, (new_row[of_hidden], columns), 1)
        for row, column in zip(*linear_sum_assignment(-shared), strict=True):
            right |= (decision.outcomes == codes[row]) & (true == hidden[column])
    return np.asarray(~right, dtype=np.bool_)
