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
from spinlearn.default.features import Features, FittedFeatures, GivenLaw
from spinlearn.default.forest import Forest
from spinlearn.default.new_classes import Group, NewClasses, clusters, new_classes
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
from spinlearn.model.phases import mean_field_temperature
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
    features: Any = None  # Features, GivenLaw or None
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
        return self.for_paper(f"{self.engine.name} cannot treat a null model")

    def for_paper(self, why: str) -> Self:
        """The same with the paper's method, chosen for this reason."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class LawParts:
    """What the law of all points is made of; walk and features are found when first used."""

    average: Average
    graph: Graph  # with the weights that the energy is given
    labels: Labels
    n_classes: int
    # (n, q), averaged over resolutions and temperatures; None: it is read off the engine's averages
    phase: FloatArray | None
    temperatures: tuple[float, ...]  # of the phase, descending
    asked_features: Features | GivenLaw | None
    proportions: FloatArray | None  # shares of the classes, where the user knows them
    doubted: npt.NDArray[np.intp]  # points whose label may be wrong
    reached: BoolArray  # points in parts of the graph with a label of a named class
    # offers groups that may be a class without label; None where none is expected
    forest: Forest | None
    novelty: float
    n_named: int  # classes that have a name: all, unless it is a clustering
    clustering: bool  # whether no two classes have labels, and the others are groups of the forest
    rejected: tuple[npt.NDArray[np.intp], ...]  # groups of points that are no class of their own

    @cached_property
    def walk(self) -> FloatArray:
        """Of all points, (n, n_classes)."""
        return _balanced(walk_law(self.graph, self.labels, self.n_classes), self.proportions)

    @cached_property
    def fitted(self) -> FittedFeatures | None:
        """What the features of any point say."""
        if self.asked_features is None or self.average.features == 0:
            return None
        return self.asked_features.fitted(self.labels, self.n_classes)

    def law(self, equilibrium: Equilibrium | None = None) -> tuple[Law, list[Group]]:
        """The law of all points; the engine's averages are needed where there is no phase.

        And groups that may be a class without label, those that have a column first. The walk
        repeats labels that stand. Labels that may be wrong are judged by neighbours alone: the
        walk and the features would repeat them. Of points without a label in their part of the
        graph, the graph says no more than what classes there are.
        """
        average, asked, k = self.average, self.asked_features, self.n_classes
        phase = self.states(equilibrium)
        total = np.maximum(phase, 0.0).sum(axis=1, keepdims=True)
        known = np.maximum(phase, 0.0) / np.where(total > 0, total, 1.0)
        known = np.where(total > 0, known, 1 / k)
        graph_share = float(average.phase.sum())
        named = graph_share * known + average.walk * self.walk
        named[~self.reached] = named[self.reached].mean(axis=0)
        if asked is not None and average.features > 0:
            if isinstance(asked, Features) and self.fitted is not None:
                features = self.fitted.law(asked.points)
            else:
                features = asked.law(self.labels, k, slice(None))
            named += average.features * _balanced(features, self.proportions)
        named += average.guessing / k
        labelled = self.labels >= 0
        held = np.setdiff1d(np.flatnonzero(labelled), self.doubted)
        named[held], named[self.doubted] = self.walk[held], known[self.doubted]
        named /= named.sum(axis=1, keepdims=True)

        probabilities, groups = named, list[Group]()
        if self.clustering:
            named[~self.reached] = 0.0
        elif self.novelty > 0:
            new = NewClasses(np.zeros(len(named)), [], np.full(len(named), -1, dtype=np.int32))
            if self.forest is not None:
                within = np.where(self.reached[:, None], named, 0.0)
                new = new_classes(self.forest, self.labels, within, self.novelty, self.rejected)
            probabilities, groups = new.beside(named, self.novelty, labelled)
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

    def states(self, equilibrium: Equilibrium | None = None) -> FloatArray:
        """The phase of all points."""
        phase = self.phase
        if phase is None:
            assert equilibrium is not None
            weights = self.average.weights.sum(axis=0)
            rows = equilibrium.at(self.temperatures).marginals
            phase = np.tensordot(weights.astype(rows.dtype), rows, axes=1)
        return phase[:, : self.n_classes]  # with one class a second state holds nothing


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
    parts: LawParts | None = None  # of the law; None where the answer is that of one temperature


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
        asked = asked.for_paper("negative weights push apart, and a null model has none")
    if asked.owns_model:
        return _own_model(graph, labels, n_classes, asked)
    forest = None if earlier is None else earlier.forest
    weighing = _Weighing(graph, np.asarray(labels), n_classes, asked, forest)
    average = weighing.average()
    # Where points have as few neighbours as on a lattice, any group is cut off cheaply.
    sparse = 2 * graph.n_edges < NEIGHBOURS * graph.n_nodes
    if average.n_judged and asked.method == AUTO and sparse:
        why = weighing.papers_evidence(average)
        if why is not None:
            chosen = asked.for_paper(f"{why}; method='messages' overrides this")
            return _own_model(graph, weighing.labels, n_classes, chosen)
    return weighing.clustered() if weighing.clustering else weighing.following(average)


def replanned(
    graph: Graph, labels: Labels, n_classes: int, asked: Asked, earlier: Plan
) -> Plan | None:
    """The plan for other labels with the average of an earlier one; None where it has none."""
    if earlier.average is None or n_classes == 0:
        return None
    weighing = _Weighing(graph, np.asarray(labels), n_classes, asked, earlier.forest)
    if weighing.clustering:
        return weighing.clustered(quick=True)
    return weighing.following(earlier.average, quick=True)


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
        strength = _label_strength(model.graph, model.n_states, asked)
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


class _Weighing:
    """The method "messages", and "auto" with the paper's beside it."""

    def __init__(
        self,
        graph: Graph,
        labels: Labels,
        n_classes: int,
        asked: Asked,
        forest: Forest | None = None,
    ) -> None:
        self.similarities, self.labels, self.n_classes, self.asked = graph, labels, n_classes, asked
        self._known_forest = forest
        self.n_named = n_classes
        self.clustering = n_classes == 0 or (n_classes == 1 and asked.novelty > 0)
        self.coupled = COUPLINGS[asked.couplings]
        self.graph = self.coupled(graph)
        self.temperature = temperature_scale(self.graph)
        self.n_states = max(n_classes, 2)
        self.resolutions = RESOLUTIONS if asked.proportions is None else (max(RESOLUTIONS),)
        self.shares: FloatArray | None = None  # of the classes, where the user knows them,
        self.targets: FloatArray | None = None  # and of all states
        if asked.proportions is not None and not self.clustering:
            self.shares = class_shares(asked.proportions, n_classes)
            self.targets = np.pad(self.shares, (0, self.n_states - n_classes))
        self.choices = [
            Choice(
                "couplings",
                asked.couplings,
                "dense and sparse regions then melt at about the same T",
            )
        ]

    def clustered(self, *, quick: bool = False) -> Plan:
        """The plan without labels, or beside one class.

        Groups without a label are held by their most central points.
        """
        if self.forest is not None:
            found = [g for g in clusters(self.forest) if not np.any(self.labels[g] >= 0)]
            found = found[: MAX_STATES - self.n_named]
            self.labels = self.labels.copy()
            for k, points in enumerate(found, start=self.n_named):
                self.labels[self.forest.central(points)[0]] = k
            self.n_classes = self.n_named + len(found)
            self.n_states = max(self.n_classes, 2)
        return self.following(flat(self.n_states, self.resolutions), quick=quick)

    def following(self, average: Average, *, quick: bool = False) -> Plan:
        """The plan once the average is known; a quick one asks the engine."""
        asked, labels, scale = self.asked, self.labels, self.temperature
        strength = _label_strength(self.graph, self.n_states, asked)
        phase = PhaseModels(self.graph, self.n_states, scale, self.targets, strength, asked.seed)
        fields: Any = 0.0
        best = RESOLUTIONS[0]  # where there are no labels at all
        if self.n_classes:
            fields = walk_fields(self.graph, labels, self.n_states, scale)
            best = average.resolutions[int(np.argmax(average.phase.sum(axis=1)))]
        model = phase.model(labels, best, fields)

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
        parts = None
        if is_open(asked.temperature) and self.n_classes:
            # The most probable, for the profile, which needs one.
            temperature = FACTORS[int(np.argmax(average.phase.sum(axis=0)))] * scale
            beliefs = None
            if by_messages and not quick and self.graph.n_nodes <= SAMPLE:
                self._report("averaging", 0.6)
                beliefs = average.beliefs
                if beliefs is None or beliefs.shape[3] != self.n_states:
                    beliefs = np.array([
                        phase.beliefs(phase.model(labels, r, fields)) for r in average.resolutions
                    ])  # fmt: skip
            parts = self._parts(average, model, beliefs, strength)
        elif is_open(temperature):
            temperature = "calibrated"
        if is_open(grid):
            # Up to where nothing is ordered. A large set has those of the average alone, and one
            # more: each costs memory and time.
            if self.graph.n_nodes > SAMPLE and self.n_classes:
                grid = scale * np.array([min(FACTORS) ** 2 / max(FACTORS)])
            else:
                top = max(1.1 * mean_field_temperature(model), 2 * scale)
                grid = np.geomspace(scale / COLDEST, top, N_TEMPERATURES)
            if parts is not None:
                grid = np.union1d(grid, parts.temperatures)
        elif parts is not None:
            grid = temperature_array(grid)
            if parts.phase is None:
                grid = np.union1d(grid, parts.temperatures)
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
            parts=parts,
        )

    def _parts(
        self,
        average: Average,
        model: PottsModel,
        beliefs: FloatArray | None,
        strength: npt.ArrayLike,
    ) -> LawParts:
        """The three laws of all points.

        Without beliefs, the phase of a large set or by an engine of the user's is that of the most
        probable resolution alone, and is read off the averages of the profile.
        """
        ladder = tuple(factor * self.temperature for factor in FACTORS)
        phase = None
        if beliefs is not None:
            weighed = [w * beliefs[place] for place, w in np.ndenumerate(average.weights)]
            phase = np.asarray(sum(weighed))
        why = "weighed by left-out labels" if average.n_judged else "no label can be left out"
        if self.asked.proportions is not None:
            why = f"holds classes to the proportions given; {why}"
        listed = [
            ", ".join(f"{v:.3g}" for v in sorted(one)) for one in (average.resolutions, ladder)
        ]
        resolutions, grid = (" and ".join(text.rsplit(", ", 1)) for text in listed)
        what = f"modularity at {resolutions}, T = {grid}, averaged"
        self.choices.append(Choice("energy", what, why))
        return LawParts(
            average=replace(average, beliefs=None),
            graph=self.graph,
            labels=self.labels,
            n_classes=self.n_classes,
            phase=phase,
            temperatures=ladder,
            asked_features=self.asked.features,
            proportions=self.shares,
            doubted=np.flatnonzero((self.labels >= 0) & bool(self.asked.label_noise)),
            reached=label_reach(model, self.n_classes),
            forest=self.forest,
            novelty=0.0 if self.clustering else self.asked.novelty,
            n_named=self.n_named,
            clustering=self.clustering,
            rejected=self.asked.rejected,
        )

    @cached_property
    def forest(self) -> Forest | None:
        """Trees of the graph, unless no class without label is expected."""
        if (self.asked.novelty == 0 and not self.clustering) or not np.any(self.graph.weights > 0):
            return None
        if self._known_forest is not None and self._known_forest.is_of(self.graph):
            return self._known_forest
        return Forest(self.graph, self.asked.seed, lambda: self._report("growing trees", 0.5))

    def average(self) -> Average:
        """What the labels say about resolutions, temperatures and shares.

        Learnt on all points, or on a sample of many.
        """
        asked, n = self.asked, self.graph.n_nodes
        known = self.n_classes > 1 and np.any(self.graph.weights > 0)
        if not (known and (np.any(self.labels < 0) or asked.label_noise)):
            return flat(self.n_states, self.resolutions)
        self._report("learning the average", 0.0)
        points, graph, features = np.arange(n), self.graph, asked.features
        if n > SAMPLE:
            self._report("drawing a sample", 0.0)
            found = subsample(graph, self.labels, SAMPLE, asked.seed)
            points, graph = found.points, self.coupled(found.graph)
            what, why = (
                f"{len(points)} of {n} points",
                "the average is learnt on it; it holds all labels",
            )
            self.choices.append(Choice("sample", what, why))
            features = None if features is None else features.taken(points)
        strength = _label_strength(graph, self.n_states, asked)
        average = learnt(
            graph,
            self.labels[points],
            self.n_states,
            temperature_scale(graph),
            features=features,
            resolutions=self.resolutions,
            proportions=self.targets,
            label_strength=strength,
            seed=asked.seed,
            check=lambda: self._report("learning the average", 0.1),
        )
        return average if len(points) == n else replace(average, beliefs=None)

    def papers_evidence(self, average: Average) -> str | None:
        """Why the paper's method is taken, or None."""
        self._report("weighing the paper's method", 0.3)
        found = paper_evidence(self.similarities, self.labels, self.n_states)
        if found is None:
            why = "the graph is too wide for exact averages of the paper's minimum cut"
        else:
            gain = found - average.log_evidence
            if gain >= -AGAINST_PAPER:
                return f"left-out labels: {gain:+.1f} nats for the exact minimum cut at T*"
            why = f"left-out labels: {-gain:+.1f} nats against the exact minimum cut at T*"
        self.choices.append(Choice("method", "messages", why))
        return None

    def _report(self, phase: str, fraction: float) -> None:
        callback = self.asked.callback
        if callback is not None and callback(Progress(phase=phase, fraction=fraction)):
            raise StoppedError(f"stopped while {phase}: nothing was computed yet")


def _balanced(law: FloatArray, targets: FloatArray | None) -> FloatArray:
    """A law with classes weighed so that their mean shares are the targets, where there are any."""
    if targets is None:
        return law
    weight = np.ones(len(targets))
    for _ in range(BALANCING_STEPS):
        scaled = law * weight
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mean = scaled.mean(axis=0)
        weight = weight * np.where(mean > 0, targets / np.where(mean > 0, mean, 1.0), 1.0)
    return np.asarray(scaled)


def _label_strength(graph: Graph, n_states: int, asked: Asked) -> float:
    """Fields of the labels.

    A label that is wrong with probability e, in favour of any other class alike, is a field of
    T ln[(q - 1)(1 - e)/e] at temperature T.
    """
    if not asked.label_noise:
        return np.inf
    odds = (n_states - 1) * (1 - asked.label_noise) / asked.label_noise
    return temperature_scale(graph) * float(np.log(odds))
