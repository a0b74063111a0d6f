"""`spinlearn suspects`: labels that the rest of the data disagrees with."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from spinlearn.cli.console import cell, console, say
from spinlearn.cli.explore import Folder


def suspects(
    folder: Folder,
    margin: Annotated[
        float,
        typer.Option(help="How much more probable another class must be than the label."),
    ] = 0.5,
) -> None:
    """List given labels that the rest of the data disagrees with.

    Each label is left out in turn, and the others say what the point should be.

    Example:

        spinlearn suspects answer
    """
    from spinlearn.io.result import Result
    from spinlearn.suspects import suspects as find

    result = Result.load(folder)
    model = result.model_
    found = find(
        model.graph.with_weights(model.couplings),
        result.labels,
        model.n_states,
        margin=margin,
    )
    screen = console()
    n_labels = int((result.labels >= 0).sum())
    if not found:
        say(screen, f"none of the {n_labels} labels is suspect")
        return
    table = Table("suspect", "label", "probability", "rather", "probability")
    for item in found:
        given, instead = (str(result.classes_[c]) for c in (item.given, item.instead))
        table.add_row(
            cell(result.ids[item.point]),
            cell(given),
            f"{item.p_given:.2f}",
            cell(instead),
            f"{item.p_instead:.2f}",
        )
    screen.print(table)
    say(screen, f"{len(found)} of {n_labels} labels, each judged by the others")
