"""Names of classes that people type: short, plain, and the same once written and read again."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from spinlearn.answers.labels import clean_labels
from spinlearn.answers.names import RESERVED
from spinlearn.answers.spreadsheet import safe_name
from spinlearn.errors import InvalidInputError

LONGEST = 200  # letters


def checked_class(name: object, unlabelled: Sequence[str] = ()) -> str:
    """A name for a class, refused where a table could not hold it.

    Parameters
    ----------
    name : object
        What was typed.
    unlabelled : sequence of str
        Words that mean "no label" in this data.
    """
    if not isinstance(name, str):
        raise InvalidInputError("the name of a class must be text: type one")
    text = " ".join(name.split())
    if not text:
        raise InvalidInputError("the class has no name: type one")
    if len(text) > LONGEST:
        raise InvalidInputError(f"the name has {len(text)} letters: at most {LONGEST} are kept")
    if not text.isprintable():
        raise InvalidInputError("the name holds signs that cannot be printed: type another")
    if RESERVED.fullmatch(text):
        raise InvalidInputError(f"{text!r} is how calls without a class are named: type another")
    if safe_name(text) != text:
        raise InvalidInputError(f"a spreadsheet would run {text!r} as a formula: type another")
    if clean_labels([text], unlabelled, "the page")[0] is None:
        raise InvalidInputError(f"{text!r} means that there is no label: type another")
    return text


def as_known(name: str, known: Iterable[str]) -> str:
    """The known class that looks the same as a name, or else the name.

    Letters with accents can be written in two ways, and a file may have two blanks where a page
    shows one.
    """
    return {_look(other): other for other in known}.get(_look(name), name)


def _look(name: str) -> str:
    return unicodedata.normalize("NFC", " ".join(name.split()))
