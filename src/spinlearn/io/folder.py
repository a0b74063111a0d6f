"""The answer folder: its files, how it is replaced as a whole, one run at a time.

Files are written into a hidden folder beside the target, which is renamed into place at the end;
whatever goes wrong before leaves nothing behind. Files of an earlier answer go, any others in the
folder stay. What a killed process left beside the target is cleared by the next one.

labels.csv      one row per point, see `spinlearn.answers.table`
labels.parquet  the same, where pyarrow is installed
proposals.csv   groups that may be a class of their own, best first
profile.csv     one row per point and temperature interval: id, t_low, t_high, call; of large sets
                only where it is asked for
model.npz       everything, for the other commands
report.html     the explorer
answer.h5ad     the AnnData file that was read with the answer in it, where it is asked for
run.json        how it was made and what is said of it, see `spinlearn.io.record`

.NAME.lock beside a folder NAME names the process and the machine that write into it. Two runs would
share one checkpoint and replace each other's answers. The operating system holds the lock as long
as its process lives: what a killed one left is taken over, whatever it says. Only that of another
machine is respected always, for not all shared disks pass locks on.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from spinlearn.answers.table import (
    STEPS,
    LabelTable,
    safe_name,
    whole_steps,
)
from spinlearn.errors import InvalidInputError
from spinlearn.files.atomic_write import leftovers, side_path
from spinlearn.io.record import RUN, as_json, described
from spinlearn.io.result import Result

PROFILE_COLUMNS = ("id", "t_low", "t_high", "call")
PROPOSAL_COLUMNS = (
    "group", "probability", "points", "beside", "apart", "features", "typical", "members",
)  # fmt: skip
ANSWER_FILES = (
    "labels.csv", "labels.parquet", "proposals.csv", "profile.csv", "model.npz", "report.html",
    RUN,
)  # fmt: skip
H5AD = "answer.h5ad"
MANY = 100_000  # points beyond which the profile is written only where it is asked for
BLOCK = 20_000  # points whose rows of text are held at a time


def write_answer(
    target: Path,
    result: Result,
    *,
    profile: bool | None = None,
    said: Mapping[str, Any] | None = None,
    h5ad: Callable[[Path], None] | None = None,
) -> list[Path]:
    """Make `target` the folder of a result; `profile`.csv by default up to MANY points.

    `said` is what is `described`, with how the result was made where that is known; `h5ad` writes
    answer.h5ad.
    """
    with new_folder(target) as folder:
        files = [folder / "labels.csv"]
        with open(files[0], "w", encoding="utf-8", newline="") as file:
            for start in range(0, len(result.ids), BLOCK):
                part = result.table(result.ids, slice(start, start + BLOCK))
                file.write(part.csv(heading=start == 0))
        if find_spec("pyarrow") is not None:
            files.append(folder / "labels.parquet")
            write_label_parquet(files[-1], result)
        files.append(folder / "proposals.csv")
        rows = []
        for one in result.proposals:
            typical, members = (
                " ".join(result.ids[k] for k in points.tolist())
                for points in (one.typical, one.points)
            )
            texts = (one.beside, one.apart_text(), one.features_text(), typical, members)
            numbers = f"{one.probability:.4f}", str(len(one.points))
            rows.append((one.name, *numbers, *map(safe_name, texts)))
        text = LabelTable(PROPOSAL_COLUMNS, tuple(rows)).csv()
        files[-1].write_text(text, encoding="utf-8", newline="\n")
        if profile or (profile is None and len(result.ids) <= MANY):
            files.append(folder / "profile.csv")
            outcomes = np.unique(result.profile.outcomes).tolist()
            calls = {outcome: safe_name(result.name_of(outcome)) for outcome in outcomes}
            with open(files[-1], "w", encoding="utf-8", newline="") as file:
                for start in range(0, len(result.ids), BLOCK):
                    lines = tuple(
                        (safe_name(name), f"{t.low:.6g}", f"{t.high:.6g}", calls[t.outcome])
                        for point, name in enumerate(result.ids[start : start + BLOCK], start)
                        for t in result.profile.intervals(point)
                    )
                    file.write(LabelTable(PROFILE_COLUMNS, lines).csv(heading=start == 0))
        if h5ad is not None:
            files.append(folder / H5AD)
            h5ad(files[-1])
        files += [folder / "model.npz", folder / "report.html", folder / RUN]
        result.save(files[-3])
        text = as_json(described(result) if said is None else said)
        files[-1].write_text(text, encoding="ascii", newline="\n")
        result.explore(files[-2], title=str(result.settings.get("data", "spinlearn")))
    return [target / path.name for path in files]


def write_label_parquet(path: Path, result: Result) -> None:
    """Write labels.csv typed: dictionaries, and steps of 0.0001 in single precision."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"id": result.ids} | {
        one.name: (whole_steps(one.values) / STEPS).astype(np.float32)
        if one.words is None
        else pa.DictionaryArray.from_arrays(pa.array(one.values), pa.array(list(one.words)))
        for one in result._table_columns()
    }
    parquet.write_table(pa.table(columns), path, compression="zstd", write_page_checksum=True)


MODEL = "model.npz"  # marks a folder as ours
OLD = ".old"


def check_target(target: Path) -> None:
    """Refuse a target that could not be written, or that holds something else."""
    with parent_folder(target):
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
                    f"{target} holds other things than an earlier result: name another folder"
                )
        with _side_folder(target):
            pass


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to write into that becomes `target` when the block ends well."""
    check_target(target)
    with _side_folder(target) as side:
        yield side
        old, whole = side.with_name(side.name + OLD), target.resolve()  # a link stays one
        if whole.exists():
            os.replace(whole, old)
        try:
            os.replace(side, whole)
        finally:
            if old.exists():
                _put_back(old, whole)


@contextmanager
def new_files(target: Path) -> Iterator[Path]:
    """A folder to write into, all files of which go into `target` when the block ends well."""
    with _side_folder(target) as side:
        yield side
        whole = target.resolve()  # a link stays one
        whole.mkdir(exist_ok=True)
        for path in sorted(side.iterdir()):
            os.replace(path, whole / path.name)


def unwritable(target: Path, error: OSError) -> InvalidInputError:
    """What is said where the system refuses to write."""
    where = f", {error.filename}" if error.filename else ""
    return InvalidInputError(
        f"{target} cannot be written ({error.strerror or error}{where}): name another folder, or "
        "make room"
    )


@contextmanager
def parent_folder(target: Path) -> Iterator[None]:
    """Make the missing parents of `target`; those that are still empty at the end go again.

    Refused is a name that leads nowhere, or that libraries which write files do not take.
    """
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            target.stat()  # of links in a circle: an error of one kind in every version of Python
        str(target.resolve()).encode("utf-8")
    except OSError as error:
        raise unwritable(target, error) from error
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{target} has letters in its name that are not UTF-8: name another folder"
        ) from error
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
    """A hidden folder beside `target` for as long as the block lasts."""
    try:
        with parent_folder(target):
            whole = target.resolve()
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
    except OSError as error:
        raise unwritable(target, error) from error


def _put_back(old: Path, target: Path) -> None:
    """Undo the moving away of the folder `target`, as far as there is nothing new in its place."""
    if not target.exists():
        os.replace(old, target)
        return
    for path in old.iterdir():
        # Half of an earlier answer beside a new one would belong to neither.
        if path.name not in (*ANSWER_FILES, H5AD) and not (target / path.name).exists():
            os.replace(path, target / path.name)
    shutil.rmtree(old, ignore_errors=True)


MOST_DIGITS = 18  # of the number of a process
MOST_BYTES = 1000  # of a lock


@contextmanager
def only_run(target: Path, *, answer: bool = False) -> Iterator[None]:
    """Refuse to begin while another run writes into the folder `target`, and keep others off.

    For an `answer`, also where the target could not become its folder.
    """
    own = (str(os.getpid()), platform.node())
    with parent_folder(target):
        whole = target.resolve()
        path = whole.with_name(f".{whole.name}.lock")
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
            if answer:
                check_target(target)
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
