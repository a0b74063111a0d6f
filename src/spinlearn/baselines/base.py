"""What all rival methods share; each adds only how it solves its problem."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from spinlearn.answers.labels import UNKNOWN, encode_outcomes
from spinlearn.answers.unseen import NEGLIGIBLE
from spinlearn.errors import GraphWarning, InvalidInputError
from spinlearn.inputs import (
    LabelledScore,
    joining,
    read_graph,
    similarities,
    training_labels,
    warn_of_contradiction,
)
from spinlearn.model.arrays import TIE, BoolArray, FloatArray, IntArray
from spinlearn.model.graph import Graph, reached


@dataclass(kw_only=True, eq=False, repr=False)
class GraphEstimator(BaseEstimator, ABC):
    """Base of all rivals: one input, one check of settings, one text for what they share.

    Settings are the fields of a dataclass. What a base describes is added to the docstrings below
    it.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "knn", "mutual_knn", or a builder such as `spinlearn.KNN` with
        settings of its own. Not used when `fit` is given a graph.

    Attributes
    ----------
    graph_ : Graph
        What was built, or given.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # of scikit-learn

    graph: Any = "mutual_knn"

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        base = next(kind for kind in cls.__mro__[1:] if issubclass(kind, GraphEstimator))
        if cls.__doc__ and base.__doc__:
            cls.__doc__ = _with_entries(
                inspect.cleandoc(cls.__doc__), inspect.cleandoc(base.__doc__)
            )

    def _check_settings(self) -> None:
        """Refuse bad settings before any work starts."""
        rules = self._parameter_constraints
        # To scikit-learn True is a number.
        values = {
            name: repr(value)
            if isinstance(value, bool) and "boolean" not in rules.get(name, ())
            else value
            for name, value in self.get_params(deep=False).items()
        }
        try:
            validate_parameter_constraints(rules, values, type(self).__name__)
        except InvalidParameterError as error:
            raise InvalidInputError(str(error)) from None

    def _refuse_negative_weights(self) -> None:
        """Negative similarities have no place in a cut or a quadratic cost."""
        n_negative = int(np.sum(self.graph_.weights < 0))
        if n_negative:
            raise InvalidInputError(
                f"{n_negative} edges have a negative weight, but {type(self).__name__} needs "
                "similarities >= 0: drop them, or use PottsClassifier, which takes couplings of "
                "either sign"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _with_entries(text: str, base: str) -> str:
    """A docstring with the parameters and attributes that the docstring of a base describes."""
    for section in ("Parameters", "Attributes"):
        heading = f"{section}\n{'-' * len(section)}\n"
        entries = base.partition(heading)[2].partition("\n\n")[0].rstrip() + "\n"
        if heading in text:
            text = text.replace(heading, heading + entries)
        else:
            at = [text.find(f"\n{name}\n---") for name in ("Attributes", "Examples")]
            end = min((a for a in at if a >= 0), default=len(text))
            text = f"{text[:end].rstrip()}\n\n{heading}{entries}{text[end:]}"
    return text


class GraphClassifier(LabelledScore, GraphEstimator):
    """Base of the rival classifiers: it reads the input and the labels and keeps the answer.

    A subclass is a dataclass, or stores its settings in ``__init__`` (keyword-only, beside
    `graph`). Its ``_solve(graph, states, n_classes)`` returns soft labels (n, n_classes) >= 0; rows
    divided by their sums are probabilities, and a row of zeros says that no label reaches the
    point.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The labels given, sorted.
    label_distributions_ : float array (n, n_classes)
        Soft labels, rows sum to one; equal where no label reaches a point.
    transduction_ : array (n,)
        The class of the largest soft label; -1 (text labels: 'unknown') if none reaches, or a tie.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.baselines import GraphClassifier
    >>> class Majority(GraphClassifier):  # every point is of the class with most labels
    ...     def _solve(self, graph, states, n_classes):
    ...         votes = np.bincount(states[states >= 0], minlength=n_classes)
    ...         return np.tile(votes.astype(float), (graph.n_nodes, 1))
    >>> Majority().fit([[0.0], [1.0], [2.0]], [1, -1, 1]).transduction_.tolist()
    [1, 1, 1]
    """

    @abstractmethod
    def _solve(self, graph: Graph, states: IntArray, n_classes: int) -> FloatArray:
        """Soft labels on a `graph` of weights > 0; `states` are class numbers, -1 for no label."""

    def fit(self, X: Any, y: Any) -> Self:
        """Classify the points of `X` from the few labels in `y`, both as for `PottsClassifier`."""
        if y is None:
            raise InvalidInputError(
                "requires y to be passed, but the target y is None: give one label per point, "
                "-1 where there is none"
            )
        self._check_settings()
        self._training = read_graph(self, X, self.graph)
        self.graph_ = self._training.graph
        self._refuse_negative_weights()
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
        """Soft labels (n_new, n_classes) of unseen points: means over neighbours, by similarity.

        `X` (n_new, d) are the points; after fitting a graph, their similarities to its nodes,
        (n_new, n). Equal for all classes where a point resembles no training point.
        """
        return self._attached(X)[0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Classes (n_new,) of unseen points `X`, as for `predict_proba`, by the largest soft label.

        -1 ('unknown' among text labels) where a point resembles no training point, or two classes
        alike.
        """
        return self._named(*self._attached(X))

    def _attached(self, X: Any) -> tuple[FloatArray, BoolArray]:
        """Soft labels of unseen points, sum_j A_ij p_j / sum_j A_ij, and where they mean anything.

        Weights never vanish: points are reached only where they sum to more than a rounding error
        of the couplings.
        """
        check_is_fitted(self, "label_distributions_")
        similarity, _ = similarities(self, X, self._training)
        total = np.asarray(similarity.sum(axis=1)).ravel()
        means: FloatArray = similarity @ self.label_distributions_
        known = total > NEGLIGIBLE * np.abs(self.graph_.weights).max(initial=0.0)
        means[known] /= total[known, None]
        means[~known] = 1 / len(self.classes_)
        return means, known

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
        if self._training.points is not None:
            warn_of_contradiction(
                self._training.points,
                self._label_code,
                "both are used; correct or drop one of them",
            )


class GraphClusterer(ClusterMixin, GraphEstimator):
    """Base of the clustering methods: it reads the input and keeps the answer.

    A subclass stores settings of its own in ``__init__`` and implements ``_cluster(graph)``, which
    returns the cluster of every point.

    Attributes
    ----------
    labels_ : int array (n,)
        Cluster of every point; -1 where it is in none.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn.baselines import GraphClusterer
    >>> class Degree(GraphClusterer):  # by the number of neighbours
    ...     def _cluster(self, graph):
    ...         return np.diff(graph.indptr)
    >>> Degree().fit([[0.0], [1.0], [2.0]]).labels_.tolist()
    [2, 2, 2]
    """

    @abstractmethod
    def _cluster(self, graph: Graph) -> IntArray:
        """Cluster number of every node."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the points of `X`, as for `PottsClassifier`; scikit-learn's `y` is not used."""
        self._check_settings()
        self.graph_ = read_graph(self, X, self.graph).graph
        self.labels_ = self._cluster(self.graph_)
        return self


def numbered_by_size(parts: npt.NDArray[Any]) -> IntArray:
    """Cluster numbers 0, 1, ... from the largest to the smallest, ties by first member."""
    _, first, inverse, sizes = np.unique(
        parts, return_index=True, return_inverse=True, return_counts=True
    )
    number = np.empty(len(sizes), dtype=np.int32)
    number[np.lexsort((first, -sizes))] = np.arange(len(sizes), dtype=np.int32)
    return number[inverse]
