"""Minimum cut (Blum & Chawla, ICML 2001): the labelling that cuts the least weight of edges.

With two classes the answer is exact. Several cuts may share the least weight, which is one of the
paper's reasons to sample instead: both extreme ones are reported, and points between them are
undecided. The minimum cut into more classes is NP-hard; it is approximated by alpha-expansion, as
in the paper's section 6.1, and `minimum_.exact` is False.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.baselines.cut_classifier import CutClassifier
from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers import Minimum, alpha_expansion, minimum_cut
from spinlearn.minimizers.minimum import unreachable

TIES = ("unknown", "lowest")


class MinCutClassifier(CutClassifier):
    """Classification by a minimum cut: the paper's energy at T = 0.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.
    ties : {"unknown", "lowest"}, default "unknown"
        Points on which the minimum cuts into two classes disagree: "unknown" shares them equally
        between both classes (`transduction_` -1 or 'unknown'), "lowest" gives them to the class
        that sorts first, as one minimum cut among others does. Points that no label reaches are
        unknown in either case.

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
    minimum_ : MinimumCut, or Minimum for more than two classes
        Both extreme cuts, bounds of their number, the undecided points; see `spinlearn.minimizers`.
    energy_ : float
        Weight of the cut.

    References
    ----------
    A. Blum and S. Chawla, Learning from labeled and unlabeled data using graph mincuts, ICML 2001.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.full(20, -1)
    >>> y[4], y[15] = 0, 1
    >>> from spinlearn.baselines import MinCutClassifier
    >>> MinCutClassifier().fit(X, y).transduction_.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(self, *, graph: Any = "mutual_knn", ties: str = "unknown") -> None:
        self.graph = graph
        self.ties = ties

    def _check_settings(self) -> None:
        if self.ties not in TIES:
            raise InvalidInputError(
                f"ties={self.ties!r} is unknown: use one of {', '.join(map(repr, TIES))}"
            )

    def _minimize(self, model: PottsModel) -> Minimum:
        return minimum_cut(model) if model.n_states == 2 else alpha_expansion(model)

    def _soft_labels(self, model: PottsModel, minimum: Minimum) -> FloatArray:
        soft = super()._soft_labels(model, minimum)
        if self.ties == "lowest":
            tied = np.flatnonzero(minimum.undecided & ~unreachable(model))
            soft[tied, minimum.labels[tied]] = 1.0
        return soft
