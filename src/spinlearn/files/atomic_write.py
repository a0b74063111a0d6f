"""Files that appear whole or not at all.

    .NAME.PID@HOST.part        beside NAME, written by that process and renamed at its end

A name tells whose it is, so that the next process clears what killed ones left, and leaves alone
what others are writing.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that replaces `path` when the block ends well; what killed ones left is cleared."""
    target = Path(path)
    for left in leftovers(target):
        left.unlink(missing_ok=True)
    side = side_path(target)
    try:
        with open(side, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(side, target)
    except OSError as error:
        # A full disk does not say where it is full.
        if error.errno is not None and error.filename in (None, str(side)):
            error.filename = str(target)
        raise
    finally:
        side.unlink(missing_ok=True)


def side_path(target: Path) -> Path:
    """Where this process prepares `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}@{platform.node()}{PART}")


def leftovers(target: Path, more: str = "") -> Iterator[Path]:
    """What ended processes of this machine left beside `target`; `more` follows PART in names."""
    ending = re.escape(platform.node() + PART + more)
    name = re.compile(rf"\.{re.escape(target.name)}\.(\d+)@{ending}")
    for path in sorted(target.parent.iterdir()):
        found = name.fullmatch(path.name)
        # A number is given again: containers have the same one every time.
        if found and (int(found[1]) == os.getpid() or not _is_running(int(found[1]))):
            yield path


def _is_running(process: int) -> bool:
    """Whether a process of this machine runs, whoever owns it; yes where that cannot be asked."""
    if os.name != "posix":  # elsewhere this call may end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # no such process, no number of one
        return False
    except OSError:
        pass  # it is another user's
    return True
