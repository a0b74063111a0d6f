"""The figures of the demo: pixel maps of a classification, error against temperature.

Colours are those of Okabe & Ito, distinguishable without full colour vision.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray, IntArray
from spinlearn.errors import MissingDependencyError
from spinlearn.viz.palette import COLOURS

CLASS_COLOURS = COLOURS[:4]
UNLABELLED_COLOUR = "#D9D9D9"
CONFUSED_COLOUR = "#1A1A1A"


def pixel_maps(
    mask: BoolArray,
    panels: list[tuple[str, npt.NDArray[np.integer]]],
    labels: IntArray,
    path: Path,
) -> None:
    """One map of the mask per panel: (title, class per pixel; -1 unlabelled, -2 no class).

    Labelled pixels are marked in every panel.
    """
    plt = _pyplot()
    from matplotlib.colors import ListedColormap

    colours = [CONFUSED_COLOUR, UNLABELLED_COLOUR, *CLASS_COLOURS]  # of -2, -1, 0, 1, ...
    columns = 2
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(10, 2.4 * rows), layout="constrained")
    places = np.argwhere(mask)
    for axis, (title, values) in zip(axes.flat, panels, strict=True):
        image = np.full(mask.shape, np.nan)
        image[mask] = values
        axis.imshow(image, cmap=ListedColormap(colours), vmin=-2.5, vmax=len(colours) - 2.5)
        for state, (colour, marker) in enumerate(zip(CLASS_COLOURS, "osD^", strict=True)):
            row, column = places[labels == state].T
            axis.plot(column, row, marker, color=colour, markeredgecolor="white", markersize=6)
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def error_curves(
    temperatures: FloatArray,
    curves: list[tuple[str, npt.NDArray[np.integer]]],
    n_points: int,
    recommended: float,
    path: Path,
) -> None:
    """Misclassified points against temperature, the paper's figure 2."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for (name, errors), colour, marker in zip(curves, ("#0072B2", "#D55E00"), "os", strict=False):
        axis.plot(temperatures, errors, marker + "-", color=colour, label=name, markersize=4)
    axis.axvline(recommended, color="#666666", linestyle=":", label=f"T* = {recommended:g}")
    axis.set_xlabel("temperature T, in units of the coupling")
    axis.set_ylabel(f"misclassified points of {n_points}")
    axis.set_ylim(0, 1.02 * n_points)
    axis.legend(frameon=False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError(
            "pictures need matplotlib, which is not installed: pip install 'spinlearn[app]'"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
