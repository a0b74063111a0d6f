"""One run at a time into one folder.

    .NAME.lock        beside the folder NAME, with the process and the machine that write into it

Two runs would share one checkpoint and replace each other's answers. The operating system holds a
lock on the file as long as its process lives: what a killed one left is taken over, whatever it
says. Only that of another machine is respected always, for not all shared disks pass locks on.
Where a file system has no locks, the process that the file names is looked for.
"""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from spinlearn.core.file_lock import try_lock
from spinlearn.core.processes import is_running
from spinlearn.errors import InvalidInputError

MOST_TRIES = 20  # others may come and go meanwhile
MOST_DIGITS = 18  # of the number of a process
MOST_BYTES = 1000  # of a lock


@contextmanager
def only_run(target: Path) -> Iterator[None]:
    """Refuse to begin while another run writes into the folder `target`, and keep others off."""
    whole = target.resolve()
    lock = whole.with_name(f".{whole.name}.lock")
    file = _taken(target, lock)
    try:
        yield
    finally:
        _give_up(file, lock)


def _taken(target: Path, lock: Path) -> FileIO:
    """The lock, made or taken over; it is held until it is closed."""
    for _ in range(MOST_TRIES):
        file, new = _opened(target, lock)
        if file is None:
            continue  # it has just ended
        try:
            locked = try_lock(file.fileno())
            if not _is_there(file, lock):
                file.close()
                continue
            held = _text(file)
            if locked is False or not (new or _is_dead(held, known_free=locked is True)):
                raise _refusal(target, lock, held)
        except BaseException:
            file.close()
            raise
        try:
            _sign(file)
        except OSError as error:
            _give_up(file, lock)
            raise _unwritable(target, error) from error
        return file
    raise InvalidInputError(
        f"{target} is wanted by several runs at once ({lock} comes and goes): name another folder"
    )


def _opened(target: Path, lock: Path) -> tuple[FileIO | None, bool]:
    """The file of a lock, open; None if it has just gone. Whether it is new."""
    try:
        return FileIO(lock, "x+"), True
    except FileExistsError:
        pass
    except FileNotFoundError:  # another run that was refused has removed what it made
        with suppress(OSError):
            lock.parent.mkdir(parents=True, exist_ok=True)
        return None, False
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        if not stat.S_ISREG(os.lstat(lock).st_mode):
            raise InvalidInputError(f"{lock} is not a file, so no lock of a run: delete it")
        return FileIO(lock, "r+"), False
    except FileNotFoundError:
        return None, False
    except OSError as error:  # another user's
        held = ""
        with suppress(OSError), FileIO(lock) as file:
            held = _text(file)
        raise _refusal(target, lock, held) from error


def _is_there(file: FileIO, lock: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(lock))
    except OSError:
        return False


def _text(file: FileIO) -> str:
    file.seek(0)
    return (file.read(MOST_BYTES) or b"").decode("utf-8", errors="replace").strip()


def _holder(held: str) -> tuple[str, str] | None:
    """Process and machine, None where they are not told."""
    number, _, machine = held.partition("@")
    known = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS
    return (number, machine) if known else None


def _is_dead(held: str, *, known_free: bool) -> bool:
    """Whether whoever signed a lock is no more; `known_free` if the system says that it is free."""
    holder = _holder(held)
    if holder is None:
        return known_free
    number, machine = holder
    if machine != platform.node():
        return False
    # Containers have the same numbers every time.
    return known_free or int(number) == os.getpid() or not is_running(int(number))


def _sign(file: FileIO) -> None:
    file.truncate(0)
    file.seek(0)
    file.write(f"{os.getpid()}@{platform.node()}\n".encode())


def _give_up(file: FileIO, lock: Path) -> None:
    """Remove the lock, if it is still this one; nothing that goes wrong is worth an error."""
    own = _is_there(file, lock)
    if sys.platform == "win32":  # where no open file can be removed
        file.close()
    if own:
        with suppress(OSError):
            lock.unlink()
    file.close()


def _refusal(target: Path, lock: Path, held: str) -> InvalidInputError:
    holder = _holder(held)
    who = "which has just begun" if holder is None else "process {} on {}".format(*holder)
    return InvalidInputError(
        f"{target} is being written by another run, {who}: wait for it, or name another folder "
        f"(if that process is no more, delete {lock})"
    )


def _unwritable(target: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"{target} cannot be written ({error.strerror or error}): name another folder, or make room"
    )
