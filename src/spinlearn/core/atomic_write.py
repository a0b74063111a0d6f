"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` when the block ends well, and vanishes otherwise."""
    target = Path(path)
    side = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(side, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(side, target)
    finally:
        side.unlink(missing_ok=True)
