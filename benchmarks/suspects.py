"""Planted wrong labels: how many does `suspects` find, and how often is it right?

    python benchmarks/suspects.py --runs 100

Digits of scikit-learn, 50 labels (5 a class), 5 of them changed to another class at random. Beside
it, as yardstick, plain local and global consistency (Zhou et al. 2004) with each label left out in
turn: suspect where its largest entry is another class, by the same margin as a share of the row.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

from spinlearn import Graph, MutualKNN
from spinlearn.suspects import MARGIN, suspects

ALPHA = 0.99


def planted(n_points: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chosen digits, labels with 5 of 50 wrong, and which are wrong."""
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


def left_out_consistency(graph: Graph, labels: np.ndarray, margin: float) -> np.ndarray:
    """The yardstick's suspects."""
    from scipy.sparse import csr_array, diags_array, eye_array
    from scipy.sparse.linalg import splu

    weights = csr_array(
        (graph.weights[graph.edge_ids], graph.neighbors, graph.indptr),
        shape=(graph.n_nodes, graph.n_nodes),
    )
    roots = diags_array(1 / np.sqrt(weights.sum(axis=1)))
    points = np.flatnonzero(labels >= 0)
    right = np.eye(graph.n_nodes)[:, points]
    system = eye_array(graph.n_nodes) - ALPHA * (roots @ weights @ roots)
    carried = splu(system.tocsc()).solve(right)[points]
    np.fill_diagonal(carried, 0.0)
    shares = carried @ np.eye(10)[labels[points]]
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.arange(len(points))
    own = shares[rows, labels[points]].copy()
    shares[rows, labels[points]] = -1.0
    return points[shares.max(axis=1) - own > margin]


def score(n_points: int, seed: int, margin: float = MARGIN) -> dict[str, tuple[int, int]]:
    """Number of suspects, and of planted labels among them, of both ways."""
    points, labels, wrong = planted(n_points, seed)
    graph = MutualKNN().build(points)
    named = {
        "suspects": np.array([s.point for s in suspects(graph, labels, 10, margin=margin)]),
        "yardstick": left_out_consistency(graph, labels, margin),
    }
    return {way: (len(who), int(np.sum(np.isin(who, wrong)))) for way, who in named.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--points", type=int, default=1797)
    parser.add_argument("--margin", type=float, default=MARGIN)
    chosen = parser.parse_args()
    began = process_time()
    seeds = range(chosen.first, chosen.first + chosen.runs)
    scores = [score(chosen.points, seed, chosen.margin) for seed in seeds]
    for way in scores[0]:
        named, right = np.sum([one[way] for one in scores], axis=0)
        print(
            f"{way}: precision {right / max(named, 1):.3f} ({right} of {named} suspects), "
            f"found {right / (5 * chosen.runs):.3f} of the planted labels"
        )
    print(f"{(process_time() - began) / chosen.runs:.1f} CPU seconds a run")


if __name__ == "__main__":
    main()
