"""Labelling in a real headless Chromium: what a person sees and does."""

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from spinlearn.errors import StoppedError
from spinlearn.labelling.refit import Refit
from spinlearn.model.protocols import Progress
from tests.end_to_end.browser import screen
from tests.end_to_end.labelling_client import Client, blobs, served
from tests.end_to_end.labelling_person import DATA, NAME, STATE, Page, around
from tests.end_to_end.tool import read_rows, spinlearn

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
HOSTILE = '</script><img src=x onerror="window.hacked=1">{{data}}'


@contextmanager
def commanded(folder, name):
    """The address of `spinlearn label NAME`, and what it says in the end, ended by Ctrl-C."""
    command = [sys.executable, "-m", "spinlearn", "label", name, "--no-open"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    said = []
    try:
        while not (match := re.search(r"http://127\.0\.0\.1:\S+", server.stdout.readline())):
            pass
        yield match[0], said
    finally:
        server.send_signal(signal.SIGINT)
        said += server.communicate(timeout=600)
    assert server.returncode == 0


def test_from_a_table_without_labels_to_the_answer_of_fit(driver, tmp_path):
    X, truth = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:290]
    X, truth = X[rows], truth[rows]
    lines = [",".join(f"pixel{k}" for k in range(64)), *(",".join(f"{v:g}" for v in x) for x in X)]
    (tmp_path / "digits.csv").write_text("\n".join(lines) + "\n")
    with commanded(tmp_path, "digits.csv") as (address, said):
        page = Page(driver, address).settled("clusters")
        assert len(page.ask(f"{DATA}.unnamed")) >= 5
        given = {}
        page.keys("n")
        while len(set(given.values())) < 10:
            assert len(given) < 20, "twenty suggested labels do not name ten classes"
            page.advised()
            row = page.ask(f"{NAME}.advice.next[0].point")
            page.until(f"{DATA}.points[{STATE}.selected] === {row}")
            given[row] = f"digit {truth[row]}"
            page.label(given[row])
        page.settled()
        page.click("#export")
        page.until("document.getElementById('label-note').textContent.startsWith('Written')")
        shown = page.ask(f"{NAME}.data && window.spinlearnExplorer.labelsCsv()")
        page.quiet()
    assert "the answer is in digits-labels/answer" in said[0]
    assert {int(r["id"]): r["label"] for r in read_rows(
        tmp_path / "digits-labels" / "given.csv")} == given  # fmt: skip
    fitted = spinlearn(
        "fit", "digits.csv", "--labels-file", "digits-labels/given.csv", "--labels", "label",
        "--out", "fitted", cwd=tmp_path,
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr
    answer = tmp_path / "digits-labels" / "answer"
    names = sorted(path.name for path in (tmp_path / "fitted").iterdir())
    assert sorted(path.name for path in answer.iterdir()) == names
    for name in set(names) - {"model.npz", "run.json"}:  # how it was made
        assert (answer / name).read_bytes() == (tmp_path / "fitted" / name).read_bytes(), name
    assert_same_model(answer / "model.npz", tmp_path / "fitted" / "model.npz")
    assert shown == (answer / "labels.csv").read_text()


def assert_same_model(one, other):
    """Equal arrays and settings; how long it took is a fact of each run."""
    with np.load(one) as a, np.load(other) as b:
        assert set(a) == set(b)
        for name in set(a) - {"header"}:
            np.testing.assert_array_equal(a[name], b[name])
        heads = [json.loads(str(part["header"])) for part in (a, b)]
    for head in heads:
        settings, equilibrium = head["settings"], head["equilibrium"]
        for said in (settings, settings["diagnostics"], equilibrium.get("diagnostics", {})):
            said.pop("seconds", None)
    assert heads[0] == heads[1]


def test_by_keyboard_alone_on_a_narrow_screen(driver, tmp_path):
    X, truth = blobs()
    with screen(driver, 380, 740), served(tmp_path, X) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        assert page.ask("document.documentElement.scrollWidth") <= 380
        for _ in range(3):
            page.advised()
            page.keys("n")
            row = page.ask(f"{DATA}.points[{STATE}.selected]")
            page.label(f"c{truth[row]}")
        page.settled()
        assert (under_way.answer.names == [f"c{k}" for k in truth]).all()
        assert page.ask("document.documentElement.scrollWidth") <= 380
        page.keys("u")
        page.until(f"{NAME}.count === 2")
        page.keys("u", "u")
        page.until(f"{NAME}.count === 0")
        page.keys("r", "r", "r")
        page.until(f"{NAME}.count === 3")
        # A number labels with that class of the list, X takes it away again.
        page.settled()
        page.keys("n")
        row = page.ask(f"{DATA}.points[{STATE}.selected]")
        page.keys("2")
        page.until(f"{NAME}.count === 4")
        assert under_way.labels[row] == page.ask(f"{NAME}.classes[1][0]")
        page.settled()
        page.go(row)
        page.keys("x")
        page.until(f"{NAME}.count === 3")
        # A group: Space adds the picked point, Shift and an arrow goes to the next.
        page.driver.execute_script("document.getElementById('map').focus()")
        page.keys(" ", "g")
        assert page.ask(f"{NAME}.picked.size") > 1
        # Merge by Tab and Enter.
        page.driver.execute_script("document.querySelector('[data-key^=\"merge\"]').focus()")
        page.keys("\ue007")
        page.until(f"{NAME}.merging !== null")
        page.driver.execute_script("[...document.querySelectorAll('.pick')][1].focus()")
        page.keys("\ue007")
        page.until(f"{NAME}.classes.length === 2")
        page.quiet()


def test_two_tabs_and_a_third_person_see_each_other_at_once(driver, tmp_path):
    with served(tmp_path) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        try:
            second = Page(driver, under_way.address)
            with Client(under_way.address, who="bob") as bob:
                bob.act(do="label", points=[0], **{"class": "x"})
                second.until(f"{NAME}.labels.get(0) === 'x'")
                second.reads("label-note", "bob: labelled one point x")
                driver.switch_to.window(first)
                page.until(f"{NAME}.labels.get(0) === 'x'")
                page.label("y", 30)
                bob.until(lambda m: m["kind"] == "labels" and m["version"] == 2)
                bob.act(do="undo")  # takes back what bob did, and nothing else
            page.until(f"{NAME}.version === 3")
            assert under_way.labels[[0, 30]].tolist() == [None, "y"]
            driver.switch_to.window(driver.window_handles[-1])
            second.until(f"{NAME}.version === 3 && {NAME}.labels.size === 1")
            second.quiet()
        finally:
            driver.switch_to.window(driver.window_handles[-1])
            driver.close()
            driver.switch_to.window(first)


def test_lasso_names_merges_values_columns_and_changed_calls(driver, tmp_path):
    X, truth = blobs(90)
    with served(tmp_path, X, np.where(np.arange(90) == 0, "a", "").astype(object)) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        # Its values are shown, and can be colours.
        page.go(4)
        page.until("document.querySelector('.values') !== null")
        page.reads("look", f"{X[4, 0]:.6g}")
        page.driver.execute_script(f"{NAME}.setColumn('X[1]')")
        page.until(f"{STATE}.colourBy === 'column'")
        levels = page.ask(f"[...{STATE}.column.levels]")
        order = np.argsort(X[:, 1])
        assert (levels[order[0]], levels[order[-1]]) == (0, 31)
        assert np.all(np.diff(np.array(levels)[order]) >= 0)
        page.driver.execute_script("document.querySelector('[data-mode=\"class\"]').click()")
        # One click names a class that was found.
        group = page.ask(f"{DATA}.unnamed[0]")
        page.click(".name-it")
        page.until(f"{NAME}.count === {1 + len(group['points'])}")
        assert {under_way.labels[p] for p in group["points"]} == {"class 1"}
        page.settled()
        # A lasso around the others, and a class for all of them.
        rest = truth[group["points"][0]]
        others = np.flatnonzero((truth != rest) & (truth != 0))
        page.click("[data-tool='lasso']")
        page.drag(around(page.places(others)))
        assert set(page.ask(f"[...{NAME}.picked]")) == set(others.tolist())
        before = under_way.answer.names
        page.label("late")
        page.settled()
        assert set(under_way.labels[others]) == {"late"}
        after = under_way.answer.names
        changed = {int(k) for k in np.flatnonzero(before != after)}
        assert set(page.ask(f"{NAME}.changed")) == changed
        assert len(changed) >= 20
        page.reads("changed-note", "calls changed")
        # Two clicks merge two classes.
        page.click("[data-key='mergelate']")
        page.click("[data-key='classa']")
        page.until(f"{NAME}.classes.length === 2")
        assert set(under_way.labels[others]) == {"a"}
        page.click("#undo")
        page.until(f"{NAME}.classes.length === 3")
        # The temperature slider works meanwhile.
        page.settled()
        page.keys("\ue010")  # End: the highest
        assert page.ask(f"{STATE}.row === {DATA}.nRows - 1")
        page.keys("t")
        page.quiet()


def test_a_group_that_may_be_a_class_is_named_or_refused(driver, tmp_path):
    X, truth = blobs(90)
    y = np.full(90, "", dtype=object)
    for k in (*range(4), *range(30, 34)):
        y[k] = "ab"[truth[k]]
    with served(tmp_path, X, y) as under_way:
        page = Page(driver, under_way.address).settled()
        one = page.ask(f"{DATA}.proposals[0]")
        assert one["name"] == "new:1"
        page.reads("unnamed", "Groups that may be a class of their own")
        page.reads("unnamed", one["apart"][1:])
        assert page.ask("document.querySelectorAll('#proposals').length") == 0  # one list is enough
        page.click("[data-key='seenew:1']")
        assert page.ask(f"{STATE}.proposal.name") == "new:1"
        page.click("[data-key='rejectnew:1']")
        page.until(f"{NAME}.version === 1")
        page.until(f"{NAME}.times.length > 0")  # from the click to the picture
        page.settled()
        assert set(under_way.answer.names[60:]) == {one["beside"]}
        assert page.ask(f"{DATA}.proposals.every((p) => p.size !== 30)")
        page.click("#undo")
        page.settled()
        page.until(f"{DATA}.proposals[0].size === 30")
        page.driver.execute_script("document.getElementById('class-name').value = 'third'")
        page.driver.execute_script(f"{NAME}.renderUnnamed()")
        page.click("[data-key='namenew:1']")
        page.until(f"{NAME}.version === 3")
        page.settled()
        assert set(under_way.answer.names[60:]) == {"third"}
        page.quiet()


def test_strokes_paint_a_picture(driver, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 30, (14, 20, 3), dtype=np.uint8)
    pixels[:, 10:] += 200
    Image.fromarray(pixels).save(tmp_path / "halves.png")
    with commanded(tmp_path, "halves.png") as (address, _):
        page = Page(driver, address).settled("clusters")
        assert page.ask(f"{STATE}.tool") == "stroke"
        for column, name in ((3, "dark"), (16, "light")):
            top, bottom = page.places([4 * 20 + column, 9 * 20 + column])
            page.drag([tuple(top), tuple(bottom)])
            assert page.ask(f"{NAME}.picked.size") >= 6
            page.label(name)
        page.settled()
        page.click("#export")
        page.until("document.getElementById('label-note').textContent.startsWith('Written')")
        page.quiet()
    calls = {r["id"]: r["call"] for r in read_rows(
        tmp_path / "halves-labels" / "answer" / "labels.csv")}  # fmt: skip
    right = [calls[f"r{r}c{c}"] == ("dark" if c < 10 else "light")
             for r in range(14) for c in range(20)]  # fmt: skip
    assert np.mean(right) > 0.97


def test_hostile_names_are_text_on_the_page_in_the_log_and_in_the_table(driver, tmp_path):
    X, _ = blobs()
    ids = [HOSTILE, *(f"p{k}" for k in range(58)), "=HYPERLINK(1)"]
    with served(tmp_path, X, ids=ids) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        page.label(HOSTILE, 0)
        page.reads("look-id", HOSTILE)
        page.label("<b>y</b>", 59)
        page.settled()
        shown = [row.text for row in driver.find_elements("css selector", ".class-row .name")]
        assert shown == sorted([HOSTILE, "<b>y</b>"])
        assert page.ask("window.hacked") is None
        assert page.ask("document.querySelectorAll('#labelling img').length") == 0
        page.quiet()
    lines = (tmp_path / "labels" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["class"] for line in lines[1:]] == [HOSTILE, "<b>y</b>"]
    assert "\n'=HYPERLINK(1),<b>y</b>\n" in (tmp_path / "labels" / "given.csv").read_text()


def test_work_shows_progress_and_can_be_stopped(driver, tmp_path, monkeypatch):
    whole = Refit.thorough

    def slow(loop, names, callback=None, rejected=()):
        while any(names):  # until it is stopped
            if callback is not None and callback(Progress(phase="slow work", fraction=0.5)):
                raise StoppedError("stopped")
            time.sleep(0.05)
        return whole(loop, names, callback, rejected)

    monkeypatch.setattr(Refit, "thorough", slow)
    with served(tmp_path) as under_way:
        page = Page(driver, under_way.address).settled("clusters")
        page.label("x", 0)
        page.until("!document.getElementById('progress').hidden")
        page.reads("progress-phase", "slow work")
        page.click("#stop")
        page.until("document.getElementById('stop').textContent === 'Go on'")
        page.until(f"{DATA}.how === 'quick' && {DATA}.labelVersion === 1")
        # A label while it works ends the work on the one before.
        page.label("y", 30)
        page.quiet()
