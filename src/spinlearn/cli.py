"""The command line: `spinlearn demo`, `spinlearn reproduce`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
    from rich.table import Table
except ImportError:  # the library works without its command line
    print("the command line needs typer and rich: pip install 'spinlearn[app]'", file=sys.stderr)
    raise SystemExit(2) from None

from spinlearn import __version__
from spinlearn.core.protocols import Progress as Report

# A checkout may have the real data beside it; the package itself knows SPINLEARN_DATA only.
CHECKOUT_DATA = Path("../shared/data")

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


@app.command()
def reproduce(
    which: Annotated[str, typer.Argument(help="fig1, fig2, fig4, fig5, yeast or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="10 labellings, looser errors.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for figures, tables and report.html.")] = Path(
        "reproduction"
    ),
    data: Annotated[
        Path | None, typer.Option(help="Folder of the real data; default: SPINLEARN_DATA.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of labellings and sampling.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = -1,
    scale: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run the paper's experiments; a killed run goes on where it stopped."""
    from spinlearn.errors import SpinlearnError
    from spinlearn.paper import SCALES
    from spinlearn.paper import reproduce as run

    if data is None and not os.environ.get("SPINLEARN_DATA") and CHECKOUT_DATA.is_dir():
        data = CHECKOUT_DATA
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bars: dict[str, TaskID] = {}

        def show(report: Report) -> None:
            if report.phase not in bars:
                bars[report.phase] = bar.add_task(report.phase, total=1.0)
            bar.update(bars[report.phase], completed=report.fraction)

        try:
            done = run(
                which,
                out,
                scale=SCALES[scale or ("quick" if quick else "full")],
                seed=seed,
                n_jobs=jobs,
                data=data,
                callback=show,
            )
        except SpinlearnError as error:
            console.print(str(error), style="red", highlight=False, markup=False)
            raise typer.Exit(2) from error
    table = Table("claim", "verdict", "numbers")
    for claim in done.claims:
        table.add_row(claim.key, claim.verdict.value, claim.finding)
    console.print(table)
    for name, reason in done.skipped.items():
        console.print(f"skipped {name}: {reason}", highlight=False, markup=False)
    for path in done.files:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    spent = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in done.seconds.items())
    console.print(f"time: {spent}", highlight=False)


if __name__ == "__main__":
    app()
