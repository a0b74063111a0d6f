"""The settings of a fit, each once: its name, default, meaning, check and place in the help.

`CLASSIFIER` are the parameters of `PottsClassifier`: it takes its signature, its docstring and its
checks from here. The command line makes its options from these, from `PREPARING`, what is done to
features first, and from `READING`, what the user says about a file. Stored answers and labelling
logs hold the same names. A new setting is one entry here, and what it does where it is used.

Graphs, energies, engines and temperature rules have settings of their own, which a text can give:
"knn:10,n_components=20", "min_cut:label_strength=2", "paper:grid=0:2:21" (`model.settings.made`).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spinlearn.answers.answer import one_temperature
from spinlearn.answers.rule import SMALL_GROUPS
from spinlearn.constants import NOVELTY
from spinlearn.default import METHODS
from spinlearn.default.features import check_features
from spinlearn.energies import ENERGIES, make_energy
from spinlearn.engines import ENGINES, make_engine
from spinlearn.errors import InvalidInputError
from spinlearn.model.arrays import temperature_array
from spinlearn.model.settings import AUTO, Settings, is_number, is_open, made, value_of

RULES = (AUTO, "calibrated", "paper")
MOST_TEMPERATURES = 10_000
READ, PREPARE, METHOD = "Reading the data", "Preparing features", "Method"


@dataclass(kw_only=True)
class TemperatureRule(Settings):
    """How the temperature of the answer is found, and over which grid.

    Give it to ``PottsClassifier(temperature=...)``, or write it as a text, "paper:grid=0:2:21".

    Parameters
    ----------
    name : float or str, default "auto"
        A temperature, in the unit of the couplings, or the name of a rule. "calibrated": where
        classes have just formed; "paper": T* of the paper's section 6.1, the most stable change
        from the ground state (`spinlearn.answers.stability`). "auto": an average over temperatures;
        with an energy of your own, or the paper's, the rule that suits it.
    grid : "auto", array-like or str, default "auto"
        Temperatures of the profile; "0:2:21" is the first, the last and how many. "auto" covers the
        ferromagnetic, super-paramagnetic and paramagnetic phases, T = 0 included.
    small_groups : {"join", "outlier", "new"}, default "join"
        What becomes of one or two points that agree with no others enough. "join": part of the
        larger group with which they agree most, or outliers where they touch none; "outlier":
        outliers; "new": new classes, as in the paper.
    eta_min : float or None, default None
        With the paper's rule, the smallest stability, in points times temperature, for which
        T* > 0 is chosen (the paper's eta_0). None: one point in a hundred over the whole grid.

    Examples
    --------
    >>> from spinlearn import TemperatureRule
    >>> TemperatureRule(name="paper", grid="0:1:5").temperatures().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    name: Any = AUTO
    grid: Any = AUTO
    small_groups: str = "join"
    eta_min: float | None = None

    def temperatures(self) -> Any:
        """The grid as numbers, or "auto"."""
        return self.grid if is_open(self.grid) else read_grid(self.grid)


def make_rule(spec: Any) -> TemperatureRule:
    """A rule from a number, a name, or a name with settings; checked."""
    rule: TemperatureRule = spec
    if isinstance(spec, str):
        name = value_of(spec.partition(":")[0])
        known = RULES if isinstance(name, str) else (spec.partition(":")[0],)
        example = "'paper:grid=0:2:21', or a number >= 0"
        rule = made("temperature", dict.fromkeys(known, TemperatureRule), spec, example)
        rule.name = name
    elif not isinstance(spec, TemperatureRule):
        rule = TemperatureRule(name=spec)
    if not isinstance(rule.name, str):
        one_temperature(rule.name)
    elif rule.name not in RULES:
        raise InvalidInputError(
            f"temperature={rule.name!r} is unknown: use {', '.join(map(repr, RULES))} or a number "
            ">= 0"
        )
    rule.temperatures()
    if rule.small_groups not in SMALL_GROUPS:
        raise InvalidInputError(
            f"small_groups={rule.small_groups!r} is unknown: use one of "
            f"{', '.join(map(repr, SMALL_GROUPS))}"
        )
    if rule.eta_min is not None and not (is_number(rule.eta_min) and rule.eta_min >= 0):
        raise InvalidInputError(
            f"eta_min={rule.eta_min!r} is not a stability: use None or a number >= 0, in points "
            "times temperature"
        )
    return rule


def read_grid(grid: Any) -> Any:
    """Temperatures from numbers, or from a text: "0,0.5,1", or "0:2:21", first, last, how many."""
    if not isinstance(grid, str):
        return temperature_array(grid)
    try:
        if ":" not in grid:
            return temperature_array([float(part) for part in grid.split(",")])
        first, last, count = grid.split(":")
        low, high, size = float(first), float(last), int(count)
        if not np.isfinite(high - low) or size > MOST_TEMPERATURES:
            raise ValueError("no steps between infinite ends, no room for as many")
        return temperature_array(np.linspace(low, high, size))
    except (ValueError, InvalidInputError) as error:
        raise InvalidInputError(
            f"temperatures {grid!r} cannot be read: write auto, numbers >= 0 such as 0,0.5,1, or a "
            f"range such as 0:2:21 (first, last, how many, at most {MOST_TEMPERATURES})"
        ) from error


def read_proportions(given: Any) -> Any:
    """Shares by name from "A=0.8,B=0.2", numbers from "0.8,0.2"; else what is given.

    Names may hold commas and equals signs.
    """
    if not isinstance(given, str):
        return given
    shares: dict[str, Any] = {}
    at = 0
    while "=" in given and at < len(given):
        piece = re.compile(r"(.+?)=([^=,]*)(?:,|$)").match(given, at)
        if piece is None or piece[1].strip() in shares:
            raise InvalidInputError(
                f"proportions {given!r}: {given[at:]!r} is not NAME=SHARE of another class: write "
                "for example A=0.8,B=0.2, all classes once by name, or numbers alone"
            )
        shares[piece[1].strip()] = value_of(piece[2])
        at = piece.end()
    return shares or [value_of(part) for part in given.split(",")]


def class_proportions(given: Any, classes: Sequence[Any]) -> Any:
    """Shares in the order of the classes, from numbers in that order or from a mapping by name."""
    if given is None:
        return None
    names = [str(c) for c in classes]
    shares = read_proportions(given)
    if isinstance(shares, Mapping):
        shares = {str(name): share for name, share in shares.items()}
        odd = [name for name in shares if name not in names]
        if odd or len(shares) < len(names):
            missing = [name for name in names if name not in shares]
            what = f"{odd[0]!r} is not a class among the labels" if odd else (
                f"nothing is said of {_listed(missing)}"
            )  # fmt: skip
            raise InvalidInputError(
                f"proportions: {what}: give the share of every class, {_listed(names)}"
            )
        shares = [shares[name] for name in names]
    if isinstance(shares, list):
        if len(shares) != len(names):
            raise InvalidInputError(
                f"proportions: {len(shares)} numbers for {len(names)} classes: give one for each, "
                f"in the order {_listed(names)}"
            )
        odd = [share for share in shares if not (is_number(share) and 0 <= share < np.inf)]
        if odd or sum(shares) <= 0:
            raise InvalidInputError(
                f"proportions: {odd[0] if odd else shares!r} is not a share: give numbers >= 0, "
                "one of them positive, for example A=0.8,B=0.2 or 0.8,0.2"
            )
    return shares


def _listed(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# -- the record ------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """One setting."""

    name: str  # of the parameter, and of what is stored
    default: Any
    kind: str  # what it may be, in the classifier's docstring
    help: str  # what it means, for the docstring and the command's help
    check: Callable[[Any], object] | None = None  # refuses a value that makes no sense
    # what a number must be: no less, below, in words; None is as good if it is the default
    between: tuple[float, float, str] | None = None
    written: str = ""  # how it is written on the command line, if that is not plain
    text: Any = str  # what the command line makes of it first
    option: str = ""  # its name there, where that is another
    panel: str = METHOD  # heading in the command's help
    first: bool = False  # whether it is among the first options that the help shows


CLASSIFIER = (
    Setting(
        "method", AUTO, '{"auto", "messages", "paper"}',
        "How the answer is found. messages: the average of belief propagation, walks from the "
        "labels and the features, weighed by left-out labels. paper: that of Getz, Shental & "
        "Domany throughout: mutual neighbours, the minimum cut, exact or sampled averages, T*. "
        "auto: messages, but on lattices, and graphs as sparse, the paper's where left-out labels "
        "do not speak against it.",
        first=True,
    ),
    Setting(
        "graph", AUTO, "str or graph builder",
        "How points become a graph: knn (10 nearest neighbours), mutual_knn (mutual 10 nearest "
        "neighbours plus minimum spanning tree), with settings knn:5,metric=cosine or "
        "knn:10,n_components=20 (in 20 principal components), radius:0.5. auto: knn in as many "
        "components as the points support, and mutual_knn for the method paper. Not used where a "
        "graph is given.",
        first=True,
    ),
    Setting(
        "energy", AUTO, "str or energy",
        f"The energy over labellings: {', '.join(ENERGIES)}; with settings such as "
        "min_cut:label_strength=2 or modularity:n_states=3. With one of these, no other energy is "
        "considered, and nothing is averaged.",
    ),
    Setting(
        "features", AUTO, '{"auto", "off"}, classifier or array-like of shape (n, n_classes)',
        "What the features alone say, beside the graph. auto: a penalised logistic regression on "
        "the features in which neighbours are looked for, none where only a graph is given or no "
        "label can be left out to judge it; off: nothing.",
        check_features, option="feature-law",
    ),
    Setting(
        "proportions", None, "array-like of shape (n_classes,), mapping or None",
        "Shares of the classes in all points, if you know them: by name, or numbers in the order "
        "of the sorted classes.",
        written="A=0.8,B=0.2", text=str,
    ),
    Setting(
        "label_noise", None, "float or None",
        "Share of the labels that may be wrong, below 0.5: labels become finite fields that the "
        "data can overrule. None or 0: they hold.",
        between=(0, 0.5, "a share of wrong labels: use a number from 0 to below 0.5, or None where "
                 "no label is wrong"),
        text=float, first=True,
    ),
    Setting(
        "novelty", NOVELTY, "float",
        "Share of all classes that you expect to have no label, for the method messages: prior of "
        "the probability that a point is in none of the named ones. 0: every class has a label. "
        "The paper's rule has its own.",
        between=(0, 1, "a share of classes without label: use a number from 0, never, to below 1; "
                 f"the default is {NOVELTY}"),
        text=float, first=True,
    ),
    Setting(
        "engine", AUTO, "str or engine",
        f"What computes the averages: {', '.join(ENGINES)}; with settings such as "
        "tempering:tol=0.01,n_jobs=2. auto is that of the method: belief propagation, or exact "
        "where the graph is narrow enough and else sampled.",
    ),
    Setting(
        "temperature", AUTO, "float, str or TemperatureRule",
        "Temperature of the answer. auto averages over temperatures; with an energy of your own, "
        "or the paper's, one is chosen by the rule that suits it. A number, or the name of a rule, "
        "reads the answer off the equilibrium at one temperature, by the paper's rule: calibrated, "
        "where classes have just formed; paper, T* of the paper's section 6.1. With settings: "
        "paper:grid=0:2:21,small_groups=new.",
        make_rule,
    ),
    Setting(
        "tau", 0.1, "float",
        "A point is confused where its two largest probabilities differ by no more than this.",
        between=(0, 1, "a confidence threshold: use 0 <= tau < 1"),
        text=float,
    ),
    Setting(
        "time_limit", None, "float or None",
        "Seconds after which the fit ends with what there is: a sampling engine with the accuracy "
        "reached, any other as if a callback had stopped it.",
        between=(np.nextafter(0, 1), np.inf, "a time: use seconds > 0, or None"),
        text=float, first=True,
    ),
    Setting(
        "random_state", None, "int or None",
        "Seed of everything random; None: a fixed one, but for sampling engines.",
        text=int, option="seed", first=True,
    ),
)  # fmt: skip
PREPARING = (
    Setting("scale", AUTO, "str", "standard: mean 0, deviation 1 per feature; none; auto: standard "
            "for tables, whose columns may have different units.", panel=PREPARE),
    Setting("clip", None, "str", "Set values beyond to these bounds.", written="LOW,HIGH",
            panel=PREPARE),
    Setting("log2", False, "bool", "Take log2 after clipping.", text=bool, panel=PREPARE),
    Setting("top_variance", None, "int", "Keep this many features, of largest variance.", text=int,
            panel=PREPARE),
)  # fmt: skip
READING = (
    Setting("labels", None, "str", "Column of labels; empty or NA = unlabelled.", panel=READ,
            first=True),
    Setting("id", None, "str", "Column of ids. Default: row numbers, from 0.", panel=READ,
            first=True),
    Setting("features", (), "str", "Feature columns, separated by commas or given several times. "
            "Default: all numeric. For .npz and .h5ad: the array to use (X, a key of obsm or "
            "layers).", text=list, panel=READ, first=True),
    Setting("unlabelled", (), "str", "Labels that mean none, for example ? or unknown; separated "
            "by commas or given several times.", text=list, panel=READ),
    Setting("labels_file", None, "path", "A second file with labels (.csv, .tsv, .parquet, .npy): "
            "a table with a column of ids, or one label per row.", text=Path, panel=READ,
            first=True),
    Setting("edges", False, "bool", "The .tsv, .csv or .parquet, or the folder of .parquet parts, "
            "is a list of edges: id, id, weight.", text=bool, panel=READ),
    Setting("delimiter", None, "str", "What separates cells in DATA. Default: by the ending.",
            panel=READ),
    Setting("encoding", "utf-8", "str", "Of text files.", panel=READ),
    Setting("decimal", ".", "str", "Mark before the decimals of numbers: . or ,", panel=READ),
    Setting("missing", "error", "str", "Features without a value: error; median, of their column; "
            "drop, the rows.", panel=READ),
    Setting("neighbors", None, "str", "Of an .h5ad with several neighbour graphs: scanpy's "
            "key_added of the one to use.", panel=READ),
)  # fmt: skip


# A section of the classifier's docstring, from its second line on indented as in a class.
PARAMETERS = "\n".join(
    f"    {one.name} : {one.kind}, default {one.default!r}\n".replace("'", '"')
    + textwrap.fill(
        one.help, 100, initial_indent=8 * " ", subsequent_indent=8 * " ",
        break_long_words=False, break_on_hyphens=False,
    )
    for one in CLASSIFIER
).strip()  # fmt: skip


def complete(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the fit of a file, those that are given and the defaults of the others."""
    known = {s.name: s.default for s in (*CLASSIFIER, *PREPARING)} | {"random_state": 0}
    for name in given:
        if name not in known:
            raise InvalidInputError(f"there is no setting {name!r}: there are {', '.join(known)}")
    return {**known, **given}


def check(values: Mapping[str, Any]) -> None:
    """Refuse at once what is unknown or contradictory."""
    if values["method"] not in METHODS:
        raise InvalidInputError(
            f"method={values['method']!r} is unknown: use one of {', '.join(map(repr, METHODS))}"
        )
    own = None if is_open(values["energy"]) else make_energy(values["energy"])
    engine = make_engine(values["engine"])
    for name in ("tol", "max_seconds"):  # even where an exact answer would never look at them
        given = getattr(engine, name, None)
        if given is not None and not (is_number(given) and given > 0):
            raise InvalidInputError(f"{name}={given!r} of the engine is not a number > 0: raise it")
    if getattr(engine, "n_jobs", 1) == 0:
        raise InvalidInputError("n_jobs=0 would do nothing: give a number of threads, -1 for all")
    for setting in CLASSIFIER:
        value = values[setting.name]
        if setting.check is not None:
            setting.check(value)
        elif setting.between is not None and not (value is None and setting.default is None):
            low, high, meant = setting.between
            if not (is_number(value) and low <= value < high):
                raise InvalidInputError(f"{setting.name}={value!r} is not {meant}")
    strength = getattr(own, "label_strength", np.inf)
    noise = values["label_noise"]
    if noise and np.any(np.isfinite(np.asarray(strength, dtype=np.float64))):
        raise InvalidInputError(
            "label_noise and label_strength are two ways to say the same: give one of them"
        )
    if values["proportions"] is not None and (own is not None or values["method"] == "paper"):
        raise InvalidInputError(
            "proportions belong to the energy that is chosen for you: with an energy of your "
            "own, give them to that, as in energy=Modularity(proportions=[0.8, 0.2])"
        )
