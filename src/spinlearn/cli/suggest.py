"""`spinlearn suggest`: which points to label next."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import cell, console, say
from spinlearn.cli.explore import Folder


def suggest(
    folder: Folder,
    n: Annotated[int, typer.Option("-n", "--number", help="How many points.")] = 5,
    samples: Annotated[int, typer.Option(help="Labellings drawn at each temperature.")] = 256,
    seed: options.Seed = 0,
) -> None:
    """Say which points to label next: those whose labels remove most expected errors.

    The points of one list are chosen together, so that they do not repeat each other.

    Example:

        spinlearn suggest answer -n 5
    """
    from spinlearn.io.result import Result
    from spinlearn.suggestion import suggest as choose

    result = Result.load(folder)
    batch = choose(result.equilibrium_, n, n_samples=samples, seed=seed)
    row = result.profile_.nearest_row(result.temperature_)
    table = Table("label next", "now called", "errors removed", "points settled")
    for item in batch:
        call = result.name_of(int(result.profile_.outcomes[row, item.point]))
        table.add_row(cell(result.ids[item.point]), cell(call), f"{item.gain:.1f}", str(item.reach))
    screen = console()
    screen.print(table)
    say(screen, f"expected, of {len(result.model_.free_nodes)} points without a label")
