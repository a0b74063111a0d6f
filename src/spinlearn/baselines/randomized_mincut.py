"""Randomized min-cut (Blum, Lafferty, Rwebangira & Reddy, ICML 2004): noisy minimum cuts vote."""

from __future__ import annotations

import warnings
from typing import Any

from spinlearn.baselines.base import GraphClassifier
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.errors import LabelWarning
from spinlearn.minimizers import randomized_cut


class RandomizedMinCut(GraphClassifier):
    """Classification by the vote of minimum cuts of the graph with noise on its weights.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.
    n_cuts : int, default 100
        Cuts made; more than two classes are cut by alpha-expansion.
    noise : float, default 0.2
        Largest noise on a weight, in units of the mean weight.
    min_balance : float, default 0.1
        A cut votes only if its smallest class has at least this share of n / n_classes points.
    random_state : int or None, default None
        Seed of the noise.

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
    vote_ : Vote
        The vote, how many cuts passed the balance filter, and the balance of each.

    References
    ----------
    A. Blum, J. Lafferty, M. R. Rwebangira and R. Reddy, Semi-supervised learning using randomized
    mincuts, ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.full(20, -1)
    >>> y[4], y[15] = 0, 1
    >>> from spinlearn.baselines import RandomizedMinCut
    >>> RandomizedMinCut(n_cuts=20, random_state=0).fit(X, y).transduction_.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(
        self,
        *,
        graph: Any = "mutual_knn",
        n_cuts: int = 100,
        noise: float = 0.2,
        min_balance: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.graph = graph
        self.n_cuts = n_cuts
        self.noise = noise
        self.min_balance = min_balance
        self.random_state = random_state

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        model = PottsModel(graph, max(n_classes, 2), clamped=states)
        self.vote_ = randomized_cut(
            model,
            n_cuts=self.n_cuts,
            noise=self.noise,
            min_balance=self.min_balance if n_classes > 1 else 0.0,
            seed=self.random_state,
        )
        if self.vote_.n_balanced == 0:
            warnings.warn(
                f"all {self.n_cuts} cuts give almost all points to one class, and so all were "
                "counted: label more points, or lower min_balance",
                LabelWarning,
                stacklevel=3,
            )
        return self.vote_.shares[:, :n_classes]
