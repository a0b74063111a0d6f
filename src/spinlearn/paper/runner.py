"""Cells of an experiment, computed in parallel, kept one file each.

A cell's file is named by the hash of everything its result depends on: the experiment, the settings
(seed included) and the sources of the modules that compute. It is written beside its final name and
renamed, so it is whole or absent, and a killed run finds its finished cells again. Results come
back in the order of the tasks, whatever the number of cores and the order in which they finished.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from spinlearn.core.atomic_write import atomic_write
from spinlearn.core.protocols import Callback, Progress
from spinlearn.errors import StoppedError

Settings = Mapping[str, Any]
Cell = dict[str, Any]

# What cells are computed by, beside the module of their experiment. The rest of the package may
# change and leaves finished cells valid.
COMPUTING = (
    "analysis/", "answers/", "baselines/", "core/", "datasets/", "energies/", "engines/",
    "errors.py", "estimators/inputs.py", "estimators/label_order.py", "estimators/table_forms.py",
    "graphs/", "kernels/", "messages/", "minimizers/",
    "paper/comparison.py", "paper/rivals.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Task:
    """One cell to compute: JSON-able settings that determine its result."""

    experiment: str
    settings: Settings

    @property
    def fingerprint(self) -> str:
        """Name of the cell's file."""
        text = json.dumps(
            [self.experiment, dict(self.settings), sources_fingerprint(self.experiment)],
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def run_tasks(
    compute: Callable[[Settings], Cell],
    tasks: Sequence[Task],
    folder: Path,
    *,
    n_jobs: int = 1,
    callback: Callback | None = None,
) -> list[Cell]:
    """The cells of all tasks, in their order; those already in `folder` are read, not computed.

    Parameters
    ----------
    compute : callable
        From settings to a JSON-able result; importable by other processes.
    tasks : sequence of Task
    folder : path
        Where the cells are kept.
    n_jobs : int
        Processes.
    callback : callable, optional
        Called after every cell; after a true answer no further cell is begun, those under way are
        finished and kept, and StoppedError is raised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[str, Cell] = {}
    for task in tasks:
        saved = _read(folder / f"{task.fingerprint}.json")
        if saved is not None:
            done[task.fingerprint] = saved
    missing = {t.fingerprint: t for t in tasks if t.fingerprint not in done}
    name, total = tasks[0].experiment if tasks else "", len(done) + len(missing)
    stopped = _report(callback, name, len(done), total)

    def pending() -> Iterator[Task]:
        for task in missing.values():
            if stopped:
                return
            yield task

    for fingerprint, cell in _computed(compute, pending(), folder, n_jobs):
        done[fingerprint] = cell
        stopped = _report(callback, name, len(done), total) or stopped
    if len(done) < total:
        raise StoppedError(f"stopped; finished cells are kept in {folder}")
    return [done[task.fingerprint] for task in tasks]


@cache
def sources_fingerprint(experiment: str) -> str:
    """Hash of the sources that cells of an experiment are computed by."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith((*COMPUTING, f"paper/{experiment}.py")):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _computed(
    compute: Callable[[Settings], Cell], tasks: Iterable[Task], folder: Path, n_jobs: int
) -> Iterator[tuple[str, Cell]]:
    """Fingerprints and cells as they are finished."""
    if n_jobs == 1:
        for task in tasks:
            yield _compute_and_save(compute, task, task.fingerprint, folder)
        return
    from joblib import Parallel, delayed

    # One task at a time per process: cells differ in cost, and a stop is noticed soon.
    parallel = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
    )
    yield from parallel(
        delayed(_compute_and_save)(compute, task, task.fingerprint, folder) for task in tasks
    )


def _compute_and_save(
    compute: Callable[[Settings], Cell], task: Task, fingerprint: str, folder: Path
) -> tuple[str, Cell]:
    began = perf_counter()
    result = compute(task.settings)
    seconds = perf_counter() - began
    content = json.dumps(
        {"experiment": task.experiment, "settings": dict(task.settings), "result": result,
         "seconds": seconds}
    )  # fmt: skip
    with atomic_write(folder / f"{fingerprint}.json") as file:
        file.write(content.encode())
    cell: Cell = json.loads(content)  # what a later run will read
    return fingerprint, cell


def _read(path: Path) -> Cell | None:
    """A finished cell, or None if it has to be computed (again)."""
    try:
        cell = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cell if isinstance(cell, dict) and "result" in cell else None


def _report(callback: Callback | None, name: str, done: int, total: int) -> bool:
    if callback is None:
        return False
    fraction = done / total if total else 1.0
    return bool(callback(Progress(phase=name, fraction=fraction)))
