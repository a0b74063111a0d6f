"""What the commands share on screen: the console, the progress bar, Ctrl-C, the summary."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from spinlearn.answers.table import LabelTable, safe_name
from spinlearn.errors import InvalidInputError
from spinlearn.files.atomic_write import atomic_write
from spinlearn.io.record import SCHEMA, as_json
from spinlearn.model.protocols import Progress as Report

LONGEST = 100  # letters of a name in a table
MOST_ROWS = 20
COMPILING = "compiling (once per machine)"
MOST_PROPOSALS, LEAST_LIKELY = 3, 0.05  # that are printed


class _Screen(Console):
    """A console that goes on with its work when the reader of its output leaves, as `head` does."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _leave_stdout()


def _leave_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = partial(_Screen, highlight=False)  # where results go; with stderr=True all but JSON


def printable(text: str) -> str:
    """Text in which characters that would steer the terminal are written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cell(text: str) -> Text:
    """A user's text in a table: nothing in it is markup, and it takes a few lines at most."""
    shown = printable(text)
    return Text(shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…")


def ask(questions: Sequence[str]) -> None:
    """What only the user can answer, a line each, where a pipe does not take it along."""
    for question in questions:
        print("spinlearn: " + printable(question), file=sys.stderr)


def say(screen: Console, text: str, style: str | None = None) -> None:
    """One line of plain text: nothing in it is markup, nothing is folded."""
    screen.print(printable(text), style=style, markup=False, soft_wrap=True)


@dataclass
class Watch:
    """A callback for engines: moves the bar, and asks the engine to stop after Ctrl-C.

    `writing` says that nothing is left to stop: the first Ctrl-C then changes nothing. `written`
    says that the answer stands: Ctrl-C then only cuts short what is printed.
    """

    _bar: Progress
    _task: TaskID
    stopped: bool = False
    exit_code: int = 0
    _interrupted: bool = False
    _writing: bool = False
    _written: bool = False
    _phase: str = "graph"  # that was reported last

    def __call__(self, report: Report) -> bool:
        """What an engine calls between blocks."""
        worst, self._phase = report.worst_error, report.phase
        self._bar.update(
            self._task,
            completed=report.fraction,
            description=report.phase,
            error="" if worst is None else f"worst error {worst:.3f}",
        )
        return self.stopped

    def compiling(self, begun: bool) -> None:
        """Numba compiles a kernel, or has done so: the phase under way is shown again."""
        self._bar.update(self._task, description=COMPILING if begun else self._phase)

    def tell(self, text: str) -> None:
        """What cannot wait for the end."""
        say(self._bar.console, f"note: {text}", "yellow")

    def writing(self) -> None:
        """The answer is known and goes to its files."""
        self._writing, self._phase = True, "writing"
        self._bar.update(self._task, completed=1.0, description=self._phase, error="")

    def written(self) -> None:
        """The answer is in its files, and the bar gives way to what is said of it."""
        self._written = True
        self._bar.stop()

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """First Ctrl-C, or word to end: finish with what there is. Second: leave."""
        self.exit_code = 128 + signum  # as shells have it
        if self._written:
            raise typer.Exit(self.exit_code)
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        if self._writing:
            say(self._bar.console, "writing the answer; once more to leave at once")
        else:
            self.stopped = True
            say(self._bar.console, "stopping with what there is; once more to leave at once")


@contextmanager
def watched(screen: Console, quiet: bool = False) -> Iterator[Watch]:
    """Show progress and catch Ctrl-C while the block runs."""
    from spinlearn.kernels.cache import compiling

    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[error]}"),
    )
    with Progress(*columns, console=screen, transient=True, disable=quiet) as bar:
        watch = Watch(bar, bar.add_task(Watch._phase, total=1.0, error=""))
        # Batch systems and `timeout` send SIGTERM before they kill.
        before = {s: signal.signal(s, watch.interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            with compiling(watch.compiling):
                yield watch
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)


def print_json(values: Mapping[str, Any]) -> None:
    """One object on standard output; a reader that leaves before its end stops nothing."""
    try:
        sys.stdout.write(as_json({"schema": SCHEMA, **values}))
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_stdout()


def print_answer(
    screen: Console,
    said: Mapping[str, Any],
    folder: Path,
    files: Sequence[Path] = (),
    json: bool = False,
    told: Sequence[str] = (),
    **more: Any,
) -> None:
    """Print what is `described` of an answer, as a summary, or with `more` as JSON.

    `folder` is where it can be explored, `files` were written; notes that were `told` already are
    not told again.

    First why it is not to be trusted, if so, and how good it is; then what was chosen, the calls,
    the phases, proposals, what happened on the way.
    """
    if json:
        print_json({**said, "answer": folder, "files": files, **more})
        return
    if said["warning"] is not None:
        say(screen, said["warning"], "bold red")
    say(screen, said["headline"], "bold red" if said["chance"] else "bold")
    temperature = said["temperature"]
    where = "" if temperature is None else f"; answer at T* = {temperature:.4g}"
    say(
        screen,
        f"{said['points']} points, {said['labels']} labels, {said['edges']} edges{where}",
    )
    for choice in said["choices"]:
        say(screen, choice)
    table = Table(
        Column("call", overflow="fold", min_width=12),
        Column("points", no_wrap=True, justify="right"),
        Column("confidence", no_wrap=True, justify="right"),
        Column("of them", overflow="fold"),
    )
    for one in said["calls"][:MOST_ROWS]:
        table.add_row(
            cell(one["call"]),
            str(one["points"]),
            _number(one["confidence"], ".2f"),
            ", ".join(f"{count} {status}" for status, count in one["statuses"].items()),
        )
    rest = said["calls"][MOST_ROWS:]
    if rest:
        table.add_row(f"{len(rest)} more", str(sum(one["points"] for one in rest)), "", "")
    screen.print(table)
    for remark in said["remarks"]:
        say(screen, remark)
    for part in said["phases"]:
        low, high = (_number(part[end], ".4g", "inf") for end in ("low", "high"))
        say(screen, f"T = {low} to {high}: {part['phase']}")
    likely = [one for one in said["proposals"] if one["probability"] >= LEAST_LIKELY]
    for one in likely[:MOST_PROPOSALS]:
        say(screen, one["text"], "cyan")
    if likely:
        say(
            screen,
            f"if it is a class, spinlearn accept {quote(str(folder))} new:1 NAME; if not, reject",
            "cyan",
        )
    for note in (one for one in said["notes"] if one not in told):
        say(screen, f"note: {note}", "yellow")
    for path in files:
        say(screen, f"wrote {path}")


def _number(value: float | None, form: str, otherwise: str = "") -> str:
    return otherwise if value is None else format(value, form)


Rows = Sequence[Mapping[str, Any]]  # of a table, plain values by column


def check_table_file(path: Path | None, columns: Sequence[str]) -> None:
    """Refuse a file that could not be written, or that holds something else than such a table."""
    if path is None:
        return
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder: name a file for the table")
    if not path.resolve().parent.is_dir():
        raise InvalidInputError(f"{path} cannot be written: its folder does not exist")
    heading = ",".join(columns).encode()
    if path.exists():
        with open(path, "rb") as file:
            if not file.read(len(heading)) == heading:
                raise InvalidInputError(
                    f"{path} exists and holds no earlier table of this command: name another "
                    "file, so that nothing of yours is replaced"
                )


def write_table(path: Path | None, columns: Sequence[str], rows: Rows) -> None:
    """Write a table to a CSV file, if one was named."""
    if path is not None:
        lines = tuple(tuple(_text(row[name]) for name in columns) for row in rows)
        with atomic_write(path) as file:
            file.write(LabelTable(tuple(columns), lines).csv().encode())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return safe_name(value)
    return _number(value, ".6g") if isinstance(value, float) else str(value)
