"""An Equilibrium as plain arrays, to be kept in a file.

Other temperatures of a stored equilibrium are computed anew where it is exact. Averages that come
of reweighting are kept on a grid FINER times as dense as that of the profile, others where they are
known; between its temperatures they are interpolated linearly, and their standard errors say by how
much that may be off.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.array_checks import FINITE, SINGLE, typed, within
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.equilibrium import AVERAGES, OPTIONAL_AVERAGES, VERDICTS, Equilibrium, Kind
from spinlearn.core.model import PottsModel
from spinlearn.core.temperature_cells import nearest_row
from spinlearn.engines import run_exactly
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    UnreachedTemperatureError,
)

FINER = 4
MAX_FINE_BYTES = 3e8
ERROR_OF = {"std_error": "marginals", "agreement_std_error": "edge_agreement"}
UNITS: dict[str, type[np.unsignedinteger[Any]]] = {
    "marginals": np.uint16,
    "edge_agreement": np.uint8,
}  # shares of large models, in steps
HEADER = {"engine": str, "kind": Kind, "can_continue": bool, "annealed": bool}
ROUNDING = 1e-4  # of a probability in single precision, summed over many states
STORED = ("temperatures", *VERDICTS, *AVERAGES, *OPTIONAL_AVERAGES)
MAY_LACK = ("equilibrated", *OPTIONAL_AVERAGES)


def equilibrium_arrays(equilibrium: Equilibrium) -> Arrays:
    """All averages; reweighted ones on a finer grid too."""
    kept = _refined(equilibrium) if equilibrium.reweights else equilibrium
    arrays: Arrays = {
        name: getattr(kept, name) for name in STORED if getattr(kept, name) is not None
    }
    if kept.marginals.dtype == np.float32:  # of a large model
        for name, unit in UNITS.items():
            arrays[name] = np.rint(arrays[name] * np.iinfo(unit).max).astype(unit)
        return arrays
    # Errors other than rounding are far above single precision.
    if kept.kind is not Kind.EXACT:
        for name in ("marginals", "edge_agreement", *ERROR_OF):
            if name in arrays:
                arrays[name] = arrays[name].astype(np.float32)
    return arrays


def equilibrium_header(equilibrium: Equilibrium) -> dict[str, Any]:
    """What a file says of the averages beside their values."""
    return {name: getattr(equilibrium, name) for name in HEADER}


def _refined(equilibrium: Equilibrium) -> Equilibrium:
    """The averages on a denser grid, from the same samples."""
    grid = np.unique(equilibrium.temperatures[np.isfinite(equilibrium.temperatures)])
    per_row = 8 * (equilibrium.marginals[0].size + equilibrium.edge_agreement.shape[1])
    parts = min(FINER, int(MAX_FINE_BYTES / max(per_row * len(grid), 1)))
    if len(grid) < 2 or parts < 2:
        return equilibrium
    steps = np.arange(parts) / parts
    fine = (grid[:-1, None] + np.diff(grid)[:, None] * steps).ravel()
    wanted = np.unique(np.concatenate([fine, equilibrium.temperatures]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # was said of the grid itself
        try:
            return equilibrium.at(wanted)
        except UnreachedTemperatureError:  # a run of little time
            return equilibrium.at([t for t in wanted if _is_reached(equilibrium, float(t))])


def _is_reached(equilibrium: Equilibrium, temperature: float) -> bool:
    try:
        equilibrium.at([temperature])
    except UnreachedTemperatureError:
        return False
    return True


def equilibrium_of(
    model: PottsModel, header: Mapping[str, Any], arrays: Arrays, grid: FloatArray
) -> Equilibrium:
    """The averages over `grid` from what a file holds, which can be asked for others too."""
    n_rows = len(arrays["temperatures"])
    per_node, per_edge = (n_rows, model.n_nodes, model.n_states), (n_rows, model.graph.n_edges)
    expected: dict[str, tuple[int, ...]] = dict.fromkeys(STORED, (n_rows,))
    expected |= {"marginals": per_node, "std_error": per_node}
    expected |= {"edge_agreement": per_edge, "agreement_std_error": per_edge}
    expected |= {"doubt": (n_rows, model.n_nodes)}
    for name, shape in expected.items():
        if (name in arrays or name not in MAY_LACK) and arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    said = {
        name: kind(typed(header, name, bool if kind is bool else str))
        for name, kind in HEADER.items()
    }
    if said["kind"] is Kind.SAMPLED and "std_error" not in arrays:
        raise ValueError("the averages are sampled, but their std_error is missing")
    in_steps = [name for name, unit in UNITS.items() if arrays[name].dtype == unit]
    arrays = dict(arrays)
    for name in in_steps:
        arrays[name] = arrays[name] / np.float32(np.iinfo(UNITS[name]).max)
    # Every state of a node is off by half a step at most.
    step = 1 / np.iinfo(UNITS["marginals"]).max if "marginals" in in_steps else 0.0
    _check_values(arrays, ROUNDING + model.n_states * step / 2)
    for name in UNITS:
        if name not in in_steps:  # small models are computed with in double precision
            arrays[name] = arrays[name].astype(np.float64)
    parts = {name: arrays.get(name) for name in expected}
    whole = Equilibrium(model=model, **said, **parts)  # type: ignore[arg-type]
    evaluate = partial(run_exactly, model) if whole.exact else partial(_interpolated, whole)
    rows = [nearest_row(whole.temperatures, float(t)) for t in grid]
    if np.any(whole.temperatures[rows] != grid):
        raise ValueError("temperatures of the profile are not among those of the averages")
    return replace(whole.take(rows), evaluate=evaluate)


def _both(values: BoolArray, left: npt.NDArray[np.intp], right: npt.NDArray[np.intp]) -> BoolArray:
    return np.asarray(values[left] & values[right])


def _check_values(arrays: Arrays, off: float) -> None:
    """Refuse averages that no model can have; probabilities of a node sum to 1 +- `off`."""
    for name in ("marginals", "edge_agreement", "doubt"):
        if name in arrays:
            within(name, arrays[name], -ROUNDING, 1 + ROUNDING)
    within("sums of marginals", arrays["marginals"].sum(axis=2), 1 - off, 1 + off)
    within("temperatures", arrays["temperatures"], 0.0, np.inf)
    if np.any(arrays["temperatures"][1:] <= arrays["temperatures"][:-1]):
        raise ValueError("temperatures do not ascend")
    within("mean_energy", arrays["mean_energy"], -FINITE, FINITE)
    within("heat_capacity", arrays["heat_capacity"], -FINITE, FINITE)
    for name in (*ERROR_OF, "log_partition_std_error"):
        if name in arrays:
            within(name, arrays[name], 0.0, np.inf)
    for name in arrays.keys() & ERROR_OF:  # which are kept in single precision
        within(name, arrays[name][np.isfinite(arrays[name])], 0.0, SINGLE)
    if "log_partition" in arrays:  # infinite at T = 0
        within("log_partition", arrays["log_partition"], -np.inf, np.inf)
    for name in VERDICTS:
        if name in arrays and arrays[name].dtype.kind != "b":
            raise ValueError(f"{name} is {arrays[name].dtype}, expected truth values")


def _interpolated(
    known: Equilibrium, temperatures: FloatArray, callback: object = None
) -> Equilibrium:
    """Averages between the temperatures of `known`, linear in T; they take no time."""
    order = np.argsort(known.temperatures)
    grid = known.temperatures[order]
    low, high = float(grid[0]), float(grid[-1])
    outside = (temperatures < low) | (temperatures > high)
    if np.any(outside):
        raise InvalidInputError(
            f"T = {temperatures[outside][0]:g} was not sampled: this result covers T = {low:g} to "
            f"{high:g}; fit again with it in the grid, --temperature auto:grid=..."
        )
    right = np.clip(np.searchsorted(grid, temperatures), 1, max(len(grid) - 1, 1))
    if len(grid) == 1:
        return known.take([0] * len(temperatures))
    left = right - 1
    with np.errstate(invalid="ignore"):
        share = (temperatures - grid[left]) / (grid[right] - grid[left])
    share = np.where(temperatures == grid[left], 0.0, np.where(np.isnan(share), 1.0, share))

    def mixed(name: str) -> Any:
        values = getattr(known, name)
        off: Any = 0.0
        if name in ERROR_OF:  # the line may be off by part of the difference
            means = getattr(known, ERROR_OF[name])[order]
            w = share.reshape((-1,) + (1,) * (means.ndim - 1))
            off = 2 * w * (1 - w) * np.abs(means[right] - means[left])
            if values is None:  # no error bars but that one, if any
                return None if known.kind is Kind.SAMPLED else np.asarray(off)
        values = values[order]
        w = share.reshape((-1,) + (1,) * (values.ndim - 1))
        return np.asarray((1 - w) * values[left] + w * values[right] + off)

    return Equilibrium(
        model=known.model,
        temperatures=temperatures,
        converged=_both(known.converged[order], left, right),
        equilibrated=_both(np.asarray(known.equilibrated)[order], left, right),
        engine=known.engine,
        kind=known.kind,
        evaluate=partial(_interpolated, known),
        can_continue=known.can_continue,
        annealed=known.annealed,
        **{name: mixed(name) for name in (*AVERAGES, *ERROR_OF)},
    )
