"""Plan: everything that is settled before the averages of an answer are computed.

What the user names is taken as it is; the rest is found, each choice with its reason.

- "paper": the similarities as couplings, the minimum cut, exact or multicanonical averages, T* of
  section 6.1.
- "messages": the posterior mean of three laws (`average`): homogeneous couplings, the cut beside
  null models, belief propagation; walks from the labels; the features. Beside it, the probability
  of a class without label (`new_classes`). Without any label, groups of the same trees are held by
  their most central points.
- "auto": "messages", but on a lattice, or a graph as sparse, the paper's method where left-out
  labels do not speak against it: groups cannot be told by their density there, and the paper's rule
  finds new classes.

An energy, a number of states or a temperature of the user's own is a model of their own: then there
is nothing to average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.answers.law import Law
from spinlearn.answers.rule import label_reach
from spinlearn.answers.temperature import temperature_scale
from spinlearn.constants import AGAINST_PAPER, FACTORS, NEIGHBOURS, RESOLUTIONS
from spinlearn.default.average import Average, PhaseModels, flat, learnt, paper_evidence
from spinlearn.default.features import Features, GivenLaw
from spinlearn.default.forest import Forest
from spinlearn.default.new_classes import Group, clusters, new_classes
from spinlearn.default.walks import SAMPLE, Labels, subsample, walk_fields, walk_law
from spinlearn.energies import COUPLINGS, make_energy
from spinlearn.energies.class_level import class_shares
from spinlearn.engines import Auto, BeliefPropagation
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.model.arrays import (
    MAX_STATES,
    BoolArray,
    FloatArray,
    frozen,
    nearest_row,
    temperature_array,
)
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Engine, Progress
from spinlearn.model.settings import AUTO, is_open

METHODS = ("auto", "paper", "messages")
N_TEMPERATURES = 12  # of the profile, for the eye
COLDEST = 3.0  # the scale of temperature over the lowest of the profile
BALANCING_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user has settled; "auto" or None where it is left open.

    The settings of these names (`spinlearn.settings`), checked and made, and what is known besides.
    """

    method: str
    energy: Any
    engine: Engine
    temperature: Any
    temperatures: Any
    label_noise: float | None
    proportions: Any
    novelty: float
    features: Any = None  # Features, GivenLaw or None; of the classifier, what the user says
    rejected: tuple[npt.NDArray[np.intp], ...] = ()  # groups that are no new class
    couplings: str = "homogeneous"  # of the energy that is chosen
    seed: int = 0
    callback: Callback | None = None
    why: str = ""  # the method is the paper's, if not because the user says so

    def for_engine(self) -> Self:
        """The same with the paper's method if the engine that is named can treat no other."""
        if self.owns_model or self.method != AUTO or self.proportions is not None:
            return self
        if getattr(self.engine, "treats_class_terms", True):
            return self
        why = f"{self.engine.name} cannot treat a null model"
        return replace(self, method="paper", why=why)

    @property
    def owns_model(self) -> bool:
        """Whether there is nothing to weigh."""
        return self.method == "paper" or not is_open(self.energy)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided for the user, in one line with its reason."""

    name: str  # of the setting that would override it
    value: str  # what was taken
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.value} ({self.reason})"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """What is computed."""

    model: PottsModel  # that of the profile; of an average, the one of the most probable resolution
    engine: Engine
    temperatures: Any  # grid of the profile, or "auto"
    temperature: Any  # rule or value of that of the answer
    # whether unconfident points that agree among themselves are new classes
    new_groups: bool = True
    choices: tuple[Choice, ...] = ()
    forest: Forest | None = None  # of the graph, where classes without label are expected
    # what the labels taught; None where the model is the user's own or the paper's
    average: Average | None = None
    parts: Mixture | None = None  # of the law; None where the answer is that of one temperature


def plan(
    graph: Graph, labels: Labels, n_classes: int, asked: Asked, earlier: Plan | None = None
) -> Plan:
    """Settle what is open, for similarities and labels (-1: none); what is asked is checked.

    An earlier plan of the same graph and settings, with other labels, lends its trees.
    """
    if n_classes > MAX_STATES:
        raise InvalidInputError(
            f"y holds {n_classes} different labels, but states are stored in one byte: at most "
            f"{MAX_STATES} classes are possible; merge some, or check that y holds classes"
        )
    if not asked.owns_model and asked.method == AUTO and np.any(graph.weights < 0):
        why = "negative weights push apart, and a null model has none"
        asked = replace(asked, method="paper", why=why)
    if asked.owns_model:
        return _own_model(graph, labels, n_classes, asked)
    mixture = Mixture(graph, labels, n_classes, asked)
    average = mixture.learn()
    # Where points have as few neighbours as on a lattice, any group is cut off cheaply.
    sparse = 2 * graph.n_edges < NEIGHBOURS * graph.n_nodes
    if average.n_judged and asked.method == AUTO and sparse:
        mixture.report("weighing the paper's method", 0.3)
        evidence = paper_evidence(graph, mixture.labels, mixture.n_states)
        why = "the graph is too wide for exact averages of the paper's minimum cut"
        if evidence is not None:
            gain = evidence - average.log_evidence
            if gain >= -AGAINST_PAPER:
                why = f"left-out labels: {gain:+.1f} nats for the exact minimum cut at T*"
                why += "; method='messages' overrides this"
                asked = replace(asked, method="paper", why=why)
                return _own_model(graph, mixture.labels, n_classes, asked)
            why = f"left-out labels: {-gain:+.1f} nats against the exact minimum cut at T*"
        mixture.choices.append(Choice("method", "messages", why))
    return mixture.planned(average, None if earlier is None else earlier.forest)


def replanned(
    graph: Graph, labels: Labels, n_classes: int, asked: Asked, earlier: Plan
) -> Plan | None:
    """The plan for other labels with the average of an earlier one; None where it has none."""
    if earlier.average is None or n_classes == 0:
        return None
    mixture = Mixture(graph, labels, n_classes, asked)
    return mixture.planned(earlier.average, earlier.forest, quick=True)


def _own_model(graph: Graph, labels: Labels, n_classes: int, asked: Asked) -> Plan:
    """The model that was named, or the paper's."""
    energy = make_energy("min_cut" if is_open(asked.energy) else asked.energy)
    model = energy(graph, labels, max(n_classes, 2))
    if not isinstance(model, PottsModel):
        raise InvalidInputError(
            f"the energy {asked.energy!r} returned a {type(model).__name__}: it must return a "
            "PottsModel"
        )
    if asked.label_noise:
        strength = _label_strength(model.graph, model.n_states, asked.label_noise)
        model = energy(graph, labels, max(n_classes, 2), label_strength=strength)
    temperature = asked.temperature
    if is_open(temperature) and asked.method == "paper":
        temperature = "paper"
    return Plan(
        model=model,
        engine=asked.engine,
        temperatures=asked.temperatures,
        temperature=temperature,
        choices=(Choice("method", "paper", asked.why),) if asked.why else (),
    )


class Mixture:
    """The average of three laws: what it is made of, and the law of all points.

    `graph` has the weights that the energy is given; `n_named` classes have a name.
    """

    average: Average
    # (n, q), averaged over resolutions and temperatures; None: it is read off the engine's averages
    phase: FloatArray | None = None
    reached: BoolArray  # points in parts of the graph with a label of a named class
    # offers groups that may be a class without label; None where none is expected
    forest: Forest | None = None

    def __init__(self, similarities: Graph, labels: Labels, n_classes: int, asked: Asked) -> None:
        self.asked, self.labels, self.n_classes = asked, np.asarray(labels), n_classes
        self.n_named, self.n_states = n_classes, max(n_classes, 2)
        # Whether no two classes have labels: the others are groups of the forest.
        self.clustering = n_classes == 0 or (n_classes == 1 and asked.novelty > 0)
        self.graph = COUPLINGS[asked.couplings](similarities)
        self.scale = temperature_scale(self.graph)
        self.temperatures = tuple(factor * self.scale for factor in FACTORS)  # of the phase
        self.resolutions = RESOLUTIONS if asked.proportions is None else (max(RESOLUTIONS),)
        self.shares: FloatArray | None = None  # of the classes, where the user knows them
        if asked.proportions is not None and not self.clustering:
            self.shares = class_shares(asked.proportions, n_classes)
        why = "dense and sparse regions then melt at about the same T"
        self.choices = [Choice("couplings", asked.couplings, why)]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"asked": replace(self.asked, callback=None)}

    def report(self, phase: str, fraction: float) -> None:
        """Say how far the plan is; whoever listens may stop it."""
        callback = self.asked.callback
        if callback is not None and callback(Progress(phase=phase, fraction=fraction)):
            raise StoppedError(f"stopped while {phase}: nothing was computed yet")

    def learn(self) -> Average:
        """What the labels say about resolutions, temperatures and shares.

        Learnt on all points, or on a sample of many.
        """
        asked, n = self.asked, self.graph.n_nodes
        known = self.n_classes > 1 and np.any(self.graph.weights > 0)
        if not (known and (np.any(self.labels < 0) or asked.label_noise)):
            return flat(self.n_states, self.resolutions)
        self.report("learning the average", 0.0)
        models, labels, features = self.models, self.labels, asked.features
        if n > SAMPLE:
            self.report("drawing a sample", 0.0)
            points, sample = subsample(self.graph, labels, SAMPLE, asked.seed)
            models, labels = self._models(COUPLINGS[asked.couplings](sample)), labels[points]
            what = f"{len(labels)} of {n} points"
            why = "the average is learnt on it; it holds all labels"
            self.choices.append(Choice("sample", what, why))
            features = None if features is None else features.taken(points)
        average = learnt(
            models,
            labels,
            features=features,
            resolutions=self.resolutions,
            check=lambda: self.report("learning the average", 0.1),
        )
        return average if n <= SAMPLE else replace(average, beliefs=None)

    @cached_property
    def models(self) -> PhaseModels:
        """Models of the phase on the whole graph."""
        return self._models(self.graph)

    def _models(self, graph: Graph) -> PhaseModels:
        """The same on a graph that has the weights of the energy."""
        q, noise = self.n_states, self.asked.label_noise
        targets = None if self.shares is None else np.pad(self.shares, (0, q - self.n_classes))
        strength = _label_strength(graph, q, noise) if noise else np.inf
        scale = temperature_scale(graph)
        return PhaseModels(graph, q, scale, targets, strength, self.asked.seed)

    def planned(self, average: Average, earlier: Forest | None, *, quick: bool = False) -> Plan:
        """The plan once the average is known; a quick one asks the engine for the phase.

        An earlier forest is taken if it has grown on the same links.
        """
        asked, graph, scale = self.asked, self.graph, self.scale
        if (asked.novelty > 0 or self.clustering) and np.any(graph.weights > 0):
            known = earlier is not None and np.array_equal(earlier.weights, graph.weights)
            self.forest = earlier if known else (
                Forest(graph, asked.seed, lambda: self.report("growing trees", 0.5))
            )  # fmt: skip
        if self.clustering:
            self._hold_groups()
            average = flat(self.n_states, self.resolutions)
        fields: Any = 0.0
        best = RESOLUTIONS[0]  # where there are no labels at all
        if self.n_classes:
            fields = walk_fields(graph, self.labels, self.n_states, scale)
            best = average.resolutions[int(np.argmax(average.phase.sum(axis=1)))]
        model = self.models.model(self.labels, best, fields)

        engine = asked.engine
        by_messages = isinstance(engine, (Auto, BeliefPropagation))
        if isinstance(engine, Auto):
            why = "takes seconds; engine= names another"
            self.choices.append(Choice("engine", BeliefPropagation.name, why))
            # Without null model it is only cooled: the least energy is one class alone.
            engine = BeliefPropagation(
                tol=1e-6,  # of messages, a thousandth of what a probability is read to
                n_starts=1 if model.class_penalty is None else None,
                minimizer="hasty",
                checkpoint=engine.checkpoint,
                checkpoint_seconds=engine.checkpoint_seconds,
            )
        temperature, grid = asked.temperature, asked.temperatures
        averaged = is_open(temperature) and self.n_classes > 0
        if averaged:
            # The most probable, for the profile, which needs one.
            temperature = self.temperatures[int(np.argmax(average.phase.sum(axis=0)))]
            _, self.reached = label_reach(model, self.n_classes)
            solve = by_messages and not quick and graph.n_nodes <= SAMPLE
            self._average(average, fields, solve)
        elif is_open(temperature):
            temperature = "calibrated"
        if is_open(grid):
            # Up to where nothing is ordered. A large set has those of the average alone: each costs
            # memory and time.
            if graph.n_nodes > SAMPLE and self.n_classes:
                grid = np.sort(self.temperatures)
            else:
                top = max(1.1 * self.models.places.temperature, 2 * scale)
                grid = np.geomspace(scale / COLDEST, top, N_TEMPERATURES)
            if averaged:
                grid = np.union1d(grid, self.temperatures)
        elif averaged:
            grid = temperature_array(grid)
            if self.phase is None:
                grid = np.union1d(grid, self.temperatures)
            else:  # the average has the nearest row of the user's grid
                temperature = float(grid[nearest_row(grid, temperature)])
        return Plan(
            model=model,
            engine=engine,
            temperatures=grid,
            temperature=temperature,
            new_groups=self.clustering,
            choices=tuple(self.choices),
            forest=self.forest,
            average=replace(average, beliefs=None),
            parts=self if averaged else None,
        )

    def _hold_groups(self) -> None:
        """Hold groups without a label by their most central points."""
        if self.forest is None:
            return
        groups = [g for g in clusters(self.forest) if not np.any(self.labels[g] >= 0)]
        groups = groups[: MAX_STATES - self.n_named]
        self.labels = self.labels.copy()
        for k, points in enumerate(groups, start=self.n_named):
            self.labels[self.forest.central(points)[0]] = k
        self.n_classes = self.n_named + len(groups)
        self.n_states = max(self.n_classes, 2)

    def _average(self, average: Average, fields: Any, solve: bool) -> None:
        """Take an average; solve for the phase by quick messages, unless they are known."""
        self.average = replace(average, beliefs=None)
        if solve:
            self.report("averaging", 0.6)
            beliefs = average.beliefs
            if beliefs is None or beliefs.shape[3] != self.n_states:
                own = [self.models.model(self.labels, r, fields) for r in average.resolutions]
                beliefs = np.array(self.models.beliefs(own))
            weighed = [w * beliefs[place] for place, w in np.ndenumerate(average.weights)]
            self.phase = np.asarray(sum(weighed))
        why = "weighed by left-out labels" if average.n_judged else "no label can be left out"
        if self.asked.proportions is not None:
            why = f"holds classes to the proportions given; {why}"
        both = average.resolutions, self.temperatures
        listed = [", ".join(f"{v:.3g}" for v in sorted(values)) for values in both]
        resolutions, grid = (" and ".join(text.rsplit(", ", 1)) for text in listed)
        what = f"modularity at {resolutions}, T = {grid}, averaged"
        self.choices.append(Choice("energy", what, why))

    @cached_property
    def walk(self) -> FloatArray:
        """Of all points, (n, n_classes)."""
        law = walk_law(self.graph, self.labels, self.n_classes)
        return law if self.shares is None else _balanced(law, self.shares)

    @cached_property
    def fitted(self) -> Callable[[FloatArray], FloatArray] | None:
        """What the features of any points say; None where that counts for nothing."""
        features: Features | GivenLaw | None = self.asked.features
        if features is None or self.average.features == 0:
            return None
        return features.fitted(self.labels, self.n_classes)

    def states(self, equilibrium: Equilibrium | None = None) -> FloatArray:
        """The phase of all points, read off the engine's averages where it is not known."""
        phase = self.phase
        if phase is None:
            assert equilibrium is not None
            weights = self.average.weights.sum(axis=0)
            rows = equilibrium.at(self.temperatures).marginals
            phase = np.tensordot(weights.astype(rows.dtype), rows, axes=1)
        return phase[:, : self.n_classes]  # with one class a second state holds nothing

    def law(self, equilibrium: Equilibrium | None = None) -> tuple[Law, list[Group]]:
        """The law of all points; the engine's averages are needed where there is no phase.

        And groups that may be a class without label, those that have a column first. The walk
        repeats labels that stand. Labels that may be wrong are judged by neighbours alone: the
        walk and the features would repeat them. Of points without a label in their part of the
        graph, the graph says no more than what classes there are.
        """
        average, asked, k, labels = self.average, self.asked, self.n_classes, self.labels
        phase = self.states(equilibrium)
        total = np.maximum(phase, 0.0).sum(axis=1, keepdims=True)
        known = np.maximum(phase, 0.0) / np.where(total > 0, total, 1.0)
        known = np.where(total > 0, known, 1 / k)
        graph_share = float(average.phase.sum())
        named = graph_share * known + average.walk * self.walk
        named[~self.reached] = named[self.reached].mean(axis=0)
        if asked.features is not None and average.features > 0:
            if isinstance(asked.features, Features) and self.fitted is not None:
                features = self.fitted(asked.features.points)
            else:
                features = asked.features.law(labels, k, slice(None))
            if self.shares is not None:
                features = _balanced(features, self.shares)
            named += average.features * features
        named += average.guessing / k
        held = labels >= 0
        named[held] = (known if asked.label_noise else self.walk)[held]
        named /= named.sum(axis=1, keepdims=True)

        probabilities, groups = named, list[Group]()
        if self.clustering:
            named[~self.reached] = 0.0
        elif asked.novelty > 0:
            within = np.where(self.reached[:, None], named, 0.0)
            new = new_classes(self.forest, labels, within, asked.novelty, asked.rejected)
            probabilities, groups = new.beside(named, asked.novelty, held)
        errors = average.class_errors  # of classes that came later, the mean
        later = np.full(max(self.n_named - len(errors), 0), errors.mean() if len(errors) else 0.0)
        law = Law(
            probabilities=frozen(probabilities, phase.dtype.type),
            shares=(graph_share, average.walk, average.features, average.guessing),
            n_judged=average.n_judged,
            n_right=average.n_right,
            chance=average.chance,
            class_errors=frozen(np.concatenate([errors[: self.n_named], later]), np.float64),
            temperatures=self.temperatures,
            resolutions=average.resolutions,
            phase_weights=tuple(tuple(row) for row in average.weights.tolist()),
        )
        return law, groups


def _balanced(law: FloatArray, targets: FloatArray) -> FloatArray:
    """A law with classes weighed so that their mean shares are the targets."""
    weight = np.ones(len(targets))
    for _ in range(BALANCING_STEPS):
        scaled = law * weight
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mean = scaled.mean(axis=0)
        weight = weight * np.where(mean > 0, targets / np.where(mean > 0, mean, 1.0), 1.0)
    return np.asarray(scaled)


def _label_strength(graph: Graph, n_states: int, noise: float) -> float:
    """Fields of the labels.

    A label that is wrong with probability e, in favour of any other class alike, is a field of
    T ln[(q - 1)(1 - e)/e] at temperature T.
    """
    return temperature_scale(graph) * float(np.log((n_states - 1) * (1 - noise) / noise))
