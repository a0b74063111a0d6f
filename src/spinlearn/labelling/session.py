"""The session in which everyone labels: labels, answers, advice, and who is told of them.

Actions are checked, put into the log, taken into the history, and then told to everybody, one
after the other. Three threads follow: for the quick answer, for the advice, and, at a lower
priority than both, for the answer that `spinlearn fit` gives. The latter two end when a label comes
in between. Beside the log the folder gets

given.csv     id, label      the labels so far; `spinlearn fit DATA --labels-file given.csv
                             --labels label` reads them
answer/                      the folder that this command would write
"""

from __future__ import annotations

import csv
import heapq
import io
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.answers.proposal import Word
from spinlearn.answers.table import safe_name
from spinlearn.errors import InvalidInputError, SpinlearnError, StoppedError
from spinlearn.files.atomic_write import atomic_write
from spinlearn.io.folder import write_answer
from spinlearn.labelling.log import NAME, History, LabelLog, as_known, checked_class
from spinlearn.labelling.refit import Display, Refit, ShownAnswer, doubted, next_points
from spinlearn.labelling.thumbnails import Thumbnails
from spinlearn.model.protocols import Progress

GIVEN, ANSWER = "given.csv", "answer"
MOST_LISTED = 400  # labels that are listed one by one on the page
WHO_LONGEST = 60
LONGEST_WAIT = 24 * 3600.0  # seconds for an answer that is to be written
HEAD_START = 0.25  # seconds that pages have to paint a quick answer before further work begins
MOST_FOUND = 12  # points by their ids
NICER = 3  # levels of nice: half the time of a thread of the usual priority

Listener = Callable[[dict[str, Any]], None]


class Session:
    """One labelling; log and answer go to `folder`, which exists."""

    def __init__(self, refit: Refit, thumbnails: Thumbnails, folder: Path) -> None:
        self.refit, self.thumbnails, self.folder = refit, thumbnails, folder
        self.data = refit.fitting.data
        given = [None if name is None else str(name) for name in self.data.labels]
        self.history = History(self.data.ids, given)
        self.log = LabelLog(folder / NAME, self.data)
        for entry in self.log.entries:
            self.history.take(entry)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._files = threading.Lock()
        self._listeners: list[Listener] = []
        self._closed = False
        self.version = len(self.log.entries)  # of the labels
        self._halted = -1  # version whose thorough answer was stopped by hand
        self._quick_done = self._advised = self._thorough_done = -1
        self.shown: ShownAnswer | None = None  # the answer on the page
        self._shown_version = -1
        self._edition = 0  # of what the page is sent; one answer may be sent with further points
        self._finished: tuple[int, ShownAnswer] | None = None  # the last thorough answer
        self.display = Display(refit)
        self._publishing = threading.Lock()  # of answers, one after the other
        self._wanted: set[int] = set()  # points that someone asked to see
        self._names = [name.lower() for name in self.data.ids]
        self.payload: bytes | None = None
        self.advice: dict[str, Any] = {"kind": "advice", "next": [], "wrong": []}
        self._progress: dict[str, Any] = {"kind": "progress", "phase": "starting", "fraction": 0.0}
        self._trouble = ""
        tasks = (  # what each thread does, and when
            (self._quick, lambda: self._quick_done != self.version),
            (
                self._advise,
                lambda: self._shown_version == self._quick_done == self.version != self._advised,
            ),
            (
                self._thorough,
                lambda: self._quick_done == self.version not in (self._thorough_done, self._halted),
            ),
        )
        self._threads = [
            threading.Thread(target=self._follow, args=task, name=f"spinlearn{k}", daemon=True)
            for k, task in enumerate(tasks)
        ]

    # -- coming and going ------------------------------------------------------------------------

    def open(self) -> None:
        """Start to answer."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End all work; nothing that was acknowledged is lost by it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=60)
        with self._files, self._lock:
            self._write_given(self.history.labels)
            self.log.close()

    def listen(self, listener: Listener) -> list[dict[str, Any]]:
        """Tell this one of all that happens from now on; what it has to know now."""
        with self._lock:
            self._listeners.append(listener)
            seen = [self._labels_message(), self.advice, self._progress, self._answer_message()]
        self._tell({"kind": "people", "count": len(self._listeners)})
        return seen

    def leave(self, listener: Listener) -> None:
        """Tell this one no more."""
        with self._lock, suppress(ValueError):
            self._listeners.remove(listener)
        self._tell({"kind": "people", "count": len(self._listeners)})

    def _tell(self, message: dict[str, Any]) -> None:
        for listener in tuple(self._listeners):
            listener(message)

    # -- what people do --------------------------------------------------------------------------

    def act(self, request: Mapping[str, Any], who: str) -> dict[str, Any]:
        """Do what someone asks for; it is in the log when its entry is returned."""
        do = request.get("do")
        if do in ("stop", "go"):
            return self._stop(go_on=do == "go")
        if do == "show":
            return self._show(request.get("point"))
        if do == "export":
            return self.export()
        with self._changed:
            if self._closed:
                raise InvalidInputError("the server is ending: start it again")
            action = self._action(request, who)
            self.history.check(action)
            entry = self.log.append(action, who)
            self.history.take(entry)
            self.version = entry["n"]
            summary: dict[str, Any] = {"size": len(entry.get("points", ()))}
            summary |= {k: entry[k] for k in ("n", "who", "do", "class", "to", "of") if k in entry}
            # In the order of the log, so told before the next action can be taken.
            self._tell(self._labels_message() | {"entry": summary})
            self._changed.notify_all()
        return entry

    def _action(self, request: Mapping[str, Any], who: str) -> dict[str, Any]:
        """What is asked for as the log has it."""
        do = request.get("do")
        if do in ("undo", "redo"):
            of = self.history.last_done(do, who)
            if of is None:
                raise InvalidInputError(f"there is nothing of {who} to {do}")
            return {"do": do, "of": of}
        if do in ("rename", "merge"):
            old = request.get("class")
            new = self._class(request.get("to"), but=old)
            if not isinstance(old, str) or old == new:
                raise InvalidInputError("a class cannot be joined with itself: pick another")
            known = new in self.history.counts
            return {"do": "merge" if known else "rename", "class": old, "to": new}
        if do == "reject":
            return self._rejection(request)
        if do not in ("label", "name", "clear"):
            raise InvalidInputError(f"{do!r} is nothing that can be done here")
        action = {"do": do, "points": self._ids(request.get("points"))}
        if do != "clear":
            action["class"] = self._class(request.get("class"))
        if do == "name":
            group = request.get("group")
            if not isinstance(group, str) or len(group) > WHO_LONGEST:
                raise InvalidInputError("which new class is meant? Pick one of the list")
            action["group"] = group
        return action

    def _rejection(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """That a proposal on the page is part of the named class beside it."""
        points = self._ids(request.get("points"))
        proposals = () if self.shown is None else self.shown.answer.proposals
        group = next((p for p in proposals if p.name == request.get("group")), None)
        typical = [] if group is None else [self.data.ids[k] for k in group.typical.tolist()]
        known = self.history.counts
        if group is None or typical[: len(points)] != points or group.beside not in known:
            raise InvalidInputError(
                "this group is no longer proposed, or labels came in between: look at the list of "
                "now"
            )
        members = [self.data.ids[row] for row in group.points.tolist()]
        return {"do": "reject", "points": points, "class": group.beside, "group": group.name,
                "members": members}  # fmt: skip

    def _class(self, name: object, but: object = None) -> str:
        """A class by its name, a known one (`but` one) by all ways to write it."""
        if isinstance(name, str) and name in self.history.counts:
            return name
        text = checked_class(name, self.refit.unlabelled)
        return as_known(text, (known for known in self.history.counts if known != but))

    def _ids(self, rows: object) -> list[str]:
        """Ids of points from their row numbers."""
        n = len(self.data.ids)
        if not isinstance(rows, list) or not rows:
            raise InvalidInputError("no point is picked: pick one first")
        if not all(type(row) is int and 0 <= row < n for row in rows):
            raise InvalidInputError("a point that is not there was picked: load the page again")
        return [self.data.ids[row] for row in dict.fromkeys(rows)]

    def _stop(self, go_on: bool) -> dict[str, Any]:
        """End the thorough answer under way, or take it up again; the quick one stays."""
        with self._changed:
            self._halted = -1 if go_on else self.version
            self._changed.notify_all()
        if not go_on:
            self._report("stopped", 1.0)
        return {"do": "go" if go_on else "stop"}

    def _show(self, row: object) -> dict[str, Any]:
        """Put a point on display that is not."""
        self._ids([row])
        assert isinstance(row, int)  # as `_ids` has seen
        self._wanted.add(row)
        self._bring_on_display([row])
        return {"do": "show", "point": row}

    def find(self, text: str) -> list[dict[str, Any]]:
        """Points by their ids, on display or not, with the calls on the page."""
        shown = self.shown
        return [
            {"point": row, "id": self.data.ids[row],
             "call": "" if shown is None else str(shown.answer.names[row])}
            for row in find_rows(self._names, text)
        ]  # fmt: skip

    # -- what is known ---------------------------------------------------------------------------

    @property
    def labels(self) -> list[str | None]:
        """The class of every labelled point."""
        with self._lock:
            return list(self.history.labels)

    @property
    def answered(self) -> bool:
        """Whether the answer that `fit` gives to the labels of now is known."""
        last = self._finished
        return last is not None and last[0] == self.version and last[1].result is not None

    def wait(self, seconds: float = 600.0) -> ShownAnswer:
        """The thorough answer to the labels of now, once it is there."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._thorough_done == self.version or self._closed, seconds
            )
            if self._finished is None or self._finished[0] != self.version:
                raise StoppedError(self._trouble or "there is no answer yet")
            return self._finished[1]

    def _labels_message(self) -> dict[str, Any]:
        given = {row: name for row, name in enumerate(self.history.labels) if name is not None}
        recent = sorted(given, key=lambda row: -self.history.last.get(row, 0))[:MOST_LISTED]
        return {
            "kind": "labels",
            "version": self.version,
            "classes": sorted(self.history.counts.items()),
            "count": len(given),
            "labels": [[row, given[row]] for row in recent],
        }

    def _answer_message(self) -> dict[str, Any]:
        kind = None if self.shown is None else self.shown.kind
        return {"kind": "answer", "version": self._shown_version, "edition": self._edition,
                "how": kind, "trouble": self._trouble}  # fmt: skip

    def _report(self, phase: str, fraction: float) -> None:
        self._progress = {"kind": "progress", "phase": phase, "fraction": round(fraction, 3)}
        self._tell(self._progress)

    # -- the three threads -----------------------------------------------------------------------

    def _follow(
        self,
        work: Callable[[int, list[str | None], tuple[Word, ...]], None],
        needed: Callable[[], bool],
    ) -> None:
        """Do `work` with version, labels and rejections whenever it is needed, until the end."""
        thorough = work == self._thorough
        if thorough:
            lower_priority()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or needed())
                if self._closed:
                    return
                version, names = self.version, list(self.history.labels)
                rejected = self.history.rejected
            try:
                work(version, names, rejected)
            except StoppedError:
                continue
            except SpinlearnError as error:
                self._fail(str(error), version if thorough else None)
            except Exception as error:  # an error of the program: said, not silent
                text = f"unexpected {type(error).__name__}: {error}"
                self._fail(text, version if thorough else None)

    def _quick(self, version: int, names: list[str | None], rejected: tuple[Word, ...]) -> None:
        try:
            shown = self.refit.quick(names, lambda report: self._closed, rejected)
            if shown is not None and self._thorough_done != version:
                self._publish(shown, version)
                with self._changed:  # leave the processor to those who wait for the picture
                    self._changed.wait_for(
                        lambda: self._closed or self.version != version, HEAD_START
                    )
        finally:
            with self._changed:
                self._quick_done = version
                self._changed.notify_all()
        with self._files:
            self._write_given(names)

    def _advise(self, version: int, names: list[str | None], rejected: tuple[Word, ...]) -> None:
        """Advice by the answer on the page."""
        shown = self.shown
        assert shown is not None
        try:
            advice: dict[str, Any] = {
                "kind": "advice",
                "version": version,
                "wrong": doubted(shown.answer),
                "next": next_points(shown.answer, lambda: self._closed or self.version != version),
            }
        finally:
            self._advised = version
        with self._changed:
            self.advice = advice
        self._bring_on_display(_advised_rows(advice))
        self._tell(advice)

    def _thorough(self, version: int, names: list[str | None], rejected: tuple[Word, ...]) -> None:
        """The answer that `fit` gives."""
        self._report("classifying", 0.0)
        shown = self.refit.thorough(names, partial(self._watch, version), rejected)
        with self._changed:
            self._thorough_done = version
            self._finished = version, shown
        self._trouble = ""
        self._publish(shown, version)
        self._report("done", 1.0)
        with self._changed:
            self._changed.notify_all()

    def _watch(self, version: int, report: Progress) -> bool:
        """Told of progress; whether to end."""
        over = self._closed or self.version != version or self._halted == version
        if not over:
            self._report(report.phase, report.fraction)
        return over

    def _fail(self, text: str, version: int | None) -> None:
        """Say what went wrong; labels of `version` get no thorough answer, but are safe."""
        if version is not None:
            with self._changed:
                self._thorough_done = version
                self._changed.notify_all()
            self._report("failed", 1.0)
        self._trouble = text
        self._tell(self._answer_message())

    # -- what the page is sent -------------------------------------------------------------------

    def _publish(self, shown: ShownAnswer, version: int) -> None:
        """Make an answer the one on the page, unless a later or a more thorough one is there."""
        with self._publishing:
            there = self.shown
            if there is not None and (version, shown.kind != "quick") < (
                self._shown_version, there.kind != "quick"
            ):  # fmt: skip
                return
            if self.display.places is None:  # it takes a while
                self._report("drawing the map", 0.9)
            wanted = [*self._wanted, *_advised_rows(self.advice)]
            facts = {"how": shown.kind, "labelVersion": version, "edition": self._edition + 1}
            text = self.display.payload(shown, wanted, facts)
            with self._changed:
                self.payload = text
                self._edition += 1
                self.shown, self._shown_version = shown, version
                self._changed.notify_all()
                message = self._answer_message()
        self._tell(message)

    def _bring_on_display(self, rows: list[int]) -> None:
        """Send the answer on the page again while some of these points are not on it."""
        while (shown := self.shown) is not None:
            if np.all(np.isin(rows, self.display.rows)):
                return
            self._publish(shown, self._shown_version)

    # -- files -----------------------------------------------------------------------------------

    def export(self) -> dict[str, Any]:
        """Write the answer folder, as `spinlearn fit` does with these labels."""
        self.refit.check(self.labels)  # says why there can be none
        self._stop(go_on=True)
        self.wait(LONGEST_WAIT)
        with self._lock:
            names, version, finished = list(self.history.labels), self.version, self._finished
        if finished is None or finished[0] != version or finished[1].result is None:
            raise InvalidInputError("labels came in while it was computed: write the answer again")
        with self._files:
            self._write_given(names)
            write_answer(self.folder / ANSWER, finished[1].result)
        return {"do": "export", "folder": str(self.folder / ANSWER), "labels": version}

    def _write_given(self, labels: list[str | None]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("id", "label"))
        for name, label in zip(self.data.ids, labels, strict=True):
            if label is not None:
                writer.writerow((safe_name(name), label))
        with atomic_write(self.folder / GIVEN) as file:
            file.write(text.getvalue().encode())


def _advised_rows(advice: Mapping[str, Any]) -> list[int]:
    return [p["point"] for p in (*advice["next"], *advice["wrong"])]


def find_rows(names: list[str], text: str) -> list[int]:
    """Rows by their ids in lower case: the id itself, then what begins with it, then what holds it.

    As `search.js` does it among the points on display.
    """
    sought = text.strip().lower()
    if not sought:
        return []
    matches = (row for row, name in enumerate(names) if sought in name)
    return heapq.nsmallest(
        MOST_FOUND,
        matches,
        key=lambda row: (names[row] != sought, not names[row].startswith(sought), row),
    )


def lower_priority() -> None:
    """Give this thread a lower priority, and those that it starts.

    So that the browser paints at once while the answer is computed beside it. Only Linux counts
    threads for themselves; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):  # forbidden: then it stays as it is
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + NICER)
