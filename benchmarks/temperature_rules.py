"""Which temperature? The paper's T* rule beside ours, against the best T, on many small problems.

    python benchmarks/temperature_rules.py [--labellings 5]
    python benchmarks/temperature_rules.py --batch

--batch are the sets that settled the rule's last constant, where an exact answer is cheap.

A row is a data set with labels of some of its classes; the others are hidden. Errors are counted as
in the paper (a hidden class is right when it comes out as a new class), in percent of the points,
at the lowest temperature, at T* by either rule, and at the temperature that the truth would choose.
The rule was picked among some forty variants on leukemia, iris, wine and blobs; bands, waves and
digits were looked at afterwards and changed nothing. Two further batches of sets, not below, showed
its weakness: where every class is labelled and classes are thin and curved (moons, spirals, rings)
it breaks them into new classes and loses to the paper's rule; with a hidden class it wins nearly
everywhere. Taking the coldest temperature with 0.8 of the largest information, instead of the
largest, was settled on a third batch. Leukemia needs SPINLEARN_DATA.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn import datasets

from spinlearn import MutualKNN, min_cut, profile
from spinlearn.analysis.temperature_grid import COARSE_SIZE, refined_grid, temperature_grid
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.results import Equilibrium
from spinlearn.datasets import load_leukemia, three_waves, two_bands
from spinlearn.datasets.real import standardised
from spinlearn.decision import best_temperature
from spinlearn.engines import JunctionTree, Multicanonical
from spinlearn.errors import ConvergenceWarning, DataFileError
from spinlearn.scoring import misclassified

EXACT = JunctionTree(max_operations=6e7, max_memory_gb=2)
SAMPLED = Multicanonical(tol=0.03, max_sweeps=5000)


@dataclass(frozen=True)
class Problem:
    """A graph, its true classes, the labelled ones first, and how many labels to draw."""

    name: str
    graph: Graph
    truth: np.ndarray
    n_labelled: int
    n_labels: int
    pool: np.ndarray


def problems() -> Iterator[Problem]:
    """Toy sets of the paper, leukemia, and sets that have nothing to do with it."""
    for name, toy, q, counts in (
        ("bands", two_bands(), 2, (5, 10)),
        ("waves, third hidden", three_waves(), 2, (5, 10, 20)),
    ):
        for m in counts:
            yield Problem(name, toy.graph(), toy.truth, q, m, toy.label_region)
    yield from _points("iris", *datasets.load_iris(return_X_y=True), ((0, 1, 2), (0, 2), (1, 2)))
    yield from _points("wine", *datasets.load_wine(return_X_y=True), ((0, 1, 2), (0, 1), (0, 2)))
    X, y = datasets.load_digits(return_X_y=True)
    for chosen in ((0, 1, 2, 3), (3, 5, 8, 9), (4, 7)):
        rows = np.flatnonzero(np.isin(y, chosen))[:240]
        classes = np.searchsorted(chosen, y[rows])
        everything = tuple(range(len(chosen)))
        some = (everything, everything[:-1]) if len(chosen) > 2 else (everything,)
        yield from _points(f"digits {chosen}", X[rows], classes, some, scale=False)
    for spread in (0.8, 1.2):
        X, y = datasets.make_blobs(200, centers=4, cluster_std=spread, random_state=0)
        yield from _points(f"blobs {spread}", X, y, ((0, 1, 2, 3), (0, 1, 2), (0, 1)), scale=False)
    try:
        samples = load_leukemia()
    except DataFileError:
        return
    graph = MutualKNN(n_neighbors=8).build(samples.points())
    everyone = np.ones(57, dtype=bool)
    for q, counts in ((2, (2, 4, 6)), (3, (3, 6, 9))):
        for m in counts:
            yield Problem("leukemia", graph, samples.truth, q, m, everyone)


def batch() -> Iterator[Problem]:
    """Moons, rings and blobs with and without a hidden class, and part of breast cancer."""
    for seed in (101, 102):
        moons = datasets.make_moons(160, noise=0.1, random_state=seed)
        yield from _points(f"moons {seed}", *moons, ((0, 1),), scale=False)
        rings = datasets.make_circles(160, noise=0.06, factor=0.45, random_state=seed)
        yield from _points(f"rings {seed}", *rings, ((0, 1),), scale=False)
        X, y = datasets.make_blobs(180, centers=5, cluster_std=1.0, random_state=seed)
        some = ((0, 1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2))
        yield from _points(f"blobs {seed}", X, y, some, scale=False)
        sheared = X @ np.array([[0.6, -0.6], [-0.4, 0.8]])
        yield from _points(f"sheared {seed}", sheared, y, some[:2], scale=False)
        X, y = datasets.make_blobs(180, n_features=8, cluster_std=3.0, random_state=seed)
        yield from _points(f"blobs in 8-d {seed}", X, y, ((0, 1, 2), (0, 1)), scale=False)
    X, y = datasets.load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:160]
    yield from _points("breast cancer", X[rows], y[rows], ((0, 1),))


def _points(
    name: str, X: np.ndarray, y: np.ndarray, subsets: tuple, scale: bool = True
) -> Iterator[Problem]:
    graph = MutualKNN().build(standardised(X) if scale else X)
    for labelled in subsets:
        hidden = [c for c in np.unique(y).tolist() if c not in labelled]
        truth = np.argsort([*labelled, *hidden])[y]
        text = f"{name}, hidden {hidden}" if hidden else name
        everyone = np.ones(len(y), dtype=bool)
        yield Problem(text, graph, truth, len(labelled), 2 * len(labelled), everyone)


def equilibrium(model: PottsModel) -> Equilibrium:
    """Exact where the graph is narrow enough, over the estimator's own grid of temperatures."""
    engine = EXACT if EXACT.unsupported(model) is None else SAMPLED
    grid = temperature_grid(model, COARSE_SIZE)
    coarse = engine.run(model, grid if engine is EXACT else grid[2:], seed=0)
    wanted = refined_grid(coarse)
    return coarse.at(wanted if engine is EXACT else wanted[2:])


def errors(problem: Problem, seed: int, exact_only: bool) -> list[float] | None:
    """Percent wrong at the lowest T, at T* by the paper's and by our rule, and at best."""
    rng = np.random.default_rng([seed, problem.n_labels])
    q = problem.n_labelled
    pool = np.flatnonzero(problem.pool & (problem.truth < q))
    while True:
        chosen = rng.choice(pool, problem.n_labels, replace=False)
        if len(np.unique(problem.truth[chosen])) == q:
            break
    labels = np.full(len(problem.truth), -1)
    labels[chosen] = problem.truth[chosen]
    model = min_cut(problem.graph, labels, q)
    if exact_only and EXACT.unsupported(model) is not None:
        return None
    found = profile(equilibrium(model))
    wrong = [
        100 * float(misclassified(found.decision(k), problem.truth).mean())
        for k in range(len(found.temperatures))
    ]
    rules = ("stability", "information")
    rows = [found.nearest_row(best_temperature(found, rule=rule)) for rule in rules]
    return [wrong[0], *(wrong[k] for k in rows), min(wrong)]


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--labellings", type=int, default=5)
    parser.add_argument("--batch", action="store_true")
    chosen = parser.parse_args()
    first, count = (7, 3) if chosen.batch else (0, chosen.labellings)
    print(f"{'set':32}{'q':>3}{'M':>4}{'T low':>8}{'paper':>8}{'ours':>8}{'best':>8}")
    means = []
    for problem in batch() if chosen.batch else problems():
        tried = [errors(problem, seed, chosen.batch) for seed in range(first, first + count)]
        rows = [row for row in tried if row is not None]
        if not rows:
            continue
        row = np.mean(rows, axis=0)
        means.append(row)
        cells = "".join(f"{value:8.1f}" for value in row)
        print(f"{problem.name:32}{problem.n_labelled:3}{problem.n_labels:4}{cells}", flush=True)
    print(f"{'mean of rows':39}" + "".join(f"{value:8.1f}" for value in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
