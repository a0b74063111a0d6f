"""Settings of a fit as a user writes them down, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.temperature import TEMPERATURE_RULES
from spinlearn.core.constants import NOVELTY
from spinlearn.core.protocols import Engine, GraphBuilder
from spinlearn.engines import ENGINES, BeliefPropagation
from spinlearn.errors import InvalidInputError
from spinlearn.graphs import BUILDERS
from spinlearn.workflows.block_engine import BlockPropagation

MOST_TEMPERATURES = 10_000
SIZES = {"knn": "n_neighbors", "mutual_knn": "n_neighbors", "radius": "radius"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """How a dataset is classified; see `PottsClassifier` for the meaning.

    Attributes
    ----------
    method : {"auto", "messages", "paper"}
    graph : str
        "auto" (the file's own graph, else that of the method), or a builder and its size and
        options: "knn:5", "mutual_knn:10,metric=cosine", "radius:0.5,weights=local".
    n_components : str
        "auto", "none" for all features, or how many principal components.
    couplings, energy : str
        "auto", or a name among COUPLINGS, ENERGIES.
    feature_law : {"auto", "off"}
        `features` of `PottsClassifier`.
    proportions : str or None
        Shares of the classes, "A=0.8,B=0.2", or numbers in the order of the sorted classes.
    label_noise : float or None
    novelty : float
        Share of classes without label.
    engine : str
        A name among ENGINES.
    temperatures : str
        "auto", a list "0,0.5,1" or a range "0:2:21" (first, last, how many).
    temperature : str
        Of the answer: the name of a rule (see `PottsClassifier`) or a number.
    scale : {"auto", "none", "standard"}
        "auto": standard for tables, whose columns may have different units, none for arrays.
    tol, max_seconds, n_jobs, checkpoint, checkpoint_seconds
        Of a sampling engine.
    n_blocks, parts
        Of belief propagation on a cluster, see `BlockPropagation`.
    """

    method: str = "auto"
    graph: str = "auto"
    n_components: str = "auto"
    couplings: str = "auto"
    energy: str = "auto"
    feature_law: str = "auto"
    proportions: str | None = None
    label_noise: float | None = None
    novelty: float = NOVELTY
    engine: str = "auto"
    temperatures: str = "auto"
    temperature: str = "auto"
    tau: float = 0.1
    small_groups: str = "join"
    label_strength: float = float("inf")
    scale: str = "auto"
    clip: tuple[float, float] | None = None
    log2: bool = False
    top_variance: int | None = None
    tol: float | None = None
    max_seconds: float | None = None
    n_jobs: int = 1
    n_blocks: int | None = None
    parts: Path | None = None
    checkpoint: Path | None = None
    checkpoint_seconds: float | None = None
    seed: int = 0


def make_graph_builder(spec: str, *, has_graph: bool = False) -> GraphBuilder | None:
    """A builder from its description; None for "auto": that of the file or the method."""
    if spec == "auto":
        return None
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
                f"graph {spec!r}: {option!r} is not an option of {name}; it has "
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
    if settings.n_blocks is not None:
        if settings.engine not in ("auto", BeliefPropagation.name):
            raise InvalidInputError(
                f"--blocks shares out belief propagation, not {settings.engine!r}: leave one out"
            )
        return BlockPropagation(n_blocks=settings.n_blocks, folder=settings.parts)
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


def saves_its_runs(settings: FitSettings) -> bool:
    """Whether the engine of these settings can go on from a checkpoint."""
    return "checkpoint" in configured_engine(settings).get_params()  # type: ignore[attr-defined]


def _check_numbers(settings: FitSettings) -> None:
    """Refuse settings of a sampler even where an exact engine would never look at them."""
    for name in ("tol", "max_seconds", "checkpoint_seconds"):
        value = getattr(settings, name)
        least = 0.0 if name == "checkpoint_seconds" else np.nextafter(0.0, 1.0)
        if value is not None and not value >= least:
            option = name.replace("_", "-")
            raise InvalidInputError(f"--{option} {value:g} is not a number above 0: raise it")
    if settings.n_jobs == 0:
        raise InvalidInputError("--jobs 0 would do nothing: give a number of threads, -1 for all")
    if settings.seed < 0:
        raise InvalidInputError(f"--seed {settings.seed} is negative: give a whole number >= 0")


def parse_components(text: str, *, has_graph: bool = False) -> int | str | None:
    """'auto', 'none' or a whole number >= 1, as the classifier takes it."""
    if text == "auto":
        return text
    none = text == "none"
    if not none and not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise InvalidInputError(
            f"--components {text!r} is not a number of principal components: write auto, none for "
            "all features, or a whole number >= 1"
        )
    if has_graph and not none:
        raise InvalidInputError(
            f"--components {text} reduces features, but the file holds a graph: leave it out"
        )
    return None if none else int(text)


def parse_proportions(text: str | None, classes: Sequence[Any]) -> list[float] | None:
    """Shares of all classes in their order, from NAME=SHARE,... or from numbers in that order."""
    if text is None:
        return None
    names = [str(c) for c in classes]
    if "=" in text:
        given = _named_shares(text, names)
        shares = [given[name] for name in names]
    else:
        shares = [_share(part, text) for part in text.split(",")]
    if len(shares) != len(names):
        raise InvalidInputError(
            f"--proportions {text!r} has {len(shares)} numbers for {len(names)} classes: give one "
            f"for each, in the order {_listed(names)}, or write NAME=SHARE,..."
        )
    if sum(shares) <= 0:
        raise InvalidInputError(
            f"--proportions {text!r} gives no class any point: make one share positive"
        )
    return shares


def _named_shares(text: str, names: Sequence[str]) -> dict[str, float]:
    """Share of every class by its name, which may hold commas and equals signs."""
    given: dict[str, float] = {}
    pieces = re.compile(r"(.+?)=([^=,]*)(?:,|$)")
    at = 0
    while at < len(text):
        piece = pieces.match(text, at)
        if piece is None:
            raise InvalidInputError(
                f"--proportions {text!r}: {text[at:]!r} is not NAME=SHARE: write for example "
                f"{names[0]}=0.8,{names[-1]}=0.2, all classes by name, or numbers alone"
            )
        at = piece.end()
        name = piece[1].strip()
        if name not in names:
            raise InvalidInputError(
                f"--proportions {text!r}: {name!r} is not a class among the labels: these are "
                f"{_listed(names)}"
            )
        if name in given:
            raise InvalidInputError(
                f"--proportions {text!r} names {name!r} twice: leave one of them out"
            )
        given[name] = _share(piece[2], text)
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidInputError(
            f"--proportions {text!r} says nothing of {_listed(missing)}: give the share of every "
            "class"
        )
    return given


def _share(part: str, text: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = np.nan
    if not 0 <= value < np.inf:
        raise InvalidInputError(
            f"--proportions {text!r}: {part.strip()!r} is not a share: write numbers >= 0, for "
            "example A=0.8,B=0.2 or 0.8,0.2"
        )
    return value


def _listed(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def parse_temperature(text: str) -> float | str:
    """The name of a rule, or a number >= 0."""
    if text in TEMPERATURE_RULES:
        return text
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not value >= 0:
        raise InvalidInputError(
            f"--temperature {text!r} cannot be read: write {', '.join(TEMPERATURE_RULES)} or a "
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
