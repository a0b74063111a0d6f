"""Cells of figures 4 and 5, gathered by panel (q, M)."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinlearn.paper.runner import Cell

RULES = ("auto", "stability", "best")  # ours at T* by our rule, by the paper's, at the best T


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
        errors["converged"] = np.array([r["converged"][r["rows"]["auto"]] for r in results])
        found[panel] = errors
    return found


def twin_differences(cells: list[Cell]) -> list[int]:
    """|errors of a run - errors of its twin| at T*: the sampling error of plotted counts."""
    runs: dict[tuple[int, int, int], list[int]] = {}
    for cell in cells:
        settings, result = cell["settings"], cell["result"]
        if settings["kind"] == "labelling" and "twin" in settings:
            key = (settings["q"], settings["M"], settings["labelling"])
            runs.setdefault(key, []).append(result["errors"][result["rows"]["auto"]])
    return [abs(pair[0] - pair[1]) for pair in runs.values() if len(pair) == 2]


def unsupervised_errors(cells: list[Cell]) -> int | None:
    """Errors without labels at the best temperature, if that cell is there."""
    found = [c["result"]["best"] for c in cells if c["settings"]["kind"] == "unsupervised"]
    return int(found[0]) if found else None
