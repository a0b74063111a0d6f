"""The walk of a fit through the code: every function it passes, in order of first call.

python -m tools.walk              counts of `spinlearn fit table.csv` and of two classifiers
python -m tools.walk --list fit   the functions of one of them, by file
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import spinlearn

ROOT = Path(spinlearn.__file__).parent


def walked(work: Callable[[], Any]) -> dict[str, list[str]]:
    """Functions that `work` passes, by file in order of first call; of this thread and its own."""
    import threading

    seen: dict[CodeType, None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.setdefault(frame.f_code)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}
    for code in seen:
        path = Path(code.co_filename)
        # Bodies of modules and classes, which run when they are imported, and comprehensions are no
        # steps of a walk.
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if path.is_relative_to(ROOT) and is_function:
            names = found.setdefault(path.relative_to(ROOT).as_posix(), [])
            if code.co_qualname not in names:
                names.append(code.co_qualname)
    return found


def small_table() -> tuple[np.ndarray, np.ndarray]:
    """180 points of three groups, three labels each."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 4)) + 3.0 * np.eye(3, 4)[truth]
    y = np.full(180, -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[:3]] = k
    return X, y


def write_table(table: Path) -> None:
    """The same as a file, with the names of animals as labels."""
    X, y = small_table()
    words = np.array(["", "ape", "bee", "cat"], dtype=object)[y + 1]
    rows = [",".join([*(f"{x:.4f}" for x in point), w]) for point, w in zip(X, words, strict=True)]
    table.write_text("\n".join(["a,b,c,d,species", *rows]) + "\n")


def fit_table() -> dict[str, list[str]]:
    """`spinlearn fit table.csv --labels species --out answer`."""
    from spinlearn.cli.main import app

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        write_table(table)
        answer = str(Path(folder) / "answer")
        command = ["fit", str(table), "--labels", "species", "--out", answer, "--quiet"]
        return walked(lambda: app(command, standalone_mode=False))


def fit_classifier(**settings: Any) -> dict[str, list[str]]:
    """`PottsClassifier(...).fit(X, y)`."""
    from spinlearn import PottsClassifier

    return walked(lambda: PottsClassifier(**settings).fit(*small_table()))


WALKS: dict[str, Callable[[], dict[str, list[str]]]] = {
    "fit": fit_table,
    "classifier": fit_classifier,
    "paper": lambda: fit_classifier(method="paper"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", choices=WALKS, help="name the functions of this walk")
    listed = parser.parse_args().list
    for name, walk in WALKS.items():
        if listed in (None, name):
            files = walk()
            print(f"{name}: {sum(map(len, files.values()))} functions in {len(files)} files")
            if listed:
                for file, names in files.items():
                    print(f"  {file}: {len(names)}: {', '.join(names)}")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
