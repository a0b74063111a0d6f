"""Columns of a few words, as columns of 0 and 1 (one-hot)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.io.cells import is_empty

MOST = 200  # categories of a column
MOST_LIKELY = 20  # of one that somebody may want to use
ROWS_EACH = 3  # that a category stands for, on average


def categories(cells: Sequence[Any]) -> list[str] | None:
    """The words of a column, sorted; None if it holds anything but words."""
    given = [cell for cell in cells if not is_empty(cell)]
    if not all(isinstance(cell, str) for cell in given):
        return None
    return sorted({cell.strip() for cell in given})


def are_few(words: Sequence[str], n_rows: int) -> bool:
    """Whether words are categories, and not names or remarks."""
    return 2 <= len(words) <= MOST_LIKELY and n_rows >= ROWS_EACH * len(words)


def one_hot(name: str, cells: Sequence[Any], words: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """A column of 0 and 1 per word, NaN where a cell is empty, and their names.

    Of two words the second alone has one: the other would say the same again.
    """
    shown = words[1:] if len(words) == 2 else words
    place = {word: k for k, word in enumerate(shown)}
    points = np.zeros((len(cells), len(shown)))
    for row, cell in enumerate(cells):
        if is_empty(cell):
            points[row] = np.nan
        elif cell.strip() in place:
            points[row, place[cell.strip()]] = 1.0
    return points, [f"{name}={word}" for word in shown]
