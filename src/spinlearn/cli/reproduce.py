"""`spinlearn reproduce`: the paper's experiments."""

from __future__ import annotations

import os
from pathlib import Path

from spinlearn.cli import options
from spinlearn.cli.console import console, say, watched
from spinlearn.cli.scheduler import on_cluster

# A checkout may have the real data beside it; the package itself knows SPINLEARN_DATA only.
CHECKOUT_DATA = Path("../shared/data")


def reproduce(
    which: options.Experiment = "all",
    quick: options.Quick = False,
    out: options.ReproductionOut = Path("reproduction"),
    scale: options.ScaleName = None,
    data: options.ExpressionData = None,
    jobs: options.Jobs = -1,
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
    from spinlearn.paper import SCALES
    from spinlearn.paper import reproduce as run

    if scale is None:
        scale = "quick" if quick else "full"
    if scale not in SCALES:
        raise InvalidInputError(f"scale {scale!r} is unknown: use {', '.join(SCALES)}")
    if data is None and not os.environ.get("SPINLEARN_DATA") and CHECKOUT_DATA.is_dir():
        data = CHECKOUT_DATA
    screen = console()
    with on_cluster(scheduler), watched(screen) as watch:
        done = run(
            which, out, scale=SCALES[scale], seed=seed, n_jobs=jobs, data=data, callback=watch
        )
    for name, reason in done.skipped.items():
        say(screen, f"skipped {name}: {reason}", "yellow")
    for claim in done.claims:
        say(screen, f"{claim.verdict.value}: {claim.statement} ({claim.finding})")
    for path in done.files:
        say(screen, f"wrote {path}")
