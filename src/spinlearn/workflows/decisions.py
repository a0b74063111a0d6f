"""A stored answer after somebody's word about one of its proposals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spinlearn.answers.labels import LabelCode
from spinlearn.answers.proposal import ACCEPT
from spinlearn.core.graph import Graph
from spinlearn.core.protocols import Callback
from spinlearn.errors import InvalidInputError
from spinlearn.estimators import PottsClassifier
from spinlearn.estimators.inputs import TrainingGraph
from spinlearn.graphs import describe
from spinlearn.io.result import Result
from spinlearn.methods import Plan
from spinlearn.methods.average import Average
from spinlearn.settings import TemperatureRule

KEPT = ("label_noise", "novelty", "random_state")  # as they were


def decided(
    result: Result, do: str, group: str, name: str = "", callback: Callback | None = None
) -> Result:
    """The answer in which a proposal was accepted or rejected.

    It is computed on the graph and the features that the file holds. Where these are too many to be
    kept, the features say nothing more, which a note tells.

    Parameters
    ----------
    result : Result
    do : {"accept", "reject"}
    group : str
        Name of the proposal.
    name : str
        Of the class, to accept it.
    callback : callable, optional
        Told of the progress.
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
    kept = {key: options[key] for key in KEPT if key in options}
    if options.get("proportions") is not None:
        raise InvalidInputError(
            "proportions were given for the classes that there were: fit again with the labels of "
            "the new class, and a share for it"
        )
    fitted = PottsClassifier(
        method="messages",
        graph="knn",
        features="off" if result.points is None else options.get("features", "auto"),
        tau=result.tau,
        temperature=TemperatureRule(small_groups=result.small_groups),
        **kept,
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
