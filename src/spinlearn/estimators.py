"""PottsClassifier: the whole method behind scikit-learn's interface.

fit = graph of similar points -> energy -> equilibrium at all temperatures -> profile -> T*.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinlearn.analysis.temperature_grid import COARSE_SIZE, refined_grid, temperature_grid
from spinlearn.answer_rules import ANSWER_RULES, answer_temperature
from spinlearn.core.arrays import MAX_STATES, BoolArray, FloatArray, temperature_array
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Engine
from spinlearn.core.results import Equilibrium
from spinlearn.decision import (
    STATUS_NAMES,
    TIE,
    Decision,
    profile,
    trusted_rows,
)
from spinlearn.energies import make_energy
from spinlearn.engines import make_engine
from spinlearn.errors import ContradictionWarning, GraphWarning, InvalidInputError, StoppedError
from spinlearn.graphs import describe
from spinlearn.inputs import (
    LabelledScore,
    contradiction,
    in_parts_with,
    joining,
    mean_over_neighbors,
    read_graph,
    read_labels,
    require_labels,
    similarities,
)
from spinlearn.labels import UNKNOWN, LabelCode
from spinlearn.viz.pictures import Pictures
from spinlearn.viz.summary import answer_html, answer_notes


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

    def _repr_html_(self) -> str:
        return answer_html(self.temperature, self.names, self.status)


class PottsClassifier(Pictures, LabelledScore, BaseEstimator):
    """Classification from a handful of labels by the thermal equilibrium of a Potts model.

    Parameters
    ----------
    graph : str or graph builder, default "mutual_knn"
        How points become a graph: "mutual_knn" (mutual 10 nearest neighbours plus minimum spanning
        tree), "knn", or a builder such as `KNN(n_neighbors=5, metric="cosine")`. Not used when
        `fit` is given a graph.
    energy : str or energy, default "min_cut"
        The energy over labellings: "min_cut" (the paper's), "lgc", "harmonic", "balanced_cut",
        "diffused_cut" (for one or two labels a class and classes of similar size),
        "normalized_cut", "ratio_cut"; the same with settings, such as `BalancedCut(strength=3)`;
        `Custom(...)` with arrays of your own; or a function of (graph, labels, n_states,
        label_strength=...) that returns a PottsModel.
    label_strength : float or array-like of shape (n,), default inf
        h of eq. 2: infinite holds labelled points in their class, a finite value lets the data
        overrule a label.
    engine : str or engine, default "auto"
        "auto" (exact where the graph is narrow enough), "junction_tree", "enumeration", or an
        engine with settings of your own.
    temperatures : "auto" or array-like, default "auto"
        The grid of the profile, in the unit of the couplings; "auto" covers the ferromagnetic,
        super-paramagnetic and paramagnetic phases, T = 0 included.
    temperature : "auto", "discovery", "paper" or float, default "auto"
        Temperature of the answer. "auto": where the decision says most about the points, see
        `decision.information`; "discovery": near that, but where small new classes stand too, see
        `answer_temperature`; "paper": T* of the paper's section 6.1, the most stable change
        from the ground state, which does not see new classes.
    tau : float, default 0.1
        A point is confident when its two largest probabilities differ by more than this.
    eta_min : float or None, default None
        With temperature="paper", the smallest stability, in points times temperature, for which
        T* > 0 is chosen (the paper's eta_0). None: one point in a hundred over the whole grid.
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
        energy: Any = "min_cut",
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
        self._check_settings()
        require_labels(y)
        self._training = read_graph(self, X, self.graph)
        self.graph_ = self._training.graph
        self.graph_summary_ = describe(self.graph_)
        self._label_code = read_labels(y, self.graph_.n_nodes)
        self.classes_ = self._label_code.classes
        self._warn()
        self.model_ = self._build_model()
        self.equilibrium_ = self._equilibrium(engine)
        found = self._profile(self.equilibrium_)
        if isinstance(self.temperature, str):
            trusted = trusted_rows(self.equilibrium_)
            self.temperature_ = answer_temperature(
                found, self.temperature, trusted=trusted, eta_min=self.eta_min
            )
        else:
            self.temperature_ = _one_temperature(self.temperature)
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

    def _check_settings(self) -> None:
        """Refuse at once what would come to light only after a long run."""
        if not isinstance(self.temperature, str):
            _one_temperature(self.temperature)
        elif self.temperature not in ANSWER_RULES:
            raise InvalidInputError(
                f"temperature={self.temperature!r} is unknown: use "
                f"{', '.join(map(repr, ANSWER_RULES))} or a number >= 0"
            )
        eta_min = self.eta_min
        number = isinstance(eta_min, (int, float, np.number))
        if eta_min is not None and not (number and eta_min >= 0):
            raise InvalidInputError(
                f"eta_min={eta_min!r} is no stability: use None or a number >= 0, in points times "
                "temperature"
            )
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(
                f"callback={self.callback!r} cannot be called: pass a function of one argument, "
                "the progress, or None"
            )

    def _build_model(self) -> PottsModel:
        energy = make_energy(self.energy)
        n_classes = len(self.classes_)
        if n_classes > MAX_STATES:
            raise InvalidInputError(
                f"y holds {n_classes} different labels, but states are stored in one byte: at most "
                f"{MAX_STATES} classes are possible; merge some, or check that y holds classes"
            )
        n_states = max(n_classes, 2) if self.n_states is None else self.n_states
        if isinstance(n_states, (int, np.integer)) and n_states < n_classes:
            raise InvalidInputError(
                f"n_states={n_states} is fewer than the {n_classes} classes among the labels: "
                "leave it None or raise it"
            )
        model = energy(
            self.graph_, self._label_code.states, n_states, label_strength=self.label_strength
        )
        if not isinstance(model, PottsModel):
            raise InvalidInputError(
                f"the energy {self.energy!r} returned a {type(model).__name__}: it must return a "
                "PottsModel"
            )
        return model

    def _equilibrium(self, engine: Engine) -> Equilibrium:
        """Averages over the grid asked for, or over one that covers the three phases."""
        run = partial(engine.run, self.model_, seed=self.random_state, callback=self.callback)
        if not isinstance(self.temperatures, str):
            return run(np.unique(temperature_array(self.temperatures)))
        if self.temperatures != "auto":
            raise InvalidInputError(
                f"temperatures={self.temperatures!r} is unknown: use 'auto' or numbers"
            )
        grid = temperature_grid(self.model_, COARSE_SIZE)
        coarse = run(grid)
        if len(coarse.temperatures) < len(grid):  # stopped
            return coarse
        grid = refined_grid(coarse)
        try:
            finer = coarse.at(grid, callback=self.callback)
        except StoppedError:
            return coarse
        return finer if len(finer.temperatures) == len(grid) else coarse

    def _warn(self) -> None:
        """Say what is legal but probably not meant."""
        states = self._label_code.states
        summary = self.graph_summary_
        if len(self.classes_) and summary.n_components > 1:
            reached = in_parts_with(self.graph_, states >= 0)
            if not np.all(reached):
                warnings.warn(
                    f"the graph has {summary.n_components} parts and "
                    f"{int(np.sum(~reached))} points are in parts without any label: they will be "
                    f"new classes; {joining(self._training)}",
                    GraphWarning,
                    stacklevel=3,
                )
        points = self._training.points
        if points is not None and np.sum(states >= 0) > 1:
            clash = contradiction(points, states)
            if clash is not None:
                first, second = (str(self.classes_[states[p]]) for p in clash)
                remedy = "both are kept; with a finite label strength the data may overrule them"
                warnings.warn(ContradictionWarning(clash, (first, second), remedy), stacklevel=3)

    def _profile(self, equilibrium: Equilibrium, reference: Any = None) -> Any:
        return profile(equilibrium, tau=self.tau, n_classes=len(self.classes_), reference=reference)

    # -- answers -------------------------------------------------------------------------------

    def decide(self, temperature: float) -> Classification:
        """The answer at another temperature, from the equilibrium already found.

        New classes keep the numbers they have in `profile_`.
        """
        check_is_fitted(self, "profile_")
        value = _one_temperature(temperature)
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
            best = probabilities >= probabilities.max(axis=1, keepdims=True) - TIE
            forced = code.classes[np.argmax(best, axis=1)]
        outcomes, inverse = np.unique(decision.outcomes, return_inverse=True)
        names = np.array([code.name(o, decision.confused_sets) for o in outcomes.tolist()], object)
        return Classification(
            temperature=value,
            transduction=code.encode(decision.outcomes, decision.confused_sets),
            names=names[inverse],
            status=np.array(STATUS_NAMES)[decision.status],
            label_distributions=probabilities,
            forced_labels=forced,
            new_classes={f"new:{k}": members for k, members in decision.new_classes().items()},
            decision=decision,
        )

    def name_of(self, outcome: int) -> str:
        """An outcome of `profile_` in words: 'A', 'new:1', 'confused:A|B'."""
        check_is_fitted(self, "profile_")
        return str(self._label_code.name(outcome, self.profile_.confused_sets))

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
        confused. A point that resembles no training point, or those of several outcomes equally, is
        unknown (-1 or 'unknown').
        """
        similarity, probabilities, reached = self._attached(X)
        outcomes = np.full(similarity.shape[0], UNKNOWN, dtype=np.int32)
        codes, members = np.unique(self._decision.outcomes, return_inverse=True)
        votes = np.zeros((similarity.shape[0], len(codes)))
        for k in range(len(codes)):
            votes[:, k] = similarity @ (members == k).astype(np.float64)
        most = votes.max(axis=1, keepdims=True)
        clear = reached & (np.sum(votes >= (1 - TIE) * most, axis=1) == 1)
        outcomes[clear] = codes[np.argmax(votes[clear], axis=1)]
        if probabilities.shape[1] > 1:
            ordered = np.sort(probabilities, axis=1)
            confident = reached & (ordered[:, -1] - ordered[:, -2] > self.tau)
            outcomes[confident] = np.argmax(probabilities[confident], axis=1)
        return self._label_code.encode(outcomes, self._decision.confused_sets)

    def _attached(self, X: Any) -> tuple[Any, FloatArray, BoolArray]:
        """Similarities of unseen to training points, class probabilities, whether they say much."""
        check_is_fitted(self, "profile_")
        similarity = similarities(self, X, self._training)
        probabilities, reached = mean_over_neighbors(
            similarity, self.label_distributions_, self.graph_, 1 / self.model_.n_states
        )
        return similarity, probabilities, reached

    # -- pictures ------------------------------------------------------------------------------

    def _require_answer(self) -> None:
        check_is_fitted(self, "profile_")

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._answer_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._answer_html()
        return bundle

    def _answer_html(self) -> str:
        """What scikit-learn's picture of the settings does not show: the answer, once fitted."""
        if not hasattr(self, "names_"):
            return ""
        return answer_html(self.temperature_, self.names_, self.status_, answer_notes(self))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # a sparse X is a graph, not features
        return tags


def _one_temperature(value: Any) -> float:
    values = temperature_array(value)
    if len(values) != 1:
        raise InvalidInputError(
            f"temperature must be one number, got {len(values)}: give a grid as `temperatures`"
        )
    return float(values[0])
