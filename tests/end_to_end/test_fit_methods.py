"""`spinlearn fit`: the method, and what else settles an answer, by options."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from spinlearn.io.result import Result
from spinlearn.settings import class_proportions
from tests.conftest import few_labels
from tests.end_to_end.tool import read_rows, spinlearn_here, worked

READ = ("fit", "data.csv", "--labels", "kind", "--quiet", "--seed", 1)
NAMES = ("blue", "green", "red")


@pytest.fixture(scope="module")
def table():
    """Four groups in the plane, one of them without any label."""
    X, truth = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    kinds = np.array([*NAMES, "", ""])[few_labels(truth, 3)]
    return pd.DataFrame({"kind": kinds, "x": X[:, 0], "y": X[:, 1]}), truth


@pytest.fixture
def folder(table, tmp_path):
    table[0].to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


@pytest.fixture
def fit(folder):
    def run(*options: object, out: str = "out"):
        return worked(*READ, "--out", out, *options, cwd=folder), Result.load(folder / out)

    return run


def test_every_choice_is_a_line_before_the_calls_and_a_note_on_the_page(fit, tmp_path):
    done, result = fit()
    assert result.equilibrium.engine == "belief_propagation"
    assert (result.rule, result.settings["options"]["method"]) == ("average", "auto")
    names = [text.split(":")[0] for text in result.choices]
    assert {"graph", "couplings", "energy", "engine"} <= set(names)
    lines = done.stdout.splitlines()
    (head,) = [k for k, line in enumerate(lines) if "call" in line and "confidence" in line]
    for choice in result.choices:
        assert lines.count(choice) == 1
        assert lines.index(choice) < head
        assert choice in result.notes()
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for choice in result.choices:
        assert json.dumps(choice)[1:-1] in page


def test_method_paper_is_the_paper_s_settings_one_by_one(fit, tmp_path):
    done, by_name = fit("--method", "paper", out="one")
    _, by_hand = fit(
        "--graph", "mutual_knn", "--energy", "min_cut",
        "--engine", "junction_tree", "--temperature", "paper", out="two",
    )  # fmt: skip
    for name in ("labels.csv", "profile.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert by_name.rule == by_hand.rule == "paper"
    assert by_name.is_cut
    assert "10 mutual nearest neighbours (the paper's)" in done.stdout
    assert by_hand.choices == ()


def test_novelty_finds_the_group_without_label_or_leaves_it(fit, table):
    _, truth = table
    done, found = fit("--novelty", 0.5)
    assert [set(truth[members]) for members in found.new_classes.values()] == [{3}]
    assert "new:1: " in done.stdout
    assert found.proposals[0].text() in found.notes()
    _, off = fit("--novelty", 0, out="off")
    assert off.proposals == ()
    assert np.all(off.new_probability < 1e-12)


def test_proportions_by_name_and_in_order_are_the_same(fit, tmp_path):
    _, named = fit("--proportions", "red=0.2,blue=0.5,green=0.3", "--novelty", 0, out="one")
    fit("--proportions", "0.5,0.3,0.2", "--novelty", 0, out="two")
    one, two = (read_rows(tmp_path / out / "labels.csv") for out in ("one", "two"))
    assert one == two
    assert any("proportions given" in choice for choice in named.choices)
    targets = np.asarray(named.model.class_penalty.targets)
    np.testing.assert_allclose(targets / targets.sum(), [0.5, 0.3, 0.2])


def test_labels_become_fields_and_features_components(fit):
    _, result = fit("--label-noise", 0.1, "--graph", "knn:10,n_components=1")
    labelled = np.flatnonzero(result.labels >= 0)
    assert np.all(result.model.clamped[labelled] < 0)
    assert result.settings["options"]["label_noise"] == 0.1
    assert result.points.shape[1] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--proportions", "0.5,0.5"), "2 numbers for 3 classes: give one for each, in the "
         "order 'blue', 'green', 'red'"),
        (("--proportions", "blue=1,green=1,blue=2"), "'blue=2' is not NAME=SHARE of another class"),
        (("--proportions", "0.5,0.7,-0.2"), "-0.2 is not a share: give numbers >= 0"),
        (("--proportions", "nan,1,1"), "nan is not a share"),
        (("--proportions", "0,0,0"), "[0, 0, 0] is not a share"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_words(folder, options, words):
    done = spinlearn_here(*READ, "--out", "out", *options, cwd=folder)
    assert done.returncode == 2
    assert not (folder / "out").exists()
    assert words in " ".join(done.stderr.split())


def test_names_with_commas_and_equals_signs():
    classes = ["T cell, naive", "a=b", "c"]
    text = "c=1,T cell, naive=0.25, a=b=0.5"
    assert class_proportions(text, classes) == [0.25, 0.5, 1.0]
    assert class_proportions("0=0.8, 1=0.2", [0, 1]) == [0.8, 0.2]
    assert class_proportions(None, classes) is None
