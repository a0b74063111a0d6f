"""`spinlearn suggest`: which points to label next."""

from __future__ import annotations

from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import cell, console, say


def suggest(
    folder: options.Folder,
    n: options.Number = 5,
    samples: options.Samples = 256,
    seed: options.Seed = 0,
) -> None:
    """Say which points to label next: those whose labels remove most expected errors.

    The points of one list are chosen together, so that they do not repeat each other.

    Example:

        spinlearn suggest answer -n 5
    """
    from spinlearn.advice import suggest as choose
    from spinlearn.io.result import Result

    result = Result.load(folder)
    batch = choose(result, n, n_samples=samples, seed=seed)
    table = Table("label next", "now called", "errors removed", "points settled")
    for item in batch:
        call = result.names[item.point]
        table.add_row(
            cell(result.ids[item.point]), cell(str(call)), f"{item.gain:.1f}", str(item.reach)
        )
    screen = console()
    screen.print(table)
    say(screen, f"expected, of {len(result.model.free_nodes)} points without a label")
