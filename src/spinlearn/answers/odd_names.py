"""Names of classes that may be slips: words for nothing, two spellings of one name."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

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


def means_nothing(name: object) -> bool:
    """Whether a label reads like a word for no label."""
    return isinstance(name, str) and _sight(name).replace("_", "").replace("'", "") in NOTHING


def doubts(names: Iterable[str]) -> list[str]:
    """What is odd about the names of classes, in words; nothing is changed.

    Parameters
    ----------
    names : iterable of str
        Each once.
    """
    given = list(names)
    said = []
    turned = [name for name in given if name in TURNED]
    if turned:
        said.append(
            f"a class is named {turned[0]}, which looks like a missing label turned into text: "
            "mark unlabelled points with None, NaN or ''"
        )
    words = [name for name in given if name not in TURNED and means_nothing(name)]
    if words:
        said.append(
            f"a class is named {_listed(words)}, which reads like a word for no label, and is "
            "taken as a class: if it is none, mark unlabelled points with -1, None or NaN, or say "
            f"--unlabelled {words[0]!r} on the command line"
        )
    pairs = _same_to_the_eye(given)
    if pairs:
        more = f", and so are {len(pairs) - 1} more" if len(pairs) > 1 else ""
        said.append(
            f"the classes {pairs[0][0]!a} and {pairs[0][1]!a} are the same but for case, spaces or "
            f"how letters are coded{more}: they are taken as two classes; spell them alike if they "
            "are one"
        )
    return said


def _listed(names: list[str]) -> str:
    return " or ".join(map(repr, names[:3])) + (" ..." if len(names) > 3 else "")


def _same_to_the_eye(names: list[str]) -> list[tuple[str, str]]:
    """Pairs of names that a reader takes for one."""
    first: dict[str, str] = {}
    pairs = []
    for name in names:
        other = first.setdefault(_sight(name), name)
        if other != name:
            pairs.append((other, name))
    return pairs


def _sight(name: str) -> str:
    """A name without case, spaces, invisible characters and ways of coding the same letter."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in folded if not c.isspace() and unicodedata.category(c) != "Cf")
