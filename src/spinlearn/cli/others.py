"""The short commands: explore, rerun, proposals, suggest, suspects, reproduce, demo, doctor."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import joblib
import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spinlearn import __version__
from spinlearn.cli import options
from spinlearn.cli.console import (
    cell,
    check_table_file,
    console,
    print_answer,
    print_json,
    say,
    watched,
    write_table,
)
from spinlearn.cli.fit import on_cluster
from spinlearn.io.record import NEEDED, version_of
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.settings import RULES

# A checkout may have the real data beside it; the package itself knows SPINLEARN_DATA only.
CHECKOUT_DATA = Path("../shared/data")
# Columns of tables, keys of rows in JSON.
SUGGESTED = ("id", "call", "errors_removed", "points_settled")
SUSPECTED = ("id", "label", "p_label", "rather", "p_rather")


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
    from spinlearn.io.folder import check_target, write_answer
    from spinlearn.io.record import asked_for, described
    from spinlearn.io.result import model_file
    from spinlearn.workflows.rerun import made

    if out is not None:
        check_target(out)
    file = model_file(folder)
    folder = file.parent
    asked = asked_for("explore", file, temperature=temperature, temperatures=temperatures)
    result, _ = made(asked)
    said = described(result, asked)
    if out is None:
        result.explore(folder / "report.html", title=str(result.settings.get("data", "spinlearn")))
        written = [folder / "report.html"]
    else:
        written = write_answer(out, result, said=said)
    print_answer(console(), said, folder if out is None else out, written)


def rerun(
    folder: options.Folder,
    out: Annotated[Path | None, typer.Option(help="Write the answer of now here too.")] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Make an answer again from its run.json, and say what is different.

    The same data, options, seeds and versions give the same answer. Exit code 0 if inputs and
    answer are the same, 1 if not.

    Example:

        spinlearn rerun answer
    """
    from spinlearn.io.folder import only_run, write_answer
    from spinlearn.io.record import described
    from spinlearn.workflows.rerun import repeated

    screen = console(stderr=json)
    kept = nullcontext() if out is None else only_run(out, answer=True)
    with kept, watched(screen, quiet) as watch:
        result, notes, asked, different = repeated(folder, watch, watch.tell)
        if watch.stopped:
            say(screen, "stopped: nothing is compared")
            raise typer.Exit(watch.exit_code)
        if out is not None:
            watch.writing()
            said = described(result, asked, notes)
            write_answer(out, result, profile=asked["arguments"].get("profile"), said=said)
        watch.written()
    if json:
        print_json({"command": "rerun", "answer": folder, "out": out, **different})
    else:
        for path in different["inputs"]:
            say(screen, f"{path} is another file than it was", "yellow")
        for name, (then, now) in different["versions"].items():
            say(screen, f"{name} was {then or 'not there'}, and is {now or 'not there'}", "yellow")
        if different["other_points"]:
            say(screen, f"{different['other_points']} points are in one of the answers alone")
        calls, points, most = (different[name] for name in ("calls", "points", "probability"))
        what = f"{calls} of {points} calls are different, probabilities by up to {most:.4f}"
        say(screen, what if calls or most else f"the calls of {points} points are the same")
    if not different["same"]:
        raise typer.Exit(1)


def proposals(folder: options.Folder, json: options.Json = False) -> None:
    """List the groups that may be a class of their own, best first.

    Example:

        spinlearn proposals answer
    """
    from spinlearn.io.record import proposals as found_in
    from spinlearn.io.result import Result

    found = found_in(Result.load(folder), members=json)
    if json:
        print_json({"command": "proposals", "answer": folder, "proposals": found})
        return
    screen = console()
    for one in found:
        say(screen, one["text"])
    if not found:
        say(screen, "no group is proposed")


def suggest(
    folder: options.Folder,
    n: Annotated[int, typer.Option("-n", "--number", help="How many points.")] = 5,
    samples: Annotated[int, typer.Option(help="Labellings drawn at each temperature.")] = 256,
    seed: options.Seed = 0,
    out: options.TableFile = None,
    json: options.Json = False,
) -> None:
    """Say which points to label next: those whose labels remove most expected errors.

    The points of one list are chosen together, so that they do not repeat each other.

    Example:

        spinlearn suggest answer -n 5
    """
    from spinlearn.advice import suggest as choose
    from spinlearn.io.result import Result

    check_table_file(out, SUGGESTED)
    result = Result.load(folder)
    ids, names, n_free = result.ids, result.names, len(result.model.free_nodes)
    rows: list[dict[str, Any]] = [
        dict(zip(SUGGESTED, (ids[k], str(names[k]), one.gain, one.reach), strict=True))
        for one in choose(result, n, n_samples=samples, seed=seed)
        for k in (one.point,)
    ]
    write_table(out, SUGGESTED, rows)
    if json:
        print_json({"command": "suggest", "answer": folder, "unlabelled": n_free, "rows": rows})
        return
    table = Table("label next", "now called", "errors removed", "points settled")
    for point, call, gain, reach in map(dict.values, rows):
        table.add_row(cell(point), cell(call), f"{gain:.1f}", str(reach))
    screen = console()
    screen.print(table)
    say(screen, f"expected, of {n_free} points without a label")


def suspects(
    folder: options.Folder,
    margin: Annotated[
        float, typer.Option(help="How much more probable another class must be than the label.")
    ] = 0.5,
    out: options.TableFile = None,
    json: options.Json = False,
) -> None:
    """List given labels that the rest of the data disagrees with.

    Each label is left out in turn, and the others say what the point should be.

    Example:

        spinlearn suspects answer
    """
    from spinlearn.advice import suspects as find
    from spinlearn.io.result import Result

    check_table_file(out, SUSPECTED)
    result = Result.load(folder)
    ids, names, n_labels = result.ids, result.classes.astype(str), int((result.labels >= 0).sum())
    rows: list[dict[str, Any]] = []
    for one in find(result, margin=margin):
        given, instead = str(names[one.given]), str(names[one.instead])
        values = (ids[one.point], given, one.p_given, instead, one.p_instead)
        rows.append(dict(zip(SUSPECTED, values, strict=True)))
    write_table(out, SUSPECTED, rows)
    if json:
        print_json({"command": "suspects", "answer": folder, "labels": n_labels, "rows": rows})
        return
    screen = console()
    if not rows:
        say(screen, f"none of the {n_labels} labels is suspect")
        return
    table = Table("suspect", "label", "probability", "rather", "probability")
    for point, given, p_given, instead, p_instead in map(dict.values, rows):
        shown = (cell(given), f"{p_given:.2f}", cell(instead), f"{p_instead:.2f}")
        table.add_row(cell(point), *shown)
    screen.print(table)
    say(screen, f"{len(rows)} of {n_labels} labels, each judged by the others")


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
    from spinlearn.reproduction import SCALES
    from spinlearn.reproduction import reproduce as run

    if scale is None:
        scale = "quick" if quick else "full"
    if scale not in SCALES:
        raise InvalidInputError(f"scale {scale!r} is unknown: use {', '.join(SCALES)}")
    if data is None and not os.environ.get("SPINLEARN_DATA") and CHECKOUT_DATA.is_dir():
        data = CHECKOUT_DATA
    screen = console()
    shared = nullcontext() if scheduler is None else on_cluster(scheduler)
    with shared, watched(screen) as watch:
        done = run(
            which, out, scale=SCALES[scale], seed=seed, n_jobs=jobs, data=data, callback=watch
        )
    for name, reason in done.skipped.items():
        say(screen, f"skipped {name}: {reason}", "yellow")
    for claim in done.claims:
        say(screen, f"{claim.verdict}: {claim.statement} ({claim.finding})")
    for path in done.files:
        say(screen, f"wrote {path}")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the report.")] = Path(
        "demo"
    ),
) -> None:
    """Run the paper's figures 1 and 2 on the built-in toy set, exactly."""
    from spinlearn.reproduction.demo import run_demo

    screen = console()
    with watched(screen) as watch:
        result = run_demo(out, callback=watch)
    table = Table("T", "errors with 7 labels", "errors without labels")
    for row in result.table:
        table.add_row(*row)
    screen.print(table)
    say(
        screen,
        f"{result.n_points} points, exact at {len(result.table)} temperatures in "
        f"{result.seconds:.1f} s; recommended T* = {result.recommended:g}",
    )
    for path in result.files:
        say(screen, f"wrote {path}")


PACKAGE = Path(__file__).parents[1]
OPTIONAL = ("typer", "rich", "matplotlib", "pandas", "pyarrow", "anndata")
SELF_TEST_TOL = 2e-3  # some seconds of work, however busy the machine is
TEMPERATURES = (0.7, 1.5)
MAX_OFF = 0.02  # of a probability; with that tolerance it comes within 0.005
MAX_Z = 6.0
LEAST_ERROR = 1e-4  # standard errors below are themselves uncertain


def doctor(
    compile: Annotated[
        bool,
        typer.Option(
            "--compile", help="Compile all kernels beforehand instead, as for a container."
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Check versions, cores, the cache of compiled code, and answers against exact ones.

    With --compile no later command has to compile, on the same kind of processor and for up to 32
    classes: it takes a minute or two, and seconds where all is there already.

    Examples:

        spinlearn doctor

        spinlearn doctor --compile
    """
    screen = console(stderr=json)
    if compile:
        _compile(screen, json)
        return
    say(
        screen,
        "compiling, then testing for some seconds; the first time compiling "
        "takes about half a minute",
    )
    table, found = Table("check", "", "what was found"), list(checks())
    bad = sum(not check.good for check in found)
    for check in found:
        mark = Text("ok", "green") if check.good else Text("BAD", "bold red")
        table.add_row(Text(check.name), mark, Text(check.found))
    if json:
        said = {"good": not bad, "checks": [check._asdict() for check in found]}
        print_json({"command": "doctor", **said})
    else:
        screen.print(table)
    if bad:
        say(screen, f"{bad} checks failed", "red")
        raise typer.Exit(1)


def _compile(screen: Console, json: bool) -> None:
    """Compile what commands can meet, and say how much that was."""
    from spinlearn.kernels.cache import met
    from spinlearn.workflows.compiling import compile_all

    began = perf_counter()
    with watched(screen) as watch:
        compile_all(watch)
    if watch.stopped:
        raise typer.Exit(watch.exit_code)
    compiled = sum(now for _, now in met().values())
    seconds, cache = perf_counter() - began, _cache()
    if json:
        said = {"good": cache.good, "compiled": compiled, "seconds": seconds}
        print_json({"command": "doctor", **said, "checks": [cache._asdict()]})
    else:
        say(screen, f"{compiled} kernels compiled in {seconds:.0f} s: {cache.found}")


class Check(NamedTuple):
    """One finding."""

    name: str
    good: bool
    found: str


def checks() -> Iterator[Check]:
    """All checks, one after another."""
    yield Check("spinlearn", True, f"{__version__} in {PACKAGE}")
    yield Check("python", sys.version_info >= (3, 11), f"{platform.python_version()}")
    for name in NEEDED:
        found = version_of(name)
        yield Check(name, found is not None, found or "missing: pip install spinlearn")
    present = [f"{name} {version_of(name)}" for name in OPTIONAL if version_of(name)]
    absent = [name for name in OPTIONAL if not version_of(name)]
    yield Check("optional", True, ", ".join(present + [f"no {name}" for name in absent]))
    yield Check("cores", True, f"{joblib.cpu_count()} of {os.cpu_count()}")
    yield _cache()
    # What the tests use is compiled first, so that they measure answers and not the compiler.
    began = perf_counter()
    _exact()
    _sample(_ladder(10, 2), tol=1.0)
    yield Check("compiled code", True, f"ready after {perf_counter() - began:.1f} s")
    yield _exact()
    yield _sampled()


def _cache() -> Check:
    """Whether compiled kernels can be kept; without that every start compiles again."""
    from spinlearn.kernels.cache import folder as own_folder

    place = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(place) if place else own_folder() or PACKAGE / "kernels" / "__pycache__"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Check(
            "numba cache", False, f"{folder}: {error.strerror}; set NUMBA_CACHE_DIR to a folder"
        )
    size = sum(f.stat().st_size for f in folder.rglob("*.nb*"))
    return Check("numba cache", True, f"{folder}, {size / 1e6:.1f} MB")


def _exact() -> Check:
    from spinlearn.engines import Enumeration, JunctionTree

    model = _ladder(5, 3)
    temperatures = [0.0, 0.5, 1.0, np.inf]
    listed = Enumeration().run(model, temperatures)
    found = JunctionTree().run(model, temperatures)
    worst = float(np.abs(found.marginals - listed.marginals).max())
    return Check(
        "junction tree", worst < 1e-10, f"within {worst:.0e} of enumeration, {model.n_nodes} points"
    )


def _sampled() -> Check:
    from spinlearn.engines import JunctionTree

    model = _ladder(10, 2)
    began = perf_counter()
    found = _sample(model, tol=SELF_TEST_TOL)
    seconds = perf_counter() - began
    return judged(found, JunctionTree().run(model, TEMPERATURES), seconds)


def judged(found: Equilibrium, exact: Equilibrium, seconds: float) -> Check:
    """Whether sampled probabilities are exact up to their own errors, and those are small."""
    assert found.std_error is not None  # it samples
    free = exact.model.free_nodes
    difference = np.abs(found.marginals - exact.marginals)[:, free]
    off = float(difference.max())
    z = float(np.max(difference / np.maximum(found.std_error[:, free], LEAST_ERROR)))
    return Check(
        "multicanonical",
        off < MAX_OFF and z < MAX_Z,
        f"within {off:.4f} of exact (allowed {MAX_OFF:g}), {z:.1f} standard errors (allowed "
        f"{MAX_Z:g}), in {seconds:.1f} s",
    )


def _sample(model: PottsModel, *, tol: float) -> Equilibrium:
    from spinlearn.engines import Multicanonical

    return Multicanonical(tol=tol).run(model, TEMPERATURES, seed=0)


def _ladder(length: int, n_states: int) -> PottsModel:
    """Two coupled rows with a label at each end."""
    rungs = [(2 * k, 2 * k + 1) for k in range(length)]
    rails = [(k, k + 2) for k in range(2 * length - 2)]
    clamped = np.full(2 * length, -1)
    clamped[0], clamped[-1] = 0, 1
    return PottsModel(Graph(2 * length, rungs + rails), n_states, clamped=clamped)
