"""What a size costs: time and peak memory of every step of the default answer, as a table.

    python benchmarks/scale.py --points 70000 1000000
    python benchmarks/scale.py --sweeps 10000 100000 1000000     cost of one sweep over size
    python benchmarks/scale.py --file points.npy --labels labels.csv --truth truth.npy

Sets are generated: ten Gaussian clouds that overlap, ten labels each. Every size runs in a process
of its own. What the default costs from 100 points on, beside rivals: growth.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

SPREAD = {10: 1.45, 50: 0.47}  # of the centres, by features: some five per cent cannot be told


@contextmanager
def step(name: str) -> Iterator[None]:
    """A row: wall time, processor time and peak memory of the block."""
    forget_peak()
    wall, processor = time.perf_counter(), time.process_time()
    yield
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"| {name} | {wall:.1f} | {processor:.1f} | {peak():.2f} |", flush=True)


def forget_peak() -> None:
    """Let `peak` count from here."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """The most resident memory of this process so far, GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) * 1024 / 1e9


def clouds(n: int, d: int, q: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Points, labels (-1: none), truth, and the accuracy that cannot be passed."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(q, d)) * SPREAD.get(d, 1.0)
    truth = generator.integers(q, size=n)
    X = (centres[truth] + generator.normal(size=(n, d))).astype(np.float32)
    labels = labelled(truth, generator)
    some = X[:100_000]
    nearest = np.argmin(((some[:, None] - centres) ** 2).sum(axis=2), axis=1)
    return X, labels, truth, float(np.mean(nearest == truth[: len(some)]))


def labelled(truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Labels of ten points of every class, of half a class at most; -1 elsewhere."""
    labels = np.full(len(truth), -1)
    for k in np.unique(truth):
        members = np.flatnonzero(truth == k)
        labels[generator.choice(members, min(10, (len(members) + 1) // 2), replace=False)] = k
    return labels


def measure(X: np.ndarray, labels: np.ndarray, truth: np.ndarray | None) -> None:
    """All steps from points to the answer's folder, and what is asked of it later."""
    from spinlearn import PottsClassifier, suggest, suspects
    from spinlearn.baselines import LocalGlobalConsistency
    from spinlearn.graphs import KNN
    from spinlearn.io.folder import write_answer
    from spinlearn.io.result import Result

    print("| step | seconds | processor s | peak GB |\n|---|---|---|---|")
    builder = KNN()
    with step("neighbour graph"):
        graph = builder.build(X)
    classifier = PottsClassifier(random_state=0)
    with step("choices, belief propagation, answer"):
        classifier.fit(graph, labels)
    with TemporaryDirectory() as folder:
        with step("folder and page"):
            names = [str(i) for i in range(len(X))]
            layout = X[:, :2].astype(np.float64)
            files = write_answer(Path(folder), Result.of(classifier, names, layout=layout))
        sizes = {path.name: path.stat().st_size / 1e6 for path in files}
        with step("reading it again"):
            stored = Result.load(folder)
        with step("suggest"):
            suggest(stored, 5)
        with step("suspects"):
            suspects(stored)
        with step("explore"):
            stored.explore(Path(folder) / "again.html")
    with step("predict 10,000 points"):
        classifier.predict(builder.attach(X[:10_000] + 0.01, X))
    print(", ".join(f"{name} {size:.1f} MB" for name, size in sizes.items()))
    print(f"recall of neighbours {builder.recall_}, {graph.n_edges} edges")
    print(*classifier.choices_, sep="\n")
    if truth is not None:
        lgc = LocalGlobalConsistency().fit(graph, labels).transduction_
        own = np.mean(classifier.transduction_ == truth)
        print(f"accuracy {own:.4f}, LGC {np.mean(lgc == truth):.4f}")


def sweeps(sizes: list[int]) -> None:
    """Processor time of one whole sweep over the number of nodes, and the exponent between."""
    from spinlearn.energies import Modularity
    from spinlearn.engines.messages.layout import MessageLayout
    from spinlearn.engines.messages.potts import PottsMessages
    from spinlearn.graphs import KNN

    print("| nodes | messages | ms per sweep | ns per message | exponent |\n|---|---|---|---|---|")
    before = None
    for n in sizes:
        X, labels, _, _ = clouds(n, 10)
        model = Modularity()(KNN().build(X).homogeneous(), labels, 10)
        layout = MessageLayout.of(model, np.float32)
        messages = PottsMessages(layout)
        messages.set_temperature(3.0)
        messages.sweep(True, 1e-12, 0.0, -1.0)  # compiled by now
        best = np.inf
        for _ in range(4):
            began = time.process_time()
            messages.sweep(True, 1e-12, 0.0, -1.0)
            best = min(best, time.process_time() - began)
        exponent = (
            "" if before is None else f"{np.log(best / before[1]) / np.log(n / before[0]):.2f}"
        )
        print(f"| {n} | {layout.n_slots} | {1e3 * best:.1f} | {1e9 * best / layout.n_slots:.0f} | "
              f"{exponent} |", flush=True)  # fmt: skip
        before = (n, best)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="*", default=[])
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--sweeps", type=int, nargs="*", default=[])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--labels", type=Path, help="with columns id (from 1) and label")
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file is not None:
        X = np.load(options.file)
        given = np.loadtxt(options.labels, delimiter=",", skiprows=1, dtype=str)
        labels = np.full(len(X), -1)
        labels[given[:, 0].astype(int) - 1] = np.unique(given[:, 1], return_inverse=True)[1]
        measure(X, labels, None if options.truth is None else np.load(options.truth))
    for n in options.points:
        if options.here:
            X, labels, truth, limit = clouds(n, options.features)
            print(f"\n{n} points, {options.features} features; at best {limit:.4f} can be right\n")
            measure(X, labels, truth)
        else:
            size = ["--points", str(n), "--features", str(options.features), "--here"]
            subprocess.run([sys.executable, __file__, *size], check=True)
    if options.sweeps:
        sweeps(options.sweeps)


if __name__ == "__main__":
    main()
