"""`spinlearn fit`, `cluster`, `accept` and `reject`: commands that write an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from spinlearn.cli import options
from spinlearn.cli.console import ask, console, print_answer, say, watched
from spinlearn.errors import (
    ClusterError,
    InvalidInputError,
    SpinlearnError,
    StoppedError,
    needing,
)
from spinlearn.io.dataset import ReadOptions

MANY = 30_000  # points from which on it is said what they will cost
CONNECT_SECONDS = 20


@options.with_settings()
def fit(
    data: options.Data,
    *,
    read: ReadOptions,
    settings: dict[str, Any],
    out: options.Out = Path("spinlearn-out"),
    quiet: options.Quiet = False,
    json: options.Json = False,
    profile: Annotated[
        bool | None,
        options.run_option(
            "--profile/--no-profile", help="Write profile.csv. Default: up to 100,000 points."
        ),
    ] = None,
    resume: Annotated[
        bool, options.run_option("--resume", help="Go on with an interrupted run.")
    ] = False,
    write_h5ad: Annotated[
        bool,
        options.run_option(
            "--write-h5ad", help="Of an .h5ad: write answer.h5ad too, the data with the answer."
        ),
    ] = False,
    scheduler: options.Scheduler = None,
    blocks: Annotated[
        int | None,
        options.cluster_option(
            metavar="N",
            help="With --scheduler: pass messages in N blocks of nodes that live on the workers, "
            "for a graph whose messages no machine holds alone.",
        ),
    ] = None,
    parts: Annotated[
        Path | None,
        options.cluster_option(
            metavar="FOLDER",
            help="With --blocks: new folder for the parts of the model, which all workers can "
            "read; default: one for temporary files.",
        ),
    ] = None,
) -> None:
    """Classify the points of a file from the few labels in it.

    Writes labels.csv and labels.parquet (the answer), profile.csv (the answer at every temperature;
    of more than 100,000 points with --profile), model.npz (everything, for the other commands),
    run.json (how it was made, for `spinlearn rerun`) and report.html (to look at) into the folder
    --out.

    Examples:

        spinlearn fit cells.csv --labels type --id cell --out answer

        spinlearn fit genes.csv.gz --labels class --clip 100,16000 --log2 --top-variance 200

        spinlearn fit graph.mtx --labels-file labels.csv --labels class --method paper
        --time-limit 60

        spinlearn fit atlas.h5ad --labels cell_type --novelty 0.5

        spinlearn fit cells.csv --labels type --temperature paper:grid=0:1:21 --seed 7

        spinlearn fit edges/ --edges --labels-file labels.csv --labels class --scheduler
        tcp://10.0.0.1:8786 --blocks 8 --parts /shared/parts
    """
    from spinlearn.answers.labels import doubts
    from spinlearn.engines import make_engine
    from spinlearn.engines.checkpoint import refuse_existing
    from spinlearn.files.atomic_write import leftovers
    from spinlearn.io.folder import only_run, write_answer
    from spinlearn.io.reading import read_dataset
    from spinlearn.io.record import asked_for, described, inputs_of
    from spinlearn.workflows import annotation
    from spinlearn.workflows.cluster import BlockPropagation
    from spinlearn.workflows.fitting import Fitting, predicted_cost

    if (blocks is not None and scheduler is None) or (parts is not None and blocks is None):
        raise InvalidInputError(
            "--blocks needs workers to live on, and --parts needs --blocks: give --scheduler "
            "ADDRESS --blocks N, or leave both out"
        )
    if write_h5ad:
        annotation.check_h5ad(data)
    screen = console(stderr=json)
    asked = asked_for("fit", data, read, profile=profile)
    shared = nullcontext() if scheduler is None else on_cluster(scheduler)
    with only_run(out, answer=True), shared:
        # Beside the answer, of a run under way and of one that ended. Only the first may not be
        # lost: the second is replaced by the next fit into the same folder, for instance after more
        # labels.
        whole = out.resolve()
        checkpoint = whole.with_name(f".{whole.name}.checkpoint.npz")
        finished = whole.with_name(f".{whole.name}.finished.npz")
        name = settings["engine"]
        if blocks is not None and name not in ("auto", BlockPropagation.name):
            raise InvalidInputError(
                f"--blocks shares out belief propagation, not {name!r}: leave one out"
            )
        engine: Any = make_engine(name)
        if blocks is not None:
            engine = BlockPropagation(n_blocks=blocks, folder=parts)
            settings["engine"] = engine.name  # which a rerun does without workers
        if hasattr(engine, "checkpoint"):  # it can save its run
            engine.checkpoint = checkpoint
        for left in leftovers(checkpoint):
            left.unlink(missing_ok=True)
        if checkpoint.exists() and not resume:
            raise InvalidInputError(
                f"{checkpoint} holds an interrupted run: add --resume to go on with it, or delete "
                "it"
            )
        saved = checkpoint if checkpoint.exists() else finished
        if resume and not hasattr(engine, "checkpoint"):
            refuse_existing(saved, f"engine {name}")
        dataset = read_dataset(data, read)
        asked["inputs"] = inputs_of(asked)
        if write_h5ad:
            annotation.check_h5ad(data, len(dataset.ids))
        if dataset.joined:
            say(screen, dataset.joined)
        questions = doubts(Counter(name for name in dataset.labels if isinstance(name, str)))
        ask(questions)
        if len(dataset.ids) > MANY and settings["method"] != "paper":
            points, graph = dataset.points, dataset.graph
            cost = predicted_cost(
                len(dataset.ids),
                0 if points is None else points.size // points.shape[0],
                len({label for label in dataset.labels if label is not None}),
                None if graph is None else graph.n_edges,
            )
            say(screen, f"{len(dataset.ids):,} points: {cost}")
        if resume and not saved.exists():
            say(
                screen,
                f"nothing to resume ({checkpoint} is not there): starting from the beginning",
                "yellow",
            )

        with watched(screen, quiet) as watch:
            try:
                with _from_saved(saved, checkpoint) if resume else nullcontext():
                    dataset.check_labels()
                    fitting = Fitting(dataset, settings, engine)
                    result, messages = fitting.result(dataset.labels, watch, watch.tell)
            except StoppedError as error:
                if not checkpoint.exists():
                    raise
                say(screen, "stopped before anything was measured; --resume goes on", "yellow")
                raise typer.Exit(watch.exit_code) from error
            watch.writing()
            said = described(result, asked, messages)
            cells = partial(
                annotation.write_h5ad, data=data, fitted=fitting.last, labels=read.labels
            )
            files = write_answer(
                out, result, profile=profile, said=said, h5ad=cells if write_h5ad else None
            )
            # Before a word is printed: nothing that goes wrong in printing is to make the next run
            # think that this one was interrupted.
            if not watch.stopped:
                finished.unlink(missing_ok=True)  # of an earlier answer in the same folder
                run = result.equilibrium
                if not run.can_continue or run.converged.all():
                    checkpoint.unlink(missing_ok=True)
                elif checkpoint.exists():
                    checkpoint.replace(finished)
            watch.written()
            print_answer(screen, said, out, files, json, questions, stopped=watch.stopped)
        if watch.stopped:
            if checkpoint.exists():
                say(screen, "stopped early; --resume goes on from here", "yellow")
            raise typer.Exit(watch.exit_code)
        if finished.exists():
            say(
                screen,
                "more time would help: run again with --resume and a larger --time-limit (the run "
                f"so far is kept in {finished}, {finished.stat().st_size / 1e6:.0f} MB; delete it "
                "if you will not)",
            )


@options.with_settings(
    without=("labels", "labels_file", "unlabelled"), only=("graph", "time_limit", "random_state")
)
def cluster(
    data: options.Data,
    *,
    read: ReadOptions,
    settings: dict[str, Any],
    out: options.Out = Path("spinlearn-out"),
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Find groups that stand apart among points without any label.

    Writes the same files as `spinlearn fit`; groups are called new:1, new:2, ..., the largest
    first. Labels that the file may hold are not looked at: name their column in none of the
    --features.

    Examples:

        spinlearn cluster cells.csv --id cell --out groups

        spinlearn cluster genes.csv.gz --log2 --top-variance 200
    """
    from spinlearn.io.record import asked_for

    asked = asked_for("cluster", data, replace(read, for_labelling=True))
    _answer(asked | {"settings": settings}, out, quiet, json)


Group = Annotated[str, typer.Argument(help="A proposal, for example new:1.")]
NewFolder = Annotated[Path, typer.Option("--out", help="Folder for the new answer.")]


def accept(
    folder: options.Folder,
    group: Group,
    name: Annotated[str, typer.Argument(help="Name of its class.")],
    out: NewFolder,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Make a proposed group a class of its own, and answer anew.

    Its most typical points become labels of that class. Proposals are in proposals.csv and on the
    page report.html.

    Example:

        spinlearn accept answer new:1 "Adelie male" --out answer2
    """
    _decide("accept", folder, group, name, out, quiet, json)


def reject(
    folder: options.Folder,
    group: Group,
    out: NewFolder,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Say that a proposed group is no class of its own, and answer anew.

    Its most typical points become labels of the named class beside it; it is not proposed again.

    Example:

        spinlearn reject answer new:1 --out answer2
    """
    _decide("reject", folder, group, "", out, quiet, json)


def _decide(
    do: str, folder: Path, group: str, name: str, out: Path, quiet: bool, json: bool
) -> None:
    from spinlearn.io.record import asked_for
    from spinlearn.io.result import model_file

    asked = asked_for(do, model_file(folder), group=group, name=name)
    again = _answer(asked, out, quiet, json)
    word = again.words[-1]
    what = "a class" if do == "accept" else "part of"
    labelled = ", ".join(again.ids[k] for k in word.labelled.tolist())
    now = "is a label" if len(word.labelled) == 1 else "are labels"
    say(console(stderr=json), f"{group} is {what} {word.name}: {labelled} {now} now")


def _answer(asked: dict[str, Any], out: Path, quiet: bool, json: bool) -> Any:
    """Make what was asked for, write it, and say what it is."""
    from spinlearn.io.folder import only_run, write_answer
    from spinlearn.io.record import described
    from spinlearn.workflows.rerun import made

    screen = console(stderr=json)
    with only_run(out, answer=True), watched(screen, quiet) as watch:
        result, notes = made(asked, watch, watch.tell)
        watch.writing()
        said = described(result, asked, notes)
        files = write_answer(out, result, said=said)
        watch.written()
        print_answer(screen, said, out, files, json)
    return result


@contextmanager
def _from_saved(saved: Path, checkpoint: Path) -> Iterator[None]:
    """Let a run go on from a saved one; if it fails before it saves anything, put that back.

    `saved` is the checkpoint of a run under way or of one that ended with an answer, if it exists;
    the run looks for it at `checkpoint`.
    """
    if saved == checkpoint or not saved.exists():
        yield
        return
    of_old = saved.stat().st_mtime_ns
    saved.replace(checkpoint)
    try:
        yield
    except SpinlearnError:
        if checkpoint.exists() and checkpoint.stat().st_mtime_ns == of_old:
            checkpoint.replace(saved)
        raise


@contextmanager
def on_cluster(address: str) -> Iterator[None]:
    """Share work with the cluster of this Dask scheduler while the block runs."""
    with needing("--scheduler needs Dask, which is not installed: pip install 'spinlearn[dask]'"):
        from distributed import Client
    from joblib import parallel_config

    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except ValueError as error:
        raise InvalidInputError(
            f"--scheduler {address!r} is not an address ({error}): write for example "
            "tcp://10.0.0.1:8786, as `dask scheduler` prints it"
        ) from error
    except OSError as error:
        raise ClusterError(
            f"no scheduler answers at {address} within {CONNECT_SECONDS} s: start one with `dask "
            "scheduler`, or check the address"
        ) from error
    with client, parallel_config("dask", client=client):
        yield
