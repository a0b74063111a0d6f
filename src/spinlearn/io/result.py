"""Result: an answer with ids, kept in one file of plain arrays (model.npz).

The file holds the model, the averages at all temperatures of the grid, the profile and the settings
as JSON; no pickled objects, neither written nor read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from spinlearn.answers.answer import Answer, Averages
from spinlearn.answers.labels import LARGEST
from spinlearn.answers.law import Law
from spinlearn.answers.proposal import ACCEPT, REJECT, Proposal, Word
from spinlearn.answers.rule import SMALL_GROUPS, Status, label_holders
from spinlearn.answers.temperature import TEMPERATURE_RULES
from spinlearn.core.array_checks import FINITE, NUMBER, listed, typed, within
from spinlearn.core.array_file import Arrays, read_npz, write_npz
from spinlearn.core.arrays import FloatArray, frozen
from spinlearn.core.atomic_write import atomic_write
from spinlearn.core.model import FREE, PottsModel
from spinlearn.errors import InvalidInputError
from spinlearn.graphs.reduction import Reduction
from spinlearn.io.name_checks import check_names
from spinlearn.io.stored_averages import (
    STORED,
    equilibrium_arrays,
    equilibrium_header,
    equilibrium_of,
)
from spinlearn.io.stored_model import model_arrays, model_of
from spinlearn.io.stored_profile import profile_arrays, profile_of
from spinlearn.viz.layout import principal
from spinlearn.viz.pictures import Pictures

MAGIC = "spinlearn result"
VERSION = 4
PLACES = ("layout", "components")
PLAIN_ARRAYS = (
    "ids", "classes", "labels", "n_nodes", "edges", "weights", "couplings", "pair_cost", "fields",
    "clamped",
)  # fmt: skip
ROUNDING = 1e-6  # of a probability in single precision
LAW_ROUNDING = 1e-4  # of a sum of many
MOST_VALUES = 10_000_000  # of features that are stored: 40 MB
LARGE = 500_000  # points whose probabilities stay in single precision
PROPOSED = ("proposal_points", "proposal_typical", "word_points", "word_labelled")
REDUCTION = ("mean", "components", "spread")
LAW = (
    "shares",
    "n_judged",
    "n_right",
    "chance",
    "temperatures",
    "resolutions",
    "phase_weights",
)  # plain fields
PLAIN = ("temperature", "rule", "tau", "small_groups", "eta_min")  # fields of Answer


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Answer, Pictures):
    """An `Answer` with the names of its points, its pictures, and how it was made.

    ``spinlearn fit`` writes one; `load` brings it back. The parameters are those of `Answer` and
    the last four.

    Parameters
    ----------
    classes : array (k,)
        Names of the classes, sorted, in the user's kind.
    labels : int array (n,)
        Position in `classes` of every label given, -1 where there is none.
    averages : Averages
        Thermal averages at all temperatures of the profile.
    temperature : float
        Of the answer, in the unit of the couplings.
    law : Law, optional
        The probabilities of all points where they are an average.
    known_profile : Profile, optional
        The outcome of every point at every temperature.
    rule : str, default "given"
        How it was chosen.
    tau : float, default 0.1
        Confidence threshold of the decision.
    small_groups : {"join", "outlier", "new"}, default "join"
        What became of groups of one or two points in which none is classified.
    eta_min : float, optional
        Of the paper's rules for the temperature.
    new_groups : bool, default True
        Whether points that agree with no class may be a new one.
    choices : tuple of str
        What was chosen for the user, each with its reason.
    proposals : tuple of Proposal
        Groups that may be a class of their own, best first.
    words : tuple of Word
        What was said about earlier proposals.
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
        """The result of a fitted classifier.

        Parameters
        ----------
        fitted : PottsClassifier
            After `fit`.
        ids : list of str
            Name of every point.
        layout : float array (n, 2), optional
            Where to draw the points; without it, points with features are drawn by these.
        settings : mapping, optional
            How it was made.

        Returns
        -------
        Result
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

    def _pictured(self) -> Answer:
        return self

    def _ids(self) -> list[str]:
        return self.ids

    def _layout_sources(self) -> dict[str, Any]:
        return {"coordinates": self.layout, "components": self.components}

    # -- file ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .npz file of plain arrays; an existing file is replaced as a whole.

        Parameters
        ----------
        path : path-like
            The file.
        """
        ids, classes = [str(v) for v in self.ids], [str(c) for c in self.classes]
        _check_names(Path(path), ids, classes)
        arrays: Arrays = {
            "ids": np.array(ids, dtype=np.str_),
            "classes": np.array(classes, dtype=np.str_),
            "labels": self.labels,
        }
        arrays |= model_arrays(self.model, large=self.equilibrium.marginals.dtype == np.float32)
        arrays |= equilibrium_arrays(self.equilibrium)
        arrays |= profile_arrays(self.profile)
        for name in PLACES:
            places = getattr(self, name)
            if places is not None:
                arrays[name] = np.asarray(places, dtype=np.float64)
        arrays |= {
            "proposal_points": _runs([one.points for one in self.proposals]),
            "proposal_typical": _runs([one.typical for one in self.proposals]),
            "word_points": _runs([one.points for one in self.words]),
            "word_labelled": _runs([one.labelled for one in self.words]),
        }
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
            "equilibrium": equilibrium_header(self.equilibrium),
            "answer": {name: getattr(self, name) for name in (*PLAIN, "new_groups", "choices")},
            "law": None if law is None else {name: getattr(law, name) for name in LAW},
            "proposals": [
                {
                    "probability": one.probability,
                    "beside": one.beside,
                    "apart": one.apart if np.isfinite(one.apart) else None,
                    "features": [list(pair) for pair in one.features],
                    "n_features": one.n_features,
                }
                for one in self.proposals
            ],
            "explained": None if self.reduction is None else self.reduction.explained,
            "words": [{"do": w.do, "group": w.group, "name": w.name} for w in self.words],
            "n_classes": self.profile.n_classes,
            "confused_sets": [list(map(int, s)) for s in self.profile.confused_sets],
            "settings": dict(self.settings),
        }
        with atomic_write(path) as file:
            write_npz(file, {"header": np.array(json.dumps(header))} | arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; anything else, pickled objects above all, is refused.

        Parameters
        ----------
        path : path-like
            The folder that ``spinlearn fit --out`` made, or the file model.npz in it.

        Returns
        -------
        Result
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
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise InvalidInputError(
                f"{file} is not a result of `spinlearn fit` ({type(error).__name__}: {error}): "
                "give the folder that it made"
            ) from error

    @classmethod
    def _from(cls, file: Path, header: dict[str, Any], arrays: Arrays) -> Self:
        _check_arrays(arrays)
        classes, ids = arrays["classes"], arrays["ids"]
        if ids.ndim != 1 or classes.ndim != 1 or ids.dtype.kind + classes.dtype.kind != "UU":
            raise ValueError("ids and classes are not lists of names")
        if len(ids) != int(arrays["n_nodes"]):  # before anything is made of that size
            raise ValueError(f"{len(ids)} ids for {arrays['n_nodes']} points")
        _check_names(file, ids.tolist(), classes.tolist())
        if typed(header, "whole_numbers", bool):
            classes = _whole_numbers(classes)
        model = model_of(arrays)
        if len(classes) > model.n_states:
            raise ValueError(f"{len(classes)} classes for {model.n_states} states")
        found = profile_of(header, arrays, model, len(classes))
        found = replace(found, n_labels=int(label_holders(model, found.n_classes).sum()))
        _check_labels(arrays["labels"], model, len(classes))
        answer = _answer_settings(header["answer"])
        if np.any(found.margin[found.status == Status.CONFIDENT] <= answer["tau"]):
            raise ValueError("a confident point has no margin above tau")
        if (header["law"] is None) != (answer["rule"] != "average"):
            raise ValueError("the rule and the law do not fit one another")
        if not np.any(found.temperatures == answer["temperature"]):
            raise ValueError("the temperature of the answer is not among those of the profile")
        return cls(
            **answer,
            ids=ids.tolist(),
            classes=classes,
            labels=frozen(arrays["labels"], np.int32),
            law=_law(header, arrays, len(classes)),
            averages=Averages.of(
                equilibrium_of(model, header["equilibrium"], arrays, found.temperatures)
            ),
            known_profile=found,
            proposals=_proposals(header, arrays),
            words=_words(header, arrays),
            layout=_places(arrays, "layout", model.n_nodes),
            components=_places(arrays, "components", model.n_nodes),
            settings=typed(header, "settings", dict),
            points=_points(arrays),
            reduction=_reduction(header, arrays),
            feature_names=tuple(arrays["feature_names"].tolist()) if "points" in arrays else (),
        )


def _check_names(file: Path, ids: list[str], classes: list[str]) -> None:
    """Refuse names that cannot be told apart or written."""
    for what, names in {"id": ids, "class": classes}.items():
        if "" in names or len(set(names)) < len(names):
            raise InvalidInputError(
                f"one {what} of {len(names)} is empty or like another, and answers could not be "
                "told apart: give each a name of its own"
            )
        check_names(file, f"the {what}", names)


def _whole_numbers(classes: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
    """Classes that are whole numbers, written as `save` writes them and in its order."""
    numbers = classes.astype(np.int64)
    within("classes", numbers, -LARGEST, LARGEST)
    if list(map(str, numbers)) != classes.tolist() or np.any(numbers[1:] < numbers[:-1]):
        raise ValueError("classes are not whole numbers in ascending order")
    return numbers


def _check_labels(labels: npt.NDArray[Any], model: PottsModel, n_classes: int) -> None:
    """Refuse labels of other points or classes than the model holds; it need not hold all."""
    if labels.shape != (model.n_nodes,) or labels.dtype.kind != "i":
        raise ValueError(f"labels are {labels.dtype} of shape {labels.shape}")
    within("labels", labels, -1, n_classes - 1)
    held = model.clamped != FREE
    given = np.where(model.clamped < n_classes, model.clamped, -1)  # new classes have no labels
    if np.any(labels[held] != given[held]):
        raise ValueError("labels differ from the classes that points are held in")


def _check_arrays(arrays: Arrays) -> None:
    """Refuse arrays that no result has: one may be another whose name was damaged."""
    known = {"header", *PLAIN_ARRAYS, *PLACES, *STORED, *PROPOSED, "points", "feature_names"}
    groups = ("profile_", "law_", "penalty_", "reduction_")
    strange = [n for n in arrays if n not in known and not n.startswith(groups)]
    if strange:
        raise ValueError(f"it holds {strange[0]!r}, which no result has")


def _answer_settings(said: dict[str, Any]) -> dict[str, Any]:
    """What a file says of the decision, in the types of `Answer`."""
    least = typed(said, "eta_min", *NUMBER, type(None))
    if typed(said, "rule", str) not in (*TEMPERATURE_RULES, "given", "average"):
        raise ValueError(f"the rule {said['rule']!r} is unknown")
    if typed(said, "small_groups", str) not in SMALL_GROUPS:
        raise ValueError(f"small_groups={said['small_groups']!r} is unknown")
    within("tau", typed(said, "tau", *NUMBER), 0.0, 1.0)
    within("eta_min", 0 if least is None else least, 0.0, np.inf)
    return {
        "temperature": float(typed(said, "temperature", *NUMBER)),
        "rule": said["rule"],
        "tau": float(said["tau"]),
        "small_groups": said["small_groups"],
        "eta_min": None if least is None else float(least),
        "new_groups": typed(said, "new_groups", bool),
        "choices": tuple(listed("choices", said["choices"], str)),
    }


def _places(arrays: Arrays, name: str, n_points: int) -> FloatArray | None:
    """Where points are drawn, if a file says so."""
    if name not in arrays:
        return None
    if arrays[name].shape != (n_points, 2):
        raise ValueError(f"{name} has shape {arrays[name].shape}, expected {(n_points, 2)}")
    within(name, arrays[name], -FINITE, FINITE)
    return frozen(arrays[name], np.float64)


def _points(arrays: Arrays) -> FloatArray | None:
    """Features, if a file holds them."""
    points = arrays.get("points")
    if points is None:
        return None
    if points.ndim != 2 or len(points) != int(arrays["n_nodes"]) or points.dtype.kind != "f":
        raise ValueError(f"points are {points.dtype} of shape {points.shape}")
    within("points", points, -FINITE, FINITE)
    return frozen(points, np.float64)


def _reduction(header: dict[str, Any], arrays: Arrays) -> Reduction | None:
    """How features were reduced, if they were and are stored."""
    explained = typed(header, "explained", *NUMBER, type(None))
    if explained is None or "points" not in arrays:
        return None
    mean, components, spread = (arrays[f"reduction_{name}"] for name in REDUCTION)
    wanted = (arrays["points"].shape[1], len(mean))
    if components.shape != wanted or spread.shape != mean.shape:
        raise ValueError(f"reduction_components have shape {components.shape}")
    for name in REDUCTION:
        within(f"reduction_{name}", arrays[f"reduction_{name}"], -FINITE, FINITE)
    mean, components, spread = (frozen(v, np.float64) for v in (mean, components, spread))
    return Reduction(mean, components, float(explained), spread)


def _runs(parts: list[npt.NDArray[np.intp]]) -> npt.NDArray[np.int64]:
    """Row numbers of several groups one after the other, each headed by how many there are."""
    return np.array([v for part in parts for v in (len(part), *part.tolist())], dtype=np.int64)


def _parts(arrays: Arrays, name: str, count: int) -> list[npt.NDArray[np.intp]]:
    """The groups that `_runs` wrote."""
    values, n = arrays[name], int(arrays["n_nodes"])
    if values.ndim != 1 or values.dtype.kind != "i":
        raise ValueError(f"{name} are no row numbers")
    parts, at = [], 0
    while at < len(values):
        size = int(values[at])
        rows = values[at + 1 : at + 1 + size]
        if size < 1 or len(rows) != size:
            raise ValueError(f"{name} end too early")
        within(name, rows, 0, n - 1)
        parts.append(rows.astype(np.intp))
        at += 1 + size
    if len(parts) != count:
        raise ValueError(f"{len(parts)} groups in {name} for {count}")
    return parts


def _proposals(header: dict[str, Any], arrays: Arrays) -> tuple[Proposal, ...]:
    """The proposals that a file holds."""
    said = listed("proposals", header["proposals"], dict)
    points = _parts(arrays, "proposal_points", len(said))
    typical = _parts(arrays, "proposal_typical", len(said))
    found = []
    for number, (one, members, central) in enumerate(zip(said, points, typical, strict=True)):
        apart = typed(one, "apart", *NUMBER, type(None))
        within("the probability of a proposal", typed(one, "probability", *NUMBER), 0.0, 1.0)
        within("what sets a proposal apart", 0 if apart is None else apart, 0.0, FINITE)
        pairs = [(str(name), float(value)) for name, value in one["features"]]
        within("differences of features", [v for _, v in pairs], -FINITE, FINITE)
        found.append(
            Proposal(
                name=f"new:{number + 1}",
                points=members,
                probability=float(one["probability"]),
                beside=typed(one, "beside", str),
                apart=np.nan if apart is None else float(apart),
                typical=central,
                features=tuple(pairs),
                n_features=typed(one, "n_features", int),
            )
        )
    return tuple(found)


def _words(header: dict[str, Any], arrays: Arrays) -> tuple[Word, ...]:
    """What a file holds of what was said about proposals."""
    said = listed("words", header["words"], dict)
    points = _parts(arrays, "word_points", len(said))
    labelled = _parts(arrays, "word_labelled", len(said))
    for one in said:
        if one["do"] not in (ACCEPT, REJECT):
            raise ValueError(f"{one['do']!r} was said of a proposal")
    return tuple(
        Word(one["do"], typed(one, "group", str), typed(one, "name", str), members, central)
        for one, members, central in zip(said, points, labelled, strict=True)
    )


def _law(header: dict[str, Any], arrays: Arrays, n_classes: int) -> Law | None:
    """The average that a file holds, if any."""
    said = header["law"]
    if said is None:
        return None
    p, errors = arrays["law_probabilities"], arrays["law_class_errors"]
    if p.ndim != 2 or len(p) != int(arrays["n_nodes"]) or p.shape[1] < n_classes:
        raise ValueError(f"law_probabilities have shape {p.shape}")
    if errors.shape != (n_classes,):
        raise ValueError(f"law_class_errors have shape {errors.shape}")
    within("law_probabilities", p, 0.0, 1 + ROUNDING)
    within("sums of law_probabilities", p.sum(axis=1), 0.0, 1 + LAW_ROUNDING)
    within("law_class_errors", errors, 0.0, FINITE)
    shares = [float(v) for v in listed("shares", said["shares"], *NUMBER)]
    within("shares", shares, 0.0, 1 + ROUNDING)
    if len(shares) != 4:
        raise ValueError(f"{len(shares)} shares of four laws")
    counts = [typed(said, name, int) for name in ("n_judged", "n_right")]
    within("n_right", counts[1], 0, counts[0])
    listings = {
        name: tuple(float(v) for v in listed(name, said[name], *NUMBER))
        for name in ("temperatures", "resolutions")
    }
    for name, values in listings.items():
        within(name, values, 0.0, FINITE)
        if not values:
            raise ValueError(f"{name} of the average are missing")
    within("temperatures of the average", listings["temperatures"], np.finfo(float).tiny, FINITE)
    rows = [listed("phase_weights", row, *NUMBER) for row in said["phase_weights"]]
    weights = np.array(rows, dtype=np.float64)
    if weights.shape != (len(listings["resolutions"]), len(listings["temperatures"])):
        raise ValueError(f"phase_weights have shape {weights.shape}")
    within("phase_weights", weights, 0.0, 1 + ROUNDING)
    single = p.shape[0] > LARGE
    return Law(
        probabilities=frozen(p, np.float32 if single else np.float64),  # type: ignore[arg-type]
        shares=(shares[0], shares[1], shares[2], shares[3]),
        n_judged=counts[0],
        n_right=counts[1],
        chance=typed(said, "chance", bool),
        class_errors=frozen(errors, np.float64),
        phase_weights=tuple(tuple(row) for row in weights.tolist()),
        **listings,
    )
