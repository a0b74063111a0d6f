"""Names that could not be written, or not told apart once they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spinlearn.errors import InvalidInputError


def check_names(path: Path, what: str, names: Iterable[object]) -> None:
    """Refuse names with zero bytes, which many programs take for their end, and broken text.

    Parameters
    ----------
    path : Path
        The file that they are from.
    what : str
        What the names are of, for messages.
    names : iterable
        Those that are no text are not looked at.
    """
    for name in names:
        if not isinstance(name, str) or (name.isascii() and "\0" not in name):
            continue
        if "\0" in name:
            raise InvalidInputError(
                f"{path} has {what} {name!r}, which holds a zero byte: remove it there"
            )
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise InvalidInputError(
                f"{path} has {what} {name!r}, which is not text that could be written: correct it "
                "there, or name the encoding of the file"
            )
