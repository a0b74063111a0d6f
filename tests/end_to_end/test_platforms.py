"""Nothing rests on one operating system: its calls, its encoding, its newlines."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spinlearn.core.processes import is_running, usable_cores
from tests.end_to_end import elsewhere
from tests.end_to_end.tool import leftovers

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src" / "spinlearn"
# These ask first which system it is.
GUARDED = [SOURCE / "core" / "processes.py", SOURCE / "core" / "file_lock.py"]
GUARDED += [SOURCE / "labelling" / "priority.py"]
TABLE = "id,kind,a,b\n" + "".join(
    f"p{k},{ {0: 'links', 6: 'rechts'}.get(k, '') },{k // 6 * 9}.5,{k % 6 / 4}\n" for k in range(12)
)
COMMANDS = (
    FIT := [
        "fit",
        "Maße.csv",
        "--labels",
        "kind",
        "--id",
        "id",
        "--temperature",
        "auto:grid=0.25,0.5",
    ],
    FIT,  # into the same folder again
    ["explore", "spinlearn-out", "--temperature", "0.25", "--out", "other"],
    ["suggest", "spinlearn-out"],
    ["suspects", "spinlearn-out"],
    [
        "compare",
        "Maße.csv",
        "--labels",
        "kind",
        "--id",
        "id",
        "--method",
        "lgc",
        "--out",
        "all.csv",
    ],
    ["doctor"],
)
# Each rests on one system.
PLANTED = (
    "import os; os.fork()",
    "import os; os.kill(1, 0)",
    "import os; os.O_DIRECTORY",
    "from os import getuid",
    "import signal; signal.SIGHUP",
    "from signal import setitimer",
    "import fcntl",
    "from pwd import getpwnam",
    "import sys; assert sys.platform == 'linux'",
    "open('all.csv')",
    "import pathlib; pathlib.Path('all.csv').read_text()",
    "open('a', 'w', encoding='utf-8').write('1\\n'); assert b'\\r' not in open('a', 'rb').read()",
    "import pathlib; a = pathlib.Path('a'); a.write_text('1\\n', encoding='utf-8');"
    "assert b'\\r' not in a.read_bytes()",
    "import os; a = open('all.csv', 'rb'); os.replace('all.csv', 'b')",
)


def test_commands_work_on_another_system(tmp_path):
    """`elsewhere` says what that is; it does notice what would not work there."""
    (tmp_path / "Maße.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / ".spinlearn-out.4194304@elsewhere.part").mkdir()  # another machine's, shared disk
    done = subprocess.run(
        [sys.executable, "-P", "-X", "warn_default_encoding", elsewhere.__file__],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUTF8": "0", "LC_ALL": "C"},
        input=json.dumps([*COMMANDS, *PLANTED]),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    raised = json.loads(done.stdout.splitlines()[-1])
    assert raised[: len(COMMANDS)] == [None] * len(COMMANDS), done.stderr
    assert [
        code for code, said in zip(PLANTED, raised[len(COMMANDS) :], strict=True) if not said
    ] == []
    written = [path for path in tmp_path.rglob("*.csv") if path.name != "Maße.csv"]
    assert len(written) == 7
    assert [path.name for path in written if b"\r" in path.read_bytes()] == []
    assert not [name for name in leftovers(tmp_path) if name.endswith(".lock")]


@pytest.mark.parametrize("letters", ["ascii", "cp1252"])
def test_names_are_told_where_the_terminal_lacks_their_letters(tmp_path, letters):
    """Windows gives pipes its own encoding."""
    (tmp_path / "t.csv").write_text(TABLE.replace("links", "Möwe 日本"), encoding="utf-8")
    fit = ("fit", "t.csv", "--labels", "kind", "--id", "id", "--temperature", "auto:grid=0.25")
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


def _nodes(*kinds: type) -> Iterator[tuple[Path, Any]]:
    """All nodes of these kinds in the source, each with its file."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                yield path, node


def _text_mode(call: ast.Call) -> str | None:
    """The mode in which a call opens a file of text, if it does."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in ("read_text", "write_text", "TextIOWrapper"):
        return "w" if name == "write_text" else "r"
    if name not in ("open", "fdopen"):
        return None
    method = name == "open" and isinstance(call.func, ast.Attribute)  # of a path, or another's
    given = [k.value for k in call.keywords if k.arg == "mode"] + call.args[not method :][:1]
    if not given:
        return None if method else "r"
    mode = str(getattr(given[0], "value", ""))
    return mode if set(mode) <= set("rwaxt+") and mode else None


def unnamed(call: ast.Call) -> set[str]:
    """What a call leaves to the machine: the encoding, the ends of lines it writes."""
    mode = _text_mode(call)
    if mode is None:
        return set()
    needed = {"encoding", "newline"} if set(mode) & set("wax+") else {"encoding"}
    return needed - {k.arg for k in call.keywords}


def test_files_of_text_name_their_encoding_and_the_ends_of_their_lines():
    """Python's defaults are the machine's: cp1252 on many, and two letters at the end of a line."""
    found = [(str(path), node.lineno, unnamed(node)) for path, node in _nodes(ast.Call)]
    assert [place for place in found if place[2]] == []


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("open(path)", {"encoding"}),
        ("open(path, 'rb')", set()),
        ("open(path, mode='wb')", set()),
        ("open(path, 'w', encoding='utf-8')", {"newline"}),
        ("path.open('x')", {"encoding", "newline"}),
        ("room.open()", set()),
        ("webbrowser.open(address)", set()),
        ("io.TextIOWrapper(file)", {"encoding"}),
        ("path.open(encoding='utf-8')", set()),
        ("path.write_text(text, encoding='utf-8')", {"newline"}),
        ("path.write_text(text, encoding='utf-8', newline='')", set()),
        ("os.fdopen(number, 'w')", {"encoding", "newline"}),
    ],
)
def test_what_is_left_to_the_machine_is_seen(code, missing):
    assert unnamed(ast.parse(code, mode="eval").body) == missing


def test_modules_of_one_system_are_not_imported():
    for path, node in _nodes(ast.Import, ast.ImportFrom):
        if path in GUARDED:
            continue
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        assert not set(names) & {*elsewhere.MODULES, "msvcrt", "posix_ipc", "winreg"}, path


def test_calls_of_one_system_are_made_in_few_places():
    of = {"os": {*elsewhere.CALLS, "getppid", "kill"}, "signal": set(elsewhere.SIGNALS)}
    for path, node in _nodes(ast.Attribute, ast.ImportFrom):
        if path in GUARDED:
            continue
        if isinstance(node, ast.Attribute):
            module, names = getattr(node.value, "id", ""), {node.attr}
        else:
            module, names = node.module, {alias.name for alias in node.names}
        assert not names & of.get(module, set()), (path, node.lineno)
