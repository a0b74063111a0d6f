"""Cells: computed once, kept whole, the same whatever the order, the cores, the interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from spinlearn.errors import StoppedError
from spinlearn.reproduction.runner import COMPUTING, Task, run_tasks
from tests.end_to_end.tool import until

TASKS = [Task("squares", {"x": x}) for x in range(6)]


def square(settings):
    return {"square": settings["x"] ** 2, "process": os.getpid()}


@pytest.mark.slow
def test_results_come_in_the_order_of_the_tasks_whatever_the_cores(tmp_path):
    alone = run_tasks(square, TASKS, tmp_path / "one")
    together = run_tasks(square, TASKS[::-1], tmp_path / "two", n_jobs=2)[::-1]
    assert [c["result"]["square"] for c in alone] == [0, 1, 4, 9, 16, 25]
    assert [c["result"]["square"] for c in together] == [0, 1, 4, 9, 16, 25]
    names = [{p.name for p in (tmp_path / f).iterdir()} for f in ("one", "two")]
    assert names[0] == names[1]


def test_finished_cells_are_not_computed_again(tmp_path):
    run_tasks(square, TASKS[:4], tmp_path)

    def only_new(settings):
        assert settings["x"] >= 4
        return square(settings)

    cells = run_tasks(only_new, TASKS, tmp_path)
    assert [c["result"]["square"] for c in cells] == [0, 1, 4, 9, 16, 25]


def test_a_broken_file_is_computed_again(tmp_path):
    run_tasks(square, TASKS, tmp_path)
    (tmp_path / f"{TASKS[2].fingerprint}.json").write_text('{"result": {"squ')
    cells = run_tasks(square, TASKS, tmp_path)
    assert cells[2]["result"]["square"] == 4
    json.loads((tmp_path / f"{TASKS[2].fingerprint}.json").read_text())


def test_other_settings_are_another_cell():
    prints = {
        Task("a", {"x": 1}).fingerprint,
        Task("b", {"x": 1}).fingerprint,
        Task("a", {"x": 2}).fingerprint,
        Task("a", {"x": 1, "y": 0}).fingerprint,
    }
    assert len(prints) == 4
    assert Task("a", {"x": 1, "y": 0}).fingerprint == Task("a", {"y": 0, "x": 1}).fingerprint


def test_the_callback_stops_a_run_and_keeps_what_is_done(tmp_path):
    seen = []

    def stop_half_way(progress):
        seen.append(progress.fraction)
        return progress.fraction >= 0.5

    with pytest.raises(StoppedError, match="kept"):
        run_tasks(square, TASKS, tmp_path, callback=stop_half_way)
    assert len(list(tmp_path.glob("*.json"))) == 3
    assert seen == pytest.approx([0, 1 / 6, 2 / 6, 3 / 6])


GATED = """
import sys, time
from pathlib import Path
from spinlearn.reproduction.runner import Task, run_tasks

def gated(settings):
    with Path(sys.argv[2], "log").open("a") as log:
        log.write(f"{settings['x']}\\n")
    while settings["x"] == 3 and not Path(sys.argv[2], "gate").exists():
        time.sleep(0.01)
    return {"x": settings["x"]}

tasks = [Task("gated", {"x": x}) for x in range(5)]
print([c["result"]["x"] for c in run_tasks(gated, tasks, Path(sys.argv[1]))])
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    """The fourth cell waits at a gate, which is opened once the first run is dead."""
    command = [sys.executable, "-c", GATED, str(tmp_path / "cells"), str(tmp_path)]
    log = tmp_path / "log"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is not None or (log.exists() and "3" in log.read_text()))
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    assert len(list((tmp_path / "cells").glob("*.json"))) == 3
    log.unlink()
    (tmp_path / "gate").touch()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0, 1, 2, 3, 4]"
    assert log.read_text().split() == ["3", "4"]


@pytest.mark.parametrize("experiment", ["fig1", "fig2", "fig4", "fig5", "yeast"])
def test_a_cell_depends_on_all_sources_that_compute_it(experiment):
    grimp = pytest.importorskip("grimp")
    imports = grimp.build_graph("spinlearn", cache_dir=None)
    modules = imports.find_upstream_modules(f"spinlearn.reproduction.{experiment}")
    paths = {module.removeprefix("spinlearn.").replace(".", "/") for module in modules}
    others = {
        p for p in paths if not any(f"{p}{end}".startswith(COMPUTING) for end in ("/", ".py"))
    }
    # The rest keeps cells (their settings are in the name) and draws them.
    assert others <= {"reproduction/drawing", "reproduction/runner", "viz/palette"}
