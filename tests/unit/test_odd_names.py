"""Names in files: those that cannot be written are refused, formulas are disarmed and join back."""

import json
import os
import re
import shutil
import subprocess
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinlearn.answers.table import plain_name, safe_name
from spinlearn.errors import InvalidInputError
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.reading import read_dataset
from spinlearn.io.table import check_names
from tests.end_to_end.tool import read_rows, worked

FORMULAS = ["=1+2", "+T cells", "-like", "@SUM(A1)", "=cmd|'/c calc'!A1", "'=x"]
HIDDEN = ["\t=1+1", "\r=2", "\n=3+4", " =5", "  +B cells", "\t\t@SUM(A1)", "' =x", " \r\n-like"]
HARMLESS = [
    "-5", "+3.5", "-1e-3", "+", "-", "=", "a=b", "'quoted'", "", "'", "B cells", "-.5", " -5",
    "\t+3.5", "\ta", " ", " =", " '=x", "a =b", "'\ta",
]  # fmt: skip
ENDS = r"^'(?='*[\x00-\x20]*[=+\-@][\s\S])"  # as docs/your-files.md says
NAMES = st.text(alphabet="'=+-@a1.e\t\r\n ", max_size=6)


def test_formulas_are_marked_as_text_and_other_names_stay():
    assert [safe_name(name) for name in FORMULAS + HIDDEN] == [f"'{n}" for n in FORMULAS + HIDDEN]
    assert [safe_name(name) for name in HARMLESS] == HARMLESS


@given(NAMES)
def test_every_name_comes_back_and_what_is_written_is_no_formula(name):
    written = safe_name(name)
    assert plain_name(written) == name
    assert re.sub(ENDS, "", written) == name
    bare = written.strip()
    number = bare.lstrip("+-")[:1].isdigit() or bare.lstrip("+-")[:1] == "."
    assert len(bare) < 2 or bare[0] not in "=@+-" or number


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_page_writes_the_same_names():
    names = [*FORMULAS, *HIDDEN, *HARMLESS]
    script = files("spinlearn").joinpath("viz/page/table.js").read_text(encoding="utf-8")
    script += f"\nconsole.log(JSON.stringify({json.dumps(names)}.map(safeName)));"
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [safe_name(name) for name in names]


def table(ids: list[str]) -> str:
    k = np.arange(len(ids))
    kinds = ["=A", "+B", *[""] * (len(ids) - 2)]
    frame = pd.DataFrame({"key": ids, "kind": kinds, "a": k % 2 * 5 + k / 10, "b": k / 4})
    return frame.to_csv(index=False)


def test_ids_that_are_formulas_are_disarmed_in_the_answer_and_join_back(tmp_path):
    ids = [*FORMULAS, *(f"p{k}" for k in range(6)), "-5"]
    (tmp_path / "data.csv").write_text(table(ids), encoding="utf-8")
    fit = ("fit", "data.csv", "--labels", "kind", "--id", "key", "--temperature", "auto:grid=0.5")
    worked(*fit, "--out", "out", cwd=tmp_path)
    for name in ("labels.csv", "profile.csv"):
        rows = read_rows(tmp_path / "out" / name)
        assert {plain_name(row["id"]) for row in rows} == set(ids)
        for row in rows:
            assert row["id"] == "-5" or row["id"][0] not in "=+-@"
            assert row["call"][0] not in "=+-@"
    # As the guide to files says how.
    answer = pd.read_csv(tmp_path / "out" / "labels.csv")
    assert answer.id.str.replace(ENDS, "", regex=True).tolist() == ids
    # And by this program: the answer is the labels file of another fit.
    (tmp_path / "more.csv").write_text(table(ids).replace("=A", "").replace("+B", ""), "utf-8")
    options = ReadOptions(id="key", labels_file=tmp_path / "out" / "labels.csv", labels="call")
    data = read_dataset(tmp_path / "more.csv", options)
    assert all(label is not None for label in data.labels)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "edges"])
@pytest.mark.parametrize("where", ["id", "label"])
def test_zero_bytes_in_names_are_refused(tmp_path, kind, where):
    ids = ["p0", "p\0one" if where == "id" else "p1", *(f"p{k}" for k in range(2, 8))]
    labels = ["A", "B\0B" if where == "label" else "B", *[""] * 6]
    path = tmp_path / f"d.{kind}"
    options = ReadOptions(labels="kind", id="key")
    if kind == "csv":  # beyond what is looked at first
        many = "".join(f"q{k},,{k}.25,1.5\n" for k in range(6000))
        pairs = enumerate(zip(ids, labels, strict=True))
        rows = "".join(f"{name},{label},{k}.5,1.25\n" for k, (name, label) in pairs)
        path.write_text("key,kind,a,b\n" + many + rows, encoding="utf-8")
    elif kind == "parquet":
        pd.DataFrame({"key": ids, "kind": labels, "a": np.arange(8.0)}).to_parquet(path)
    elif kind == "npz":
        np.savez(path, X=np.eye(8), key=np.array(ids), kind=np.array(labels))
    else:
        path.write_text("".join(f"{i} {j}\n" for i, j in pairwise(ids)), encoding="utf-8")
        pd.DataFrame({"key": ids, "kind": labels}).to_parquet(tmp_path / "k.parquet")
        options = ReadOptions(labels_file=tmp_path / "k.parquet", labels="kind", id="key")
    with pytest.raises(InvalidInputError, match="zero byte"):
        read_dataset(path, options)


@pytest.mark.parametrize("what", ["the id", "the label", "the column"])
def test_broken_text_in_names_is_refused(what):
    with pytest.raises(InvalidInputError, match=f"{what} 'q.udc80', which is not text"):
        check_names(Path("d.csv"), what, ["p", None, 3, "Ä", "q\udc80"])


def test_a_file_whose_name_is_no_text_is_read(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"d\xff.csv")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(table([f"p{k}" for k in range(8)]))
    except OSError:
        pytest.skip("this file system takes text alone")
    quick = ("--temperature", "auto:grid=0.5", "--out", "out")
    worked("fit", os.fsdecode(path), "--labels", "kind", *quick, cwd=tmp_path)
