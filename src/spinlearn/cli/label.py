"""`spinlearn label`: label the points of a file by looking at them."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spinlearn.cli import options
from spinlearn.cli.console import console, say
from spinlearn.errors import SpinlearnError
from spinlearn.io.dataset import ReadOptions
from spinlearn.settings import READ

if TYPE_CHECKING:
    from rich.console import Console

    from spinlearn.labelling.notebook import Labelling

LOOK_SECONDS = 0.5  # between looks for Ctrl-C, which wakes nobody who waits on Windows


@options.with_settings()
def label(
    data: options.Data,
    *,
    read: ReadOptions,
    settings: dict[str, Any],
    images: Annotated[
        Path | None, typer.Option(help="Folder of picture files that are named by ids.")
    ] = None,
    pixels: Annotated[
        str | None,
        typer.Option(
            help="Size of the pictures that the features are: 28x28, 32x32x3; none if they are "
            "none. Default: by their number and names.",
            rich_help_panel=READ,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for log and answer. Default: DATA-labels.")
    ] = None,
    who: Annotated[
        str | None,
        options.run_option(help="Your name in the log. Default: that of your account."),
    ] = None,
    port: Annotated[int, options.run_option(help="Of the page. Default: any that is free.")] = 0,
    show: Annotated[bool, options.run_option("--open/--no-open", help="Open the page.")] = True,
) -> None:
    """Label points by looking at them, in a page that this machine alone can open.

    Shows the map, what to label next, which labels look wrong, and the whole answer after every
    label. Every action is in the folder --out before the page shows it: the same command goes on
    from there. At the end given.csv holds the labels, answer/ what `spinlearn fit` makes of them.

    Examples:

        spinlearn label digits.csv

        spinlearn label birds.csv --id file --images photos --out birds

        spinlearn label cells.h5ad --labels cell_type --out cells

        spinlearn label leaf.png
    """
    from spinlearn.io.reading import read_dataset
    from spinlearn.labelling.log import as_begun
    from spinlearn.labelling.notebook import Labelling
    from spinlearn.labelling.thumbnails import Thumbnails

    screen = console()
    dataset = read_dataset(data, replace(read, for_labelling=True))
    if dataset.joined:
        say(screen, dataset.joined)
    folder = Path(f"{data.name.partition('.')[0] or 'data'}-labels") if out is None else out
    begun = as_begun(folder, dataset)
    if begun is not dataset:
        say(screen, "rows are numbered from 1 here, as when this labelling began", "yellow")
    dataset = begun
    thumbnails = Thumbnails(dataset, images=images, pixels=pixels)
    under_way = Labelling(
        dataset, thumbnails, folder, settings=settings, unlabelled=read.unlabelled, who=who,
        port=port,
    )  # fmt: skip
    try:
        for note in under_way.session.log.notes:
            say(screen, note, "yellow")
        count = sum(name is not None for name in under_way.session.labels)
        say(screen, f"{len(dataset.ids):,} points, {count} labels in {folder}")
        say(screen, f"open {under_way.address}")
        say(screen, "Ctrl-C ends; the same command goes on from there")
        sys.stdout.flush()
        if show:
            webbrowser.open(under_way.address)
        ended, signals = threading.Event(), (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, lambda *_: ended.set()) for kind in signals}
        try:
            while not ended.wait(LOOK_SECONDS):
                pass
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)
    finally:
        _end(screen, under_way, data, folder)


def _end(screen: Console, under_way: Labelling, data: Path, folder: Path) -> None:
    """Write the answer if it is there, and say how to make it otherwise."""
    session = under_way.session
    count = sum(name is not None for name in session.labels)
    written = ""
    try:
        if session.answered:
            written = f"; the answer is in {under_way.export()}"
    except SpinlearnError as error:
        say(screen, str(error), "yellow")
    finally:
        under_way.stop()
    say(screen, f"{count} labels are in {folder / 'given.csv'}{written}")
    if count and not written:
        again = f"spinlearn fit {shlex.quote(str(data))} --labels-file {folder / 'given.csv'}"
        say(screen, f"{again} --labels label, with the same options, classifies by them")
