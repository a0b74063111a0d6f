"""Planted wrong labels: how many does `suspects` find, and how often is it right?

    python benchmarks/suspects.py --runs 10

Digits of scikit-learn, 50 labels (5 a class), 5 of them changed to another class at random.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

from spinlearn import MutualKNN
from spinlearn.suspects import suspects

TEMPERATURES = (0.3, 0.45, 0.6)  # 0.3 to 0.6 of that above which nothing is ordered


def planted(n_points: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, labels with 5 of 50 wrong, and which are wrong."""
    from sklearn.datasets import load_digits

    generator = np.random.default_rng(seed)
    digits = load_digits()
    chosen = generator.choice(len(digits.data), n_points, replace=False)
    truth = digits.target[chosen]
    labels = np.full(n_points, -1)
    for c in range(10):
        labels[generator.choice(np.flatnonzero(truth == c), 5, replace=False)] = c
    wrong = generator.choice(np.flatnonzero(labels >= 0), 5, replace=False)
    labels[wrong] = (truth[wrong] + generator.integers(1, 10, 5)) % 10
    return digits.data[chosen], labels, wrong


def score(n_points: int, seed: int, n_samples: int = 256) -> tuple[int, int]:
    """Number of suspects, and of planted labels among them."""
    points, labels, wrong = planted(n_points, seed)
    graph = MutualKNN().build(points)
    found = suspects(graph, labels, 10, TEMPERATURES, n_samples=n_samples, seed=seed)
    return len(found), int(np.sum(np.isin([s.point for s in found], wrong)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--points", type=int, default=1797)
    chosen = parser.parse_args()
    began = process_time()
    named = right = 0
    for run in range(chosen.runs):
        n_named, n_right = score(chosen.points, run)
        named, right = named + n_named, right + n_right
        print(f"run {run + 1}: {n_right} of 5 found among {n_named} suspects", flush=True)
    print(
        f"precision {right / max(named, 1):.2f}, found {right / (5 * chosen.runs):.2f}, "
        f"{(process_time() - began) / chosen.runs:.0f} CPU seconds a run"
    )


if __name__ == "__main__":
    main()
