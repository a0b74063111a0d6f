"""The log of a labelling: one line of JSON for every action, on the disk before it is answered.

    {"log": "spinlearn labelling", "version": 1, "data": "digits.csv", "points": 1797,
     "fingerprint": "...", "begun": "2026-03-01T09:00:00.000+00:00"}
    {"n": 1, "at": "2026-03-01T09:00:12.345+00:00", "who": "ada", "do": "label",
     "points": ["17"], "class": "seven"}

The first line says what is labelled; the fingerprint (SHA-256 of ids, labels and values) that it is
still the same. The others are numbered from 1, with the time, who did it, and what:

    label   points, class           these points (by id) get this label
    name    points, class, group    the same, for a class that the answer had found ("new:1")
    reject  points, class, group,   the same, for a group that is no class of its own but part of
            members                 this one: with all its members it is not proposed again
    clear   points                  their labels are taken away
    rename  class, to               all labels of a class get another name,
    merge   class, to               which may be that of a class there is
    undo    of                      action number `of` counts no more
    redo    of                      it counts again

Labels are what the actions that count leave, done in order (`History`). Lines are only ever added.
A last line without its end was cut off by a crash, before anyone was told that it is kept: it is
taken off. Anything else that is no such line is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset

NAME = "log.jsonl"
MAGIC, VERSION = "spinlearn labelling", 1
KEPT = {
    "label": {"points", "class"},
    "name": {"points", "class", "group"},
    "reject": {"points", "class", "group", "members"},
    "clear": {"points"},
    "rename": {"class", "to"},
    "merge": {"class", "to"},
    "undo": {"of"},
    "redo": {"of"},
}


class LabelLog:
    """A log that is open for more lines; `entries` are those that it holds.

    Parameters
    ----------
    path : Path
        Made where there is none; its folder exists.
    data : Dataset
        What is labelled. A log of other data is refused.
    """

    def __init__(self, path: Path, data: Dataset) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self.notes: list[str] = []
        heading = {
            "log": MAGIC,
            "version": VERSION,
            "data": data.source.name.encode("utf-8", "backslashreplace").decode(),
            "points": data.n_points,
            "fingerprint": fingerprint(data),
        }
        if path.exists() and path.stat().st_size:
            self._read(heading)
        self._file: BinaryIO = open(path, "ab")  # noqa: SIM115 - open as long as the session
        if self._file.tell() == 0:
            self._write(heading | {"begun": now()})
            _sync_folder(path.parent)

    def append(self, action: Mapping[str, Any], who: str) -> dict[str, Any]:
        """Add an action; when this returns, it is on the disk."""
        entry = {"n": len(self.entries) + 1, "at": now(), "who": who, **action}
        self._write(entry)
        self.entries.append(entry)
        return entry

    def close(self) -> None:
        """No more lines."""
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        whole = json.dumps(line, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        before = self._file.tell()
        try:
            self._file.write(whole)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # A full disk may have taken half a line: nobody is told that it is kept.
            os.ftruncate(self._file.fileno(), before)
            raise

    def _read(self, heading: dict[str, Any]) -> None:
        first, self.entries, whole = read_log(self.path)
        if whole < self.path.stat().st_size:
            self.notes.append(f"the last line of {self.path} was cut off and is left out")
            os.truncate(self.path, whole)
        if first is None:
            return
        if any(first.get(key) != heading[key] for key in ("points", "fingerprint")):
            raise InvalidInputError(
                f"{self.path} is of other data ({first.get('data')!r}, {first.get('points')} "
                "points, or other ids, labels or values): name another folder with --out"
            )


def read_log(path: Path) -> tuple[dict[str, Any] | None, list[dict[str, Any]], int]:
    """The heading of a log, its entries, and up to which byte its lines are whole.

    For audits: neither the data are needed nor is anything changed.
    """
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    first: dict[str, Any] | None = None
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(text[:whole].splitlines(), start=1):
        try:
            entry = json.loads(line)
            if number == 1:
                if entry["log"] != MAGIC or entry["version"] != VERSION:
                    raise ValueError("it is not a log of this version")
                first = entry
            else:
                check_entry(entry, len(entries) + 1)
                entries.append(entry)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise InvalidInputError(
                f"{path}, line {number}, is not a line of a labelling log ({error}): mend it or "
                "name another folder"
            ) from error
    return first, entries, whole


def check_entry(entry: Any, number: int) -> None:
    """Refuse an entry that is not what the heading of this file says."""
    if not isinstance(entry, dict) or entry.get("n") != number:
        raise ValueError(f"number {number} was expected")
    needed = KEPT.get(entry.get("do", ""))
    if needed is None or set(entry) != needed | {"n", "at", "who", "do"}:
        raise ValueError("its parts are not those of any action")
    texts = [entry[key] for key in ("at", "who", "class", "to", "group") if key in entry]
    for points in (entry.get("points", []), entry.get("members", [])):
        if not isinstance(points, list) or not all(isinstance(v, str) for v in [*texts, *points]):
            raise ValueError("a part that should be text is not")
    if "of" in entry and type(entry["of"]) is not int:
        raise ValueError("'of' is not a number")


def fingerprint(data: Dataset) -> str:
    """SHA-256 of everything that labels are given to."""
    digest = hashlib.sha256()
    given = [[name, None if label is None else str(label)]
             for name, label in zip(data.ids, data.labels, strict=True)]  # fmt: skip
    digest.update(json.dumps(given).encode())
    arrays = [data.points] if data.graph is None else [data.graph.edges, data.graph.weights]
    for values in arrays:
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def now() -> str:
    """The time, in words."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sync_folder(folder: Path) -> None:
    """That the file is there is on the disk too."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
