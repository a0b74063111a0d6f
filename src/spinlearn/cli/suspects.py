"""`spinlearn suspects`: labels that the rest of the data disagrees with."""

from __future__ import annotations

from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import cell, console, say


def suspects(
    folder: options.Folder,
    margin: options.Margin = 0.5,
) -> None:
    """List given labels that the rest of the data disagrees with.

    Each label is left out in turn, and the others say what the point should be.

    Example:

        spinlearn suspects answer
    """
    from spinlearn.advice import suspects as find
    from spinlearn.io.result import Result

    result = Result.load(folder)
    found = find(result, margin=margin)
    screen = console()
    n_labels = int((result.labels >= 0).sum())
    if not found:
        say(screen, f"none of the {n_labels} labels is suspect")
        return
    table = Table("suspect", "label", "probability", "rather", "probability")
    for item in found:
        given, instead = (str(result.classes[c]) for c in (item.given, item.instead))
        table.add_row(
            cell(result.ids[item.point]),
            cell(given),
            f"{item.p_given:.2f}",
            cell(instead),
            f"{item.p_instead:.2f}",
        )
    screen.print(table)
    say(screen, f"{len(found)} of {n_labels} labels, each judged by the others")
