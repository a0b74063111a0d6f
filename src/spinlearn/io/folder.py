"""Output folders that appear whole or not at all.

Files are written into a hidden folder beside the target, which is renamed into place at the end;
whatever goes wrong before leaves nothing behind. Files of an earlier answer go, any others in the
folder stay. What a killed process left beside the target is cleared by the next one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from spinlearn.core.atomic_write import leftovers, side_path
from spinlearn.errors import InvalidInputError
from spinlearn.io.answer_files import ANSWER_FILES

MODEL = "model.npz"  # marks a folder as ours
OLD = ".old"


def check_name(target: Path) -> None:
    """Refuse a name that leads nowhere, or that libraries which write files do not take."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            target.stat()  # of links in a circle: an error of one kind in every version of Python
    except OSError as error:
        raise unwritable(target, error) from error
    try:
        str(target.resolve()).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{target} has letters in its name that are not UTF-8: name another folder"
        ) from error


def check_target(target: Path) -> None:
    """Refuse a target that could not be written, or that holds something else."""
    check_name(target)
    if os.path.ismount(target.resolve()):
        raise InvalidInputError(
            f"{target} is where a disk is mounted, and cannot be replaced as a whole: name a "
            f"folder inside it, {target / 'answer'} for instance"
        )
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
        raise unwritable(target, error) from error


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to write into that becomes `target` when the block ends well."""
    check_target(target)
    whole = target.resolve()  # a link stays one
    try:
        with _side_folder(target) as side:
            yield side
            old = side.with_name(side.name + OLD)
            if whole.exists():
                os.replace(whole, old)
            try:
                os.replace(side, whole)
            finally:
                _put_back(old, whole)
    except OSError as error:
        raise unwritable(target, error) from error


@contextmanager
def new_files(target: Path) -> Iterator[Path]:
    """A folder to write into, all files of which go into `target` when the block ends well."""
    check_name(target)
    whole = target.resolve()  # a link stays one
    try:
        with _side_folder(target) as side:
            yield side
            whole.mkdir(exist_ok=True)
            for path in sorted(side.iterdir()):
                os.replace(path, whole / path.name)
    except OSError as error:
        raise unwritable(target, error) from error


def unwritable(target: Path, error: OSError) -> InvalidInputError:
    """What is said where the system refuses to write."""
    where = f", {error.filename}" if error.filename else ""
    return InvalidInputError(
        f"{target} cannot be written ({error.strerror or error}{where}): name another folder, or "
        "make room"
    )


@contextmanager
def parent_folder(target: Path) -> Iterator[None]:
    """Make the missing parents of `target`; those that are still empty at the end go again."""
    folder = target.resolve().parent
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    try:
        if missing:
            try:
                missing[0].mkdir(parents=True, exist_ok=True)  # another run may make them too
            except OSError as error:
                raise unwritable(target, error) from error
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
    with parent_folder(target):
        for old in leftovers(whole, OLD):
            _put_back(old, whole)
        for left in leftovers(whole):
            shutil.rmtree(left, ignore_errors=True)
        side = side_path(whole)
        try:
            side.mkdir()
            yield side
        finally:
            shutil.rmtree(side, ignore_errors=True)


def _put_back(old: Path, target: Path) -> None:
    """Undo the moving away of the folder `target`, as far as there is nothing new in its place."""
    if not old.exists():
        return
    if not target.exists():
        os.replace(old, target)
        return
    for path in old.iterdir():
        # Half of an earlier answer beside a new one would belong to neither.
        if path.name not in ANSWER_FILES and not (target / path.name).exists():
            os.replace(path, target / path.name)
    shutil.rmtree(old, ignore_errors=True)
