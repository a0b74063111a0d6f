"""`spinlearn doctor --compile`: after it no command compiles."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.walk import write_table

pytestmark = pytest.mark.slow

DOCTOR = "doctor --compile"
RUN = """
import sys
from spinlearn.cli.main import app
from spinlearn.kernels import cache

for line in sys.stdin.read().splitlines():
    app(line.split(), standalone_mode=False)
met = {
    f"{kernel.py_func.__module__}.{kernel.py_func.__name__}{form}"
    for name, module in list(sys.modules.items())
    if name.startswith("spinlearn.kernels.")
    for kernel in vars(module).values()
    if hasattr(kernel, "overloads")
    for form in kernel.overloads
}
print("compiled", sum(now for _, now in cache.met().values()))
print(*sorted(met), sep="\\n")
"""


def met(commands: list[str], folder) -> tuple[int, set[str]]:
    """Kernels that commands compile, and all forms of kernels that they use."""
    done = subprocess.run(
        [sys.executable, "-c", RUN], input="\n".join(commands), cwd=folder,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("compiled "))
    said = [line for line in lines[:start] if " kernels compiled in " in line]
    assert len(said) == (commands == [DOCTOR])
    return int(lines[start].split()[1]), set(lines[start + 1 :])


def test_nothing_is_left_to_compile(tmp_path):
    """Whatever the state of the cache: the doctor has used every form of a kernel that these use.

    So none of it was only there because something else had compiled it.
    """
    write_table(tmp_path / "table.csv")
    _, known = met([DOCTOR], tmp_path)
    commands = [
        "fit table.csv --labels species --out one --quiet",
        "fit table.csv --labels species --out two --quiet --method paper --time-limit 2",
        "cluster table.csv --out three --quiet",
        "suggest one",
        "suspects one",
        "compare table.csv --labels species --time-limit 2",
    ]
    for command in commands:
        compiled, used = met([command], tmp_path)
        assert used - known == set(), command
        assert compiled == 0, command
