"""The few lines printed after a fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from spinlearn.answers.rule import STATUS_NAMES, Status
from spinlearn.cli.console import cell, say
from spinlearn.io.result import Result

MOST_ROWS = 20
MOST_PROPOSALS, LEAST_LIKELY = 3, 0.05  # that are printed


def print_summary(
    screen: Console, result: Result, folder: Path, messages: Sequence[str] = ()
) -> None:
    """Print what a result says; `folder` is where it can be explored.

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
    screen.print(_calls(result))
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


def _calls(result: Result) -> Table:
    """The calls with their sizes: named classes, new ones, undecided ones, the largest first."""
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
        here = decision.outcomes == codes[k]
        counts = np.bincount(decision.status[here], minlength=len(Status))
        table.add_row(
            cell(result.name_of(int(codes[k]))),
            str(sizes[k]),
            f"{result.mean_confidence(int(codes[k])):.2f}",
            ", ".join(f"{counts[s]} {STATUS_NAMES[s]}" for s in Status if counts[s]),
        )
    rest = order[MOST_ROWS:]
    if len(rest):
        table.add_row(f"{len(rest)} more", str(sizes[rest].sum()), "", "")
    return table
