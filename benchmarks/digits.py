"""One label a class: energies sampled at T* and minimised, beside LGC and Poisson learning.

    python benchmarks/digits.py --data digits --draws 50
    python benchmarks/digits.py --data wine --draws 50 --methods balanced_cut min_cut lgc_linear

Every method sees the same union 10-NN graph and the same labels; accuracy is over the unlabelled
points, each of which must take a class. Two rules choose the temperature, neither looks at the
truth: "T*" is the library's (section 6.1 of the paper), "margin" is the highest temperature at
which p1 - p2 averages at least 0.9 over the unlabelled points. Poisson learning and PoissonMBO come
from `graphlearning` (pip install graphlearning); PoissonMBO is told that all classes are equally
large, as the balance of `balanced_cut` supposes. Results are appended to a file, one line per draw
and method, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from spinlearn import KNN, BalancedCut, Graph, PopulationAnnealing
from spinlearn.decision import profile, recommended_temperature
from spinlearn.energies import make_energy
from spinlearn.minimizers import minimize

RESULTS = Path(__file__).parent / "results"
TEMPERATURES = np.geomspace(2.5, 0.7, 7)  # in units of the mean coupling
MARGIN = 0.9
ENERGIES = {
    "min_cut": "min_cut",
    "lgc": "lgc",
    "balanced_cut": BalancedCut(strength=6.0),
    "balanced_cut_2": BalancedCut(strength=2.0),
    "normalized_cut": "normalized_cut",
    "ratio_cut": "ratio_cut",
}
LINEAR = ("lgc_linear", "poisson", "poisson_mbo")
CHEAP = ("min_cut", "lgc", "balanced_cut", *LINEAR)


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
            step=2.5,
            memory=0.8,
            n_reads=4,
        )
        run = engine.run(model, TEMPERATURES * unit, seed=self.draw)
        accuracies = [self.accuracy(p.argmax(axis=1)) for p in run.marginals]
        ordered = np.sort(run.marginals[:, self.free], axis=2)
        margins = (ordered[..., -1] - ordered[..., -2]).mean(axis=1)
        t_star = recommended_temperature(profile(run))
        by_margin = int(np.argmax(margins >= MARGIN)) if np.any(margins >= MARGIN) else -1
        found = minimize(model, seed=self.draw)
        return {
            "T*": accuracies[int(np.argmin(np.abs(run.temperatures - t_star)))],
            "margin": accuracies[by_margin],
            "T=0": self.accuracy(found.labels),
            "t_star": t_star / unit,
            "t_margin": float(TEMPERATURES[by_margin]),
            "curve": accuracies,
            "energy_minimum": found.energy,
            "energy_truth": float(model.energy(self.truth)),
        }

    def linear(self, name: str) -> dict:
        """LGC (alpha = 0.99), Poisson learning, PoissonMBO."""
        from scipy.sparse import csr_matrix, diags, identity
        from scipy.sparse.linalg import spsolve

        n = self.graph.n_nodes
        u, v = self.graph.edges.T
        rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
        weights = csr_matrix((np.tile(self.graph.weights, 2), (rows, columns)), shape=(n, n))
        index = np.flatnonzero(~self.free)
        if name == "lgc_linear":
            scale = diags(np.asarray(weights.sum(axis=1)).ravel() ** -0.5)
            target = np.zeros((n, self.q))
            target[index, self.labels[index]] = 1
            system = (identity(n) - 0.99 * scale @ weights @ scale).tocsc()
            return {"T=0": self.accuracy(spsolve(system, target).argmax(axis=1))}
        import graphlearning as gl

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
    for draw in range(options.draws):
        case = Case(graph, truth, draw, options)
        for method in options.methods:
            if (method, draw) in done:
                continue
            began = time.process_time()
            found = case.linear(method) if method in LINEAR else case.energy(method)
            row = {"method": method, "draw": draw, "cpu": time.process_time() - began, **found}
            rows.append(row)
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return [r for r in rows if r["draw"] < options.draws and r["method"] in options.methods]


def table(rows: list[dict]) -> str:
    """Mean accuracy of every method, its standard error over the draws, CPU seconds per draw."""
    lines = [
        "| method | draws | at T* | margin rule | T = 0 | CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        cells = []
        for column in ("T*", "margin", "T=0"):
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
    parser.add_argument("--walkers", type=int, default=128)
    parser.add_argument("--sweeps", type=int, default=4)
    parser.add_argument("--methods", nargs="+", default=list(CHEAP), choices=[*ENERGIES, *LINEAR])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(table(run(options)))


if __name__ == "__main__":
    main()
