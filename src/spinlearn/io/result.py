"""Result: an answer with ids, kept in one file of plain arrays (model.npz).

The file holds the model, the averages at all temperatures of the grid, the profile and the settings
as JSON; no pickled objects, neither written nor read.

Other temperatures of a stored equilibrium are computed anew where it is exact. Averages that come
of reweighting are kept on a grid FINER times as dense as that of the profile, others where they are
known; between its temperatures they are interpolated linearly, and their standard errors say by how
much that may be off.
"""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer, Averages
from spinlearn.answers.law import Law
from spinlearn.answers.profile import Profile
from spinlearn.answers.proposal import Proposal, Word
from spinlearn.answers.rule import Status, label_reach
from spinlearn.engines import run_exactly
from spinlearn.errors import ConvergenceWarning, InvalidInputError, UnreachedTemperatureError
from spinlearn.files.arrays import Arrays, read_npz, within, write_npz
from spinlearn.files.atomic_write import atomic_write
from spinlearn.graphs.points import Reduction
from spinlearn.io.table import check_names
from spinlearn.model.arrays import FloatArray, frozen, nearest_row
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.equilibrium import AVERAGES, OPTIONAL_AVERAGES, VERDICTS, Equilibrium, Kind
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.viz.layout import principal
from spinlearn.viz.pictures import Pictures

MAGIC = "spinlearn result"
VERSION = 4
MOST_VALUES = 10_000_000  # of features that are stored: 40 MB
LARGE = 500_000  # points whose probabilities stay in single precision
PLACES = ("layout", "components")
MODEL = ("edges", "weights", "couplings", "pair_cost", "fields", "clamped")
PROFILE: dict[str, Any] = {
    "temperatures": np.float64, "outcomes": np.int32, "status": np.int8, "margin": np.float64,
}  # fmt: skip
REDUCTION = ("mean", "components", "spread")
# Of an answer: what is kept as arrays; all the rest stands in the header as it is.
ARRAYS = ("classes", "labels", "averages", "law", "known_profile", "proposals", "words")
ANSWER = tuple(f.name for f in fields(Answer) if f.name not in ARRAYS)
LAW = (
    "shares", "n_judged", "n_right", "chance", "temperatures", "resolutions", "phase_weights",
)  # fmt: skip
PROPOSAL = ("probability", "beside", "apart", "features", "n_features")
WORD = ("do", "group", "name")
# Of an equilibrium: entries of the header, arrays, what errors are of, and steps of shares that are
# stored of large models.
HEADER = {"engine": str, "kind": Kind, "can_continue": bool, "annealed": bool}
STORED = ("temperatures", *VERDICTS, *AVERAGES, *OPTIONAL_AVERAGES)
ERROR_OF = {"std_error": "marginals", "agreement_std_error": "edge_agreement"}
UNITS: dict[str, type[np.unsignedinteger[Any]]] = {
    "marginals": np.uint16,
    "edge_agreement": np.uint8,
}
FINER = 4
MAX_FINE_BYTES = 3e8
ROUNDING = 0.01  # of probabilities in whole steps, summed over many states
ANY, SHARE = (-np.inf, np.inf), (-1e-4, 1.0001)
# Kinds of dtype, axes and range of arrays. Axes: n points, k classes, c classes and new ones, q
# states, m edges, T and P temperatures of averages and profile, d and D features, used and given.
FORMS: dict[str, tuple[str, str, tuple[float, float] | None]] = {
    "ids": ("U", "n", None),
    "classes": ("U", "k", None),
    "labels": ("i", "n", None),
    "edges": ("iu", "m2", None),
    "weights": ("f", "m", None),
    "pair_cost": ("f", "qq", None),
    "penalty_sizes": ("f", "n", ANY),
    "penalty_targets": ("f", "q", ANY),
    "temperatures": ("f", "T", (0, np.inf)),
    **dict.fromkeys(VERDICTS, ("b", "T", None)),
    "marginals": ("fu", "Tnq", None),
    "edge_agreement": ("fu", "Tm", None),
    **dict.fromkeys(
        ("mean_energy", "heat_capacity", "log_partition", "log_partition_std_error"),
        ("f", "T", ANY),
    ),
    "std_error": ("f", "Tnq", (0, np.inf)),
    "agreement_std_error": ("f", "Tm", (0, np.inf)),
    "doubt": ("f", "Tn", SHARE),
    "profile_temperatures": ("f", "P", (0, np.inf)),
    "profile_outcomes": ("i", "Pn", None),
    "profile_status": ("i", "Pn", (0, len(Status) - 1)),
    "profile_margin": ("f", "Pn", SHARE),
    "law_probabilities": ("f", "nc", SHARE),
    "law_class_errors": ("f", "k", (0, np.inf)),
    **dict.fromkeys(PLACES, ("f", "n2", ANY)),
    "points": ("f", "nd", ANY),
    "reduction_components": ("f", "dD", ANY),
    **dict.fromkeys(("reduction_mean", "reduction_spread"), ("f", "D", ANY)),
    "proposal_points": ("i", "a", None),
    "proposal_typical": ("i", "b", None),
    "word_points": ("i", "e", None),
    "word_labelled": ("i", "f", None),
}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Answer, Pictures):
    """An `Answer` with the names of its points, its pictures, and how it was made.

    ``spinlearn fit`` writes one; `load` brings it back. The first parameters are those of `Answer`.

    Parameters
    ----------
    ids : list of str
        Name of every point.
    layout : float array (n, 2), optional
        Where to draw the points, if the data say so.
    components : float array (n, 2), optional
        Else the first two principal components of their features, if they have any.
    settings : mapping
        How it was made: version, file, options, seed, seconds, warnings.
    points : float array (n, d), optional
        Features as neighbours are looked for, in single precision, unless they are very many.
    reduction : Reduction, optional
        By which they were made of the features, where these are many.
    feature_names : tuple of str
        Of the features, where they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from spinlearn import PottsClassifier
    >>> X = np.r_[np.linspace(0, 1, 10), np.linspace(3, 4, 10)][:, None]
    >>> y = np.array(["", "", "left"] + 10 * [""] + ["right"] + 6 * [""], dtype=object)
    >>> clf = PottsClassifier(method="paper").fit(X, y)
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spinlearn import Result
    >>> result = Result.of(clf, ids=[f"point {k}" for k in range(20)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(Path(folder, "model.npz"))
    ...     stored = Result.load(Path(folder, "model.npz"))
    >>> stored.ids[0], stored.names[0], stored.temperature == clf.temperature_
    ('point 0', 'left', True)
    """

    ids: list[str]
    layout: FloatArray | None = None
    components: FloatArray | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    points: FloatArray | None = None
    reduction: Reduction | None = None
    feature_names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        fitted: Any,
        ids: list[str],
        *,
        layout: FloatArray | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """The result of a fitted classifier, with `ids`, a name for every point.

        `layout` (n, 2) is where to draw the points, default by features; `settings` say how it was
        made.
        """
        answer: Answer = fitted.answer_
        names = getattr(fitted, "feature_names_in_", fitted._feature_names)
        if len(ids) != answer.graph.n_nodes:
            raise InvalidInputError(
                f"there are {len(ids)} ids for {answer.graph.n_nodes} points: give one id per point"
            )
        points, components = fitted._training.points, None
        pixels = fitted._training.pixels
        if layout is None and pixels is not None:
            layout = np.column_stack([pixels[:, 1], -pixels[:, 0]]).astype(np.float64)
        if layout is None and points is not None:
            if points.shape[1] == 2:
                layout = points
            elif points.shape[1] > 2:
                components = principal(points)
        return cls(
            **{f.name: getattr(answer, f.name) for f in fields(Answer)},
            ids=list(ids),
            layout=layout,
            components=components,
            settings=dict(settings or {}),
            points=points if points is not None and points.size <= MOST_VALUES else None,
            reduction=fitted._training.reduction,
            feature_names=tuple(map(str, () if names is None else names)),
        )

    def _pictured(self) -> tuple[Answer, list[str], dict[str, Any]]:
        return self, self.ids, {"coordinates": self.layout, "components": self.components}

    # -- file ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .npz file of plain arrays; an existing file is replaced as a whole."""
        ids, classes = [str(v) for v in self.ids], [str(c) for c in self.classes]
        _check_names(Path(path), ids, classes)
        arrays: Arrays = {
            "ids": np.array(ids, dtype=np.str_),
            "classes": np.array(classes, dtype=np.str_),
            "labels": self.labels,
        }
        arrays |= equilibrium_arrays(self.equilibrium)
        arrays |= {f"profile_{name}": getattr(self.profile, name) for name in PROFILE}
        places = {name: getattr(self, name) for name in PLACES}
        arrays |= {k: np.asarray(v, dtype=np.float64) for k, v in places.items() if v is not None}
        for name, groups in {
            "proposal_points": [one.points for one in self.proposals],
            "proposal_typical": [one.typical for one in self.proposals],
            "word_points": [one.points for one in self.words],
            "word_labelled": [one.labelled for one in self.words],
        }.items():  # one after the other, each headed by its size
            rows = [v for group in groups for v in (len(group), *group.tolist())]
            arrays[name] = np.array(rows, dtype=np.int64)
        if self.points is not None:
            arrays["points"] = self.points.astype(np.float32)
            arrays["feature_names"] = np.array(self.feature_names, dtype=np.str_)
            if self.reduction is not None:
                for name in REDUCTION:
                    arrays[f"reduction_{name}"] = getattr(self.reduction, name)
        law = self.law
        if law is not None:
            arrays["law_probabilities"] = law.probabilities
            arrays["law_class_errors"] = law.class_errors
        header = {
            "magic": MAGIC,
            "version": VERSION,
            "whole_numbers": self.classes.dtype.kind in "iu",
            "equilibrium": {name: getattr(self.equilibrium, name) for name in HEADER},
            "answer": {name: getattr(self, name) for name in ANSWER},
            "law": None if law is None else {name: getattr(law, name) for name in LAW},
            "proposals": [
                {name: getattr(one, name) for name in PROPOSAL}
                | ({} if np.isfinite(one.apart) else {"apart": None})  # JSON knows no NaN
                for one in self.proposals
            ],
            "explained": None if self.reduction is None else self.reduction.explained,
            "words": [{name: getattr(word, name) for name in WORD} for word in self.words],
            "n_classes": self.profile.n_classes,
            "confused_sets": [list(map(int, s)) for s in self.profile.confused_sets],
            "settings": dict(self.settings),
        }
        with atomic_write(path) as file:
            write_npz(file, {"header": np.array(json.dumps(header))} | arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote from model.npz or its folder, `path`; anything else is refused."""
        file = model_file(path)
        if file.suffix != ".npz":
            raise InvalidInputError(
                f"{file} is not a result of `spinlearn fit`: give the folder that it made"
            )
        arrays = read_npz(file, own=True)
        try:
            header = json.loads(str(arrays["header"]))
            if header["magic"] != MAGIC:
                raise KeyError("magic")
            if header["version"] != VERSION:
                raise InvalidInputError(
                    f"{file} is of format version {header['version']}, this spinlearn reads "
                    f"{VERSION}: fit again, or use the version that wrote it"
                )
            return cls._from(file, header, arrays)
        except InvalidInputError as error:
            if str(file) in str(error):
                raise
            raise InvalidInputError(f"{file} is damaged ({error}): fit again") from error
        except Exception as error:  # what is no result fails in many ways
            raise InvalidInputError(
                f"{file} is not a result of `spinlearn fit` ({type(error).__name__}: {error}): "
                "give the folder that it made"
            ) from error

    @classmethod
    def _from(cls, file: Path, header: dict[str, Any], arrays: Arrays) -> Self:
        _check_forms(arrays)
        ids, classes, labels = arrays["ids"].tolist(), arrays["classes"], arrays["labels"]
        _check_names(file, ids, classes.tolist())
        model = _model_of(arrays)
        profile = _profile(header, arrays, model, len(classes))
        within("labels", labels, -1, len(classes) - 1)
        answer = {name: header["answer"][name] for name in ANSWER}
        if (header["law"] is None) != (answer["rule"] != "average"):
            raise ValueError("the rule and the law do not fit one another")
        if not np.any(profile.temperatures == answer["temperature"]):
            raise ValueError("the temperature of the answer is not among those of the profile")
        reduction = None
        if header["explained"] is not None and "points" in arrays:  # reduced, and stored
            parts = [frozen(arrays[f"reduction_{name}"], np.float64) for name in REDUCTION]
            reduction = Reduction(parts[0], parts[1], float(header["explained"]), parts[2])
        words = _groups(arrays, "word_points"), _groups(arrays, "word_labelled")
        places: Any = {k: frozen(arrays[k], np.float64) for k in PLACES if k in arrays}
        return cls(
            **answer | {"choices": tuple(answer["choices"])},
            ids=ids,
            classes=classes.astype(np.int64) if header["whole_numbers"] else classes,
            labels=frozen(labels, np.int32),
            law=_law(header["law"], arrays),
            averages=Averages.of(
                _equilibrium_of(model, header["equilibrium"], arrays, profile.temperatures)
            ),
            known_profile=profile,
            proposals=_proposals(header["proposals"], arrays),
            words=tuple(
                Word(**{name: one[name] for name in WORD}, points=points, labelled=labelled)
                for one, points, labelled in zip(header["words"], *words, strict=True)
            ),
            **places,
            settings=dict(header["settings"]),
            points=frozen(arrays["points"], np.float64) if "points" in arrays else None,
            reduction=reduction,
            feature_names=tuple(arrays["feature_names"].tolist()) if "points" in arrays else (),
        )


if Result.__doc__ and Answer.__doc__:
    _heading = "Parameters\n----------\n"
    _of_answer = inspect.cleandoc(Answer.__doc__).partition(_heading)[2].partition("\n\n")[0]
    Result.__doc__ = inspect.cleandoc(Result.__doc__).replace(_heading, f"{_heading}{_of_answer}\n")


def model_file(path: str | os.PathLike[str]) -> Path:
    """The model.npz of an answer, from itself or its folder."""
    file = Path(path)
    if file.is_dir():
        file = file / "model.npz"
    if not file.is_file():
        raise InvalidInputError(
            f"{file} does not exist: give the folder that `spinlearn fit --out` made"
        )
    return file


def _check_names(file: Path, ids: list[str], classes: list[str]) -> None:
    """Refuse names that cannot be told apart or written."""
    for what, names in {"id": ids, "class": classes}.items():
        if "" in names or len(set(names)) < len(names):
            raise InvalidInputError(
                f"one {what} of {len(names)} is empty or like another, and answers could not be "
                "told apart: give each a name of its own"
            )
        check_names(file, f"the {what}", names)


def _check_forms(arrays: Arrays) -> None:
    """Refuse arrays of another kind or shape than the rest asks for, and of impossible values."""
    sizes = {"2": 2, "n": int(arrays["n_nodes"])}
    for name, (kinds, axes, bounds) in FORMS.items():
        if name not in arrays:
            continue  # asked for where it is needed
        found = arrays[name]
        expected = tuple(map(sizes.setdefault, axes, found.shape))
        if found.dtype.kind not in kinds or found.ndim != len(axes) or found.shape != expected:
            raise ValueError(f"{name} is {found.dtype} of shape {found.shape}")
        if bounds is not None:
            within(name, found, *bounds)


def _model_of(arrays: Arrays) -> PottsModel:
    """The model that arrays define; `Graph` and `PottsModel` check what they are given."""
    n_nodes, n_states = int(arrays["n_nodes"]), len(arrays["pair_cost"])
    penalty = None
    parts = {k.removeprefix("penalty_"): v for k, v in arrays.items() if k.startswith("penalty_")}
    if parts:
        columns = n_nodes + 1 if parts["kind"] == "table" else 0
        if parts["table"].shape != (n_states, columns):  # kernels trust it
            raise ValueError(f"penalty_table has shape {parts['table'].shape}")
        plain = {k: v.item() if v.ndim == 0 else frozen(v, np.float64) for k, v in parts.items()}
        penalty = ClassPenalty(**plain)
    return PottsModel(
        Graph(n_nodes, arrays["edges"], arrays["weights"]),
        n_states,
        couplings=arrays.get("couplings"),  # missing: the weights
        class_penalty=penalty,
        **{name: arrays[name] for name in MODEL[3:]},
    )


def equilibrium_arrays(equilibrium: Equilibrium) -> Arrays:
    """A model and all averages; reweighted ones on a finer grid, a large one's with less digits."""
    model, large = equilibrium.model, equilibrium.marginals.dtype == np.float32
    graph, penalty = model.graph, model.class_penalty
    arrays: Arrays = {"n_nodes": np.array(model.n_nodes)}
    arrays |= {name: getattr(graph if name in MODEL[:2] else model, name) for name in MODEL}
    if penalty is not None:
        arrays |= {f"penalty_{f.name}": np.array(getattr(penalty, f.name)) for f in fields(penalty)}
    if equilibrium.reweights:
        equilibrium = _refined(equilibrium)
    averages: Arrays = {name: getattr(equilibrium, name) for name in STORED}
    arrays |= {name: values for name, values in averages.items() if values is not None}
    if large:
        if model.couplings is graph.weights:
            del arrays["couplings"]
        for name in arrays.keys() & {"weights", "couplings", "fields"}:
            arrays[name] = arrays[name].astype(np.float32)
        for name, unit in UNITS.items():
            arrays[name] = np.rint(arrays[name] * np.iinfo(unit).max).astype(unit)
    elif equilibrium.kind is not Kind.EXACT:  # errors are far above single precision
        for name in arrays.keys() & {*ERROR_OF, *ERROR_OF.values()}:
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
            reached = []
            for t in wanted:
                with suppress(UnreachedTemperatureError):
                    equilibrium.at([t])
                    reached.append(t)
            return equilibrium.at(reached)


def _equilibrium_of(
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
    known = known.take(np.argsort(known.temperatures))
    grid = known.temperatures
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
            means = getattr(known, ERROR_OF[name])
            w = share.reshape((-1,) + (1,) * (means.ndim - 1))
            off = 2 * w * (1 - w) * np.abs(means[right] - means[left])
            if values is None:  # no error bars but that one, if any
                return None if known.kind is Kind.SAMPLED else np.asarray(off)
        w = share.reshape((-1,) + (1,) * (values.ndim - 1))
        return np.asarray((1 - w) * values[left] + w * values[right] + off)

    verdicts = {name: np.asarray(getattr(known, name)) for name in VERDICTS}
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


def _profile(header: dict[str, Any], arrays: Arrays, model: PottsModel, n_classes: int) -> Profile:
    parts = {name: frozen(arrays[f"profile_{name}"], kind) for name, kind in PROFILE.items()}
    sets = tuple(tuple(map(int, members)) for members in header["confused_sets"])
    if header["n_classes"] != n_classes or n_classes > model.n_states:
        raise ValueError(f"{n_classes} classes for {model.n_states} states")
    within("confused_sets", [c for members in sets for c in members], 0, n_classes - 1)
    outcomes = parts["outcomes"]
    # A new class has a point at least, at one temperature or another.
    within("profile_outcomes", outcomes, -len(sets), n_classes + outcomes.size - 1)
    n_labels = int(label_reach(model, n_classes)[0].sum())
    return Profile(**parts, n_classes=n_classes, confused_sets=sets, n_labels=n_labels)


def _groups(arrays: Arrays, name: str) -> list[npt.NDArray[np.intp]]:
    """Row numbers of several groups, which stand behind one another, each headed by its size."""
    values, parts, at = arrays[name], [], 0
    while at < len(values):
        rows = values[at + 1 : at + 1 + values[at]]
        within(name, rows, 0, int(arrays["n_nodes"]) - 1)
        within(f"lengths in {name}", values[at], 1, len(rows))
        parts.append(rows.astype(np.intp))
        at += 1 + len(rows)
    return parts


def _proposals(said: list[dict[str, Any]], arrays: Arrays) -> tuple[Proposal, ...]:
    groups = zip(
        _groups(arrays, "proposal_points"), _groups(arrays, "proposal_typical"), strict=True
    )
    return tuple(
        Proposal(
            name=f"new:{number}",
            points=points,
            probability=float(one["probability"]),
            beside=str(one["beside"]),
            apart=np.nan if one["apart"] is None else float(one["apart"]),
            typical=typical,
            features=tuple((str(name), float(value)) for name, value in one["features"]),
            n_features=int(one["n_features"]),
        )
        for number, (one, (points, typical)) in enumerate(zip(said, groups, strict=True), 1)
    )


def _law(said: dict[str, Any] | None, arrays: Arrays) -> Law | None:
    """The average that a file holds, if any."""
    if said is None:
        return None
    p = arrays["law_probabilities"]
    first, second, third, fourth = map(float, said["shares"])
    weights = np.array(said["phase_weights"], dtype=np.float64)
    if weights.shape != (len(said["resolutions"]), len(said["temperatures"])):
        raise ValueError(f"phase_weights have shape {weights.shape}")
    return Law(
        probabilities=frozen(p, np.float32 if len(p) > LARGE else np.float64),  # type: ignore[arg-type]
        shares=(first, second, third, fourth),
        n_judged=int(said["n_judged"]),
        n_right=int(said["n_right"]),
        chance=bool(said["chance"]),
        class_errors=frozen(arrays["law_class_errors"], np.float64),
        temperatures=tuple(map(float, said["temperatures"])),
        resolutions=tuple(map(float, said["resolutions"])),
        phase_weights=tuple(map(tuple, weights.tolist())),
    )
