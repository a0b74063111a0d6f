"""From a dataset to a result: the settings a user can write down, and the run they describe."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import Field, asdict, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn import __version__
from spinlearn.answer_rules import ANSWER_RULES
from spinlearn.core.protocols import Callback, Engine, GraphBuilder
from spinlearn.core.results import Equilibrium
from spinlearn.decision import COOLED
from spinlearn.engines import ENGINES
from spinlearn.errors import (
    ContradictionWarning,
    ConvergenceWarning,
    InvalidInputError,
    SpinlearnWarning,
)
from spinlearn.graphs import BUILDERS
from spinlearn.io.dataset import Dataset
from spinlearn.io.features import Preparation
from spinlearn.io.result import Result

MOST_TEMPERATURES = 10_000
SIZES = {"knn": "n_neighbors", "mutual_knn": "n_neighbors", "radius": "radius"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How a dataset is classified; see `PottsClassifier` for the meaning.

    Attributes
    ----------
    graph : str
        "auto" (the file's own graph, else mutual_knn), or a builder and its size and options:
        "knn:5", "mutual_knn:10,metric=cosine", "radius:0.5,weights=local".
    engine : str
        A name among ENGINES.
    temperatures : str
        "auto", a list "0,0.5,1" or a range "0:2:21" (first, last, how many).
    temperature : str
        Of the answer: "auto", "discovery", "paper" (see `PottsClassifier`) or a number.
    scale : {"auto", "none", "standard"}
        "auto": standard for tables, whose columns may have different units, none for arrays.
    tol, max_seconds, n_jobs, checkpoint, checkpoint_seconds
        Of a sampling engine.
    """

    graph: str = "auto"
    energy: str = "min_cut"
    engine: str = "auto"
    temperatures: str = "auto"
    temperature: str = "auto"
    tau: float = 0.1
    label_strength: float = float("inf")
    scale: str = "auto"
    clip: tuple[float, float] | None = None
    log2: bool = False
    top_variance: int | None = None
    tol: float | None = None
    max_seconds: float | None = None
    n_jobs: int = 1
    checkpoint: Path | None = None
    checkpoint_seconds: float | None = None
    seed: int = 0


def fit_dataset(
    data: Dataset, settings: FitSettings, callback: Callback | None = None
) -> tuple[Result, list[str]]:
    """Classify a dataset; the result and the warnings on the way."""
    from spinlearn.estimators import PottsClassifier

    data.check_labels()
    began = perf_counter()
    builder = make_graph_builder(settings.graph, has_graph=data.graph is not None)
    engine = configured_engine(settings)
    temperatures = parse_temperatures(settings.temperatures)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SpinlearnWarning)
        X: Any = data.graph
        if X is None:
            X = prepared_points(data, settings)
        classifier = PottsClassifier(
            graph=builder if builder is not None else "mutual_knn",
            energy=settings.energy,
            engine=engine,
            label_strength=settings.label_strength,
            temperatures=temperatures,
            temperature=parse_temperature(settings.temperature),
            tau=settings.tau,
            callback=callback,
            random_state=settings.seed,
        ).fit(X, data.labels)
    notes = list(data.notes)
    if settings.top_variance is not None and data.points is not None:
        notes.append(f"the {X.shape[1]} features of largest variance are used")
    messages = notes + _messages(caught, classifier.equilibrium_, data.ids)
    layout = data.layout
    if layout is None and data.points is not None and data.points.shape[1] == 2:
        layout = data.points  # axes that the user knows
    record = {
        "version": __version__,
        "data": data.source.name,
        "options": _plain(asdict(settings)),
        "seconds": round(perf_counter() - began, 3),
        "warnings": messages,
        "diagnostics": _plain(dict(classifier.equilibrium_.diagnostics)),
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
    bad = equilibrium.temperatures[~equilibrium.converged]
    if len(bad) and equilibrium.std_error is not None:
        remedy = "give more time (--max-seconds), " if more_time_helps(equilibrium) else ""
        messages.append(
            f"the standard error is above the tolerance (up to {equilibrium.std_error.max():.2g}) "
            f"at {len(bad)} of {len(equilibrium.temperatures)} temperatures, T = {bad.min():.3g} "
            f"to {bad.max():.3g}: {remedy}accept a larger --tol, or ask for higher temperatures"
        )
    return messages


def more_time_helps(equilibrium: Equilibrium) -> bool:
    """Whether a longer run would have smaller errors; a population cools once, and is done."""
    whole = equilibrium.engine == COOLED and not equilibrium.diagnostics.get("cut_short")
    return not whole and not bool(equilibrium.converged.all())


def prepared_points(data: Dataset, settings: FitSettings) -> npt.NDArray[np.float64]:
    """The points of a dataset, prepared as the settings say."""
    assert data.points is not None  # the caller has no graph
    scale = settings.scale
    if scale == "auto":
        scale = "standard" if data.table else "none"
    preparation = Preparation(
        clip=settings.clip, log2=settings.log2, top_variance=settings.top_variance, scale=scale
    )
    return preparation.apply(data.points, data.feature_names)[0]


def make_graph_builder(spec: str, *, has_graph: bool = False) -> GraphBuilder | None:
    """A builder from its description; None for the graph that the file itself holds."""
    if spec == "auto":
        return None if has_graph else BUILDERS["mutual_knn"]()
    name, *options = spec.split(",")
    name, _, size = name.partition(":")
    if name not in BUILDERS:
        raise InvalidInputError(
            f"graph {spec!r} is unknown: use {', '.join(BUILDERS)}, with a size and options as in "
            "knn:5 or mutual_knn:10,metric=cosine"
        )
    if has_graph:
        raise InvalidInputError(
            f"graph {spec!r} builds a graph from points, but the file holds a graph already: leave "
            "--graph out"
        )
    known = {f.name: f for f in fields(BUILDERS[name])}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    if size:
        values[SIZES[name]] = _number(size, spec)
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or key not in known:
            raise InvalidInputError(
                f"graph {spec!r}: {option!r} is no option of {name}; it has "
                + ", ".join(f"{k}=..." for k in known)
            )
        values[key] = value if key in ("metric", "weights") else _option(value, known[key], spec)
    try:
        return BUILDERS[name](**values)
    except TypeError as error:
        raise InvalidInputError(
            f"graph {spec!r} lacks a setting ({error}): write for example {name}:0.5"
        ) from error


def configured_engine(settings: FitSettings) -> Engine:
    """The engine with those of the settings that it knows."""
    if settings.engine not in ENGINES:
        raise InvalidInputError(
            f"engine {settings.engine!r} is unknown: use one of {', '.join(ENGINES)}"
        )
    _check_numbers(settings)
    engine = ENGINES[settings.engine]()
    known = engine.get_params()  # type: ignore[attr-defined]
    wanted = {
        "tol": settings.tol,
        "max_seconds": settings.max_seconds,
        "n_jobs": settings.n_jobs,
        "checkpoint": settings.checkpoint,
        "checkpoint_seconds": settings.checkpoint_seconds,
    }
    for name, value in wanted.items():
        if name in known and value is not None:
            setattr(engine, name, value)
    return engine


def _check_numbers(settings: FitSettings) -> None:
    """Refuse settings of a sampler even where an exact engine would never look at them."""
    for name in ("tol", "max_seconds", "checkpoint_seconds"):
        value = getattr(settings, name)
        least = 0.0 if name == "checkpoint_seconds" else np.nextafter(0.0, 1.0)
        if value is not None and not value >= least:
            option = name.replace("_", "-")
            raise InvalidInputError(f"--{option} {value:g} is no number above 0: raise it")
    if settings.n_jobs == 0:
        raise InvalidInputError("--jobs 0 would do nothing: give a number of threads, -1 for all")
    if settings.seed < 0:
        raise InvalidInputError(f"--seed {settings.seed} is negative: give a whole number >= 0")


def parse_temperature(text: str) -> float | str:
    """The name of a rule, or a number >= 0."""
    if text in ANSWER_RULES:
        return text
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not value >= 0:
        raise InvalidInputError(
            f"--temperature {text!r} cannot be read: write {', '.join(ANSWER_RULES)} or a "
            "number >= 0"
        )
    return value


def parse_temperatures(text: str) -> Any:
    """'auto', numbers separated by commas, or first:last:count, as the classifier takes it."""
    if text == "auto":
        return text
    try:
        values = (
            _range(text) if ":" in text else np.array([float(part) for part in text.split(",")])
        )
    except ValueError as error:
        raise InvalidInputError(
            f"temperatures {text!r} cannot be read: write auto, a list such as 0,0.5,1, or a range "
            f"such as 0:2:21 (first, last, how many, at most {MOST_TEMPERATURES})"
        ) from error
    if len(values) == 0 or np.any(np.isnan(values)) or np.any(values < 0):
        raise InvalidInputError(f"temperatures {text!r} must be numbers >= 0, at least one")
    return values


def _range(text: str) -> npt.NDArray[np.float64]:
    first, last, count = text.split(":")
    low, high, size = float(first), float(last), int(count)
    if not np.isfinite(high - low) or size > MOST_TEMPERATURES:
        raise ValueError("no steps between infinite ends, no room for as many")
    return np.linspace(low, high, size)


def _option(text: str, known: Field[Any], spec: str) -> bool | int | float:
    """The value of a builder's option that is no name."""
    truths = {"true": True, "false": False} if isinstance(known.default, bool) else {}
    word = text.strip().lower()
    return truths[word] if word in truths else _number(text, spec)


def _number(text: str, spec: str) -> int | float:
    try:
        value = float(text)
    except ValueError as error:
        raise InvalidInputError(f"graph {spec!r}: {text!r} is not a number") from error
    if not np.isfinite(value):
        raise InvalidInputError(f"graph {spec!r}: {text!r} is not a finite number")
    return int(value) if value == int(value) and "." not in text else value


def _plain(values: Any) -> Any:
    """Settings and diagnostics as JSON can hold them; long arrays are left out."""
    if isinstance(values, dict):
        plain = {str(k): _plain(v) for k, v in values.items()}
        return {k: v for k, v in plain.items() if v is not None}
    if isinstance(values, (list, tuple)):
        return [_plain(v) for v in values]
    if isinstance(values, np.ndarray):
        return values.tolist() if values.size <= 64 and values.dtype.kind in "biuf" else None
    if isinstance(values, np.generic):
        return values.item()
    if isinstance(values, (str, int, float, bool)) or values is None:
        return values
    return str(values)
