"""The command line: `spinlearn demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table
except ImportError:  # the library works without its command line
    print("the command line needs typer and rich: pip install 'spinlearn[app]'", file=sys.stderr)
    raise SystemExit(2) from None

from spinlearn import __version__
from spinlearn.core.protocols import Progress as Report

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """Classification from a handful of labels by statistical physics."""


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the report.")] = Path(
        "demo"
    ),
) -> None:
    """Run the paper's figures 1 and 2 on the built-in toy set, exactly."""
    from spinlearn.demo import run_demo

    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("with labels", total=1.0)
        last = 0.0

        def show(report: Report) -> None:
            nonlocal task, last
            if report.fraction < last:
                task = bar.add_task("without labels", total=1.0)
            last = report.fraction
            bar.update(task, completed=report.fraction)

        result = run_demo(out, callback=show)
    table = Table("T", "errors with 7 labels", "errors without labels")
    for row in result.table():
        table.add_row(*row)
    console.print(table)
    console.print(
        f"{result.n_points} points, exact at {len(result.temperatures)} temperatures in "
        f"{result.seconds:.1f} s; recommended T* = {result.recommended:g}"
    )
    for path in result.files:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    app()
