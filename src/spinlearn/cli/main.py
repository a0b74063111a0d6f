"""The application: how its commands are run.

Exit codes: 0 done, 1 an error of the program, 2 bad input, 130 stopped by Ctrl-C. An error is one
line on stderr; --debug, anywhere on the line, shows where it came from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from spinlearn import __version__
from spinlearn.cli import others
from spinlearn.cli.compare import compare
from spinlearn.cli.console import printable
from spinlearn.cli.fit import accept, cluster, fit, reject
from spinlearn.cli.label import label
from spinlearn.cli.others import doctor
from spinlearn.errors import SpinlearnError, StoppedError

BAD_INPUT, STOPPED, BUG = 2, 130, 1
UsageError: Any = typer.BadParameter.__base__  # of click, which typer has in different places

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Classification from a handful of labels by statistical physics.

    Start with `spinlearn fit table.csv --labels COLUMN --out answer`.
    """


class _InterruptedError(Exception):
    """Ctrl-C on its way out: typer would leave without a word."""


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def run_command(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            raise _InterruptedError from None

    return run_command


for command in (
    fit, cluster, label, others.explore, accept, reject, others.rerun, others.proposals,
    others.suggest, others.suspects, compare, others.reproduce, others.demo, doctor,
):  # fmt: skip
    app.command()(_interruptible(command))


def run() -> None:
    """Run the command line and leave with an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names may hold letters that a terminal has not
            stream.reconfigure(errors="backslashreplace")
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [a for a in sys.argv[1:] if a != "--debug"] or ["--help"]
    if sys.argv[1] in ("--version", "-V"):
        print(__version__)
        raise SystemExit(0)
    try:
        # A command that ends returns None; shells complete what has this name.
        raise SystemExit(app(prog_name="spinlearn", standalone_mode=False) or 0)
    except UsageError as error:
        _leave(f"{error.format_message()} (--help explains)", BAD_INPUT, debug)
    except (_InterruptedError, KeyboardInterrupt):
        _leave("stopped: no answer was written", STOPPED, debug)
    except StoppedError as error:
        _leave(f"{error}: no answer was written", STOPPED, debug)
    except SpinlearnError as error:
        _leave(str(error), BAD_INPUT, debug)
    except MemoryError:
        remedy = "use fewer points, a sparser graph or fewer temperatures"
        _leave(f"not enough memory: {remedy}", BAD_INPUT, debug)
    except OSError as error:
        where = f": {error.filename}" if error.filename else " (in writing what is printed here?)"
        _leave(f"{error.strerror or error}{where}", BAD_INPUT, debug)
    except Exception as error:
        what = f"unexpected {type(error).__name__}: {error}"
        remedy = "an error of the program; --debug shows where, please report it"
        _leave(f"{what} ({remedy})", BUG, debug)


def _leave(message: str, code: int, debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exc()
    print("spinlearn: " + printable(" ".join(message.split())), file=sys.stderr)
    raise SystemExit(code)
