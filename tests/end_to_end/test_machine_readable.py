"""--json, run.json and `spinlearn rerun`: what other programs read of an answer."""

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from spinlearn.io.folder import ANSWER_FILES
from spinlearn.io.record import as_json, digest
from spinlearn.settings import CLASSIFIER, PREPARING
from tests.end_to_end.tool import (
    leftovers,
    read_rows,
    spinlearn_here,
    spinlearn_signalled,
    two_rows,
    worked,
)

pytestmark = pytest.mark.slow

FIT = ("fit", "data.csv", "--labels", "kind", "--id", "id", "--temperature", "auto:grid=0,0.5,1")
WRITING = "spinlearn.io.folder:write_label_parquet"
ON_WAY = ("answer", "files", "stopped")  # keys of `fit --json` that run.json does not have


def object_of(done: subprocess.CompletedProcess) -> dict:
    """The one object on standard output, in which no number is NaN or infinite."""
    assert done.stdout.isascii()

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(done.stdout, parse_constant=refuse)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A folder with a table and its answer, and what --json said of it."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "data.csv").write_text(two_rows(20))
    done = worked(*FIT, "--out", "out", "--json", cwd=folder)
    return folder, object_of(done)


def test_what_fit_says_is_what_stands_beside_the_answer(fitted):
    folder, said = fitted
    run = json.loads((folder / "out" / "run.json").read_text(encoding="utf-8"))
    assert run == {name: value for name, value in said.items() if name not in ON_WAY}
    assert {Path(p).name for p in said["files"]} == set(ANSWER_FILES)
    content = (folder / "data.csv").read_bytes()
    assert run["inputs"] == [{"path": "data.csv", "sha256": hashlib.sha256(content).hexdigest()}]
    assert set(run["settings"]) == {one.name for one in (*CLASSIFIER, *PREPARING)}
    assert (run["schema"], run["command"], run["seed"], said["stopped"]) == (1, "fit", 0, False)
    table = read_rows(folder / "out" / "labels.csv")
    assert run["points"] == len(table)
    for one in run["calls"]:
        called = [row["status"] for row in table if row["call"] == one["call"]]
        assert one["points"] == len(called)
        assert one["statuses"] == {status: called.count(status) for status in set(called)}


def test_a_rerun_says_that_nothing_differs_or_what_does(fitted):
    folder, _ = fitted
    before = leftovers(folder)
    done = worked("rerun", "out", "--json", cwd=folder)
    same = object_of(done)
    assert (same["same"], same["inputs"], same["versions"]) == (True, [], {})
    assert (same["points"], same["calls"], same["probability"]) == (40, 0, 0)
    assert leftovers(folder) == before
    assert "the calls of 40 points are the same" in worked("rerun", "out", cwd=folder).stdout


def changed(folder: Path, path: str, **entries: object) -> None:
    """Another value of some entries of a run.json."""
    run = json.loads((folder / path / "run.json").read_text(encoding="utf-8"))
    (folder / path / "run.json").write_text(json.dumps({**run, **entries}), encoding="utf-8")


def test_a_rerun_tells_other_data_and_other_versions(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text(two_rows(20))
    worked(*FIT, "--out", "out", cwd=tmp_path)
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    changed(tmp_path, "out", versions=run["versions"] | {"numpy": "1.0"})
    older = object_of(worked("rerun", "out", "--json", cwd=tmp_path))
    assert older["versions"] == {"numpy": ["1.0", run["versions"]["numpy"]]}
    data.write_text(
        data.read_text().replace("p0,left", "p0,right").replace("p20,right", "p20,left")
    )
    done = spinlearn_here("rerun", "out", "--out", "new", "--json", cwd=tmp_path)
    assert done.returncode == 1
    found = object_of(done)
    assert (found["same"], found["inputs"], found["calls"]) == (False, ["data.csv"], 40)
    assert found["probability"] == 1  # of the labels themselves
    assert "40 of 40 calls are different" in spinlearn_here("rerun", "out", cwd=tmp_path).stdout
    # The new answer says of itself how it was made.
    assert object_of(worked("rerun", "new", "--json", cwd=tmp_path))["same"]
    data.write_text(data.read_text().replace("p39,", "p99,"))
    assert "2 points are in one" in spinlearn_here("rerun", "new", cwd=tmp_path).stdout
    data.unlink()
    gone = spinlearn_here("rerun", "out", cwd=tmp_path)
    assert gone.returncode == 2
    assert "data.csv is neither in" in gone.stderr


def test_every_command_that_writes_an_answer_can_be_repeated(fitted, tmp_path):
    folder, said = fitted
    group = said["proposals"][0]["group"]
    (tmp_path / "labels.csv").write_text("id,kind\np0,left\np20,right\n")
    second = ("--labels-file", tmp_path / "labels.csv", "--features", "a,b")
    for name, command in {
        "second": ("fit", "data.csv", "--labels", "kind", "--id", "id", *second),
        "groups": ("cluster", "data.csv", "--features", "a,b"),
        "more": ("accept", "out", group, "third"),
        "less": ("reject", "out", group),
        "finer": ("explore", "out", "--temperatures", "0:1:5"),
    }.items():
        worked(*command, "--out", tmp_path / name, cwd=folder)
        # From another folder: the files are found where they were.
        again = object_of(worked("rerun", name, "--json", cwd=tmp_path))
        assert again["same"], (name, again)
    (tmp_path / "labels.csv").write_text("id,kind\np1,left\np20,right\n")
    done = spinlearn_here("rerun", "second", "--json", cwd=tmp_path)
    assert object_of(done)["inputs"] == [str(tmp_path / "labels.csv")]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"schema": 99}, "schema 99"),
        ({"command": None}, "labelled by looking"),
        ({"command": "doctor"}, "no command that makes an answer"),
        ({"command": "accept"}, "no command that makes an answer"),
        ({"settings": 3}, "settings is no dict"),
        ({"settings": {"nonsense": 1}}, "no setting 'nonsense'"),
        ({"reading": {"nonsense": 1}}, "another version's settings"),
        ({"inputs": [{}]}, "'path'"),
    ],
)
def test_a_run_that_says_nonsense_is_refused_in_one_line(fitted, tmp_path, entries, said):
    folder, _ = fitted
    (tmp_path / "out").mkdir()
    for name in ("model.npz", "run.json"):
        (tmp_path / "out" / name).write_bytes((folder / "out" / name).read_bytes())
    changed(tmp_path, "out", **entries)
    done = spinlearn_here("rerun", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_lists_for_people_programs_and_spreadsheets_are_the_same(tmp_path):
    (tmp_path / "data.csv").write_text(
        two_rows(20).replace("p5,,", "p5,right,").replace("p25,,", "p25,right,")
        .replace("p30,,", "p30,right,").replace("p10,,", "p10,left,").replace("p15,,", "p15,left,")
    )  # fmt: skip
    worked(*FIT, "--out", "out", cwd=tmp_path)
    for command, number in ((("suggest", "out", "-n", 3), 3), (("suspects", "out"), 1)):
        shown = worked(*command, "--out", "table.csv", cwd=tmp_path)
        rows = object_of(worked(*command, "--json", cwd=tmp_path))["rows"]
        written = read_rows(tmp_path / "table.csv")
        assert len(rows) == len(written) == number
        for row, texts in zip(rows, written, strict=True):
            assert list(row) == list(texts)
            assert row["id"] == texts["id"]
            assert row["id"] in shown.stdout
            numbers = {name: float(texts[name]) for name in row if isinstance(row[name], float)}
            assert numbers == pytest.approx({name: row[name] for name in numbers}, rel=1e-5)
        (tmp_path / "table.csv").write_text("mine\n")
        refused = spinlearn_here(*command, "--out", "table.csv", cwd=tmp_path)
        assert "holds no earlier table" in refused.stderr
        (tmp_path / "table.csv").unlink()
    proposed = object_of(worked("proposals", "out", "--json", cwd=tmp_path))["proposals"]
    table = read_rows(tmp_path / "out" / "proposals.csv")
    assert [" ".join(one["members"]) for one in proposed] == [row["members"] for row in table]
    assert worked("proposals", "out", cwd=tmp_path).stdout.count("\n") == max(len(table), 1)


def test_compare_and_doctor_as_json(fitted):
    folder, _ = fitted
    command = ("compare", "data.csv", "--labels", "kind", "--id", "id", "--method", "lgc")
    said = object_of(worked(*command, "--temperature", "auto:grid=0.5,1", "--json", cwd=folder))
    assert [row["method"] for row in said["rows"]] == ["sampled", "minimised", "lgc"]
    assert said["rows"][2]["temperature"] is None  # it has none
    done = worked("doctor", "--json", cwd=folder)
    said = object_of(done)
    assert said["good"]
    assert all(check["good"] for check in said["checks"])
    assert "compiling" in done.stderr


def test_json_when_the_reader_leaves_and_at_control_c(tmp_path):
    (tmp_path / "data.csv").write_text(two_rows(20))
    command = f"{sys.executable} -m spinlearn {' '.join(FIT)} --out out --json --quiet"
    line = f"set -o pipefail; {command} | true"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    stopped = spinlearn_signalled(
        *FIT, "--out", "out", "--json", cwd=tmp_path, after=WRITING, kind=signal.SIGINT
    )
    assert stopped.returncode == 0, stopped.stderr
    assert object_of(stopped)["points"] == 40
    assert "writing the answer" in stopped.stderr
    left = spinlearn_signalled(
        *FIT, "--out", "out", "--json", cwd=tmp_path, after=WRITING, kind=signal.SIGINT, times=2
    )
    assert (left.returncode, left.stdout) == (130, "")


def test_odd_numbers_and_names_are_plain(tmp_path):
    text = as_json({"a": float("nan"), "b": [float("inf"), "é\udcff"], "c": Path("x")})
    assert json.loads(text) == {"a": None, "b": [None, "é\udcff"], "c": "x"}
    assert text.isascii()
    # A folder of parts: what is in them and how they are called, not where they are.
    for name, content in (("one", "a"), ("two", "a"), ("three", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_text(content)
    assert digest(tmp_path / "one") == digest(tmp_path / "two") != digest(tmp_path / "three")


def test_h5ad_in_gives_h5ad_out(tmp_path):
    """What was there stays; what is new says the same as labels.csv."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(0, 1, (20, 5)), rng.normal(9, 1, (20, 5))])
    kinds = ["left"] + [""] * 19 + ["right"] + [""] * 19
    obs = pd.DataFrame({"kind": kinds}, index=[f"c{k}" for k in range(40)])
    anndata.AnnData(points, obs=obs, uns={"mine": 3}).write_h5ad(tmp_path / "cells.h5ad")
    command = ("--labels", "kind", "--write-h5ad", "--json", "--out", "out")
    said = object_of(worked("fit", "cells.h5ad", *command, cwd=tmp_path))
    assert str(Path("out", "answer.h5ad")) in said["files"]
    written = anndata.read_h5ad(tmp_path / "out" / "answer.h5ad")
    np.testing.assert_array_equal(written.X, points)
    assert written.uns["mine"] == 3
    assert written.obs["kind"].tolist() == kinds
    rows = read_rows(tmp_path / "out" / "labels.csv")
    for name in ("call", "status", "second"):
        assert written.obs[f"spinlearn_{name}"].tolist() == [row[name] for row in rows]
    assert object_of(worked("rerun", "out", "--json", cwd=tmp_path))["same"]
    # Without it an earlier one does not stay beside another answer.
    again = ("fit", "out/answer.h5ad", "--labels", "kind", "--write-h5ad", "--out", "two")
    worked(*again, cwd=tmp_path)
    worked("fit", "cells.h5ad", "--labels", "kind", "--out", "out", cwd=tmp_path)
    assert {p.name for p in (tmp_path / "out").iterdir()} == set(ANSWER_FILES)
    written.uns["spinlearn"] = "mine"
    written.write_h5ad(tmp_path / "cells.h5ad")
    refused = spinlearn_here("fit", "cells.h5ad", *command, cwd=tmp_path)
    assert (refused.returncode, "holds something else" in refused.stderr) == (2, True)
    (tmp_path / "data.csv").write_text(two_rows(20))
    refused = spinlearn_here(*FIT, "--write-h5ad", cwd=tmp_path)
    assert "not to data.csv" in refused.stderr
