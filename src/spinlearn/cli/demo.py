"""`spinlearn demo`."""

from __future__ import annotations

from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import console
from spinlearn.core.protocols import Progress as Report


def demo(out: options.DemoOut = Path("demo")) -> None:
    """Run the paper's figures 1 and 2 on the built-in toy set, exactly."""
    from spinlearn.paper.demo import run_demo

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    screen = console()
    with Progress(*columns, console=screen, transient=True) as bar:
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
    screen.print(table)
    screen.print(
        f"{result.n_points} points, exact at {len(result.temperatures)} temperatures in "
        f"{result.seconds:.1f} s; recommended T* = {result.recommended:g}"
    )
    for path in result.files:
        screen.print(f"wrote {path}", soft_wrap=True, highlight=False)
