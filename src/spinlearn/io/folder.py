"""Output folders that appear whole or not at all.

Files are written into a hidden folder beside the target, which is renamed into place at the end;
whatever goes wrong before leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spinlearn.errors import InvalidInputError

MODEL = "model.npz"  # marks a folder as ours


def check_target(target: Path) -> None:
    """Refuse a target that could not be written, or that holds something else."""
    if target.exists():
        if not target.is_dir():
            raise InvalidInputError(f"{target} is a file: name a folder for the results")
        if any(target.iterdir()) and not (target / MODEL).is_file():
            raise InvalidInputError(
                f"{target} is not empty and holds no earlier result: name another folder, so that "
                "nothing of yours is replaced"
            )
    try:
        with _side_folder(target):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"{target} cannot be written ({error.strerror or error}): name another folder"
        ) from error


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to write into that becomes `target` when the block ends well."""
    check_target(target)
    try:
        with _side_folder(target) as side:
            yield side
            old = None
            if target.exists():
                old = side.with_name(side.name + ".old")
                os.replace(target, old)
            try:
                os.replace(side, target)
            except OSError:
                if old is not None:
                    os.replace(old, target)
                raise
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise InvalidInputError(
            f"{target} cannot be written ({error.strerror or error}, {error.filename}): name "
            "another folder, or make room"
        ) from error


@contextmanager
def parent_folder(target: Path) -> Iterator[None]:
    """Make the missing parents of `target`; those that are still empty at the end go again."""
    folder = target.resolve().parent
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    try:
        for path in reversed(missing):
            path.mkdir()
        yield
    finally:
        for path in missing:  # innermost first
            try:
                path.rmdir()
            except OSError:
                break


@contextmanager
def _side_folder(target: Path) -> Iterator[Path]:
    whole = target.resolve()
    side = whole.with_name(f".{whole.name}.{os.getpid()}.part")
    with parent_folder(target):
        try:
            side.mkdir()
            yield side
        finally:
            shutil.rmtree(side, ignore_errors=True)
