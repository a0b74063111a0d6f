"""Every snippet of the guides runs: Python in order in one namespace, console lines as commands."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.tool import spinlearn_here

DOCS = Path(__file__).parents[2] / "docs"
REPORTS = ("few-labels.md",)  # tables that a benchmark writes
WORDS = ("glossary.md",)  # nothing in them runs
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
GUIDES = [name for name in PAGES if name not in (*REPORTS, *WORDS)]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_console(text: str, folder: Path) -> None:
    """Lines that begin with $; spinlearn in this process, others by the shell."""
    for line in text.splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line[2:])
        if words[0] == "spinlearn":
            done = spinlearn_here(*words[1:], cwd=folder)
        else:
            done = subprocess.run(
                line[2:], shell=True, cwd=folder, capture_output=True, text=True, check=False
            )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES)
def test_snippets_run(guide, tmp_path):
    blocks = BLOCK.findall((DOCS / guide).read_text(encoding="utf-8"))
    assert blocks, f"{guide} shows nothing that runs"
    namespace: dict = {}
    for kind, text in blocks:
        if kind == "console":
            run_console(text, tmp_path)
        else:
            with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, guide, "exec"), namespace)


def test_there_are_the_guides_and_their_links_lead_somewhere():
    assert len(GUIDES) == 11
    assert set(REPORTS) | set(WORDS) <= set(PAGES)
    for guide in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / guide).read_text(encoding="utf-8")):
            assert target.startswith("http") or (DOCS / target).exists(), f"{guide}: {target}"
