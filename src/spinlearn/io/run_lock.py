"""One run at a time into one folder.

    .NAME.lock        beside the folder NAME, with the process and the machine that write into it

Two runs would share one checkpoint and replace each other's answers. The lock of a process that is
no more is taken over. Only what every file system does at once is relied on: a file is made only
where there is none, and a file is moved away by one process alone.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spinlearn.core.processes import is_running
from spinlearn.errors import InvalidInputError

MOST_TRIES = 5  # others may come and go meanwhile


@contextmanager
def only_run(target: Path) -> Iterator[None]:
    """Refuse to begin while another run writes into the folder `target`, and keep others off."""
    whole = target.resolve()
    lock = whole.with_name(f".{whole.name}.lock")
    own = f"{os.getpid()}@{platform.node()}"
    for _ in range(MOST_TRIES):
        try:
            _make(target, lock, own)
            break
        except FileExistsError:
            _clear_if_dead(target, lock)
    else:
        raise InvalidInputError(
            f"{target} is wanted by several runs at once ({lock} comes and goes): name another "
            "folder"
        )
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _make(target: Path, lock: Path, own: str) -> None:
    """A lock where there is none."""
    with open(lock, "x", encoding="utf-8", newline="\n"):
        pass
    try:
        lock.write_text(own + "\n", encoding="utf-8", newline="\n")
    except OSError as error:
        lock.unlink(missing_ok=True)
        raise InvalidInputError(
            f"{target} cannot be written ({error.strerror or error}): name another folder, or make "
            "room"
        ) from error


def _clear_if_dead(target: Path, lock: Path) -> None:
    """Refuse if the holder of a lock may live; else move the lock away, unless it has changed."""
    try:
        held = lock.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return  # it has just ended
    number, _, machine = held.partition("@")
    known = number.isascii() and number.isdigit()
    if not known or machine != platform.node() or _lives(int(number)):
        who = f"process {number} on {machine}" if known else "which has just begun"
        raise InvalidInputError(
            f"{target} is being written by another run, {who}: wait for it, or name another folder "
            f"(if that process is no more, delete {lock})"
        )
    taken = lock.with_name(f"{lock.name}.{os.getpid()}")
    try:
        os.replace(lock, taken)
    except FileNotFoundError:
        return
    there = taken.read_text(encoding="utf-8", errors="replace").strip()
    if there != held:  # that of a run that began meanwhile
        with suppress(FileExistsError):
            _make(target, lock, there)
    taken.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    """Whether another process than this one has that number."""
    return process != os.getpid() and is_running(process)
