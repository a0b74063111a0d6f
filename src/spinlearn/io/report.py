"""report.html: the explorer of a result."""

from __future__ import annotations

from pathlib import Path

from spinlearn.io.result import Result


def write_report(path: Path, result: Result) -> None:
    """Write the explorer page of a result, one self-contained file."""
    from spinlearn.viz.content import explorer_content
    from spinlearn.viz.explorer import write_explorer

    content = explorer_content(
        result,
        ids=result.ids,
        coordinates=result.layout,
        components=result.components,
        title=str(result.settings.get("data", "spinlearn")),
    )
    write_explorer(path, content)
