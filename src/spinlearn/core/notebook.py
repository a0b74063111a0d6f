"""How a notebook shows our types: the drawing lives in `spinlearn.viz`, which is loaded on use."""

from __future__ import annotations

from importlib import import_module


class NotebookTable:
    """For types of the lower layers, which know no HTML: `spinlearn.viz.notebook` draws them."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(import_module("spinlearn.viz.notebook").as_html(self))
