"""Runs that are killed at random moments and resumed: the answer must be the undisturbed one's.

python -m tests.fuzz.kills --times 50        of every engine in turn; `make fuzz` does it too
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.fuzz.seeds import OWN

COMMON = ("--temperatures", "0.3:1.5:7", "--quiet", "--checkpoint-seconds", "0")
ENGINES = {
    "multicanonical": ("--method", "paper", "--tol", "0.02"),
    "tempering": ("--method", "paper", "--tol", "0.02"),
    "population_annealing": ("--method", "paper",),
    "belief_propagation": (),
    "metropolis": ("--method", "paper", "--tol", "0.05"),
    "swendsen_wang": ("--method", "paper", "--tol", "0.05"),
}  # fmt: skip
ANSWER = ("labels.csv", "profile.csv")


def main() -> int:
    """Kill and resume; what differs is printed, and makes the exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="spinlearn-kills-"))
    bad = resumed = 0
    try:
        _write_table(folder, rng)
        whole = {engine: _undisturbed(folder, engine) for engine in ENGINES}
        for k in range(given.times):
            engine = list(ENGINES)[k % len(ENGINES)]
            answer, seconds = whole[engine]
            moment = float(rng.uniform(0.0, 1.0)) * seconds
            went_on = _killed(folder, engine, moment)
            resumed += went_on
            if _files(folder / "killed") != answer:
                bad += 1
                print(f"\n{engine}, killed {moment:.2f} s after its first saving: another answer")
            shutil.rmtree(folder / "killed")
            (folder / ".killed.finished.npz").unlink(missing_ok=True)
            print(f"\r{k + 1} kills, {resumed} resumed half way, {bad} bad", end="", flush=True)
        print()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


def _write_table(folder: Path, rng: np.random.Generator) -> None:
    points = np.concatenate([rng.normal(c, 0.8, (40, 2)) for c in (0, 3, 6)])
    lines = ["key,kind,a,b"]
    for k, (a, b) in enumerate(points):
        kind = {0: "left", 40: "middle", 80: "right"}.get(k, "")
        lines.append(f"p{k},{kind},{a:.4f},{b:.4f}")
    (folder / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _command(engine: str, out: str, *more: str) -> list[str]:
    named = ("--engine", engine, *ENGINES[engine])
    fit = (sys.executable, "-m", "spinlearn", "fit", "data.csv", *OWN, *COMMON, *named)
    return [*fit, "--out", out, *more]


def _undisturbed(folder: Path, engine: str) -> tuple[list[bytes], float]:
    """The answer, and how long the run goes on after it was first saved."""
    run = subprocess.Popen(_command(engine, "whole"), cwd=folder, stdout=subprocess.DEVNULL)
    _until_saved(folder / ".whole.checkpoint.npz", run)
    began = time.monotonic()
    assert run.wait() == 0
    seconds = time.monotonic() - began
    found = _files(folder / "whole")
    shutil.rmtree(folder / "whole")
    (folder / ".whole.finished.npz").unlink(missing_ok=True)
    return found, seconds


def _killed(folder: Path, engine: str, moment: float) -> bool:
    """Start, kill, resume to the end; whether there was a checkpoint to go on from."""
    run = subprocess.Popen(_command(engine, "killed"), cwd=folder, stdout=subprocess.DEVNULL)
    _until_saved(folder / ".killed.checkpoint.npz", run)
    try:
        run.wait(moment)
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
    half_way = (folder / ".killed.checkpoint.npz").exists()
    if half_way or not (folder / "killed").exists():
        subprocess.run(
            _command(engine, "killed", "--resume"),
            cwd=folder, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    left = {p.name for p in folder.iterdir()} - {"data.csv", "killed", ".killed.finished.npz"}
    assert not left, left
    return half_way


def _until_saved(checkpoint: Path, run: subprocess.Popen[bytes]) -> None:
    """Wait for the first checkpoint of a run, or its end."""
    while run.poll() is None and not checkpoint.exists():
        time.sleep(0.002)


def _files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ANSWER]


if __name__ == "__main__":
    raise SystemExit(main())
