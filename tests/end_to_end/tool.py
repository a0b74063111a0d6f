"""Run the command line as a user does: in a fresh process."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path


def spinlearn(*arguments: object, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess:
    """`spinlearn ...`, whatever it returns."""
    return subprocess.run(
        [sys.executable, "-m", "spinlearn", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def read_rows(path: Path) -> list[dict[str, str]]:
    """A CSV file as a list of dicts."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def leftovers(folder: Path) -> set[str]:
    """Everything in a folder, hidden files included."""
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}
