"""The command line, one file per command. `run` is the entry point."""

from __future__ import annotations

import sys

try:
    import rich
    import typer
except ImportError:  # the library works without its command line
    print("the command line needs typer and rich: pip install 'spinlearn[app]'", file=sys.stderr)
    raise SystemExit(2) from None

from spinlearn.cli.main import app, run

__all__ = ["app", "rich", "run", "typer"]
