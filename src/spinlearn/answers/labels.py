"""Labels as users write them: parsed, named, and names that look like a mistake.

Unlabelled is -1 (scikit-learn's convention), None, NaN, pandas' NA, and for text also "". The text
"-1" is so too, unless "1" is a label and other points are empty: then it is a class. In files words
for nothing (NA, nan, null ...) and what the user says mean no label too.

The outcome of a point is one integer: 0 .. n_classes-1 a named class, n_classes + k the new class
number k + 1, -1 - k the k-th set of classes between which a point is undecided. The empty set is
the *outlier*, of which nothing is known. Outcomes are written in the kind of the labels given:

- whole-number labels: a class keeps its number; *confused*, *outlier* and *unknown* are -1; the new
  classes are the next free negative numbers, -2, -3, ... (or below the smallest label, if that is
  lower);
- text and everything else: 'new:1', 'new:2', ..., 'confused:A|B', 'outlier', 'unknown'.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import InvalidInputError, LabelWarning
from spinlearn.model.arrays import IntArray

UNKNOWN = np.iinfo(np.int32).min  # outcome of an unseen point that resembles no training point
UNDECIDED = -1  # in place of a whole-number label
OUTLIER = "outlier"
RESERVED = re.compile(rf"new:\d+|confused:.*\|.*|{OUTLIER}", re.DOTALL)

Classes = Sequence[object] | npt.NDArray[Any]
ConfusedSets = Sequence[tuple[int, ...]]


def outcome_name(outcome: int, classes: Classes, confused_sets: ConfusedSets) -> str:
    """An outcome in words: a class, or for instance ``new:1``, ``confused:A|B`` or ``outlier``.

    Parameters
    ----------
    outcome : int
    classes : sequence
        Names of the classes.
    confused_sets : sequence of tuples of int
        As in `Decision`, like the outcome.

    Returns
    -------
    str

    Examples
    --------
    >>> from spinlearn.answers import outcome_name
    >>> [outcome_name(k, ["A", "B"], [(0, 1), ()]) for k in (1, 2, -1, -2)]
    ['B', 'new:1', 'confused:A|B', 'outlier']
    """
    if outcome == UNKNOWN:
        return "unknown"
    if outcome < 0:
        between = confused_sets[-1 - outcome]
        if not between:
            return OUTLIER
        open_to = [str(classes[c]) for c in between]
        if len(open_to) == 1:  # a named class and a new one
            open_to.append("new")
        return "confused:" + "|".join(open_to)
    if outcome < len(classes):
        return str(classes[outcome])
    return f"new:{outcome - len(classes) + 1}"


def outcome_names(
    outcomes: IntArray, classes: Classes, confused_sets: ConfusedSets
) -> npt.NDArray[np.object_]:
    """Names of many outcomes, each text made once."""
    values, inverse = np.unique(outcomes, return_inverse=True)
    names = [outcome_name(int(v), classes, confused_sets) for v in values]
    return np.array(names, dtype=object)[inverse]


def encode_outcomes(
    outcomes: IntArray, classes: npt.NDArray[Any], confused_sets: ConfusedSets
) -> npt.NDArray[Any]:
    """Outcomes as labels of the user's kind."""
    n_classes = len(classes)
    if classes.dtype.kind in "iu":
        first_new = min(UNDECIDED, int(classes.min(initial=0))) - 1
        named = (outcomes >= 0) & (outcomes < n_classes)
        new = outcomes.astype(np.int64) - n_classes
        labels = np.where(new >= 0, first_new - new, UNDECIDED)
        labels[named] = classes[outcomes[named]]
        return labels
    values, inverse = np.unique(outcomes, return_inverse=True)
    if np.all((values >= 0) & (values < n_classes)):
        return classes[outcomes]  # nothing but named classes: keep their dtype
    names = np.empty(len(values), dtype=object)
    for k, value in enumerate(values.tolist()):
        if 0 <= value < n_classes:
            label = classes[value]
            names[k] = label.item() if isinstance(label, (np.character, np.bool_)) else label
        else:
            names[k] = outcome_name(value, classes, confused_sets)
    return names[inverse]


TURNED = ("nan", "NaN", "<NA>")  # what becomes of missing values that are turned into text
# Written where there is no label, in small letters without spaces. All are names too: nobody but
# the user can tell.
NOTHING = {
    "", "?", "??", "???", "-", "--", "---", ".", "...", "-1.0", "-1.",
    "na", "n/a", "n.a.", "nan", "null", "nil", "none", "<na>", "#n/a", "#na",
    "unknown", "unlabelled", "unlabeled", "notlabelled", "notlabeled", "nolabel", "undefined",
    "unassigned", "notassigned", "unclassified", "unspecified", "undetermined", "unannotated",
    "notannotated", "missing", "notavailable", "notknown", "dontknow", "tbd", "tba", "todo",
}  # fmt: skip


FEW = 2  # labels of a class whose name may be a slip of the pen for that of one with more
SHORT, LONG = 4, 6  # letters of words that may hold one wrong letter, and two


def means_nothing(name: object) -> bool:
    """Whether a label reads like a word for no label."""
    return isinstance(name, str) and _sight(name).replace("_", "").replace("'", "") in NOTHING


def doubts(counts: Mapping[str, int]) -> list[str]:
    """What is odd about the names of classes, in words; nothing is changed.

    `counts` are the labels of every class.
    """
    first: dict[str, str] = {}
    turned: list[str] = []
    words: list[str] = []
    pairs, notes = [], []
    for name in sorted(counts):
        if name in TURNED:
            turned.append(name)
        elif means_nothing(name):
            words.append(name)
        if first.setdefault(_sight(name), name) != name:
            pairs.append((first[_sight(name)], name))  # that a reader takes for one
    if turned:
        notes.append(
            f"a class is named {turned[0]}, which looks like a missing label turned into text: "
            "mark unlabelled points with None, NaN or ''"
        )
    if words:
        listed = " or ".join(map(repr, words[:3])) + (" ..." if len(words) > 3 else "")
        notes.append(
            f"a class is named {listed}, which reads like a word for no label, and is "
            "taken as a class: if it is none, mark unlabelled points with -1, None or NaN, or say "
            f"--unlabelled {words[0]!r} on the command line"
        )
    if pairs:
        more = f", and so are {len(pairs) - 1} more" if len(pairs) > 1 else ""
        notes.append(
            f"the classes {pairs[0][0]!a} and {pairs[0][1]!a} are the same but for case, spaces or "
            f"how letters are coded{more}: they are taken as two classes; spell them alike if they "
            "are one"
        )
    misspelt = _misspelt(counts)
    if misspelt:
        (rare, common), n_more = misspelt[0], len(misspelt) - 1
        more = f", and so are {n_more} more" if n_more else ""
        notes.append(
            f"the class {rare!a}, of {counts[rare]}, is within a letter or two of {common!a}, of "
            f"{counts[common]}{more}: is it a slip of the pen? They are taken as two classes; "
            "correct the labels if they are one"
        )
    return notes


def _misspelt(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Rare names, each with a more frequent one that it may have been meant to be.

    Numbers and short words are names of their own: 'B cell' and 'T cell', 'type 1' and 'type 2'.
    """
    words = {name: name.casefold().split() for name in counts}
    large = sorted((name for name in counts if counts[name] > FEW), key=lambda n: (-counts[n], n))
    pairs = []
    for rare in sorted(name for name in counts if counts[name] <= FEW):
        for common in large:
            if len(words[rare]) != len(words[common]):
                continue
            apart = [
                both for both in zip(words[rare], words[common], strict=True) if both[0] != both[1]
            ]
            if len(apart) == 1 and _may_be_a_slip(*apart[0]):
                pairs.append((rare, common))
                break
    return pairs


def _may_be_a_slip(word: str, other: str) -> bool:
    shorter = min(len(word), len(other))
    most = 2 if shorter >= LONG else 1
    able = shorter >= SHORT and abs(len(word) - len(other)) <= most
    letters = re.sub(r"[\W\d_]", "", word + other)
    return able and len(letters) == len(word) + len(other) and _within(word, other, most)


def _within(word: str, other: str, most: int) -> bool:
    """Whether at most so many letters were left out, added, changed or swapped with the next."""
    pairs = enumerate(zip(word, other, strict=False))
    same = next((k for k, (one, two) in pairs if one != two), min(len(word), len(other)))
    a, b = word[same:], other[same:]
    if not a or not b:
        return len(a) + len(b) <= most
    if most == 0:
        return False
    swapped = a[:2] == b[1::-1] and _within(a[2:], b[2:], most - 1)
    ways = ((a[1:], b), (a, b[1:]), (a[1:], b[1:]))
    return swapped or any(_within(*way, most - 1) for way in ways)


def _sight(name: str) -> str:
    """A name without case, spaces, invisible characters and ways of coding the same letter."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in folded if not c.isspace() and unicodedata.category(c) != "Cf")


UNLABELLED = -1
MINUS_ONE = (
    "the label '-1' is taken as a class, because '1' is one and other points have no label at all: "
    "leave those cells empty too if it marks points without a label"
)
LARGEST = 2**63 - 2**32  # of a whole-number label; new classes are numbered below the smallest
TOO_LARGE = f"y holds whole numbers beyond {LARGEST} in size: give smaller ones, or text"
ONE_EACH = "give one whole number or one text per point, for instance 'a/1' for ('a', 1)"
# Cells of files that hold nothing; a spreadsheet that looks up a label in vain writes #N/A.
MISSING = ("", "na", "n/a", "nan", "null", "none", "<na>", "#n/a", "#na")
# 007 and 1e3 are names; pandas writes whole numbers with a gap among them as 1.0.
KINDS: dict[str, Any] = {
    "truth value": (bool, np.bool_),
    "number": (int, float, complex, np.number),
    "text": str,
}
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,14})(\.0+)?")


@dataclass(frozen=True, slots=True, eq=False)
class LabelCode:
    """The named classes (sorted) and the state, 0 .. k-1 or -1, of every point."""

    classes: npt.NDArray[Any]
    states: IntArray


def parse_labels(y: Any, n_points: int) -> LabelCode:
    """Check y and split it into classes and states."""
    values = as_array(y)
    if values.shape != (n_points,):
        raise InvalidInputError(
            f"y has shape {values.shape}, but there are {n_points} points: give one label per "
            "point, -1 where there is none"
        )
    kind = values.dtype.kind
    known = np.ones(n_points, dtype=bool)
    if kind in "iuf":
        known = ~np.asarray((values == UNLABELLED) | (values != values))  # nan is not itself
    elif kind in "US":
        known = np.asarray(values != np.zeros((), dtype=values.dtype))
    elif kind in "mM":
        known = ~np.isnat(values)
    elif kind == "O":
        known = ~np.array([_is_nothing(value) for value in values], dtype=bool)
    given = values[known]
    if given.dtype.kind in "OUS":
        texts = [v.decode("latin-1") if isinstance(v, bytes) else v for v in given]
        minus = np.array([isinstance(v, str) and v == "-1" for v in texts], dtype=bool)
        plus = any(isinstance(v, str) and v in ("1", "+1") for v in texts)
        if np.any(minus) and plus and len(given) < n_points:
            warnings.warn(MINUS_ONE, LabelWarning, stacklevel=3)
        else:
            known[np.flatnonzero(known)[minus]] = False
            given = given[~minus]
    given = _of_one_kind(given) if len(given) else np.empty(0, dtype=np.int64)
    classes, codes = np.unique(given, return_inverse=True)
    if classes.dtype.kind == "U":
        counts = dict(zip(classes.tolist(), np.bincount(codes).tolist(), strict=True))
        for doubt in doubts(counts):
            warnings.warn(doubt, LabelWarning, stacklevel=3)
    for name in map(str, classes):
        if RESERVED.fullmatch(name):  # a name of calls, which could not be told from them
            raise InvalidInputError(
                f"a label is {name!r}, which is how spinlearn names new classes (new:1), confused "
                f"points (confused:A|B) or single odd ones ({OUTLIER}): rename that class, or "
                "leave its points unlabelled"
            )
    states = np.full(n_points, UNLABELLED, dtype=np.int32)
    states[known] = codes
    return LabelCode(classes, states)


def as_array(y: Any) -> npt.NDArray[Any]:
    """y as an array, without NumPy's conversions that lose what the caller wrote.

    It makes text of ['a', nan] and [1, 'a'], floats of pandas' integers with gaps, forgets masks.
    """
    if isinstance(y, np.ma.MaskedArray):
        unmasked: npt.NDArray[Any] = y.data.astype(object)
        unmasked[np.ma.getmaskarray(y)] = None
        return unmasked
    foreign = hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype)
    try:
        values = np.asarray(y, dtype=object if foreign or isinstance(y, (list, tuple)) else None)
    except ValueError as error:  # sequences of different length
        raise InvalidInputError(f"y holds sequences ({error}): {ONE_EACH}") from error
    return values.astype(object) if values.dtype.kind == "T" else values


def _is_nothing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return True
    return value == "" if isinstance(value, str) else (
        isinstance(value, (int, float, np.number)) and bool(value == UNLABELLED)
    )  # fmt: skip


def _of_one_kind(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels in the dtype of their kind, numbers as whole ones; what names no class is refused."""
    objects = given.dtype == object
    if objects:
        names = {
            next((name for name, kind in KINDS.items() if isinstance(v, kind)), type(v).__name__)
            for v in given
        }
        if len(names) > 1:
            raise InvalidInputError(
                f"y mixes labels of different kinds ({', '.join(sorted(names))}): "
                "give all as text or all as whole numbers"
            )
        (kind,) = names
        if any(isinstance(v, (tuple, list, np.ndarray)) for v in given):
            raise InvalidInputError(f"y holds labels of type {kind}: {ONE_EACH}")
        if kind == "text":
            return given.astype(np.str_)
        if kind == "truth value":
            return given.astype(np.bool_)
        if kind == "number":
            given = np.array(given.tolist())
            if given.dtype == object:  # beyond 64 bits
                raise InvalidInputError(TOO_LARGE)
        else:
            try:
                np.unique(given)
                hash(tuple(given))
            except TypeError as error:
                raise InvalidInputError(
                    f"labels of type {kind} cannot be told apart and sorted ({error}): give "
                    "whole numbers or text"
                ) from error
    if given.dtype.kind not in "iufc":
        return given
    if np.any(np.isinf(given)):
        raise InvalidInputError(
            "Input y contains infinity: labels are whole numbers or text, -1 or NaN where "
            "there is none"
        )
    if np.iscomplexobj(given) or np.any(given != np.rint(given)):
        raise InvalidInputError(
            "Unknown label type: y holds fractional or complex numbers, but labels are classes; "
            "give whole numbers or text"
        )
    if np.any((given > LARGEST) | (given < -LARGEST)):
        raise InvalidInputError(TOO_LARGE)
    return given.astype(np.int64) if objects or given.dtype.kind == "f" else given


def is_missing(cell: str) -> bool:
    """Whether a cell of a file says that there is nothing."""
    return cell.strip().lower() in MISSING


def clean_labels(
    cells: Sequence[Any], unlabelled: Sequence[str] = (), source: str = "the labels"
) -> npt.NDArray[np.object_]:
    """Text, or whole numbers if all are; None where `unlabelled`. Errors name the `source`."""
    labels = np.full(len(cells), None, dtype=object)
    for k, cell in enumerate(cells):
        if isinstance(cell, (float, np.floating)) and np.isinf(cell):
            raise InvalidInputError(
                f"{source}: the label in row {k} (from 0) is infinite, which names no class: leave "
                "it empty if there is none"
            )
        if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
            continue
        text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
        text = text.strip()
        labels[k] = None if is_missing(text) or text in unlabelled else text
    given = [v for v in labels if v is not None]
    if "-1" in given and len(given) < len(labels) and {"1", "+1"} & set(given):
        return labels  # then it is a class
    if all(WHOLE.fullmatch(v) for v in given):
        for k, value in enumerate(labels):
            whole = None if value is None else int(value.partition(".")[0])
            labels[k] = None if whole == -1 or str(whole) in unlabelled else whole
    labels[[v == "-1" for v in labels]] = None
    return labels
