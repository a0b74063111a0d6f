"""One process that tries damaged files, one after another, until it dies or none is left.

It says before each which one it is, so that whoever started it knows what ended it. Time is that
of the processor: a busy machine makes nothing hang.
"""

import json
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.end_to_end.tool import spinlearn_here
from tests.fuzz.seeds import SEEDS, write_seeds

MOST_SECONDS = 20.0  # of the processor, for one file
MOST_BYTES = 2 << 30
BAD_INPUT = 2  # exit code
TOKENS = (
    b"\0", b"\n", b"\r\n", b",", b"\t", b'"', b"'", b"{", b"[" * 3000, b"}", b"nan", b"inf",
    b"-inf", b"1e999", b"-1", b"1_000", b"3.5E-", b"3.5E-\n", b"0x10", b"1,5", b"=1+2", b"@SUM(A1)",
    b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"9" * 30, b"%%", b"# ", b"Infinity", b"null",
    b"2024-02-30", b"4294967295", b"2147483648", b"\x7f" * 8, b"\xff" * 8, b"\x80" * 8,
)  # fmt: skip


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with one to three damages, by chance or as by malice."""
    damaged = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if damaged:
            damaged = DAMAGES[int(rng.integers(len(DAMAGES)))](damaged, rng)
    return bytes(damaged)


def _place(content: bytearray, rng: np.random.Generator) -> int:
    """Anywhere, but often near the ends, where formats keep their lists."""
    size = len(content)
    near = rng.random()
    if near < 0.2:
        return int(rng.integers(min(size, 256)))
    if near < 0.4:
        return size - 1 - int(rng.integers(min(size, 256)))
    return int(rng.integers(size))


def _flip_bit(content: bytearray, rng: np.random.Generator) -> bytearray:
    content[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return content


def _replace_byte(content: bytearray, rng: np.random.Generator) -> bytearray:
    content[_place(content, rng)] = int(rng.choice([0, 1, 0x20, 0x7F, 0x80, 0xFF, 0x2D, 0x39]))
    return content


def _truncate(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: _place(content, rng)]


def _repeat(content: bytearray, rng: np.random.Generator) -> bytearray:
    """A piece several times, or not at all."""
    start, length = _place(content, rng), int(rng.integers(1, 64))
    piece = content[start : start + length] * int(rng.integers(0, 5))
    return content[:start] + piece + content[start + length :]


def _put_token(content: bytearray, rng: np.random.Generator) -> bytearray:
    """A token between two bytes, or in the place of as many."""
    start, token = _place(content, rng), TOKENS[int(rng.integers(len(TOKENS)))]
    return content[:start] + token + content[start + len(token) * int(rng.integers(2)) :]


def _swap(content: bytearray, rng: np.random.Generator) -> bytearray:
    one, other = sorted((_place(content, rng), _place(content, rng)))
    length = min(int(rng.integers(1, 32)), other - one)
    first, second = content[one : one + length], content[other : other + length]
    content[one : one + length], content[other : other + length] = second, first
    return content


def _change_digit(content: bytearray, rng: np.random.Generator) -> bytearray:
    """A number becomes another: shapes, sizes and counts are often written out."""
    places = [k for k in range(len(content)) if 0x30 <= content[k] <= 0x39]
    if places:
        content[places[int(rng.integers(len(places)))]] = int(rng.integers(0x30, 0x3A))
    return content


DAMAGES = (_flip_bit, _replace_byte, _truncate, _repeat, _put_token, _swap, _change_digit)


def judged(
    kind: str, content: bytes, folder: Path, right: bytes, run: Callable[..., object]
) -> str | None:
    """What is wrong with how a file of a `kind` of SEEDS is treated, or None.

    `folder` holds all undamaged files, and is left as it was; `right` is the answer to the
    undamaged file; `run(*arguments, cwd=)` is the command line.
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
        # Questions about names of classes are lines of their own there.
        asked = ("spinlearn: the class", "spinlearn: a class is named")
        others = [line for line in lines if not line.startswith(asked)]
        return f"words on stderr: {done.stderr[:300]}" if others else None
    if done.returncode != BAD_INPUT:
        return f"exit code {done.returncode}: {done.stderr[-300:]}"
    if len(lines) != 1 or not lines[0].startswith("spinlearn: "):
        return f"not one clear line: {done.stderr[-300:]}"
    return None


def damaged_file(kind: str, number: int, content: bytes) -> bytes:
    """The damaged file of this kind and number: always the same."""
    kinds = sorted(SEEDS)
    return mutated(content, np.random.default_rng([kinds.index(kind), number]))


def answer_to(kind: str, content: bytes, folder: Path) -> bytes:
    """The answer to an undamaged file."""
    kept: list[bytes] = []

    def run_and_keep(*arguments: object, cwd: Path) -> object:
        done = spinlearn_here(*arguments, cwd=cwd)
        assert done.returncode == 0, (kind, done.stderr)
        kept.append((folder / SEEDS[kind].answer).read_bytes())
        return done

    judged(kind, content, folder, b"", run_and_keep)
    return kept[0]


def work(cases: list[tuple[str, int]]) -> None:
    """Try all cases; a line of JSON before and after each."""
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="spinlearn-fuzz-"))
    try:
        whole = write_seeds(folder, spinlearn_here)
        right = {}
        for kind in sorted({kind for kind, _ in cases}):
            right[kind] = answer_to(kind, whole[kind], folder)
        for kind, number in cases:
            _say({"begin": [kind, number]})
            content = damaged_file(kind, number, whole[kind])
            # Its signal ends a process that does not return from a library.
            signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
            wrong = judged(kind, content, folder, right[kind], spinlearn_here)
            signal.setitimer(signal.ITIMER_PROF, 0)
            used = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if wrong is None and used > MOST_BYTES:
                wrong = f"took {used >> 20} MB"
            _say({"end": [kind, number], "wrong": wrong})
            if used > MOST_BYTES:
                return  # the next would be blamed
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _say(what: dict[str, object]) -> None:
    sys.__stdout__.write(json.dumps(what) + "\n")
    sys.__stdout__.flush()


if __name__ == "__main__":
    work([(kind, int(number)) for kind, number in json.load(sys.stdin)])
