"""Sphinx extension: a public constant is described by the string below its assignment.

Sphinx looks for that string in the module that is documented; constants that a package imports from
one of its files have it there. Needs this folder on `sys.path` and `"constant_texts"` among the
extensions.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.public_names import constant_text

BEFORE_NUMPYDOC = 100  # its own priority is 500


def describe(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Put the text of a constant in place of the docstring of its type."""
    if what == "data":
        module, _, constant = name.rpartition(".")
        text = constant_text(importlib.import_module(module), constant)
        if text is not None:
            lines[:] = [*text.splitlines(), ""]


def setup(app: Any) -> dict[str, Any]:
    """Connect to autodoc."""
    app.setup_extension("sphinx.ext.autodoc")  # which knows the event
    app.connect("autodoc-process-docstring", describe, priority=BEFORE_NUMPYDOC)
    return {"parallel_read_safe": True}
