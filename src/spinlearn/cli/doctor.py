"""`spinlearn doctor`: is everything in place?"""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from spinlearn.cli.console import console, say


def doctor() -> None:
    """Check versions, cores, the cache of compiled code, and answers against exact ones.

    Example:

        spinlearn doctor
    """
    from spinlearn.cli.health import checks

    screen = console()
    say(
        screen,
        "compiling, then testing for some seconds; the first time compiling "
        "takes about half a minute",
    )
    table = Table("check", "", "what was found")
    bad = 0
    for check in checks():
        bad += not check.good
        mark = Text("ok", "green") if check.good else Text("BAD", "bold red")
        table.add_row(Text(check.name), mark, Text(check.found))
    screen.print(table)
    if bad:
        say(screen, f"{bad} checks failed", "red")
        raise typer.Exit(1)
