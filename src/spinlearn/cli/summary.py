"""The few lines printed after a fit: classes, new classes here and elsewhere, phases, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from spinlearn.analysis.phases import phases
from spinlearn.cli.console import cell, say
from spinlearn.decision import STATUS_NAMES, Status, trusted_rows
from spinlearn.hints import hint_text, new_classes_elsewhere
from spinlearn.io.result import Result
from spinlearn.label_table import answer_grid

MOST_ROWS = 20
SMALL = 3  # new classes below this are counted, not listed


def print_summary(
    screen: Console, result: Result, folder: Path, messages: Sequence[str] = ()
) -> None:
    """Print what a result says; `folder` is where it can be explored."""
    equilibrium, found = answer_grid(result)
    answer_row = found.nearest_row(result.temperature_)
    decision = found.decision(answer_row)
    n_labels = decision.count(Status.LABELLED)
    model = result.model_
    kind = "exact" if result.equilibrium_.exact else "sampled"
    say(
        screen,
        f"{model.n_nodes} points, {n_labels or int(np.sum(result.labels >= 0))} labels, "
        f"{model.graph.n_edges} edges; {kind} by {result.equilibrium_.engine}; "
        f"answer at T* = {result.temperature_:.4g}",
    )
    present = [s for s in Status if decision.count(s)]
    numbers = [
        Column(name, no_wrap=True) for name in ("points", *(STATUS_NAMES[s] for s in present))
    ]
    table = Table(Column("call", overflow="fold", min_width=12), *numbers)
    codes, sizes = np.unique(decision.outcomes, return_counts=True)
    order = np.lexsort((-sizes, codes >= decision.n_classes, codes < 0))
    small = [k for k in order if codes[k] >= decision.n_classes and sizes[k] < SMALL]
    for k in [k for k in order if k not in small][:MOST_ROWS]:
        here = decision.outcomes == codes[k]
        counts = [int(np.sum(here & (decision.status == s))) for s in present]
        name = cell(result.name_of(int(codes[k])))
        table.add_row(name, str(sizes[k]), *[str(c) if c else "" for c in counts])
    screen.print(table)
    if small:
        points = int(sum(sizes[k] for k in small))
        say(screen, f"and {len(small)} new classes of fewer than {SMALL} points ({points} points)")
    for part in phases(result.equilibrium_).intervals():
        say(screen, f"T = {part.low:.4g} to {part.high:.4g}: {part.phase.value}")
    for hint in new_classes_elsewhere(found, answer_row, trusted_rows(equilibrium)):
        text = hint_text(hint, result.classes_, found.confused_sets)
        look = f"spinlearn explore {quote(str(folder))} --temperature {hint.temperature:.4g}"
        say(screen, f"{text}: {look} shows them", "cyan")
    for message in messages:
        say(screen, f"note: {message}", "yellow")
