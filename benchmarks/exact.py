"""The exact engine beside pyAgrum's Shafer-Shenoy, in one run: seconds per temperature and ratio.

Both compute all node marginals of a grid with random couplings and fields. spinlearn does 20
temperatures in one call and also gives pair agreement, energy, heat capacity and log Z.
"""

from __future__ import annotations

import time

import numpy as np
import pyagrum as gum

from spinlearn import Graph, PottsModel
from spinlearn.engines import JunctionTree

REPEATS = 3


def grid_model(height: int, width: int, q: int) -> PottsModel:
    rng = np.random.default_rng(0)
    number = np.arange(height * width).reshape(height, width)
    right = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    edges = np.concatenate([right, down])
    graph = Graph(height * width, edges, 0.5 + rng.random(len(edges)))
    return PottsModel(graph, q, fields=0.3 * rng.normal(size=(height * width, q)))


def agrum_marginals(model: PottsModel, temperature: float) -> tuple[float, np.ndarray]:
    n, q = model.n_nodes, model.n_states
    network = gum.MarkovRandomField()
    for i in range(n):
        network.add(gum.LabelizedVariable(f"v{i}", "", q))
        network.addFactor([f"v{i}"]).fillWith(list(np.exp(-model.fields[i] / temperature)))
    for (u, v), coupling in zip(model.graph.edges, model.couplings, strict=True):
        table = np.exp(-coupling * model.pair_cost / temperature)
        network.addFactor([f"v{u}", f"v{v}"]).fillWith(list(table.ravel()))
    began = time.perf_counter()
    inference = gum.ShaferShenoyMRFInference(network)
    inference.makeInference()
    marginals = np.array([inference.posterior(f"v{i}").tolist() for i in range(n)])
    return time.perf_counter() - began, marginals


def main() -> None:
    temperatures = np.linspace(0.2, 4.0, 20)
    print("| grid | q | spinlearn, s per T | pyAgrum, s per T | ratio | largest difference |")
    print("|---|---|---|---|---|---|")
    for height, width, q in ((10, 50, 2), (8, 50, 3)):
        model = grid_model(height, width, q)
        engine = JunctionTree()
        engine.run(model, temperatures[:1])  # compile
        ours, theirs = [], []
        for _ in range(REPEATS):
            began = time.perf_counter()
            run = engine.run(model, temperatures)
            ours.append((time.perf_counter() - began) / len(temperatures))
            seconds, expected = agrum_marginals(model, temperatures[4])
            theirs.append(seconds)
        difference = np.abs(run.marginals[4] - expected).max()
        mine, other = min(ours), min(theirs)
        print(
            f"| {height} x {width} | {q} | {mine:.4f} | {other:.3f} | {other / mine:.1f} "
            f"| {difference:.0e} |"
        )


if __name__ == "__main__":
    main()
