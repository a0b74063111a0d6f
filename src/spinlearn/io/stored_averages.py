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

from spinlearn.engines import run_exactly
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    UnreachedTemperatureError,
)
from spinlearn.files.arrays import Arrays, within
from spinlearn.model.arrays import FloatArray, nearest_row
from spinlearn.model.equilibrium import AVERAGES, OPTIONAL_AVERAGES, VERDICTS, Equilibrium, Kind
from spinlearn.model.potts import PottsModel

FINER = 4
MAX_FINE_BYTES = 3e8
ERROR_OF = {"std_error": "marginals", "agreement_std_error": "edge_agreement"}
UNITS: dict[str, type[np.unsignedinteger[Any]]] = {
    "marginals": np.uint16,
    "edge_agreement": np.uint8,
}  # shares of large models, in steps
HEADER = {"engine": str, "kind": Kind, "can_continue": bool, "annealed": bool}
ROUNDING = 0.01  # of probabilities in whole steps, summed over many states
STORED = ("temperatures", *VERDICTS, *AVERAGES, *OPTIONAL_AVERAGES)


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
    said = {name: kind(header[name]) for name, kind in HEADER.items()}
    if said["kind"] is Kind.SAMPLED and "std_error" not in arrays:
        raise ValueError("the averages are sampled, but their std_error is missing")
    parts: dict[str, Any] = {name: arrays[name] for name in STORED if name in arrays}
    for name, unit in UNITS.items():
        if parts[name].dtype == unit:
            parts[name] = parts[name] / np.float32(np.iinfo(unit).max)
        else:  # small models are computed with in double precision
            parts[name] = parts[name].astype(np.float64)
    within("sums of marginals", parts["marginals"].sum(axis=2), 1 - ROUNDING, 1 + ROUNDING)
    whole = Equilibrium(model=model, **said, **parts)
    evaluate = partial(run_exactly, model) if whole.exact else partial(_interpolated, whole)
    rows = [nearest_row(whole.temperatures, float(t)) for t in grid]
    if np.any(whole.temperatures[rows] != grid):
        raise ValueError("temperatures of the profile are not among those of the averages")
    return replace(whole.take(rows), evaluate=evaluate)


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

    verdicts = {name: np.asarray(getattr(known, name))[order] for name in VERDICTS}
    return Equilibrium(
        model=known.model,
        temperatures=temperatures,
        **{name: values[left] & values[right] for name, values in verdicts.items()},
        engine=known.engine,
        kind=known.kind,
        evaluate=partial(_interpolated, known),
        can_continue=known.can_continue,
        annealed=known.annealed,
        **{name: mixed(name) for name in (*AVERAGES, *ERROR_OF)},
    )
