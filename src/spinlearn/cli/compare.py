"""`spinlearn compare`: all methods on one table."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from spinlearn.cli import options
from spinlearn.cli.console import console
from spinlearn.errors import InvalidInputError


def compare(
    data: options.Data,
    labels: options.Labels = None,
    truth: Annotated[
        str | None,
        typer.Option(
            help="Column of true classes. Default: keep only some of the labels and test on the "
            "others.",
            rich_help_panel=options.READING,
        ),
    ] = None,
) -> None:
    """Compare all methods on the labels of a file."""
    raise InvalidInputError(f"{data} {labels} {truth} {np.nan} {Table} {console()}")
