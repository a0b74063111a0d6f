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

from spinlearn.answers.profile import Profile
from spinlearn.answers.rule import Status
from spinlearn.core.arrays import IntArray
from spinlearn.core.graph import Graph
from spinlearn.datasets.real import PHASES, YEAST, Yeast, load_yeast
from spinlearn.energies import MinCut
from spinlearn.engines.tempering import Tempering
from spinlearn.graphs import MutualKNN
from spinlearn.paper.comparison import (
    cell_seed,
    chosen_rows,
    paper_profile,
    run_quietly,
    with_ground_state,
)
from spinlearn.paper.rivals import consistency_labels, cut_labels
from spinlearn.paper.runner import Cell, Settings, Task
from spinlearn.paper.scale import Scale

NAME = "yeast"
READINGS = 18
N_NEIGHBORS = 10
TEMPERATURES = np.round(np.linspace(0.1, 1.2, 23), 3)


def tasks(scale: Scale, seed: int) -> list[Task]:
    """Independent runs."""
    settings = {
        "readings": READINGS,
        "n_neighbors": N_NEIGHBORS,
        "temperatures": TEMPERATURES.tolist(),
        "tol": scale.yeast_tol,
        "max_sweeps": scale.yeast_sweeps,
        "data": YEAST.sha256,
    }
    chains = range(scale.yeast_chains)
    return [Task(NAME, {**settings, "seed": cell_seed(seed, 7, chain)}) for chain in chains]


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
    found = paper_profile(run, len(PHASES))
    argmax = np.argmax(run.marginals, axis=2)
    rows = range(len(found.temperatures))
    considered = [test & (found.status[k] != Status.NEW) for k in rows]
    return {
        "counts": {
            "genes": len(genes.orfs),
            "known": int(known.sum()),
            "listed": int(listed.sum()),
            "both": int(np.sum(known & listed)),
            "test": int(test.sum()),
        },
        "classes": [int(np.sum(test & (genes.peak_phase == c))) for c in range(len(PHASES))],
        "temperatures": found.temperatures.tolist(),
        "success": [_success(found.outcomes[k], genes, test) for k in rows],
        "considered_success": [_success(found.outcomes[k], genes, considered[k]) for k in rows],
        "considered_cut": [_success(cut, genes, considered[k]) for k in rows],
        "argmax_success": [_success(argmax[k], genes, test) for k in rows],
        "open": [_open(found, k, test) for k in rows],
        "converged": run.converged.tolist(),
        "worst_std_error": np.asarray(run.std_error).max(axis=(1, 2)).tolist(),
        "rows": chosen_rows(found, run),
        "cut": _success(cut, genes, test),
        "lgc": _success(consistency_labels(graph, genes.known_phase), genes, test),
    }


def draw(cells: list[Cell], out: Path) -> list[Path]:
    """Success against temperature, and the table behind it."""
    from spinlearn.paper.drawing import success_curve, write_csv
    from spinlearn.paper.yeast_curves import yeast_curves

    curves = yeast_curves(cells)
    files = success_curve(curves, out / "yeast")
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


def _success(
    outcomes: IntArray | npt.NDArray[np.intp], genes: Yeast, counted: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Share of the counted genes of every class that get it (0 where there are none), and mean."""
    shares = []
    for c in range(len(PHASES)):
        here = outcomes[counted & (genes.peak_phase == c)]
        shares.append(float(np.mean(here == c)) if len(here) else 0.0)
    return {"mean": float(np.mean(shares)), "by_class": shares}


def _open(found: Profile, row: int, test: npt.NDArray[np.bool_]) -> dict[str, int]:
    status = found.status[row][test]
    return {
        "confused": int(np.sum(status == Status.CONFUSED)),
        "new": int(np.sum(status == Status.NEW)),
    }


@cache
def _data(data: Path | None, readings: int, n_neighbors: int) -> tuple[Yeast, Graph]:
    genes = load_yeast(data)
    genes = genes.select(genes.readings() >= readings)
    return genes, MutualKNN(n_neighbors=n_neighbors).build(genes.points())
