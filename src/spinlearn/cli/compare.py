"""`spinlearn compare`: all methods on one table."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import ask, cell, check_table_file, console, print_json, say
from spinlearn.errors import InvalidInputError
from spinlearn.files.atomic_write import atomic_write
from spinlearn.io.dataset import ReadOptions

HEADINGS = {"temperature": "T", "abstentions": "left open"}


@options.with_settings(only=("graph", "engine", "temperature", "tau", "time_limit", "random_state"))
def compare(
    data: options.Data,
    *,
    read: ReadOptions,
    settings: dict[str, Any],
    truth: Annotated[
        str | None, typer.Option(help="Column of true classes, to count errors.")
    ] = None,
    energy: Annotated[
        list[str] | None,
        typer.Option(
            help="An energy to sample and to minimise; give it several times for several. Default: "
            "min_cut."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A rival method, or messages, paper, auto for those of `spinlearn fit`; give it "
            "several times for several. Default: messages and all rivals."
        ),
    ] = None,
    out: options.TableFile = None,
    json: options.Json = False,
) -> None:
    """Run all methods on the same graph and labels and print one table.

    Example:

        spinlearn compare cells.csv --labels known --truth type
    """
    from spinlearn.answers.labels import doubts
    from spinlearn.io.reading import read_dataset
    from spinlearn.settings import PREPARING
    from spinlearn.workflows.comparison import COLUMNS
    from spinlearn.workflows.comparison import compare as run
    from spinlearn.workflows.fitting import Fitting

    check_table_file(out, COLUMNS[:3])
    if truth is not None:
        read = replace(read, exclude=(truth,))
    dataset = read_dataset(data, read)
    dataset.check_labels()
    true: Any = None
    if truth is not None:
        own = () if read.labels is None else (read.labels,)
        true = read_dataset(data, replace(read, labels=truth, exclude=own, labels_file=None)).labels
        if any(v is None for v in true):
            lacking = [k for k, v in enumerate(true) if v is None]
            raise InvalidInputError(
                f"{data}: column {truth!r} lacks the true class of {len(lacking)} points, the "
                f"first in row {lacking[0]} from 0, and errors are counted over all points: fill "
                "them in, or drop those rows"
            )
    X: Any = Fitting(dataset, settings).points
    prepared = {one.name for one in PREPARING}
    params = {name: value for name, value in settings.items() if name not in prepared}
    if params["graph"] == "auto":
        params["graph"] = "mutual_knn"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = run(X, dataset.labels, true, energy=energy or ["min_cut"], methods=method, **params)
    if true is None:
        table = table.drop(columns=["errors", "forced_errors"])
    if out is not None:
        with atomic_write(out) as file:
            file.write(table.to_csv(index=False, lineterminator="\n").encode())
    questions = doubts(Counter(name for name in dataset.labels if isinstance(name, str)))
    n_points, n_labels = len(dataset.ids), sum(v is not None for v in dataset.labels)
    if json:
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        said = {"points": n_points, "labels": n_labels, "rows": rows}
        notes = [*dataset.notes, *questions]
        print_json({"command": "compare", "data": data, **said, "notes": notes})
        return
    screen = console()
    screen.print(_shown(table))
    say(screen, f"{n_points} points, {n_labels} labels")
    if dataset.joined:
        say(screen, dataset.joined)
    ask(questions)
    for note in dataset.notes:
        say(screen, f"note: {note}", "yellow")


def _shown(table: Any) -> Table:
    """The table in a width of 80: method and energy in one column, no cell cut off."""
    others = [name for name in table.columns if name not in ("method", "energy")]
    shown = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("method", no_wrap=True)
    for name in others:
        shown.add_column(HEADINGS.get(name, str(name).replace("_", " ")), justify="right")
    for _, row in table.iterrows():
        name = f"{row['method']} {_text(row['energy'])}".strip()
        shown.add_row(cell(name), *[cell(_text(row[other])) for other in others])
    return shown


def _text(value: Any) -> str:
    if isinstance(value, float):
        if value != value:
            return ""
        return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.3g}"  # narrow
    return "" if str(value) == "<NA>" else str(value)
