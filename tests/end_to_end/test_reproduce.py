"""`spinlearn reproduce` in its smallest form: files, claims, resumption, the number of cores."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from spinlearn.datasets import real
from spinlearn.energies import MinCut
from spinlearn.engines import Enumeration
from spinlearn.errors import StoppedError
from spinlearn.model.graph import Graph
from spinlearn.reproduction import FULL, TINY, fig4, fig5, reproduce
from spinlearn.reproduction.comparison import with_ground_state
from tests.end_to_end.tool import spinlearn_here, worked
from tests.unit.test_real_data import DATA, needs_data


def contents(folder, pattern):
    return {p.name: p.read_bytes() for p in sorted(folder.glob(pattern))}


@pytest.mark.slow
def test_command_without_data_makes_toy_figures_and_says_what_it_skipped(tmp_path, monkeypatch):
    monkeypatch.delenv("SPINLEARN_DATA", raising=False)
    command = ("reproduce", "all", "--scale", "tiny", "--out", "out", "--jobs", 1)
    done = worked(*command, cwd=tmp_path)
    for name in ("figure1", "figure2", "figure3", "figure4"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / "out" / f"{name}.svg").read_bytes()
    for name in ("figure1", "figure2", "figure4"):
        assert len((tmp_path / "out" / f"{name}.csv").read_text().splitlines()) > 2
    page = (tmp_path / "out" / "report.html").read_text()
    for words in ("does not hold", "not yet checked", "armstrong2002_mll.csv.gz", "Counting"):
        assert words in page
    assert "skipped fig5" in done.stdout
    assert real.YEAST.sha256 in done.stdout.replace("\n", "")
    bad = spinlearn_here("reproduce", "fig9", cwd=tmp_path)
    assert bad.returncode == 2
    assert "unknown" in bad.stderr


@pytest.mark.slow
@needs_data
def test_same_figures_whatever_the_cores_and_interruptions(tmp_path):
    def stop_half_way(progress):
        return progress.fraction >= 0.5

    one = reproduce("fig5", tmp_path / "one", scale=TINY, data=DATA)
    with pytest.raises(StoppedError):
        reproduce("fig5", tmp_path / "two", scale=TINY, data=DATA, n_jobs=2, callback=stop_half_way)
    kept = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "two" / "cells").iterdir()}
    assert 0 < len(kept) < len(one.cells["fig5"])
    two = reproduce("fig5", tmp_path / "two", scale=TINY, data=DATA, n_jobs=2)
    for name, time in kept.items():  # not computed again
        assert (tmp_path / "two" / "cells" / name).stat().st_mtime_ns == time
    for pattern in ("*.csv", "*.svg", "*.png"):
        assert contents(tmp_path / "one", pattern) == contents(tmp_path / "two", pattern)
    results = [[c["result"] for c in run.cells["fig5"]] for run in (one, two)]
    assert results[0] == results[1]
    other = reproduce("fig5", tmp_path / "three", scale=TINY, data=DATA, seed=1)
    drawn = [[c["result"]["labelled"] for c in run.cells["fig5"][1:]] for run in (one, other)]
    assert drawn[0] != drawn[1]


@needs_data
def test_leukemia_mll_is_a_new_class_at_six_labels():
    scale = replace(TINY, n_labellings=6)
    tasks = fig5.tasks(scale, 0)
    cells = [fig5.compute(s, DATA) for s in tasks if (s.get("q"), s.get("M")) == (2, 6)]
    assert len(cells) == 6
    errors = [c["errors"][c["rows"]["information"]] for c in cells]
    found = [c["found"][c["rows"]["information"]] for c in cells]
    assert np.mean(errors) < 9
    assert np.mean(np.array(found) >= 9) > 0.5
    assert min(c["cut"] for c in cells) >= 17


def test_ground_state_row_is_the_labelling_given():
    ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    run = Enumeration().run(MinCut()(ring, [0, -1, 1, -1], 2), [0.5, 1.0])
    both = with_ground_state(run, np.array([0, 0, 1, 0]))
    assert both.temperatures.tolist() == [0.0, 0.5, 1.0]
    assert np.argmax(both.marginals[0], axis=1).tolist() == [0, 0, 1, 0]
    assert both.edge_agreement[0].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert both.mean_energy[0] == 2.0
    np.testing.assert_array_equal(both.marginals[1:], run.marginals)


def test_tasks_are_the_papers_panels():
    def panels(figure):
        labellings = [s for s in figure.tasks(FULL, 0) if s["kind"] == "labelling"]
        return Counter((s["q"], s["M"]) for s in labellings if not s.get("twin", 0))

    assert panels(fig4) == {(q, m): 100 for q in (2, 3) for m in (5, 10, 15, 20)}
    assert panels(fig5) == {(q, m): 100 for q, ms in ((2, (2, 4, 6)), (3, (3, 6, 9))) for m in ms}
