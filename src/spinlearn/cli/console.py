"""What the commands share on screen: the console, the progress bar, Ctrl-C, the summary."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from spinlearn.answers.rule import STATUS_NAMES, Status
from spinlearn.model.protocols import Progress as Report

if TYPE_CHECKING:
    from spinlearn.io.result import Result

LONGEST = 100  # letters of a name in a table
MOST_ROWS = 20
COMPILING = "compiling (once per machine)"
MOST_PROPOSALS, LEAST_LIKELY = 3, 0.05  # that are printed


class _Screen(Console):
    """A console that goes on with its work when the reader of its output leaves, as `head` does."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = partial(_Screen, highlight=False)  # where results go


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


def print_summary(
    screen: Console,
    result: Result,
    folder: Path,
    messages: Sequence[str] = (),
    files: Sequence[Path] = (),
) -> None:
    """Print what a result says; `folder` is where it can be explored, `files` were written.

    First why it is not to be trusted, if so, and how good it is; then what was chosen, the calls,
    the phases, proposals, what happened on the way.
    """
    if result.warning is not None:
        say(screen, result.warning, "bold red")
    chance = result.law is not None and result.law.chance
    say(screen, result.headline(), "bold red" if chance else "bold")
    n_labels = int(np.sum(result.labels >= 0))
    where = "" if result.law is not None else f"; answer at T* = {result.temperature:.4g}"
    say(
        screen,
        f"{result.model.n_nodes} points, {n_labels} labels, {result.graph.n_edges} edges{where}",
    )
    for choice in result.choices:
        say(screen, choice)
    # The calls with their sizes: named classes, new ones, undecided ones, the largest first.
    decision = result.decision
    table = Table(
        Column("call", overflow="fold", min_width=12),
        Column("points", no_wrap=True, justify="right"),
        Column("confidence", no_wrap=True, justify="right"),
        Column("of them", overflow="fold"),
    )
    codes, sizes = np.unique(decision.outcomes, return_counts=True)
    order = np.lexsort((-sizes, codes >= decision.n_classes, codes < 0))
    for k in order[:MOST_ROWS]:
        status = decision.status[decision.outcomes == codes[k]]
        counts = np.bincount(status, minlength=len(Status))
        table.add_row(
            cell(result.name_of(int(codes[k]))),
            str(sizes[k]),
            f"{result.mean_confidence(int(codes[k])):.2f}",
            ", ".join(f"{counts[s]} {STATUS_NAMES[s]}" for s in Status if counts[s]),
        )
    rest = order[MOST_ROWS:]
    if len(rest):
        table.add_row(f"{len(rest)} more", str(sizes[rest].sum()), "", "")
    screen.print(table)
    for remark in result.kind_remarks():
        say(screen, remark)
    for part in result.phases:
        say(screen, f"T = {part.low:.4g} to {part.high:.4g}: {part.phase.value}")
    likely = [one for one in result.proposals if one.probability >= LEAST_LIKELY]
    for one in likely[:MOST_PROPOSALS]:
        say(screen, one.text(), "cyan")
    if likely:
        say(
            screen,
            f"if it is a class, spinlearn accept {quote(str(folder))} new:1 NAME; if not, reject",
            "cyan",
        )
    for message in messages:
        say(screen, f"note: {message}", "yellow")
    for path in files:
        say(screen, f"wrote {path}")
