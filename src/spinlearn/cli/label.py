"""`spinlearn label`: label the points of a file by looking at them."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spinlearn.cli import options
from spinlearn.cli.console import console, say
from spinlearn.core.constants import NOVELTY
from spinlearn.errors import SpinlearnError

if TYPE_CHECKING:
    from rich.console import Console

    from spinlearn.labelling.notebook import Labelling

LOOK_SECONDS = 0.5  # between looks for Ctrl-C, which wakes nobody who waits on Windows


def label(
    data: options.Data,
    labels: options.Labels = None,
    id: options.Id = None,
    features: options.Features = None,
    unlabelled: options.Unlabelled = None,
    labels_file: options.LabelsFile = None,
    edges: options.Edges = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = "error",
    neighbors: options.Neighbors = None,
    images: options.Images = None,
    pixels: options.Pixels = None,
    scale: options.Scale = "auto",
    clip: options.Clip = None,
    log2: options.Log2 = False,
    top_variance: options.TopVariance = None,
    method: options.MethodName = "auto",
    graph: options.GraphSpec = "auto",
    components: options.Components = "auto",
    couplings: options.Couplings = "auto",
    energy: options.EnergyName = "auto",
    feature_law: options.FeatureLaw = "auto",
    proportions: options.Proportions = None,
    label_noise: options.LabelNoise = None,
    novelty: options.Novelty = NOVELTY,
    engine: options.EngineName = "auto",
    temperatures: options.Temperatures = "auto",
    temperature: options.Temperature = "auto",
    tau: options.Tau = 0.1,
    out: options.LabellingOut = None,
    who: options.Who = None,
    port: options.Port = 0,
    show: options.ShowPage = True,
    seed: options.Seed = 0,
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
    from spinlearn.labelling.notebook import Labelling
    from spinlearn.labelling.thumbnails import thumbnails_of
    from spinlearn.workflows.settings import FitSettings

    screen = console()
    read = options.read_options(
        labels, id, features, labels_file, edges, delimiter, encoding, unlabelled, missing,
        neighbors, decimal,
    )  # fmt: skip
    dataset = read_dataset(data, replace(read, for_labelling=True))
    settings = FitSettings(
        method=method,
        graph=graph,
        n_components=components,
        couplings=couplings,
        energy=energy,
        feature_law=feature_law,
        proportions=proportions,
        label_noise=label_noise,
        novelty=novelty,
        engine=engine,
        temperatures=temperatures,
        temperature=temperature,
        tau=tau,
        scale=scale,
        clip=options.parse_clip(clip),
        log2=log2,
        top_variance=top_variance,
        seed=seed,
    )
    thumbnails = thumbnails_of(dataset, images=images, pixels=pixels)
    folder = Path(f"{data.name.partition('.')[0] or 'data'}-labels") if out is None else out
    under_way = Labelling(
        dataset,
        thumbnails,
        folder,
        settings=settings,
        unlabelled=read.unlabelled,
        who=who,
        port=port,
    )
    try:
        for note in under_way.session.log.notes:
            say(screen, note, "yellow")
        say(screen, f"{dataset.n_points:,} points, {_n_labels(under_way)} labels in {folder}")
        say(screen, f"open {under_way.address}")
        say(screen, "Ctrl-C ends; the same command goes on from there")
        sys.stdout.flush()
        if show:
            webbrowser.open(under_way.address)
        _wait()
    finally:
        _end(screen, under_way, data, folder)


def _wait() -> None:
    """Until Ctrl-C or word to end."""
    ended = threading.Event()
    before = {
        kind: signal.signal(kind, lambda number, frame: ended.set())
        for kind in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        while not ended.wait(LOOK_SECONDS):
            pass
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _end(screen: Console, under_way: Labelling, data: Path, folder: Path) -> None:
    """Write the answer if it is there, and say how to make it otherwise."""
    session = under_way.session
    count = _n_labels(under_way)
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


def _n_labels(under_way: Labelling) -> int:
    return sum(name is not None for name in under_way.session.labels)
