"""GraphClassifier: what all rival classifiers share; each adds only how it solves its problem.

fit = graph of similar points -> states of the labels -> soft labels F (n, n_classes), F >= 0 ->
probabilities, rows of F divided by their sums. A row of zeros says that no label reaches the point.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinlearn.analysis.grains import TIE, reached
from spinlearn.answers.names import UNKNOWN, encode_outcomes
from spinlearn.core.arrays import BoolArray, FloatArray, IntArray
from spinlearn.core.graph import Graph
from spinlearn.errors import ContradictionWarning, GraphWarning, InvalidInputError
from spinlearn.estimators.inputs import (
    LabelledScore,
    contradiction,
    joining,
    mean_over_neighbors,
    read_graph,
    require_labels,
    similarities,
    training_labels,
)


class GraphClassifier(LabelledScore, BaseEstimator, ABC):
    """Base of the rival classifiers: it reads the input and the labels and keeps the answer.

    A subclass stores its settings in ``__init__`` (keyword-only, ``graph="mutual_knn"`` among
    them), may refuse bad ones in ``_check_settings``, and implements ``_solve(graph, states,
    n_classes)``, which returns soft labels of shape (n, n_classes).

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

    Examples
    --------
    A method that gives every point the class with most labels:

    >>> import numpy as np
    >>> from spinlearn.baselines import GraphClassifier
    >>> class Majority(GraphClassifier):
    ...     def __init__(self, *, graph="mutual_knn"):
    ...         self.graph = graph
    ...
    ...     def _solve(self, graph, states, n_classes):
    ...         votes = np.bincount(states[states >= 0], minlength=n_classes)
    ...         return np.tile(votes.astype(float), (graph.n_nodes, 1))
    >>> Majority().fit([[0.0], [1.0], [2.0]], [1, -1, 1]).transduction_.tolist()
    [1, 1, 1]
    """

    graph: Any

    @abstractmethod
    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        """Soft labels (n, n_classes), non-negative; a row of zeros where no label reaches a point.

        Parameters
        ----------
        graph : Graph
            Its weights are positive.
        states : int array (n,)
            Class number 0 .. n_classes-1 of every labelled point, -1 for the others. Every class
            has at least one point.
        n_classes : int
            At least 1.
        """

    def _check_settings(self) -> None:
        """Refuse bad settings before any work starts."""

    def fit(self, X: Any, y: Any) -> Self:
        """Classify the points of X from the few labels in y.

        Parameters
        ----------
        X : array-like or data frame (n, d); or a Graph, SciPy sparse matrix or networkx graph
            Points, or their precomputed similarity graph. A sparse X is always a graph.
        y : array-like of shape (n,), or mapping
            Labels; -1 (or None, NaN, "") marks an unlabelled point. A dict as for
            `PottsClassifier`.

        Returns
        -------
        self
        """
        require_labels(y)
        self._check_settings()
        self._training = read_graph(self, X, self.graph)
        self.graph_ = self._training.graph
        refuse_negative_weights(self.graph_, type(self).__name__)
        self._label_code = training_labels(y, self._training)
        self.classes_ = self._label_code.classes
        if len(self.classes_) == 0:
            raise InvalidInputError(
                f"no point is labelled, but {type(self).__name__} spreads labels: label at least "
                "one point of each class, or cluster with SuperparamagneticClustering or "
                "NormalizedCutClustering"
            )
        self._warn()
        soft = self._solve(self.graph_, self._label_code.states, len(self.classes_))
        total = soft.sum(axis=1)
        known = total > 0
        self.label_distributions_ = np.full(soft.shape, 1 / soft.shape[1])
        self.label_distributions_[known] = soft[known] / total[known, None]
        self.transduction_ = self._named(self.label_distributions_, known)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Soft labels of unseen points.

        The mean over the point's neighbours in training, weighted by similarity; equal for all
        classes where a point resembles no training point.

        Parameters
        ----------
        X : array-like of shape (n_new, d)
            Unseen points; after fitting a graph, their similarities to its nodes, (n_new, n).

        Returns
        -------
        float array (n_new, n_classes)
        """
        return self._attached(X)[0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes of unseen points: that of the largest soft label.

        A point that resembles no training point, or two classes equally, is unknown (-1, or
        'unknown' among text labels).

        Parameters
        ----------
        X : array-like of shape (n_new, d)
            Unseen points; after fitting a graph, their similarities to its nodes, (n_new, n).

        Returns
        -------
        array (n_new,)
        """
        return self._named(*self._attached(X))

    def _attached(self, X: Any) -> tuple[FloatArray, BoolArray]:
        """Soft labels of unseen points, and where they mean anything."""
        check_is_fitted(self, "label_distributions_")
        return mean_over_neighbors(
            similarities(self, X, self._training)[0],
            self.label_distributions_,
            self.graph_,
            1 / len(self.classes_),
        )

    def _named(self, distributions: FloatArray, known: BoolArray) -> npt.NDArray[Any]:
        """The class of the largest entry of every row, in the user's labels."""
        largest = distributions.max(axis=1, keepdims=True)
        clear = known & (np.sum(distributions >= largest - TIE, axis=1) == 1)
        outcomes = np.full(len(distributions), UNKNOWN, dtype=np.int32)
        outcomes[clear] = np.argmax(distributions[clear], axis=1)
        return encode_outcomes(outcomes, self._label_code.classes, ())

    def _warn(self) -> None:
        """Say what is legal but probably not meant."""
        states = self._label_code.states
        joined = reached(self.graph_, states >= 0)
        if not np.all(joined):
            warnings.warn(
                f"{int(np.sum(~joined))} points are in parts of the graph without any label: "
                f"their class stays unknown; {joining(self._training)}",
                GraphWarning,
                stacklevel=3,
            )
        points = self._training.points
        clash = None if points is None else contradiction(points, states)
        if clash is not None:
            first, second = (str(self.classes_[states[p]]) for p in clash)
            remedy = "both are used; correct or drop one of them"
            warnings.warn(ContradictionWarning(clash, (first, second), remedy), stacklevel=3)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # a sparse X is a graph, not features
        return tags


def refuse_negative_weights(graph: Graph, estimator_name: str) -> None:
    """Negative similarities have no place in a cut or a quadratic cost."""
    if np.any(graph.weights < 0):
        raise InvalidInputError(
            f"{int(np.sum(graph.weights < 0))} edges have a negative weight, but "
            f"{estimator_name} needs similarities >= 0: drop them, or use PottsClassifier, which "
            "takes couplings of either sign"
        )
