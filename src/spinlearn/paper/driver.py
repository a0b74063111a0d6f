"""Run experiments, draw their figures, decide the claims, write the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from types import ModuleType

from spinlearn.core.protocols import Callback
from spinlearn.datasets.real import LEUKEMIA, YEAST, DataFile, find_file
from spinlearn.errors import DataFileError, InvalidInputError
from spinlearn.paper import fig1, fig2, fig4, fig5, yeast
from spinlearn.paper.claims import Claim, all_claims
from spinlearn.paper.report import write_report
from spinlearn.paper.runner import Cell, run_tasks
from spinlearn.paper.scale import FULL, Scale

EXPERIMENTS: dict[str, ModuleType] = {m.NAME: m for m in (fig1, fig2, fig4, fig5, yeast)}
NEEDED: dict[str, DataFile] = {fig5.NAME: LEUKEMIA, yeast.NAME: YEAST}


@dataclass(slots=True)
class Reproduction:
    """What was run and written.

    Attributes
    ----------
    scale : Scale
    seed : int
    cells : dict
        Cells of every experiment that was run.
    skipped : dict
        Why an experiment was not run.
    seconds : dict
        Wall time of every experiment in this call; finished cells of earlier calls cost nothing.
    claims : list of Claim
    files : list of paths
    """

    scale: Scale
    seed: int
    cells: dict[str, list[Cell]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)


def reproduce(
    which: str,
    out: Path,
    *,
    scale: Scale = FULL,
    seed: int = 0,
    n_jobs: int = 1,
    data: Path | None = None,
    callback: Callback | None = None,
) -> Reproduction:
    """Run one experiment or all; figures, tables and report.html go to `out`, cells to out/cells.

    Parameters
    ----------
    which : {"fig1", "fig2", "fig4", "fig5", "yeast", "all"}
    out : path
        Cells of an earlier or killed run found there are used again.
    scale : Scale
    seed : int
        Of labellings and sampling; equal seeds give equal figures, whatever `n_jobs`.
    n_jobs : int
        Processes; -1 for all cores.
    data : path, optional
        Folder of the real data, default SPINLEARN_DATA. Without it the toy figures are made and
        `skipped` says why not the others.
    callback : callable, optional
        Called with the progress of every experiment; a true answer stops the run.
    """
    if which != "all" and which not in EXPERIMENTS:
        raise InvalidInputError(
            f"experiment {which!r} is unknown: use one of {', '.join(EXPERIMENTS)} or 'all'"
        )
    out.mkdir(parents=True, exist_ok=True)
    done = Reproduction(scale, seed)
    for name, module in EXPERIMENTS.items():
        if which not in ("all", name):
            continue
        compute = module.compute
        if name in NEEDED:
            try:
                folder = find_file(NEEDED[name], data).parent
            except DataFileError as error:
                done.skipped[name] = str(error)
                continue
            compute = partial(compute, data=folder)
        began = perf_counter()
        cells = run_tasks(
            compute, module.tasks(scale, seed), out / "cells", n_jobs=n_jobs, callback=callback
        )
        done.cells[name] = cells
        done.files += module.draw(cells, out)
        done.seconds[name] = perf_counter() - began
    done.claims = all_claims(done.cells)
    done.files.append(write_report(done, out / "report.html"))
    return done
