"""report.html: the explorer of a result."""

from __future__ import annotations

from pathlib import Path

from spinlearn.io.result import Result


def write_report(path: Path, result: Result) -> None:
    """Write the explorer page of a result, one self-contained file."""
    result.explore(path, title=str(result.settings.get("data", "spinlearn")))
