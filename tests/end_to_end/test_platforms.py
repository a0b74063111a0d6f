"""Nothing rests on one operating system: its calls, its encoding, its newlines."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spinlearn.core.processes import is_running, usable_cores
from tests.end_to_end.tool import leftovers

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src" / "spinlearn"
TABLE = "id,kind,a,b\n" + "".join(
    f"p{k},{ {0: 'links', 6: 'rechts'}.get(k, '') },{k // 6 * 9}.5,{k % 6 / 4}\n" for k in range(12)
)
# What Windows or macOS have not, and os.kill, which ends the process that it asks about there.
ABSENT = (
    "sched_getaffinity", "sched_setaffinity", "fork", "forkpty", "getuid", "geteuid", "uname",
    "getloadavg", "sysconf", "mkfifo", "chown", "nice", "killpg", "getppid", "setsid",
)  # fmt: skip
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "posix_ipc")
ELSEWHERE = f"""
import os, sys
import numpy, scipy, sklearn, numba, joblib, pandas, matplotlib, typer, rich  # have their own ways
for name in {ABSENT!r}:
    if hasattr(os, name):
        delattr(os, name)

def kill(process, number):
    raise AssertionError("os.kill ends processes on Windows")

os.kill = kill
import spinlearn.core.processes as processes
processes._is_running_on_windows = lambda process: process == os.getpid()
processes.sys = type(sys)("sys")
processes.sys.platform = "win32"
sys.argv = ["spinlearn", *sys.argv[1:]]
from spinlearn.cli import run
run()
"""


def elsewhere(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`spinlearn ...` on a machine without the calls of this one."""
    quiet = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning:spinlearn"]
    return subprocess.run(
        [sys.executable, *quiet, "-c", ELSEWHERE, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONUTF8": "0", "LC_ALL": "C"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_commands_work_where_calls_of_linux_are_absent(tmp_path):
    (tmp_path / "Maße.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / ".out.4194304@elsewhere.part").mkdir()  # another machine's, on a shared disk
    fit = ("fit", "Maße.csv", "--labels", "kind", "--id", "id", "--temperatures", "0.25,0.5")
    for arguments in (
        (*fit, "--out", "out"),
        (*fit, "--out", "out"),  # into the same folder again
        ("explore", "out", "--temperature", "0.25", "--out", "other"),
    ):
        done = elsewhere(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for name in ("labels.csv", "profile.csv"):
        assert b"\r" not in (tmp_path / "out" / name).read_bytes()
    assert not [name for name in leftovers(tmp_path) if name.endswith(".lock")]


@pytest.mark.parametrize("letters", ["ascii", "cp1252"])
def test_names_are_told_where_the_terminal_lacks_their_letters(tmp_path, letters):
    """Windows gives pipes its own encoding."""
    (tmp_path / "t.csv").write_text(TABLE.replace("links", "Möwe 日本"), encoding="utf-8")
    fit = ("fit", "t.csv", "--labels", "kind", "--id", "id", "--temperatures", "0.25")
    done = subprocess.run(
        [sys.executable, "-m", "spinlearn", *fit, "--out", "out"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": letters},
        capture_output=True,
        encoding=letters,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\\u65e5\\u672c" in done.stdout
    assert "Möwe 日本" in (tmp_path / "out" / "labels.csv").read_text(encoding="utf-8")


def test_the_doctor_counts_cores_where_nobody_says_which_may_be_used(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert usable_cores() == (os.cpu_count() or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_on_windows_no_process_is_signalled(monkeypatch):
    def kill(process: int, number: int) -> None:
        raise AssertionError("this ends the process there")

    asked = []
    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr("spinlearn.core.processes.sys.platform", "win32")
    monkeypatch.setattr(
        "spinlearn.core.processes._is_running_on_windows", lambda p: asked.append(p) or True
    )
    assert is_running(1234)
    assert asked == [1234]


def _files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_files_of_text_name_their_encoding():
    """Python's default is the machine's: cp1252 on many."""
    for path in _files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            if name in ("read_text", "write_text"):
                assert any(k.arg == "encoding" for k in node.keywords), (path, node.lineno)
            if isinstance(function, ast.Name) and name == "open":
                mode = [a.value for a in node.args[1:2] if isinstance(a, ast.Constant)]
                binary = any("b" in str(m) for m in mode)
                named = any(k.arg == "encoding" for k in node.keywords)
                assert binary or named, (path, node.lineno)


def test_modules_of_one_system_are_not_imported():
    for path in _files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & set(MODULES), path
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in MODULES, path


def test_calls_of_one_system_are_made_in_one_place():
    for path in _files():
        if path == SOURCE / "core" / "processes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "os":
                assert node.attr not in (*ABSENT, "kill"), (path, node.lineno)
