"""The folder of a large set, with sizes from which a set is large lowered."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from spinlearn.engines.messages import belief_propagation
from spinlearn.io import folder as answer_files
from spinlearn.io.result import Result
from spinlearn.viz import explorer
from tests.conftest import few_labels
from tests.end_to_end.tool import worked

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small_limits():
    plan = sys.modules["spinlearn.default.plan"]  # the package has a function of that name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "SAMPLE", 200)
        patch.setattr(belief_propagation, "HUGE_MESSAGES", 1000)
        patch.setattr(answer_files, "MANY", 500)
        patch.setattr(answer_files, "BLOCK", 100)
        patch.setattr(explorer, "MAX_TABLED", 500)
        patch.setattr(explorer, "MAX_POINTS", 250)
        yield


@pytest.fixture(scope="module")
def answer(tmp_path_factory, small_limits):
    tmp_path = tmp_path_factory.mktemp("large")
    X, truth = make_blobs(800, centers=3, n_features=4, cluster_std=1.5, random_state=5)
    np.save(tmp_path / "points.npy", X)
    rows = np.flatnonzero(few_labels(truth, 4) >= 0)
    labels = "".join(f"{i},{'ABC'[truth[i]]}\n" for i in rows)
    (tmp_path / "labels.csv").write_text("id,label\n" + labels)
    done = worked("fit", "points.npy", "--labels-file", "labels.csv", "--labels", "label",
                  "--out", "answer", "--quiet", cwd=tmp_path)  # fmt: skip
    return tmp_path / "answer", np.array(list("ABC"))[truth], done.stdout


def test_a_large_set_is_classified_through_a_sample(answer):
    folder, truth, output = answer
    table = pd.read_csv(folder / "labels.csv")
    assert len(table) == 800
    assert np.mean(table.call == truth) > 0.95
    assert "sample: 2" in " ".join(output.split())
    assert not (folder / "profile.csv").exists()
    typed = pd.read_parquet(folder / "labels.parquet")  # says what the csv says
    assert list(typed) == list(table)
    for name in table:
        if pd.api.types.is_float_dtype(table[name]):
            assert np.allclose(table[name], typed[name], atol=1e-6), name
        else:
            assert table[name].astype(str).tolist() == typed[name].astype(str).tolist(), name


def test_a_stored_large_answer_comes_back(answer):
    folder, *_ = answer
    stored = Result.load(folder)
    table = pd.read_csv(folder / "labels.csv")
    assert stored.names.tolist() == table.call.tolist()
    assert np.abs(stored.probabilities[:, 0] - table["p:A"]).max() < 1e-4
    for command in ("suggest", "suspects", "explore"):
        worked(command, folder, cwd=folder)
