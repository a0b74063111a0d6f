"""Cells: computed once, kept whole, the same whatever the order, the cores, the interruptions."""

import json
import os

import numpy as np
import pytest

from spinlearn.errors import StoppedError
from spinlearn.reproduction.runner import COMPUTING, fingerprint, run_tasks

TASKS = [{"x": x} for x in range(6)]
SQUARES = [0, 1, 4, 9, 16, 25]


def square(settings):
    return {"square": settings["x"] ** 2, "process": os.getpid()}


def squares(folder, tasks=TASKS, compute=square, **options):
    cells = run_tasks("squares", compute, tasks, folder, **options)
    return [cell["result"]["square"] for cell in cells]


@pytest.mark.slow
def test_results_come_in_the_order_of_the_tasks_whatever_the_cores(tmp_path):
    assert squares(tmp_path / "one") == SQUARES
    assert squares(tmp_path / "two", TASKS[::-1], n_jobs=2)[::-1] == SQUARES
    one, two = ({p.name for p in (tmp_path / f).iterdir()} for f in ("one", "two"))
    assert one == two


def test_finished_cells_are_not_computed_again_but_broken_ones_are(tmp_path):
    squares(tmp_path, TASKS[:4])
    broken = tmp_path / f"{fingerprint('squares', TASKS[2])}.json"
    broken.write_text('{"result": {"squ')

    def only_new(settings):
        assert settings["x"] in (2, 4, 5)
        return square(settings)

    assert squares(tmp_path, compute=only_new) == SQUARES
    assert json.loads(broken.read_text())["result"]["square"] == 4


def test_other_settings_are_another_cell():
    cells = (("a", {"x": 1}), ("b", {"x": 1}), ("a", {"x": 2}), ("a", {"x": 1, "y": 0}))
    assert len({fingerprint(*cell) for cell in cells}) == 4
    assert fingerprint("a", {"x": 1, "y": 0}) == fingerprint("a", {"y": 0, "x": 1})


def test_the_callback_stops_a_run_and_every_cell_is_kept_once_it_is_done(tmp_path):
    """So that a killed run, too, goes on where it stopped."""
    seen = []

    def stop_half_way(progress):
        seen.append((6 * progress.fraction, len(list(tmp_path.glob("*.json")))))
        return progress.fraction >= 0.5

    with pytest.raises(StoppedError, match="kept"):
        squares(tmp_path, callback=stop_half_way)
    assert np.array(seen) == pytest.approx(np.array([[k, k] for k in range(4)]))


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
