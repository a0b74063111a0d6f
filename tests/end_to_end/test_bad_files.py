"""Bad input to the command line: one clear line, exit code 2, nothing left behind."""

import io
import time
import zipfile

import numpy as np
import pytest

from tests.end_to_end.tool import leftovers, spinlearn, spinlearn_here, worked
from tests.slowness import slowness

GOOD = "id,label,x,y\n" + "".join(
    f"r{k},{'A' if k == 0 else 'B' if k == 1 else ''},{k % 2 * 5 + k / 10},{k / 2}\n"
    for k in range(12)
)


CASES = {  # what is in data.csv, and words of the line that refuses it
    "wrong delimiter": (GOOD.replace(",", ";"), ["--delimiter ';'"]),
    "missing column": (GOOD.replace("label", "kind"), ["no column 'label'", "kind"]),
    "mixed types": (GOOD.replace("r3,,5.3", "r3,,five"), ["'x'", "five", "line 5"]),
    "decimal commas": (GOOD.replace("5.3", '"5,3"'), ["'x'", "5,3", "line 5", "decimal points"]),
    "only decimal commas": ('id,label,x,y\na,A,"1,5",1\nb,B,"2,5",2\n', ["decimal points"]),
    "one label only": (GOOD.replace(",B,", ",,"), ["the only label is 'A'"]),
    "all labels missing": (GOOD.replace(",A,", ",,").replace(",B,", ",NA,"), ["label"]),
    "a label on every row": (GOOD.replace(",,", ",A,"), ["nothing to classify"]),
    "one class only": (GOOD.replace(",B,", ",A,"), ["'A'", "another class"]),
    "missing features": (GOOD.replace("5.3", ""), ["'x'", "line 5", "fill"]),
    "infinite features": (GOOD.replace("5.3", "inf"), ["'x'", "line 5"]),
    "duplicate ids": (GOOD.replace("r3", "r2"), ["'r2'", "more than once"]),
    "no rows": ("id,label,x,y\n", ["no rows"]),
    "one row": ("id,label,x,y\nr0,A,1,2\n", ["1 points"]),
    "empty file": ("", ["empty"]),
    "ragged rows": (GOOD.replace("r3,,5.3", "r3,,5.3,7"), ["line 5"]),
    "twice the same column": (GOOD.replace(",y\n", ",x\n"), ["twice", "'x'"]),
    "no feature": ("id,label,x\na,A,p\nb,B,q\nc,,r\n", ["no feature column", "'x': text"]),
    "not utf-8": (GOOD.replace("A", "Ä").encode("latin-1"), ["--encoding latin-1"]),
}
NAMES = {  # the good table in a file of another name
    "data.xlsx": [".xlsx", ".csv"],
    "data.parquet": ["not a Parquet file"],
    "data.h5ad": ["not a HDF5 file"],
    "data.npz": ["npz"],
    "data.npy": ["not a .npy file"],
    "data.mtx": ["labels-file"],
    "data.csv.gz": ["gzip"],
}
OPTIONS = [  # beside the good table
    (("--engine", "auto:tol=-1"), ["tol=-1 of the engine is not a number > 0"]),
    (("--engine", "auto:tol=nan"), ["tol='nan' is not a number"]),
    (("--engine", "auto:n_jobs=0"), ["n_jobs=0 would do nothing"]),
    (("--time-limit", 0), ["use seconds > 0"]),
    (("--seed", -1), ["seed -1 cannot be used"]),
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
    (("--out", "data.csv/out"), ["data.csv/out"]),
    (("--out", "/proc/nowhere/out"), ["/proc/nowhere/out"]),
    (("--out", "data.csv"), ["data.csv"]),
]


def refused(folder, *arguments, words):
    """One clear line, and the folder is as it was before."""
    before = leftovers(folder)
    done = spinlearn_here(*arguments, cwd=folder)
    assert done.returncode == 2, done
    (line,) = done.stderr.strip().splitlines()
    assert "Traceback" not in line
    for word in words:
        assert word in line
    assert leftovers(folder) == before


def fit(name="data.csv", *options):
    return ("fit", name, "--labels", "label", "--id", "id", "--out", "new/out", *options)


@pytest.mark.parametrize("case", CASES)
def test_bad_file(tmp_path, case):
    content, words = CASES[case]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "data.csv").write_bytes(content)
    refused(tmp_path, *fit(), words=words)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_in_a_file_of_another_name(tmp_path, name):
    (tmp_path / name).write_text(GOOD)
    refused(tmp_path, *fit(name), words=NAMES[name])


@pytest.fixture
def table(tmp_path):
    """A folder with the good table."""
    (tmp_path / "data.csv").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_bad_options(table, options, words):
    """Those of a sampler too, though the answer is exact."""
    refused(table, *fit("data.csv", *options), words=words)


@pytest.mark.parametrize(
    "options",
    [
        ("--unlabelled", "?,unknown"),
        ("--unlabelled", "?", "--unlabelled", "unknown"),
        ("--encoding", "utf-16"),
    ],
)
def test_what_is_read_on_request_is_read_as_the_good_table(table, options):
    wide, quick = "utf-16" in options, ("--temperature", "auto:grid=0.5")
    marked = GOOD if wide else GOOD.replace("r2,,", "r2,?,").replace("r3,,", "r3,unknown,")
    (table / "marked.csv").write_text(marked, encoding="utf-16" if wide else "utf-8")
    if wide:
        refused(table, *fit("marked.csv", *quick), words=["--encoding utf-16"])
    for name, more in (("data", ()), ("marked", options)):
        done = worked(*fit(f"{name}.csv", *quick, "--out", name, *more), cwd=table)
    assert "2 features: x, y" in done.stdout
    one, other = (table / name / "labels.csv" for name in ("data", "marked"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "kind",
    ["csv", "tsv", "parquet", "xlsx", "npz", "npy", "h5ad", "mtx", "edges", "graphml", "gml"],
)
def test_a_gigabyte_of_the_wrong_kind_is_refused_at_once(tmp_path, kind):
    with open(tmp_path / f"data.{kind}", "wb") as file:
        file.truncate(1 << 30)  # sparse: takes no room
    (tmp_path / "labels.csv").write_text("id,label\n1,A\n")
    arguments = ["fit", f"data.{kind}", "--labels", "label", "--out", "out"]
    if kind in ("npy", "mtx", "edges"):
        arguments += ["--labels-file", "labels.csv"]
    began = time.process_time()
    refused(tmp_path, *arguments, words=[f"data.{kind}"])
    assert time.process_time() - began < 5 * slowness()


def test_a_folder_with_other_things_is_not_replaced(table):
    (table / "thesis").mkdir()
    (table / "thesis" / "chapter1.txt").write_text("years of work")
    refused(table, *fit("data.csv", "--out", "thesis"), words=["another folder"])


class _Bomb:
    """Leaves a file behind when it is unpickled."""

    def __reduce__(self):
        return (open, ("exploded", "w"))


BOMB = np.array([_Bomb()], dtype=object)


@pytest.mark.slow
def test_a_malicious_model_is_refused(table):
    worked(*fit("data.csv", "--out", "out"), cwd=table)
    model = table / "out" / "model.npz"
    with np.load(model) as archive:
        arrays = dict(archive)
    np.savez(model, allow_pickle=True, **arrays | {"fields": BOMB})
    (table / "out" / "report.html").unlink()
    for command in ("explore", "suggest", "suspects"):
        refused(table, command, "out", words=["pickled"])


@pytest.mark.parametrize("word", ["pickled", "truncated"])
def test_malicious_data_are_refused(tmp_path, word):
    """Pickled objects, and headers that lie about their size."""
    text = io.BytesIO()
    if word == "pickled":
        np.lib.format.write_array(text, BOMB, allow_pickle=True)
    else:
        said = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 100)}
        np.lib.format.write_array_header_1_0(text, said)
    (tmp_path / "data.npy").write_bytes(text.getvalue())
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("X.npy", text.getvalue())
    (tmp_path / "labels.csv").write_text("id,label\n1,A\n")
    for name in ("data.npy", "data.npz"):
        arguments = ("fit", name, "--labels-file", "labels.csv", "--out", "out")
        refused(tmp_path, *arguments, words=[word])


def test_a_malicious_checkpoint_is_refused(table):
    with open(table / ".out.checkpoint.npz", "wb") as file:
        np.savez(file, allow_pickle=True, header=BOMB)
    options = ("--out", "out", "--resume", "--engine", "multicanonical")
    refused(table, *fit("data.csv", *options), words=["checkpoint"])


@pytest.mark.slow
def test_a_fresh_process_says_one_line_and_shows_more_only_on_request(table):
    arguments = ("fit", "data.csv", "--labels", "nope", "--out", "out")
    done = spinlearn(*arguments, cwd=table)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Traceback" not in done.stderr
    shown = spinlearn(*arguments, "--debug", cwd=table)
    assert shown.returncode == 2
    assert "Traceback" in shown.stderr
    assert leftovers(table) == {"data.csv"}
