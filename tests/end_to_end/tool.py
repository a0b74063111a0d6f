"""Run the command line as a user does: in a fresh process."""

import contextlib
import csv
import errno
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from spinlearn.cli import run


def spinlearn(*arguments: object, cwd: Path, timeout: float = 1200) -> subprocess.CompletedProcess:
    """`spinlearn ...`, whatever it returns."""
    return subprocess.run(
        [sys.executable, "-m", "spinlearn", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


SIGNALLED = """
import importlib, os, sys

module, name, calls, kind, times, *arguments = sys.argv[1:]
place, left = importlib.import_module(module), int(calls)
whole = getattr(place, name)

def called(*given, **named):
    global left
    found = whole(*given, **named)
    left -= 1
    if left == 0:
        for _ in range(int(times)):
            os.kill(os.getpid(), int(kind))
    return found

setattr(place, name, called)
sys.argv = ["spinlearn", *arguments]
from spinlearn.cli import run
run()
"""


def spinlearn_signalled(
    *arguments: object, cwd: Path, after: str, calls: int = 1, kind: int = signal.SIGKILL,
    times: int = 1,
) -> subprocess.CompletedProcess:  # fmt: skip
    """`spinlearn ...`, which gets a signal at the end of a call of `after`, "module:function".

    So it comes at the same point of the work, however fast that goes.
    """
    words = (*after.split(":"), calls, int(kind), times, *arguments)
    return subprocess.run(
        [sys.executable, "-c", SIGNALLED, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def until(condition: Callable[[], bool], most_seconds: float = 600) -> None:
    """Wait for something that a run will do, however busy the machine is."""
    deadline = time.monotonic() + most_seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def no_room(*given, **settings) -> None:
    """What a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def two_rows(half: int, first: str = "left", second: str = "right") -> str:
    """A table of two rows of points that a label each holds."""
    lines = ["id,kind,a,b"]
    for k in range(2 * half):
        name = {0: first, half: second}.get(k, "")
        lines.append(f"p{k},{name},{k // half * 9}.5,{k % half / 4}")
    return "\n".join(lines) + "\n"


def read_rows(path: Path) -> list[dict[str, str]]:
    """A CSV file as a list of dicts."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def leftovers(folder: Path) -> set[str]:
    """Everything in a folder, hidden files included."""
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def worked(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    """`spinlearn_here`, which must end well."""
    done = spinlearn_here(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


def spinlearn_here(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    """The same in this process, which saves the seconds of a fresh one's imports."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = sys.argv
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ["spinlearn", *map(str, arguments)]
        try:
            run()
        except SystemExit as left:
            code = left.code
        finally:
            sys.argv = before
    return subprocess.CompletedProcess(sys.argv, code, out.getvalue(), err.getvalue())
