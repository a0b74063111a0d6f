"""The figures in the paper's form, with the tables behind them. Shows results, computes none.

Colours follow the paper where it names them (MC black, GC red, LGC green); classes are those of
Okabe & Ito, distinguishable without full colour vision. SVG files carry no date and no random
names, so equal results are equal files.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.errors import MissingDependencyError
from spinlearn.model.arrays import BoolArray, IntArray
from spinlearn.reproduction.comparison import errors_by_panel, sampling_errors
from spinlearn.reproduction.runner import Cell
from spinlearn.viz.palette import COLOURS

CLASS_COLOURS = COLOURS[:4]
UNLABELLED_COLOUR = "#D9D9D9"
CONFUSED_COLOUR = "#1A1A1A"
METHODS = (  # key, name, colour, line
    ("information", "MC (ours, T*)", "#000000", "-"),
    ("cut", "GC", "#D55E00", "-"),
    ("lgc", "LGC", "#009E73", "-"),
    ("paper", "MC, paper's T* rule", "#7F7F7F", ":"),
    ("best", "MC, best T", "#0072B2", "--"),
)


def draw_panels(cells: list[Cell], out: Path, name: str, n_points: int) -> list[Path]:
    """Sorted misclassification curves, one panel per (q, M), and the table behind them."""
    panels, std_errors = errors_by_panel(cells), sampling_errors(cells)
    shapes = sorted({q for q, _ in panels})
    columns = max(len([1 for q, _ in panels if q == shape]) for shape in shapes)
    plt = pyplot()
    figure, axes = plt.subplots(
        len(shapes), columns, figsize=(3.4 * columns, 3.2 * len(shapes)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat:
        axis.set_visible(False)
    alone = [c["result"]["best"] for c in cells if c["settings"]["kind"] == "unsupervised"]
    for (q, m), errors in panels.items():
        column = sorted(k for p, k in panels if p == q).index(m)
        axis = axes[shapes.index(q), column]
        axis.set_visible(True)
        order = np.argsort(errors["information"], kind="stable")
        x = np.arange(1, len(order) + 1)
        for key, label, colour, line in METHODS:
            values = errors[key][order]
            weight = 1.6 if line == "-" else 1.0
            axis.plot(x, values, line, color=colour, linewidth=weight, label=label)
        if std_errors[q, m] > 0:
            values, reach = errors["information"][order], 2 * std_errors[q, m]
            axis.fill_between(
                x, np.maximum(values - reach, 0), values + reach, color="#000000", alpha=0.15,
                linewidth=0, label="± 2 s.e. of sampling",
            )  # fmt: skip
        unsure = ~errors["converged"][order]
        if np.any(unsure):
            points = errors["information"][order][unsure]
            axis.plot(x[unsure], points, "x", color="#000000", markersize=3, label="not converged")
        for value in alone:
            axis.axhline(value, color="#CC79A7", linewidth=0.8, linestyle="-.", label="no labels")
        for k, (key, label, colour, _) in enumerate(METHODS[:3]):
            values = errors[key]
            spread = values.std(ddof=1) if len(values) > 1 else 0.0
            text = f"{label.split()[0]}  μ = {values.mean():.1f} ± {spread:.1f}"
            axis.text(
                0.03, 0.97 - 0.075 * k, text, transform=axis.transAxes, va="top", fontsize=8,
                color=colour,
            )  # fmt: skip
        axis.set_title(f"q = {q}, M = {m}", fontsize=10)
        highest = max(float(errors[key].max()) for key, *_ in METHODS)
        axis.set_ylim(0, 1.4 * max(highest, *alone, 1))  # room for the means
        axis.xaxis.get_major_locator().set_params(integer=True)
        bare(axis)
        if column == 0:
            axis.set_ylabel(f"misclassified of {n_points}")
        if q == shapes[-1]:
            axis.set_xlabel("labelling (sorted)")
    lines: dict[str, Any] = {}
    for axis in axes.flat:
        handles, texts = axis.get_legend_handles_labels()
        lines.update(zip(texts, handles, strict=True))
    figure.legend(
        lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), frameon=False,
        fontsize=9,
    )  # fmt: skip
    files = save(figure, out / name)
    rows = [
        [q, m, k, *(int(errors[key][k]) for key, *_ in METHODS), std_errors[q, m]]
        for (q, m), errors in panels.items()
        for k in range(len(errors["information"]))
    ]
    header = ["q", "M", "labelling", *(key for key, *_ in METHODS), "sampling_se"]
    return [*files, write_csv(out / f"{name}.csv", header, rows)]


def pixel_panels(
    mask: BoolArray,
    panels: Sequence[tuple[str, npt.NDArray[np.integer]]],
    labels: IntArray,
    *,
    columns: int,
    panel_size: tuple[float, float] | None = None,
    fontsize: int = 9,
) -> Any:
    """Maps of the mask, (title, class per pixel), labels marked; -1 unlabelled, -2 confused."""
    plt = pyplot()
    from matplotlib.colors import ListedColormap

    colours = [CONFUSED_COLOUR, UNLABELLED_COLOUR, *CLASS_COLOURS]  # of -2, -1, 0, 1, ...
    rows = -(-len(panels) // columns)
    width, height = panel_size or (4.4, 4.4 * mask.shape[0] / mask.shape[1] + 0.4)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat:
        axis.set_axis_off()
    places = np.argwhere(mask)
    for axis, (title, values) in zip(axes.flat, panels, strict=False):
        image = np.full(mask.shape, np.nan)
        image[mask] = values
        axis.imshow(image, cmap=ListedColormap(colours), vmin=-2.5, vmax=len(colours) - 2.5)
        for state, (colour, marker) in enumerate(zip(CLASS_COLOURS, "osD^", strict=True)):
            row, column = places[labels == state].T
            axis.plot(column, row, marker, color=colour, markeredgecolor="white", markersize=6)
        axis.set_title(title, fontsize=fontsize, loc="left")
    return figure


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def save(figure: Any, stem: Path) -> list[Path]:
    plt = pyplot()
    files = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(files[0], dpi=150)
    figure.savefig(files[1], metadata={"Date": None})
    plt.close(figure)
    return files


def bare(axis: Any) -> None:
    """Two sides of a frame are enough."""
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def pyplot() -> Any:
    """matplotlib.pyplot, for files only."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError(
            "figures need matplotlib, which is not installed: pip install 'spinlearn[app]'"
        ) from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "spinlearn"  # ids in SVG files, else random
    import matplotlib.pyplot as plt

    return plt
