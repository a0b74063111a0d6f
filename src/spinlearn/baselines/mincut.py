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
from spinlearn.minimizers.ties import unreached

TIES = ("unknown", "lowest")


class MinCutClassifier(CutClassifier):
    """Classification by a minimum cut.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph, as in `PottsClassifier`.
    ties : str, default "unknown"
        Points on which the minimum cuts into two classes disagree: "unknown" shares them equally
        between both classes (`transduction_` -1 or 'unknown'), "lowest" gives them to the class
        that sorts first, as one minimum cut among others does. Points that no label reaches are
        unknown in either case.

    Attributes
    ----------
    classes_, label_distributions_, transduction_, graph_
        See `GraphClassifier`.
    minimum_ : MinimumCut, or Minimum for more than two classes
        Both extreme cuts, bounds of their number, the undecided points; see `spinlearn.minimizers`.
    energy_ : float
        Weight of the cut.
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
            tied = np.flatnonzero(minimum.undecided & ~unreached(model))
            soft[tied, minimum.labels[tied]] = 1.0
        return soft
