"""Compiled kernels: kept for all environments of a user, never stale, and no fit needs a folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit

import spinlearn
from spinlearn.cli.console import COMPILING, console, watched
from spinlearn.kernels import cache
from spinlearn.model.protocols import Progress

PACKAGE = Path(spinlearn.__file__).parent
PROBE = """
import numpy as np
from spinlearn.kernels import cache
from spinlearn.kernels.graph_tools import list_in_balls
indptr, neighbors = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32)
borders, order = np.empty(2, np.int32), np.empty(2, np.int32)
told = []
with cache.compiling(told.append):
    assert list_in_balls(indptr, neighbors, 2, np.zeros(2, np.bool_), borders, order) == 2
misses = sum(list_in_balls.stats.cache_misses.values())
assert told == [True, False] * misses
print(misses, list_in_balls.stats.cache_path)
"""


def probed(source: Path, **places: Path) -> tuple[int, Path]:
    """Kernels compiled for one call with the package of `source`, and where they are kept."""
    known = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment = known | {"PYTHONPATH": str(source)} | {k: str(v) for k, v in places.items()}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    count, place = done.stdout.strip().split(" ", 1)
    return int(count), Path(place)


@pytest.fixture
def copy(tmp_path):
    """Another environment's package."""
    shutil.copytree(
        PACKAGE, tmp_path / "other" / "spinlearn", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path / "other"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME is Linux's")
def test_one_cache_serves_all_environments_until_a_kernel_is_edited(copy, tmp_path):
    """What one environment has compiled another loads; an edited callee is compiled anew."""
    place = tmp_path / "cache"
    count, kept = probed(PACKAGE.parent, XDG_CACHE_HOME=place)
    assert count == 1
    assert kept.is_relative_to(place / "spinlearn")
    assert probed(copy, XDG_CACHE_HOME=place) == (0, kept)
    edited = copy / "spinlearn" / "kernels" / "rng.py"
    edited.write_text(edited.read_text() + "\nEDITED = True\n")
    count, other = probed(copy, XDG_CACHE_HOME=place)
    assert count == 1
    assert other != kept


def test_a_folder_that_is_asked_for_is_taken(tmp_path):
    _, kept = probed(PACKAGE.parent, NUMBA_CACHE_DIR=tmp_path / "asked")
    assert kept.is_relative_to(tmp_path / "asked")


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME is Linux's")
def test_kernels_run_where_nothing_can_be_written(copy, tmp_path):
    """Numba's own place is taken, then a passing one; nothing fails."""
    (tmp_path / "file").touch()
    kernels = copy / "spinlearn" / "kernels"
    _, kept = probed(copy, XDG_CACHE_HOME=tmp_path / "file")
    assert kept == kernels / "__pycache__"
    shutil.rmtree(kernels / "__pycache__")
    (kernels / "__pycache__").touch()
    count, kept = probed(copy, XDG_CACHE_HOME=tmp_path / "file")
    assert count == 1
    assert not kept.exists()


@pytest.mark.parametrize("name", ["rng.py", "new.py"])
def test_every_edit_of_a_kernel_changes_the_key(tmp_path, name):
    before = tmp_path / "kernels"
    shutil.copytree(cache.HERE, before, ignore=shutil.ignore_patterns("__pycache__"))
    known = cache.key(before)
    assert known == cache.key()
    with (before / name).open("a") as file:
        file.write("# edited\n")
    assert cache.key(before) != known


def test_the_progress_line_says_that_it_compiles(monkeypatch):
    """While a kernel is compiled, with all that it calls; then the phase is there again."""
    shown = []
    inner = njit(lambda x: x + 1)
    outer = njit(lambda x: inner(x))
    with watched(console(quiet=True)) as watch:
        monkeypatch.setattr(watch._bar, "update", lambda task, **f: shown.append(f["description"]))
        watch(Progress(phase="averaging", fraction=0.5))
        for _ in range(2):
            outer(1)
    assert shown == ["averaging", COMPILING, "averaging"]
