"""How a notebook shows our types: the package tells on import who draws them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, ClassVar


class NotebookTable:
    """For types of the lower layers, which know no HTML."""

    __slots__ = ()
    _draw: ClassVar[Callable[[Any], str]] = lambda value: f"<pre>{escape(repr(value))}</pre>"

    def _repr_html_(self) -> str:
        return NotebookTable._draw(self)
