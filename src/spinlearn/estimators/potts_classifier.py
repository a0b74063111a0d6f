"""PottsClassifier: the whole method behind scikit-learn's interface.

fit = graph of similar points -> energy -> equilibrium at all temperatures -> profile -> T*.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinlearn.analysis.grains import reached
from spinlearn.analysis.temperature_grid import COARSE_SIZE, refined_grid, temperature_grid
from spinlearn.answers.answer import Answer, Averages, one_temperature
from spinlearn.answers.labels import LabelCode, parse_labels
from spinlearn.answers.names import UNKNOWN, encode_outcomes, refuse_reserved
from spinlearn.answers.profile import Profile
from spinlearn.answers.proposal import ACCEPT, REJECT, Proposal, Word, proposed
from spinlearn.answers.settled import StoppingRule
from spinlearn.answers.unseen import unseen_average, unseen_laws, unseen_outcomes
from spinlearn.core.arrays import BoolArray, FloatArray, temperature_array
from spinlearn.core.constants import NOVELTY
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.protocols import Callback
from spinlearn.core.seeds import seed_sequence
from spinlearn.core.stopping import SamplesLevels
from spinlearn.engines import make_engine
from spinlearn.engines.approximation import approximate_grid
from spinlearn.errors import (
    ContradictionWarning,
    GraphWarning,
    InvalidInputError,
    StoppedError,
    UnreachedTemperatureError,
    UnsupportedModelError,
)
from spinlearn.estimators.checks import check_answer_settings
from spinlearn.estimators.graph_choice import graph_choice, graph_settings
from spinlearn.estimators.inputs import (
    LabelledScore,
    contradiction,
    joining,
    read_graph,
    similarities,
    training_labels,
)
from spinlearn.graphs import describe
from spinlearn.methods import Plan, plan
from spinlearn.methods.features import Features, GivenLaw, check_features, is_classifier
from spinlearn.methods.plan import Asked
from spinlearn.methods.proposals import Measured, proposals
from spinlearn.viz.notebook import as_html
from spinlearn.viz.pictures import Pictures

QUICK = 3_000  # points beyond which the answer to accepted and rejected proposals is a quick one


class PottsClassifier(Pictures, LabelledScore, BaseEstimator):
    """Classification from a handful of labels by the thermal equilibrium of a Potts model.

    Every point is a spin with one state per class; similar points are coupled and labelled ones are
    held. Probabilities are read off the distribution of all labellings, P(s) ~ exp(-E(s)/T), beside
    walks from the labels and the features alone; left-out labels say how much each counts. Every
    point is called by its most probable class, which may be one that nobody labelled, and the
    confidence of the call is that probability. It follows scikit-learn's interface. Axes are n
    points, d features.

    Parameters
    ----------
    method : {"auto", "messages", "paper"}, default "auto"
        How the answer is found where nothing else is said. "paper": that of Getz, Shental & Domany
        throughout: mutual neighbours, the minimum cut, exact or sampled averages, T* of
        section 6.1. "messages": the average of three laws, belief propagation on homogeneous
        couplings, walks from the labels and the features, over three strengths of a null model
        and three temperatures, weighed by left-out labels. "auto": "messages", but on lattices, and
        graphs as sparse, the paper's where left-out labels do not speak against it. Whatever is
        chosen is in `choices_` with its reason, and any of the settings below overrides it.
    graph : str or graph builder, default "auto"
        How points become a graph: "knn" (10 nearest neighbours), "mutual_knn" (mutual 10 nearest
        neighbours plus minimum spanning tree), or a builder such as ``KNN(n_neighbors=5,
        metric="cosine")`` or ``PixelGrid()`` for the mask of an image. "auto" is "knn", and
        "mutual_knn" for method="paper". Not used when `fit` is given a graph.
    n_components : "auto", int or None, default "auto"
        Principal components in which neighbours are looked for; None: all features. "auto" reduces
        where features outnumber what the points support, if the graph is chosen too.
    couplings : {"auto", "weights", "homogeneous"}, default "auto"
        What the energy takes from the graph, built or given: its weights, or weights made
        homogeneous by `Graph.homogeneous`, w_ij / sqrt(d_i d_j) scaled to mean 1, so that dense and
        sparse regions melt at about the same temperature.
    energy : str or energy, default "auto"
        The energy over labellings: "min_cut" (the paper's), "lgc", "harmonic", "balanced_cut",
        "diffused_cut" (for one or two labels a class and classes of similar size), "modularity"
        (the cut against what chance would join), "normalized_cut", "ratio_cut"; the same with
        settings, such as ``BalancedCut(strength=3)``; ``Custom(...)`` with arrays of your own; or a
        function of (graph, labels, n_states, label_strength=...) that returns a PottsModel. With
        one of these, no other energy is considered.
    features : {"auto", "off"}, classifier or array-like of shape (n, n_classes), default "auto"
        What the features alone say, beside the graph. "auto": a penalised logistic regression on
        the features in which neighbours are looked for, none where only a graph is given or no
        label can be left out to judge it. A classifier with ``fit`` and ``predict_proba``, of
        scikit-learn or like it, takes its place. An array holds probabilities of your own that did
        not come from these labels, one column per class in sorted order.
    proportions : array-like of shape (n_classes,) or None, default None
        Shares of the classes in all points, if you know them.
    label_noise : float or None, default None
        Share of the labels that may be wrong, below 0.5: labels become finite fields that the data
        can overrule. None or 0: they hold.
    novelty : float, default 0.3
        Share of all classes that you expect to have no label, for the method "messages": prior of
        the probability that a point is in none of the named ones. 0: every class has a label. The
        paper's rule has its own.
    label_strength : float or array-like of shape (n,), default inf
        h of eq. 2: infinite holds labelled points in their class, a finite value lets the data
        overrule a label.
    engine : str or engine, default "auto"
        "junction_tree", "belief_propagation", "multicanonical" and others, or an engine with
        settings of your own. "auto" is that of the method: belief propagation, or exact where the
        graph is narrow enough and else sampled.
    temperatures : "auto" or array-like, default "auto"
        The grid of the profile, in the unit of the couplings; "auto" covers the ferromagnetic,
        super-paramagnetic and paramagnetic phases, T = 0 included.
    temperature : float or str, default "auto"
        "auto" averages over temperatures; with an energy of your own, or the paper's, one is chosen
        by the rule that suits it. A number, or the name of a rule, reads the answer off the
        equilibrium at that one temperature, by the paper's rule: "calibrated": where classes have
        just formed; "paper": T* of the paper's section 6.1, the most stable change from the ground
        state (`spinlearn.answers.stability`).
    tau : float, default 0.1
        A point is confused where its two largest probabilities differ by no more than this.
    small_groups : {"join", "outlier", "new"}, default "join"
        What becomes of one or two points that agree with no others enough. "join": part of the
        larger group with which they agree most, or outliers where they touch none; "outlier":
        outliers; "new": new classes, as in the paper.
    eta_min : float or None, default None
        With the paper's rules, the smallest stability, in points times temperature, for which
        T* > 0 is chosen (the paper's eta_0). None: one point in a hundred over the whole grid.
    n_states : int or None, default None
        q; None means the number of different labels, at least 2. States beyond the labels stand for
        classes without a name.
    callback : callable or None, default None
        Called with a progress report now and then; a true answer stops the run.
    random_state : int or None, default None
        Seed of everything random; None: a fixed one, but for sampling engines.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The labels given, sorted.
    answer_ : Answer
        Everything below in one piece: calls, status, probabilities, confidence, profile, new
        classes, what is not trusted and why. ``decide(T)`` gives the same at another temperature.
    equilibrium_ : Equilibrium
        All thermal averages over the grid.
    profile_ : Profile
        The outcome of every point at every temperature of the grid; computed, like
        `equilibrium_`, when it is first looked at.
    temperature_ : float
        Temperature of the answer; of an average, the most probable one.
    transduction_ : array (n,)
        The call of every point. With whole-number labels, confused points and outliers are -1 and
        new classes -2, -3, ...; with text, ``confused:A|B``, ``outlier`` and
        ``new:1``, ``new:2``, ...
    names_ : object array (n,)
        The same in words, whatever the kind of labels.
    status_ : str array (n,)
        The confidence in a word: labelled; confident, from 0.8 on; confused, where the second class
        is within `tau`; grown, in between; new; outlier, where no label reaches the point. By the
        paper's rule, how the point came by its call.
    label_distributions_ : float array (n, n_classes)
        Probability of every named class. With `new_probability_` rows sum to one.
    new_probability_ : float array (n,)
        Probability of being in none of the named classes.
    proposals_ : tuple of Proposal
        At most ten groups of points that may be a class of their own, best first; they may be
        nested. `accept` makes one a class, `reject` says that it is none.
    words_ : tuple of Word
        What was accepted and rejected since the last `fit` or `relabel`.
    confidence_ : float array (n,)
        Probability of the call. By the paper's rule that at `temperature_`; at T = 0, where it says
        nothing, the mean over temperatures up to melting.
    expected_accuracy_ : tuple of two float
        Share of the calls of points without label that are expected to be right, and its standard
        deviation.
    forced_labels_ : array (n,)
        The most probable named class, where you need one for every point.
    new_classes_ : dict
        Members (row numbers) of every new class, by its name.
    choices_ : list of Choice
        What was chosen for you, each with its reason.
    plan_ : Plan
        The same for programs.
    class_shares_ : float array (n_classes, 2)
        Share of every named class in all points, with its standard error.
    graph_ : Graph
        The similarities, as built or given; unseen points are judged by these.
    model_ : PottsModel
        What was computed with. Its graph has the same edges with the weights that `couplings` asks
        for, and so have ``answer_.graph`` and stored answers.
    graph_summary_ : GraphSummary
        Size, components, isolated points.
    nodes_ : list
        The nodes of a networkx graph, in the order of all answers.

    References
    ----------
    G. Getz, N. Shental and E. Domany, Semi-supervised learning - a statistical physics approach,
    ICML 2005.

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
        method: str = "auto",
        graph: Any = "auto",
        n_components: Any = "auto",
        couplings: str = "auto",
        energy: Any = "auto",
        features: Any = "auto",
        proportions: Any = None,
        label_noise: float | None = None,
        novelty: float = NOVELTY,
        label_strength: Any = np.inf,
        engine: Any = "auto",
        temperatures: Any = "auto",
        temperature: Any = "auto",
        tau: float = 0.1,
        small_groups: str = "join",
        eta_min: float | None = None,
        n_states: int | None = None,
        callback: Callback | None = None,
        random_state: int | None = None,
    ) -> None:
        self.method = method
        self.graph = graph
        self.n_components = n_components
        self.couplings = couplings
        self.energy = energy
        self.features = features
        self.proportions = proportions
        self.label_noise = label_noise
        self.novelty = novelty
        self.label_strength = label_strength
        self.engine = engine
        self.temperatures = temperatures
        self.temperature = temperature
        self.tau = tau
        self.small_groups = small_groups
        self.eta_min = eta_min
        self.n_states = n_states
        self.callback = callback
        self.random_state = random_state

    _feature_names: Any = None  # of whoever fits an array whose columns have names

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Classify the points of X from the few labels in y, or find their clusters without any.

        Parameters
        ----------
        X : array-like or data frame (n, d); or a Graph, SciPy sparse matrix or networkx graph
            Points, or their precomputed similarity graph. A sparse X is always a graph. With
            ``graph=PixelGrid()``, the mask of an image.
        y : array-like of shape (n,), or mapping, optional
            Labels; -1 (or None, NaN, "") marks an unlabelled point. Without any label, groups that
            stand apart are new classes: a clustering. For the mask of an image, an
            image of labels will do. A dict holds the labels of some points: by node for a networkx
            graph, which takes a pandas Series alike, by the index of a data frame, else by row
            number. A Series goes by position, and is refused where its index is that of the data
            frame X in another order.

        Returns
        -------
        self
        """
        check_answer_settings(self)
        asked = self._asked()
        builder, n_components = graph_settings(asked.method, self.graph, self.n_components)
        self._training = read_graph(self, X, builder, n_components, self.callback)
        self.graph_ = self._training.graph
        self.graph_summary_ = describe(self.graph_)
        if self._training.nodes is not None:
            self.nodes_ = self._training.nodes
        self.__dict__.pop("plan_", None)
        return self.relabel(np.full(self.graph_.n_nodes, None) if y is None else y)

    def relabel(self, y: Any, *, words: tuple[Word, ...] = ()) -> Self:
        """Classify the points of the last `fit` again from other labels.

        The answer is that of `fit` with these labels; the graph is not built again.

        Parameters
        ----------
        y : array-like of shape (n,), or mapping
            As for `fit`.
        words : tuple of Word
            What was said about proposals before: rejected groups are not proposed again. Labels
            that came of it are in y.

        Returns
        -------
        self
        """
        check_is_fitted(self, "graph_")
        return self._follow(training_labels(y, self._training), tuple(words))

    def _follow(self, code: LabelCode, words: tuple[Word, ...]) -> Self:
        """Classify by labels, knowing what was said about proposals."""
        asked = self._asked()
        self._label_code, self.classes_, self.words_ = code, code.classes, words
        self._warn()
        asked = replace(asked, features=self._features(), rejected=rejected(words))
        earlier = getattr(self, "plan_", None)
        chosen = plan(self.graph_, code.states, len(code.classes), asked, earlier)
        self._take(chosen, asked)
        self.answer_ = self._averaged(chosen) if chosen.parts is not None else self._answer_from(
            chosen, self._equilibrium(chosen, partial(self._answer_from, chosen))
        )  # fmt: skip
        return self

    def _features(self) -> Features | GivenLaw | None:
        """What the features alone may say, if they are to be asked."""
        training, asked = self._training, self.features
        if isinstance(asked, str) and (asked == "off" or training.points is None):
            return None
        if isinstance(asked, str) or is_classifier(asked):
            if training.points is None:
                raise InvalidInputError(
                    "features= is a classifier, but only a graph was given: fit points, or give an "
                    "array of probabilities"
                )
            reduced = training.reduction is not None
            return Features.of(training.points, asked, components=reduced)
        return GivenLaw.of(asked, self.graph_.n_nodes, len(self.classes_))

    def _averaged(self, chosen: Plan, run: Callable[[], Equilibrium] | None = None) -> Answer:
        """The answer of an average; the engine is asked now only if the law needs it."""
        assert chosen.parts is not None
        grid = temperature_array(chosen.temperatures)
        if run is None:
            run = partial(
                chosen.engine.run, chosen.model, grid,
                seed=self.random_state, callback=self.callback,
            )  # fmt: skip
        averages = Averages(chosen.model, run)
        needed = averages.equilibrium if chosen.parts.phase is None else None
        law, groups = chosen.parts.law(needed)
        code, training = self._label_code, self._training
        found: tuple[Proposal, ...] = ()
        if groups:
            measured = None
            if training.points is not None:
                names = getattr(self, "feature_names_in_", self._feature_names)
                measured = Measured(training.points, training.reduction, names)
            assert chosen.forest is not None
            found = proposals(groups, law, chosen.forest, code.states, code.classes, measured)
        return Answer(
            classes=code.classes,
            labels=code.states,
            averages=averages,
            temperature=float(chosen.temperature),
            law=law,
            rule="average",
            tau=float(self.tau),
            small_groups=self.small_groups,
            eta_min=self.eta_min,
            new_groups=chosen.new_groups,
            choices=tuple(map(str, self.choices_)),
            proposals=found,
            words=self.words_,
        )

    def _take(self, chosen: Plan, asked: Asked) -> None:
        """Go by this plan."""
        self.choices_ = [
            *graph_choice(
                self._training, self.n_features_in_, asked.method, self.graph, self.n_components
            ),
            *chosen.choices,
        ]
        self.plan_ = chosen
        self.model_ = chosen.model

    def _answer_from(
        self, chosen: Plan, equilibrium: Equilibrium, temperature: float | None = None
    ) -> Answer:
        """The answer that averages give, at a temperature or by the rule that was chosen."""
        return Answer.from_equilibrium(
            equilibrium,
            self._label_code,
            temperature=chosen.temperature if temperature is None else temperature,
            tau=self.tau,
            small_groups=self.small_groups,
            eta_min=self.eta_min,
            new_groups=chosen.new_groups,
            choices=tuple(map(str, self.choices_)),
        )

    def _asked(self) -> Asked:
        """What the plan has to know."""
        engine = make_engine(self.engine)
        asked = Asked(
            method=self.method,
            couplings=self.couplings,
            energy=self.energy,
            engine=engine,
            temperatures=self.temperatures,
            temperature=self.temperature,
            label_strength=self.label_strength,
            label_noise=self.label_noise,
            proportions=self.proportions,
            novelty=self.novelty,
            n_states=self.n_states,
            seed=0 if self.random_state is None else _whole_seed(self.random_state),
            callback=self.callback,
        )
        check_features(self.features)
        asked.check()
        return asked.for_engine()

    def _equilibrium(
        self, chosen: Plan, answer_of: Callable[[Equilibrium, float | None], Answer]
    ) -> Equilibrium:
        """Averages over the grid asked for, or over one that covers the three phases."""
        run = partial(
            chosen.engine.run, self.model_, seed=self.random_state, callback=self.callback
        )
        one_by_one = isinstance(chosen.engine, SamplesLevels) and chosen.engine.keeps_levels(
            self.model_
        )
        if one_by_one:
            run = partial(run, until=StoppingRule(answer_of))
        if not isinstance(chosen.temperatures, str):
            return run(self._with_own(temperature_array(chosen.temperatures)))
        if one_by_one:
            return run(self._with_own(approximate_grid(self.model_, self.callback)))
        grid = self._with_own(temperature_grid(self.model_, COARSE_SIZE))
        coarse = run(grid)
        if len(coarse.temperatures) < len(grid):  # stopped
            return coarse
        grid = self._with_own(refined_grid(coarse))
        try:
            if coarse.other_temperatures:
                finer = coarse.at(grid, callback=self.callback)
            else:
                finer = run(grid)
        # No time for more temperatures, or too little of it for samples to reach them.
        except (StoppedError, UnsupportedModelError, UnreachedTemperatureError):
            return coarse
        return finer if len(finer.temperatures) == len(grid) else coarse

    def _with_own(self, grid: FloatArray) -> FloatArray:
        """The grid with the temperature asked for, which might not be had later."""
        own = [] if isinstance(self.temperature, str) else [one_temperature(self.temperature)]
        return np.unique(np.concatenate([grid, own]))

    def _warn(self) -> None:
        """Say what is legal but probably not meant."""
        states = self._label_code.states
        summary = self.graph_summary_
        if len(self.classes_) and summary.n_components > 1:
            joined = reached(self.graph_, states >= 0)
            if not np.all(joined):
                warnings.warn(
                    f"the graph has {summary.n_components} parts and "
                    f"{int(np.sum(~joined))} points are in parts without any label: no label "
                    f"says anything of them; {joining(self._training)}",
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

    # -- what the user says about proposals ------------------------------------------------------

    def accept(self, group: str, name: Any) -> Self:
        """Make a proposal a class of its own.

        Its most typical points become labels, as many as a class has in the mean, and the answer
        follows. Of more than 3,000 points what left-out labels taught is kept from before.

        Parameters
        ----------
        group : str
            Name of the proposal, "new:1".
        name : str, or int where labels are whole numbers
            Of the class; one that is known makes the group part of it.

        Returns
        -------
        self
        """
        return self._say(ACCEPT, group, name)

    def reject(self, group: str) -> Self:
        """Say that a proposal is no class of its own, but part of the named class beside it.

        Its most typical points become labels of that class, and it is not proposed again.

        Parameters
        ----------
        group : str
            Name of the proposal, "new:1".

        Returns
        -------
        self
        """
        return self._say(REJECT, group)

    def _say(self, do: str, group: str, name: Any = None) -> Self:
        answer, code = self._answer, self._label_code
        chosen = proposed(answer.proposals, group)
        if do == REJECT:
            name = code.classes[[str(c) for c in code.classes].index(chosen.beside)]
        mean = np.sum(code.states >= 0) / max(len(code.classes), 1)
        labelled = chosen.typical[: max(1, round(mean))]
        given = np.full(len(code.states), None, dtype=object)
        known = code.states >= 0
        given[known] = code.classes[code.states[known]].tolist()
        given[labelled] = class_like(code.classes, name)
        new = parse_labels(given, len(given))
        refuse_reserved(new.classes)
        word = Word(do, group, str(name), chosen.points, labelled)
        words = (*self.words_, word)
        if len(given) > QUICK:
            from spinlearn.estimators.quick import quickly_following

            quick = quickly_following(self, new, words)
            if quick is not None:
                self.__dict__.update(quick.__dict__)
                return self
        return self._follow(new, words)

    # -- answers -------------------------------------------------------------------------------

    @property
    def _answer(self) -> Answer:
        check_is_fitted(self, "answer_")
        return self.answer_

    def decide(self, temperature: float | str) -> Answer:
        """The answer at another temperature, from the equilibrium already found.

        Parameters
        ----------
        temperature : float or str
            A number, in the unit of the couplings, or the name of a rule, as for the parameter
            `temperature`.

        Returns
        -------
        Answer
        """
        return self._answer.at(temperature)

    @property
    def equilibrium_(self) -> Equilibrium:
        """All thermal averages over the grid."""
        return self._answer.equilibrium

    @property
    def profile_(self) -> Profile:
        """The outcome of every point at every temperature of the grid."""
        return self._answer.profile

    @property
    def temperature_(self) -> float:
        """Temperature of the answer."""
        return self._answer.temperature

    @property
    def transduction_(self) -> npt.NDArray[Any]:
        """The call of every point."""
        return self._answer.calls

    @property
    def names_(self) -> npt.NDArray[np.object_]:
        """The call of every point in words."""
        return self._answer.names

    @property
    def status_(self) -> npt.NDArray[np.str_]:
        """How every point came by its call."""
        return self._answer.status

    @property
    def label_distributions_(self) -> FloatArray:
        """Probability of every named class, (n, n_classes)."""
        return self._answer.probabilities

    @property
    def new_probability_(self) -> FloatArray:
        """Probability of being in none of the named classes, (n,)."""
        return self._answer.new_probability

    @property
    def confidence_(self) -> FloatArray:
        """Probability of the call, (n,)."""
        return self._answer.confidence

    @property
    def expected_accuracy_(self) -> tuple[float, float]:
        """Share of the calls that are expected to be right, and its standard deviation."""
        return self._answer.expected_accuracy

    @property
    def forced_labels_(self) -> npt.NDArray[Any]:
        """The most probable named class of every point."""
        return self._answer.forced_labels

    @property
    def new_classes_(self) -> dict[str, npt.NDArray[np.intp]]:
        """Members of every new class, by its name."""
        return self._answer.new_classes

    @property
    def proposals_(self) -> tuple[Proposal, ...]:
        """Groups that may be a class of their own, best first."""
        return self._answer.proposals

    @property
    def class_shares_(self) -> FloatArray:
        """Share of every named class in all points with its standard error, (n_classes, 2).

        The error is that of points whose class is open, and of how the share changes when labels
        are left out or another strength of the null model is taken.
        """
        p, law = self.label_distributions_, self._answer.law
        variance = np.sum(p * (1 - p), axis=0) / len(p) ** 2
        if law is not None:
            variance = variance + law.class_errors**2
        return np.column_stack([p.mean(axis=0), np.sqrt(variance)])

    def name_of(self, outcome: int) -> str:
        """An outcome of `profile_` in words, for instance ``A``, ``new:1`` or ``confused:A|B``.

        Parameters
        ----------
        outcome : int
            As in ``profile_.outcomes``.

        Returns
        -------
        str
        """
        return self._answer.name_of(outcome)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of the named classes for unseen points.

        An average is carried on as it is: the mean of what the graph says of the point's
        neighbours, and what its own features say. An answer at one temperature follows from the
        point's couplings to training points, made as theirs were. As in `label_distributions_`,
        what a row lacks is the probability of new classes and of other states without a name. All
        are equally probable where a point resembles no training point.

        Parameters
        ----------
        X : array-like of shape (n_new, d)
            Unseen points; after fitting a graph, their similarities to its nodes, (n_new, n).

        Returns
        -------
        float array (n_new, n_classes)
        """
        return self._unseen(X)[1][:, : len(self.classes_)]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Calls of unseen points, written as in `transduction_`.

        A point takes its most probable class, or new class. By the paper's rule it does so when the
        first two differ by more than tau, and otherwise takes the outcome that prevails among its
        neighbours. A point that resembles no training point, or by the paper's rule those of
        several outcomes equally, is unknown (-1 or 'unknown').

        Parameters
        ----------
        X : array-like of shape (n_new, d)
            Unseen points; after fitting a graph, their similarities to its nodes, (n_new, n).

        Returns
        -------
        array (n_new,)
        """
        answer, (similarity, laws, reached) = self._answer, self._unseen(X)
        if answer.law is None:
            outcomes = unseen_outcomes(answer, similarity, laws, reached)
        else:
            outcomes = np.where(reached, np.argmax(laws, axis=1), UNKNOWN).astype(np.int32)
        return encode_outcomes(outcomes, self.classes_, answer.decision.confused_sets)

    def _unseen(self, X: Any) -> tuple[Any, FloatArray, BoolArray]:
        """Similarities of unseen to training points, laws, whether they resemble any."""
        answer, parts = self._answer, self.plan_.parts
        similarity, points = similarities(self, X, self._training)
        if answer.law is None or parts is None:
            return similarity, *unseen_laws(answer, self.graph_, similarity)
        features = None
        if parts.fitted is not None and points is not None:
            features = parts.fitted.law(points)
        phase = parts.states(None if parts.phase is not None else answer.equilibrium)
        return similarity, *unseen_average(
            phase, parts.walk, features, answer.law, self.graph_, similarity, parts.clustering
        )

    # -- pictures ------------------------------------------------------------------------------

    def _pictured(self) -> Answer:
        return self._answer

    def _layout_sources(self) -> dict[str, Any]:
        return {"points": self._training.points, "pixels": self._training.pixels}

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._answer_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._answer_html()
        return bundle

    def _answer_html(self) -> str:
        """What scikit-learn's picture of the settings does not show: the answer, once fitted."""
        return as_html(self.answer_) if hasattr(self, "answer_") else ""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False  # a sparse X is a graph, not features
        return tags


def rejected(words: tuple[Word, ...]) -> tuple[npt.NDArray[np.intp], ...]:
    """Groups that are no class of their own."""
    return tuple(word.points for word in words if word.do == REJECT)


def class_like(classes: npt.NDArray[Any], name: Any) -> Any:
    """The name of a class in the kind of those that there are."""
    if classes.dtype.kind not in "iu":
        return str(name)
    try:
        return int(name)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{name!r} is no whole number, but all labels are: give the class a number"
        ) from None


def _whole_seed(seed: Any) -> int:
    """A whole number of any kind of seed."""
    return int(seed_sequence(seed).generate_state(1)[0])
