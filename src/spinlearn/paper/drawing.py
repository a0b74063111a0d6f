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

from spinlearn.core.arrays import BoolArray, IntArray
from spinlearn.errors import MissingDependencyError
from spinlearn.paper.fig2_curves import SampledCounts
from spinlearn.paper.panels import errors_by_panel, sampling_errors
from spinlearn.paper.runner import Cell
from spinlearn.paper.yeast_curves import YeastCurves

CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
UNLABELLED_COLOUR = "#D9D9D9"
CONFUSED_COLOUR = "#1A1A1A"
PHASE_COLOURS = {
    "ferromagnetic": "#9DC3E6",
    "super-paramagnetic": "#8FD3B6",
    "paramagnetic": "#F2C6A8",
}
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
    plt = _pyplot()
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
                0.03,
                0.97 - 0.075 * k,
                text,
                transform=axis.transAxes,
                va="top",
                fontsize=8,
                color=colour,
            )
        axis.set_title(f"q = {q}, M = {m}", fontsize=10)
        highest = max(float(errors[key].max()) for key, *_ in METHODS)
        axis.set_ylim(0, 1.4 * max(highest, *alone, 1))  # room for the means
        axis.xaxis.get_major_locator().set_params(integer=True)
        _bare(axis)
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
    files = _save(figure, out / name)
    rows = [
        [q, m, k, *(int(errors[key][k]) for key, *_ in METHODS), std_errors[q, m]]
        for (q, m), errors in panels.items()
        for k in range(len(errors["information"]))
    ]
    header = ["q", "M", "labelling", *(key for key, *_ in METHODS), "sampling_se"]
    return [*files, write_csv(out / f"{name}.csv", header, rows)]


def temperature_curves(curves: dict[str, Any], counts: SampledCounts, stem: Path) -> list[Path]:
    """Figure 2: errors against T, the phases with and without labels above."""
    plt = _pyplot()
    figure, (strip, axis) = plt.subplots(
        2, 1, figsize=(7, 4.8), sharex=True, height_ratios=(1, 7), layout="constrained"
    )
    n_points = curves["n_points"]
    for height, name in enumerate(("exact US", "exact SS")):
        for interval in curves[name]["phases"]:
            low, high = interval["low"], interval["high"]
            colour = PHASE_COLOURS[interval["phase"]]
            strip.barh(height, high - low, left=low, height=0.8, color=colour)
    strip.set_yticks([0, 1], ["US", "SS"], fontsize=8)
    strip.tick_params(length=0)
    strip.set_frame_on(False)
    patches = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in PHASE_COLOURS.values()]
    strip.legend(
        patches, list(PHASE_COLOURS), ncols=3, fontsize=8, frameon=False,
        loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0,
    )  # fmt: skip
    us, ss, mc = curves["exact US"], curves["exact SS"], curves["MC"]
    axis.plot(us["temperatures"], us["errors"], "-", color="#0072B2", label="exact US")
    axis.plot(ss["temperatures"], ss["errors"], "-", color="#000000", label="exact SS")
    bars = [counts.errors - counts.low, counts.high - counts.errors]
    axis.errorbar(
        counts.temperatures, counts.errors, yerr=bars, fmt="o", color="#D55E00", markersize=4,
        capsize=2, label=f"MC, {mc['n_chains']} runs ± 2 s.e. of all averages",
    )  # fmt: skip
    unsure = ~np.array(mc["converged"], dtype=bool)
    if np.any(unsure):
        at = np.array(mc["temperatures"])[unsure]
        axis.plot(at, counts.errors[unsure], "x", color="#000000", label="not converged")
    axis.axvline(
        ss["information"], color="#666666", linestyle=":", label=f"T* = {ss['information']:g}"
    )
    axis.set_xlabel("temperature T, in units of the coupling")
    axis.set_ylabel(f"misclassified points of {n_points}")
    axis.set_xlim(0, max(us["temperatures"]))
    axis.set_ylim(0, n_points)
    axis.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.2))
    _bare(axis)
    return _save(figure, stem)


def success_curve(curves: YeastCurves, stem: Path) -> list[Path]:
    """Yeast: mean success over the five classes against T, on all genes and on those considered."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(7, 4.4), layout="constrained")
    temperatures = curves.temperatures
    ours = (
        (curves.success, "ours, new classes are errors", "#000000", "-", "o"),
        (curves.considered, "ours, new classes left out", "#0072B2", "-", "s"),
        (curves.argmax, "ours, largest marginal alone", "#7F7F7F", ":", "^"),
    )
    for line, label, colour, style, marker in ours:
        bars = np.nan_to_num(2 * line.std_error)
        axis.errorbar(
            temperatures, 100 * line.value, yerr=100 * bars, fmt=marker + style, color=colour,
            markersize=4, capsize=2, linewidth=1.2, label=label,
        )  # fmt: skip
    unsure = ~curves.converged
    if np.any(unsure):
        axis.plot(
            temperatures[unsure], 100 * curves.success.value[unsure], "o", color="#000000",
            markersize=4, markerfacecolor="white", zorder=5, label="some marginal above tolerance",
        )  # fmt: skip
    axis.axhline(100 * curves.cut, color="#D55E00", label="GC")
    same = 100 * curves.considered_cut.value
    axis.plot(temperatures, same, "--", color="#D55E00", label="GC, the same genes left out")
    axis.axhline(100 * curves.lgc, color="#009E73", label="LGC")
    for row, name, style in ((curves.row, "T*", "-."), (curves.paper_row, "paper's T*", ":")):
        chosen = temperatures[row]
        text = f"{name} = {chosen:g}"
        axis.axvline(chosen, color="#666666", linestyle=style, linewidth=0.9, label=text)
    axis.set_xlabel("temperature T, in units of the largest similarity")
    axis.set_ylabel("success, mean over 5 phases (%)")
    axis.set_ylim(bottom=0)
    axis.set_title(f"mean of {curves.n_runs} runs ± 2 standard errors", fontsize=9, loc="left")
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    _bare(axis)
    return _save(figure, stem)


def pixel_panels(
    mask: BoolArray,
    panels: list[tuple[str, IntArray]],
    labels: IntArray,
    stem: Path,
    *,
    columns: int,
) -> list[Path]:
    """One map of the mask per panel: (title, class per pixel; -1 unlabelled, -2 confused)."""
    plt = _pyplot()
    from matplotlib.colors import ListedColormap

    colours = [CONFUSED_COLOUR, UNLABELLED_COLOUR, *CLASS_COLOURS]  # of -2, -1, 0, 1, ...
    rows = -(-len(panels) // columns)
    height = 4.4 * mask.shape[0] / mask.shape[1] + 0.4
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.4 * columns, height * rows), squeeze=False, layout="constrained"
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
        axis.set_title(title, fontsize=9, loc="left")
    return _save(figure, stem)


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """A table with a header line."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def _save(figure: Any, stem: Path) -> list[Path]:
    plt = _pyplot()
    files = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(files[0], dpi=150)
    figure.savefig(files[1], metadata={"Date": None})
    plt.close(figure)
    return files


def _bare(axis: Any) -> None:
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _pyplot() -> Any:
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
