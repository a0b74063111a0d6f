"""CutClassifier: what classifiers share that take the labelling of least energy as the answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from spinlearn.baselines.base import GraphClassifier
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.minimizers import Minimum


class CutClassifier(GraphClassifier):
    """Base: the paper's eq. 2 at T = 0, labels held, by a minimiser of the subclass.

    Attributes
    ----------
    minimum_ : Minimum
        The labelling in states, its energy, whether it is exact, which points are undecided.
    energy_ : float
        Its energy: the weight of the edges cut.
    """

    minimum_: Minimum
    energy_: float

    @abstractmethod
    def _minimize(self, model: PottsModel) -> Minimum:
        """A labelling of low energy."""

    def _pair_cost(self, n_classes: int) -> Any:
        """Cost of two neighbouring classes; None is Potts, 1 - identity."""
        return None

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        q = max(n_classes, 2)  # a class without labels loses nothing and gains nothing
        model = PottsModel(graph, q, pair_cost=self._pair_cost(n_classes), clamped=states)
        self.minimum_ = self._minimize(model)
        self.energy_ = self.minimum_.energy
        return self._soft_labels(model, self.minimum_)[:, :n_classes]

    def _soft_labels(self, model: PottsModel, minimum: Minimum) -> FloatArray:
        """One for the class of a point, all zero where its class is arbitrary, (n, q)."""
        soft = np.zeros((model.n_nodes, model.n_states))
        decided = np.flatnonzero(~minimum.undecided)
        soft[decided, minimum.labels[decided]] = 1.0
        return soft
