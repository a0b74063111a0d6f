"""Bad input to the command line: one clear line, exit code 2, nothing left behind."""

from __future__ import annotations

import io
import time
import zipfile

import numpy as np
import pytest

from tests.end_to_end.tool import leftovers, spinlearn, spinlearn_here
from tests.slowness import slowness

GOOD = "id,label,x,y\n" + "".join(
    f"r{k},{'A' if k == 0 else 'B' if k == 1 else ''},{k % 2 * 5 + k / 10},{k / 2}\n"
    for k in range(12)
)


def rows(text: str) -> str:
    """The good table with its rows replaced."""
    return "id,label,x,y\n" + text


CASES = {
    "wrong delimiter": ("data.csv", GOOD.replace(",", ";"), ["--delimiter ';'"]),
    "missing column": ("data.csv", GOOD.replace("label", "kind"), ["no column 'label'", "kind"]),
    "mixed types": ("data.csv", GOOD.replace("r3,,5.3", "r3,,five"), ["'x'", "five", "line 5"]),
    "decimal commas": (
        "data.csv",
        GOOD.replace("5.3", '"5,3"'),
        ["'x'", "5,3", "line 5", "decimal points"],
    ),
    "only decimal commas": (
        "data.csv",
        'id,label,x,y\na,A,"1,5",1\nb,B,"2,5",2\nc,,"3,5",3\n',
        ["decimal points"],
    ),
    "one label only": ("data.csv", GOOD.replace(",B,", ",,"), ["the only label is 'A'"]),
    "all labels missing": ("data.csv", GOOD.replace(",A,", ",,").replace(",B,", ",NA,"), ["label"]),
    "a label on every row": ("data.csv", GOOD.replace(",,", ",A,"), ["nothing to classify"]),
    "one class only": ("data.csv", GOOD.replace(",B,", ",A,"), ["'A'", "another class"]),
    "missing features": ("data.csv", GOOD.replace("5.3", ""), ["'x'", "line 5", "fill"]),
    "infinite features": ("data.csv", GOOD.replace("5.3", "inf"), ["'x'", "line 5"]),
    "duplicate ids": ("data.csv", GOOD.replace("r3", "r2"), ["'r2'", "more than once"]),
    "no rows": ("data.csv", rows(""), ["no rows"]),
    "one row": ("data.csv", rows("r0,A,1,2\n"), ["1 points"]),
    "empty file": ("data.csv", "", ["empty"]),
    "ragged rows": ("data.csv", GOOD.replace("r3,,5.3", "r3,,5.3,7"), ["line 5"]),
    "twice the same column": ("data.csv", GOOD.replace(",y\n", ",x\n"), ["twice", "'x'"]),
    "no feature": (
        "data.csv",
        "id,label,x\na,A,p\nb,B,q\nc,,r\n",
        ["no feature column", "left out 'x': text"],
    ),
    "unknown ending": ("data.xlsx", GOOD, [".xlsx", ".csv"]),
    "text named parquet": ("data.parquet", GOOD, ["not a Parquet file"]),
    "text named h5ad": ("data.h5ad", GOOD, ["not a HDF5 file"]),
    "text named npz": ("data.npz", GOOD, ["npz"]),
    "text named npy": ("data.npy", GOOD, ["not a .npy file"]),
    "text named mtx": ("data.mtx", GOOD, ["labels-file"]),
    "text named gz": ("data.csv.gz", GOOD, ["gzip"]),
}


def check_refusal(done, words):
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize("case", CASES)
def test_bad_file(tmp_path, case):
    name, content, words = CASES[case]
    (tmp_path / name).write_text(content)
    arguments = ["fit", name, "--labels", "label", "--id", "id", "--out", "new/out"]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    check_refusal(done, words)
    assert leftovers(tmp_path) == {name}


def test_the_good_table_of_these_cases_is_good(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    arguments = ["fit", "data.csv", "--labels", "label", "--id", "id", "--out", "new/out"]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("engine", "auto:tol=-1", "tol=-1 of the engine is not a number > 0"),
        ("engine", "auto:tol=nan", "tol='nan' is not a number"),
        ("engine", "auto:n_jobs=0", "n_jobs=0 would do nothing"),
        ("time-limit", 0, "use seconds > 0"),
        ("seed", -1, "seed -1 cannot be used"),
    ],
)
def test_settings_of_a_sampler_are_checked_though_the_answer_is_exact(
    tmp_path, option, value, words
):
    (tmp_path / "data.csv").write_text(GOOD)
    done = spinlearn_here(
        "fit", "data.csv", "--labels", "label", "--out", "out", f"--{option}", value, cwd=tmp_path
    )
    check_refusal(done, [words])
    assert leftovers(tmp_path) == {"data.csv"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--features", ""), ["--features ''", "names no column"]),
        (("--features", ","), ["--features ','", "names no column"]),
        (("--features", "x,z"), ["no column 'z'", "data.csv"]),
        (("--graph", "knn:inf"), ["n_neighbors='inf' is not a whole number"]),
        (("--graph", "knn:nan"), ["n_neighbors='nan' is not a whole number"]),
        (("--graph", "mutual_knn:5,spanning_tree=no"), ["'no' is neither true nor false"]),
        (("--temperature", "auto:grid=0:inf:4"), ["'0:inf:4'", "at most 10000"]),
        (("--temperature", "auto:grid=0:1:100000"), ["'0:1:100000'", "at most 10000"]),
        (("--labels-file", "."), ["is a folder"]),
        (("--unlabelled", "A,B"), ["no point has a label"]),
    ],
)
def test_bad_options(tmp_path, arguments, words):
    (tmp_path / "data.csv").write_text(GOOD)
    given = ["fit", "data.csv", "--labels", "label", "--out", "out", *arguments]
    check_refusal(spinlearn_here(*given, cwd=tmp_path), words)
    assert leftovers(tmp_path) == {"data.csv"}


@pytest.mark.parametrize(
    "unlabelled", [("--unlabelled", "?,unknown"), ("--unlabelled", "?", "--unlabelled", "unknown")]
)
def test_labels_that_mean_none(tmp_path, unlabelled):
    (tmp_path / "plain.csv").write_text(GOOD)
    marked = GOOD.replace("r2,,", "r2,?,").replace("r3,,", "r3,unknown,")
    (tmp_path / "marked.csv").write_text(marked)
    for name, more in (("plain", ()), ("marked", unlabelled)):
        done = spinlearn_here(
            "fit", f"{name}.csv", "--labels", "label", "--id", "id",
            "--temperature", "auto:grid=0.5",
            "--out", name, *more, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "2 features: x, y" in done.stdout
    one, other = (tmp_path / name / "labels.csv" for name in ("plain", "marked"))
    assert one.read_bytes() == other.read_bytes()


def test_not_utf8(tmp_path):
    (tmp_path / "data.csv").write_bytes(GOOD.replace("A", "Ä").encode("latin-1"))
    arguments = ["fit", "data.csv", "--labels", "label", "--out", "out"]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    check_refusal(done, ["--encoding latin-1"])
    assert leftovers(tmp_path) == {"data.csv"}


def test_utf16_is_named_and_read_on_request(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD, encoding="utf-16")
    arguments = [
        "fit",
        "data.csv",
        "--labels",
        "label",
        "--id",
        "id",
        "--temperature",
        "auto:grid=0.5",
    ]
    done = spinlearn_here(*arguments, "--out", "out", cwd=tmp_path)
    check_refusal(done, ["--encoding utf-16"])
    done = spinlearn_here(*arguments, "--out", "out", "--encoding", "utf-16", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "data.csv").write_text(GOOD)
    done = spinlearn_here(*arguments, "--out", "plain", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, other = (tmp_path / name / "labels.csv" for name in ("out", "plain"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz", "npy", "h5ad", "mtx", "edges"])
def test_a_gigabyte_of_the_wrong_kind_is_refused_at_once(tmp_path, kind):
    with open(tmp_path / f"data.{kind}", "wb") as file:
        file.truncate(1 << 30)  # sparse: takes no room
    (tmp_path / "labels.csv").write_text("id,label\n1,A\n")
    arguments = ["fit", f"data.{kind}", "--labels", "label", "--out", "out"]
    if kind in ("npy", "mtx", "edges"):
        arguments += ["--labels-file", "labels.csv"]
    began = time.process_time()
    done = spinlearn_here(*arguments, cwd=tmp_path)
    assert time.process_time() - began < 5 * slowness()
    check_refusal(done, [f"data.{kind}"])
    assert leftovers(tmp_path) == {f"data.{kind}", "labels.csv"}


@pytest.mark.parametrize("out", ["file/out", "/proc/nowhere/out", "file"])
def test_unwritable_folder(tmp_path, out):
    (tmp_path / "data.csv").write_text(GOOD)
    (tmp_path / "file").write_text("a file, not a folder")
    arguments = ["fit", "data.csv", "--labels", "label", "--out", out]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    check_refusal(done, [out])
    assert leftovers(tmp_path) == {"data.csv", "file"}


def test_a_folder_with_other_things_is_not_replaced(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("years of work")
    arguments = ["fit", "data.csv", "--labels", "label", "--out", "thesis"]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    check_refusal(done, ["another folder"])
    assert leftovers(tmp_path) == {"data.csv", "thesis", "thesis/chapter1.txt"}


class _Bomb:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self):
        return (open, ("exploded", "w"))


def _bomb_array() -> np.ndarray:
    bomb = np.empty(1, dtype=object)
    bomb[0] = _Bomb()
    return bomb


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explore", "suggest", "suspects"])
def test_a_malicious_model_is_refused(tmp_path, command):
    (tmp_path / "data.csv").write_text(GOOD)
    arguments = ["fit", "data.csv", "--labels", "label", "--out", "out"]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = tmp_path / "out" / "model.npz"
    with np.load(model) as archive:
        arrays = dict(archive)
    arrays["fields"] = _bomb_array()
    np.savez(model, allow_pickle=True, **arrays)
    (tmp_path / "out" / "report.html").unlink()
    before = leftovers(tmp_path)
    done = spinlearn_here(command, "out", cwd=tmp_path)
    check_refusal(done, ["pickled"])
    assert leftovers(tmp_path) == before
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_malicious_data_are_refused(tmp_path, kind):
    path = tmp_path / f"data.{kind}"
    if kind == "npy":
        np.save(path, _bomb_array(), allow_pickle=True)
    else:
        np.savez(path, allow_pickle=True, X=_bomb_array(), y=np.zeros(1))
    (tmp_path / "labels.csv").write_text("id,label\n1,A\n")
    arguments = ["fit", path.name, "--labels-file", "labels.csv", "--out", "out"]
    done = spinlearn_here(*arguments, cwd=tmp_path)
    check_refusal(done, ["pickled"])
    assert leftovers(tmp_path) == {path.name, "labels.csv"}


def test_a_malicious_checkpoint_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    with open(tmp_path / ".out.checkpoint.npz", "wb") as file:
        np.savez(file, allow_pickle=True, header=_bomb_array())
    arguments = [
        "fit", "data.csv", "--labels", "label", "--out", "out", "--resume",
        "--engine", "multicanonical",
    ]  # fmt: skip
    done = spinlearn_here(*arguments, cwd=tmp_path)
    check_refusal(done, ["checkpoint"])
    assert leftovers(tmp_path) == {"data.csv", ".out.checkpoint.npz"}


def test_headers_that_lie_about_their_size_are_refused(tmp_path):
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        text, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 100)}
    )
    (tmp_path / "data.npy").write_bytes(text.getvalue())
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("X.npy", text.getvalue())
    (tmp_path / "labels.csv").write_text("id,label\n1,A\n")
    for name in ("data.npy", "data.npz"):
        arguments = ["fit", name, "--labels-file", "labels.csv", "--out", "out"]
        done = spinlearn_here(*arguments, cwd=tmp_path)
        check_refusal(done, ["truncated"])


@pytest.mark.slow
def test_a_fresh_process_says_one_line_and_shows_more_only_on_request(tmp_path):
    (tmp_path / "data.csv").write_text(GOOD)
    arguments = ("fit", "data.csv", "--labels", "nope", "--out", "out")
    done = spinlearn(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    shown = spinlearn(*arguments, "--debug", cwd=tmp_path)
    assert shown.returncode == 2
    assert "Traceback" in shown.stderr
    assert leftovers(tmp_path) == {"data.csv"}
