"""A session of labelling: which answer is on the page, with which points, whatever goes wrong."""

import json
import os
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from spinlearn.errors import InvalidInputError
from spinlearn.labelling import session
from spinlearn.labelling.log import as_known
from spinlearn.labelling.notebook import _dataset
from spinlearn.labelling.refit import Refit
from spinlearn.labelling.session import NICER, find_rows, lower_priority
from spinlearn.labelling.thumbnails import Thumbnails
from spinlearn.workflows.fitting import Fitting
from tests.end_to_end.labelling_client import blobs

pytestmark = pytest.mark.slow
LABELS = {0: "a", 20: "b", 40: "c"}
TWO = {k: "ab"[k // 20] for k in (*range(4), *range(20, 24))}  # the third blob has none


@contextmanager
def opened(folder, n_shown=20, labels=LABELS):
    """A session of three blobs, each with a label; `n_shown` of the 60 points are on display."""
    X, _ = blobs()
    y = np.full(60, None, dtype=object)
    y[list(labels)] = list(labels.values())
    ids = [f"Point{k}" for k in range(60)]
    fitting = Fitting(_dataset(X, y, ids, None))
    found = session.Session(Refit(fitting), Thumbnails(fitting.data), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spinlearn.viz.explorer.MAX_POINTS", n_shown)
        found.open()
        try:
            yield found
        finally:
            found.close()


def heard(found, wanted):
    """Waits until everyone is told what is wanted."""
    told = threading.Event()
    for message in found.listen(lambda m: told.set() if wanted(m) else None):
        if wanted(message):
            told.set()
    assert told.wait(600)


def test_advice_that_comes_late_leaves_the_thorough_answer_on_the_page(tmp_path, monkeypatch):
    with opened(tmp_path) as found:
        hidden = []

        def late(answer, stop):
            found.wait()
            hidden.append(next(k for k in range(60) if k not in found.display.rows))
            return [{"point": hidden[-1], "call": "a", "why": ""}]

        found.wait()
        monkeypatch.setattr(session, "next_points", late)
        found.act({"do": "label", "points": [5], "class": "a"}, "ada")
        heard(found, lambda m: m["kind"] == "advice" and m.get("version") == 1)
        assert hidden[-1] in found.display.rows
        assert found.shown.kind == "fit"
        sent = json.loads(found.payload)
        assert (sent["how"], sent["labelVersion"]) == ("fit", 1)


def test_advice_that_fails_is_told_and_answers_go_on(tmp_path, monkeypatch):
    def broken(answer, stop):
        raise ZeroDivisionError("no advice today")

    with opened(tmp_path) as found:
        found.wait()
        monkeypatch.setattr(session, "next_points", broken)
        seen = threading.Event()
        found.listen(lambda m: seen.set() if "no advice today" in m.get("trouble", "") else None)
        found.act({"do": "label", "points": [5], "class": "a"}, "ada")
        assert seen.wait(600)
        found.act({"do": "label", "points": [25], "class": "b"}, "ada")
        assert found.wait().kind == "fit"


def third(answer):
    """The proposal that is the third blob."""
    return next(one for one in answer.proposals if one.points.tolist() == [*range(40, 60)])


def alike(answer, members):
    """Proposals that are at least half these points."""
    return [
        one.name
        for one in answer.proposals
        if len(np.intersect1d(one.points, members)) >= len(np.union1d(one.points, members)) / 2
    ]


def test_a_group_that_is_no_class_is_not_proposed_again(tmp_path):
    members = np.arange(40, 60)
    with opened(tmp_path, 60, TWO) as found:
        answer = found.wait().answer
        one = third(answer)
        assert one.name == "new:1"
        assert set(answer.names[members]) == {"new:1"}
        told = json.loads(found.payload)["unnamed"]
        assert [group["group"] for group in told] == [p.name for p in answer.proposals]
        points = told[0]["points"]
        assert points == one.typical[:4].tolist()  # as many as a class has labels in the mean
        entry = found.act({"do": "reject", "points": points, "group": "new:1"}, "ada")
        assert (entry["class"], entry["group"]) == (one.beside, "new:1")
        assert entry["points"] == [f"Point{k}" for k in points]
        assert entry["members"] == [f"Point{k}" for k in members]
        quick = found.refit.quick(found.labels, None, found.history.rejected).answer
        for after in (found.wait().answer, quick):
            assert set(after.names[members]) == {one.beside}
            assert alike(after, members) == []
            assert [word.points.tolist() for word in after.words] == [members.tolist()]
        # What is no longer proposed cannot be refused, nor what never was.
        for wrong in ({"group": "new:1", "points": points}, {"group": None, "points": points},
                      {"group": "new:1", "points": []}):  # fmt: skip
            with pytest.raises(InvalidInputError):
                found.act({"do": "reject", **wrong}, "ada")
        found.act({"do": "undo"}, "ada")
        assert alike(found.wait().answer, members) == ["new:1"]
        found.act({"do": "redo"}, "ada")
        assert alike(found.wait().answer, members) == []
    with opened(tmp_path, 60, TWO) as again:  # the log is all that is needed
        assert [word.points.tolist() for word in again.history.rejected] == [members.tolist()]
        assert alike(again.wait().answer, members) == []
        assert again.wait().answer.names.tolist() == after.names.tolist()


def test_an_id_comes_before_those_that_begin_with_it_before_those_that_hold_it():
    ids = ["xa1", "a12", "b", "a1", "a13", *(f"za1{k}" for k in range(30))]
    assert find_rows(ids, " A1 ")[:5] == [3, 1, 4, 0, 5]
    assert len(find_rows(ids, "a1")) == 12
    assert find_rows(ids, "  ") == find_rows(ids, "nowhere") == []


def test_a_class_is_known_by_all_ways_to_write_it():
    assert as_known("caf\u00e9 1", ["cafe\u0301  1", "b"]) == "cafe\u0301  1"
    assert as_known("Caf\u00e9 1", ["cafe\u0301  1", "b"]) == "Caf\u00e9 1"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts threads for themselves")
def test_a_thread_that_steps_back_does_so_alone():
    def level():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    levels = []

    def work():
        lower_priority()
        levels.append(level())

    before = level()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert levels == [min(before + NICER, 19)]
    assert level() == before
