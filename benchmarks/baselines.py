"""LGC and harmonic fields beside their peers on one 10-NN graph, in one run, at one tolerance.

Peers: scikit-learn's LabelSpreading (its kernel returns our sparse graph), graphlearning's Laplace
solver, and graphlearning's conjugate gradients on the LGC system. All are run until the relative
residual of the same equation,

    LGC        |(1 - alpha) Y - (I - alpha S) F| / |(1 - alpha) Y|
    harmonic   |D^-1/2 (W_ul Y_l - L_uu f_u)| / |D^-1/2 W_ul Y_l|

is below TOL; the table gives what they reached. Times are CPU seconds of `fit` without the
construction of the graph, the least of several rounds that alternate between the contestants.
LabelSpreading stops by the change of one step, so it is given the number of steps after which its
iteration has the same residual. Ours are fitted with the converged solution in mind: networkx's
harmonic function stops after 30 averaging steps, whatever the residual, and is not comparable.

python benchmarks/baselines.py [n_nodes]
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_matrix, diags_array
from sklearn.datasets import make_blobs
from sklearn.semi_supervised import LabelSpreading

from spinlearn import KNN, Graph
from spinlearn.baselines import HarmonicFields, LocalGlobalConsistency
from spinlearn.linear import inverse_roots, weight_matrix

TOL = 1e-6
ALPHA = 0.99
N_CLASSES = 10
LABELS_PER_CLASS = 10
ROUNDS = 3
LONG = 10.0  # seconds

Row = tuple[str, float, float]


class Problem:
    """Ten overlapping blobs in five dimensions, their 10-NN graph and ten labels of each."""

    def __init__(self, n: int) -> None:
        X, truth = make_blobs(n, 5, centers=N_CLASSES, cluster_std=2.5, random_state=0)
        self.graph: Graph = KNN(n_neighbors=10).build(X)
        self.truth = truth
        rng = np.random.default_rng(0)
        self.y = np.full(n, -1)
        for k in range(N_CLASSES):
            chosen = rng.choice(np.flatnonzero(truth == k), LABELS_PER_CLASS, replace=False)
            self.y[chosen] = k
        self.labelled = np.flatnonzero(self.y >= 0)
        self.weights = csr_matrix(weight_matrix(self.graph))
        self.roots = inverse_roots(np.asarray(self.weights.sum(axis=1)).ravel())
        self.one_hot = (self.y[:, None] == np.arange(N_CLASSES)).astype(np.float64)
        scale = diags_array(self.roots)
        self.spread = csr_matrix(scale @ self.weights @ scale)

    def lgc_residual(self, soft: np.ndarray) -> float:
        """Relative residual of unnormalised soft labels F / (1 - alpha)."""
        residual = self.one_hot - soft + ALPHA * (self.spread @ soft)
        return float(np.linalg.norm(residual) / np.linalg.norm(self.one_hot))

    def harmonic_residual(self, f: np.ndarray) -> float:
        """Relative residual of the harmonic equation at the unlabelled points."""
        free = self.y < 0
        degrees = np.asarray(self.weights.sum(axis=1)).ravel()
        pulled = self.weights[:, self.labelled] @ self.one_hot[self.labelled]
        residual = self.roots[:, None] * (self.weights @ f - degrees[:, None] * f)
        right = self.roots[:, None] * pulled
        return float(np.linalg.norm(residual[free]) / np.linalg.norm(right[free]))


def averaging_steps(problem: Problem) -> int:
    """Steps of F <- alpha S F + (1 - alpha) Y until the residual is below TOL."""
    soft, steps = (1 - ALPHA) * problem.one_hot, 0
    while problem.lgc_residual(soft / (1 - ALPHA)) > TOL:
        for _ in range(50):
            soft = ALPHA * (problem.spread @ soft) + (1 - ALPHA) * problem.one_hot
        steps += 50
    return steps


def ours(problem: Problem, method: Any, residual: Callable[[Any], float]) -> Callable[[], float]:
    """Fit one of our estimators; returns the residual it reports, checked by the caller."""

    def run() -> float:
        method.fit(problem.graph, problem.y)
        return residual(method)

    return run


def label_spreading(problem: Problem, steps: int) -> Callable[[], float]:
    """scikit-learn's iteration for a number of steps."""

    def run() -> float:
        model = LabelSpreading(
            kernel=lambda a, b: problem.weights, alpha=ALPHA, max_iter=steps, tol=0.0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it stops by max_iter, as wanted
            model.fit(np.zeros((len(problem.y), 1)), problem.y)
        return TOL  # its rows are normalised: the residual is that of averaging_steps

    return run


def graphlearning_laplace(problem: Problem) -> Callable[[], float]:
    """graphlearning's Laplace learning, conjugate gradients with Jacobi scaling."""
    import graphlearning as gl

    right = problem.roots[:, None] * (
        problem.weights[:, problem.labelled] @ problem.one_hot[problem.labelled]
    )
    tol = TOL * float(np.linalg.norm(right[problem.y < 0]))

    def run() -> float:
        model = gl.ssl.laplace(problem.weights, tol=tol)
        f = model.fit(problem.labelled, problem.y[problem.labelled])
        return problem.harmonic_residual(f)

    return run


def graphlearning_cg(problem: Problem) -> Callable[[], float]:
    """graphlearning's conjugate gradients on the LGC system."""
    from graphlearning.utils import conjgrad

    def run() -> float:
        scale = diags_array(problem.roots)
        matrix = csr_matrix(
            diags_array(np.ones(len(problem.y))) - ALPHA * (scale @ problem.weights @ scale)
        )
        tol = TOL * float(np.linalg.norm(problem.one_hot))
        return problem.lgc_residual(conjgrad(matrix, problem.one_hot, tol=tol))

    return run


def compete(contestants: dict[str, Callable[[], float]]) -> list[Row]:
    """Least CPU seconds and residual of every contestant, in alternating rounds."""
    least = dict.fromkeys(contestants, np.inf)
    residuals = dict.fromkeys(contestants, np.nan)
    for _ in range(ROUNDS):
        for name, run in contestants.items():
            if LONG < least[name] < np.inf:
                continue  # one round of a slow one is enough
            began = time.process_time()
            residuals[name] = run()
            least[name] = min(least[name], time.process_time() - began)
    return [(name, least[name], residuals[name]) for name in contestants]


def report(title: str, rows: list[Row]) -> None:
    """One table; ratios are against the first row."""
    print(f"\n{title}\n\n| | CPU s | relative to ours | residual |\n|---|---|---|---|")
    for name, seconds, residual in rows:
        print(f"| {name} | {seconds:.2f} | {seconds / rows[0][1]:.1f} | {residual:.0e} |")


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    peers = find_spec("graphlearning") is not None
    began = time.perf_counter()
    problem = Problem(n)
    print(f"{problem.graph!r}, built in {time.perf_counter() - began:.1f} s")
    warm = Problem(200)
    LocalGlobalConsistency(tol=TOL).fit(warm.graph, warm.y)  # compile

    # The estimators give normalised rows; the residual they report is checked here once.
    lgc = LocalGlobalConsistency(alpha=ALPHA, tol=TOL).fit(problem.graph, problem.y)
    harmonic = HarmonicFields(tol=TOL).fit(problem.graph, problem.y)
    assert problem.harmonic_residual(harmonic.label_distributions_) < 2 * TOL
    contestants = {"spinlearn LocalGlobalConsistency": ours(problem, lgc, lambda m: m.residual_)}
    if peers:
        contestants["graphlearning conjgrad, same system"] = graphlearning_cg(problem)
    steps = averaging_steps(problem)
    contestants[f"scikit-learn LabelSpreading, {steps} steps"] = label_spreading(problem, steps)
    report(f"LGC, alpha = {ALPHA}, {N_CLASSES} classes, tolerance {TOL:g}", compete(contestants))
    print(f"\nLGC accuracy {np.mean(lgc.transduction_ == problem.truth):.4f}, {lgc.n_iter_} steps")

    contestants = {"spinlearn HarmonicFields": ours(problem, harmonic, lambda m: m.residual_)}
    if peers:
        contestants["graphlearning laplace"] = graphlearning_laplace(problem)
    report(f"Harmonic fields, {N_CLASSES} classes, tolerance {TOL:g}", compete(contestants))
    accuracy = np.mean(harmonic.transduction_ == problem.truth)
    print(f"\nHarmonic accuracy {accuracy:.4f}, {harmonic.n_iter_} steps")


if __name__ == "__main__":
    main()
