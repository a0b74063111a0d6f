"""Mutants: is every settled number and comparison of the default and of the paper's rule tested?

    python -m tools.mutants --most 60 --seed 0     sixty of them, drawn at random
    python -m tools.mutants --list                 all there are

A mutant is a copy of the package with one change: a settled number doubled (a whole one raised by
one), or a comparison turned round. Limits of time, memory and rounding are left as they are. The
tests named in TESTS run on it until one fails; a mutant that all of them pass is one that nobody
would notice. They must pass without a mutant, which is tried first. `--most` bounds the work.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "spinlearn"
# What makes the default answer, and the paper's rule.
PLACES = ("constants.py", "default", "answers/rule.py", "answers/temperature.py")
TESTS = (
    "tests/end_to_end/test_golden.py",
    "tests/unit/test_methods.py",
    "tests/unit/test_decision.py",
    "tests/unit/test_answer.py",
    "tests/unit/test_default_parts.py",
    "tests/property/test_rule.py",
)
# They bound time, memory and rounding: an answer must not hang on them, so no test can notice.
LIMITS = {
    "BLOCK", "CHUNK", "DENSE", "FIELD_TOLERANCE", "LAW_TOLERANCE", "MANY", "MAX_OPERATIONS",
    "MAX_STEPS", "MOST_STEPS", "ONE", "ROUNDING", "SAMPLE", "SINGLE_TOLERANCE", "TOLERANCE",
    "VERY_MANY",
}  # fmt: skip
TURNED = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    file: str
    line: int
    begin: int
    end: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text} -> {self.instead}"

    def written(self, source: str) -> str:
        """The file with the change."""
        lines = source.splitlines(keepends=True)
        raw = lines[self.line - 1].encode()
        changed = raw[: self.begin] + self.instead.encode() + raw[self.end :]
        lines[self.line - 1] = changed.decode()
        return "".join(lines)


def mutants(path: Path) -> Iterator[Mutant]:
    """All of one file: numbers of its constants, comparisons of its functions."""
    source = path.read_text()
    lines = [line.encode() for line in source.splitlines()]
    name = path.relative_to(PACKAGE).as_posix()
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {t.id for x in targets for t in ast.walk(x) if isinstance(t, ast.Name)}
            if names & LIMITS or not all(map(str.isupper, names)):
                continue
            for number in ast.walk(node.value):
                if isinstance(number, ast.Constant) and type(number.value) in (int, float):
                    value = number.value
                    instead = str(value + 1 if isinstance(value, int) else 2 * value or 0.5)
                    begin, end = number.col_offset, number.end_col_offset or 0
                    text = lines[number.lineno - 1][begin:end].decode()
                    yield Mutant(name, number.lineno, begin, end, text, instead)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
            left, right = node.left, node.comparators[0]
            if left.end_lineno == right.lineno and not _is_guard(node):
                begin, end = left.end_col_offset or 0, right.col_offset
                text = lines[right.lineno - 1][begin:end].decode()
                instead = f" {TURNED[type(node.ops[0])]} "
                if text.strip() in ("<", "<=", ">", ">=", "==", "!="):
                    yield Mutant(name, right.lineno, begin, end, text, instead)


def _is_guard(node: ast.Compare) -> bool:
    """Comparisons with __name__ and the like."""
    return isinstance(node.left, ast.Name) and node.left.id.startswith("__")


def tests_fail(copy: Path) -> bool:
    """Whether a test fails on a copy of the package."""
    words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *TESTS]
    run = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "numba")},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode not in (0, 1, 2):  # 2: the tests cannot even be read
        raise RuntimeError(run.stdout + run.stderr)
    return run.returncode != 0


def noticed(mutant: Mutant, copy: Path) -> bool:
    """Whether a test fails on it; the copy is as before afterwards."""
    path = copy / "spinlearn" / mutant.file
    source = path.read_text()
    path.write_text(mutant.written(source))
    try:
        return tests_fail(copy)
    finally:
        path.write_text(source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=60, help="how many are tried")
    parser.add_argument("--seed", type=int, default=0, help="which")
    parser.add_argument("--jobs", type=int, default=2, help="at once")
    parser.add_argument("--list", action="store_true", help="name all of them, try none")
    options = parser.parse_args()
    places = [PACKAGE / place for place in PLACES]
    files = [f for p in places for f in (sorted(p.glob("*.py")) if p.is_dir() else [p])]
    every = [mutant for file in files for mutant in mutants(file)]
    if options.list:
        print(*every, sep="\n")
        return 0
    chosen = random.Random(options.seed).sample(every, min(options.most, len(every)))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        # A copy for each job, used again and again: its kernels are compiled once.
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(options.jobs):
            shutil.copytree(PACKAGE, Path(folder) / str(job) / "spinlearn")
            copies.put(Path(folder) / str(job))
        if tests_fail(Path(folder) / "0"):
            print("the tests fail without any mutant, so that all would seem noticed: mend them")
            return 2

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            seen = noticed(mutant, copy)
            copies.put(copy)
            print(f"{'noticed' if seen else 'MISSED '}  {mutant}", flush=True)
            return seen

        missed = list(pool.map(tried, chosen)).count(False)
    share = 1 - missed / len(chosen)
    print(f"{len(chosen)} of {len(every)} mutants, {share:.0%} noticed")
    return int(share < 0.9)


if __name__ == "__main__":
    sys.exit(main())
