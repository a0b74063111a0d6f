"""Finds points by their ids, whether they are on display or not."""

from __future__ import annotations

from collections.abc import Sequence

MOST_FOUND = 12


class Finder:
    """Ids of all points, without regard to upper and lower case.

    Parameters
    ----------
    ids : sequence of str
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = [name.lower() for name in ids]

    def rows(self, text: str, most: int = MOST_FOUND) -> list[int]:
        """Row numbers: the id itself first, then ids that begin with the text, then that hold it.

        As `search.js` does it among the points on display.
        """
        wanted = text.strip().lower()
        if not wanted:
            return []
        exact: list[int] = []
        first: list[int] = []
        later: list[int] = []
        for row, name in enumerate(self._ids):
            if wanted not in name:
                continue
            if name == wanted:
                exact.append(row)
            elif name.startswith(wanted):
                if len(first) < most:
                    first.append(row)
            elif len(later) < most:
                later.append(row)
        return [*exact, *first, *later][:most]
