"""Belief propagation: accuracy and calibration on digits, errors against exact, peers, size.

    python benchmarks/message_passing.py digits --draws 50 --labels 1
    python benchmarks/message_passing.py exact --graphs 20
    python benchmarks/message_passing.py peers
    python benchmarks/message_passing.py size --nodes 70000

digits   union 10-NN graph, homogeneous couplings, modularity at resolution 1; accuracy over the
         unlabelled points and expected calibration error (10 bins) at every temperature
exact    |p - p_exact| of BP, generalised BP and two samplers on toy set 1, on random neighbour
         graphs and on random graphs that the junction tree solves
peers    the loopy propagation of pyAgrum on the same models
size     time a message, time and memory of a whole run of twelve temperatures
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings

import numpy as np

from spinlearn import KNN, Graph, MutualKNN, PottsModel
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut, Modularity
from spinlearn.engines import (
    BeliefPropagation,
    GeneralizedBP,
    JunctionTree,
    Multicanonical,
    Tempering,
)

TEMPERATURES = np.array([3.0, 2.6, 2.4, 2.3, 2.2, 2.1, 2.0, 1.9, 1.7, 1.4, 1.0, 0.6])


def digits(options: argparse.Namespace) -> None:
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    graph = KNN(n_neighbors=10).build(X).homogeneous()
    accuracy, calibration, seconds = [], [], []
    for draw in range(options.first, options.first + options.draws):
        rng = np.random.default_rng(draw)
        labels = np.full(len(truth), -1)
        for c in range(10):
            members = np.flatnonzero(truth == c)
            labels[rng.choice(members, options.labels, replace=False)] = c
        free = labels < 0
        model = Modularity()(graph, labels, 10)
        started = time.process_time()
        run = BeliefPropagation().run(model, TEMPERATURES)
        seconds.append(time.process_time() - started)
        accuracy.append([np.mean(p[free].argmax(axis=1) == truth[free]) for p in run.marginals])
        calibration.append([calibration_error(p[free], truth[free]) for p in run.marginals])
        print(draw, np.round(accuracy[-1], 3).tolist(), round(seconds[-1], 2), flush=True)
    spread = np.std(accuracy, axis=0) / np.sqrt(len(accuracy))
    print("T        ", TEMPERATURES.tolist())
    print("accuracy ", np.round(np.mean(accuracy, axis=0), 4).tolist())
    print("+-       ", np.round(spread, 4).tolist())
    print("ECE      ", np.round(np.mean(calibration, axis=0), 4).tolist())
    later = seconds[1:] or seconds  # the first compiles
    print(f"CPU s a draw: mean {np.mean(later):.2f}, most {np.max(later):.2f}")


def calibration_error(probabilities: np.ndarray, truth: np.ndarray, bins: int = 10) -> float:
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [
        abs(right[place == k].mean() - sure[place == k].mean()) * np.mean(place == k)
        for k in np.unique(place)
    ]
    return float(np.sum(gaps))


def narrow(model: PottsModel, width: int = 18) -> bool:
    return JunctionTree().plan(model).width <= width


def neighbour_graphs(count: int):
    """Random points in two or three clusters, two labels each, couplings by distance."""
    seed = 0
    while count:
        rng = np.random.default_rng(seed)
        seed += 1
        n, q = int(rng.integers(60, 140)), int(rng.integers(2, 4))
        truth = rng.integers(0, q, n)
        X = 1.5 * rng.normal(size=(q, 2))[truth] + 0.7 * rng.normal(size=(n, 2))
        graph = (KNN(n_neighbors=3) if seed % 2 else MutualKNN(n_neighbors=5)).build(X)
        labels = np.full(n, -1)
        for c in range(q):
            labels[np.flatnonzero(truth == c)[:2]] = c
        model = MinCut()(graph, labels, q)
        if narrow(model):
            count -= 1
            yield model


def random_graphs(count: int):
    """Sparse random graphs (mean degree 3) with couplings of both signs and weak fields."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, q = 50, 2 + seed % 2
        pairs = np.array([(i, j) for i in range(n) for j in range(i)])
        edges = pairs[rng.random(len(pairs)) < 3 / n]
        fields = 0.3 * rng.normal(size=(n, q))
        yield PottsModel(Graph(n, edges, rng.normal(size=len(edges))), q, fields=fields)


def exact(options: argparse.Namespace) -> None:
    toy = two_bands()
    families = {
        "toy set 1": [MinCut()(toy.graph(), toy.labels, 2)],
        "neighbour graphs": list(neighbour_graphs(options.graphs)),
        "random graphs": list(random_graphs(options.graphs)),
    }
    engines = {
        "belief_propagation": lambda: BeliefPropagation(),
        "generalized_bp": lambda: GeneralizedBP(),
        "tempering": lambda: Tempering(max_seconds=options.seconds),
        "multicanonical": lambda: Multicanonical(max_seconds=options.seconds),
    }
    for family, models in families.items():
        errors: dict[str, list[np.ndarray]] = {name: [] for name in engines}
        seconds = dict.fromkeys(engines, 0.0)
        for model in models:
            unit = np.abs(model.couplings).mean()
            grid = unit * np.array(
                [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0]
            )
            truth, free = JunctionTree().run(model, grid), model.clamped < 0
            for name, make in engines.items():
                make().run(model, grid[:1], seed=0)  # compiles
                started = time.process_time()
                run = make().run(model, grid, seed=0)
                seconds[name] += time.process_time() - started
                error = np.abs(run.marginals - truth.marginals).max(axis=2)[:, free]
                errors[name].append(error)
        print(f"{family}: T in mean couplings, then worst and mean |p - exact| of", list(engines))
        for k, temperature in enumerate(grid / unit):
            rows = [np.concatenate([e[k] for e in errors[name]]) for name in engines]
            print(f"{temperature:.1f}", *(f"{e.max():.3f} {e.mean():.4f}" for e in rows), sep="  ")
        means = {name: np.mean([e.mean() for e in errors[name]]) for name in engines}
        print("mean", {name: round(float(value), 4) for name, value in means.items()})
        print("CPU s a model", {n: round(s / len(models), 2) for n, s in seconds.items()})


def lattice(height: int, width: int, rng: np.random.Generator) -> Graph:
    number = np.arange(height * width).reshape(height, width)
    right = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    edges = np.concatenate([right, down])
    return Graph(height * width, edges, 0.2 + rng.random(len(edges)))


def peers(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    for height, width, q in ((12, 12, 3), (20, 20, 3), (20, 20, 10)):
        graph = lattice(height, width, rng)
        model = PottsModel(graph, q, fields=rng.normal(size=(graph.n_nodes, q)))
        for engine in (BeliefPropagation(), BeliefPropagation(n_starts=1)):
            engine.run(model, [1.1])
            started = time.perf_counter()
            run = engine.run(model, [1.1])
            own = time.perf_counter() - started
            theirs, marginals = pyagrum_seconds(model, 1.1)
            print(
                f"{height} x {width}, q = {q}, {engine.n_starts or 2} starts: ours {own:.4f} s, "
                f"pyAgrum {theirs:.3f} s ({theirs / own:.0f} times), difference "
                f"{np.abs(run.marginals[0] - marginals).max():.1e}"
            )


def pyagrum_seconds(model: PottsModel, temperature: float) -> tuple[float, np.ndarray]:
    """Time and marginals of loopy propagation in a network whose observed nodes are the pairs."""
    import pyagrum as gum

    network, q = gum.BayesNet(), model.n_states
    for i, fields in enumerate(model.fields):
        network.add(gum.LabelizedVariable(f"v{i}", "", q))
        weights = np.exp(-fields / temperature)
        network.cpt(f"v{i}").fillWith((weights / weights.sum()).tolist())
    for e, (u, v) in enumerate(model.graph.edges.tolist()):
        network.add(gum.LabelizedVariable(f"e{e}", "", 2))
        network.addArc(f"v{u}", f"e{e}")
        network.addArc(f"v{v}", f"e{e}")
        factor = np.exp(-model.couplings[e] * model.pair_cost / temperature)
        for a in range(q):
            for b in range(q):
                yes = float(factor[a, b])
                network.cpt(f"e{e}")[{f"v{u}": a, f"v{v}": b}] = [1 - yes, yes]
    inference = gum.LoopyBeliefPropagation(network)
    inference.setEvidence({f"e{e}": 1 for e in range(model.graph.n_edges)})
    inference.setEpsilon(1e-12)
    inference.setMinEpsilonRate(1e-14)
    inference.setMaxIter(5000)
    started = time.perf_counter()
    inference.makeInference()
    seconds = time.perf_counter() - started
    return seconds, np.array([inference.posterior(f"v{i}").tolist() for i in range(model.n_nodes)])


def size(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    n = options.nodes
    truth = rng.integers(0, 10, n)
    X = 1.6 * rng.normal(size=(10, 10))[truth] + rng.normal(size=(n, 10))
    graph = KNN(n_neighbors=10).build(X).homogeneous()
    labels = np.full(n, -1)
    for c in range(10):
        labels[rng.choice(np.flatnonzero(truth == c), 5, replace=False)] = c
    model = Modularity()(graph, labels, 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for starts in (1, 2):
        started = time.process_time()
        run = BeliefPropagation(n_starts=starts).run(model, TEMPERATURES)
        seconds = time.process_time() - started
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        free = labels < 0
        right = [np.mean(p[free].argmax(axis=1) == truth[free]) for p in run.marginals]
        print(
            f"{n} nodes, {graph.n_edges} edges, {starts} starts: {seconds:.1f} CPU s for "
            f"{len(TEMPERATURES)} temperatures, {memory / 1e6:.2f} GB at most ({before / 1e6:.2f} "
            f"before), settled {int(run.converged.sum())}, accuracy {np.round(right, 4).tolist()}"
        )
    print(f"one sweep: {sweep_nanoseconds(model):.0f} ns a message of ten states")


def sweep_nanoseconds(model: PottsModel) -> float:
    """Of one message in a sweep over all of them; the least of several sweeps."""
    from spinlearn.engines.messages.layout import MessageLayout
    from spinlearn.engines.messages.propagation import Propagation, Settling

    propagation = Propagation(MessageLayout.of(model), Settling(1e-9, 3, "sequential"))
    propagation.start()
    propagation.settle(1.9)
    best = np.inf
    for k in range(20):
        started = time.process_time()
        propagation.messages.sweep(k % 2 == 0, 1e-9, 0.0, -1.0)
        best = min(best, time.process_time() - started)
    return best / propagation.layout.n_slots * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["digits", "exact", "peers", "size"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--labels", type=int, default=1, help="a class")
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0, help="of a sampler")
    parser.add_argument("--nodes", type=int, default=70_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    {"digits": digits, "exact": exact, "peers": peers, "size": size}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
