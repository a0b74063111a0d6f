"""Section 6.3: phases of yeast genes in the cell cycle, five classes, known genes as labels.

Genes: those with all 18 readings, 4489 (paper: "at least 15 of 18", 4523; the public table has 6019
of those, and the filter used here comes closest to the paper's counts). Known phases: 81 (77).
Test set: genes of Spellman's list that were not known before (paper: 535). Success: mean over the
five classes of the share of test genes that get their class. The paper considers "only the
classified points" and counts confused ones as errors; it does not mention genes that are in a new
class. So there are two counts: "all", new classes are errors too, and "considered", genes in new
classes are left out; graph cuts are counted on both sets of genes.

Replica exchange with cluster moves samples it: with 4489 points of very different couplings the
multicanonical walk over all energies is far too slow. Every cell is an independent run; what is
plotted is their mean. The couplings are exp(-d^2/a^2) <= 1.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.rule import Status
from spinlearn.datasets.real import PHASES, YEAST, Yeast, load_yeast
from spinlearn.energies import MinCut
from spinlearn.engines.sampling.samplers import Tempering
from spinlearn.graphs import MutualKNN
from spinlearn.model.arrays import BoolArray, FloatArray, IntArray
from spinlearn.model.graph import Graph
from spinlearn.reproduction.comparison import (
    cell_seed,
    chosen_rows,
    consistency_labels,
    cut_labels,
    paper_profile,
    run_quietly,
    with_ground_state,
)
from spinlearn.reproduction.drawing import bare, pyplot, save, write_csv
from spinlearn.reproduction.runner import Cell, Scale, Settings

READINGS = 18
N_NEIGHBORS = 10
TEMPERATURES = np.round(np.linspace(0.1, 1.2, 23), 3)


def tasks(scale: Scale, seed: int) -> list[Settings]:
    settings = {
        "readings": READINGS,
        "n_neighbors": N_NEIGHBORS,
        "temperatures": TEMPERATURES.tolist(),
        "tol": scale.yeast_tol,
        "max_sweeps": scale.yeast_sweeps,
        "data": YEAST.sha256,
    }
    chains = range(scale.yeast_chains)
    return [{**settings, "seed": cell_seed(seed, 7, chain)} for chain in chains]


def compute(settings: Settings, data: Path | None = None) -> Cell:
    """Success of ours at every temperature, of graph cuts and of LGC."""
    genes, graph = _data(data, settings["readings"], settings["n_neighbors"])
    known, listed = genes.known_phase >= 0, genes.peak_phase >= 0
    test = listed & ~known
    model = MinCut()(graph, genes.known_phase, len(PHASES))
    cut = cut_labels(model)
    engine = Tempering(tol=settings["tol"], max_sweeps=settings["max_sweeps"])
    run = run_quietly(engine, model, np.array(settings["temperatures"]), settings["seed"])
    run = with_ground_state(run, cut)
    profile = paper_profile(run, len(PHASES))
    argmax = np.argmax(run.marginals, axis=2)
    rows = range(len(profile.temperatures))
    considered = [test & (profile.status[k] != Status.NEW) for k in rows]
    return {
        "counts": {
            "genes": len(genes.orfs),
            "known": int(known.sum()),
            "listed": int(listed.sum()),
            "both": int(np.sum(known & listed)),
            "test": int(test.sum()),
        },
        "classes": [int(np.sum(test & (genes.peak_phase == c))) for c in range(len(PHASES))],
        "temperatures": profile.temperatures.tolist(),
        "success": [_success(profile.outcomes[k], genes, test) for k in rows],
        "considered_success": [_success(profile.outcomes[k], genes, considered[k]) for k in rows],
        "considered_cut": [_success(cut, genes, considered[k]) for k in rows],
        "argmax_success": [_success(argmax[k], genes, test) for k in rows],
        "open": [
            {
                kind.name.lower(): int(np.sum(profile.status[k][test] == kind))
                for kind in (Status.CONFUSED, Status.NEW)
            }
            for k in rows
        ],
        "converged": run.converged.tolist(),
        "worst_std_error": np.asarray(run.std_error).max(axis=(1, 2)).tolist(),
        "rows": chosen_rows(profile, run),
        "cut": _success(cut, genes, test),
        "lgc": _success(consistency_labels(graph, genes.known_phase), genes, test),
    }


def draw(cells: list[Cell], out: Path) -> list[Path]:
    curves = YeastCurves(cells)
    files = save(_figure(curves), out / "yeast")
    header = ["T", "success", "success_se", *(f"success_{name}" for name in PHASES),
              "considered_success", "considered_success_se", "considered_cut", "argmax_success",
              "argmax_success_se", "confused", "new", "converged"]  # fmt: skip
    rows = []
    for k, t in enumerate(curves.temperatures):
        ours, considered, argmax = (
            [line.value[k], line.std_error[k]]
            for line in (curves.success, curves.considered, curves.argmax)
        )
        rows.append(
            [t, *ours, *curves.by_class[k], *considered, curves.considered_cut.value[k], *argmax,
             curves.confused[k], curves.new[k], curves.converged[k]]
        )  # fmt: skip
    return [*files, write_csv(out / "yeast.csv", header, rows)]


def _figure(curves: YeastCurves) -> Any:
    """Mean success over the five classes against T, on all genes and on those considered."""
    plt = pyplot()
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
    bare(axis)
    return figure


def _success(
    outcomes: IntArray | npt.NDArray[np.intp], genes: Yeast, counted: BoolArray
) -> dict[str, Any]:
    """Share of the counted genes of every class that get it (0 where there are none), and mean."""
    shares = []
    for c in range(len(PHASES)):
        here = outcomes[counted & (genes.peak_phase == c)]
        shares.append(float(np.mean(here == c)) if len(here) else 0.0)
    return {"mean": float(np.mean(shares)), "by_class": shares}


@cache
def _data(data: Path | None, readings: int, n_neighbors: int) -> tuple[Yeast, Graph]:
    genes = load_yeast(data)
    genes = genes.select(genes.readings() >= readings)
    return genes, MutualKNN(n_neighbors=n_neighbors).build(genes.points())


class Line:
    """Means over runs (one list over T each), and their standard errors (nan for one run), (T,)."""

    def __init__(self, runs: list[list[float]]) -> None:
        values = np.array(runs)
        self.value: FloatArray = values.mean(axis=0)
        self.std_error = np.full(values.shape[1], np.nan)
        if len(values) > 1:
            self.std_error = values.std(axis=0, ddof=1) / np.sqrt(len(values))

    def text(self, row: int) -> str:
        """Per cent, with the error where it is known."""
        error = self.std_error[row]
        return f"{self.value[row]:.1%}" + ("" if np.isnan(error) else f" ± {error:.1%}")


class YeastCurves:
    """Success over T, averaged over the runs; rows of the two rules are the medians over them."""

    def __init__(self, cells: list[Cell]) -> None:
        results = [cell["result"] for cell in cells]
        self.temperatures = np.array(results[0]["temperatures"])
        self.success, self.considered, self.considered_cut, self.argmax = (
            Line([[s["mean"] for s in r[name]] for r in results])
            for name in ("success", "considered_success", "considered_cut", "argmax_success")
        )
        self.by_class = np.mean([[s["by_class"] for s in r["success"]] for r in results], axis=0)
        self.confused, self.new = (
            np.mean([[o[kind] for o in r["open"]] for r in results], axis=0)
            for kind in ("confused", "new")
        )
        self.converged: BoolArray = np.all([r["converged"] for r in results], axis=0)
        self.n_runs = len(results)
        self.row, self.paper_row = (
            int(np.median([r["rows"][rule] for r in results])) for rule in ("information", "paper")
        )
        self.cut: float = results[0]["cut"]["mean"]
        self.lgc: float = results[0]["lgc"]["mean"]
