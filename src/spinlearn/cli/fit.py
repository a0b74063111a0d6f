"""`spinlearn fit`: classify the points of a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from spinlearn.cli import options
from spinlearn.cli.console import console, say, watched
from spinlearn.cli.scheduler import on_cluster
from spinlearn.cli.summary import print_summary
from spinlearn.core.constants import NOVELTY
from spinlearn.errors import InvalidInputError, SpinlearnError, StoppedError

if TYPE_CHECKING:
    from spinlearn.io.dataset import Dataset, ReadOptions
    from spinlearn.workflows.costs import Cost
    from spinlearn.workflows.settings import FitSettings

MANY = 30_000  # points from which on it is said what they will cost


def fit(
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
    small_groups: options.SmallGroups = "join",
    label_strength: options.LabelStrength = float("inf"),
    out: options.Out = Path("spinlearn-out"),
    profile: options.ProfileFile = None,
    resume: options.Resume = False,
    checkpoint_seconds: options.CheckpointSeconds = None,
    tol: options.Tol = None,
    max_seconds: options.MaxSeconds = None,
    jobs: options.Jobs = 1,
    scheduler: options.Scheduler = None,
    blocks: options.Blocks = None,
    parts: options.Parts = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Classify the points of a file from the few labels in it.

    Writes labels.csv and labels.parquet (the answer), profile.csv (the answer at every temperature;
    of more than 100,000 points with --profile), model.npz (everything, for the other commands) and
    report.html (to look at) into the folder --out.

    Examples:

        spinlearn fit cells.csv --labels type --id cell --out answer

        spinlearn fit genes.csv.gz --labels class --clip 100,16000 --log2 --top-variance 200

        spinlearn fit graph.mtx --labels-file labels.csv --labels class --max-seconds 60

        spinlearn fit atlas.h5ad --labels cell_type --novelty 0.5

        spinlearn fit cells.csv --labels type --method paper --temperatures 0:1:21 --seed 7

        spinlearn fit edges/ --edges --labels-file labels.csv --labels class --scheduler
        tcp://10.0.0.1:8786 --blocks 8 --parts /shared/parts
    """
    from spinlearn.io.folder import check_name, check_target, parent_folder
    from spinlearn.io.run_lock import only_run
    from spinlearn.workflows.settings import FitSettings

    check_name(out)
    if (blocks is not None and scheduler is None) or (parts is not None and blocks is None):
        raise InvalidInputError(
            "--blocks needs workers to live on, and --parts needs --blocks: give --scheduler "
            "ADDRESS --blocks N, or leave both out"
        )
    read = options.read_options(
        labels, id, features, labels_file, edges, delimiter, encoding, unlabelled, missing,
        neighbors, decimal,
    )  # fmt: skip
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
        small_groups=small_groups,
        label_strength=label_strength,
        scale=scale,
        clip=options.parse_clip(clip),
        log2=log2,
        top_variance=top_variance,
        tol=tol,
        max_seconds=max_seconds,
        n_jobs=jobs,
        n_blocks=blocks,
        parts=parts,
        checkpoint=_run_files(out)[0],
        checkpoint_seconds=checkpoint_seconds,
        seed=seed,
    )
    # The checkpoint stands beside the answer.
    with parent_folder(out), only_run(out), on_cluster(scheduler):
        check_target(out)
        _run(data, read, settings, out, resume, quiet, profile)


def _run(
    data: Path,
    read: ReadOptions,
    settings: FitSettings,
    out: Path,
    resume: bool,
    quiet: bool,
    profile: bool | None,
) -> None:
    """The run itself, alone in its folder."""
    from spinlearn.core.atomic_write import clear_leftovers
    from spinlearn.engines.checkpoint import refuse_any
    from spinlearn.io.answer_files import write_answer
    from spinlearn.io.folder import new_folder
    from spinlearn.io.reading import read_dataset
    from spinlearn.workflows.fitting import fit_dataset, more_time_helps
    from spinlearn.workflows.settings import saves_its_runs

    screen = console()
    checkpoint, finished = _run_files(out)
    clear_leftovers(checkpoint)
    if checkpoint.exists() and not resume:
        raise InvalidInputError(
            f"{checkpoint} holds an interrupted run: add --resume to go on with it, or delete it"
        )
    saved = checkpoint if checkpoint.exists() else finished
    if resume and not saves_its_runs(settings):
        refuse_any(saved, f"engine {settings.engine}")
    dataset = read_dataset(data, read)
    if dataset.n_points > MANY and settings.method != "paper":
        say(screen, f"{dataset.n_points:,} points: {_cost(dataset)}")
    if resume and not saved.exists():
        say(
            screen,
            f"nothing to resume ({checkpoint} is not there): starting from the beginning",
            "yellow",
        )
    kept = None
    with watched(screen, quiet) as watch:
        try:
            with _taken_up(saved if resume else checkpoint, checkpoint):
                result, messages = fit_dataset(dataset, settings, watch, watch.tell)
                watch.writing()
                with new_folder(out) as folder:
                    written = write_answer(folder, result, profile=profile)
        except StoppedError as error:
            if not checkpoint.exists():
                raise
            say(screen, "stopped before anything was measured; --resume goes on", "yellow")
            raise typer.Exit(watch.exit_code) from error
        # Before a word is printed: nothing that goes wrong then is to make the next run think that
        # this one was interrupted.
        if not watch.stopped:
            kept = _kept(checkpoint, finished, more_time_helps(result.equilibrium))
        watch.written()
        print_summary(screen, result, out, messages)
        for path in written:
            say(screen, f"wrote {out / path.name}")
        if watch.stopped:
            if checkpoint.exists():
                say(screen, "stopped early; --resume goes on from here", "yellow")
            raise typer.Exit(watch.exit_code)
        if kept is not None:
            say(
                screen,
                "more time would help: run again with --resume and a larger --max-seconds (the run "
                f"so far is kept in {kept}, {kept.stat().st_size / 1e6:.0f} MB; delete it if you "
                "will not)",
            )


@contextmanager
def _taken_up(saved: Path, checkpoint: Path) -> Iterator[None]:
    """Let a run go on from a saved one; where it does not come to save anything, all is as before.

    Parameters
    ----------
    saved : Path
        Of a run under way or of one that ended with an answer; it need not exist.
    checkpoint : Path
        Where the run looks for it.
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


def _kept(checkpoint: Path, finished: Path, more_time_helps: bool) -> Path | None:
    """Where the run is kept that has ended with an answer, if going on with it would help."""
    finished.unlink(missing_ok=True)  # of an earlier answer in the same folder
    if not more_time_helps:
        checkpoint.unlink(missing_ok=True)
    if not checkpoint.exists():
        return None
    checkpoint.replace(finished)
    return finished


def _cost(data: Dataset) -> Cost:
    """What the default answer will take."""
    from spinlearn.workflows.costs import predicted_cost

    n_features = 0 if data.points is None else data.points.shape[1]
    n_edges = None if data.graph is None else data.graph.n_edges
    n_classes = len({label for label in data.labels if label is not None})
    return predicted_cost(data.n_points, n_features, n_classes, n_edges)


def _run_files(out: Path) -> tuple[Path, Path]:
    """The checkpoint of a run under way, and of one that ended with an answer.

    Only the first may not be lost: the second is replaced by the next fit into the same folder, for
    instance after a few more labels.
    """
    whole = out.resolve()
    name = f".{whole.name}"
    return whole.with_name(f"{name}.checkpoint.npz"), whole.with_name(f"{name}.finished.npz")
