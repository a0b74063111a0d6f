"""Plan: everything that is settled before the averages of an answer are computed.

What the user names is taken as it is; the rest is chosen, each choice with its reason.

- "paper": the similarities as couplings, the minimum cut, exact or multicanonical averages, T* of
  section 6.1.
- "messages": homogeneous couplings, the cut beside a null model whose strength the labels choose
  (`resolution`), new classes found before (`discovery`), belief propagation, the temperature at
  which its probabilities are calibrated.
- "auto": "messages", unless the labels speak clearly for the paper's energy.

An energy or a number of states of the user's own is a model of their own: then there is nothing to
weigh.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.temperature_grid import mean_field_temperature
from spinlearn.answers.calibrated import NEIGHBOURS
from spinlearn.core.arrays import MAX_STATES, FloatArray
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Engine, Progress
from spinlearn.energies import Modularity, make_couplings, make_energy
from spinlearn.energies.class_level import class_shares
from spinlearn.engines import Auto, BeliefPropagation, Enumeration, make_engine
from spinlearn.errors import InvalidInputError, StoppedError
from spinlearn.methods.choices import Choice
from spinlearn.methods.discovery import NOVELTY, Found, discover, is_sparse
from spinlearn.methods.evidence import Labels
from spinlearn.methods.label_walks import LabelWalks
from spinlearn.methods.paper_evidence import paper_evidence
from spinlearn.methods.resolution import Weighed, weigh
from spinlearn.methods.thinning import MOST_WHOLE, SAMPLE, Thinned, taken, thinned

METHODS = ("auto", "paper", "messages")
AUTO = "auto"
DEFAULT_RESOLUTION = 0.25  # where no label can say anything
CLUSTERING_RESOLUTION = 0.25  # where there are no labels at all
FOR_PAPER = 6.0  # nats that left-out labels must say for the paper's method before it is taken,
AGAINST_PAPER = 3.0  # and, on a lattice, against it before it is not
FEW_LABELLINGS = 256  # that are enumerated rather than passed messages about
GRID_RATIO = 1.12  # of neighbouring temperatures around that of the answer
COLDEST = 3.0  # the calibrated temperature over the lowest of the grid
COARSE_RATIO = 1.25  # of neighbouring temperatures in large sets, where each costs memory and time
VERY_MANY = 2_000_000  # points beyond which there are three of them,
WIDE_RATIO = 1.5  # so far apart, that of the answer among them


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """What is computed.

    Attributes
    ----------
    model : PottsModel
    engine : Engine
    temperatures : "auto" or float array
        Grid of the profile.
    temperature : str or float
        Rule or value of that of the answer.
    calibration : float or None
        What left-out labels make of the calibrated temperature, a factor.
    new_groups : bool
        Whether unconfident points that agree among themselves are new classes, see `profile`.
    choices : tuple of Choice
    found : tuple of Found
        New classes that are held in states after the named ones.
    weighed : Weighed or None
    resolution : float or None
        Of the null model; None where the model is the user's own or the paper's.
    """

    model: PottsModel
    engine: Engine
    temperatures: Any
    temperature: Any
    calibration: float | None = None
    new_groups: bool = True
    choices: tuple[Choice, ...] = ()
    found: tuple[Found, ...] = ()
    weighed: Weighed | None = None
    resolution: float | None = None


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
    """The plan for other labels with the choices of an earlier one; None where it made none.

    A new class in which a point has a label now is new no more.

    Parameters
    ----------
    graph, labels, n_classes, asked
        As for `plan`; the graph that of the earlier plan.
    earlier : Plan
    """
    if earlier.resolution is None:
        return None
    new = [group for group in earlier.found if not np.any(labels[group.points] >= 0)]
    new = new[: MAX_STATES - n_classes]
    weighing = _Weighing(graph, np.asarray(labels), n_classes, asked)
    return weighing.following(new, earlier.resolution, earlier.weighed)


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
        self.temperature = _scale(self.graph)
        self.n_states = max(n_classes, 2)
        self.choices = [] if asked.couplings != AUTO else [
            Choice("couplings", name, "dense and sparse regions then melt at about the same T")
        ]  # fmt: skip

    @cached_property
    def sample(self) -> Thinned:
        """What choices are made on: all points, or a sample of many."""
        n = self.graph.n_nodes
        if n <= MOST_WHOLE:
            return Thinned(np.arange(n), self.graph)
        self._report("drawing a sample", 0.0)
        found = thinned(self.graph, self.labels, SAMPLE, self.asked.seed)
        self.choices.append(
            Choice(
                "sample",
                f"{len(found.points)} of {n} points",
                "choices are made on it; it holds all labels",
            )
        )
        return replace(found, graph=self.coupled(found.graph))

    def plan(self) -> Plan:
        """Weigh resolutions, the paper's energy, new classes."""
        weighed, resolution = self._resolution()
        if weighed is not None and self.asked.method == AUTO:
            paper = self._papers_evidence(weighed)
            if paper is not None:
                chosen = self.asked.for_paper(f"{paper}; method='messages' overrides this")
                own = _own_model(self.similarities, self.labels, self.n_classes, chosen)
                return replace(own, weighed=weighed)
        return self.following(self._new_classes(), resolution, weighed)

    def following(self, found: list[Found], resolution: float, weighed: Weighed | None) -> Plan:
        """The plan once new classes and the strength of the null model are known."""
        held = self.labels.copy()
        for k, group in enumerate(found):
            held[group.centre] = self.n_classes + k
        n_states = max(self.n_classes + len(found), 2)
        shares = self._targets(found, n_states)
        strength = _label_strength(self.graph, held, n_states, self.asked, self.n_classes)
        energy = Modularity(resolution=resolution, proportions=shares)
        model = energy(self.graph, held, n_states, label_strength=strength)
        if self.n_classes:
            model = LabelWalks(self.graph).added(model, held, self.temperature)
        grid, temperature = self.asked.temperatures, self.asked.temperature
        few = self.graph.n_nodes > MOST_WHOLE  # temperatures
        factor = None if weighed is None else weighed.fine_factor if few else weighed.factor
        if _is_open(temperature):
            temperature = "calibrated"
            why = f"{self.temperature:.4g}, a fifth of the mean summed coupling"
            if factor is None:
                why += ", or below where classes form"
            else:
                why += f", times {factor:.3g} by what left-out labels say"
            self.choices.append(Choice("temperature", temperature, why))
        return Plan(
            model=model,
            engine=self._engine(model, resolution),
            temperatures=message_grid(model, self.temperature, factor) if _is_open(grid) else grid,
            temperature=temperature,
            calibration=factor,
            new_groups=self.n_classes == 0 or self.asked.novelty == "eager",
            choices=tuple(self.choices),
            found=tuple(found),
            weighed=weighed,
            resolution=resolution,
        )

    def _engine(self, model: PottsModel, resolution: float) -> Engine:
        """The engine that was named, else belief propagation; a few points are enumerated.

        Without null model it is only cooled: the least energy is one class that takes everything.
        """
        engine = make_engine(self.asked.engine)
        if not isinstance(engine, Auto):
            return engine
        listed = Enumeration(max_states=FEW_LABELLINGS)
        if listed.unsupported(model) is None:
            self.choices.append(Choice("engine", listed.name, "exact: the points are few"))
            return listed
        self.choices.append(
            Choice("engine", BeliefPropagation.name, "takes seconds; engine= names another")
        )
        return engine.by_messages(n_starts=1 if resolution == 0 else None)

    def _resolution(self) -> tuple[Weighed | None, float]:
        """How strong the null model is."""
        said = "energy"
        if self.n_classes == 0:
            self.choices.append(
                Choice(said, f"modularity at {CLUSTERING_RESOLUTION:g}", "no labels: a clustering")
            )
            return None, CLUSTERING_RESOLUTION
        if self.asked.proportions is not None:
            self.choices.append(
                Choice(said, "modularity at 1", "holds classes to the proportions given")
            )
            return None, 1.0
        if not np.any(self.graph.weights > 0) or not np.any(self.labels < 0):
            return None, DEFAULT_RESOLUTION
        self._report("weighing models", 0.0)
        points, graph = self.sample.points, self.sample.graph
        labels = self.labels[points]
        strength = _label_strength(graph, labels, self.n_states, self.asked)
        if np.shape(strength) == self.labels.shape:  # another is no strength, and refused below
            strength = taken(strength, points)
        weighed = weigh(
            graph,
            labels,
            self.n_states,
            _scale(graph),
            label_strength=strength,
            seed=self.asked.seed,
            check=lambda: self._report("weighing models", 0.1),
        )
        name = "min_cut" if weighed.resolution == 0 else "modularity"
        self.choices.append(
            Choice(said, f"{name}, resolution {weighed.resolution:g}", weighed.reason())
        )
        return weighed, weighed.resolution

    def _papers_evidence(self, weighed: Weighed) -> str | None:
        """Why the paper's method is taken, or None."""
        left_out = weighed.chosen.left_out
        if left_out is None:
            return None
        best = float(left_out.log_likelihood.max())
        # On a lattice, or a graph as sparse, groups cannot be told by their density: there the
        # paper's rule finds new classes, and messages must do clearly better to be taken.
        needed = -AGAINST_PAPER if is_sparse(self.graph) else FOR_PAPER
        if -best < needed:
            return None  # even a perfect rival could not win
        self._report("weighing the paper's method", 0.3)
        found = None
        if self.graph.n_nodes <= MOST_WHOLE or is_sparse(self.graph):
            found = paper_evidence(self.similarities, self.labels, self.n_states)
        if found is None:
            why = "the graph is too wide for exact averages of the paper's minimum cut"
        else:
            gain = float(found.log_likelihood[0]) - best
            if gain >= needed:
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
            graph, self.labels[points], self.n_classes, _scale(graph), asked.novelty, asked.seed,
            stop=lambda: self._stopped("looking for new classes"),
        )  # fmt: skip
        found = [
            Found(points[group.points].astype(np.int32), int(points[group.centre]), group.rho)
            for group in found[: MAX_STATES - self.n_classes]
        ]
        if self.n_classes and asked.novelty != "off":
            what = ", ".join(f"{len(group.points)} points" for group in found) or "none"
            why = "none stands apart from the named classes"
            if found:
                rho = max(group.rho for group in found)
                why = f"coupled to named classes at most {rho:.2g} times as strongly as by chance"
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


def message_grid(model: PottsModel, temperature: float, factor: float | None = None) -> FloatArray:
    """Temperatures around that of the answer, up to where nothing is ordered, ascending.

    `factor` is what left-out labels make of the temperature; None where there are none.
    """
    if model.n_nodes > VERY_MANY and factor is not None:
        return temperature * factor * WIDE_RATIO ** np.arange(-1.0, 2.0)
    if temperature <= 0:
        return np.array([1.0])
    if model.n_nodes > MOST_WHOLE and factor is not None:
        temperature *= factor
    top = max(1.1 * mean_field_temperature(model), 1.5 * temperature)
    if model.n_nodes > MOST_WHOLE:
        near = temperature * COARSE_RATIO ** np.arange(-2.0, 4.0)
        return np.concatenate([[temperature / COLDEST], near[near < top], [top]])
    above = int(np.ceil(np.log(top / temperature) / np.log(GRID_RATIO)))
    near = temperature * GRID_RATIO ** np.arange(-4.0, min(above, 6) + 1)
    far = np.geomspace(near[-1], top, 5)[1:] if near[-1] < top else np.empty(0)
    cold = np.geomspace(temperature / COLDEST, near[0], 4)[:-1]
    return np.concatenate([cold, near, far])


def _scale(graph: Graph) -> float:
    """The calibrated temperature of a cut with these couplings."""
    return 2 * float(np.abs(graph.weights).sum()) / max(graph.n_nodes, 1) / NEIGHBOURS


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
        strength = _scale(graph) * float(np.log(odds))
    if n_classes is None or not np.any(labels >= n_classes):
        return strength
    each = np.broadcast_to(np.asarray(strength, dtype=np.float64), labels.shape).copy()
    each[labels >= n_classes] = np.inf
    return each
