"""What the page is sent of an answer, and which points are on display."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spinlearn.core.arrays import IntArray
from spinlearn.labelling.advice import unnamed_groups
from spinlearn.labelling.loop import Loop, Shown
from spinlearn.viz.content import ExplorerContent, explorer_content
from spinlearn.viz.explorer import explorer_payload, packed, points_on_display
from spinlearn.viz.layout import Layout, layouts


class Display:
    """Points on display: a sample of the first answer, and whatever has to be seen since.

    Parameters
    ----------
    loop : Loop

    Attributes
    ----------
    rows : int array
        Row numbers of the points on display, ascending.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop, self._data = loop, loop.fitting.data
        self._places: tuple[Layout, ...] | None = None
        self._last: tuple[Shown, ExplorerContent] | None = None
        self.rows: IntArray = np.empty(0, dtype=np.int32)

    @property
    def mapped(self) -> bool:
        """Whether points have their places, which takes a while."""
        return self._places is not None

    def payload(self, shown: Shown, wanted: Sequence[int], facts: Mapping[str, Any]) -> bytes:
        """The answer and further facts as the page reads them.

        `wanted` points are on display from now on.
        """
        content = self._content(shown)
        unnamed = unnamed_groups(shown.answer)
        if len(self.rows) == 0:
            self.rows = points_on_display(content)
        central = [row for group in unnamed for row in group["points"]]
        also = np.array([*np.flatnonzero(shown.answer.labels >= 0), *wanted, *central], dtype=int)
        self.rows = np.union1d(self.rows, also).astype(np.int32)
        payload = explorer_payload(content, shown=self.rows)
        if self._data.colours is not None:
            payload["arrays"]["picture"] = packed(self._data.colours[self.rows])
        payload |= {**facts, "unnamed": unnamed}
        return json.dumps(payload, allow_nan=False, separators=(",", ":")).encode()

    def _content(self, shown: Shown) -> ExplorerContent:
        """Kept: the same answer is sent again where a further point is to be seen."""
        if self._last is None or self._last[0] is not shown:
            if self._places is None:
                self._places = self._layouts()
            data = self._data
            content = explorer_content(
                shown.answer, ids=data.ids, places=self._places, title=data.source.name
            )
            self._last = shown, content
        return self._last[1]

    def _layouts(self) -> tuple[Layout, ...]:
        training = self._loop.training
        data = self._data
        points = data.points if data.points is not None and data.points.shape[1] == 2 else None
        return layouts(
            training.graph,
            coordinates=None if data.pixels is not None else data.layout,
            pixels=data.pixels,
            points=training.points if points is None else points,
        )
