"""One label a class: energies sampled at T* and minimised, beside the baselines and peers.

    python benchmarks/digits.py --data digits --draws 50 [--first 50]
    python benchmarks/digits.py --data wine --draws 50 --methods diffused_cut lgc poisson

Every method sees the same union 10-NN graph and the same labels; accuracy is over the unlabelled
points, each of which must take a class. "T*" is the temperature that `PottsClassifier` chooses by
default, "paper's T*" that of section 6.1 of the paper; neither looks at the truth. Poisson learning
and PoissonMBO come from `graphlearning` (pip install graphlearning); PoissonMBO is told that all
classes are equally large, as `balanced_cut` and `diffused_cut` suppose. The harmonic energy over
labellings is that of the minimum cut and has no row of its own. Results are appended to a
file, one line per draw and method, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from spinlearn import KNN, Graph
from spinlearn.answers.law import usable_rows
from spinlearn.answers.profile import profile
from spinlearn.answers.temperature import answer_temperature
from spinlearn.baselines import BASELINES
from spinlearn.energies import BalancedCut, make_energy
from spinlearn.engines import PopulationAnnealing
from spinlearn.minimizers import minimize

RESULTS = Path(__file__).parent / "results"
TEMPERATURES = np.geomspace(2.0, 0.25, 7)  # in units of the mean coupling
ENERGIES = {
    "diffused_cut": "diffused_cut",
    "balanced_cut": BalancedCut(strength=6.0),
    "modularity": "modularity",
    "min_cut": "min_cut",
    "lgc_energy": "lgc",
    "normalized_cut": "normalized_cut",
    "ratio_cut": "ratio_cut",
}
SUPERVISED = ("alpha_expansion", "alpha_beta_swap", "randomized_min_cut", "lgc", "harmonic", "sgt")
PEERS = ("poisson", "poisson_mbo")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and classes; tables of unlike features are standardised."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    if name == "moons":
        return datasets.make_moons(400, noise=0.1, random_state=0)
    if name == "blobs":
        return datasets.make_blobs(500, centers=5, cluster_std=1.6, random_state=3)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (X, y) if name == "digits" else (StandardScaler().fit_transform(X), y)


def one_label_each(truth: np.ndarray, draw: int) -> np.ndarray:
    rng = np.random.default_rng(draw)
    labels = np.full(len(truth), -1)
    for c in range(truth.max() + 1):
        labels[rng.choice(np.flatnonzero(truth == c))] = c
    return labels


class Case:
    """One draw of labels on the graph that all methods share."""

    def __init__(self, graph: Graph, truth: np.ndarray, draw: int, options: argparse.Namespace):
        self.graph, self.truth, self.draw, self.options = graph, truth, draw, options
        self.labels = one_label_each(truth, draw)
        self.free = self.labels < 0
        self.q = int(truth.max()) + 1

    def accuracy(self, labelling: np.ndarray) -> float:
        return float(np.mean(labelling[self.free] == self.truth[self.free]))

    def energy(self, name: str) -> dict:
        """Accuracy at both temperatures, at every temperature, and of the minimum."""
        model = make_energy(ENERGIES[name])(self.graph, self.labels, self.q)
        unit = float(np.abs(model.effective_couplings).mean())
        engine = PopulationAnnealing(
            n_walkers=self.options.walkers,
            n_sweeps=self.options.sweeps,
            memory=0.8,
            n_reads=4,
        )
        run = engine.run(model, TEMPERATURES * unit, seed=self.draw)
        accuracies = [self.accuracy(p.argmax(axis=1)) for p in run.marginals]
        calls = profile(run)
        trusted = usable_rows(run)
        ours = answer_temperature(calls, trusted=trusted)
        papers = answer_temperature(calls, "paper", trusted=trusted)
        found = minimize(model, seed=self.draw)
        return {
            "T*": accuracies[int(np.argmin(np.abs(run.temperatures - ours)))],
            "paper's T*": accuracies[int(np.argmin(np.abs(run.temperatures - papers)))],
            "T=0": self.accuracy(found.labels),
            "t_star": ours / unit,
            "curve": accuracies,
            "energy_minimum": found.energy,
            "energy_truth": float(model.energy(self.truth)),
        }

    def baseline(self, name: str) -> dict:
        """One of the package's own baselines; every point takes its most probable class."""
        fitted = BASELINES[name]().fit(self.graph, self.labels)
        return {"T=0": self.accuracy(np.argmax(fitted.label_distributions_, axis=1))}

    def peer(self, name: str) -> dict:
        """Poisson learning and PoissonMBO."""
        import graphlearning as gl
        from scipy.sparse import csr_matrix

        n = self.graph.n_nodes
        u, v = self.graph.edges.T
        rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
        weights = csr_matrix((np.tile(self.graph.weights, 2), (rows, columns)), shape=(n, n))
        index = np.flatnonzero(~self.free)
        if name == "poisson":
            model = gl.ssl.poisson(weights, solver="conjugate_gradient")
        else:
            model = gl.ssl.poisson_mbo(weights, class_priors=np.full(self.q, 1 / self.q))
        return {"T=0": self.accuracy(model.fit_predict(index, self.labels[index]))}


def run(options: argparse.Namespace) -> list[dict]:
    """All results, those on file taken over."""
    X, truth = load(options.data)
    graph = KNN(n_neighbors=10).build(X)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{options.data}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["method"], row["draw"]) for row in rows}
    draws = range(options.first, options.first + options.draws)
    for draw in draws:
        case = Case(graph, truth, draw, options)
        for method in options.methods:
            if (method, draw) in done:
                continue
            began = time.process_time()
            if method in ENERGIES:
                found = case.energy(method)
            else:
                found = case.peer(method) if method in PEERS else case.baseline(method)
            row = {"method": method, "draw": draw, "cpu": time.process_time() - began, **found}
            rows.append(row)
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return [r for r in rows if r["draw"] in draws and r["method"] in options.methods]


def table(rows: list[dict]) -> str:
    """Mean accuracy of every method, its standard error over the draws, CPU seconds per draw."""
    lines = [
        "| method | draws | at T* | at the paper's T* | T = 0 | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        cells = []
        for column in ("T*", "paper's T*", "T=0"):
            values = np.array([row[column] for row in mine if column in row])
            error = values.std() / np.sqrt(max(len(values) - 1, 1)) if len(values) else 0.0
            cells.append(f"{values.mean():.3f} ± {error:.3f}" if len(values) else "")
        cpu = np.mean([row["cpu"] for row in mine])
        lines.append(f"| {method} | {len(mine)} | {' | '.join(cells)} | {cpu:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="digits")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--walkers", type=int, default=64)
    parser.add_argument("--sweeps", type=int, default=8)
    everything = [*PEERS, *SUPERVISED, *ENERGIES]
    parser.add_argument("--methods", nargs="+", default=everything, choices=everything)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(table(run(options)))


if __name__ == "__main__":
    main()
