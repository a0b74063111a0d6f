"""Move-making cuts (Boykov, Veksler & Zabih, ICCV 1999) as classifiers: expansion, swap.

Both lower the weight of the cut between any number of classes by moves that are minimum cuts; see
`spinlearn.minimizers.expansion` and `spinlearn.minimizers.swap`. Expansion ends within twice the
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
    """Classification by a cut into any number of classes that no expansion improves.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph, as in `PottsClassifier`.
    pair_cost : array-like (n_classes, n_classes), optional
        Cost of neighbours in two classes, in the order of `classes_`: a metric. Default: 1 for any
        two different classes.

    Attributes
    ----------
    classes_, label_distributions_, transduction_, graph_
        See `GraphClassifier`. Points that no label reaches are unknown.
    minimum_, energy_
        See `CutClassifier`.
    """

    def _minimize(self, model: PottsModel) -> Minimum:
        return alpha_expansion(model)


class AlphaBetaSwap(_MoveClassifier):
    """Classification by a cut that no exchange between two classes improves.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph, as in `PottsClassifier`.
    pair_cost : array-like (n_classes, n_classes), optional
        Cost of neighbours in two classes, in the order of `classes_`: a semi-metric, the triangle
        inequality is not needed. Default: 1 for any two different classes.

    Attributes
    ----------
    classes_, label_distributions_, transduction_, graph_
        See `GraphClassifier`. Points that no label reaches are unknown.
    minimum_, energy_
        See `CutClassifier`.
    """

    def _minimize(self, model: PottsModel) -> Minimum:
        return alpha_beta_swap(model)
