"""One run at a time into one folder.

    .NAME.lock        beside the folder NAME, with the process and the machine that write into it

Two runs would share one checkpoint and replace each other's answers. The operating system holds the
lock as long as its process lives: what a killed one left is taken over, whatever it says. Only that
of another machine is respected always, for not all shared disks pass locks on.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from spinlearn.errors import InvalidInputError
from spinlearn.io.folder import unwritable

MOST_DIGITS = 18  # of the number of a process
MOST_BYTES = 1000  # of a lock


@contextmanager
def only_run(target: Path) -> Iterator[None]:
    """Refuse to begin while another run writes into the folder `target`, and keep others off."""
    whole = target.resolve()
    path = whole.with_name(f".{whole.name}.lock")
    own = (str(os.getpid()), platform.node())
    holder = _holder(path)
    if holder is not None and holder[1] != own[1]:
        raise _refusal(target, path)
    lock = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # a run that was refused removes its own
        lock.acquire(blocking=False)
    except Timeout as error:
        raise _refusal(target, path) from error
    except OSError as error:
        raise unwritable(target, error) from error
    try:
        with suppress(OSError):  # no room: the lock holds all the same
            path.write_text("{}\n{}\n".format(*own), encoding="utf-8", newline="\n")
        yield
    finally:
        with suppress(OSError):
            # Another's may stand in the place of one that somebody deleted.
            if _holder(path) == own or path.stat().st_size == 0:
                path.unlink()
        lock.release()


def _holder(path: Path) -> tuple[str, str] | None:
    """Process and machine that a lock names; None where they are not told."""
    try:
        with open(path, "rb") as file:
            number, machine = file.read(MOST_BYTES).decode("utf-8").splitlines()[:2]
    except (OSError, ValueError):
        return None
    known = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS
    return (number, machine) if known else None


def _refusal(target: Path, path: Path) -> InvalidInputError:
    holder = _holder(path)
    who = "which has just begun" if holder is None else "process {} on {}".format(*holder)
    return InvalidInputError(
        f"{target} is being written by another run, {who}: wait for it, or name another folder "
        f"(if that process is no more, delete {path})"
    )
