"""What a notebook shows of results: right counts, all text escaped."""

from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from spinlearn import Graph, PottsClassifier, PottsModel, TemperatureRule
from spinlearn.answers.rule import STATUS_NAMES, Status
from spinlearn.engines import JunctionTree, Multicanonical
from spinlearn.io.result import Result
from spinlearn.viz.notebook import LISTED, as_html
from tests.explorer_cases import doubted, many_points, three_blocks


class Cells(HTMLParser):
    """Rows of a table as text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._inside = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._inside = tag in ("td", "th")

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.rows[-1][-1] += data


def ring(n: int = 6) -> PottsModel:
    graph = Graph(n, [(i, (i + 1) % n) for i in range(n)])
    return PottsModel(graph, n_states=2, fields=None, clamped=[0] + [-1] * (n - 1))


def test_everything_of_the_user_is_escaped():
    nasty = "<img src=x onerror=alert(1)>"
    assert as_html(nasty) == "<pre>&#x27;&lt;img src=x onerror=alert(1)&gt;&#x27;</pre>"
    answer = replace(three_blocks().result.answer_, classes=np.array([nasty, '"quoted"']))
    html = as_html(answer)
    assert "<img" not in html
    assert {row[0] for row in Cells(html).rows[1:]} >= {nasty, '"quoted"'}


def test_rows_are_spread_from_first_to_last():
    for count, shown in ((5, 5), (100, LISTED)):
        temperatures = np.linspace(0.5, 5, count)
        _, *rows = Cells(as_html(JunctionTree().run(ring(), temperatures))).rows
        assert len(rows) == shown
        assert (rows[0][0], rows[-1][0]) == ("0.5", "5")
        places = [np.argmin(np.abs(temperatures - float(row[0]))) for row in rows]
        assert np.ptp(np.diff(places)) <= 1


def test_an_exact_equilibrium_says_so_and_shows_its_averages():
    run = JunctionTree().run(ring(), [1.0, 0.0, np.inf])
    html = run._repr_html_()
    assert "exact by junction_tree: 6 points, 6 edges, 2 states, 3 temperatures, all conv" in html
    heading, *rows = Cells(html).rows
    assert heading == ["T", "mean energy", "heat capacity", "ln Z", "converged"]
    assert [r[0] for r in rows] == ["0", "1", "inf"]  # ascending
    averages = run.mean_energy[0], run.heat_capacity[0], run.log_partition[0]
    assert rows[1] == ["1", *(f"{value:.4g}" for value in averages), "yes"]


@pytest.mark.filterwarnings("ignore::spinlearn.errors.ConvergenceWarning")
def test_a_sampled_equilibrium_shows_its_errors():
    run = Multicanonical(max_sweeps=200, tol=1e-9).run(ring(), [0.5, 1.0], seed=0)
    html = run._repr_html_()
    n_bad = int(np.sum(~run.converged))
    assert n_bad > 0
    assert (
        f"sampled by multicanonical: 6 points, 6 edges, 2 states, 2 temperatures, {n_bad}" in html
    )
    heading, *rows = Cells(html).rows
    assert heading[-2:] == ["worst error", "converged"]
    assert [r[-1] for r in rows] == ["yes" if ok else "no" for ok in run.converged]
    assert float(rows[0][-2]) == pytest.approx(run.std_error[0].max(), rel=0.1)


def test_a_profile_counts_points_by_status():
    found = three_blocks().result.profile_
    heading, *rows = Cells(found._repr_html_()).rows
    assert heading == ["T", *STATUS_NAMES, "new classes", "largest"]
    assert len(rows) == LISTED
    row_of = {f"{t:.4g}": k for k, t in enumerate(found.temperatures)}
    for cells in rows:
        k = row_of[cells[0]]
        counts = [int(c) for c in cells[1 : 1 + len(Status)]]
        assert counts == np.bincount(found.status[k], minlength=len(Status)).tolist()
        sizes = [len(m) for m in found.decision(k).new_classes().values()]
        assert [int(c) for c in cells[1 + len(Status) :]] == [len(sizes), max(sizes, default=0)]
        assert Cells(found.decision(k)._repr_html_()).rows == [heading, cells]


def test_an_answer_lists_its_calls_with_their_confidence():
    answer = three_blocks().result.answer_
    heading, *rows = Cells(as_html(answer)).rows
    assert heading == ["call", "points", "mean confidence", "status"]
    names, counts = np.unique(answer.names.astype(str), return_counts=True)
    assert [row[0] for row in rows] == names[np.argsort(-counts, kind="stable")].tolist()
    assert set(names) >= {"new:1", "right", "<b>left</b>"}
    for name, points, confidence, kinds in rows:
        here = answer.names == name
        assert int(points) == here.sum()
        judged = here & (answer.status != "labelled")
        assert confidence == f"{answer.confidence[judged].mean():.2f}"
        assert kinds == ", ".join(sorted(set(answer.status[here])))


def test_a_classifier_and_its_stored_result_show_the_same_answer(tmp_path):
    fitted = three_blocks().result
    result = Result.of(fitted, [str(k) for k in range(len(fitted.names_))])
    result.save(tmp_path / "model.npz")
    shown = fitted._repr_mimebundle_()["text/html"]
    for html in (result._repr_html_(), Result.load(tmp_path / "model.npz")._repr_html_()):
        assert html in shown
        assert html in fitted._repr_html_()
        for words in ("237 points at T = 0.55", "exact by junction_tree at", "all converged"):
            assert words in html
    for one, there in ((fitted, True), (PottsClassifier(), False)):
        html = one._repr_mimebundle_()["text/html"]
        assert "PottsClassifier" in html  # its settings
        assert ("points at T" in html) == there


def test_many_calls_are_listed_in_part():
    rule = TemperatureRule(name=1e3, grid=[1e3], small_groups="new")
    classifier = PottsClassifier(method="paper", temperature=rule)
    html = as_html(classifier.fit(np.arange(40.0)[:, None], np.full(40, -1)).answer_)
    assert "28 further calls" in html


def test_notes_of_an_answer_are_told_and_escaped():
    answer = three_blocks().result.decide(0)
    html = as_html(answer)
    assert "this is the minimum cut" in html
    for note in answer.notes():
        assert f"<div>{escape(note)}</div>" in html
    assert "<b>left" not in html


def test_what_is_not_trusted_comes_first():
    case = many_points(300, n_temperatures=5)
    doubtful = doubted(case, slice(None)).result
    html = as_html(doubtful)
    assert html.index(escape(doubtful.warning)) < html.index("300 points at T")
    assert case.result.warning is None
    assert "trusted" not in as_html(case.result)
