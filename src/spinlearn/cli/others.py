"""The short commands: explore, suggest, suspects, reproduce, demo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import cell, console, print_summary, say, watched
from spinlearn.cli.fit import on_cluster
from spinlearn.settings import RULES

# A checkout may have the real data beside it; the package itself knows SPINLEARN_DATA only.
CHECKOUT_DATA = Path("../shared/data")


def explore(
    folder: options.Folder,
    temperature: Annotated[
        str | None,
        typer.Option(
            help=f"Temperature of the answer: a number, or {', '.join(RULES)}. Default: as fitted."
        ),
    ] = None,
    temperatures: Annotated[
        str,
        typer.Option(help="auto, a list 0,0.5,1 or a range 0:2:21 (first, last, how many)."),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(help="Write the answer at these temperatures into another folder."),
    ] = None,
) -> None:
    """Make the report again, at other temperatures, without sampling again.

    Rewrites report.html in the folder, or with --out writes all files of the new answer elsewhere.

    Examples:

        spinlearn explore answer --temperature 0.3

        spinlearn explore answer --temperatures 0.1:0.6:26 --out answer-fine
    """
    from spinlearn.io.answer_files import write_answer, write_report
    from spinlearn.io.folder import check_target, new_folder
    from spinlearn.io.result import Result
    from spinlearn.settings import make_rule, read_grid

    screen = console()
    if out is not None:
        check_target(out)
    result = Result.load(folder)
    if folder.is_file():  # its model.npz was given
        folder = folder.parent
    if temperatures != "auto":
        result = result.on(read_grid(temperatures))
    if temperature is not None:
        result = result.at(make_rule(temperature).name).renumbered()
    if out is None:
        write_report(folder / "report.html", result)
        written = [folder / "report.html"]
    else:
        with new_folder(out) as side:
            written = [out / path.name for path in write_answer(side, result)]
    print_summary(screen, result, folder if out is None else out)
    for path in written:
        say(screen, f"wrote {path}")


def suggest(
    folder: options.Folder,
    n: Annotated[int, typer.Option("-n", "--number", help="How many points.")] = 5,
    samples: Annotated[int, typer.Option(help="Labellings drawn at each temperature.")] = 256,
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
    table = Table("label next", "now called", "errors removed", "points settled")
    for item in choose(result, n, n_samples=samples, seed=seed):
        call = cell(str(result.names[item.point]))
        table.add_row(cell(result.ids[item.point]), call, f"{item.gain:.1f}", str(item.reach))
    screen = console()
    screen.print(table)
    say(screen, f"expected, of {len(result.model.free_nodes)} points without a label")


def suspects(
    folder: options.Folder,
    margin: Annotated[
        float, typer.Option(help="How much more probable another class must be than the label.")
    ] = 0.5,
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
        given, instead = (cell(str(result.classes[c])) for c in (item.given, item.instead))
        p_given, p_instead = f"{item.p_given:.2f}", f"{item.p_instead:.2f}"
        table.add_row(cell(result.ids[item.point]), given, p_given, instead, p_instead)
    screen.print(table)
    say(screen, f"{len(found)} of {n_labels} labels, each judged by the others")


def reproduce(
    which: Annotated[str, typer.Argument(help="fig1, fig2, fig4, fig5, yeast or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="10 labellings, looser errors.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for figures, cells and the page.")] = Path(
        "reproduction"
    ),
    scale: Annotated[str | None, typer.Option(help="full, quick or tiny.", hidden=True)] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the gene-expression files; default: SPINLEARN_DATA."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Threads.")] = -1,
    scheduler: options.Scheduler = None,
    seed: options.Seed = 0,
) -> None:
    """Run the paper's experiments and say which of its claims hold.

    A run that was stopped goes on where it was.

    Examples:

        spinlearn reproduce fig2

        spinlearn reproduce all --quick --data ~/expression
    """
    from spinlearn.errors import InvalidInputError
    from spinlearn.paper import SCALES
    from spinlearn.paper import reproduce as run

    if scale is None:
        scale = "quick" if quick else "full"
    if scale not in SCALES:
        raise InvalidInputError(f"scale {scale!r} is unknown: use {', '.join(SCALES)}")
    if data is None and not os.environ.get("SPINLEARN_DATA") and CHECKOUT_DATA.is_dir():
        data = CHECKOUT_DATA
    screen = console()
    with on_cluster(scheduler), watched(screen) as watch:
        done = run(
            which, out, scale=SCALES[scale], seed=seed, n_jobs=jobs, data=data, callback=watch
        )
    for name, reason in done.skipped.items():
        say(screen, f"skipped {name}: {reason}", "yellow")
    for claim in done.claims:
        say(screen, f"{claim.verdict.value}: {claim.statement} ({claim.finding})")
    for path in done.files:
        say(screen, f"wrote {path}")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the report.")] = Path(
        "demo"
    ),
) -> None:
    """Run the paper's figures 1 and 2 on the built-in toy set, exactly."""
    from spinlearn.paper.demo import run_demo

    screen = console()
    with watched(screen) as watch:
        result = run_demo(out, callback=watch)
    table = Table("T", "errors with 7 labels", "errors without labels")
    for row in result.table():
        table.add_row(*row)
    screen.print(table)
    say(
        screen,
        f"{result.n_points} points, exact at {len(result.temperatures)} temperatures in "
        f"{result.seconds:.1f} s; recommended T* = {result.recommended:g}",
    )
    for path in result.files:
        say(screen, f"wrote {path}")
