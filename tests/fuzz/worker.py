"""One process that tries damaged files, one after another, until it dies or none is left.

It says before each which one it is, so that whoever started it knows what ended it. Time is that
of the processor: a busy machine makes nothing hang.
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from tests.end_to_end.tool import spinlearn_here
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import SEEDS, write_seeds
from tests.fuzz.verdict import judged

MOST_SECONDS = 20.0  # of the processor, for one file
MOST_BYTES = 2 << 30


def damaged_file(kind: str, number: int, content: bytes) -> bytes:
    """The damaged file of this kind and number: always the same."""
    kinds = sorted(SEEDS)
    return mutated(content, np.random.default_rng([kinds.index(kind), number]))


def work(cases: list[tuple[str, int]]) -> None:
    """Try all cases; a line of JSON before and after each."""
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="spinlearn-fuzz-"))
    try:
        whole = write_seeds(folder, spinlearn_here)
        right = {}
        for kind in sorted({kind for kind, _ in cases}):
            path = folder / SEEDS[kind].name
            absent = not path.exists()
            path.write_bytes(whole[kind])
            done = spinlearn_here(*SEEDS[kind].command, cwd=folder)
            assert done.returncode == 0, (kind, done.stderr)
            right[kind] = (folder / SEEDS[kind].answer).read_bytes()
            shutil.rmtree(folder / "out")
            (folder / ".out.finished.npz").unlink(missing_ok=True)
            if absent:
                path.unlink(missing_ok=True)
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
