"""Learning curves: labels that `suggest` asks for beside those chosen in other ways.

    python benchmarks/suggest.py --set digits --runs 10 --batch 5
    python benchmarks/suggest.py --set wine breast_cancer xin_pancreas usps2 --runs 10 --batch 5
    python benchmarks/suggest.py --set toy --runs 20 --ways suggest random before

Every run starts with one random label a class, the same for all ways, and adds --labels labels, a
batch at a time. The error is the share of points without a label whose most probable class
(`forced_labels_` of `PottsClassifier()`) is wrong, whoever chose the labels. Ways:

    suggest           on the default answer
    random            any point without a label
    uncertainty       the smallest difference of the two largest probabilities of the default answer
    variance-optimal  graphlearning's var_opt (Ji & Han 2012) on the same graph, 50 eigenvectors
    labellings        `suggest` by labellings drawn of the default's model (slow)
    before            `suggest` on the answer of method="paper" (slow)

Sets are those of few_labels_sets.py (files of --data or SPINLEARN_DATA) and the toys. Curves and
numbers go to benchmarks/results/, after every run.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from few_labels_sets import SETS as TABLE_SETS
from few_labels_sets import NotAtHandError, load
from scipy.sparse import csr_matrix

from spinlearn import KNN, Graph, PottsClassifier
from spinlearn.advice.suggestion import suggest, telling_temperatures
from spinlearn.datasets import three_waves, two_bands

RESULTS = Path(__file__).parent / "results"
TOYS = {"toy": two_bands, "waves": three_waves}
SETS = (*TABLE_SETS, *TOYS)
WAYS = ("suggest", "random", "uncertainty", "variance-optimal", "labellings", "before")
USUAL = WAYS[:4]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
EIGENVECTORS = 50


@dataclass
class Problem:
    """A graph with the true class of every point."""

    graph: Graph
    truth: np.ndarray
    X: np.ndarray | None = None  # points, where there are any
    kept: dict = field(default_factory=dict)  # what is computed once

    @property
    def n_classes(self) -> int:
        return int(self.truth.max()) + 1


def make_problem(name: str, data: Path | None = None, points: int | None = None) -> Problem:
    """One of the sets, or a random part of it."""
    if name in TOYS:
        toy = TOYS[name]()
        return Problem(toy.graph(), np.asarray(toy.truth))
    options = argparse.Namespace(
        data=data, extra=None, fashion=None, neighbors=10, small_neighbors=5
    )
    loaded = load(name, options)
    if points is None or points >= len(loaded.truth):
        return Problem(loaded.graph, loaded.truth, loaded.X)
    rows = np.random.default_rng(0).choice(len(loaded.truth), points, replace=False)
    return Problem(KNN().build(loaded.X[rows]), loaded.truth[rows], loaded.X[rows])


def first_labels(problem: Problem, generator: np.random.Generator) -> np.ndarray:
    """One label of every class."""
    labels = np.full(len(problem.truth), -1)
    for c in range(problem.n_classes):
        labels[generator.choice(np.flatnonzero(problem.truth == c))] = c
    return labels


def choose(
    way: str,
    fitted: PottsClassifier,
    problem: Problem,
    labels: np.ndarray,
    n: int,
    generator: np.random.Generator,
) -> list[int]:
    """The next points to label, by one of WAYS."""
    free = np.flatnonzero(labels < 0)
    if way == "suggest":
        return [s.point for s in suggest(fitted, n)]
    if way == "random":
        return generator.choice(free, n, replace=False).tolist()
    if way == "uncertainty":
        first, second = np.sort(fitted.label_distributions_[free], axis=1)[:, :-3:-1].T
        return free[np.argsort(first - second, kind="stable")[:n]].tolist()
    if way == "variance-optimal":
        return variance_optimal(problem, labels, n)
    if way == "labellings":
        where = telling_temperatures(fitted.equilibrium_)
        return [s.point for s in suggest(fitted, n, temperatures=where)]
    source = problem.graph if problem.X is None else problem.X
    paper = PottsClassifier(method="paper", random_state=0).fit(source, labels)
    return [s.point for s in suggest(paper, n)]


def variance_optimal(problem: Problem, labels: np.ndarray, n: int) -> list[int]:
    """graphlearning's choice, its covariance conditioned on one point after the other."""
    import graphlearning

    if "eigen" not in problem.kept:
        np.random.seed(0)  # noqa: NPY002  of its eigenvectors
        graph = problem.graph
        u, v = graph.edges.T
        weights = csr_matrix(
            (np.tile(graph.weights, 2), (np.append(u, v), np.append(v, u))),
            shape=(graph.n_nodes, graph.n_nodes),
        )
        count = min(EIGENVECTORS, graph.n_nodes - 2)
        problem.kept["eigen"] = graphlearning.graph(weights).eigen_decomp(
            normalization="normalized", k=count
        )
    values, vectors = problem.kept["eigen"]
    law = graphlearning.active_learning.var_opt(
        C=np.diag(1 / (np.maximum(values, 0) + 1e-11)), V=vectors
    )
    law.update(np.flatnonzero(labels >= 0), None)
    chosen: list[int] = []
    for _ in range(n):
        free = np.setdiff1d(np.flatnonzero(labels < 0), chosen)
        chosen.append(int(free[np.argmax(law.compute(None, free))]))
        law.update(chosen[-1:], None)
    return chosen


def curves_of(
    problem: Problem, run: int, n_labels: int, batch: int, ways: tuple[str, ...]
) -> dict[str, tuple[list[float], float]]:
    """Errors after 0, batch, 2 batch, ... added labels and the seconds of a choice, by way."""
    start = first_labels(problem, np.random.default_rng(run))
    first = PottsClassifier().fit(problem.graph, start)
    curves = {}
    for way in ways:
        generator = np.random.default_rng([run, 1])
        labels, fitted, seconds = start.copy(), first, 0.0
        errors = [_error(fitted, problem, labels)]
        steps = range(0, n_labels, batch)
        for done in steps:
            began = perf_counter()
            n = min(batch, n_labels - done)
            points = choose(way, fitted, problem, labels, n, generator)
            seconds += perf_counter() - began
            labels[points] = problem.truth[points]
            fitted = PottsClassifier().fit(problem.graph, labels)
            errors.append(_error(fitted, problem, labels))
        curves[way] = (errors, seconds / len(steps))
    return curves


def _error(fitted: PottsClassifier, problem: Problem, labels: np.ndarray) -> float:
    free = labels < 0
    return float(np.mean(np.asarray(fitted.forced_labels_)[free] != problem.truth[free]))


def compare(
    name: str,
    *,
    runs: int,
    n_labels: int = 10,
    batch: int = 5,
    ways: tuple[str, ...] = USUAL,
    points: int | None = None,
    data: Path | None = None,
    save: bool = False,
) -> dict[str, np.ndarray]:
    """Learning curves (runs, batches + 1) of every way; `save` tells and keeps them."""
    problem = make_problem(name, data, points)
    curves: dict[str, list[list[float]]] = {way: [] for way in ways}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for run in range(runs):
        for way, (errors, spent) in curves_of(problem, run, n_labels, batch, ways).items():
            curves[way].append(errors)
            seconds[way].append(spent)
        if save:
            print(f"{name}, run {run + 1}: " + ", ".join(f"{w} {np.mean(c[-1][1:]):.3f}"
                  for w, c in curves.items()), flush=True)  # fmt: skip
            RESULTS.mkdir(exist_ok=True)
            kept = {"batch": batch, "curves": curves, "seconds": seconds}
            (RESULTS / f"suggest_{name}.json").write_text(json.dumps(kept))
    return {way: np.array(values) for way, values in curves.items()}


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def report(name: str, curves: dict[str, np.ndarray], missing: list[str]) -> None:
    """One row a way: the mean error with labels added, and the curve."""
    print(f"{name}, {len(next(iter(curves.values())))} runs")
    for way, values in curves.items():
        mean = values[:, 1:].mean(axis=1)
        path = " ".join(f"{100 * e:.1f}" for e in values.mean(axis=0))
        print(f"  {way:17s} mean error {100 * mean.mean():5.2f} +- "
              f"{100 * standard_error(mean):.2f} %   {path}")  # fmt: skip
    for way in missing:
        print(f"  {way:17s} not installed")


def draw(curves: dict[str, np.ndarray], title: str, batch: int, path: Path) -> None:
    """Mean curves with their standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, values), colour in zip(curves.items(), COLOURS, strict=False):
        mean = values.mean(axis=0)
        error = np.array([standard_error(column) for column in values.T])
        steps = batch * np.arange(len(mean))
        axis.plot(steps, mean, "o-", color=colour, label=name, markersize=4)
        axis.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2)
    axis.set(xlabel="labels added", ylabel="share of wrong points", title=title)
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def has_graphlearning() -> bool:
    try:
        import graphlearning  # noqa: F401
    except ImportError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=SETS, nargs="+", default=["digits"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--labels", type=int, default=10, help="added in all")
    parser.add_argument("--batch", type=int, default=5, help="added at a time")
    parser.add_argument("--points", type=int, help="a random part of the set")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(USUAL))
    parser.add_argument("--data", type=Path, help="folder of .npz files")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    missing = [way for way in chosen.ways if way == "variance-optimal" and not has_graphlearning()]
    ways = tuple(way for way in chosen.ways if way not in missing)
    for name in chosen.set:
        try:
            curves = compare(
                name, runs=chosen.runs, n_labels=chosen.labels, batch=chosen.batch, ways=ways,
                points=chosen.points, data=chosen.data, save=True,
            )  # fmt: skip
        except NotAtHandError as error:
            print(f"{name}: {error}")
            continue
        report(name, curves, missing)
        draw(curves, f"{name}, {chosen.runs} runs", chosen.batch, RESULTS / f"suggest_{name}.png")


if __name__ == "__main__":
    main()
