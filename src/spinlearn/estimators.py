"""PottsClassifier: the whole method behind scikit-learn's interface.

fit = graph of similar points -> energy -> equilibrium at all temperatures -> profile -> T*.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from spinlearn.analysis.temperature_grid import temperature_grid
from spinlearn.core.arrays import FloatArray, temperature_array
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.results import Equilibrium
from spinlearn.decision import Decision, Status, profile, recommended_temperature
from spinlearn.energies import ENERGIES
from spinlearn.engines import make_engine
from spinlearn.errors import GraphWarning, InvalidInputError, LabelWarning
from spinlearn.graphs import as_graph, describe, make_builder
from spinlearn.graphs.points import checked_points
from spinlearn.labels import UNKNOWN, LabelCode, parse_labels


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """The answer at one temperature, in the user's labels.

    Attributes
    ----------
    temperature : float
    transduction : array (n,)
        Label of every training point; see `spinlearn.labels` for new and confused ones.
    names : object array (n,)
        The same in words: 'A', 'new:1', 'confused:A|B'.
    status : str array (n,)
        'labelled', 'confident', 'grown', 'confused' or 'new'.
    label_distributions : float array (n, n_classes)
        Probability of every named class.
    forced_labels : array (n,)
        The most probable named class, for those who need one everywhere; where no label reaches a
        point all are equally probable and this is the first.
    new_classes : dict
        Members (row numbers) of every new class, by its name.
    decision : Decision
    """

    temperature: float
    transduction: npt.NDArray[Any]
    names: npt.NDArray[Any]
    status: npt.NDArray[np.str_]
    label_distributions: FloatArray
    forced_labels: npt.NDArray[Any]
    new_classes: dict[str, npt.NDArray[np.intp]]
    decision: Decision


class PottsClassifier(ClassifierMixin, BaseEstimator):
    """Classification from a handful of labels by the thermal equilibrium of a Potts model.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "mutual_knn" (mutual 10 nearest neighbours plus minimum spanning
        tree), "knn", or a builder such as `KNN(n_neighbors=5, metric="cosine")`. Not used when
        `fit` is given a graph.
    energy : str, default "min_cut"
        The energy over labellings; "min_cut" is that of the paper.
    label_strength : float or array-like of shape (n,), default inf
        h of eq. 2: infinite holds labelled points in their class, a finite value lets the data
        overrule a label.
    engine : str or engine, default "auto"
        "auto" (exact where the graph is narrow enough), "junction_tree", "enumeration", or an
        engine with settings of your own.
    temperatures : "auto" or array-like, default "auto"
        The grid of the profile, in the unit of the couplings; "auto" covers the ferromagnetic,
        super-paramagnetic and paramagnetic phases, T = 0 included.
    temperature : "auto" or float, default "auto"
        Temperature of the answer; "auto" is T* of the paper's section 6.1.
    tau : float, default 0.1
        A point is confident when its two largest probabilities differ by more than this.
    eta_min : float or None, default None
        Smallest stability, in points times temperature, for which T* > 0 is chosen (the paper's
        eta_0). None: one point in a hundred over the whole grid.
    n_states : int or None, default None
        q; None means the number of different labels, at least 2. States beyond the labels stand for
        classes without a name.
    callback : callable or None
        Called with a `Progress` now and then; a true answer stops the run.
    random_state : int or None
        Seed of sampling engines; exact engines do not use it.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The labels given, sorted.
    equilibrium_ : Equilibrium
        All thermal averages over the grid.
    profile_ : Profile
        The outcome of every point at every temperature of the grid.
    temperature_ : float
        Temperature of the answer below.
    transduction_, status_, label_distributions_, forced_labels_, new_classes_
        The answer, see `Classification`. With whole-number labels, confused points are -1 and new
        classes -2, -3, ...; with text, 'confused:A|B' and 'new:1', 'new:2', ...
    names_ : object array (n,)
        The answer in words whatever the kind of labels.
    graph_, model_ : Graph, PottsModel
        What was built.
    graph_summary_ : GraphSummary
        Size, components, isolated points.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn import PottsClassifier
    >>> X = np.concatenate([np.linspace(0, 1, 20), np.linspace(5, 6, 20)])[:, None]
    >>> y = np.full(40, -1)
    >>> y[3], y[25] = 0, 1
    >>> PottsClassifier().fit(X, y).transduction_
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
           1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    """

    def __init__(
        self,
        *,
        graph: Any = "mutual_knn",
        energy: str = "min_cut",
        label_strength: Any = np.inf,
        engine: Any = "auto",
        temperatures: Any = "auto",
        temperature: Any = "auto",
        tau: float = 0.1,
        eta_min: float | None = None,
        n_states: int | None = None,
        callback: Callback | None = None,
        random_state: int | None = None,
    ) -> None:
        self.graph = graph
        self.energy = energy
        self.label_strength = label_strength
        self.engine = engine
        self.temperatures = temperatures
        self.temperature = temperature
        self.tau = tau
        self.eta_min = eta_min
        self.n_states = n_states
        self.callback = callback
        self.random_state = random_state

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Classify the points of X from the few labels in y.

        Parameters
        ----------
        X : array-like or data frame (n, d); or a Graph, SciPy sparse matrix or networkx graph
            Points, or their precomputed similarity graph. A sparse X is always a graph.
        y : array-like (n,)
            Labels; -1 (or None, NaN, "") marks an unlabelled point.
        """
        engine = make_engine(self.engine)
        self.graph_ = self._build_graph(X)
        self.graph_summary_ = describe(self.graph_)
        if y is None:
            raise InvalidInputError(
                "requires y to be passed, but the target y is None: give one label per point, "
                "-1 where there is none"
            )
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._label_code = parse_labels(y, self.graph_.n_nodes)
        self.classes_ = self._label_code.classes
        self._warn()
        self.model_ = self._build_model()
        grid = self._grid()
        self.equilibrium_ = engine.run(
            self.model_, grid, seed=self.random_state, callback=self.callback
        )
        found = self._profile(self.equilibrium_)
        if isinstance(self.temperature, str) and self.temperature == "auto":
            self.temperature_ = recommended_temperature(found, eta_min=self.eta_min)
        else:
            self.temperature_ = float(temperature_array(self.temperature)[0])
        self.profile_ = found.numbered_from(found.nearest_row(self.temperature_))

        answer = self.decide(self.temperature_)
        self.transduction_ = answer.transduction
        self.names_ = answer.names
        self.status_ = answer.status
        self.label_distributions_ = answer.label_distributions
        self.forced_labels_ = answer.forced_labels
        self.new_classes_ = answer.new_classes
        self._decision = answer.decision
        return self

    def _build_graph(self, X: Any) -> Graph:
        if _is_graph(X):
            self._builder = None
            if hasattr(X, "tocoo") and (X.ndim != 2 or X.shape[0] != X.shape[1]):
                raise InvalidInputError(
                    f"a sparse X is taken as a precomputed graph, so it must be square, got shape "
                    f"{X.shape}: sparse features are not supported, pass X.toarray()"
                )
            graph = as_graph(X)
            self.n_features_in_ = graph.n_nodes
            return graph
        self._builder = make_builder(self.graph)
        self._points = self._checked(X, reset=True)
        return self._builder.build(self._points)

    def _checked(self, X: Any, *, reset: bool) -> FloatArray:
        """X as an array of points; the frame's own check names the columns that do not fit."""
        if hasattr(X, "columns"):
            checked_points(X)
        points: FloatArray = validate_data(self, X, reset=reset, dtype=np.float64, order="C")
        return points

    def _build_model(self) -> PottsModel:
        if self.energy not in ENERGIES:
            raise InvalidInputError(
                f"energy {self.energy!r} is unknown: use one of {', '.join(map(repr, ENERGIES))}"
            )
        n_classes = len(self.classes_)
        n_states = max(n_classes, 2) if self.n_states is None else self.n_states
        if isinstance(n_states, (int, np.integer)) and n_states < n_classes:
            raise InvalidInputError(
                f"n_states={n_states} is fewer than the {n_classes} classes among the labels: "
                "leave it None or raise it"
            )
        return ENERGIES[self.energy](
            self.graph_, self._label_code.states, n_states, label_strength=self.label_strength
        )

    def _grid(self) -> FloatArray:
        if isinstance(self.temperatures, str):
            if self.temperatures != "auto":
                raise InvalidInputError(
                    f"temperatures={self.temperatures!r} is unknown: use 'auto' or a list of numbers"
                )
            return temperature_grid(self.model_)
        return np.unique(temperature_array(self.temperatures))

    def _warn(self) -> None:
        """Say what is legal but probably not meant."""
        states = self._label_code.states
        summary = self.graph_summary_
        if len(self.classes_) and summary.n_components > 1:
            reached = _components_with(self.graph_, states >= 0)
            if not np.all(reached):
                warnings.warn(
                    f"the graph has {summary.n_components} parts and "
                    f"{int(np.sum(~reached))} points are in parts without any label: they will be "
                    "new classes; a builder with a spanning tree joins all parts",
                    GraphWarning,
                    stacklevel=3,
                )
        if self._builder is not None and np.sum(states >= 0) > 1:
            clash = _contradiction(self._points, states)
            if clash is not None:
                first, second = clash
                warnings.warn(
                    f"points {first} and {second} are identical but labelled "
                    f"{self.classes_[states[first]]!r} and {self.classes_[states[second]]!r}: both "
                    "labels are kept; give label_strength a finite value if labels may be wrong",
                    LabelWarning,
                    stacklevel=3,
                )

    def _profile(self, equilibrium: Equilibrium, reference: Any = None) -> Any:
        return profile(
            equilibrium, tau=self.tau, n_classes=len(self.classes_), reference=reference
        )

    # -- answers -------------------------------------------------------------------------------

    def decide(self, temperature: float) -> Classification:
        """The answer at another temperature, from the equilibrium already found.

        New classes keep the numbers they have in `profile_`.
        """
        check_is_fitted(self, "profile_")
        value = float(temperature_array(temperature)[0])
        here = self.equilibrium_.at([value])
        row = self.profile_.nearest_row(value)
        if self.profile_.temperatures[row] == value:
            decision = self.profile_.decision(row)
        else:
            decision = self._profile(here, reference=self.profile_).decision(0)
        code: LabelCode = self._label_code
        probabilities = here.marginals[0][:, : code.n_classes]
        forced: npt.NDArray[Any] = np.empty(0, dtype=code.classes.dtype)
        if code.n_classes:
            forced = code.classes[np.argmax(probabilities, axis=1)]
        outcomes, inverse = np.unique(decision.outcomes, return_inverse=True)
        names = np.array([code.name(o, decision.confused_sets) for o in outcomes.tolist()], object)
        return Classification(
            temperature=value,
            transduction=code.encode(decision.outcomes, decision.confused_sets),
            names=names[inverse],
            status=np.array([s.name.lower() for s in Status])[decision.status],
            label_distributions=probabilities,
            forced_labels=forced,
            new_classes={f"new:{k}": members for k, members in decision.new_classes().items()},
            decision=decision,
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of the named classes for unseen points, (n_new, n_classes).

        The mean over the point's neighbours in training, weighted by similarity; equal for all
        classes where a point resembles no training point.

        Parameters
        ----------
        X : array-like (n_new, d)
            Unseen points; after fitting a graph, their similarities to its nodes, (n_new, n).
        """
        return self._attached(X)[1]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of unseen points, encoded as `transduction_`.

        A point takes the class of its largest probability when the first two differ by more than
        tau; otherwise the outcome that prevails among its neighbours: a class, a new class, or
        confused. A point that resembles no training point is unknown (-1 or 'unknown').
        """
        similarity, probabilities = self._attached(X)
        reached = np.asarray(similarity.sum(axis=1)).ravel() > 0
        outcomes = np.full(similarity.shape[0], UNKNOWN, dtype=np.int32)
        codes, members = np.unique(self._decision.outcomes, return_inverse=True)
        votes = np.zeros((similarity.shape[0], len(codes)))
        for k in range(len(codes)):
            votes[:, k] = similarity @ (members == k).astype(np.float64)
        outcomes[reached] = codes[np.argmax(votes[reached], axis=1)]
        if probabilities.shape[1] > 1:
            ordered = np.sort(probabilities, axis=1)
            confident = reached & (ordered[:, -1] - ordered[:, -2] > self.tau)
            outcomes[confident] = np.argmax(probabilities[confident], axis=1)
        return self._label_code.encode(outcomes, self._decision.confused_sets)

    def _attached(self, X: Any) -> tuple[Any, FloatArray]:
        """Similarities of unseen points to the training points, and their class probabilities."""
        check_is_fitted(self, "profile_")
        if self._builder is None:
            similarity = _similarity_rows(X, self.graph_.n_nodes)
        else:
            similarity = self._builder.attach(self._checked(X, reset=False), self._points)
        total = np.asarray(similarity.sum(axis=1)).ravel()
        probabilities = similarity @ self.label_distributions_
        reached = total > 0
        probabilities[reached] /= total[reached, None]
        if len(self.classes_):
            probabilities[~reached] = 1 / len(self.classes_)
        return similarity, probabilities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # a sparse X is a graph, not features
        return tags


def _is_graph(X: Any) -> bool:
    return isinstance(X, Graph) or hasattr(X, "tocoo") or hasattr(X, "is_directed")


def _similarity_rows(X: Any, n_nodes: int) -> Any:
    """Non-negative similarities of unseen points to the nodes of a fitted graph."""
    from scipy.sparse import csr_array

    matrix = csr_array(X if hasattr(X, "tocoo") else checked_points(X))
    if matrix.shape[1] != n_nodes:
        raise InvalidInputError(
            f"X has {matrix.shape[1]} features, but PottsClassifier is expecting {n_nodes}: after "
            "fitting a graph, give the similarities of the new points to each of its nodes"
        )
    if matrix.nnz and (not np.all(np.isfinite(matrix.data)) or matrix.data.min() < 0):
        raise InvalidInputError("similarities to the graph's nodes must be finite and >= 0")
    return matrix


def _components_with(graph: Graph, marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which nodes are in a connected part that holds a marked node."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    shape = (graph.n_nodes, graph.n_nodes)
    ones = np.ones(len(graph.neighbors))
    _, part = connected_components(csr_array((ones, graph.neighbors, graph.indptr), shape=shape))
    return np.isin(part, part[marked])


def _contradiction(points: FloatArray, states: npt.NDArray[Any]) -> tuple[int, int] | None:
    """Two identical points with different labels, if there are any."""
    labelled = np.flatnonzero(states >= 0)
    _, group = np.unique(points[labelled], axis=0, return_inverse=True)
    order = np.lexsort((labelled, group.ravel()))
    same = group.ravel()[order][1:] == group.ravel()[order][:-1]
    nodes = labelled[order]
    clash = np.flatnonzero(same & (states[nodes[1:]] != states[nodes[:-1]]))
    if len(clash) == 0:
        return None
    return int(nodes[clash[0]]), int(nodes[clash[0] + 1])
