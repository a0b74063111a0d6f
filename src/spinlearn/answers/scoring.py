"""How many points are misclassified: the counting rule of the paper's figures, written down."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.answers.rule import Decision
from spinlearn.core.arrays import BoolArray, integer_array
from spinlearn.errors import InvalidInputError


def misclassified(
    decision: Decision, truth: npt.ArrayLike, *, labelled_classes: npt.ArrayLike | None = None
) -> BoolArray:
    """Which points are wrong, counted as in the paper's figures.

    A point is right if it carries the name of its true class, or if it is in the new class that
    stands for its true class and nobody labelled that class. All else is wrong: another name, a
    further new class, a point left undecided. New classes are assigned to unlabelled true classes
    one to one, so that most points are right.

    Parameters
    ----------
    decision : Decision
        What was decided.
    truth : array-like of int, shape (n,)
        True classes; 0 to n_classes - 1 are the decision's named classes, further numbers are
        classes that have no name in it.
    labelled_classes : array-like of int, optional
        The classes of which a label was given (default: all named ones; an empty list when nothing
        was labelled). Only the others can be discovered.

    Returns
    -------
    bool array (n,)

    Examples
    --------
    A triangle between two labelled points is a class that nobody labelled:

    >>> from spinlearn import Graph
    >>> from spinlearn.answers import decide, misclassified
    >>> from spinlearn.energies import min_cut
    >>> from spinlearn.engines import Enumeration
    >>> graph = Graph(5, [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)], [0.3, 1, 1, 1, 0.2])
    >>> run = Enumeration().run(min_cut(graph, [0, -1, -1, -1, 1], n_states=2), [0.0, 0.7])
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
