"""What a notebook shows of results: right counts, all text escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

from spinlearn import Graph, JunctionTree, Multicanonical, PottsModel
from spinlearn.core.html_table import LISTED, html_table, shown_rows
from spinlearn.decision import STATUS_NAMES
from spinlearn.io.result import Result
from spinlearn.viz.summary import answer_html
from tests.explorer_cases import three_blocks


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


def test_everything_in_a_table_is_escaped():
    html = html_table("<i>&", ["<b>"], [["<script>alert(1)</script>"], ['"quoted"']])
    for bad in ("<script", "<i>", "<b>&lt;b"):
        assert bad not in html
    assert Cells(html).rows == [["<b>"], ["<script>alert(1)</script>"], ['"quoted"']]


def test_rows_are_spread_from_first_to_last():
    assert shown_rows(5).tolist() == [0, 1, 2, 3, 4]
    some = shown_rows(100)
    assert len(some) == LISTED
    assert (some[0], some[-1]) == (0, 99)
    assert shown_rows(0).tolist() == []


def test_an_exact_equilibrium_says_so_and_shows_its_averages():
    run = JunctionTree().run(ring(), [1.0, 0.0, np.inf])
    html = run._repr_html_()
    assert "exact by junction_tree: 6 points, 6 edges, 2 states, 3 temperatures, all conv" in html
    heading, *rows = Cells(html).rows
    assert heading == ["T", "mean energy", "heat capacity", "ln Z", "converged"]
    assert [r[0] for r in rows] == ["0", "1", "inf"]  # ascending
    assert rows[1] == [
        "1", f"{run.mean_energy[0]:.4g}", f"{run.heat_capacity[0]:.4g}",
        f"{run.log_partition[0]:.4g}", "yes",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*standard error")
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
    for cells, k in zip(rows, shown_rows(len(found.temperatures)), strict=True):
        assert cells[0] == f"{found.temperatures[k]:.4g}"
        counts = [int(c) for c in cells[1:6]]
        assert counts == np.bincount(found.status[k], minlength=5).tolist()
        sizes = [len(m) for m in found.decision(k).new_classes().values()]
        assert [int(c) for c in cells[6:]] == [len(sizes), max(sizes, default=0)]
        assert Cells(found.decision(k)._repr_html_()).rows == [heading, cells]


def test_a_classifier_and_its_stored_result_show_the_same_answer(tmp_path):
    fitted = three_blocks().result
    result = Result.of(fitted, [str(k) for k in range(len(fitted.names_))])
    result.save(tmp_path / "model.npz")
    for one in (result, Result.load(tmp_path / "model.npz")):
        html = one._repr_html_()
        assert html in fitted._repr_mimebundle_()["text/html"]
        assert "exact by junction_tree at" in html
        assert "all converged" in html
        assert "<b>left" not in html


def test_notes_of_an_answer_are_escaped():
    names = np.array(["a"], dtype=object)
    html = answer_html(1.0, names, np.array(["new"]), ["called <img src=x>"])
    assert "<img" not in html
    assert "called &lt;img src=x&gt;" in html
