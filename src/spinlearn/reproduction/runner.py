"""Cells of an experiment: how many there are, computed in parallel, kept one file each.

A cell's file is named by the hash of everything its result depends on: the experiment, the settings
(seed included) and the sources of the modules that compute. It is written beside its final name and
renamed, so it is whole or absent, and a killed run finds its finished cells again. Results come
back in the order of the tasks, whatever the number of cores and the order in which they finished.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from spinlearn.errors import StoppedError
from spinlearn.files.atomic_write import atomic_write
from spinlearn.model.protocols import Callback, Progress

Settings = Mapping[str, Any]
Cell = dict[str, Any]

# What cells are computed by, beside the module of their experiment. The rest of the package may
# change and leaves finished cells valid.
COMPUTING = (
    "answers/", "baselines/", "constants.py", "datasets/", "energies/", "engines/", "errors.py",
    "files/", "graphs/", "inputs.py", "kernels/", "linear.py", "minimizers/", "model/",
    "reproduction/comparison.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes and accuracies, by default the paper's; no time limits, which depend on machines."""

    name: str = "full"
    n_labellings: int = 100  # per panel of figures 4 and 5
    n_twins: int = 5  # labellings of a sampled panel that are sampled twice, for the errors
    n_chains: int = 8  # independent multicanonical runs of figure 2; above the transition
    chain_tol: float = 0.01  # counts turn on small differences
    chain_sweeps: int = 160_000
    tol: float = 0.03  # of the sampled panels of figure 4
    max_sweeps: int = 40_000
    label_counts_q2: tuple[int, ...] = (5, 10, 15, 20)  # M of figure 4
    label_counts_q3: tuple[int, ...] = (5, 10, 15, 20)
    trap_sweeps: int = 4000  # of the single-temperature samplers of claim (f)
    yeast_chains: int = 4  # independent runs
    yeast_tol: float = 0.03
    yeast_sweeps: int = 1000
    sensitivity: int = 20  # labellings per row of the leukemia table; 0 leaves it out
    stride: int = 1  # every stride-th temperature of the exact grids is used


FULL = Scale()
QUICK = Scale(
    name="quick", n_labellings=10, n_twins=1, n_chains=4, chain_tol=0.012, chain_sweeps=40_000,
    tol=0.05, max_sweeps=20_000, label_counts_q3=(5, 20), trap_sweeps=2000, yeast_chains=2,
    yeast_tol=0.05, yeast_sweeps=100, sensitivity=5,
)  # fmt: skip
TINY = Scale(
    name="tiny", n_labellings=2, n_twins=0, n_chains=1, chain_tol=0.05, chain_sweeps=2000,
    tol=0.1, max_sweeps=2000, label_counts_q2=(10,), label_counts_q3=(), trap_sweeps=100,
    yeast_chains=1, yeast_tol=0.2, yeast_sweeps=12, sensitivity=0, stride=4,
)  # fmt: skip
SCALES = {scale.name: scale for scale in (FULL, QUICK, TINY)}


def fingerprint(experiment: str, settings: Settings) -> str:
    """Name of the file of the cell that JSON-able settings determine."""
    text = json.dumps([experiment, dict(settings), sources_fingerprint(experiment)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def run_tasks(
    experiment: str,
    compute: Callable[[Settings], Cell],
    tasks: Sequence[Settings],
    folder: Path,
    *,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> list[Cell]:
    """The cells of all tasks, in their order; those already in `folder` are read, not computed.

    `callback` is called after every cell; after a true answer those under way are kept:
    StoppedError.
    """
    from joblib import Parallel, delayed

    folder.mkdir(parents=True, exist_ok=True)
    names = [fingerprint(experiment, settings) for settings in tasks]
    missing = dict(zip(names, tasks, strict=True))
    done: dict[str, Cell] = {}
    for name in names:
        with suppress(OSError, ValueError):  # is not there, or broken: computed again
            cell = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            if isinstance(cell, dict) and "result" in cell:
                done[name] = cell
                missing.pop(name, None)

    def report() -> bool:
        if callback is None:
            return False
        fraction = len(done) / total if total else 1.0
        return bool(callback(Progress(phase=experiment, fraction=fraction)))

    total = len(done) + len(missing)
    stopped = report()

    def pending() -> Iterator[str]:
        for name in missing:
            if stopped:
                return
            yield name

    # One task at a time per process: cells differ in cost, and a stop is noticed soon.
    parallel = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
    )
    jobs = (
        delayed(_compute_and_save)(compute, experiment, missing[name], folder / f"{name}.json")
        for name in pending()
    )
    for path, cell in parallel(jobs):
        done[path.stem] = cell
        stopped = report() or stopped
    if len(done) < total:
        raise StoppedError(f"stopped; finished cells are kept in {folder}")
    return [done[name] for name in names]


@cache
def sources_fingerprint(experiment: str) -> str:
    """Hash of the sources that cells of an experiment are computed by."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith((*COMPUTING, f"reproduction/{experiment}.py")):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _compute_and_save(
    compute: Callable[[Settings], Cell], experiment: str, settings: Settings, path: Path
) -> tuple[Path, Cell]:
    began = perf_counter()
    result = compute(settings)
    seconds = perf_counter() - began
    content = json.dumps(
        {"experiment": experiment, "settings": dict(settings), "result": result,
         "seconds": seconds}
    )  # fmt: skip
    with atomic_write(path) as file:
        file.write(content.encode())
    cell: Cell = json.loads(content)  # what a later run will read
    return path, cell
