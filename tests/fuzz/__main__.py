"""`make fuzz`: so many damaged files, dealt out to workers; the bad ones are kept."""

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.end_to_end.tool import spinlearn_here
from tests.fuzz.seeds import SEEDS, write_seeds
from tests.fuzz.worker import damaged_file

BATCH = 2000  # files a process, which takes seconds to start
FAILURES = Path(__file__).parent / "failures"
Case = tuple[str, int]


def main() -> int:
    """Try all files; the number of those that were treated badly is the exit code, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first file of a kind")
    parser.add_argument("--kinds", nargs="*", choices=sorted(SEEDS), default=sorted(SEEDS))
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    cases = [
        (given.kinds[k % len(given.kinds)], given.first + k // len(given.kinds))
        for k in range(given.mutations)
    ]
    batches = [cases[k : k + BATCH] for k in range(0, len(cases), BATCH)]
    bad: list[tuple[Case, str]] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for done, found in enumerate(pool.map(_tried, batches)):
            bad += found
            for (kind, number), why in found:
                print(f"\n{kind}, number {number}: {why}")
            tried = min((done + 1) * BATCH, len(cases))
            print(f"\r{tried} of {len(cases)} files, {len(bad)} bad", end="", flush=True)
    print()
    if bad:
        _keep(bad)
    return 1 if bad else 0


def _tried(cases: list[Case]) -> list[tuple[Case, str]]:
    """Those of a batch that are treated badly; what a worker dies of is one of them."""
    bad: list[tuple[Case, str]] = []
    while cases:
        worker = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.worker"],
            input=json.dumps(cases), capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = [json.loads(line) for line in worker.stdout.splitlines()]
        ended = [one for one in said if "end" in one]
        bad += [((one["end"][0], one["end"][1]), one["wrong"]) for one in ended if one["wrong"]]
        begun = [one["begin"] for one in said if "begin" in one]
        if len(begun) > len(ended):
            kind, number = begun[-1]
            why = f"the process ended with {worker.returncode}: {worker.stderr[-300:]}"
            bad.append(((kind, number), why))
        elif not begun:
            raise SystemExit(f"a worker could not begin: {worker.stderr}")
        cases = cases[len(begun) :]
    return bad


def _keep(bad: list[tuple[Case, str]]) -> None:
    """Write the files down, to be looked at and to join the corpus once they are understood."""
    FAILURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        whole = write_seeds(Path(folder), spinlearn_here)
    for (kind, number), _ in bad:
        path = FAILURES / f"{kind}-{number}"
        path.write_bytes(damaged_file(kind, number, whole[kind]))
        print(f"kept as {path}")


if __name__ == "__main__":
    raise SystemExit(main())
