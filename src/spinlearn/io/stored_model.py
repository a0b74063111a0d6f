"""A PottsModel as plain arrays, to be kept in a file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from spinlearn.core.arrays import frozen
from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.io.array_file import Arrays


def model_arrays(model: PottsModel) -> Arrays:
    """The arrays that define a model."""
    arrays: Arrays = {
        "n_nodes": np.array(model.n_nodes),
        "edges": model.graph.edges,
        "weights": model.graph.weights,
        "couplings": model.couplings,
        "pair_cost": model.pair_cost,
        "fields": model.fields,
        "clamped": model.clamped,
    }
    penalty = model.class_penalty
    if penalty is not None:
        arrays |= {f"penalty_{f.name}": np.array(getattr(penalty, f.name)) for f in fields(penalty)}
    return arrays


def model_of(arrays: Arrays) -> PottsModel:
    """The model that arrays define."""
    graph = Graph(int(arrays["n_nodes"]), arrays["edges"], arrays["weights"])
    extra: dict[str, Any] = {}
    parts = {k.removeprefix("penalty_"): v for k, v in arrays.items() if k.startswith("penalty_")}
    if parts:
        plain = {k: v.item() if v.ndim == 0 else frozen(v, np.float64) for k, v in parts.items()}
        extra["class_penalty"] = ClassPenalty(**plain)
    return PottsModel(
        graph,
        len(arrays["pair_cost"]),
        couplings=arrays["couplings"],
        pair_cost=arrays["pair_cost"],
        fields=arrays["fields"],
        clamped=arrays["clamped"],
        **extra,
    )
