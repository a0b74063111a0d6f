"""Result: everything a fit found, as one file of plain arrays (model.npz).

The file holds the model, the averages at all temperatures of the grid, the profile and the settings
as JSON; no pickled objects, neither written nor read. Other temperatures are computed anew where an
exact engine did the work. Averages that were sampled are kept where they are known, those that
come of reweighting on a grid FINER times as dense as that of the profile; between its temperatures
they are interpolated linearly.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.answer_rules import ANSWER_RULES, answer_temperature
from spinlearn.core.arrays import FloatArray, frozen
from spinlearn.core.cells import nearest_row
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.results import Equilibrium
from spinlearn.core.whole_file import whole_file
from spinlearn.decision import (
    STATUS_NAMES,
    Profile,
    count_labels,
    outcome_name,
    profile,
    trusted_rows,
)
from spinlearn.errors import ConvergenceWarning, InvalidInputError
from spinlearn.io.array_file import Arrays, read_npz
from spinlearn.label_table import answer_grid
from spinlearn.viz.layout import principal
from spinlearn.viz.pictures import Pictures
from spinlearn.viz.summary import answer_html, answer_notes

MAGIC = "spinlearn result"
VERSION = 1
FINER = 4
MAX_FINE_BYTES = 3e8
EXACT = ("junction_tree", "enumeration")
REWEIGHTED = ("multicanonical", "tempering")  # the same samples speak for all temperatures
AVERAGES = ("marginals", "edge_agreement", "mean_energy", "heat_capacity")
ERROR_OF = {"std_error": "marginals", "agreement_std_error": "edge_agreement"}
OPTIONAL = ("log_partition", *ERROR_OF)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Result(Pictures):
    """What a fit found, with the plots and the explorer of `PottsClassifier`.

    Attributes with a trailing underscore are those of `PottsClassifier`.

    Attributes
    ----------
    ids : list of str
    classes_ : array (n_classes,)
    equilibrium_ : Equilibrium
    profile_ : Profile
    temperature_ : float
        Temperature of the answer.
    tau : float
    layout : float array (n, 2) or None
        Where to draw the points, if the data say so.
    components : float array (n, 2) or None
        Else the first two principal components of their features, if they have any.
    settings : mapping
        How it was made: version, file, options, seed, seconds, warnings.
    """

    ids: list[str]
    classes_: npt.NDArray[Any]
    equilibrium_: Equilibrium
    profile_: Profile
    temperature_: float
    tau: float
    layout: FloatArray | None = None
    components: FloatArray | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        fitted: Any,
        ids: list[str],
        *,
        layout: FloatArray | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """The result of a fitted PottsClassifier.

        Without a layout, points with features are drawn by these.
        """
        n_points = fitted.graph_.n_nodes
        if len(ids) != n_points:
            raise InvalidInputError(
                f"there are {len(ids)} ids for {n_points} points: give one id per point"
            )
        points, components = fitted._training.points, None
        if layout is None and points is not None:
            if points.shape[1] == 2:
                layout = points
            elif points.shape[1] > 2:
                components = principal(points)
        return cls(
            ids=list(ids),
            classes_=fitted.classes_,
            equilibrium_=fitted.equilibrium_,
            profile_=fitted.profile_,
            temperature_=float(fitted.temperature_),
            tau=float(fitted.tau),
            layout=layout,
            components=components,
            settings={"labels": fitted._label_code.states.tolist(), **(settings or {})},
        )

    @property
    def model_(self) -> PottsModel:
        """The energy."""
        return self.equilibrium_.model

    @property
    def graph_(self) -> Graph:
        """The graph of similar points."""
        return self.equilibrium_.model.graph

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """Index into `classes_` of every labelled point, -1 for the others."""
        labels = self.settings.get("labels")
        if labels is not None:  # finite label strength: the model alone does not tell
            return np.asarray(labels, dtype=np.int64)
        return self.model_.clamped.astype(np.int64)

    def name_of(self, outcome: int) -> str:
        """An outcome of `profile_` in words."""
        return outcome_name(int(outcome), self.classes_, self.profile_.confused_sets)

    def _repr_html_(self) -> str:
        _, found = answer_grid(self)
        here = found.decision(found.nearest_row(self.temperature_))
        codes, inverse = np.unique(here.outcomes, return_inverse=True)
        names = np.array([outcome_name(int(c), self.classes_, here.confused_sets) for c in codes])
        status = np.array(STATUS_NAMES)[here.status]
        return answer_html(
            self.temperature_, names.astype(object)[inverse], status, answer_notes(self)
        )

    def at(self, temperature: float | str) -> Result:
        """The same result with the answer at another temperature, given or by a rule's name."""
        asked = {**self.settings.get("options", {}), "temperature": str(temperature)}
        if isinstance(temperature, str):
            trusted = trusted_rows(self.equilibrium_)
            temperature = answer_temperature(self.profile_, temperature, trusted=trusted)
        self.equilibrium_.at([temperature])  # refuses what cannot be had
        row = self.profile_.nearest_row(temperature)
        return replace(
            self,
            temperature_=float(temperature),
            profile_=self.profile_.numbered_from(row),
            settings={**self.settings, "options": asked},
        )

    def on(self, temperatures: npt.ArrayLike) -> Result:
        """The result over another grid of temperatures, without sampling again.

        The answer is where it was asked for before: at that temperature, or by the same rule.
        """
        there = self.equilibrium_.at(np.unique(np.asarray(temperatures, dtype=np.float64)))
        found = profile(there, tau=self.tau, n_classes=len(self.classes_))
        asked = self.settings.get("options", {}).get("temperature", "auto")
        moved = replace(self, equilibrium_=there, profile_=found)
        return moved.at(asked if asked in ANSWER_RULES else float(asked))

    # -- file ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .npz file of plain arrays; an existing file is replaced as a whole."""
        arrays: Arrays = {
            "ids": np.array(self.ids, dtype=np.str_),
            "classes": np.array([str(c) for c in self.classes_], dtype=np.str_),
        }
        arrays |= _model_arrays(self.model_)
        arrays |= _equilibrium_arrays(self.equilibrium_)
        for name in ("outcomes", "status", "margin"):
            arrays[f"profile_{name}"] = getattr(self.profile_, name)
        arrays["profile_temperatures"] = self.profile_.temperatures
        for name in ("layout", "components"):
            places = getattr(self, name)
            if places is not None:
                arrays[name] = np.asarray(places, dtype=np.float64)
        header = {
            "magic": MAGIC,
            "version": VERSION,
            "whole_numbers": self.classes_.dtype.kind in "iu",
            "engine": self.equilibrium_.engine,
            "temperature": self.temperature_,
            "tau": self.tau,
            "n_classes": self.profile_.n_classes,
            "confused_sets": [list(map(int, s)) for s in self.profile_.confused_sets],
            "settings": dict(self.settings),
        }
        with whole_file(path) as file:
            np.savez_compressed(
                file, allow_pickle=False, header=np.array(json.dumps(header)), **arrays
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; anything else, pickled objects above all, is refused.

        Parameters
        ----------
        path : path-like
            The folder that `spinlearn fit --out` made, or the file model.npz in it.
        """
        file = Path(path)
        if file.is_dir():
            file = file / "model.npz"
        if not file.is_file():
            raise InvalidInputError(
                f"{file} does not exist: give the folder that `spinlearn fit --out` made"
            )
        if file.suffix != ".npz":
            raise InvalidInputError(
                f"{file} is no result of `spinlearn fit`: give the folder that it made"
            )
        arrays = read_npz(file)
        try:
            header = json.loads(str(arrays["header"]))
            if header["magic"] != MAGIC:
                raise KeyError("magic")
            if header["version"] != VERSION:
                raise InvalidInputError(
                    f"{file} is of format version {header['version']}, this spinlearn reads "
                    f"{VERSION}: fit again, or use the version that wrote it"
                )
            return cls._from(header, arrays)
        except InvalidInputError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InvalidInputError(
                f"{file} is not a result of `spinlearn fit` ({type(error).__name__}: {error}): "
                "give the folder that it made"
            ) from error

    @classmethod
    def _from(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        classes = arrays["classes"]
        if header["whole_numbers"]:
            classes = classes.astype(np.int64)
        found = Profile(
            temperatures=frozen(arrays["profile_temperatures"], np.float64),
            outcomes=frozen(arrays["profile_outcomes"], np.int32),
            status=frozen(arrays["profile_status"], np.int8),
            margin=frozen(arrays["profile_margin"], np.float64),
            n_classes=int(header["n_classes"]),
            confused_sets=tuple(tuple(map(int, s)) for s in header["confused_sets"]),
        )
        if len(arrays["ids"]) != int(arrays["n_nodes"]):  # before anything is made of that size
            raise ValueError(f"{len(arrays['ids'])} ids for {arrays['n_nodes']} points")
        model = _model_of(arrays)
        found = replace(found, n_labels=count_labels(model, found.n_classes))
        shape = (len(found.temperatures), model.n_nodes)
        for name in ("outcomes", "status", "margin"):
            if getattr(found, name).shape != shape:
                raise ValueError(f"profile_{name} has shape {getattr(found, name).shape}")
        if len(classes) > model.n_states:
            raise ValueError(f"{len(classes)} classes for {model.n_states} states")
        _check_profile(found, len(classes))
        return cls(
            ids=[str(v) for v in arrays["ids"]],
            classes_=classes,
            equilibrium_=_equilibrium_of(header["engine"], model, arrays, found.temperatures),
            profile_=found,
            temperature_=float(header["temperature"]),
            tau=float(header["tau"]),
            layout=arrays.get("layout"),
            components=arrays.get("components"),
            settings=dict(header["settings"]),
        )


def _check_profile(found: Profile, n_classes: int) -> None:
    if len(found.temperatures) == 0 or not np.all(found.temperatures >= 0):
        raise ValueError("temperatures are missing or no numbers")
    if found.n_classes != n_classes:
        raise ValueError(f"a profile of {found.n_classes} classes for {n_classes}")
    if found.outcomes.size and -int(found.outcomes.min()) > len(found.confused_sets):
        raise ValueError("an outcome names a confused set that is not there")
    members = [c for s in found.confused_sets for c in s]
    if members and (min(members) < 0 or max(members) >= found.n_classes):
        raise ValueError("a confused set names a class that is not there")
    if found.status.size and (found.status.min() < 0 or found.status.max() > 4):
        raise ValueError("a status is out of range")


# -- the model ---------------------------------------------------------------------------------


def _model_arrays(model: PottsModel) -> Arrays:
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


def _model_of(arrays: Arrays) -> PottsModel:
    graph = Graph(int(arrays["n_nodes"]), arrays["edges"], arrays["weights"])
    extra: dict[str, Any] = {}
    parts = {k.removeprefix("penalty_"): v for k, v in arrays.items() if k.startswith("penalty_")}
    if parts:
        from spinlearn.core.class_penalty import ClassPenalty

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


# -- the averages ------------------------------------------------------------------------------


def _equilibrium_arrays(equilibrium: Equilibrium) -> Arrays:
    kept = equilibrium
    if equilibrium.engine in REWEIGHTED and equilibrium.evaluate is not None:
        kept = _refined(equilibrium)
    arrays: Arrays = {
        name: getattr(kept, name)
        for name in ("temperatures", "converged", *AVERAGES, *OPTIONAL)
        if getattr(kept, name) is not None
    }
    # Sampling errors are far above single precision.
    if kept.std_error is not None:
        for name in ("marginals", "edge_agreement", "std_error", "agreement_std_error"):
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
        return equilibrium.at(wanted)


def _equilibrium_of(
    engine: str, model: PottsModel, arrays: Arrays, grid: FloatArray
) -> Equilibrium:
    n_rows = len(arrays["temperatures"])
    expected = {
        "temperatures": (n_rows,),
        "converged": (n_rows,),
        "marginals": (n_rows, model.n_nodes, model.n_states),
        "edge_agreement": (n_rows, model.graph.n_edges),
        "mean_energy": (n_rows,),
        "heat_capacity": (n_rows,),
        "log_partition": (n_rows,),
        "std_error": (n_rows, model.n_nodes, model.n_states),
        "agreement_std_error": (n_rows, model.graph.n_edges),
    }
    for name, shape in expected.items():
        if (name in arrays or name not in OPTIONAL) and arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    for name in ("marginals", "edge_agreement"):
        low, high = arrays[name].min(initial=0.0), arrays[name].max(initial=1.0)
        if not -1e-6 <= low <= high <= 1 + 1e-6:  # also where one is not a number
            raise ValueError(f"{name} holds values that are no probabilities")
    parts = {name: arrays.get(name) for name in expected}
    whole = Equilibrium(model=model, engine=str(engine), **parts)  # type: ignore[arg-type]
    if engine == "junction_tree":
        return replace(whole, evaluate=partial(_exactly, model))
    rows = [nearest_row(whole.temperatures, float(t)) for t in grid]
    evaluate = None if engine in EXACT else partial(_interpolated, whole)
    return replace(whole.take(rows), evaluate=evaluate)


def _exactly(model: PottsModel, temperatures: FloatArray, callback: Any = None) -> Equilibrium:
    from spinlearn.engines import JunctionTree

    return JunctionTree().run(model, temperatures, callback=callback)


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
            f"{high:g}; fit again with other --temperatures"
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
        if values is None:
            return None
        values = values[order]
        w = share.reshape((-1,) + (1,) * (values.ndim - 1))
        line = (1 - w) * values[left] + w * values[right]
        if name in ERROR_OF:  # the line may be off by part of the difference
            means = getattr(known, ERROR_OF[name])[order]
            line = line + 2 * w * (1 - w) * np.abs(means[right] - means[left])
        return line

    return Equilibrium(
        model=known.model,
        temperatures=temperatures,
        converged=known.converged[order][left] & known.converged[order][right],
        engine=known.engine,
        evaluate=partial(_interpolated, known),
        **{name: mixed(name) for name in (*AVERAGES, *ERROR_OF)},
    )
