"""Cells of the yeast experiment, gathered into curves over temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.paper.runner import Cell


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Means over independent runs and their standard errors (nan for a single run), (T,) each."""

    value: FloatArray
    std_error: FloatArray

    @classmethod
    def of(cls, runs: list[list[float]]) -> Line:
        """Of one list over temperatures per run."""
        values = np.array(runs)
        n_runs = len(values)
        error = np.full(values.shape[1], np.nan)
        if n_runs > 1:
            error = values.std(axis=0, ddof=1) / np.sqrt(n_runs)
        return cls(values.mean(axis=0), error)

    def text(self, row: int) -> str:
        """Per cent, with the error where it is known."""
        error = self.std_error[row]
        return f"{self.value[row]:.1%}" + ("" if np.isnan(error) else f" ± {error:.1%}")


@dataclass(frozen=True, slots=True, eq=False)
class YeastCurves:
    """Success over temperature; rows of the two rules are the medians over the runs."""

    temperatures: FloatArray
    success: Line
    considered: Line
    considered_cut: Line
    argmax: Line
    by_class: FloatArray
    confused: FloatArray
    new: FloatArray
    converged: BoolArray
    n_runs: int
    row: int
    paper_row: int
    cut: float
    lgc: float


def yeast_curves(cells: list[Cell]) -> YeastCurves:
    """The yeast experiment, averaged over its runs."""
    results = [cell["result"] for cell in cells]

    def line(name: str) -> Line:
        return Line.of([[s["mean"] for s in r[name]] for r in results])

    def median_row(rule: str) -> int:
        return int(np.median([r["rows"][rule] for r in results]))

    return YeastCurves(
        temperatures=np.array(results[0]["temperatures"]),
        success=line("success"),
        considered=line("considered_success"),
        considered_cut=line("considered_cut"),
        argmax=line("argmax_success"),
        by_class=np.mean([[s["by_class"] for s in r["success"]] for r in results], axis=0),
        confused=np.mean([[o["confused"] for o in r["open"]] for r in results], axis=0),
        new=np.mean([[o["new"] for o in r["open"]] for r in results], axis=0),
        converged=np.all([r["converged"] for r in results], axis=0),
        n_runs=len(results),
        row=median_row("information"),
        paper_row=median_row("paper"),
        cut=results[0]["cut"]["mean"],
        lgc=results[0]["lgc"]["mean"],
    )
