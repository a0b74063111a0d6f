"""The samplers beside their peers, in one run: tables on the screen and in samplers.md, one plot.

    python benchmarks/samplers.py [--part a ... e] [--long] [--out DIR]

a  ns per node update of what the engines run, against dwave-samplers, peapods and openjij
b  ns per node of a Swendsen-Wang sweep, against peapods and openjij
c  error against CPU seconds on toy set 1, against the junction tree
d  unsupervised clustering of blobs, time and agreement with the truth, against spclustering
e  CPU seconds to a standard error of 0.05 for growing 10-NN graphs

Times are CPU times of one thread (time.process_time); in a and b the smallest of several short
rounds in which all take turns. Engines run over a ladder between the lowest and the highest
temperature of the part, with the walkers they choose (`walkers_for`) and the moves between levels;
where they choose clusters (more than two states, or couplings that differ) an update of a node is
its share of a Swendsen-Wang sweep, which does more than a single-node one. Peers (requirements.txt)
may be missing. Kernels are compiled before anything is timed. Engines start from a seed, and
`max_seconds` bounds them, so an error above `tol` means that the time was up.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import contestants as c
import numpy as np
from report import Report, Row
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from spinlearn import KNN, Graph, PottsModel
from spinlearn.baselines import SuperparamagneticClustering
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import (
    JunctionTree,
    Metropolis,
    Multicanonical,
    SwendsenWang,
    Tempering,
)
from spinlearn.engines.sampling.walkers import BitWalkers, walkers_for
from spinlearn.errors import ConvergenceWarning
from spinlearn.model.phases import temperature_grid

ROUNDS = 6
LATTICES = (64, 256)
LATTICE_TEMPERATURES = (1.0, 1.5)  # below and above T_c = 1.135 of q = 2
CRITICAL = 1 / np.log(1 + np.sqrt(2))
GRAPH_TEMPERATURES = (1.0, 2.5, 5.0)
DWAVE = "dwave-samplers, q=2"
MULTICANONICAL = "multicanonical engine"
LOCAL = "tempering engine, local moves"
ONE = "local moves at one temperature"

TOY_TEMPERATURES = np.linspace(0.3, 2.0, 18)
TOY_TOLERANCES = (0.04, 0.02, 0.01)
TOY_SECONDS = 20.0

SPC_TEMPERATURES = 26  # of spclustering, with 100 sweeps each
SPC_ROUNDS = 3
GROWTH_TOLERANCE = 0.05


# -- a, b: speed -------------------------------------------------------------------------------


def lattice(side: int, q: int) -> PottsModel:
    """Periodic square lattice with unit couplings."""
    nodes = np.arange(side * side).reshape(side, side)
    pairs = [np.stack([nodes.ravel(), np.roll(nodes, -1, axis).ravel()], 1) for axis in (0, 1)]
    return PottsModel(Graph(side * side, np.concatenate(pairs)), q)


def neighbour_graph(q: int, n: int = 5000, dimension: int = 10) -> PottsModel:
    """10-NN graph of normal points; couplings real, 1 in the mean."""
    graph = KNN(n_neighbors=10).build(np.random.default_rng(0).normal(size=(n, dimension)))
    return PottsModel(graph, q, couplings=graph.weights / graph.weights.mean())


def lattice_contestants(side: int, temperature: float) -> dict[str, c.Contestant | None]:
    """All who update single nodes of a lattice."""
    ising = lattice(side, 2)
    sweeps = max(2, 40_000 // side**2)
    found: dict[str, c.Contestant | None] = {
        DWAVE: c.dwave(ising, temperature),
        "peapods, q=2": c.peapods_metropolis(side, temperature),
        "openjij, q=2": c.openjij(ising, temperature),
    }
    for q in (2, 3):
        found |= our_contestants(lattice(side, q), temperature, LATTICE_TEMPERATURES, sweeps)
    return found


def our_contestants(
    model: PottsModel, temperature: float, between: Sequence[float], sweeps: int
) -> dict[str, c.Contestant | None]:
    """The engines over a ladder, and their local moves at one temperature."""
    chosen, local = walkers_for(model), walkers_for(model, local=True)
    ladder = min(between), max(between)
    q = model.n_states
    return {
        f"{MULTICANONICAL}, q={q}": c.engine_steps(chosen, model, ladder, sweeps, drawn=True),
        f"{LOCAL}, q={q}": c.engine_steps(local, model, ladder, sweeps, drawn=False),
        f"{ONE}, q={q}": c.canonical(local, model, temperature, sweeps),
    }


def graph_contestants(temperature: float) -> dict[str, c.Contestant | None]:
    """All who update single nodes of a graph with real couplings."""
    ising = neighbour_graph(2)
    found: dict[str, c.Contestant | None] = {
        DWAVE: c.dwave(ising, temperature),
        "peapods, q=2": None,
        "openjij, q=2": c.openjij(ising, temperature),
    }
    for q in (2, 3, 10):
        found |= our_contestants(neighbour_graph(q), temperature, GRAPH_TEMPERATURES, 4)
    return found


def compare(
    report: Report,
    title: str,
    temperatures: Sequence[float],
    make: Callable[[float], dict[str, c.Contestant | None]],
    reference: str,
    absent: dict[str, str] | None = None,
) -> dict[str, float]:
    """A table of ns per update at several temperatures; smallest ratio to the reference by name."""
    results = [c.compete(make(t), ROUNDS) for t in temperatures]
    header = [""]
    for t in temperatures:
        header += [f"T = {t:.3g}: ns", f"{reference.split(',')[0]} / it"]
    rows, ratios = [], {}
    for name in results[0]:
        row: list[str] = [name]
        for result in results:
            value, other = result[name], result[reference]
            if value is None:
                row += [(absent or {}).get(name, "not installed"), ""]
                continue
            ratio = np.nan if other is None else other / value
            ratios[name] = float(np.minimum(ratios.get(name, np.inf), ratio))  # keeps NaN
            row += [f"{value:.3g}", f"{ratio:.1f}"]
        rows.append(row)
    report.table(title, header, rows)
    return ratios


def part_a(report: Report, long: bool) -> None:
    """Node updates."""
    report.say("## a. Cost of a node update (of one walker)")
    targets: list[tuple[str, float, float]] = []
    for side in LATTICES:
        name = f"{side} x {side} periodic lattice"
        make = partial(lattice_contestants, side)
        ratios = compare(report, name, LATTICE_TEMPERATURES, make, DWAVE)
        for q, least in ((2, 10.0), (3, 3.0)):
            # else the multicanonical engine moves clusters, see part b
            bits = walkers_for(lattice(side, q)) is BitWalkers
            for run in (MULTICANONICAL, LOCAL) if bits else (LOCAL,):
                targets.append((f"{name}: {run}, q={q}", ratios[f"{run}, q={q}"], least))
    absent = {"peapods, q=2": "lattices only"}
    name = "10-NN graph, n = 5000, real couplings"
    ratios = compare(report, name, GRAPH_TEMPERATURES, graph_contestants, DWAVE, absent)
    for q in (2, 3, 10):
        targets.append((f"{name}: {LOCAL}, q={q}", ratios[f"{LOCAL}, q={q}"], 2.0))
    report_targets(report, "Against dwave-samplers, smallest ratio over T", targets)


def report_targets(report: Report, title: str, targets: list[tuple[str, float, float]]) -> None:
    """What was asked for and what was measured."""

    def verdict(ratio: float, least: float) -> str:
        if np.isnan(ratio):
            return "peer not installed"
        return "yes" if ratio >= least else "**no**"

    rows = [
        (name, f"{ratio:.2f}", f"{least:g}", verdict(ratio, least))
        for name, ratio, least in targets
    ]
    report.table(title, ("", "ratio", "wanted", "met"), rows)


def cluster_contestants(side: int, temperature: float) -> dict[str, c.Contestant | None]:
    """All who make Swendsen-Wang sweeps of a lattice."""
    ising = lattice(side, 2)
    sweeps = max(2, 100_000 // side**2)
    return {
        "peapods, q=2": c.peapods_clusters(side, temperature),
        "openjij, q=2": c.openjij(ising, temperature, updater="swendsen wang"),
        "clusters, q=2": c.clusters(ising, temperature, 8, sweeps),
        "clusters, q=3": c.clusters(lattice(side, 3), temperature, 8, sweeps),
    }


def part_b(report: Report, long: bool) -> None:
    """Swendsen-Wang sweeps."""
    report.say("## b. Cost of a Swendsen-Wang sweep, per node")
    temperatures = (1.0, CRITICAL, 1.5)
    targets = []
    for side in LATTICES:
        name = f"{side} x {side} periodic lattice"
        make = partial(cluster_contestants, side)
        ratios = compare(report, f"{name}, clusters", temperatures, make, "peapods, q=2")
        targets.append((f"{name}, q=2", ratios["clusters, q=2"], 2.3))
    report_targets(report, "Against peapods, smallest ratio over T", targets)


# -- c: error against time ---------------------------------------------------------------------


def engines(**settings: Any) -> list[Any]:
    """Every sampling engine there is, with the same settings."""
    kinds = (Multicanonical, Tempering, SwendsenWang, Metropolis)
    return [kind(**settings) for kind in kinds]


def timed_run(
    engine: Any, model: PottsModel, temperatures: np.ndarray, seed: int
) -> tuple[float, Any]:
    """CPU seconds and equilibrium; what did not converge is in the table, so no warning."""
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = c.cpu_seconds(lambda: results.append(engine.run(model, temperatures, seed=seed)))
    return seconds, results[0]


def part_c(report: Report, long: bool) -> None:
    """Toy set 1."""
    toy = two_bands()
    model = MinCut()(toy.graph(), toy.labels, 2)
    exact = JunctionTree().run(model, TOY_TEMPERATURES).marginals
    for engine in engines(tol=1.0, max_seconds=2.0):  # compile
        timed_run(engine, model, TOY_TEMPERATURES[-2:], seed=0)

    def rows() -> Iterable[Row]:
        for tol in TOY_TOLERANCES:
            for engine in engines(tol=tol, max_seconds=TOY_SECONDS):
                alone = engine.name in ("swendsen_wang", "metropolis")  # stuck with any seed
                for seed in (1,) if alone else (1, 2, 3) if long else (1, 2):
                    yield error_row(report, engine, model, exact, seed)

    report.say("## c. Error against CPU seconds, toy set 1, T = 0.3 ... 2.0")
    report.table(
        f"Worst of all nodes and temperatures; max_seconds = {TOY_SECONDS:g}",
        (
            "engine",
            "tol",
            "seed",
            "CPU s",
            "worst error",
            "worst std. error",
            "converged T",
            "worst error there",
        ),
        rows(),
    )


def error_row(report: Report, engine: Any, model: PottsModel, exact: np.ndarray, seed: int) -> Row:
    """One run against the exact marginals."""
    seconds, run = timed_run(engine, model, TOY_TEMPERATURES, seed)
    errors = np.abs(run.marginals - exact).max(axis=(1, 2))
    worst, reached = float(errors.max()), run.converged
    report.point("c: worst error, toy set 1", engine.name, seconds, worst)
    believed = f"{errors[reached].max():.3f}" if np.any(reached) else ""
    return (
        engine.name, engine.tol, seed, f"{seconds:.1f}", f"{worst:.3f}",
        f"{run.std_error.max():.3f}", f"{reached.sum()} of {len(reached)}", believed,
    )  # fmt: skip


# -- d: clustering -----------------------------------------------------------------------------


def best_agreement(truth: np.ndarray, clusterings: Iterable[np.ndarray]) -> float:
    """Largest adjusted Rand index over temperatures."""
    return max(adjusted_rand_score(truth, labels) for labels in clusterings)


def clustering_blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight blobs of different width, which touch."""
    widths = np.linspace(0.6, 1.2, 8)
    X, truth = make_blobs(n, 3, centers=8, cluster_std=widths, random_state=1)[:2]
    return X, truth


def spc_fit(X: np.ndarray, seed: int) -> tuple[float, np.ndarray, np.ndarray | None]:
    """CPU seconds, clusters (T, n) of spclustering with its defaults, and its own choice (WC1)."""
    from spclustering import SPC

    found: list[np.ndarray] = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # it may write files
        settings = {"mintemp": 0, "maxtemp": 0.01 * SPC_TEMPERATURES - 0.005, "tempstep": 0.01}
        clustering = SPC(**settings, randomseed=seed)
        seconds = c.cpu_seconds(lambda: found.append(clustering.run(X)))
        chosen = clustering.fit_WC1(X, min_clus=max(3, len(X) // 50))  # as ours; not timed
    return seconds, found[0], chosen


def our_fit(X: np.ndarray, seed: int) -> tuple[float, np.ndarray, np.ndarray | None]:
    """The same of `SuperparamagneticClustering`, which chooses a temperature in the time given."""
    model = SuperparamagneticClustering(random_state=seed)
    seconds = c.cpu_seconds(lambda: model.fit(X))
    return seconds, model.tree_.members, model.labels_


def clustering_rows(n: int, fits: dict[str, Callable[..., Any]]) -> Iterable[Row]:
    """Both on the same points, taking turns with different seeds."""
    X, truth = clustering_blobs(n)
    rounds = [{name: fit(X, seed) for name, fit in fits.items()} for seed in range(SPC_ROUNDS)]
    for name in fits:
        times = np.array([one[name][0] for one in rounds])
        ratios = times / np.array([one[next(iter(fits))][0] for one in rounds])
        best = [best_agreement(truth, one[name][1]) for one in rounds]
        chosen = [adjusted_rand_score(truth, one[name][2]) for one in rounds]
        spread = f"{ratios.min():.2f}-{ratios.max():.2f}"
        agreements = (f"{np.median(values):.3f}" for values in (best, chosen))
        yield (n, name, f"{np.median(times):.2f}", spread, *agreements)


def part_d(report: Report, long: bool) -> None:
    """Unsupervised clustering."""

    def rows() -> Iterable[Row]:
        our_fit(clustering_blobs(100)[0], 0)  # compile
        fits = {"spclustering": spc_fit} if c.installed("spclustering") else {}
        for n in (1000, 5000, 20000) if long else (1000, 5000):
            yield from clustering_rows(n, {**fits, "SuperparamagneticClustering": our_fit})

    report.say("## d. Unsupervised clustering of 8 blobs in 3 dimensions, q = 20")
    report.table(
        f"Graph included, {SPC_ROUNDS} rounds; medians of the adjusted Rand index",
        (
            "n",
            "method",
            "CPU s, median",
            "relative to the first",
            "best over T",
            "chosen",
        ),
        rows(),
    )
    report.say(
        "Best knows the truth. Chosen is without it: by eta, and by spclustering's WC1 rule. The "
        "constants of our rule were settled on these blobs."
    )


# -- e: growth ---------------------------------------------------------------------------------


def growing_model(n: int) -> PottsModel:
    """Union 10-NN graph of five blobs that touch, 20 labels a class."""
    X, truth = make_blobs(n, 5, centers=5, cluster_std=2.5, random_state=3)[:2]
    labels = np.full(n, -1)
    generator = np.random.default_rng(0)
    for k in range(5):
        chosen = generator.choice(np.flatnonzero(truth == k), 20, replace=False)
        labels[chosen] = k
    return MinCut()(KNN(n_neighbors=10).build(X), labels, 5)


def part_e(report: Report, long: bool) -> None:
    """Cost of a fixed standard error."""
    sizes = (300, 1000, 3000, 10000, 30000) if long else (300, 1000, 3000)
    limit = 600.0 if long else 30.0
    times: dict[str, list[tuple[int, float]]] = {}

    def rows() -> Iterable[Row]:
        small = growing_model(sizes[0])
        for engine in engines(tol=1.0, max_seconds=1.0)[:2]:
            timed_run(engine, small, temperature_grid(small, 13)[-2:], seed=0)  # compile
        for n in sizes:
            model = growing_model(n)
            temperatures = temperature_grid(model, 13)[1:]
            for engine in engines(tol=GROWTH_TOLERANCE, max_seconds=limit)[:2]:
                seconds, run = timed_run(engine, model, temperatures, seed=1)
                if np.all(run.converged):
                    times.setdefault(engine.name, []).append((n, seconds))
                    report.point("e: CPU s to std. error 0.05", engine.name, n, seconds)
                converged = f"{run.converged.sum()} of {len(temperatures)}"
                worst = f"{run.std_error.max():.3f}"
                yield (n, model.graph.n_edges, engine.name, f"{seconds:.1f}", worst, converged)

    report.say(f"## e. CPU seconds to standard error {GROWTH_TOLERANCE:g}, q = 5, 12 temperatures")
    report.table(
        f"10-NN graphs of five blobs; max_seconds = {limit:g}",
        ("n", "edges", "engine", "CPU s", "worst std. error", "converged T"),
        rows(),
    )
    for name, points in times.items():
        if len(points) > 1:
            exponent = np.polyfit(*np.log(np.array(points, dtype=float)).T, 1)[0]
            reached = ", ".join(str(n) for n, _ in points)
            report.say(f"{name}: CPU time grows as n^{exponent:.2f} over n = {reached}.")
    report.say("Runs that did not reach the standard error are left out of plot and exponents.")


# -- the run -----------------------------------------------------------------------------------

PARTS = {"a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e}


def plot(report: Report, path: Path) -> None:
    """One panel per part with curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = report.curves
    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), squeeze=False)
    for axis, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for name, points in curves.items():
            axis.loglog(*np.array(sorted(points)).T, "o-", label=name)
        axis.set(title=title, xlabel="n" if title.startswith("e") else "CPU seconds")
        axis.grid(which="both", alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=tuple(PARTS), action="append", help="default: all")
    parser.add_argument("--long", action="store_true", help="20,000 points in d, 30,000 in e")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    report = Report()
    for part in chosen.part or PARTS:
        PARTS[part](report, chosen.long)
        (chosen.out / "samplers.md").write_text("\n".join(report.text))
    if report.curves:
        plot(report, chosen.out / "samplers.png")


if __name__ == "__main__":
    main()
