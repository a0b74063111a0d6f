"""Planted wrong labels: how many does `suspects` find, and how often is it right?

    python benchmarks/suspects.py --runs 100
    python benchmarks/suspects.py --runs 50 --set wine iris breast_cancer usps2 --labels 3 10
    python benchmarks/suspects.py --runs 50 --set toy --wrong 0.05

Some labels a class, drawn at random, a share of them (at least one) changed to another class at
random. Asked are

    suspects      on the default answer's graph: 10 nearest neighbours, homogeneous couplings
    raw weights   the same on the similarities as they are
    mutual        the same on mutual neighbours, similarities as they are (method="paper")
    yardstick     plain local and global consistency (Zhou et al. 2004) on that graph with each
                  label left out in turn: suspect where its largest entry is another class, by the
                  same margin as a share of the row
    cleanlab ...  cleanlab's find_label_issues, without a graph, from probabilities of each label
                  left out in turn: logistic regression, or the 5 nearest labelled points

Sets are those of few_labels_sets.py (files of --data or SPINLEARN_DATA) and the toys. F is
2 right / (named + planted). Standard errors are over runs.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
from few_labels_sets import SETS as TABLE_SETS
from few_labels_sets import NotAtHandError, load

from spinlearn import KNN, Graph, MutualKNN
from spinlearn.advice.suspects import MARGIN, suspect_labels
from spinlearn.datasets import three_waves, two_bands

ALPHA = 0.99
NEAREST = 5  # of the labelled points, for cleanlab's classifier
TOYS = {"toy": two_bands, "waves": three_waves}
SETS = (*TABLE_SETS, *TOYS)
WAYS = ("suspects", "raw weights", "mutual", "yardstick", "cleanlab logistic", "cleanlab nearest")


@dataclass
class Problem:
    """Points, true classes and the graphs of them by the way that uses them."""

    X: np.ndarray
    truth: np.ndarray
    graphs: dict[str, Graph]

    @property
    def n_classes(self) -> int:
        return int(self.truth.max()) + 1


def problem(name: str, data: Path | None = None) -> Problem:
    """One of the sets."""
    if name in TOYS:
        toy = TOYS[name]()
        graph = toy.graph()
        graphs = {"suspects": graph.homogeneous(), "raw weights": graph, "mutual": graph}
        return Problem(np.asarray(toy.points), np.asarray(toy.truth), graphs)
    options = argparse.Namespace(
        data=data, extra=None, fashion=None, neighbors=10, small_neighbors=5
    )
    loaded = load(name, options)
    raw = KNN().build(loaded.X)
    graphs = {
        "suspects": raw.homogeneous(),
        "raw weights": raw,
        "mutual": MutualKNN().build(loaded.X),
    }
    return Problem(loaded.X, loaded.truth, graphs)


def planted(
    truth: np.ndarray, per_class: int, share: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share is wrong, and which are wrong."""
    labels = np.full(len(truth), -1)
    n_classes = int(truth.max()) + 1
    for c in range(n_classes):
        labels[generator.choice(np.flatnonzero(truth == c), per_class, replace=False)] = c
    labelled = np.flatnonzero(labels >= 0)
    n_wrong = max(round(share * len(labelled)), 1)
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


def left_out_probabilities(X: np.ndarray, given: np.ndarray, n_classes: int, way: str):
    """Class probabilities of every row by a classifier that has not seen it, (L, q)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = np.zeros((len(given), n_classes))
    rows = np.arange(len(given))
    for k in rows:
        others = rows != k
        last = LogisticRegression(max_iter=1000)
        if way == "nearest":
            last = KNeighborsClassifier(min(NEAREST, len(given) - 1))
        fitted = make_pipeline(StandardScaler(), last).fit(X[others], given[others])
        table[k, fitted.classes_] = fitted.predict_proba(X[[k]])[0]
    return table


def cleanlab_issues(X: np.ndarray, labels: np.ndarray, n_classes: int, way: str) -> np.ndarray:
    """Labelled points that cleanlab doubts."""
    from cleanlab.filter import find_label_issues

    points = np.flatnonzero(labels >= 0)
    given = labels[points]
    table = left_out_probabilities(X[points], given, n_classes, way)
    known, given = np.unique(given, return_inverse=True)  # it wants every class among the labels
    table = table[:, known]
    if len(known) < 2:
        return points[:0]
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1e-12)
    return points[find_label_issues(given, table, n_jobs=1)]


def has_cleanlab() -> bool:
    try:
        import cleanlab.filter  # noqa: F401
    except ImportError:
        return False
    return True


def score(
    seed: int,
    margin: float = MARGIN,
    *,
    data: Problem | str = "digits",
    per_class: int = 5,
    share: float = 0.1,
    ways: tuple[str, ...] = ("suspects", "yardstick"),
) -> dict[str, np.ndarray]:
    """Numbers of suspects, of planted labels among them and of planted labels, of every way."""
    asked = problem(data) if isinstance(data, str) else data
    generator = np.random.default_rng(seed)
    labels, wrong = planted(asked.truth, per_class, share, generator)
    counts = {}
    for way in ways:
        if way.startswith("cleanlab"):
            who = cleanlab_issues(asked.X, labels, asked.n_classes, way.split()[1])
        elif way == "yardstick":
            who = left_out_consistency(asked.graphs["mutual"], labels, margin)
        else:
            found = suspect_labels(asked.graphs[way], labels, asked.n_classes, margin=margin)
            who = np.array([s.point for s in found])
        counts[way] = np.array([len(who), np.sum(np.isin(who, wrong)), len(wrong)])
    return counts


def f_score(totals: np.ndarray) -> float:
    """2 right / (named + planted): 1 where all planted labels are named, and no other."""
    named, right, wrong = totals
    return float(2 * right / (named + wrong))


def report(way: str, counts: np.ndarray) -> str:
    """One row; the standard error of the F score by leaving out runs."""
    totals = counts.sum(axis=0)
    named, right, wrong = totals
    found = counts[:, 1] / counts[:, 2]
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    kept = np.array([f_score(totals - one) for one in counts]) if len(counts) > 1 else np.array([])
    spread = np.sqrt((len(kept) - 1) * kept.var()) if len(kept) else np.nan
    return (
        f"  {way:18s} precision {right / max(named, 1):.3f} ({right} of {named}), "
        f"found {right / wrong:.3f} +- {error:.3f} of {wrong}, "
        f"F {f_score(totals):.3f} +- {spread:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--set", choices=SETS, nargs="+", default=["digits"])
    parser.add_argument("--labels", type=int, nargs="+", default=[5], help="a class")
    parser.add_argument("--wrong", type=float, default=0.1, help="share of the labels")
    parser.add_argument("--margin", type=float, default=MARGIN)
    parser.add_argument("--data", type=Path, help="folder of .npz files")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = [way for way in WAYS if has_cleanlab() or not way.startswith("cleanlab")]
    seeds = range(chosen.first, chosen.first + chosen.runs)
    for name in chosen.set:
        try:
            data = problem(name, chosen.data)
        except NotAtHandError as error:
            print(f"{name}: {error}")
            continue
        for per_class in chosen.labels:
            began = process_time()
            scores = [
                score(seed, chosen.margin, data=data, per_class=per_class, share=chosen.wrong,
                      ways=tuple(ways))
                for seed in seeds
            ]  # fmt: skip
            print(f"{name}, {per_class} labels a class, {100 * chosen.wrong:g} % wrong")
            for way in WAYS:
                if way not in ways:
                    print(f"  {way:18s} not installed")
                    continue
                print(report(way, np.array([one[way] for one in scores])), flush=True)
            print(f"  {(process_time() - began) / chosen.runs:.1f} CPU seconds a run")


if __name__ == "__main__":
    main()
