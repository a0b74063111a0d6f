"""What a command may do with a damaged file."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.seeds import SEEDS

BAD_INPUT = 2


def judged(
    kind: str, content: bytes, folder: Path, right: bytes, run: Callable[..., object]
) -> str | None:
    """What is wrong with how a file is treated, or None.

    Parameters
    ----------
    kind : str
        A key of `SEEDS`.
    content : bytes
        Of the file.
    folder : Path
        With all undamaged files; left as it was.
    right : bytes
        The answer to the undamaged file.
    run : callable
        The command line, run(*arguments, cwd=).
    """
    seed = SEEDS[kind]
    path, out = folder / seed.name, folder / "out"
    before = path.read_bytes() if path.exists() else None
    present = set(folder.rglob("*")) | {path}
    path.write_bytes(content)
    try:
        done = run(*seed.command, cwd=folder)
        assert isinstance(done, subprocess.CompletedProcess)
        wrong = _wrong_words(done)
        accepted = wrong is None and done.returncode == 0
        if accepted and seed.sealed and (folder / seed.answer).read_bytes() != right:
            wrong = "a damaged file was accepted, with another answer"
        shutil.rmtree(out, ignore_errors=True)
        left = set(folder.rglob("*")) - present - {folder / ".out.finished.npz"}
        return wrong or (f"left behind: {sorted(map(str, left))}" if left else None)
    finally:
        for rubbish in set(folder.rglob("*")) - present:
            rubbish.unlink(missing_ok=True)
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before)


def _wrong_words(done: subprocess.CompletedProcess[str]) -> str | None:
    """Why an exit is not a clear one."""
    lines = done.stderr.strip().splitlines()
    if done.returncode == 0:
        return f"words on stderr: {done.stderr[:300]}" if lines else None
    if done.returncode != BAD_INPUT:
        return f"exit code {done.returncode}: {done.stderr[-300:]}"
    if len(lines) != 1 or not lines[0].startswith("spinlearn: "):
        return f"not one clear line: {done.stderr[-300:]}"
    return None
