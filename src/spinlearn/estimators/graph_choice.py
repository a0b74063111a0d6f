"""The graph that is built where the user leaves it open."""

from __future__ import annotations

from typing import Any

from spinlearn.estimators.inputs import TrainingGraph
from spinlearn.graphs import MutualKNN
from spinlearn.methods import Choice

AUTO = "auto"


def graph_settings(method: str, graph: Any, n_components: Any) -> tuple[Any, Any]:
    """Builder and number of components, as far as they are settled before X is seen.

    The user's graph, or the paper's, is built in the features given unless components are asked
    for.
    """
    builder = graph
    if _is_open(graph):
        builder = "mutual_knn" if method == "paper" else "knn"
    if _is_open(n_components) and (not _is_open(graph) or method == "paper"):
        n_components = None
    return builder, n_components


def graph_choice(
    training: TrainingGraph, n_features: int, method: str, graph: Any, n_components: Any
) -> list[Choice]:
    """What was decided about the graph, if anything was."""
    if training.points is None or not _is_open(graph):
        return []
    count = getattr(training.builder, "n_neighbors", None)
    mutual = isinstance(training.builder, MutualKNN)
    value = f"{count} {'mutual ' if mutual else ''}nearest neighbours"
    n_points, n_used = training.points.shape
    why = "the paper's" if method == "paper" else "all features are asked for"
    if training.reduction is not None:
        value += f" in {n_used} principal components"
        why = (
            f"{n_features} features for {n_points} points; the components hold "
            f"{100 * training.reduction.explained:.0f} % of the variance"
        )
    elif _is_open(n_components) and method != "paper":
        why = f"{n_used} features are few enough for {n_points} points"
    recall = getattr(training.builder, "recall_", None)
    if recall is not None:
        why += f"; found by faiss with a measured recall of {recall:.3f}"
    return [Choice("graph", value, why)]


def _is_open(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO
