"""The minimisers beside their peers, in one run: tables on the screen and in minimizers.md.

    python benchmarks/minimizers.py [--nodes 100000] [--rounds 3] [--skip-scipy] [--out DIR]
    python benchmarks/minimizers.py --set digits_modularity [--draws 10] [--gamma 1] [--raw]

a  minimum cut, q = 2: ours, SciPy's maximum_flow (Dinic), PyMaxflow (Boykov & Kolmogorov, C++)
b  alpha-expansion, q = 5: ours, gco-wrapper (Veksler & Delong's gco, C++)

Graphs: union 10-NN of points in the plane, in space and of touching blobs in 8 dimensions, real
weights, 20 labels a class. Times are CPU times of one thread (time.process_time), the smallest of
several rounds in which all take turns, from a model in memory to a labelling: ours folds the labels
in and finds both extreme cuts, the peers are given the folded arrays. SciPy takes 32-bit integers
only, gco rounds weights to 0.001. All energies are those of the model that was given. Peers
(requirements.txt) may be missing; PyMaxflow is GPL and gco is for research only, so they are
used here and nowhere else.

digits_modularity  annealing of the nodes and of modules (`class_annealing`, `multilevel`): energies
and times of the cut with modularity's null model on the union 10-NN graph of scikit-learn's digits,
one label a class, couplings w_ij / sqrt(d_i d_j) of mean one, or the graph's own (--raw). No peer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import contestants as c
import numpy as np
from sklearn.datasets import load_digits, make_blobs

from spinlearn import KNN, Graph, PottsModel
from spinlearn.energies import MinCut
from spinlearn.minimizers import (
    alpha_beta_swap,
    alpha_expansion,
    class_annealing,
    minimum_cut,
    multilevel,
)
from spinlearn.model.class_penalty import ClassPenalty
from spinlearn.model.potts import ConditionedModel

N_CLASSES = 5
LABELS_A_CLASS = 20
SCIPY_RESOLUTION = 1 << 20  # of the largest capacity
# gco's largest term is 1e7, its unit 1e-5: no cost may exceed 100.
GCO_CLAMP = 90.0

Solve = Callable[[], np.ndarray]


class Timed:
    """A contestant: the least CPU time of any round, and its labelling."""

    def __init__(self, solve: Solve | None) -> None:
        self.solve = solve
        self.seconds = np.inf
        self.labels = np.empty(0, dtype=np.int8)

    def measure(self) -> None:
        """One round."""
        if self.solve is None:
            return
        found: list[np.ndarray] = []
        solve = self.solve
        self.seconds = min(self.seconds, c.cpu_seconds(lambda: found.append(solve())))
        self.labels = found[0]


# -- problems ----------------------------------------------------------------------------------


def problem(name: str, n: int) -> tuple[Graph, np.ndarray]:
    """The graph of points and their classes."""
    if name == "blobs, d = 8":
        X, truth = make_blobs(n, 8, centers=N_CLASSES, cluster_std=4.0, random_state=0)[:2]
    else:
        X = np.random.default_rng(0).random((n, 2 if name == "square" else 3))
        truth = (X[:, 0] * N_CLASSES).astype(int)
    return KNN(n_neighbors=10).build(X), truth


def model_of(graph: Graph, truth: np.ndarray, q: int) -> PottsModel:
    """The min-cut energy with a few labels a class."""
    rng = np.random.default_rng(0)
    labels = np.full(graph.n_nodes, -1)
    for k in range(q):
        labels[rng.choice(np.flatnonzero(truth == k), LABELS_A_CLASS, replace=False)] = k
    return MinCut()(graph, labels, q)


# -- contestants -------------------------------------------------------------------------------


def with_labels(model: PottsModel, free: ConditionedModel, states: np.ndarray) -> np.ndarray:
    """States of all nodes from those of the free ones."""
    labels = np.where(model.clamped >= 0, model.clamped, 0)
    labels[free.nodes] = states
    return labels


def pymaxflow(model: PottsModel) -> Solve | None:
    """Boykov and Kolmogorov's own code, capacities in double precision."""
    if not c.installed("maxflow"):
        return None
    import maxflow

    free = ConditionedModel.of(model)
    n = len(free.nodes)
    difference = free.fields[:, 1] - free.fields[:, 0]
    to_source, to_sink = np.maximum(difference, 0), np.maximum(-difference, 0)

    def solve() -> np.ndarray:
        network = maxflow.Graph[float](n, len(free.edges))
        nodes = network.add_grid_nodes(n)
        network.add_edges(free.edges[:, 0], free.edges[:, 1], free.couplings, free.couplings)
        network.add_grid_tedges(nodes, to_source, to_sink)
        network.maxflow()
        return with_labels(model, free, network.get_grid_segments(nodes))

    return solve


def scipy_dinic(model: PottsModel) -> Solve:
    """SciPy's maximum flow on capacities rounded to 32-bit integers, and the side of the source."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    free = ConditionedModel.of(model)
    n = len(free.nodes)
    difference = free.fields[:, 1] - free.fields[:, 0]
    source, sink = np.flatnonzero(difference > 0), np.flatnonzero(difference < 0)
    u, v = free.edges.T
    rows = np.concatenate([u, v, np.full(len(source), n), sink])
    columns = np.concatenate([v, u, source, np.full(len(sink), n + 1)])
    capacity = np.concatenate(
        [free.couplings, free.couplings, difference[source], -difference[sink]]
    )
    whole = np.rint(capacity * (SCIPY_RESOLUTION / capacity.max())).astype(np.int32)

    def solve() -> np.ndarray:
        network = csr_array((whole, (rows, columns)), shape=(n + 2, n + 2))
        residual = csr_array(network - maximum_flow(network, n, n + 1).flow)
        residual.data = (residual.data > 0).astype(np.int32)
        residual.eliminate_zeros()
        states = np.ones(n + 2, dtype=np.int8)
        states[breadth_first_order(residual, n, return_predecessors=False)] = 0
        return with_labels(model, free, states[:n])

    return solve


def gco_expansion(model: PottsModel) -> Solve | None:
    """gco's alpha-expansion; labels as costs that nothing outweighs."""
    if not c.installed("gco"):
        return None
    import gco

    held = model.clamped >= 0
    costs = np.zeros((model.n_nodes, model.n_states))
    costs[held] = GCO_CLAMP
    costs[held, model.clamped[held]] = 0.0

    def solve() -> np.ndarray:
        return np.asarray(
            gco.cut_general_graph(
                model.graph.edges,
                model.couplings,
                costs,
                model.pair_cost,
                n_iter=-1,
                algorithm="expansion",
                down_weight_factor=1,  # the default shrinks couplings below their rounding
            )
        )

    return solve


# -- modules -----------------------------------------------------------------------------------


def degrees(graph: Graph) -> np.ndarray:
    """Summed weight of every node's edges."""
    u, v = graph.edges.T
    n = graph.n_nodes
    return np.bincount(u, graph.weights, n) + np.bincount(v, graph.weights, n)


def digits_modularity(n_draws: int, gamma: float, raw: bool) -> Iterable[str]:
    """Lines of a table: energy and CPU time of both minimisers for every draw of labels."""
    X, truth = load_digits(return_X_y=True)
    graph = KNN(n_neighbors=10).build(X)
    if not raw:
        roots = np.sqrt(degrees(graph))
        couplings = graph.weights / (roots[graph.edges[:, 0]] * roots[graph.edges[:, 1]])
        graph = graph.with_weights(couplings / couplings.mean())
    penalty = ClassPenalty.quadratic(degrees(graph), gamma, n_states=10)
    kind = "own" if raw else "homogeneous"
    yield f"{graph.n_nodes} digits, {graph.n_edges} edges, {kind} couplings, gamma = {gamma}"
    yield ""
    yield "| draw | truth | class_annealing | CPU s | multilevel | CPU s |"
    yield "|---|---|---|---|---|---|"
    for draw in range(-1, n_draws):  # the first one compiles
        rng = np.random.default_rng(max(draw, 0))
        labels = np.full(len(truth), -1)
        for k in range(10):
            labels[rng.choice(np.flatnonzero(truth == k))] = k
        model = PottsModel(graph, 10, clamped=labels, class_penalty=penalty)
        cells = []
        for minimizer in (class_annealing, multilevel):
            timed = Timed(lambda m=model, run=minimizer: run(m, seed=0).labels)
            timed.measure()
            cells += [f"{model.energy(timed.labels):.2f}", f"{timed.seconds:.2f}"]
        if draw >= 0:
            yield f"| {draw} | {model.energy(truth):.2f} | " + " | ".join(cells) + " |"


# -- the run -----------------------------------------------------------------------------------


def rows_of(
    title: str, model: PottsModel, contestants: dict[str, Solve | None], peer: str, rounds: int
) -> Iterable[Sequence[Any]]:
    """Measure in turns; one row a contestant, ratios to the peer."""
    timed = {name: Timed(solve) for name, solve in contestants.items()}
    for _ in range(rounds):
        for contestant in timed.values():
            contestant.measure()
    for name, contestant in timed.items():
        if contestant.solve is None:
            yield (title, name, "not installed", "", "")
            continue
        ratio = contestant.seconds / timed[peer].seconds
        shown = f"{ratio:.2f}" if np.isfinite(ratio) and ratio > 0 else ""
        energy = f"{model.energy(contestant.labels):.6f}"
        yield (title, name, f"{contestant.seconds:.3f}", shown, energy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-scipy", action="store_true", help="it takes most of the time")
    parser.add_argument("--set", choices=["peers", "digits_modularity"], default="peers")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--gamma", type=float, default=1.0)
    parser.add_argument("--raw", action="store_true", help="couplings of the graph as they are")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    if chosen.set == "digits_modularity":
        for line in digits_modularity(chosen.draws, chosen.gamma, chosen.raw):
            say(line)
        chosen.out.mkdir(parents=True, exist_ok=True)
        (chosen.out / "digits_modularity.md").write_text("\n".join(lines) + "\n")
        return
    small = model_of(Graph(300, [(i, i + 1) for i in range(299)]), np.arange(300) % 5, 5)
    alpha_expansion(small)  # compile
    problems = {name: problem(name, chosen.nodes) for name in ("square", "cube", "blobs, d = 8")}
    say(f"{chosen.nodes} points, {LABELS_A_CLASS} labels a class, least of {chosen.rounds} rounds")
    for part in ("a", "b"):
        say("")
        peer = "PyMaxflow" if part == "a" else "gco-wrapper"
        say(f"### {part}. {'Minimum cut, q = 2' if part == 'a' else 'alpha-expansion, q = 5'}")
        say("")
        say(f"| graph | method | CPU s | of {peer}'s time | energy |")
        say("|---|---|---|---|---|")
        for name, (graph, truth) in problems.items():
            if part == "a":
                model = model_of(graph, (truth >= 3).astype(int), 2)
                contestants: dict[str, Solve | None] = {
                    "spinlearn": lambda m=model: minimum_cut(m).labels,
                    peer: pymaxflow(model),
                }
                if not chosen.skip_scipy:
                    contestants["scipy, 32-bit"] = scipy_dinic(model)
            else:
                model = model_of(graph, truth, N_CLASSES)
                contestants = {
                    "spinlearn": lambda m=model: alpha_expansion(m).labels,
                    "spinlearn, alpha-beta swap": lambda m=model: alpha_beta_swap(m).labels,
                    peer: gco_expansion(model),
                }
            title = f"{name}, {graph.n_edges} edges"
            for row in rows_of(title, model, contestants, peer, chosen.rounds):
                say("| " + " | ".join(map(str, row)) + " |")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "minimizers.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
