"""Runs that are killed at random moments and resumed: the answer must be the undisturbed one's.

python -m tests.fuzz.kills --times 50        of every engine in turn; `make fuzz` does it too
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.fuzz.seeds import OWN

COMMON = ("--temperature", "auto:grid=0.3:1.5:7", "--quiet")
PAPER, OFTEN = ("--method", "paper"), "checkpoint_seconds=0"
ENGINES = {
    "multicanonical": (f"multicanonical:tol=0.02,{OFTEN}", *PAPER),
    "tempering": (f"tempering:tol=0.02,{OFTEN}", *PAPER),
    "population_annealing": (f"population_annealing:{OFTEN}", *PAPER),
    "belief_propagation": (f"belief_propagation:{OFTEN}",),
    "metropolis": (f"metropolis:tol=0.05,{OFTEN}", *PAPER),
    "swendsen_wang": (f"swendsen_wang:tol=0.05,{OFTEN}", *PAPER),
    "auto": (f"auto:{OFTEN}",),
    "generalized_bp": ("generalized_bp", *PAPER),
    "junction_tree": ("junction_tree", *PAPER),
    "enumeration": ("enumeration", *PAPER),
}
FEW = ("enumeration",)  # engines for a dozen points
ANSWER = ("labels.csv", "profile.csv", "labels.parquet")
SAVED_FIRST = 0.5  # share of the kills that wait for a checkpoint, where there is one


@dataclass(frozen=True, slots=True)
class Whole:
    """An undisturbed run: its answer, and its seconds until it is first saved and in all."""

    answer: list[bytes]
    until_saved: float | None
    seconds: float


def main() -> int:
    """Kill and resume; what differs is printed, and makes the exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=list(ENGINES))
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="spinlearn-kills-"))
    tries = killed = resumed = bad = 0
    try:
        _write_table(folder / "data.csv", 40, rng)
        _write_table(folder / "few.csv", 4, rng)
        whole = {engine: _undisturbed(folder, engine) for engine in given.engines}
        while killed < given.times:
            engine = given.engines[tries % len(given.engines)]
            tries += 1
            was_killed, went_on, moment = _killed(folder, engine, whole[engine], rng)
            killed += was_killed
            resumed += went_on
            if _files(folder / "killed") != whole[engine].answer:
                bad += 1
                print(f"\n{engine}, killed {moment}: another answer")
            _clear(folder, "killed")
            print(f"\r{killed} kills, {resumed} resumed half way, {bad} bad", end="", flush=True)
        print()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


def _write_table(path: Path, n_each: int, rng: np.random.Generator) -> None:
    points = np.concatenate([rng.normal(c, 0.8, (n_each, 2)) for c in (0, 3, 6)])
    kinds = {0: "left", n_each: "middle", 2 * n_each: "right"}
    lines = ["key,kind,a,b"]
    lines += [f"p{k},{kinds.get(k, '')},{a:.4f},{b:.4f}" for k, (a, b) in enumerate(points)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _started(folder: Path, engine: str, out: str, *more: str) -> subprocess.Popen[bytes]:
    data = "few.csv" if engine in FEW else "data.csv"
    fit = (sys.executable, "-m", "spinlearn", "fit", data, *OWN, *COMMON)
    command = [*fit, "--engine", *ENGINES[engine], "--out", out, *more]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)


def _undisturbed(folder: Path, engine: str) -> Whole:
    began = time.monotonic()
    run = _started(folder, engine, "whole")
    saved = _is_saved(folder / ".whole.checkpoint.npz", run)
    until_saved = time.monotonic() - began if saved else None
    assert run.wait() == 0, engine
    seconds = time.monotonic() - began
    found = _files(folder / "whole")
    _clear(folder, "whole")
    return Whole(found, until_saved, seconds)


def _killed(
    folder: Path, engine: str, whole: Whole, rng: np.random.Generator
) -> tuple[bool, bool, str]:
    """Start, kill, resume to the end.

    Returns whether it was killed before it was done, whether there was a checkpoint, and when.
    """
    share, late = float(rng.random()), rng.random() < SAVED_FIRST
    run = _started(folder, engine, "killed")
    if late and whole.until_saved is not None:
        _is_saved(folder / ".killed.checkpoint.npz", run)
        seconds, after = share * (whole.seconds - whole.until_saved), "its first saving"
    else:
        seconds, after = share * whole.seconds, "its start"
    was_killed = False
    try:
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        was_killed = run.wait() != 0
    half_way = (folder / ".killed.checkpoint.npz").exists()
    if half_way or not (folder / "killed").exists():
        assert _started(folder, engine, "killed", "--resume").wait() == 0, engine
    known = {"data.csv", "few.csv", "killed", ".killed.finished.npz"}
    # A run that was killed after its answer stood has nobody to clear its lock before the next.
    if was_killed and not half_way:
        known.add(".killed.lock")
    left = {p.name for p in folder.iterdir()} - known
    assert not left, left
    return was_killed, half_way, f"{seconds:.2f} s after {after}"


def _is_saved(checkpoint: Path, run: subprocess.Popen[bytes]) -> bool:
    """Wait for the first checkpoint of a run, or its end; whether there is one."""
    while run.poll() is None and not checkpoint.exists():
        time.sleep(0.002)
    return checkpoint.exists()


def _clear(folder: Path, out: str) -> None:
    """Remove the answer of a run and what stands beside it."""
    shutil.rmtree(folder / out)
    for rest in ("finished.npz", "lock"):
        (folder / f".{out}.{rest}").unlink(missing_ok=True)


def _files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ANSWER]


if __name__ == "__main__":
    raise SystemExit(main())
