"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from spinlearn.core.side_files import leftovers, side_path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` when the block ends well, and vanishes otherwise.

    What killed processes left of earlier writings is cleared on the way.
    """
    target = Path(path)
    clear_leftovers(target)
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


def clear_leftovers(target: Path) -> None:
    """Remove what killed processes left of earlier writings of `target`."""
    for left in leftovers(target):
        left.unlink(missing_ok=True)
