"""`spinlearn accept`, `reject` and `cluster`: files in, an answer out, words kept."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_circles

from spinlearn import PottsClassifier, Result
from spinlearn.errors import InvalidInputError
from spinlearn.workflows.fitting import decided
from tests.conftest import few_labels
from tests.end_to_end.tool import read_rows, spinlearn_here, worked


@pytest.fixture(scope="module")
def table():
    X, truth = make_blobs(240, centers=[[0, 0], [9, 0], [4.5, 4.5]], random_state=3)
    names = np.array(["left", "right", "", ""])  # nobody labels the third
    parts = {"id": [f"p{k}" for k in range(240)], "kind": names[few_labels(truth, 4)]}
    return pd.DataFrame(parts | {"width": X[:, 0], "height": X[:, 1]}), truth


@pytest.fixture(scope="module")
def answer(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decided")
    table[0].to_csv(folder / "data.csv", index=False)
    done = worked("fit", "data.csv", "--labels", "kind", "--id", "id", "--out", "one",
                          cwd=folder)  # fmt: skip
    return folder, done


def test_proposals_are_told_and_written(table, answer):
    folder, done = answer
    rows = read_rows(folder / "one" / "proposals.csv")
    stored = Result.load(folder / "one")
    assert [row["group"] for row in rows] == [one.name for one in stored.proposals]
    first = rows[0]
    members = np.array([int(name[1:]) for name in first["members"].split()])
    assert np.mean(table[1][members] == 2) > 0.95
    assert int(first["points"]) == len(members)
    assert set(first["typical"].split()) <= set(first["members"].split())
    assert "height" in first["features"]
    assert stored.proposals[0].text() in " ".join(done.stdout.split())
    assert "spinlearn accept one new:1 NAME" in done.stdout


def test_an_accepted_group_is_a_class_and_a_rejected_one_is_not_proposed_again(table, answer):
    folder, _ = answer
    _, truth = table
    worked("accept", "one", "new:1", "top", "--out", "two", cwd=folder)
    calls = np.array([row["call"] for row in read_rows(folder / "two" / "labels.csv")])
    assert np.mean(calls[truth == 2] == "top") > 0.95
    assert np.mean(calls[truth != 2] == "top") < 0.02
    two = Result.load(folder / "two")
    (word,) = two.words
    assert (word.do, word.group, word.name, len(word.labelled)) == ("accept", "new:1", "top", 4)
    rows = read_rows(folder / "two" / "labels.csv")
    assert {rows[k]["status"] for k in word.labelled} == {"labelled"}

    worked("reject", "one", "new:1", "--out", "three", cwd=folder)
    three = Result.load(folder / "three")
    assert three.classes.tolist() == ["left", "right"]
    gone = set(three.words[0].points)
    for points in (set(one.points) for one in three.proposals):
        assert len(gone & points) < 0.5 * len(gone | points)
    assert not np.any(np.char.startswith(three.names[sorted(gone)].astype(str), "new"))
    # What was said before still counts after a further word.
    again = decided(three, "accept", three.proposals[0].name, "other") if three.proposals else three
    assert [w.do for w in again.words][:1] == ["reject"]


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_a_stored_answer_decides_as_the_classifier_does(table):
    frame, _ = table
    fitted = PottsClassifier().fit(frame[["width", "height"]].to_numpy(), frame["kind"].to_numpy())
    stored = decided(Result.of(fitted, frame["id"].tolist()), "accept", "new:1", "top")
    fitted.accept("new:1", "top")
    assert stored.names.tolist() == fitted.names_.tolist()
    np.testing.assert_allclose(stored.probabilities, fitted.label_distributions_, atol=1e-9)


@pytest.mark.filterwarnings("ignore::spinlearn.errors.GraphWarning")
def test_what_cannot_be_decided_is_refused(answer, table):
    folder, _ = answer
    for words, message in (
        (("accept", "one", "new:55", "x"), "'new:55' is not proposed as a class: these are: new:1"),
        (("accept", "one", "new:1", "new:2"), "which is how spinlearn names new classes"),
        (("reject", "nowhere", "new:1"), "does not exist"),
    ):
        done = spinlearn_here(*words, "--out", "bad", cwd=folder)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
        assert not (folder / "bad").exists()
    frame, _ = table
    paper = PottsClassifier(method="paper").fit(frame[["width", "height"]], frame["kind"])
    with pytest.raises(InvalidInputError, match="which has no proposals"):
        decided(Result.of(paper, frame["id"].tolist()), "reject", "new:1")


def test_clusters_without_any_label(tmp_path):
    X, truth = make_circles(400, noise=0.05, factor=0.5, random_state=0)
    pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / "rings.csv", index=False)
    done = worked("cluster", "rings.csv", "--out", "groups", cwd=tmp_path)
    assert "2 groups among 400 points without any label" in " ".join(done.stdout.split())
    calls = np.array([row["call"] for row in read_rows(tmp_path / "groups" / "labels.csv")])
    assert all(len(np.unique(calls[truth == c])) == 1 for c in (0, 1))
    stored = Result.load(tmp_path / "groups")
    assert stored.names.tolist() == calls.tolist()
    assert len(set(zip(PottsClassifier().fit(X).names_, calls, strict=True))) == 2
