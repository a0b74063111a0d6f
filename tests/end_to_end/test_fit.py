"""`spinlearn fit` on real tables, written as a user would have them."""

import gzip
import json
import signal
import subprocess
import sys
import warnings
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.decomposition import PCA

from spinlearn.datasets import real, two_bands
from spinlearn.engines.sampling import run as sampling_run
from spinlearn.io.dataset import ReadOptions
from spinlearn.io.folder import ANSWER_FILES
from spinlearn.io.reading import read_dataset
from spinlearn.io.result import Result
from tests.conftest import some_labels
from tests.end_to_end.tool import (
    leftovers,
    read_rows,
    spinlearn,
    spinlearn_here,
    spinlearn_signalled,
    until,
    worked,
)
from tests.unit.test_real_data import DATA, needs_data


def written(folder: Path, name: str, per_class: int, n_points: int | None = None):
    """A scikit-learn set with a few labels as data.csv in a folder; that table, the true names."""
    data = getattr(datasets, f"load_{name}")()
    n = len(data.data)
    rows = np.sort(np.random.default_rng(0).choice(n, n_points or n, replace=False))
    names = np.array([str(n) for n in data.target_names])[data.target[rows]]
    frame = pd.DataFrame(data.data[rows], columns=[f"x{k}" for k in range(data.data.shape[1])])
    frame.insert(0, "label", some_labels(names, per_class, nothing=""))
    frame.insert(0, "name", [f"row {k}" for k in range(len(rows))])
    frame.to_csv(folder / "data.csv", index=False)
    return frame, names.tolist()


def same_files(one: Path, other: Path) -> None:
    for name in ("labels.csv", "profile.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def forced_accuracy(rows: list[dict[str, str]], truth: list[str]) -> float:
    """Share of points whose most probable class is right."""
    classes = [c[2:] for c in rows[0] if c.startswith("p:")]
    best = [max(classes, key=lambda c, r=row: float(r[f"p:{c}"])) for row in rows]
    return float(np.mean([b == t for b, t in zip(best, truth, strict=True)]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "per_class", "n_points", "least"), [("wine", 8, None, 0.85), ("digits", 3, 250, 0.75)]
)
def test_fit_classifies_scikit_learns_sets(tmp_path, name, per_class, n_points, least):
    frame, truth = written(tmp_path, name, per_class, n_points)
    # 0.3 of the ordering temperature: at T = 0 one class may take all, by the method's nature.
    options = ("--temperature", "0.3:grid=0.1,0.2,0.3,0.45,0.6", "--quiet")
    done = worked(
        "fit", "data.csv", "--labels", "label", "--id", "name", "--out", "out", *options,
        cwd=tmp_path,
    )  # fmt: skip
    rows = read_rows(tmp_path / "out" / "labels.csv")
    assert [r["id"] for r in rows] == frame.name.tolist()
    for row, given in zip(rows, frame.label, strict=True):
        assert (row["status"] == "labelled") == (given != "")
        assert given in ("", row["call"])
        assert float(row["confidence"]) == float(row[f"p:{row['call']}"])
    assert forced_accuracy(rows, truth) >= least
    classes = sorted(set(truth))
    assert [c for c in rows[0] if c.startswith("p:")] == [f"p:{c}" for c in classes]
    assert {p.name for p in (tmp_path / "out").iterdir()} == set(ANSWER_FILES)
    assert f"{len(frame)} points" in done.stdout


@pytest.mark.slow
def test_profile_covers_every_temperature_without_gaps(tmp_path):
    written(tmp_path, "iris", 3)
    done = spinlearn(
        "fit", "data.csv", "--labels", "label", "--features", "x0,x1", "--features", "x2",
        "--out", "out", "--temperature", "auto:grid=0:1:6", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    by_id: dict[str, list[tuple[float, float, str]]] = {}
    for row in read_rows(tmp_path / "out" / "profile.csv"):
        part = (float(row["t_low"]), float(row["t_high"]), row["call"])
        by_id.setdefault(row["id"], []).append(part)
    assert list(by_id) == [str(k) for k in range(150)]  # ids are row numbers
    calls = {r["id"]: r["call"] for r in read_rows(tmp_path / "out" / "labels.csv")}
    temperature = Result.load(tmp_path / "out").temperature
    for name, parts in by_id.items():
        assert (parts[0][0], parts[-1][1]) == (0, 1)
        for before, after in pairwise(parts):
            assert before[1] == after[0]
            assert before[2] != after[2]
        assert calls[name] in [c for low, high, c in parts if low <= temperature <= high]


def test_kinds_of_files_are_read_alike(tmp_path):
    frame, _ = written(tmp_path, "iris", 3)
    X = frame.filter(like="x").to_numpy()
    frame.to_csv(tmp_path / "data.tsv", sep="\t", index=False)
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress((tmp_path / "data.csv").read_bytes()))
    frame.to_parquet(tmp_path / "data.parquet")
    text = {"label": frame.label.to_numpy("U"), "name": frame.name.to_numpy("U")}
    np.savez(tmp_path / "data.npz", X=X, **text)
    np.save(tmp_path / "data.npy", X)
    beside = frame[["label"]]
    beside.to_csv(tmp_path / "labels.csv", index_label="id")
    read = ReadOptions(labels="label", id="name")
    without = ReadOptions(labels="label", labels_file=tmp_path / "labels.csv")
    given = [label or None for label in frame.label]
    for kind in ("csv", "tsv", "csv.gz", "parquet", "npz", "npy"):
        data = read_dataset(tmp_path / f"data.{kind}", without if kind == "npy" else read)
        np.testing.assert_array_equal(data.points, X)
        assert list(data.labels) == given
        assert kind == "npy" or data.ids == frame.name.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mtx", "edges", "tsv"])
def test_a_precomputed_graph_gives_the_library_answer(tmp_path, kind):
    from scipy.io import mmwrite
    from scipy.sparse import coo_array

    toy = two_bands()
    graph, n = toy.graph(), toy.n_points
    u, v = graph.edges.T
    names = [f"p{k}" for k in range(n)]
    more: list[object] = []
    if kind == "mtx":
        both = (np.concatenate([u, v]), np.concatenate([v, u]))
        mmwrite(tmp_path / "graph.mtx", coo_array((np.ones(2 * len(u)), both), shape=(n, n)))
        names = [str(k) for k in range(n)]
    else:
        lines = [f"{names[a]}\t{names[b]}\n" for a, b in zip(u, v, strict=True)]
        (tmp_path / f"graph.{kind}").write_text("".join(lines))
        more = ["--edges"] if kind == "tsv" else []
    labelled = np.flatnonzero(toy.labels >= 0)
    text = "id,band\n" + "".join(f"{names[k]},{'AB'[toy.labels[k]]}\n" for k in labelled)
    (tmp_path / "labels.csv").write_text(text)
    worked(
        "fit", f"graph.{kind}", "--labels-file", "labels.csv", "--labels", "band", *more,
        "--temperature", "0.7:grid=0,0.7", "--method", "paper", "--out", "out",
        cwd=tmp_path,
    )  # fmt: skip
    calls = {r["id"]: r["call"] for r in read_rows(tmp_path / "out" / "labels.csv")}
    wrong = sum(calls[names[k]] != "AB"[toy.truth[k]] for k in range(n))
    assert wrong == 8  # the exact answer, as in the README


def test_explore_answers_at_other_temperatures_without_the_data(tmp_path):
    written(tmp_path, "iris", 3)
    fit = ("fit", "data.csv", "--labels", "label", "--id", "name", "--method", "paper")
    worked(*fit, "--temperature", "auto:grid=0,0.5,1", "--out", "out", cwd=tmp_path)
    worked(*fit, "--temperature", "0.4:grid=0.2,0.4", "--out", "direct", cwd=tmp_path)
    (tmp_path / "data.csv").unlink()
    before = (tmp_path / "out" / "report.html").read_bytes()
    worked("explore", "out", "--temperature", 0.25, cwd=tmp_path)
    assert (tmp_path / "out" / "report.html").read_bytes() != before
    worked(
        "explore", "out", "--temperatures", "0.2,0.4", "--temperature", 0.4, "--out", "other",
        cwd=tmp_path,
    )  # fmt: skip
    other, direct = (read_rows(tmp_path / out / "labels.csv") for out in ("other", "direct"))
    assert other == direct


def layouts_of(report: Path) -> list[dict]:
    """Names and packed places of the layouts in a report."""
    start = report.read_text(encoding="utf-8").split('id="data">')[1]
    return json.loads(start.split("</script>")[0])["layouts"]


@pytest.mark.slow
def test_the_maps_are_neighbours_and_principal_components_and_can_be_made_again(tmp_path):
    frame, _ = written(tmp_path, "iris", 3)
    quick = ("--temperature", "auto:grid=0,0.5", "--out", "out")
    worked("fit", "data.csv", "--labels", "label", "--id", "name", *quick, cwd=tmp_path)
    report = tmp_path / "out" / "report.html"
    first, other = [layout["name"] for layout in layouts_of(report)]
    assert first in ("neighbours", "UMAP")
    assert other == "PCA"
    features = frame.filter(like="x").to_numpy()
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    expected = np.abs(PCA(2).fit_transform(standard))
    stored = Result.load(tmp_path / "out")
    np.testing.assert_allclose(np.abs(stored.components), expected, atol=1e-6)
    (tmp_path / "data.csv").unlink()
    before = report.read_bytes()
    report.unlink()
    worked("explore", "out", cwd=tmp_path)
    assert report.read_bytes() == before
    frame.to_csv(tmp_path / "data.csv", index=False)  # two features are drawn as they are
    worked("fit", "data.csv", "--labels", "label", "--features", "x2,x3", *quick, cwd=tmp_path)
    assert len(layouts_of(report)) == 1
    drawn = Result.load(tmp_path / "out").layout
    np.testing.assert_array_equal(drawn, frame[["x2", "x3"]].to_numpy())


@pytest.mark.slow
def test_a_hidden_cell_type_of_scanpys_pbmc_is_a_new_class(tmp_path):
    scanpy = pytest.importorskip("scanpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata = scanpy.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"].astype(str).to_numpy()
    adata.obs["known"] = some_labels(truth, 5, hidden="CD34+", nothing="")
    adata.write_h5ad(tmp_path / "pbmc.h5ad")
    worked(
        "fit", "pbmc.h5ad", "--labels", "known", "--method", "paper", "--engine", "auto:tol=0.05",
        "--temperature", "0.7:grid=0,0.5,0.7,0.9,1.1", "--out", "out", cwd=tmp_path,
    )  # fmt: skip
    worked("explore", "out", "--temperature", 0.9, "--out", "other", cwd=tmp_path)
    for folder in ("out", "other"):
        calls = np.array([r["call"] for r in read_rows(tmp_path / folder / "labels.csv")])
        names, counts = np.unique(calls[truth == "CD34+"], return_counts=True)
        found = str(names[np.argmax(counts)])
        assert found.startswith("new:")
        assert counts.max() >= 12  # of 13
        assert np.sum(calls[truth != "CD34+"] == found) <= 1


@pytest.mark.slow
def test_control_c_writes_what_there_is_and_resume_goes_on(tmp_path, monkeypatch):
    written(tmp_path, "breast_cancer", 5, 120)
    command = [
        sys.executable, "-m", "spinlearn", "fit", "data.csv", "--labels", "label", "--out", "out",
        "--method", "paper", "--engine", "multicanonical:tol=1e-6,checkpoint_seconds=0.2",
        "--temperature", "auto:grid=0.5,1,1.5",
    ]  # fmt: skip
    run = subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    checkpoint = tmp_path / ".out.checkpoint.npz"
    until(lambda: checkpoint.exists() or run.poll() is not None)
    until(lambda: run.poll() is not None or _header(checkpoint)["phase"] == "production")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate()
    assert run.returncode == 130, out + err
    assert "--resume" in out
    assert len(read_rows(tmp_path / "out" / "labels.csv")) == 120
    assert checkpoint.exists()
    refused = spinlearn_here(*command[3:], cwd=tmp_path)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    before = _header(checkpoint)
    with monkeypatch.context() as patch:  # every look at the clock takes some of its seconds
        patch.setattr(sampling_run, "perf_counter", count(0, 0.05).__next__)
        done = spinlearn_here(*command[3:], "--resume", "--time-limit", 4, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not checkpoint.exists()  # it ended with an answer, at its time limit
    after = _header(tmp_path / ".out.finished.npz")
    assert after["rounds"] > before["rounds"]
    assert after["seconds"]["ladder"] == before["seconds"]["ladder"]  # it was not built again
    other = ("--engine", "multicanonical:tol=0.5")
    again = spinlearn_here(*command[3:], *other, cwd=tmp_path)  # another run, same folder
    assert again.returncode == 0, again.stderr
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_a_killed_population_ends_where_an_undisturbed_one_does(tmp_path):
    written(tmp_path, "digits", 1, 150)
    command = [
        "fit", "data.csv", "--labels", "label", "--scale", "none", "--graph", "knn:10",
        "--energy", "diffused_cut", "--temperature", "auto:grid=0.2,0.4,0.8",
    ]  # fmt: skip
    saving = "spinlearn.engines.checkpoint:save"
    engine = "population_annealing:checkpoint_seconds=0"
    two = ("--engine", f"{engine},n_jobs=2")
    whole = worked(*command, *two, "--out", "whole", cwd=tmp_path)
    assert "population_annealing" in whole.stdout
    command += ["--engine", engine]
    killed = spinlearn_signalled(*command, "--out", "out", cwd=tmp_path, after=saving, calls=3)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    checkpoint = tmp_path / ".out.checkpoint.npz"
    assert checkpoint.exists()
    assert not (tmp_path / "out").exists()
    worked(*command, "--out", "out", "--resume", cwd=tmp_path)
    same_files(tmp_path / "out", tmp_path / "whole")
    assert not checkpoint.exists()  # errors may be large, but more time would not help


def _header(checkpoint: Path) -> dict:
    with np.load(checkpoint, allow_pickle=False) as archive:
        return json.loads(str(archive["header"]))


@pytest.mark.slow
@needs_data
def test_leukemia_finds_the_unlabelled_class(tmp_path):
    frame = pd.read_csv(DATA / real.LEUKEMIA.name)
    frame = frame[frame.split == "train"].drop(columns="split").reset_index(drop=True)
    truth = frame.pop("class").to_numpy(str)
    known = pd.Series(some_labels(truth, 3, hidden="MLL", nothing=""), name="known")
    pd.concat([known, frame], axis=1).to_csv(tmp_path / "leukemia.csv", index=False)
    worked(
        "fit", "leukemia.csv", "--labels", "known", "--clip", "100,16000", "--log2",
        "--top-variance", 200, "--temperature", "auto:grid=0:1.2:25", "--out", "out", cwd=tmp_path,
    )  # fmt: skip
    calls = np.array([r["call"] for r in read_rows(tmp_path / "out" / "labels.csv")])
    assert np.sum(calls[truth == "MLL"] == "new:1") >= 12  # of 17
    assert np.sum(calls[truth != "MLL"] == "new:1") <= 2
    assert leftovers(tmp_path) == {"leukemia.csv", "out", *(f"out/{n}" for n in ANSWER_FILES)}
