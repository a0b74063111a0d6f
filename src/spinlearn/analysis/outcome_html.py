"""Outcomes of points as small tables for notebooks: how many have which status.

Axes: T temperatures, n points. Outcomes are coded as in `spinlearn.decision`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.html_table import html_table, shown_rows


def profile_html(
    temperatures: FloatArray,
    outcomes: IntArray,
    status: npt.NDArray[np.int8],
    n_classes: int,
    status_names: Sequence[str],
) -> str:
    """Counts by status, and the new classes, at some of the temperatures.

    Parameters
    ----------
    temperatures : float array (T,)
    outcomes, status : int arrays (T, n)
    n_classes : int
    status_names : sequence of str
        Name of every status, in order.
    """
    n_rows, n_points = outcomes.shape
    rows = []
    for k in shown_rows(n_rows):
        counts = np.bincount(status[k], minlength=len(status_names))
        _, sizes = np.unique(outcomes[k][outcomes[k] >= n_classes], return_counts=True)
        cells: list[object] = [f"{temperatures[k]:.4g}", *counts.tolist()]
        rows.append([*cells, len(sizes), int(sizes.max(initial=0))])
    title = f"{n_points} points, {n_classes} classes, " + (
        f"T = {temperatures[0]:.4g}" if n_rows == 1
        else f"{n_rows} temperatures {temperatures[0]:.4g} to {temperatures[-1]:.4g}"
    )  # fmt: skip
    return html_table(title, ["T", *status_names, "new classes", "largest"], rows)
