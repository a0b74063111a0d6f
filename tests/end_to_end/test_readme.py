"""Every Python snippet of the README runs, in order, and says what the README says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

pytestmark = pytest.mark.slow
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    os.chdir(tmp_path_factory.mktemp("readme"))  # the snippets write a file
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(snippets) == 5
    scopes = []
    shared: dict = {}
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), shared)
        scopes.append(dict(shared))
    return scopes


def test_first_snippet(namespace):
    clf, toy = namespace[0]["clf"], namespace[0]["toy"]
    assert clf.temperature_ == pytest.approx(0.7)
    assert np.sum(clf.transduction_ != toy.truth) == 8
    other = clone(clf).set_params(temperature="information").fit(toy.graph(), toy.labels)
    assert other.temperature_ == pytest.approx(0.6)
    assert np.sum(other.transduction_ != toy.truth) == 14
    assert np.sum(clf.decide(0.0).calls != toy.truth) == 677


def test_second_snippet_finds_the_unlabelled_blob(namespace):
    clf, truth = namespace[1]["clf"], namespace[1]["truth"]
    members = clf.new_classes_["new:1"]
    assert np.mean(truth[members] == 3) > 0.95
    assert len(members) > 0.8 * np.sum(truth == 3)


def test_third_snippet(namespace):
    table = namespace[2]["table"].set_index("method")
    assert table.loc["min_cut", "forced_errors"] == 677
    assert table.loc["lgc", "forced_errors"] == 5
    assert table.loc["sgt", "forced_errors"] == 7


def test_fourth_snippet(namespace):
    run = namespace[3]["run"]
    np.testing.assert_allclose(run.marginals[0, :, 0], 1.0)
    np.testing.assert_allclose(run.marginals[3, 1:], 1 / 3)


def test_fifth_snippet(namespace):
    run = namespace[4]["run"]
    assert run.converged.all()
    assert run.std_error.max() <= 0.02
