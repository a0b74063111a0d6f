"""Classifiers that cut the graph: the paper's energy at T = 0, with the labels held.

Several minimum cuts into two classes may share the least weight, which is one of the paper's
reasons to sample instead: both extreme ones are reported, and points between them are undecided.
More classes are NP-hard; they are approximated by alpha-expansion, as in the paper's section 6.1,
which ends within twice the least weight, and `minimum_.exact` is False.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from spinlearn.baselines.base import GraphClassifier
from spinlearn.errors import InvalidInputError, LabelWarning
from spinlearn.minimizers import (
    Minimum,
    alpha_beta_swap,
    alpha_expansion,
    minimum_cut,
    randomized_cut,
)
from spinlearn.minimizers.minimum import unreachable
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel


class CutClassifier(GraphClassifier):
    """Base: the paper's eq. 2 at T = 0, labels held, by a minimiser of the subclass.

    Attributes
    ----------
    minimum_ : Minimum
        The labelling in states; of two classes with both extreme cuts and bounds of their number.
    energy_ : float
        Its energy: the weight of the edges cut.
    """

    def _cut(
        self,
        minimize: Callable[[PottsModel], Minimum],
        model: PottsModel,
        n_classes: int,
        *,
        keeps_ties: bool = True,
    ) -> FloatArray:
        """Soft labels of a minimum of `model`, q >= 2; all zero where the class is arbitrary."""
        self.minimum_ = minimize(model)
        self.energy_ = self.minimum_.energy
        decided = ~self.minimum_.undecided
        if not keeps_ties:
            decided |= ~unreachable(model)
        soft = np.zeros((model.n_nodes, model.n_states))
        soft[decided, self.minimum_.labels[decided]] = 1.0
        return soft[:, :n_classes]


@dataclass(kw_only=True, eq=False, repr=False)
class MinCutClassifier(CutClassifier):
    """Classification by a minimum cut: the paper's energy at T = 0.

    A. Blum and S. Chawla, Learning from labeled and unlabeled data using graph mincuts, ICML 2001.

    Parameters
    ----------
    ties : {"unknown", "lowest"}, default "unknown"
        Points on which the minimum cuts into two classes disagree: shared equally between both
        (`transduction_` -1 or 'unknown'), or given to the class that sorts first, as one minimum
        cut does. Points that no label reaches are unknown in either case.

    Examples
    --------
    >>> from spinlearn.baselines import MinCutClassifier
    >>> MinCutClassifier().fit([[0], [1], [2], [9]], [0, -1, -1, 1]).transduction_.tolist()
    [0, 0, 0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"ties": [StrOptions({"unknown", "lowest"})]}

    ties: str = "unknown"

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        model = PottsModel(graph, max(n_classes, 2), clamped=states)
        minimize = minimum_cut if model.n_states == 2 else alpha_expansion
        return self._cut(minimize, model, n_classes, keeps_ties=self.ties == "unknown")


@dataclass(kw_only=True, eq=False, repr=False)
class _MoveClassifier(CutClassifier):
    """Base: the moves are minimum cuts.

    Parameters
    ----------
    pair_cost : array-like of shape (n_classes, n_classes), optional
        Cost of neighbours in two classes, in the order of `classes_`; default: 1 for any two
        different ones. Expansion needs a metric, swap does without the triangle inequality.
    """

    _minimize: ClassVar[Any]
    pair_cost: Any = None

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        if self.pair_cost is not None and n_classes == 1:
            raise InvalidInputError(
                "pair_cost is given, but all labels are of one class: there is no pair; leave it "
                "None"
            )
        model = PottsModel(graph, max(n_classes, 2), pair_cost=self.pair_cost, clamped=states)
        return self._cut(self._minimize, model, n_classes)


class AlphaExpansion(_MoveClassifier):
    """Classification by a cut into any number of classes that no expansion of a class improves.

    Y. Boykov, O. Veksler and R. Zabih, Fast approximate energy minimization via graph cuts, IEEE
    PAMI 23, 1222 (2001).

    Examples
    --------
    >>> from spinlearn.baselines import AlphaExpansion
    >>> AlphaExpansion().fit([[0], [1], [2], [9]], [0, -1, -1, 1]).transduction_.tolist()
    [0, 0, 0, 1]
    """

    _minimize = staticmethod(alpha_expansion)


class AlphaBetaSwap(_MoveClassifier):
    """As `AlphaExpansion`, of the same authors, by exchanges of points between two classes.

    Examples
    --------
    >>> from spinlearn.baselines import AlphaBetaSwap
    >>> AlphaBetaSwap().fit([[0], [1], [2], [9]], [0, -1, -1, 1]).transduction_.tolist()
    [0, 0, 0, 1]
    """

    _minimize = staticmethod(alpha_beta_swap)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomizedMinCut(GraphClassifier):
    """Classification by the vote of minimum cuts of the graph with noise on its weights.

    A. Blum, J. Lafferty, M. R. Rwebangira and R. Reddy, Semi-supervised learning using randomized
    mincuts, ICML 2004.

    Parameters
    ----------
    n_cuts : int, default 100
        Cuts made; more than two classes are cut by alpha-expansion.
    noise : float, default 0.2
        Largest noise on a weight, in units of the mean weight.
    min_balance : float, default 0.1
        A cut votes only if its smallest class has at least this share of n / n_classes points.
    random_state : int or None, default None

    Attributes
    ----------
    vote_ : Vote
        The vote, how many cuts passed the balance filter, and the balance of each.

    Examples
    --------
    >>> from spinlearn.baselines import RandomizedMinCut
    >>> model = RandomizedMinCut(n_cuts=20, random_state=0)
    >>> model.fit([[0], [1], [8], [9]], [0, -1, -1, 1]).transduction_.tolist()
    [0, 0, 1, 1]
    """

    n_cuts: int = 100
    noise: float = 0.2
    min_balance: float = 0.1
    random_state: int | None = None

    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        self.vote_ = randomized_cut(
            PottsModel(graph, max(n_classes, 2), clamped=states),
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
