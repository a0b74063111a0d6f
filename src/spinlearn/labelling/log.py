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
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.labels import RESERVED, clean_labels
from spinlearn.answers.proposal import REJECT, Word
from spinlearn.answers.table import safe_name
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset, row_numbers

NAME = "log.jsonl"
MAGIC, VERSION = "spinlearn labelling", 1
LONGEST = 200  # letters of the name of a class
PARTS = {  # of every action, beside its number, its time, who and what
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

    It is made where there is none; a log of other data is refused.
    """

    def __init__(self, path: Path, data: Dataset) -> None:
        self.path = path
        self.entries: list[dict[str, Any]] = []
        self.notes: list[str] = []
        heading = {
            "log": MAGIC,
            "version": VERSION,
            "data": data.source.name.encode("utf-8", "backslashreplace").decode(),
            "points": len(data.ids),
            "fingerprint": fingerprint(data),
        }
        if path.exists() and path.stat().st_size:
            first, self.entries, whole = read_log(path)
            if whole < path.stat().st_size:
                self.notes.append(f"the last line of {path} was cut off and is left out")
                os.truncate(path, whole)
            same = all((first or heading).get(k) == heading[k] for k in ("points", "fingerprint"))
            if first is not None and not same:
                raise InvalidInputError(
                    f"{path} is of other data ({first.get('data')!r}, {first.get('points')} "
                    "points, or other ids, labels or values): name another folder with --out"
                )
        # Open as long as the session. No buffer: it would keep the rest of a line that the disk has
        # no room for, and put it before the next one.
        self._file: RawIOBase = open(path, "ab", buffering=0)  # noqa: SIM115
        if self._file.tell() == 0:
            self._write(heading | {"begun": now()})
            handle = os.open(path.parent, os.O_RDONLY)  # that the file is there, too
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

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
        rest = json.dumps(line, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        before = os.fstat(self._file.fileno()).st_size
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            # A full disk may have taken half a line: nobody is told that it is kept.
            os.ftruncate(self._file.fileno(), before)
            raise


class History:
    """The labels that a list of actions leaves, with undo and redo without end.

    Everyone undoes what they did themselves, the last first; redo brings it back until they do
    something else. Labels are always those that the actions that count leave, done in order, so
    that one person's undo takes nothing of another's away. `given` are those before the first.
    """

    def __init__(self, ids: Sequence[str], given: Sequence[str | None]) -> None:
        self._place = {name: row for row, name in enumerate(ids)}
        self._ids, self._given = ids, tuple(given)
        self.labels: list[str | None] = list(given)
        self.last: dict[int, int] = {}  # row -> number of the action that labelled it
        self._actions: dict[int, Mapping[str, Any]] = {}
        self._off: set[int] = set()
        self._done: dict[str, list[int]] = defaultdict(list)
        self._undone: dict[str, list[int]] = defaultdict(list)

    @property
    def counts(self) -> Counter[str]:
        """Labels of every class."""
        return Counter(name for name in self.labels if name is not None)

    @property
    def rejected(self) -> tuple[Word, ...]:
        """Groups that are no class of their own, by the rejections that count."""
        return tuple(
            Word(REJECT, entry["group"], entry["class"], self._rows(entry["members"]),
                 self._rows(entry["points"]))
            for number, entry in self._actions.items()
            if entry["do"] == REJECT and number not in self._off
        )  # fmt: skip

    def take(self, entry: Mapping[str, Any]) -> None:
        """Go on by one entry of a log."""
        number, who, do = entry["n"], entry["who"], entry["do"]
        if do in ("undo", "redo"):
            of, back = entry["of"], do == "undo"
            source, target = (self._done, self._undone) if back else (self._undone, self._done)
            if of not in source[who]:
                raise InvalidInputError(f"action {of} of {who!r} cannot be {do}ne: it is not there")
            source[who].remove(of)
            target[who].append(of)
            (self._off.add if back else self._off.discard)(of)
            self.labels, self.last = list(self._given), {}
            for earlier, action in self._actions.items():
                if earlier not in self._off:
                    self._apply(earlier, action)
            return
        self._actions[number] = entry
        self._done[who].append(number)
        self._undone[who].clear()
        self._apply(number, entry)

    def last_done(self, do: str, who: str) -> int | None:
        """The action that this person's "undo" would take back, or "redo" bring back."""
        stack = (self._done if do == "undo" else self._undone)[who]
        return stack[-1] if stack else None

    def check(self, action: Mapping[str, Any]) -> None:
        """Refuse an action on points or classes that are not there."""
        named = (*action.get("points", ()), *action.get("members", ()))
        unknown = [name for name in named if name not in self._place]
        if unknown:
            raise InvalidInputError(f"there is no point {unknown[0]!r}: take one of the map")
        if action["do"] in ("rename", "merge") and action["class"] not in self.counts:
            raise InvalidInputError(f"there is no class {action['class']!r}: pick another")

    def _apply(self, number: int, entry: Mapping[str, Any]) -> None:
        if entry["do"] in ("rename", "merge"):
            old, new = entry["class"], entry["to"]
            self.labels = [new if name == old else name for name in self.labels]
            return
        self._rows(entry.get("members", ()))  # are there
        for row in self._rows(entry["points"]).tolist():
            self.labels[row] = entry.get("class")
            self.last[row] = number

    def _rows(self, names: Sequence[str]) -> npt.NDArray[np.intp]:
        """Row numbers of points by their ids."""
        for name in names:
            if name not in self._place:
                raise InvalidInputError(f"the log labels {name!r}, which is not in the data")
        return np.array([self._place[name] for name in names], dtype=np.intp)


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
                continue
            if not isinstance(entry, dict) or entry.get("n") != number - 1:
                raise ValueError(f"number {number - 1} was expected")
            parts = PARTS.get(entry.get("do", ""))
            if parts is None or set(entry) != parts | {"n", "at", "who", "do"}:
                raise ValueError("its parts are not those of any action")
            texts = [entry[key] for key in ("at", "who", "class", "to", "group") if key in entry]
            for points in (entry.get("points", []), entry.get("members", [])):
                if not isinstance(points, list):
                    raise ValueError("its points are not a list")
                texts += points
            if not all(isinstance(text, str) for text in texts):
                raise ValueError("a part that should be text is not")
            if "of" in entry and type(entry["of"]) is not int:
                raise ValueError("'of' is not a number")
            entries.append(entry)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise InvalidInputError(
                f"{path}, line {number}, is not a line of a labelling log ({error}): mend it or "
                "name another folder"
            ) from error
    return first, entries, whole


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


def as_begun(folder: Path, data: Dataset) -> Dataset:
    """The data, with rows numbered from 1 where a labelling in this folder has begun so.

    Rows without ids were once; the log goes on to name points in that way.
    """
    path = folder / NAME
    if data.ids != row_numbers(len(data.ids)) or not path.is_file():
        return data
    before = replace(data, ids=[str(row + 1) for row in range(len(data.ids))])
    first = read_log(path)[0]
    same = first is not None and first.get("fingerprint") == fingerprint(before)
    return before if same else data


def now() -> str:
    """The time, in words."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def checked_class(name: object, unlabelled: Sequence[str] = ()) -> str:
    """A name for a class as typed, refused where a table could not hold it.

    `unlabelled` are words that mean "no label" in this data.
    """
    if not isinstance(name, str):
        raise InvalidInputError("the name of a class must be text: type one")
    text = " ".join(name.split())
    if not text:
        raise InvalidInputError("the class has no name: type one")
    if len(text) > LONGEST:
        raise InvalidInputError(f"the name has {len(text)} letters: at most {LONGEST} are kept")
    if not text.isprintable():
        raise InvalidInputError("the name holds signs that cannot be printed: type another")
    if RESERVED.fullmatch(text):
        raise InvalidInputError(f"{text!r} is how calls without a class are named: type another")
    if safe_name(text) != text:
        raise InvalidInputError(f"a spreadsheet would run {text!r} as a formula: type another")
    if clean_labels([text], unlabelled, "the page")[0] is None:
        raise InvalidInputError(f"{text!r} means that there is no label: type another")
    return text


def as_known(name: str, known: Iterable[str]) -> str:
    """The known class that looks the same as a name, or else the name.

    Letters with accents can be written in two ways, and a file may have two blanks where a page
    shows one.
    """

    def look(text: str) -> str:
        return unicodedata.normalize("NFC", " ".join(text.split()))

    return {look(other): other for other in known}.get(look(name), name)
