"""Learning curves: labels asked for by `suggest` against labels at random, over many starts.

    python benchmarks/suggest.py --set toy --runs 50
    python benchmarks/suggest.py --set digits --runs 50 --points 300
    python benchmarks/suggest.py --set waves --runs 50 --steps 6

Every run starts with one random label per class (both ways from the same ones) and adds labels one
at a time. Errors are those of the most probable class, among all points without a label, at the
middle of the temperatures that `suggest` looks at. Curves and numbers go to benchmarks/results/,
the numbers after every run.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed

from spinlearn import Graph, MutualKNN
from spinlearn.advice.suggestion import best_batch, pair_gains, telling_temperatures
from spinlearn.analysis.temperature_grid import refined_grid, temperature_grid
from spinlearn.datasets import three_waves, two_bands
from spinlearn.energies import min_cut
from spinlearn.engines import JunctionTree, Multicanonical
from spinlearn.engines.draws import draw_labellings

RESULTS = Path(__file__).parent / "results"
TOYS = {"toy": two_bands, "waves": three_waves}


@dataclass
class Problem:
    """A graph with the true class of every point."""

    graph: Graph
    truth: np.ndarray
    n_classes: int


def make_problem(name: str, n_points: int, seed: int) -> Problem:
    """One of the toy sets, or a random part of the digits."""
    if name in TOYS:
        toy = TOYS[name]()
        truth = np.asarray(toy.truth)
        return Problem(toy.graph(), truth, int(truth.max()) + 1)
    from sklearn.datasets import load_digits

    digits = load_digits()
    chosen = np.random.default_rng(seed).choice(len(digits.data), n_points, replace=False)
    return Problem(MutualKNN().build(digits.data[chosen]), digits.target[chosen], 10)


def first_labels(problem: Problem, generator: np.random.Generator) -> np.ndarray:
    """One label of every class."""
    labels = np.full(len(problem.truth), -1)
    for c in range(problem.n_classes):
        labels[generator.choice(np.flatnonzero(problem.truth == c))] = c
    return labels


def temperatures_of(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """Where `suggest` would look, from a short run."""
    model = min_cut(problem.graph, labels, problem.n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = JunctionTree(max_operations=1e7)
        engine = exact if exact.unsupported(model) is None else Multicanonical(max_seconds=20)
        coarse = engine.run(model, temperature_grid(model, 16), seed=0)
        return telling_temperatures(coarse.at(refined_grid(coarse)))


def curve(
    problem: Problem,
    labels: np.ndarray,
    temperatures: np.ndarray,
    n_steps: int,
    n_samples: int,
    choose: str,
    seed: int,
) -> list[float]:
    """Share of wrong points after 0, 1, ... added labels."""
    generator = np.random.default_rng([seed, choose == "random"])
    labels = labels.copy()
    shares = []
    centre = len(temperatures) // 2
    for step in range(n_steps + 1):
        model = min_cut(problem.graph, labels, problem.n_classes)
        middle = draw_labellings(model, temperatures[[centre]], n_samples, seed=[seed, step])[0]
        counts = np.stack([(middle == c).sum(axis=0) for c in range(problem.n_classes)])
        free = np.flatnonzero(labels < 0)
        shares.append(float(np.mean(counts.argmax(axis=0)[free] != problem.truth[free])))
        if step == n_steps:
            break
        if choose == "random":
            point = generator.choice(free)
        else:
            drawn = draw_labellings(model, temperatures, n_samples, seed=[seed, step, 1])
            candidates = np.sort(generator.choice(free, min(len(free), 300), replace=False))
            gains = [pair_gains(s, problem.n_classes, candidates, free) for s in drawn]
            point = best_batch(np.mean(gains, axis=0), candidates, 1)[0].point
        labels[point] = problem.truth[point]
    return shares


def both_curves(
    name: str, run: int, n_points: int, temperatures: np.ndarray, n_steps: int, n_samples: int
) -> dict[str, list[float]]:
    """One start, continued both ways."""
    problem = make_problem(name, n_points, run)
    labels = first_labels(problem, np.random.default_rng(run))
    return {
        choose: curve(problem, labels, temperatures, n_steps, n_samples, choose, run)
        for choose in ("suggest", "random")
    }


def compare(
    name: str,
    *,
    runs: int,
    n_points: int,
    n_steps: int,
    n_samples: int,
    n_jobs: int = 1,
    save: bool = False,
) -> dict[str, np.ndarray]:
    """Learning curves (runs, steps + 1) of both ways of choosing; `save` tells and keeps them."""
    first = make_problem(name, n_points, 0)
    temperatures = temperatures_of(first, first_labels(first, np.random.default_rng(0)))
    began = perf_counter()
    curves: dict[str, list[list[float]]] = {"suggest": [], "random": []}
    pairs = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(both_curves)(name, run, n_points, temperatures, n_steps, n_samples)
        for run in range(runs)
    )
    for run, pair in enumerate(pairs):
        for choose, found in curves.items():
            found.append(pair[choose])
        if save:
            areas = ", ".join(f"{k} {np.mean(v[-1][1:]):.3f}" for k, v in curves.items())
            print(f"run {run + 1}: mean error {areas} ({perf_counter() - began:.0f} s)", flush=True)
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"suggest_{name}.json").write_text(json.dumps(curves))
    return {k: np.array(v) for k, v in curves.items()}


def draw(curves: dict[str, np.ndarray], title: str, path: Path) -> None:
    """Mean curves with their standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, values), colour in zip(curves.items(), ("#0072B2", "#D55E00"), strict=True):
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0 * mean
        steps = np.arange(len(mean))
        axis.plot(steps, mean, "o-", color=colour, label=name, markersize=4)
        axis.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2)
    axis.set(xlabel="labels added", ylabel="share of wrong points", title=title)
    axis.set_ylim(bottom=0)
    axis.legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=(*TOYS, "digits"), default="toy")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--samples", type=int, default=192)
    parser.add_argument("--jobs", type=int, default=-1)
    chosen = parser.parse_args()
    curves = compare(
        chosen.set, runs=chosen.runs, n_points=chosen.points, n_steps=chosen.steps,
        n_samples=chosen.samples, n_jobs=chosen.jobs, save=True,
    )  # fmt: skip
    # One per run, over the steps with a label added.
    means = {k: v[:, 1:].mean(axis=1) for k, v in curves.items()}
    difference = means["random"] - means["suggest"]
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    print(f"mean error over {chosen.steps} steps: suggest {means['suggest'].mean():.3f}, ", end="")
    print(f"random {means['random'].mean():.3f}; difference {difference.mean():.3f} +- {error:.3f}")
    print(f"suggest is better in {np.sum(difference > 0)} of {len(difference)} runs")
    draw(curves, f"{chosen.set}, {chosen.runs} runs", RESULTS / f"suggest_{chosen.set}.png")


if __name__ == "__main__":
    main()
