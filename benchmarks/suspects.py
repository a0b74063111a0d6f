"""Planted wrong labels: how many does `suspects` find, and how often is it right?

    python benchmarks/suspects.py --runs 100
    python benchmarks/suspects.py --runs 50 --set wine

Digits of scikit-learn, 50 labels (5 a class), 5 of them changed to another class at random; in the
other sets 30 labels drawn at random, 3 of them changed. Beside it, as yardstick, plain local and
global consistency (Zhou et al. 2004) with each label left out in turn: suspect where its largest
entry is another class, by the same margin as a share of the row.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

from spinlearn import Graph, MutualKNN
from spinlearn.advice.suspects import MARGIN, suspect_labels
from spinlearn.datasets import three_waves, two_bands

ALPHA = 0.99
TOYS = {"toy": two_bands, "waves": three_waves}
SETS = ("digits", "iris", "wine", "breast_cancer", *TOYS)


def problem(name: str, n_points: int, generator: np.random.Generator) -> tuple[Graph, np.ndarray]:
    """A graph, for digits of a random part in random order, and the class of every point."""
    if name in TOYS:
        toy = TOYS[name]()
        return toy.graph(), np.asarray(toy.truth)
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    loaded = getattr(datasets, f"load_{name}")()
    if name != "digits":  # columns of different units
        return MutualKNN().build(StandardScaler().fit_transform(loaded.data)), loaded.target
    chosen = generator.choice(len(loaded.data), n_points, replace=False)
    return MutualKNN().build(loaded.data[chosen]), loaded.target[chosen]


def planted(
    name: str, truth: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Labels with a tenth of them wrong, and which are wrong."""
    labels = np.full(len(truth), -1)
    n_classes = int(truth.max()) + 1
    if name == "digits":
        for c in range(n_classes):
            labels[generator.choice(np.flatnonzero(truth == c), 5, replace=False)] = c
    else:
        points = generator.choice(len(truth), 30, replace=False)
        labels[points] = truth[points]
    labelled = np.flatnonzero(labels >= 0)
    n_wrong = len(labelled) // 10
    wrong = generator.choice(labelled, n_wrong, replace=False)
    labels[wrong] = (truth[wrong] + generator.integers(1, n_classes, n_wrong)) % n_classes
    return labels, wrong


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
    shares = carried @ np.eye(labels.max() + 1)[labels[points]]
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.arange(len(points))
    own = shares[rows, labels[points]].copy()
    shares[rows, labels[points]] = -1.0
    return points[shares.max(axis=1) - own > margin]


def score(
    seed: int, margin: float = MARGIN, *, name: str = "digits", n_points: int = 1797
) -> dict[str, np.ndarray]:
    """Numbers of suspects, of planted labels among them and of planted labels, of both ways."""
    generator = np.random.default_rng(seed)
    graph, truth = problem(name, n_points, generator)
    labels, wrong = planted(name, truth, generator)
    found = suspect_labels(graph, labels, int(truth.max()) + 1, margin=margin)
    named = {
        "suspects": np.array([s.point for s in found]),
        "yardstick": left_out_consistency(graph, labels, margin),
    }
    return {
        way: np.array([len(who), np.sum(np.isin(who, wrong)), len(wrong)])
        for way, who in named.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--set", choices=SETS, default="digits")
    parser.add_argument("--points", type=int, default=1797, help="of the digits")
    parser.add_argument("--margin", type=float, default=MARGIN)
    chosen = parser.parse_args()
    began = process_time()
    seeds = range(chosen.first, chosen.first + chosen.runs)
    scores = [score(seed, chosen.margin, name=chosen.set, n_points=chosen.points) for seed in seeds]
    for way in scores[0]:
        named, right, wrong = np.sum([one[way] for one in scores], axis=0)
        print(
            f"{way}: precision {right / max(named, 1):.3f} ({right} of {named} suspects), "
            f"found {right / wrong:.3f} of {wrong} planted labels"
        )
    print(f"{(process_time() - began) / chosen.runs:.1f} CPU seconds a run")


if __name__ == "__main__":
    main()
