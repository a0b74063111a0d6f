"""Nothing rests on the machine's own encoding, newlines or calls."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.tool import two_rows

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src" / "spinlearn"
GUARDED = [SOURCE / "labelling" / "priority.py"]  # asks first which system it is
ONE_SYSTEM = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "termios", "winreg"}
TABLE = two_rows(6, "Möwe 日本", "rechts")


@pytest.mark.parametrize("letters", ["ascii", "cp1252"])
def test_names_are_told_where_the_terminal_lacks_their_letters(tmp_path, letters):
    """Some systems give pipes an encoding of their own."""
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
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


def _nodes(*kinds: type) -> Iterator[tuple[Path, Any]]:
    """All nodes of these kinds in the source, each with its file."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                yield path, node


def unnamed(call: ast.Call) -> set[str]:
    """What a call that opens a file of text leaves to the machine: encoding, ends of lines."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    mode = {"read_text": "r", "TextIOWrapper": "r", "write_text": "w"}.get(name, "")
    if name in ("open", "fdopen"):
        method = name == "open" and isinstance(call.func, ast.Attribute)  # of a path, or another's
        given = [k.value for k in call.keywords if k.arg == "mode"] + call.args[not method :][:1]
        mode = "" if method else "r"
        mode = str(getattr(given[0], "value", "")) if given else mode
    if not mode or not set(mode) <= set("rwaxt+"):
        return set()
    needed = {"encoding", "newline"} if set(mode) & set("wax+") else {"encoding"}
    return needed - {k.arg for k in call.keywords}


def test_files_of_text_name_their_encoding_and_the_ends_of_their_lines():
    """Python's defaults are the machine's: cp1252 on many, and two letters at the end of a line."""
    found = [(str(path), node.lineno, unnamed(node)) for path, node in _nodes(ast.Call)]
    assert [place for place in found if place[2]] == []


def test_modules_of_one_system_are_not_imported():
    for path, node in _nodes(ast.Import, ast.ImportFrom):
        if path not in GUARDED:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
            assert not set(names) & ONE_SYSTEM, path
