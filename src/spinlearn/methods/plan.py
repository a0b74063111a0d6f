"""Plan: everything that is settled before the averages of an answer are computed.

What the user names is taken as it is; the rest is found, each choice with its reason.

- "paper": the similarities as couplings, the minimum cut, exact or multicanonical averages, T* of
  section 6.1.
- "messages": the posterior mean of three laws (`average`): homogeneous couplings, the cut beside
  null models, belief propagation; walks from the labels; the features. New classes are looked for
  before (`discovery`).
- "auto": "messages", but on a lattice, or a graph as sparse, the paper's method where left-out
  labels do not speak against it: groups cannot be told by their density there, and the paper's rule
  finds new classes.

An energy, a number of states or a temperature of the user's own is a model of their own: then there
is nothing to average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.temperature_grid import mean_field_temperature
from spinlearn.answers.calibrated import temperature_scale
from spinlearn.answers.law import Law
from spinlearn.answers.rule import label_reach
from spinlearn.core.arrays import MAX_STATES, BoolArray, FloatArray, temperature_array
from spinlearn.core.constants import AGAINST_PAPER, FACTORS, RESOLUTIONS
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Engine, Progress
from spinlearn.core.temperature_cells import nearest_row
from spinlearn.energies import Modularity, make_couplings, make_energy
from spinlearn.energies.class_level import class_shares
from spinlearn.engines import Auto, BeliefPropagation, make_engine
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.methods.average import Average, flat, learnt
from spinlearn.methods.choices import Choice
from spinlearn.methods.discovery import NOVELTY, Found, discover, is_sparse
from spinlearn.methods.evidence import Labels
from spinlearn.methods.features import Features, FittedFeatures, GivenLaw
from spinlearn.methods.label_walks import LabelWalks
from spinlearn.methods.paper_evidence import paper_evidence
from spinlearn.methods.quick_messages import QuickMessages
from spinlearn.methods.thinning import SAMPLE, Thinned, taken, thinned

METHODS = ("auto", "paper", "messages")
AUTO = "auto"
CLUSTERING_RESOLUTION = RESOLUTIONS[0]  # where there are no labels at all
N_TEMPERATURES = 12  # of the profile, for the eye
COLDEST = 3.0  # the scale of temperature over the lowest of the profile
BALANCING_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user has settled; "auto" or None where it is left open.

    Attributes are the parameters of `PottsClassifier` of the same names.
    """

    method: str = AUTO
    couplings: str = AUTO
    energy: Any = AUTO
    engine: Any = AUTO
    temperatures: Any = AUTO
    temperature: Any = AUTO
    label_strength: Any = np.inf
    label_noise: float | None = None
    proportions: Any = None
    novelty: str = "careful"
    n_states: int | None = None
    features: Any = None  # Features, GivenLaw or None
    seed: int = 0
    callback: Callback | None = None
    why: str = ""  # the method is the paper's, if not because the user says so

    def check(self) -> None:
        """Refuse at once what is unknown or contradictory."""
        if not _is_open(self.couplings):
            make_couplings(self.couplings)
        if self.method not in METHODS:
            raise InvalidInputError(
                f"method={self.method!r} is unknown: use one of {', '.join(map(repr, METHODS))}"
            )
        if self.novelty not in NOVELTY:
            raise InvalidInputError(
                f"novelty={self.novelty!r} is unknown: use one of {', '.join(map(repr, NOVELTY))}"
            )
        noise = self.label_noise
        number = isinstance(noise, (int, float, np.number)) and not isinstance(noise, bool)
        if noise is not None and not (number and 0 <= noise < 0.5):
            raise InvalidInputError(
                f"label_noise={noise!r} is not a share of wrong labels: use a number from 0 to "
                "below 0.5, or None where no label is wrong"
            )
        if noise and np.any(np.isfinite(np.asarray(self.label_strength, dtype=np.float64))):
            raise InvalidInputError(
                "label_noise and label_strength are two ways to say the same: give one of them"
            )
        if self.proportions is not None and self.owns_model:
            raise InvalidInputError(
                "proportions belong to the energy that is chosen for you: with an energy of your "
                "own, give them to that, as in energy=Modularity(proportions=[0.8, 0.2])"
            )

    def for_engine(self) -> Self:
        """The same with the paper's method if the engine that is named can treat no other."""
        if self.owns_model or self.method != AUTO or self.proportions is not None:
            return self
        engine = make_engine(self.engine)
        if engine.unsupported(Modularity()(Graph(2, [(0, 1)], [1.0]), [-1, -1], 2)) is None:
            return self
        name = getattr(engine, "name", type(engine).__name__)
        return self.for_paper(f"{name} cannot treat a null model")

    def for_paper(self, why: str) -> Self:
        """The same with the paper's method, chosen for this reason."""
        return replace(self, method="paper", why=why)

    @property
    def owns_model(self) -> bool:
        """Whether there is nothing to weigh."""
        return self.method == "paper" or not _is_open(self.energy) or self.n_states is not None

    @property
    def averages(self) -> bool:
        """Whether the answer is the average, not that of one temperature."""
        return not self.owns_model and _is_open(self.temperature)


@dataclass(frozen=True, eq=False, kw_only=True)
class LawParts:
    """What the law of all points is made of. Walk and features are found when they are first used.

    Attributes
    ----------
    average : Average
    graph : Graph
        With the weights that the energy is given.
    labels : int array (n,)
    n_classes : int
    phase : float array (n, q) or None
        Averaged over resolutions and temperatures; None: it is read off the engine's averages.
    temperatures : tuple of float
        Of the phase, descending.
    asked_features : Features, GivenLaw or None
    proportions : float array (n_classes,) or None
        Shares of the classes, where the user knows them.
    doubted : int array
        Points whose label may be wrong.
    reached : bool array (n,)
        Points in parts of the graph with a label of a named class.
    n_new : int
        States after the named ones that hold new classes.
    """

    average: Average
    graph: Graph
    labels: Labels
    n_classes: int
    phase: FloatArray | None
    temperatures: tuple[float, ...]
    asked_features: Features | GivenLaw | None
    proportions: FloatArray | None
    doubted: npt.NDArray[np.intp]
    reached: BoolArray
    n_new: int

    @cached_property
    def walk(self) -> FloatArray:
        """Of all points, (n, n_classes)."""
        return self._in_proportion(LabelWalks(self.graph).law(self.labels, self.n_classes))

    @cached_property
    def fitted(self) -> FittedFeatures | None:
        """What the features of any point say."""
        if self.asked_features is None or self.average.features == 0:
            return None
        return self.asked_features.fitted(self.labels, self.n_classes)

    @cached_property
    def features(self) -> FloatArray | None:
        """Of all points, (n, n_classes); None where they have no share."""
        asked = self.asked_features
        if asked is None or self.average.features == 0:
            return None
        if isinstance(asked, Features):
            assert self.fitted is not None
            law = self.fitted.law(asked.points)
        else:
            law = asked.law(self.labels, self.n_classes)
        return self._in_proportion(law)

    def _in_proportion(self, law: FloatArray) -> FloatArray:
        return law if self.proportions is None else _balanced(law, self.proportions)

    def law(self, equilibrium: Equilibrium | None = None) -> Law:
        """The law of all points; the engine's averages are needed where there is no phase."""
        return self.average.law(
            self.states(equilibrium),
            self.walk,
            self.features,
            temperatures=self.temperatures,
            held=np.setdiff1d(np.flatnonzero(self.labels >= 0), self.doubted),
            doubted=self.doubted,
            reached=self.reached,
        )

    def _standing(self) -> float:
        """Probability that a group found to be a new class is one.

        A group that m labels of a class have all missed is no part of it with probability
        m / (m + 2). Measured on many kinds of data with 1, 3 and 10 labels a class: 0.26, 0.59 and
        0.74 of the groups found are classes without label if one is hidden in three cases of ten,
        0.46, 0.77 and 0.87 if in five. Beside one class alone it is a clustering, and every group
        is.
        """
        if self.n_classes == 1:
            return 1.0
        labels_a_class = int(np.sum(self.labels >= 0)) / self.n_classes
        return labels_a_class / (labels_a_class + 2)

    def states(self, equilibrium: Equilibrium | None = None) -> FloatArray:
        """The phase of all points in the named classes, and in new ones as far as these stand."""
        phase = self.phase
        if phase is None:
            assert equilibrium is not None
            weights = self.average.weights.sum(axis=0)
            rows = equilibrium.at(self.temperatures).marginals
            phase = np.tensordot(weights.astype(rows.dtype), rows, axes=1)
        # With one class there is a second state that holds nothing.
        states = np.array(phase[:, : self.n_classes + self.n_new])
        states[:, self.n_classes :] *= self._standing()
        return states


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """What is computed.

    Attributes
    ----------
    model : PottsModel
        That of the profile; of an average, the one of the most probable resolution.
    engine : Engine
    temperatures : "auto" or float array
        Grid of the profile.
    temperature : str or float
        Rule or value of that of the answer.
    new_groups : bool
        Whether unconfident points that agree among themselves are new classes, see `profile`.
    choices : tuple of Choice
    found : tuple of Found
        New classes that are held in states after the named ones.
    average : Average or None
        What the labels taught; None where the model is the user's own or the paper's.
    parts : LawParts or None
        Of the law; None where the answer is that of one temperature.
    """

    model: PottsModel
    engine: Engine
    temperatures: Any
    temperature: Any
    new_groups: bool = True
    choices: tuple[Choice, ...] = ()
    found: tuple[Found, ...] = ()
    average: Average | None = None
    parts: LawParts | None = None


def plan(graph: Graph, labels: Labels, n_classes: int, asked: Asked) -> Plan:
    """Settle what is open.

    Parameters
    ----------
    graph : Graph
        Similarities.
    labels : int array (n,)
        Classes from 0, -1 where there is none.
    n_classes : int
    asked : Asked
        Checked.
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
    return _Weighing(graph, np.asarray(labels), n_classes, asked).plan()


def replanned(
    graph: Graph, labels: Labels, n_classes: int, asked: Asked, earlier: Plan
) -> Plan | None:
    """The plan for other labels with the average of an earlier one; None where it has none.

    A new class in which a point has a label now is new no more.

    Parameters
    ----------
    graph, labels, n_classes, asked
        As for `plan`; the graph that of the earlier plan.
    earlier : Plan
    """
    if earlier.average is None:
        return None
    new = [group for group in earlier.found if not np.any(labels[group.points] >= 0)]
    new = new[: MAX_STATES - n_classes]
    weighing = _Weighing(graph, np.asarray(labels), n_classes, asked)
    return weighing.following(new, earlier.average, quick=True)


def _own_model(graph: Graph, labels: Labels, n_classes: int, asked: Asked) -> Plan:
    """The model that was named, or the paper's."""
    couplings = "weights" if asked.couplings == AUTO else asked.couplings
    energy = make_energy("min_cut" if _is_open(asked.energy) else asked.energy)
    n_states = max(n_classes, 2) if asked.n_states is None else asked.n_states
    if isinstance(n_states, (int, np.integer)) and n_states < n_classes:
        raise InvalidInputError(
            f"n_states={n_states} is fewer than the {n_classes} classes among the labels: "
            "leave it None or raise it"
        )
    coupled = make_couplings(couplings)(graph)
    strength = _label_strength(coupled, labels, int(n_states), asked)
    model = energy(coupled, labels, n_states, label_strength=strength)
    if not isinstance(model, PottsModel):
        raise InvalidInputError(
            f"the energy {asked.energy!r} returned a {type(model).__name__}: it must return a "
            "PottsModel"
        )
    temperature = asked.temperature
    if _is_open(temperature) and asked.method == "paper":
        temperature = "paper"
    return Plan(
        model=model,
        engine=make_engine(asked.engine),
        temperatures=asked.temperatures,
        temperature=temperature,
        choices=(Choice("method", "paper", asked.why),) if asked.why else (),
    )


class _Weighing:
    """The method "messages", and "auto" with the paper's beside it."""

    def __init__(self, graph: Graph, labels: Labels, n_classes: int, asked: Asked) -> None:
        self.similarities, self.labels, self.n_classes, self.asked = graph, labels, n_classes, asked
        name = "homogeneous" if asked.couplings == AUTO else asked.couplings
        self.coupled = make_couplings(name)
        self.graph = self.coupled(graph)
        self.temperature = temperature_scale(self.graph)
        self.n_states = max(n_classes, 2)
        self.resolutions = RESOLUTIONS if asked.proportions is None else (max(RESOLUTIONS),)
        self.choices = [] if asked.couplings != AUTO else [
            Choice("couplings", name, "dense and sparse regions then melt at about the same T")
        ]  # fmt: skip

    @cached_property
    def sample(self) -> Thinned:
        """What choices are made on: all points, or a sample of many."""
        n = self.graph.n_nodes
        if n <= SAMPLE:
            return Thinned(np.arange(n), self.graph)
        self._report("drawing a sample", 0.0)
        found = thinned(self.graph, self.labels, SAMPLE, self.asked.seed)
        self.choices.append(
            Choice(
                "sample",
                f"{len(found.points)} of {n} points",
                "the average is learnt on it; it holds all labels",
            )
        )
        return replace(found, graph=self.coupled(found.graph))

    def plan(self) -> Plan:
        """Learn the average, weigh the paper's energy, look for new classes."""
        average = self._average()
        if average.n_judged and self.asked.method == AUTO and is_sparse(self.graph):
            why = self._papers_evidence(average)
            if why is not None:
                chosen = self.asked.for_paper(f"{why}; method='messages' overrides this")
                return _own_model(self.similarities, self.labels, self.n_classes, chosen)
        return self.following(self._new_classes(), average)

    def following(self, found: list[Found], average: Average, *, quick: bool = False) -> Plan:
        """The plan once new classes and the average are known; a quick one asks the engine."""
        held = self.labels.copy()
        for k, group in enumerate(found):
            held[group.centre] = self.n_classes + k
        n_states = max(self.n_classes + len(found), 2)
        strength = _label_strength(self.graph, held, n_states, self.asked, self.n_classes)
        fields: Any = 0.0
        if self.n_classes:
            fields = LabelWalks(self.graph).fields(held, n_states, self.temperature)
        targets = self._targets(found, n_states)

        def model_at(resolution: float) -> PottsModel:
            energy = Modularity(resolution=resolution, proportions=targets)
            model = energy(self.graph, held, n_states, label_strength=strength)
            return model.replace(fields=model.fields + fields)

        model = model_at(average.best if self.n_classes else CLUSTERING_RESOLUTION)
        engine, by_messages = self._engine(model)
        temperature, grid = self.asked.temperature, self.asked.temperatures
        parts = None
        if self.asked.averages and self.n_classes:
            temperature = average.factor * self.temperature  # for the profile, which needs one
            parts = self._parts(average, model, model_at, held, by_messages and not quick)
        elif _is_open(temperature):
            temperature = "calibrated"
        if parts is not None and (_is_open(grid) or parts.phase is None):
            more = self._grid(model) if _is_open(grid) else temperature_array(grid)
            grid = np.union1d(more, parts.temperatures)
        elif parts is not None:  # the average has the nearest row of the user's grid
            grid = temperature_array(grid)
            temperature = float(grid[nearest_row(grid, temperature)])
        elif _is_open(grid):
            grid = self._grid(model)
        return Plan(
            model=model,
            engine=engine,
            temperatures=grid,
            temperature=temperature,
            new_groups=self.n_classes == 0 or self.asked.novelty == "eager",
            choices=tuple(self.choices),
            found=tuple(found),
            average=replace(average, beliefs=None),
            parts=parts,
        )

    def _parts(
        self,
        average: Average,
        model: PottsModel,
        model_at: Callable[[float], PottsModel],
        held: Labels,
        by_messages: bool,
    ) -> LawParts:
        """The three laws of all points.

        The phase of a large set, or by an engine of the user's, is that of the most probable
        resolution alone, and is read off the averages of the profile.
        """
        ladder = tuple(factor * self.temperature for factor in FACTORS)
        phase = None
        if by_messages and self.graph.n_nodes <= SAMPLE:
            self._report("averaging", 0.6)
            beliefs = average.beliefs
            if beliefs is None or beliefs.shape[3] != model.n_states:
                beliefs = np.array([
                    [b.marginals for b in QuickMessages(model_at(r), self.asked.seed)
                     .cooled_through(ladder)]
                    for r in average.resolutions
                ])  # fmt: skip
            phase = average.mean_phase(lambda r, t: beliefs[r, t])
        strength = _label_strength(self.graph, held, model.n_states, self.asked)
        soft = np.isfinite(np.broadcast_to(np.asarray(strength, dtype=np.float64), held.shape))
        what = f"modularity at {_listed(average.resolutions)}, T = {_listed(ladder)}, averaged"
        why = "weighed by left-out labels" if average.n_judged else "no label can be left out"
        if self.asked.proportions is not None:
            why = f"holds classes to the proportions given; {why}"
        self.choices.append(Choice("energy", what, why))
        shares = self.asked.proportions
        return LawParts(
            average=replace(average, beliefs=None),
            graph=self.graph,
            labels=self.labels,
            n_classes=self.n_classes,
            phase=phase,
            temperatures=ladder,
            asked_features=self.asked.features,
            proportions=None if shares is None else class_shares(shares, self.n_classes),
            doubted=np.flatnonzero(soft & (self.labels >= 0)),
            reached=label_reach(model, self.n_classes),
            n_new=int(held.max()) + 1 - self.n_classes,
        )

    def _grid(self, model: PottsModel) -> FloatArray:
        """Temperatures of the profile, ascending, up to where nothing is ordered.

        A large set has those of the average alone: each costs memory and time.
        """
        scale = self.temperature
        if self.graph.n_nodes > SAMPLE and self.n_classes:
            return scale * np.array([min(FACTORS) ** 2 / max(FACTORS)])
        top = max(1.1 * mean_field_temperature(model), 2 * scale)
        return np.geomspace(scale / COLDEST, top, N_TEMPERATURES)

    def _engine(self, model: PottsModel) -> tuple[Engine, bool]:
        """The engine that was named, else belief propagation; whether it is the latter.

        Without null model it is only cooled: the least energy is one class that takes everything.
        """
        engine = make_engine(self.asked.engine)
        if not isinstance(engine, Auto):
            return engine, isinstance(engine, BeliefPropagation)
        self.choices.append(
            Choice("engine", BeliefPropagation.name, "takes seconds; engine= names another")
        )
        return engine.by_messages(n_starts=1 if model.class_penalty is None else None), True

    def _average(self) -> Average:
        """What the labels say about resolutions, temperatures and shares."""
        known = self.n_classes > 1 and np.any(self.graph.weights > 0)
        if not (known and (np.any(self.labels < 0) or self._has_soft_labels())):
            return flat(self.n_states, self.resolutions)
        self._report("learning the average", 0.0)
        points, graph = self.sample.points, self.sample.graph
        labels, features = self.labels[points], self.asked.features
        strength = _label_strength(graph, labels, self.n_states, self.asked)
        if np.shape(strength) == self.labels.shape:  # another is no strength, and refused below
            strength = taken(strength, points)
        average = learnt(
            graph,
            labels,
            self.n_states,
            temperature_scale(graph),
            features=features if features is None else features.taken(points),
            resolutions=self.resolutions,
            proportions=self._targets([], self.n_states),
            label_strength=strength,
            seed=self.asked.seed,
            check=lambda: self._report("learning the average", 0.1),
        )
        return average if len(points) == self.graph.n_nodes else replace(average, beliefs=None)

    def _has_soft_labels(self) -> bool:
        """Whether the data may overrule a label."""
        finite = np.isfinite(np.asarray(self.asked.label_strength, dtype=np.float64))
        return bool(self.asked.label_noise) or bool(np.any(finite))

    def _papers_evidence(self, average: Average) -> str | None:
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

    def _new_classes(self) -> list[Found]:
        """New classes, at most as many as states are left."""
        asked = self.asked
        self._report("looking for new classes", 0.5)
        points, graph = self.sample.points, self.sample.graph
        found = discover(
            graph, self.labels[points], self.n_classes, temperature_scale(graph), asked.novelty,
            asked.seed, stop=lambda: self._stopped("looking for new classes"),
        )  # fmt: skip
        found = [
            Found(points[group.points].astype(np.int32), int(points[group.centre]), group.apart)
            for group in found[: MAX_STATES - self.n_classes]
        ]
        if self.n_classes and asked.novelty != "off":
            what = ", ".join(f"{len(group.points)} points" for group in found) or "none"
            why = "none stands apart from the named classes"
            if found:
                most = max(group.apart for group in found)
                why = f"joined to named classes at most {most:.2g} times as strongly as held inside"
            self.choices.append(Choice("novelty", f"{asked.novelty}: {what}", why))
        return found

    def _targets(self, found: list[Found], n_states: int) -> FloatArray | None:
        """Shares of all states from those given for the classes."""
        if self.asked.proportions is None:
            return None
        named = class_shares(self.asked.proportions, self.n_classes)
        new = np.array([len(group.points) for group in found]) / len(self.sample.points)
        shares = np.concatenate([named * (1 - new.sum()), new])
        return np.asarray(np.pad(shares, (0, n_states - len(shares))))

    def _stopped(self, phase: str) -> bool:
        callback = self.asked.callback
        return callback is not None and bool(callback(Progress(phase=phase, fraction=0.0)))

    def _report(self, phase: str, fraction: float) -> None:
        callback = self.asked.callback
        if callback is not None and callback(Progress(phase=phase, fraction=fraction)):
            raise StoppedError(f"stopped while {phase}: nothing was computed yet")


def _is_open(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _listed(values: Iterable[float]) -> str:
    """Numbers in words: "0, 0.25 and 1"."""
    *first, last = (f"{v:.3g}" for v in sorted(values))
    return f"{', '.join(first)} and {last}" if first else last


def _balanced(law: FloatArray, targets: FloatArray) -> FloatArray:
    """A law with classes weighed so that their mean shares are the targets."""
    weight = np.ones(len(targets))
    for _ in range(BALANCING_STEPS):
        scaled = law * weight
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mean = scaled.mean(axis=0)
        weight = weight * np.where(mean > 0, targets / np.where(mean > 0, mean, 1.0), 1.0)
    return np.asarray(scaled)


def _label_strength(
    graph: Graph, labels: Labels, n_states: int, asked: Asked, n_classes: int | None = None
) -> npt.ArrayLike:
    """Fields of the labels; points that hold a new class are never doubted.

    A label that is wrong with probability e, in favour of any other class alike, is a field of
    T ln[(q - 1)(1 - e)/e] at temperature T.
    """
    strength: npt.ArrayLike = asked.label_strength
    if asked.label_noise:
        odds = (n_states - 1) * (1 - asked.label_noise) / asked.label_noise
        strength = temperature_scale(graph) * float(np.log(odds))
    if n_classes is None or not np.any(labels >= n_classes):
        return strength
    each = np.broadcast_to(np.asarray(strength, dtype=np.float64), labels.shape).copy()
    each[labels >= n_classes] = np.inf
    return each
