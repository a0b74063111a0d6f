"""History: the labels that a list of actions leaves, with undo and redo without end.

Everyone undoes what they did themselves, the last first; redo brings it back until they do
something else. Labels are always those that the actions that count leave, done in order, so that
one person's undo takes nothing of another's away.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.proposal import REJECT, Word
from spinlearn.errors import InvalidInputError


class History:
    """Labels by action.

    Parameters
    ----------
    ids : sequence of str
        Of the points.
    given : sequence of str or None
        Labels before the first action.
    """

    def __init__(self, ids: Sequence[str], given: Sequence[str | None]) -> None:
        self._place = {name: row for row, name in enumerate(ids)}
        self._ids, self._given = ids, tuple(given)
        self.labels: list[str | None] = list(given)
        self.last: dict[int, int] = {}  # row -> number of the action that labelled it
        self._actions: dict[int, Mapping[str, Any]] = {}
        self._off: set[int] = set()
        self._done: dict[str, list[int]] = defaultdict(list)
        self._undone: dict[str, list[int]] = defaultdict(list)

    @property
    def counts(self) -> Counter[str]:
        """Labels of every class."""
        return Counter(name for name in self.labels if name is not None)

    @property
    def rejected(self) -> tuple[Word, ...]:
        """Groups that are no class of their own, by the rejections that count."""
        return tuple(
            Word(REJECT, entry["group"], entry["class"], self._rows(entry["members"]),
                 self._rows(entry["points"]))
            for number, entry in self._actions.items()
            if entry["do"] == REJECT and number not in self._off
        )  # fmt: skip

    def take(self, entry: Mapping[str, Any]) -> None:
        """Go on by one entry of a log."""
        number, who, do = entry["n"], entry["who"], entry["do"]
        if do in ("undo", "redo"):
            of, back = entry["of"], do == "undo"
            source, target = (self._done, self._undone) if back else (self._undone, self._done)
            if of not in source[who]:
                raise InvalidInputError(f"action {of} of {who!r} cannot be {do}ne: it is not there")
            source[who].remove(of)
            target[who].append(of)
            (self._off.add if back else self._off.discard)(of)
            self._replay()
            return
        self._actions[number] = entry
        self._done[who].append(number)
        self._undone[who].clear()
        self._apply(number, entry)

    def undoable(self, who: str) -> int | None:
        """The action that this person's undo would take back."""
        return self._done[who][-1] if self._done[who] else None

    def redoable(self, who: str) -> int | None:
        """The action that this person's redo would bring back."""
        return self._undone[who][-1] if self._undone[who] else None

    def check(self, action: Mapping[str, Any]) -> None:
        """Refuse an action on points or classes that are not there."""
        named = (*action.get("points", ()), *action.get("members", ()))
        unknown = [name for name in named if name not in self._place]
        if unknown:
            raise InvalidInputError(f"there is no point {unknown[0]!r}: take one of the map")
        if action["do"] in ("rename", "merge") and action["class"] not in self.counts:
            raise InvalidInputError(f"there is no class {action['class']!r}: pick another")

    def action(self, number: int) -> Mapping[str, Any]:
        """One that was taken."""
        return self._actions[number]

    def _replay(self) -> None:
        self.labels = list(self._given)
        self.last = {}
        for number, entry in self._actions.items():
            if number not in self._off:
                self._apply(number, entry)

    def _apply(self, number: int, entry: Mapping[str, Any]) -> None:
        if entry["do"] in ("rename", "merge"):
            old, new = entry["class"], entry["to"]
            self.labels = [new if name == old else name for name in self.labels]
            return
        self._rows(entry.get("members", ()))  # are there
        for row in self._rows(entry["points"]).tolist():
            self.labels[row] = entry.get("class")
            self.last[row] = number

    def _rows(self, names: Sequence[str]) -> npt.NDArray[np.intp]:
        """Row numbers of points by their ids."""
        for name in names:
            if name not in self._place:
                raise InvalidInputError(f"the log labels {name!r}, which is not in the data")
        return np.array([self._place[name] for name in names], dtype=np.intp)
