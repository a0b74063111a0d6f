"""`spinlearn cluster`: groups of points without any label."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spinlearn.cli import options
from spinlearn.cli.console import console, say, watched
from spinlearn.cli.summary import print_summary


def cluster(
    data: options.Data,
    id: options.Id = None,
    features: options.Features = None,
    edges: options.Edges = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = "error",
    neighbors: options.Neighbors = None,
    scale: options.Scale = "auto",
    clip: options.Clip = None,
    log2: options.Log2 = False,
    top_variance: options.TopVariance = None,
    graph: options.GraphSpec = "auto",
    components: options.Components = "auto",
    out: options.Out = Path("spinlearn-out"),
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Find groups that stand apart among points without any label.

    Writes the same files as `spinlearn fit`; groups are called new:1, new:2, ..., the largest
    first. Labels that the file may hold are not looked at: name their column in none of the
    --features.

    Examples:

        spinlearn cluster cells.csv --id cell --out groups

        spinlearn cluster genes.csv.gz --log2 --top-variance 200
    """
    import numpy as np

    from spinlearn.errors import InvalidInputError
    from spinlearn.io.answer_files import write_answer
    from spinlearn.io.folder import check_name, check_target, new_folder, parent_folder
    from spinlearn.io.reading import read_dataset
    from spinlearn.io.run_lock import only_run
    from spinlearn.workflows.fitting import Fitting
    from spinlearn.workflows.settings import FitSettings

    check_name(out)
    read = options.read_options(
        None, id, features, None, edges, delimiter, encoding, None, missing, neighbors, decimal
    )
    settings = FitSettings(
        graph=graph,
        n_components=components,
        scale=scale,
        clip=options.parse_clip(clip),
        log2=log2,
        top_variance=top_variance,
        seed=seed,
    )
    screen = console()
    with parent_folder(out), only_run(out):
        check_target(out)
        dataset = read_dataset(data, replace(read, for_labelling=True))
        if dataset.n_points < 2:
            raise InvalidInputError(
                f"{dataset.source} holds {dataset.n_points} points: at least 2 are needed"
            )
        with watched(screen, quiet) as watch:
            none = np.full(dataset.n_points, None, dtype=object)
            result, messages = Fitting(dataset, settings).result(none, watch, watch.tell)
            watch.writing()
            with new_folder(out) as folder:
                written = write_answer(folder, result)
            watch.written()
        print_summary(screen, result, out, messages)
        for path in written:
            say(screen, f"wrote {out / path.name}")
