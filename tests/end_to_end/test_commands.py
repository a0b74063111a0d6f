"""How commands behave around their work: folders they write, Ctrl-C, resuming, odd terminals."""

import itertools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spinlearn.engines.sampling import run as sampling_run
from spinlearn.io.folder import ANSWER_FILES
from spinlearn.io.result import Result
from tests.end_to_end.tool import (
    leftovers,
    read_rows,
    spinlearn_here,
    spinlearn_signalled,
    two_rows,
    worked,
)

pytestmark = pytest.mark.slow

SAMPLED = ("--method", "paper", "--engine", "multicanonical")
WRITING = "spinlearn.io.folder:write_label_parquet"  # some of the files are there
SAVING = "spinlearn.engines.checkpoint:save"
SELDOM = ("--engine", "auto:checkpoint_seconds=1e9")  # a slow run would leave some
ANSWER = set(ANSWER_FILES)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two rows of 20 points, a label each."""
    (tmp_path / "data.csv").write_text(two_rows(20))
    return tmp_path


FIT = ("fit", "data.csv", "--labels", "kind", "--id", "id", "--temperature", "auto:grid=0,0.5,1")


def fit(folder: Path, *options: object, out: str = "out"):
    return worked(*FIT, "--out", out, *options, cwd=folder)


def signalled(folder: Path, after: str, *options: object, kind: int = signal.SIGINT, times=1):
    """The same in a process of its own, which gets a signal at the end of a call of `after`."""
    command = (*FIT, "--out", "out", *options)
    return spinlearn_signalled(*command, cwd=folder, after=after, kind=kind, times=times)


def test_other_files_in_the_answers_folder_stay(table):
    fit(table)
    (table / "out" / "notes.txt").write_text("mine")
    (table / "out" / "labels.csv").write_text("of an earlier answer")
    done = fit(table, "--top-variance", 1)
    assert "note: the 1 features of largest variance are used" in done.stdout
    assert (table / "out" / "notes.txt").read_text() == "mine"
    assert len(read_rows(table / "out" / "labels.csv")) == 40
    assert leftovers(table) == {"data.csv", "out", "out/notes.txt", *(f"out/{n}" for n in ANSWER)}


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_written_through(table, exists):
    if exists:
        (table / "real").mkdir()
    (table / "link").symlink_to("real")
    for _ in range(2):
        fit(table, out="link")
    assert (table / "link").is_symlink()
    assert {p.name for p in (table / "real").iterdir()} == ANSWER
    assert {p.name for p in table.iterdir()} == {"data.csv", "link", "real"}


def test_what_a_killed_process_left_is_cleared_and_an_old_answer_put_back(table):
    """As after kill -9 between moving the old answer away and the new one into its place."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    here = os.uname().nodename
    side = table / f".out.{dead.pid}@{here}.part"
    side.mkdir()
    (side / "labels.csv").write_text("half")
    (table / f"..out.checkpoint.npz.{dead.pid}@{here}.part").write_bytes(b"half a checkpoint")
    (table / ".out.lock").write_text(f"{dead.pid}\n{here}\n", encoding="utf-8")
    fit(table)
    assert leftovers(table) == {"data.csv", "out", *(f"out/{n}" for n in ANSWER)}
    (table / "out" / "notes.txt").write_text("mine")
    (table / "out").rename(side.with_name(side.name + ".old"))
    alive = table / f".out.{os.getppid()}@{here}.part"
    alive.mkdir()  # of a process that still runs
    fit(table)
    assert (table / "out" / "notes.txt").read_text() == "mine"
    assert {p.name for p in table.iterdir()} == {"data.csv", "out", alive.name}


def test_odd_names_and_contradictory_labels_are_told(table):
    """Characters that steer a terminal are written out; ids, not numbers, of points that clash."""
    lines = (table / "data.csv").read_text().replace("left", "\x1b[31mA\x1b]0;pwn\x07").splitlines()
    lines[4] = "p3,right," + ",".join(lines[1].split(",")[2:])  # where p0 is
    (table / "data.csv").write_text("\n".join(lines) + "\n")
    said = fit(table).stdout
    assert not {"\x1b", "\x07"} & set(said)
    assert "\\x1b[31mA" in said
    assert "\x1b[31mA" in (table / "out" / "labels.csv").read_text()  # as it was given
    assert "points p0 and p3 are identical but labelled \\x1b[31mA" in said


def test_explore_keeps_the_temperature_that_was_asked_for(table):
    fit(table, "--temperature", "0.8:grid=0,0.5,1")
    worked("explore", "out", "--temperatures", "0:1:11", "--out", "x", cwd=table)
    assert Result.load(table / "x").temperature == 0.8
    spinlearn_here("explore", "x", "--temperature", 0.3, "--out", "y", cwd=table)
    spinlearn_here("explore", "y", "--temperatures", "0:1:5", "--out", "z", cwd=table)
    assert Result.load(table / "z").temperature == 0.3
    named = worked("explore", "out/model.npz", cwd=table)
    assert "out/report.html" in named.stdout


def test_a_wrong_command_line_is_one_line(table):
    fit(table)
    for line, said in (
        ("fit --nope", "No such option: --nope"),
        ("fitt", "No such command 'fitt'"),
        ("fit", "Missing argument"),
        ("fit data.csv --tau x", "Invalid value for '--tau'"),
        ("suggest out --seed -1", "seed -1 cannot be used"),
    ):
        done = spinlearn_here(*line.split(), cwd=table)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_the_version_and_the_help():
    here = Path.cwd()
    said = [spinlearn_here(option, cwd=here).stdout for option in ("--version", "-V")]
    assert said[0].strip().count(".") == 2
    assert said[0] == said[1]
    bare, asked = spinlearn_here(cwd=here), spinlearn_here("--help", cwd=here)
    assert bare.returncode == asked.returncode == 0
    assert bare.stdout == asked.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [("spinlearn sus", {"suspects"}), ("spinlearn fit --labels", {"--labels", "--labels-file"})],
)
def test_the_shell_completes_commands_and_options(monkeypatch, words, found):
    monkeypatch.setenv("_SPINLEARN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert set(spinlearn_here(cwd=Path.cwd()).stdout.split()) == found


def test_questions_about_names_stand_on_standard_error(tmp_path):
    rows = (
        two_rows(20).replace("p1,", "p1,left").replace("p2,", "p2,left").replace("p3,", "p3,lefft")
    )
    (tmp_path / "data.csv").write_text(rows)
    done = fit(tmp_path)
    assert done.stderr.startswith(
        "spinlearn: the class 'lefft', of 1, is within a letter or two of"
    )
    assert done.stderr.count("\n") == 1
    assert "lefft" in (tmp_path / "out" / "labels.csv").read_text()


def test_a_reader_that_leaves_does_not_stop_the_work(table):
    command = f"{sys.executable} -m spinlearn fit data.csv --labels kind --id id"
    line = f"set -o pipefail; {command} --temperature auto:grid=0,0.5,1 --out out | head -1"
    done = subprocess.run(
        ["bash", "-c", line], cwd=table, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {p.name for p in (table / "out").iterdir()} == ANSWER


def test_control_c_while_the_answer_is_written(table):
    """Once it loses nothing; twice it leaves with a word and without rubbish."""
    done = signalled(table, WRITING, *SELDOM, times=2)
    assert done.returncode == 130
    assert "no answer was written" in done.stderr
    assert leftovers(table) == {"data.csv"}
    done = signalled(table, WRITING, *SELDOM)
    assert done.returncode == 0, done.stderr
    assert "writing the answer" in done.stdout
    assert {p.name for p in (table / "out").iterdir()} == ANSWER


def test_a_word_to_end_is_heard_like_control_c(table):
    """Batch systems and `timeout` send SIGTERM some time before they kill."""
    options = (*SAMPLED, "--temperature", "auto:grid=0.5,1", "--engine")
    often = "multicanonical:tol=1e-6,checkpoint_seconds=0.05"
    done = signalled(table, SAVING, *options, often, kind=signal.SIGTERM)
    assert done.returncode == 143, done.stderr
    assert "--resume" in done.stdout
    assert (table / ".out.checkpoint.npz").exists()
    resumed = fit(table, *options, "multicanonical:tol=0.05", "--resume")
    assert "nothing to resume" not in resumed.stdout


def test_nothing_of_the_users_is_replaced(table):
    mine = (table / "data.csv").read_text()
    compare = ("compare", "data.csv", "--labels", "kind", "--id", "id", "--method", "lgc")
    refused = spinlearn_here(*compare, "--out", "data.csv", cwd=table)
    assert refused.returncode == 2
    assert "holds no earlier table" in refused.stderr
    assert (table / "data.csv").read_text() == mine
    for _ in range(2):
        worked(*compare, "--out", "table.csv", cwd=table)
    assert "is a folder" in spinlearn_here(*compare, "--out", ".", cwd=table).stderr
    (table / "mine").mkdir()
    (table / "mine" / "report.md").write_text("my own report")
    refused = spinlearn_here("demo", "--out", "mine", cwd=table)
    assert refused.returncode == 2
    assert leftovers(table / "mine") == {"report.md"}
    assert leftovers(table) == {"data.csv", "table.csv", "mine", "mine/report.md"}


def test_long_names_leave_the_numbers_in_sight(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = (table / "data.csv").read_text().replace("left", "l" * 3000)
    (table / "data.csv").write_text(text)
    lines = fit(table).stdout.splitlines()
    assert len(lines) < 50
    # Call, points, their mean confidence, how many are labelled or confident.
    rows = [line.replace(" ", "") for line in lines]
    assert any(re.match(r"│right│20│[01]\.\d\d│1labelled", row) for row in rows)


@pytest.mark.parametrize("module", ["spinlearn.cli.main", "spinlearn.io.dataset"])
def test_control_c_while_modules_are_loaded_is_no_traceback(table, module):
    """As if it came just when the command line, or what a command needs, is imported."""
    code = f"""
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["spinlearn", "fit", "data.csv", "--labels", "kind"]
from spinlearn.cli import run
run()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=table, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_resume_goes_on_after_the_time_limit_and_with_another_tolerance(table, monkeypatch):
    with monkeypatch.context() as patch:  # every look at the clock takes a thousandth of a second
        patch.setattr(sampling_run, "perf_counter", itertools.count(0, 0.001).__next__)
        short = fit(table, *SAMPLED, "--engine", "multicanonical:tol=1e-6", "--time-limit", 1)
    assert "run again with --resume" in short.stdout
    assert f"is kept in {table / '.out.finished.npz'}, " in short.stdout
    for ended in (False, True):
        again = fit(table, *SAMPLED, "--engine", "multicanonical:tol=0.05", "--resume")
        assert ("nothing to resume" in again.stdout) == ended
        assert leftovers(table) == {"data.csv", "out", *(f"out/{n}" for n in ANSWER)}
