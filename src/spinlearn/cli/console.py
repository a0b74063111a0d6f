"""What the commands share on screen: the console, the progress bar, Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from spinlearn.core.protocols import Progress as Report


def console() -> Console:
    """Where results go."""
    return Console(highlight=False)


def say(screen: Console, text: str, style: str | None = None) -> None:
    """One line of plain text: nothing in it is markup, nothing is folded."""
    screen.print(text, style=style, markup=False, soft_wrap=True)


class Watch:
    """A callback for engines: moves the bar, and asks the engine to stop after Ctrl-C."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task: TaskID = bar.add_task("graph", total=1.0, error="")
        self.stopped = False

    def __call__(self, report: Report) -> bool:
        """What an engine calls between blocks."""
        worst = report.worst_error
        self._bar.update(
            self._task,
            completed=report.fraction,
            description=report.phase,
            error="" if worst is None else f"worst error {worst:.3f}",
        )
        return self.stopped

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """First Ctrl-C: finish with what there is. Second: leave."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        self._bar.console.print("stopping with what there is; once more to leave at once")


@contextmanager
def watched(screen: Console, quiet: bool = False) -> Iterator[Watch]:
    """Show progress and catch Ctrl-C while the block runs."""
    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[error]}"),
    )
    with Progress(*columns, console=screen, transient=True, disable=quiet) as bar:
        watch = Watch(bar)
        before = signal.signal(signal.SIGINT, watch.interrupt)
        try:
            yield watch
        finally:
            signal.signal(signal.SIGINT, before)
