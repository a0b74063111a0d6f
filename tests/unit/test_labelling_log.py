"""The log of a labelling and the labels that it leaves."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import Dataset
from spinlearn.labelling.log import NAME, History, LabelLog, as_begun, checked_class, read_log

IDS = ["a", "b", "c", "d"]
GIVEN = ["x", None, None, None]


def dataset(**other):
    points = np.arange(8.0).reshape(4, 2)
    labels = np.full(4, None, dtype=object)
    parts = {"source": Path("d.csv"), "ids": IDS, "labels": labels, "points": points}
    return Dataset(**parts | other)


def filled(path):
    log = LabelLog(path, dataset())
    log.append({"do": "label", "points": ["a", "b"], "class": "x"}, "ada")
    log.append({"do": "clear", "points": ["b"]}, "bob")
    log.append({"do": "undo", "of": 2}, "bob")
    log.close()
    return path.read_bytes()


def rejection(**other):
    points = {"points": ["a"], "class": "x", "group": "new:1", "members": ["a", "c", "b"]}
    return {"do": "reject"} | points | other


def test_a_rejection_labels_its_points_and_keeps_all_members(tmp_path):
    log = LabelLog(tmp_path / "log", dataset())
    log.append(rejection(), "ada")
    log.append({"do": "undo", "of": 1}, "ada")
    log.append({"do": "redo", "of": 1}, "ada")
    log.close()
    entries = read_log(tmp_path / "log")[1]
    history = History(IDS, [None] * 4)
    for entry, counts in zip(entries, (True, False, True), strict=True):
        history.take(entry)
        assert history.labels == ["x" if counts else None, None, None, None]
        members = [word.points.tolist() for word in history.rejected]
        assert members == ([[0, 2, 1]] if counts else [])
    (word,) = history.rejected
    assert (word.do, word.group, word.name) == ("reject", "new:1", "x")
    assert word.labelled.tolist() == [0]


def test_a_rejection_of_points_that_are_not_there_is_refused():
    history = History(IDS, ["x", None, None, None])
    with pytest.raises(InvalidInputError, match="no point 'z'"):
        history.check(rejection(members=["a", "z"]))
    with pytest.raises(InvalidInputError, match="'z', which is not in the data"):
        history.take({"n": 1, "who": "ada", **rejection(members=["z"])})


def test_a_log_cut_off_anywhere_keeps_all_whole_lines(tmp_path):
    whole = filled(tmp_path / "log")
    ends = [k + 1 for k, byte in enumerate(whole) if byte == ord("\n")]
    written = [(1, "ada", "label"), (2, "bob", "clear"), (3, "bob", "undo")]
    labels = [[None, None], ["x", "x"], ["x", None], ["x", "x"]]  # of a and b after so many
    for length in range(len(whole) + 1):
        path = tmp_path / "cut"
        path.write_bytes(whole[:length])
        log = LabelLog(path, dataset())
        count = max(sum(end <= length for end in ends) - 1, 0)
        assert [(e["n"], e["who"], e["do"]) for e in log.entries] == written[:count]
        history = History(IDS, [None] * 4)
        for entry in log.entries:
            history.take(entry)
        assert history.labels == [*labels[count], None, None]
        assert log.append({"do": "clear", "points": ["c"]}, "ada")["n"] == count + 1
        log.close()
        assert read_log(path)[1][-1]["points"] == ["c"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"n": 2', b'"n": 3'),
        (b'"do": "clear"', b'"do": "drop_"'),
        (b'["b"]', b'[7.5]'),
        (b'"of": 2', b'"of":"2'),
        (b"spinlearn", b"something"),
        (b'["a", "c", "b"]', b'"abc"'),
        (b'["a", "c", "b"]', b'[1]'),
        (b'"group": "new:1"', b'"group": 7'),
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_refused(tmp_path, old, new):
    filled(tmp_path / "log")
    log = LabelLog(tmp_path / "log", dataset())
    log.append(rejection(), "ada")
    log.close()
    whole = (tmp_path / "log").read_bytes()
    assert old in whole
    (tmp_path / "log").write_bytes(whole.replace(old, new, 1))
    with pytest.raises(InvalidInputError, match="not a line of a labelling log"):
        LabelLog(tmp_path / "log", dataset())


def test_the_log_of_other_data_is_refused(tmp_path):
    filled(tmp_path / "log")
    other = np.arange(8.0).reshape(4, 2)
    other[0, 0] = 1e-9
    given_labels = np.array(["x", None, None, None], dtype=object)
    for data in (dataset(points=other), dataset(labels=given_labels),
                 replace(dataset(), ids=["a", "b", "c", "e"])):  # fmt: skip
        with pytest.raises(InvalidInputError, match="other data"):
            LabelLog(tmp_path / "log", data)


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource", reason="only Unix limits the size of files")
    path, action = tmp_path / "log", {"do": "clear", "points": ["a"]}
    log = LabelLog(path, dataset())
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))  # half a line
    try:
        with pytest.raises(OSError, match="too large"):
            log.append(action, "ada")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            log.append(action, "ada")
    assert path.read_bytes() == before
    assert log.entries == []
    log.append({"do": "clear", "points": ["b"]}, "ada")  # when there is room again
    log.close()
    assert [entry["points"] for entry in read_log(path)[1]] == [["b"]]


actions = st.lists(
    st.tuples(
        st.sampled_from(["ada", "bob"]),
        st.one_of(
            st.builds(lambda p, c: {"do": "label", "points": p, "class": c},
                      st.lists(st.sampled_from(IDS), min_size=1, max_size=3),
                      st.sampled_from(["x", "y", "z"])),
            st.builds(lambda p: {"do": "clear", "points": [p]}, st.sampled_from(IDS)),
            st.builds(lambda p, c: rejection(points=p[:1], members=p) | {"class": c},
                      st.lists(st.sampled_from(IDS), min_size=1, max_size=3),
                      st.sampled_from(["x", "y"])),
            st.builds(lambda a, b: {"do": "merge", "class": a, "to": b},
                      st.sampled_from(["x", "y"]), st.sampled_from(["y", "z"])),
            st.sampled_from([{"do": "undo"}, {"do": "redo"}]),
        ),
    ),
    max_size=25,
)  # fmt: skip


def done(history, asked):
    """The entries that asked-for actions make."""
    entries = []
    for who, action in asked:
        if action["do"] in ("undo", "redo"):
            of = history.last_done(action["do"], who)
            if of is None:
                continue
            action = action | {"of": of}
        entries.append({"n": len(entries) + 1, "who": who, **action})
        history.take(entries[-1])
    return entries


@settings(max_examples=60, deadline=None)
@given(actions)
def test_labels_follow_from_the_log_alone_and_undoing_all_is_redone(asked):
    history, again = History(IDS, GIVEN), History(IDS, GIVEN)
    entries = done(history, asked)
    for entry in json.loads(json.dumps(entries)):
        again.take(entry)
    there, rejected = list(again.labels), [w.points.tolist() for w in again.rejected]
    assert there == history.labels
    assert rejected == [w.points.tolist() for w in history.rejected]

    def step(do, who):
        entries.append({"n": len(entries) + 1, "who": who, "do": do,
                        "of": history.last_done(do, who)})  # fmt: skip
        history.take(entries[-1])

    order = []
    for who in ("ada", "bob"):
        while history.last_done("undo", who) is not None:
            step("undo", who)
            order.append(who)
    assert history.labels == GIVEN
    for who in reversed(order):
        step("redo", who)
    assert history.labels == there


@pytest.mark.parametrize(
    "name",
    ["", "  ", "new:1", "confused:a|b", "outlier", "NA", "nan", "-1", "=1+1", "@x", "a\x07", "?",
     "x" * 201, 7, None, "a\ud800"],
)  # fmt: skip
def test_names_that_a_table_cannot_hold_are_refused(name):
    with pytest.raises(InvalidInputError):
        checked_class(name, ("?",))


def test_names_are_kept_as_they_will_be_read():
    assert checked_class("  <b>sévère</b> \n 2 ") == "<b>sévère</b> 2"


def test_a_labelling_whose_rows_were_numbered_from_1_goes_on(tmp_path):
    """As they once were: its log names points so."""
    old, new = dataset(ids=["1", "2", "3", "4"]), dataset(ids=["0", "1", "2", "3"])
    assert as_begun(tmp_path, new) is new
    log = LabelLog(tmp_path / NAME, old)
    log.append({"do": "label", "points": ["1"], "class": "x"}, "ada")
    log.close()
    data = as_begun(tmp_path, new)
    again = LabelLog(tmp_path / NAME, data)
    history = History(data.ids, [None] * 4)
    history.take(again.entries[0])
    assert history.labels == ["x", None, None, None]
    again.close()
    (tmp_path / NAME).unlink()
    LabelLog(tmp_path / NAME, new).close()
    assert as_begun(tmp_path, new) is new
    named = dataset()
    assert as_begun(tmp_path, named) is named
