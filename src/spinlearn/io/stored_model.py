"""A PottsModel as plain arrays, to be kept in a file."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from spinlearn.core.array_checks import FINITE, within
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import frozen
from spinlearn.core.class_penalty import ClassPenalty
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel


def model_arrays(model: PottsModel, *, large: bool = False) -> Arrays:
    """The arrays that define a model; those of a large one in single precision."""
    arrays: Arrays = {
        "n_nodes": np.array(model.n_nodes),
        "edges": model.graph.edges,
        "weights": model.graph.weights,
        "couplings": model.couplings,
        "pair_cost": model.pair_cost,
        "fields": model.fields,
        "clamped": model.clamped,
    }
    if large:
        if model.couplings is model.graph.weights:
            del arrays["couplings"]
        for name in arrays.keys() & {"weights", "couplings", "fields"}:
            arrays[name] = arrays[name].astype(np.float32)
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
        _check_penalty(parts, len(arrays["pair_cost"]), int(arrays["n_nodes"]))
        plain = {k: v.item() if v.ndim == 0 else frozen(v, np.float64) for k, v in parts.items()}
        extra["class_penalty"] = ClassPenalty(**plain)
    return PottsModel(
        graph,
        len(arrays["pair_cost"]),
        couplings=arrays.get("couplings"),  # missing: the weights
        pair_cost=arrays["pair_cost"],
        fields=arrays["fields"],
        clamped=arrays["clamped"],
        **extra,
    )


def _check_penalty(parts: Arrays, n_states: int, n_nodes: int) -> None:
    """What `ClassPenalty` trusts its makers with."""
    kind = str(parts["kind"])
    if kind not in ("quadratic", "ratio", "table"):
        raise ValueError(f"a class penalty of kind {kind!r}")
    for name in ("coefficient", "targets", "table", "cut_weights", "empty", "largest_ratio"):
        within(f"penalty_{name}", parts[name], -FINITE, FINITE)
    within("penalty_sizes", parts["sizes"], 0.0, FINITE)
    columns = n_nodes + 1 if kind == "table" else 0
    if parts["table"].shape != (n_states, columns):
        raise ValueError(f"penalty_table has shape {parts['table'].shape}")
