"""From a dataset to a result, from a user's word about a proposal to the next, and what it costs.

Bytes are counted over the arrays that stand at the peak, while messages are passed
(`spinlearn.engines.messages.potts`): the messages, packed, with where they lie; the graph, with
the weights given and those of the energy; fields and beliefs; points and their names; averages of
all temperatures, or of one where the others wait on the disk. Measured peaks were SPARE times that.
Processor time is that of the default answer, measured with ten classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn import __version__
from spinlearn.answers.labels import LabelCode
from spinlearn.answers.proposal import ACCEPT, Word
from spinlearn.classifier import PottsClassifier
from spinlearn.default import Plan
from spinlearn.default.average import Average
from spinlearn.engines.messages.cooling import SMALL
from spinlearn.engines.messages.layout import lanes_for
from spinlearn.errors import (
    CheckpointWarning,
    ContradictionWarning,
    ConvergenceWarning,
    InvalidInputError,
    SpinlearnWarning,
)
from spinlearn.graphs import describe, make_builder
from spinlearn.inputs import TrainingGraph
from spinlearn.io.dataset import Dataset, prepared
from spinlearn.io.record import plain
from spinlearn.io.result import Result
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.protocols import Callback, Progress
from spinlearn.model.settings import value_of
from spinlearn.settings import CLASSIFIER, TemperatureRule, check, complete


class Fitting:
    """One dataset that may be classified several times, with other labels each time.

    What does not depend on labels, above all the graph, is found once. `settings` are those that
    differ from their defaults, by name (`spinlearn.settings`, CLASSIFIER and PREPARING); an
    `engine` takes the place of the one that they name, for instance one that saves its run.
    """

    def __init__(
        self, data: Dataset, settings: Mapping[str, Any] | None = None, engine: Any = None
    ) -> None:
        self.data, self.settings = data, complete(settings or {})
        graph = self.settings["graph"]
        if data.graph is not None and graph != "auto":
            raise InvalidInputError(
                f"graph {graph!r} builds a graph from points, but the file holds a graph already: "
                "leave it out"
            )
        self._options = {one.name: self.settings[one.name] for one in CLASSIFIER}
        check(self._options)
        if graph != "auto":
            make_builder(graph)
        if engine is not None:
            self._options["engine"] = engine
        self.fitted: PottsClassifier | None = None  # the first, which holds the graph
        self.last: PottsClassifier | None = None
        self.feature_names: Sequence[str] | None = None  # of the points, once they are prepared

    @cached_property
    def points(self) -> Any:
        """What is classified: the graph of the file, or its points as the settings prepare them."""
        data, settings = self.data, self.settings
        if data.graph is not None:
            return data.graph
        assert data.points is not None
        scale, clip = settings["scale"], settings["clip"]
        if scale == "auto":
            scale = "standard" if data.table else "none"
        if isinstance(clip, str):
            clip = value_of(clip)
        if clip is not None and np.shape(clip) != (2,):
            raise InvalidInputError(
                f"clip {settings['clip']!r} cannot be read: write LOW,HIGH, for example 100,16000"
            )
        points, names = prepared(
            data.points, data.feature_names, clip=clip, log2=settings["log2"],
            top_variance=settings["top_variance"], scale=scale,
        )  # fmt: skip
        if scale == "standard" and data.shared:
            points = points / np.sqrt([data.shared.get(name, 1) for name in names])
        self.feature_names = names
        return points

    def classifier(
        self,
        labels: npt.NDArray[np.object_],
        callback: Callback | None = None,
        words: tuple[Word, ...] = (),
    ) -> PottsClassifier:
        """A classifier fitted to these labels, and to what was said about proposals."""
        if self.fitted is None:
            first, points = PottsClassifier(**self._options), self.points
            first._feature_names = self.feature_names
            self.last = self.fitted = first.fit(points, labels, callback=callback)
            if not words:
                return self.last
        self.last = copy(self.fitted).relabel(labels, words=words, callback=callback)
        return self.last

    def result(
        self,
        labels: npt.NDArray[np.object_],
        callback: Callback | None = None,
        tell: Callable[[str], None] | None = None,
        words: tuple[Word, ...] = (),
    ) -> tuple[Result, list[str]]:
        """The answer to these labels and words, and the warnings on the way.

        `tell` hears at once that the run could not be saved: at its end it would be too late.
        """
        data = self.data
        began = perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SpinlearnWarning)
            told = False

            def watch(report: Progress) -> bool | None:
                """Tells, once, that a checkpoint could not be written."""
                nonlocal told
                failed = [w.message for w in caught if issubclass(w.category, CheckpointWarning)]
                if tell is not None and failed and not told:
                    told = True
                    tell(str(failed[0]))
                return None if callback is None else callback(report)

            watched = callback if tell is None else watch
            classifier = self.classifier(labels, watched, words)
            averages = classifier.equilibrium_  # for the files and the page, which show all of it
        notes = list(data.notes)
        if self.settings["top_variance"] is not None and data.points is not None:
            notes.append(f"the {self.points.shape[1]} features of largest variance are used")
        messages = notes + _messages(caught, averages, data.ids)
        layout = data.layout
        flat = isinstance(data.points, np.ndarray) and data.points.shape[1] == 2
        if layout is None and flat:
            layout = data.points  # axes that the user knows
        record = {
            "version": __version__,
            # A name is bytes, which need not be text.
            "data": data.source.name.encode("utf-8", "backslashreplace").decode("utf-8"),
            "options": plain(self.settings),
            "seconds": round(perf_counter() - began, 3),
            "warnings": messages,
            "diagnostics": plain(dict(averages.diagnostics)),
        }
        result = Result.of(classifier, data.ids, layout=layout, settings=record)
        return result, messages


def _messages(
    caught: list[warnings.WarningMessage], equilibrium: Equilibrium, ids: Sequence[str]
) -> list[str]:
    """Warnings in words, each once; those about convergence as one line about the final grid."""
    others = [w.message for w in caught if not issubclass(w.category, ConvergenceWarning)]
    messages = list(
        dict.fromkeys(
            w.naming(*(ids[p] for p in w.points)) if isinstance(w, ContradictionWarning) else str(w)
            for w in others
        )
    )
    settled = np.asarray(equilibrium.equilibrated)
    n_rows = len(settled)
    if not np.all(settled):
        apart = equilibrium.temperatures[~settled]
        messages.append(
            f"walkers have not reached equilibrium at {len(apart)} of {n_rows} temperatures, "
            f"T = {apart.min():.3g} to {apart.max():.3g}: averages and errors there mean little"
        )
    imprecise = settled & ~equilibrium.converged
    if np.any(imprecise) and equilibrium.std_error is not None:
        bad = equilibrium.temperatures[imprecise]
        remedy = "give more time (--time-limit), " if equilibrium.can_continue else ""
        messages.append(
            f"the standard error is above the tolerance (up to "
            f"{equilibrium.std_error[imprecise].max():.2g}) at {len(bad)} of {n_rows} "
            f"temperatures, T = {bad.min():.3g} to {bad.max():.3g}: {remedy}accept a larger tol "
            "(--engine auto:tol=0.03), or ask for higher temperatures"
        )
    return messages


# Settings of the fit that do not hold for the answer after a decision: what they led to is in the
# file, or, as proportions, they are of other classes.
NOT_KEPT = (
    "method", "graph", "energy", "features", "proportions", "engine", "temperature", "time_limit",
)  # fmt: skip


def decided(
    result: Result, do: str, group: str, name: str = "", callback: Callback | None = None
) -> Result:
    """The answer in which a proposal was accepted or rejected.

    It is computed on the graph and the features that the file holds. Where these are too many to be
    kept, the features say nothing more, which a note tells. `do` is "accept", with the `name` of
    the class, or "reject".
    """
    if result.law is None:
        raise InvalidInputError(
            "this answer is that of one temperature, which has no proposals: fit again without "
            "--method paper, --energy and --temperature"
        )
    fitted = _as_fitted(result)
    if do == ACCEPT:
        fitted.accept(group, name, callback=callback)
    else:
        fitted.reject(group, callback=callback)
    settings = dict(result.settings)
    if result.points is None and result.law.shares[2] > 0:
        note = "features are not in the file: after this decision they say nothing more"
        settings["warnings"] = [*settings.get("warnings", []), note]
    again = Result.of(fitted, result.ids, layout=result.layout, settings=settings)
    return replace(again, components=result.components, choices=result.choices)


def _as_fitted(result: Result) -> PottsClassifier:
    """A classifier that has given this answer."""
    assert result.law is not None
    options: dict[str, Any] = dict(result.settings.get("options", {}))
    names = [one.name for one in CLASSIFIER if one.name not in NOT_KEPT]
    kept = {name: options[name] for name in names if name in options}
    if options.get("proportions") is not None:
        raise InvalidInputError(
            "proportions were given for the classes that there were: fit again with the labels of "
            "the new class, and a share for it"
        )
    fitted = PottsClassifier(
        method="messages",
        graph="knn",
        features="off" if result.points is None else options.get("features", "auto"),
        temperature=TemperatureRule(small_groups=result.small_groups),
        **kept | {"tau": result.tau},
    )
    fitted._couplings = "weights"  # the stored ones are what the energy was given
    graph: Graph = result.graph
    fitted._training = TrainingGraph(graph, points=result.points, reduction=result.reduction)
    fitted._feature_names = result.feature_names or None
    fitted.graph_, fitted.graph_summary_ = graph, describe(graph)
    fitted.n_features_in_ = graph.n_nodes if result.points is None else result.points.shape[1]
    fitted._label_code = LabelCode(result.classes, np.asarray(result.labels))
    fitted.classes_, fitted.words_ = result.classes, result.words
    fitted.answer_, fitted.choices_ = result, []
    fitted.plan_ = Plan(
        model=result.model, engine=None, temperatures="auto", temperature="auto",  # type: ignore[arg-type]
        average=Average.of(result.law),
    )  # fmt: skip
    return fitted


EDGES_PER_NEIGHBOR = 0.75  # of a point, where either of two neighbours may have chosen the other
TEMPERATURES = 3  # of the phase of a large set
PER_MESSAGE, PER_EDGE = 16, 48  # bytes beside the message itself
PER_NODE, PER_NAME = 48, 65
PROGRAM = 7e8  # bytes
SPARE = 1.1
SECONDS_PER_MESSAGE = 2.2e-5  # with ten classes, all sweeps of all temperatures, one core
SECONDS_OF_CHOICES = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Memory in bytes at the peak, processor time in seconds."""

    memory: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"about {self.memory / 1e9:.1f} GB of memory and {self.seconds / 60:.0f} minutes of "
            "processor time"
        )


def predicted_cost(
    n_points: int, n_features: int, n_classes: int, n_edges: int | None = None
) -> Cost:
    """Cost of the default answer; without `n_edges`, on a graph of ten neighbours."""
    edges = 10 * EDGES_PER_NEIGHBOR * n_points if n_edges is None else float(n_edges)
    q = max(n_classes, 2)
    memory = 2 * edges * (4 * q + PER_MESSAGE) + edges * PER_EDGE
    memory += n_points * (8 * q + 8 * lanes_for(q) + PER_NODE + PER_NAME + 8 * n_features)
    for row in (4 * q * n_points, 4 * edges):
        memory += row if TEMPERATURES * row > SMALL else TEMPERATURES * row
    seconds = SECONDS_OF_CHOICES + 2 * edges * SECONDS_PER_MESSAGE * q / 10
    return Cost(PROGRAM + SPARE * memory, seconds)
