"""PottsClassifier: the whole method behind scikit-learn's interface.

fit = graph of similar points -> energy -> equilibrium at all temperatures -> profile -> T*.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinlearn.answers.answer import Answer, Averages, one_temperature
from spinlearn.answers.labels import UNKNOWN, LabelCode, encode_outcomes
from spinlearn.answers.proposal import ACCEPT, REJECT, Proposal, Word, proposed
from spinlearn.answers.stopping import StoppingRule
from spinlearn.answers.unseen import unseen_average, unseen_laws, unseen_outcomes
from spinlearn.default import Choice, Plan, plan, replanned
from spinlearn.default.features import Features, GivenLaw, is_classifier
from spinlearn.default.new_classes import proposals
from spinlearn.default.plan import Asked
from spinlearn.engines import BeliefPropagation, make_engine
from spinlearn.engines.messages.approximation import approximate_grid
from spinlearn.engines.messages.cooling import cooled_averages
from spinlearn.errors import (
    GraphWarning,
    InvalidInputError,
    StoppedError,
    UnreachedTemperatureError,
    UnsupportedModelError,
)
from spinlearn.graphs import KNN, MutualKNN, describe
from spinlearn.inputs import (
    LabelledScore,
    joining,
    read_graph,
    similarities,
    training_labels,
    warn_of_contradiction,
)
from spinlearn.model.arrays import BoolArray, FloatArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import reached
from spinlearn.model.phases import COARSE_SIZE, refined_grid, temperature_grid
from spinlearn.model.protocols import Callback, Progress, SamplesLevels, seed_sequence
from spinlearn.model.settings import is_open
from spinlearn.settings import (
    CLASSIFIER,
    PARAMETERS,
    check,
    class_proportions,
    make_rule,
)
from spinlearn.viz.notebook import as_html
from spinlearn.viz.pictures import Pictures

PLANNED = ("method", "energy", "label_noise", "proportions", "novelty")  # settings the plan takes
QUICK = 3_000  # points beyond which the answer to accepted and rejected proposals is a quick one
HASTY_TOL = 1e-3  # of messages: marginals are then right to about 1e-2 where they move most
HASTY_SWEEPS = 25


def _of_answer(name: str) -> property:
    """An attribute of `answer_`; it is described among those of the class, not again."""
    return property(attrgetter(f"_answer.{name}"), doc="")


class PottsClassifier(Pictures, LabelledScore, BaseEstimator):
    """Classification from a handful of labels by the thermal equilibrium of a Potts model.

    Every point is a spin with one state per class; similar points are coupled and labelled ones are
    held. Probabilities are read off the distribution of all labellings, P(s) ~ exp(-E(s)/T), beside
    walks from the labels and the features alone; left-out labels say how much each counts. Every
    point is called by its most probable class, which may be one that nobody labelled, and the
    confidence of the call is that probability. It follows scikit-learn's interface. Axes are n
    points, d features.

    Graphs, energies, engines and temperature rules are given by name, by a text with settings as in
    "knn:5,metric=cosine", or as objects: ``KNN(n_neighbors=5, metric="cosine")``, ``PixelGrid()``
    for the mask of an image, ``MinCut(label_strength=2)``, ``Custom(...)`` with arrays of your own
    or a function of (graph, labels, n_states) that returns a PottsModel, ``Tempering(tol=0.01)``,
    ``TemperatureRule(grid=[0, 0.5, 1])``. A classifier with ``fit`` and ``predict_proba`` as
    `features` takes the place of the usual one, and an array holds probabilities of your own that
    did not come from these labels, one column per class in sorted order. Whatever is chosen for you
    is in `choices_` with its reason.

    Parameters
    ----------
    <parameters>

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

    def __init__(self, **settings: Any) -> None:
        for one in CLASSIFIER:
            setattr(self, one.name, settings.pop(one.name, one.default))
        if settings:
            known = ", ".join(one.name for one in CLASSIFIER)
            raise TypeError(f"PottsClassifier has no parameter {next(iter(settings))!r}: {known}")

    __init__.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
            *(Parameter(s.name, Parameter.KEYWORD_ONLY, default=s.default) for s in CLASSIFIER),
        ]
    )
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the settings

    _feature_names: Any = None  # of whoever fits an array whose columns have names
    _couplings = "homogeneous"  # of the default energy, unless the graph has them already
    _graph_choices: tuple[Choice, ...] = ()

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, callback: Callback | None = None) -> Self:
        """Classify the points of X from the few labels in y, or find their clusters without any.

        Parameters
        ----------
        X : array-like, data frame or SciPy sparse matrix (n, d); or a graph
            Points, or their precomputed similarity graph: a Graph, a networkx graph or a symmetric
            sparse matrix, which is never features. A square one that is not symmetric is features
            where `graph` has settings, else an error. With ``graph=PixelGrid()``, the mask of an
            image.
        y : array-like of shape (n,), or mapping, optional
            Labels; -1 (or None, NaN, "") marks an unlabelled point. Without any label, groups that
            stand apart are new classes: a clustering. For the mask of an image, an
            image of labels will do. A dict holds the labels of some points: by node for a networkx
            graph, which takes a pandas Series alike, by the index of a data frame, else by row
            number. A Series goes by position, and is refused where its index is that of the data
            frame X in another order.
        callback : callable, optional
            Called with a progress report now and then; a true answer stops the run.

        Returns
        -------
        self
        """
        asked = self._asked(callback)
        builder = self.graph
        if is_open(builder):
            builder = MutualKNN() if asked.method == "paper" else KNN(n_components="auto")
        training = read_graph(self, X, builder, asked.callback)
        self._training, self.graph_ = training, training.graph
        self.graph_summary_ = describe(self.graph_)
        if training.nodes is not None:
            self.nodes_ = training.nodes
        self._graph_choices = ()
        if training.points is not None and is_open(self.graph):
            n_points, n_used = training.points.shape
            value = f"{getattr(training.builder, 'n_neighbors', None)} nearest neighbours"
            why = f"{n_used} features are few enough for {n_points} points"
            if asked.method == "paper":
                value, why = value.replace("nearest", "mutual nearest"), "the paper's"
            elif training.reduction is not None:
                if training.reduction.unit:
                    value += " by cosine"
                value += f" in {n_used} {training.reduction.kind} components"
                why = (
                    f"{self.n_features_in_} features for {n_points} points; the components hold "
                    f"{100 * training.reduction.explained:.0f} % of the variance"
                )
            recall = getattr(training.builder, "recall_", None)
            if recall is not None:
                why += f"; found by faiss with a measured recall of {recall:.3f}"
            self._graph_choices = (Choice("graph", value, why),)
        self.__dict__.pop("plan_", None)
        y = np.full(self.graph_.n_nodes, None) if y is None else y
        return self._classify(training_labels(y, training), (), asked)

    def relabel(
        self, y: Any, *, words: tuple[Word, ...] = (), callback: Callback | None = None
    ) -> Self:
        """Classify the points of the last `fit` again from labels `y`; `callback` is as for `fit`.

        The answer is that of `fit` with these labels; the graph is not built again. `words` are
        what was said about proposals before: rejected groups are not proposed again. Labels that
        came of it are in `y`.
        """
        check_is_fitted(self, "graph_")
        code = training_labels(y, self._training)
        return self._classify(code, tuple(words), self._asked(callback))

    def _asked(self, callback: Callback | None) -> Asked:
        """The settings, checked and made into what the plan takes."""
        values = self.get_params(deep=False)
        check(values)
        if callback is not None and not callable(callback):
            raise InvalidInputError(
                f"callback={callback!r} cannot be called: pass a function of one argument, the "
                "progress, or None"
            )
        engine: Any = make_engine(self.engine)
        rule = make_rule(self.temperature)
        if self.time_limit is not None and getattr(engine, "max_seconds", 0) is None:
            engine = replace(engine, max_seconds=self.time_limit)
        seed = self.random_state
        return Asked(
            engine=engine,
            temperature=rule.name,
            temperatures=rule.temperatures(),
            couplings=self._couplings,
            seed=0 if seed is None else int(seed_sequence(seed).generate_state(1)[0]),
            callback=callback if self.time_limit is None else Clock(self.time_limit, callback),
            **{name: values[name] for name in PLANNED},
        ).for_engine()

    def _classify(self, code: LabelCode, words: tuple[Word, ...], asked: Asked) -> Self:
        """Classify by labels, knowing what was said about proposals."""
        from threadpoolctl import threadpool_limits

        # What is solved here is small: threads of BLAS would only wait for each other.
        with threadpool_limits(1, "blas"):
            return self._classified(code, words, self._with_labels(code, words, asked))

    def _classified(self, code: LabelCode, words: tuple[Word, ...], asked: Asked) -> Self:
        summary, training = self.graph_summary_, self._training
        if len(self.classes_) and summary.n_components > 1:
            apart = int(np.sum(~reached(self.graph_, code.states >= 0)))
            if apart:
                warnings.warn(
                    f"the graph has {summary.n_components} parts and {apart} points are in parts "
                    f"without any label: no label says anything of them; {joining(training)}",
                    GraphWarning,
                    stacklevel=3,
                )
        if training.points is not None and np.sum(code.states >= 0) > 1:
            remedy = "both are kept; with label_noise the data may overrule them"
            warn_of_contradiction(training.points, code, remedy)
        earlier = getattr(self, "plan_", None)
        chosen = plan(self.graph_, code.states, len(code.classes), asked, earlier)
        self.choices_ = [*self._graph_choices, *chosen.choices]
        self.plan_, self.model_, callback = chosen, chosen.model, asked.callback
        if isinstance(callback, Clock):  # the engine, which may run much later, has its own
            inner = callback.callback
            ends_itself = hasattr(chosen.engine, "max_seconds")
            callback = inner if ends_itself else Clock(self.time_limit, inner)
        run = partial(chosen.engine.run, chosen.model, seed=self.random_state, callback=callback)
        if chosen.parts is not None:
            grid = temperature_array(chosen.temperatures)
            self.answer_ = self._averaged(chosen, partial(run, grid))
        else:
            answer_of = partial(self._answer_from, chosen)
            self.answer_ = answer_of(self._equilibrium(chosen, asked, run, answer_of))
        return self

    def _with_labels(self, code: LabelCode, words: tuple[Word, ...], asked: Asked) -> Asked:
        """What is asked, with what follows from the labels."""
        self._label_code, self.classes_, self.words_ = code, code.classes, words
        training, given = self._training, self.features
        features: Features | GivenLaw | None = None
        if not (isinstance(given, str) or is_classifier(given)):
            features = GivenLaw.of(given, self.graph_.n_nodes, len(self.classes_))
        elif training.points is not None and given != "off":
            features = Features.of(
                training.points, given, components=training.reduction is not None
            )
        elif not isinstance(given, str):
            raise InvalidInputError(
                "features= is a classifier, but only a graph was given: fit points, or give an "
                "array of probabilities"
            )
        return replace(
            asked,
            features=features,
            proportions=class_proportions(self.proportions, code.classes.tolist()),
            rejected=tuple(word.points for word in words if word.do == REJECT),
        )

    def _averaged(self, chosen: Plan, run: Callable[[], Equilibrium]) -> Answer:
        """The answer of an average; the engine runs now only if the law needs it."""
        assert chosen.parts is not None
        averages = Averages(chosen.model, run)
        needed = averages.equilibrium if chosen.parts.phase is None else None
        law, groups = chosen.parts.law(needed)
        code, training = self._label_code, self._training
        names = getattr(self, "feature_names_in_", self._feature_names)
        about = training.points, training.reduction, names
        offered: tuple[Proposal, ...] = ()
        if groups and chosen.forest is not None:
            offered = proposals(groups, law, chosen.forest, code.states, code.classes, *about)
        return Answer(
            classes=code.classes,
            labels=code.states,
            averages=averages,
            temperature=float(chosen.temperature),
            law=law,
            rule="average",
            proposals=offered,
            words=self.words_,
            **self._of_every_answer(chosen),
        )

    def _answer_from(
        self, chosen: Plan, equilibrium: Equilibrium, temperature: float | None = None
    ) -> Answer:
        """The answer that averages give, at a temperature or by the rule that was chosen."""
        return Answer.from_equilibrium(
            equilibrium,
            self._label_code,
            temperature=chosen.temperature if temperature is None else temperature,
            **self._of_every_answer(chosen),
        )

    def _of_every_answer(self, chosen: Plan) -> dict[str, Any]:
        """What an answer takes from the settings and the plan, whichever way it is found."""
        rule = make_rule(self.temperature)
        return {
            "tau": float(self.tau),
            "small_groups": rule.small_groups,
            "eta_min": rule.eta_min,
            "new_groups": chosen.new_groups,
            "choices": tuple(map(str, self.choices_)),
        }

    def _equilibrium(
        self,
        chosen: Plan,
        asked: Asked,
        run: Callable[..., Equilibrium],
        answer_of: Callable[[Equilibrium, float | None], Answer],
    ) -> Equilibrium:
        """Averages over the grid asked for, or over one that covers the three phases."""
        # With the temperature asked for, which might not be had later.
        one = [] if isinstance(asked.temperature, str) else [one_temperature(asked.temperature)]

        def with_one(grid: FloatArray) -> FloatArray:
            return np.unique(np.concatenate([grid, one]))

        engine = chosen.engine
        one_by_one = isinstance(engine, SamplesLevels) and engine.keeps_levels(self.model_)
        if one_by_one:
            run = partial(run, until=StoppingRule(answer_of))
        if not isinstance(chosen.temperatures, str):
            return run(with_one(temperature_array(chosen.temperatures)))
        if one_by_one:
            return run(with_one(approximate_grid(self.model_, asked.callback)))
        grid = with_one(temperature_grid(self.model_, COARSE_SIZE))
        coarse = run(grid)
        if len(coarse.temperatures) < len(grid):  # stopped
            return coarse
        grid = with_one(refined_grid(coarse))
        try:
            if coarse.other_temperatures:
                finer = coarse.at(grid, callback=asked.callback)
            else:
                finer = run(grid)
        # No time for more temperatures, or too little of it for samples to reach them.
        except (StoppedError, UnsupportedModelError, UnreachedTemperatureError):
            return coarse
        return finer if len(finer.temperatures) == len(grid) else coarse

    # -- what the user says about proposals ------------------------------------------------------

    def accept(self, group: str, name: Any, *, callback: Callback | None = None) -> Self:
        """Make a proposal, the `group` "new:1" for instance, a class of its own.

        Its most typical points become labels, as many as a class has in the mean, and the answer
        follows. `name` is that of the class, a whole number where labels are; one that is known
        makes the group part of it. `callback` is as for `fit`. Of more than 3,000 points what
        left-out labels taught is kept from before.
        """
        return self._decide_on(ACCEPT, group, name, callback)

    def reject(self, group: str, *, callback: Callback | None = None) -> Self:
        """Say that a proposal, `group`, is part of the named class beside it.

        Its most typical points become labels of that class, and it is not proposed again.
        `callback` is as for `fit`.
        """
        return self._decide_on(REJECT, group, None, callback)

    def _decide_on(self, do: str, group: str, name: Any, callback: Callback | None) -> Self:
        answer, code = self._answer, self._label_code
        chosen = proposed(answer.proposals, group)
        if do == REJECT:
            name = code.classes[[str(c) for c in code.classes].index(chosen.beside)]
        mean = np.sum(code.states >= 0) / max(len(code.classes), 1)
        labelled = chosen.typical[: max(1, round(mean))]
        given = np.full(len(code.states), None, dtype=object)
        known = code.states >= 0
        given[known] = code.classes[code.states[known]].tolist()
        try:  # in the kind of the classes that there are
            given[labelled] = int(name) if code.classes.dtype.kind in "iu" else str(name)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"{name!r} is no whole number, but all labels are: give the class a number"
            ) from None
        word = Word(do, group, str(name), chosen.points, labelled)
        words = (*self.words_, word)
        if len(given) > QUICK:
            quick = self.quickly_relabelled(given, self.plan_, callback, words)
            if quick is not None:
                self.__dict__.update(quick.__dict__)
                return self
        return self.relabel(given, words=words, callback=callback)

    def quickly_relabelled(
        self,
        y: Any,
        earlier: Plan,
        callback: Callback | None = None,
        words: tuple[Word, ...] = (),
    ) -> Self | None:
        """A copy with a quick answer to other labels `y`, for someone who labels and waits.

        `earlier` is the `plan_` of a classifier with the same settings and graph. The average is
        that of its answer, and so are the trees that offer new classes. Messages of the most
        probable resolution are cooled once and in haste. On ten blobs of 2,000 and 20,000 points
        all calls were those of settled messages, in a fifth of their time. None where the earlier
        plan left nothing to keep: a model of your own, or the paper's. `callback` and `words` are
        as for `relabel`.
        """
        quick, code = copy.copy(self), training_labels(y, self._training)
        asked = quick._with_labels(code, words, self._asked(callback))
        chosen = replanned(self.graph_, code.states, len(code.classes), asked, earlier)
        if chosen is None or not isinstance(chosen.engine, BeliefPropagation):
            return None
        quick.choices_ = [*self._graph_choices, *chosen.choices]
        quick.plan_, quick.model_ = chosen, chosen.model
        wanted = temperature_array(chosen.temperatures)
        if not isinstance(chosen.temperature, str):
            wanted = np.append(wanted, float(chosen.temperature))
        wanted = np.unique(wanted[(wanted > 0) & np.isfinite(wanted)])  # cooled from above
        if len(wanted) == 0:
            return None
        hasty = BeliefPropagation(tol=HASTY_TOL, max_sweeps=HASTY_SWEEPS)
        root = np.random.SeedSequence(0)
        run = partial(cooled_averages, hasty, chosen.model, wanted, root, callback)
        if chosen.parts is None:
            quick.answer_ = quick._answer_from(chosen, run())
        else:
            quick.answer_ = quick._averaged(chosen, run)
        return quick

    # -- answers -------------------------------------------------------------------------------

    @property
    def _answer(self) -> Answer:
        check_is_fitted(self, "answer_")
        return self.answer_

    def decide(self, temperature: float | str) -> Answer:
        """The answer at another `temperature`, from the equilibrium already found.

        It is a number, in the unit of the couplings, or the name of a rule, as for the parameter.
        """
        return self._answer.at(temperature)

    equilibrium_ = _of_answer("equilibrium")
    profile_ = _of_answer("profile")
    temperature_ = _of_answer("temperature")
    transduction_ = _of_answer("calls")
    names_ = _of_answer("names")
    status_ = _of_answer("status")
    label_distributions_ = _of_answer("probabilities")
    new_probability_ = _of_answer("new_probability")
    confidence_ = _of_answer("confidence")
    expected_accuracy_ = _of_answer("expected_accuracy")
    forced_labels_ = _of_answer("forced_labels")
    new_classes_ = _of_answer("new_classes")
    proposals_ = _of_answer("proposals")

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
        """An `outcome` of `profile_` in words, for instance ``A``, ``new:1``, ``confused:A|B``."""
        return self._answer.name_of(outcome)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of the named classes for unseen points X, (n_new, n_classes).

        X holds their features, (n_new, d), or after fitting a graph their similarities to its
        nodes, (n_new, n). An average is carried on as it is: the mean of what the graph says of
        the point's neighbours, and what its own features say. An answer at one temperature follows
        from the point's couplings to training points, made as theirs were. As in
        `label_distributions_`, what a row lacks is the probability of new classes and of other
        states without a name. All are equally probable where a point resembles no training point.
        """
        return self._unseen(X)[1][:, : len(self.classes_)]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Calls of unseen points X, (n_new,), written as in `transduction_`.

        X is as for `predict_proba`. A point takes its most probable class, or new class. By the
        paper's rule it does so when the first two differ by more than tau, and otherwise takes the
        outcome that prevails among its neighbours. A point that resembles no training point, or by
        the paper's rule those of several outcomes equally, is unknown (-1 or 'unknown').
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
            features = parts.fitted(points)
        phase = parts.states(None if parts.phase is not None else answer.equilibrium)
        return similarity, *unseen_average(
            phase, parts.walk, features, answer.law, self.graph_, similarity, parts.clustering
        )

    # -- pictures ------------------------------------------------------------------------------

    def _pictured(self) -> tuple[Answer, None, dict[str, Any]]:
        answer, training = self._answer, self._training
        return answer, None, {"points": training.points, "pixels": training.pixels}

    def _repr_html_inner(self) -> str:
        """Scikit-learn's picture of the settings and, once fitted, the answer."""
        answer = as_html(self.answer_) if hasattr(self, "answer_") else ""
        return str(super()._repr_html_inner()) + answer

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Clock:
    """A callback that says stop when a time is over, counted from its first call."""

    def __init__(self, seconds: float, callback: Callback | None) -> None:
        self.seconds, self.callback = seconds, callback
        self._end: float | None = None

    def __call__(self, report: Progress) -> bool:
        now = monotonic()
        self._end = now + self.seconds if self._end is None else self._end
        stopped = self.callback is not None and bool(self.callback(report))
        return stopped or now > self._end


if PottsClassifier.__doc__:
    PottsClassifier.__doc__ = PottsClassifier.__doc__.replace("<parameters>", PARAMETERS)
