"""Names beside a target under which it is prepared, and what killed processes left there.

    .NAME.PID@HOST.part        beside NAME, written by that process and renamed at its end

A name tells whose it is, so that the next process can clear what those that are no more left, and
leaves alone what others are writing.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

from spinlearn.core.processes import is_running

PART = ".part"


def side_path(target: Path) -> Path:
    """Where this process prepares `target`."""
    return target.with_name(f".{target.name}.{os.getpid()}@{platform.node()}{PART}")


def leftovers(target: Path, more: str = "") -> Iterator[Path]:
    """What processes of this machine that are no more left beside `target`.

    Parameters
    ----------
    target : Path
    more : str
        What follows `PART` in the names asked for.
    """
    ending = re.escape(platform.node() + PART + more)
    name = re.compile(rf"\.{re.escape(target.name)}\.(\d+)@{ending}")
    for path in sorted(target.parent.iterdir()):
        found = name.fullmatch(path.name)
        if found is None:
            continue
        process = int(found[1])
        # A number is given again: containers have the same one every time.
        if process == os.getpid() or not is_running(process):
            yield path
