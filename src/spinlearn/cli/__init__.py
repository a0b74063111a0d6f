"""The command line, one file per command. `run` is the entry point."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line and leave with an exit code."""
    try:
        from spinlearn.cli.main import run as run_app
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        # The library works without its command line.
        print(f"the command line needs {error.name}: pip install 'spinlearn[app]'", file=sys.stderr)
        raise SystemExit(2) from None
    run_app()
