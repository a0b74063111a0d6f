"""Names in tables for people, written so that a spreadsheet takes none of them for a formula.

A name that begins with = + - @, be it after blanks, tabs or line ends, and is no number gets an
apostrophe in front, as spreadsheets mark text. To undo it, take one apostrophe away where
apostrophes lead to such a beginning: a name that had apostrophes there before got one more, so that
no two names become one.
"""

from __future__ import annotations

import re

# The explorer writes the same characters: viz/page/table.js holds these two expressions again.
FORMULA = re.compile(r"'*[\x00-\x20]*[=+\-@][\s\S]")
NUMBER = re.compile(r"[\x00-\x20]*[+-]([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def safe_name(name: str) -> str:
    """A name as tables have it."""
    return f"'{name}" if FORMULA.match(name) and not NUMBER.fullmatch(name) else name


def plain_name(written: str) -> str:
    """The name that `safe_name` made this of."""
    return written[1:] if written.startswith("'") and FORMULA.match(written) else written
