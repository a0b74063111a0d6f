"""Cells of figures 4, 5, gathered by panel (q, M)."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.paper.comparison import TEMPERATURE_RULES
from spinlearn.paper.runner import Cell

RULES = (*TEMPERATURE_RULES, "best")  # ours at T* by each rule, and at the best T


def results_by_panel(cells: list[Cell]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Results of the labellings, first runs only, by (q, M) in ascending order."""
    panels: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for cell in cells:
        settings = cell["settings"]
        if settings["kind"] == "labelling" and settings.get("twin", 0) == 0:
            panels.setdefault((settings["q"], settings["M"]), []).append(cell["result"])
    return dict(sorted(panels.items()))


def errors_by_panel(cells: list[Cell]) -> dict[tuple[int, int], dict[str, Any]]:
    """Arrays of errors, one entry per labelling, of every method and rule."""
    found = {}
    for panel, results in results_by_panel(cells).items():
        errors: dict[str, Any] = {
            rule: np.array([r["errors"][r["rows"][rule]] for r in results]) for rule in RULES
        }
        errors["cut"] = np.array([r["cut"] for r in results])
        errors["lgc"] = np.array([r["lgc"] for r in results])
        errors["converged"] = np.array([r["converged"][r["rows"]["information"]] for r in results])
        found[panel] = errors
    return found


def twin_differences(cells: list[Cell]) -> dict[tuple[int, int], list[int]]:
    """|errors of a run - errors of its twin| at T*, by (q, M) of the panels that have twins."""
    runs: dict[tuple[int, int, int], list[int]] = {}
    for cell in cells:
        settings, result = cell["settings"], cell["result"]
        if settings["kind"] == "labelling" and "twin" in settings:
            key = (settings["q"], settings["M"], settings["labelling"])
            runs.setdefault(key, []).append(result["errors"][result["rows"]["information"]])
    found: dict[tuple[int, int], list[int]] = {}
    for (q, m, _), pair in runs.items():
        if len(pair) == 2:
            found.setdefault((q, m), []).append(abs(pair[0] - pair[1]))
    return found


def sampling_errors(cells: list[Cell]) -> dict[tuple[int, int], float]:
    """Standard error of one plotted count, by (q, M): rms difference of twins / √2.

    0 for an exact panel, nan for a sampled one without twins.
    """
    twins, found = twin_differences(cells), {}
    for panel, results in results_by_panel(cells).items():
        exact = all(r["worst_std_error"] == 0 for r in results)
        found[panel] = 0.0 if exact else np.nan
        if panel in twins:
            found[panel] = float(np.sqrt(np.mean(np.square(twins[panel])) / 2))
    return found


def unsupervised_errors(cells: list[Cell]) -> int | None:
    """Errors without labels at the best temperature, if that cell is there."""
    found = [c["result"]["best"] for c in cells if c["settings"]["kind"] == "unsupervised"]
    return int(found[0]) if found else None
