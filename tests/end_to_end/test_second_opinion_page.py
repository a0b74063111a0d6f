"""Two opinions on the page: the same table, and the reason beside the point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spinlearn import PottsClassifier
from spinlearn.viz.content import explorer_content
from spinlearn.viz.explorer import write_explorer
from tests.end_to_end.browser import complaints
from tests.end_to_end.test_explorer import SET_ROW, click_point, show, text

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:selenium")]


def test_the_page_writes_the_same_reasons(driver, tmp_path):
    g = np.random.default_rng(0)
    X = np.vstack([g.normal(size=(60, 2)), g.normal(size=(60, 2)) + [3, 0]])
    y = np.full(120, "", dtype=object)
    y[[0, 1, 60, 61]] = ["<b>a</b>", "<b>a</b>", "b,c", "b,c"]
    answer = PottsClassifier(method="messages", random_state=0).fit(X, y).answer_
    second = answer.second_opinion
    # Whatever the walkers said: one point of each class on which they differ.
    says = np.full(120, -1, dtype=np.int32)
    for c in range(2):
        says[np.flatnonzero((answer.decision.outcomes == c) & (answer.labels < 0))[0]] = 1 - c
    answer = answer._doubting(replace(second, says=says))
    points = sorted(answer.reasons)
    assert len(points) == 2
    path = write_explorer(tmp_path / "report.html", explorer_content(answer, coordinates=X))
    show(driver, path)
    made = driver.execute_script("return window.spinlearnExplorer.labelsCsv()")
    assert made == answer.table(range(120)).csv()
    assert "sampling says <b>a</b>" in made
    click_point(driver, points[0])
    assert text(driver, "#point-status") == "confused"
    assert text(driver, "#point-reason") == f"Undecided because {answer.reasons[points[0]]}."
    driver.execute_script(SET_ROW, 0)
    assert not driver.find_elements("id", "point-reason")
    made = driver.execute_script("return window.spinlearnExplorer.labelsCsv()")
    assert made == answer.at(float(answer.temperatures[0])).table(range(120)).csv()
    assert complaints(driver) == []
