"""Move-making cuts (Boykov, Veksler & Zabih, ICCV 1999) as classifiers: expansion, swap.

Both lower the weight of the cut between any number of classes by moves that are minimum cuts; see
`spinlearn.minimizers.cuts`. Expansion ends within twice the
least weight.
"""

from __future__ import annotations

from typing import Any

from spinlearn.baselines.cut_classifier import CutClassifier
from spinlearn.core.model import PottsModel
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers import Minimum, alpha_beta_swap, alpha_expansion


class _MoveClassifier(CutClassifier):
    def __init__(self, *, graph: Any = "mutual_knn", pair_cost: Any = None) -> None:
        self.graph = graph
        self.pair_cost = pair_cost

    def _pair_cost(self, n_classes: int) -> Any:
        if self.pair_cost is None or n_classes > 1:
            return self.pair_cost
        raise InvalidInputError(
            "pair_cost is given, but all labels are of one class: there is no pair; leave it None"
        )


class AlphaExpansion(_MoveClassifier):
    """Classification by a cut into any number of classes that no expansion of a class improves.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.
    pair_cost : array-like of shape (n_classes, n_classes), optional
        Cost of neighbours in two classes, in the order of `classes_`: a metric. Default: 1 for any
        two different classes.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The labels given, sorted.
    label_distributions_ : float array (n, n_classes)
        Soft labels, rows sum to one; equal where no label reaches a point.
    transduction_ : array (n,)
        The class of the largest soft label; -1 (text labels: 'unknown') where no label reaches the
        point or the largest two are equal.
    graph_ : Graph
        What was built, or given.
    minimum_ : Minimum
        The labelling in states, its energy, whether it is exact, which points are undecided.
    energy_ : float
        Its energy: the weight of the edges cut.

    References
    ----------
    Y. Boykov, O. Veksler and R. Zabih, Fast approximate energy minimization via graph cuts, IEEE
    PAMI 23, 1222 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.full(20, -1)
    >>> y[4], y[15] = 0, 1
    >>> from spinlearn.baselines import AlphaExpansion
    >>> AlphaExpansion().fit(X, y).transduction_.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def _minimize(self, model: PottsModel) -> Minimum:
        return alpha_expansion(model)


class AlphaBetaSwap(_MoveClassifier):
    """Classification by a cut that no exchange of points between two classes improves.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.
    pair_cost : array-like of shape (n_classes, n_classes), optional
        Cost of neighbours in two classes, in the order of `classes_`: a semi-metric, the triangle
        inequality is not needed. Default: 1 for any two different classes.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The labels given, sorted.
    label_distributions_ : float array (n, n_classes)
        Soft labels, rows sum to one; equal where no label reaches a point.
    transduction_ : array (n,)
        The class of the largest soft label; -1 (text labels: 'unknown') where no label reaches the
        point or the largest two are equal.
    graph_ : Graph
        What was built, or given.
    minimum_ : Minimum
        The labelling in states, its energy, whether it is exact, which points are undecided.
    energy_ : float
        Its energy: the weight of the edges cut.

    References
    ----------
    Y. Boykov, O. Veksler and R. Zabih, Fast approximate energy minimization via graph cuts, IEEE
    PAMI 23, 1222 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.full(20, -1)
    >>> y[4], y[15] = 0, 1
    >>> from spinlearn.baselines import AlphaBetaSwap
    >>> AlphaBetaSwap().fit(X, y).transduction_.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def _minimize(self, model: PottsModel) -> Minimum:
        return alpha_beta_swap(model)
