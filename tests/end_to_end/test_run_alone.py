"""Runs and the file system: two at once, a killed one, a full disk."""

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spinlearn.engines.sampling.run import SamplingRun
from spinlearn.errors import InvalidInputError
from spinlearn.io.folder import ANSWER_FILES, only_run
from tests.end_to_end.tool import leftovers, no_room, spinlearn_here, two_rows, until

pytestmark = pytest.mark.slow

LONG, SHORT = (
    ("--method", "paper", "--engine", f"multicanonical:tol={tol},checkpoint_seconds=0",
     "--temperature", "auto:grid=0.5,1")
    for tol in (1e-6, 0.2)
)  # fmt: skip
ALL_OF_IT = {"data.csv", "out", *(f"out/{name}" for name in ANSWER_FILES)}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two rows of points that a label each holds."""
    (tmp_path / "data.csv").write_text(two_rows(15), encoding="utf-8")
    return tmp_path


def command(*options: str) -> list[str]:
    return ["fit", "data.csv", "--labels", "kind", "--id", "id", "--out", "out", *options]


def dead_process() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def refusal(folder: Path, words: str):
    """Another run into the same folder is refused."""
    with pytest.raises(InvalidInputError, match=words), only_run(folder / "out"):
        pass


def test_a_second_run_into_one_folder_is_refused_with_the_process_of_the_first(table):
    first = subprocess.Popen(
        [sys.executable, "-m", "spinlearn", *command(*LONG)],
        cwd=table, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        until(lambda: (table / ".out.checkpoint.npz").exists() or first.poll() is not None)
        assert first.poll() is None
        for options in (LONG, (*LONG, "--resume")):
            second = spinlearn_here(*command(*options), cwd=table)
            assert second.returncode == 2
            assert f"process {first.pid} " in second.stderr
            assert second.stderr.count("\n") == 1
        assert first.poll() is None
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate()
    assert first.returncode == 130
    assert (table / ".out.checkpoint.npz").exists()  # of the first, untouched by the second
    assert not (table / ".out.lock").exists()


def test_a_run_that_is_refused_clears_nothing(table):
    """In another container the first has the same process number."""
    part = table / f".out.{os.getpid()}@{platform.node()}.part"
    part.mkdir()
    with only_run(table / "out"):
        assert spinlearn_here(*command(), cwd=table).returncode == 2
        assert part.exists()


@pytest.mark.parametrize(
    "name", ["circle", "circle/out", os.fsdecode(b"\xff")], ids=["circle", "inside", "letters"]
)
def test_a_folder_that_cannot_be_is_refused_before_anything_is_read(table, name):
    (table / "circle").symlink_to("circle")
    (table / "data.csv").unlink()
    done = spinlearn_here(*command("--out", name), cwd=table)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "name another folder" in done.stderr
    assert leftovers(table) == {"circle"}


def test_the_lock_of_another_machine_is_respected(table):
    (table / ".out.lock").write_text("123\nelsewhere\n", encoding="utf-8")
    done = spinlearn_here(*command(), cwd=table)
    assert done.returncode == 2
    assert "process 123 on elsewhere" in done.stderr
    assert ".out.lock" in done.stderr
    assert leftovers(table) == {"data.csv", ".out.lock"}


def test_a_lock_that_is_held_is_respected_whatever_is_in_it(tmp_path):
    """In containers with one disk and one name, numbers of processes say nothing of each other."""
    process = dead_process()
    named = f"{process}\n{platform.node()}\n".encode()
    for content, words in ((b"", "just begun"), (named, f"process {process} on")):
        with only_run(tmp_path / "out"):
            (tmp_path / ".out.lock").write_bytes(content)
            refusal(tmp_path, words)
            assert (tmp_path / ".out.lock").exists()


@pytest.mark.parametrize(
    "left", [b"", b"\xff\xfe", b"9" * 5000, f"1\n{platform.node()}\n".encode()], ids=len
)
def test_a_lock_that_nobody_holds_keeps_nobody_off(tmp_path, left):
    """Killed before it was written, or its number is another program's by now."""
    (tmp_path / ".out.lock").write_bytes(left)
    with only_run(tmp_path / "out"):
        held = (tmp_path / ".out.lock").read_text(encoding="utf-8")
        assert held == f"{os.getpid()}\n{platform.node()}\n"
    assert leftovers(tmp_path) == set()


def test_a_lock_that_is_no_file_or_another_s_is_left(tmp_path):
    lock = tmp_path / ".out.lock"
    lock.symlink_to("nowhere")
    refusal(tmp_path, r"cannot be written .*\.out\.lock")
    assert leftovers(tmp_path) == {".out.lock"}
    lock.unlink()
    with only_run(tmp_path / "out"):
        lock.unlink()
        lock.write_text("another's", encoding="utf-8")
    assert lock.read_text(encoding="utf-8") == "another's"


def test_a_lock_hides_no_error_and_is_gone_if_it_can_be(tmp_path, monkeypatch):
    with pytest.raises(ZeroDivisionError), only_run(tmp_path / "out"):
        raise ZeroDivisionError
    assert leftovers(tmp_path) == set()
    monkeypatch.setattr(Path, "unlink", no_room)
    with pytest.raises(ZeroDivisionError), only_run(tmp_path / "out"):
        raise ZeroDivisionError


def interrupted(table: Path) -> str:
    """What is kept of a run that was ended when its answer was about to be written."""

    def killed(*arguments, **settings):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spinlearn.io.folder.write_answer", killed)
        assert spinlearn_here(*command(*SHORT), cwd=table).returncode == 130
    return ".out.checkpoint.npz"


def ended_by_its_clock(table: Path) -> str:
    """What is kept of a run that gave its answer when it was late."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SamplingRun, "_late", lambda self, share: share >= 1)
        done = spinlearn_here(*command(*LONG), cwd=table)
    assert "run again with --resume" in done.stdout, done.stderr
    return ".out.finished.npz"


@pytest.mark.parametrize("ended", [interrupted, ended_by_its_clock])
def test_a_run_that_is_kept_stays_what_it_is_when_going_on_is_refused(table, ended):
    """Not least by engines that keep nothing."""
    path = table / ended(table)
    saved, before = path.read_bytes(), leftovers(table)
    engines = ("auto", "junction_tree", "enumeration", "generalized_bp")
    for changed in (("--seed", "5"), *(("--engine", name) for name in engines)):
        done = spinlearn_here(*command(*SHORT, *changed, "--resume"), cwd=table)
        assert done.returncode == 2, done.stdout
        assert "belongs to another run" in done.stderr
        assert leftovers(table) == before
        assert path.read_bytes() == saved


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, None])
def test_once_the_answer_stands_nothing_undoes_it(table, monkeypatch, kind):
    """Neither a signal while it is printed, nor output that cannot be."""
    ends = no_room if kind is None else lambda *_, **__: signal.raise_signal(kind)
    monkeypatch.setattr("spinlearn.cli.fit.print_answer", ends)
    done = spinlearn_here(*command(*SHORT), cwd=table)
    assert done.returncode == (2 if kind is None else 128 + kind)
    assert kind is None or done.stderr == ""  # nobody is told that there is none
    assert leftovers(table) == ALL_OF_IT


@pytest.mark.parametrize("for_answers_too", [False, True])
def test_a_checkpoint_that_finds_the_disk_full_is_told(table, monkeypatch, for_answers_too):
    replace = os.replace

    def full(source, target) -> None:
        if for_answers_too or str(target).endswith("checkpoint.npz"):
            no_room()
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    done = spinlearn_here(*command(*SHORT), cwd=table)
    assert done.returncode == (2 if for_answers_too else 0), done.stderr
    path = table / ".out.checkpoint.npz"
    told = done.stdout.count(f"note: the checkpoint {path} could not be written (No space")
    assert told == 1 if for_answers_too else told
    assert leftovers(table) == ({"data.csv"} if for_answers_too else ALL_OF_IT)
