"""The application: its commands, and how errors leave it.

Exit codes: 0 done, 1 an error of the program, 2 bad input, 130 stopped by Ctrl-C. An error is one
line on stderr; --debug, anywhere on the line, shows where it came from.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from spinlearn import __version__
from spinlearn.cli import compare, demo, doctor, explore, fit, reproduce, suggest, suspects
from spinlearn.errors import SpinlearnError, StoppedError

BAD_INPUT, STOPPED, BUG = 2, 130, 1

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Classification from a handful of labels by statistical physics.

    Start with `spinlearn fit table.csv --labels COLUMN --out answer`.
    """


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


for command in (fit, explore, compare, suggest, suspects, reproduce, demo, doctor):
    app.command()(getattr(command, command.__name__.rpartition(".")[2]))


def run() -> None:
    """Run the command line and leave with an exit code."""
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        app()
    except KeyboardInterrupt:
        _leave("stopped: nothing was written", STOPPED, debug)
    except StoppedError as error:
        _leave(f"{error}: nothing was written", STOPPED, debug)
    except SpinlearnError as error:
        _leave(str(error), BAD_INPUT, debug)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except MemoryError:
        _leave(
            "not enough memory: use fewer points, a sparser graph or fewer temperatures",
            BAD_INPUT,
            debug,
        )
    except OSError as error:
        _leave(f"{error.strerror or error}: {error.filename or ''}", BAD_INPUT, debug)
    except Exception as error:
        _leave(
            f"unexpected {type(error).__name__}: {error} (an error of the program; --debug shows "
            "where, please report it)",
            BUG,
            debug,
        )


def _leave(message: str, code: int, debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exc()
    print("spinlearn: " + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(code)
