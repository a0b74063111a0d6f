"""Are the samplers honest at size, and how soon is an answer settled: tables, also in sampling.md.

    python benchmarks/sampling.py [--part oracles ...] [--seeds N] [--sweeps N] [--seconds S]

oracles   z-scores of 10,000 and 100,000 nodes against the junction tree (tests/oracles.py)
blobs     p at T against p at 1.002 T, and against a run of ten times the sweeps: 3,000 and 10,000
          points of five overlapping Gaussian classes
answers   default runs: CPU seconds, and calls equal to those of a run of S seconds (--seconds)
toy       worst error after 10 s on toy set 1
digits1   largest standard error after 60 s, digits with one label a class

Rows that an engine marks as not equilibrated are named, and left out where errors are judged.
Times are CPU times of one thread; limits (`max_seconds`) are what the engine's own clock shows, so
give it a core of its own. Kernels are compiled before anything is timed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import few_labels_sets
import numpy as np
from contestants import cpu_seconds
from report import Report, Row

from spinlearn import KNN, PottsClassifier, PottsModel
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import JunctionTree, Multicanonical, Tempering
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    UnsupportedModelError,
)
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.phases import temperature_grid

ENGINES = (Tempering, Multicanonical)
NEVER = 1e-9  # a tolerance that only limits end

ORACLE_TEMPERATURES = np.array([0.5, 0.7, 1.0, 1.5])
ORACLE_SIZES = (10_000, 100_000)
ORACLE_TOLERANCE = 0.05

BLOB_SIZES = (3_000, 10_000)
BLOB_CLASSES, BLOB_DIMENSION, BLOB_LABELS = 5, 10, 10
NEARBY = 1.002  # of a temperature, where nothing should have changed
LONGER = 10

SET_OPTIONS = SimpleNamespace(data=None, extra=None, fashion=None, neighbors=10, small_neighbors=5)
ANSWER_SETS = ("digits", "breast_cancer", "wine", "pbmc68k")
ANSWER_ENERGIES = ("min_cut", "modularity")
ANSWER_SECONDS, ANSWER_SHARE = 15.0, 0.995  # wanted

TOY_TEMPERATURES = np.linspace(0.3, 2.0, 18)
TOY_SECONDS, TOY_ERROR = 10.0, 0.02
DIGITS_TEMPERATURES = np.linspace(1.6, 6.0, 12)  # in mean couplings
DIGITS_SECONDS, DIGITS_ERROR = 60.0, 0.03


def verdict(met: Any) -> str:
    """A cell that is found at a glance."""
    return "yes" if met else "**no**"


def timed_run(
    engine: Any, model: PottsModel, temperatures: np.ndarray, seed: int
) -> tuple[float, Equilibrium]:
    """CPU seconds and equilibrium; what did not converge is in the table, so no warning."""
    results: list[Equilibrium] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = cpu_seconds(lambda: results.append(engine.run(model, temperatures, seed=seed)))
    return seconds, results[0]


def equilibrated(run: Equilibrium) -> np.ndarray:
    """Rows that the run vouches for; all, where the engine does not say."""
    marks = getattr(run, "equilibrated", None)
    return np.ones(len(run.temperatures), dtype=bool) if marks is None else np.asarray(marks)


def compile_kernels() -> None:
    """One short run of every engine, of two states and of more, and of the exact one."""
    for n_states in (2, 3):
        rng = np.random.default_rng(0)
        graph = KNN(n_neighbors=4).build(rng.normal(size=(60, 2)))
        for couplings in (graph.weights, np.ones(graph.n_edges)):
            model = PottsModel(graph, n_states, couplings=couplings, clamped=[0, 1] + 58 * [-1])
            JunctionTree().run(model, ORACLE_TEMPERATURES)
            for engine in ENGINES:
                timed_run(engine(max_sweeps=50), model, ORACLE_TEMPERATURES, seed=0)


# -- oracles -----------------------------------------------------------------------------------


def oracle_models(n: int) -> dict[str, Callable[[int], PottsModel]]:
    """The four families at about n nodes, by seed."""
    sys.path.append(str(Path(__file__).parents[1]))  # tests is no part of the package
    from tests import oracles

    return {
        "strip, q = 2": lambda seed: oracles.strip(n // 4, 4, 2, seed),
        "ribbon, q = 3": lambda seed: oracles.ribbon(n // 4, 4, 3, seed),
        "blob tree, q = 3": lambda seed: oracles.blob_tree(n // 6, 6, 3, seed),
        "clique chain, q = 3": lambda seed: oracles.clique_chain(n // 6, 6, 3, seed),
    }


def oracle_rows(options: argparse.Namespace) -> Iterable[Row]:
    """One row per run."""
    for n in ORACLE_SIZES:
        for family, make in oracle_models(n).items():
            for seed in range(options.seeds):
                yield family, n, seed, *oracle_scores(make(seed), seed, options.sweeps)


def oracle_scores(model: PottsModel, seed: int, sweeps: int) -> Row:
    """Time, z-scores of the rows vouched for, and which laws are broken."""
    from tests.oracles import broken_laws, scores, share_below_two

    exact = JunctionTree().run(model, ORACLE_TEMPERATURES)
    engine = Tempering(tol=ORACLE_TOLERANCE, max_sweeps=sweeps)
    seconds, run = timed_run(engine, model, ORACLE_TEMPERATURES, seed)
    found = scores(run, exact)
    judged = found.rows(found.equilibrated)
    cells = [f"{seconds:.1f}"]
    for z in judged.tables.values():
        cells += [f"{share_below_two(z):.3f}", f"{np.abs(z).max(initial=0.0):.1f}"]
    wrong = found.wrongly_converged(ORACLE_TOLERANCE)
    broken = broken_laws(found, ORACLE_TOLERANCE)
    return (
        *cells, f"{np.abs(judged.bias).max(initial=0.0):.2f}",
        f"{found.worst_error.max():.3f}", f"{wrong.sum()} of {found.converged.sum()}",
        f"{(~found.equilibrated).sum()} of {len(ORACLE_TEMPERATURES)}", verdict(not broken),
    )  # fmt: skip


def part_oracles(report: Report, options: argparse.Namespace) -> None:
    """Exact answers at size."""
    report.say("## Oracles at size")
    listed = ", ".join(f"{t:g}" for t in ORACLE_TEMPERATURES)
    report.table(
        f"Tempering, tol = {ORACLE_TOLERANCE:g}, max_sweeps = {options.sweeps}, T = {listed}",
        (
            "model", "nodes", "seed", "CPU s", "marginals: share of z < 2", "largest z",
            "agreements: share of z < 2", "largest z", "largest mean z", "largest error",
            "wrongly converged", "not equilibrated", "laws hold",
        ),
        oracle_rows(options),
    )  # fmt: skip


# -- blobs -------------------------------------------------------------------------------------


def blob_model(n: int) -> PottsModel:
    """The minimum cut on the 10-NN graph of classes that overlap, ten labels each."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, BLOB_CLASSES, n)
    centres = rng.normal(0, 1.2, (BLOB_CLASSES, BLOB_DIMENSION))
    X = centres[truth] + rng.normal(size=(n, BLOB_DIMENSION))
    labels = np.full(n, -1)
    for k in range(BLOB_CLASSES):
        labels[rng.choice(np.flatnonzero(truth == k), BLOB_LABELS, replace=False)] = k
    return MinCut()(KNN(n_neighbors=10).build(X), labels, BLOB_CLASSES)


def blob_rows(options: argparse.Namespace) -> Iterable[Row]:
    """One row per size, engine and temperature."""
    for n in BLOB_SIZES:
        model = blob_model(n)
        temperatures = temperature_grid(model, 13)[1:]  # without T = 0
        for kind in ENGINES:
            short, long = (
                kind(tol=NEVER, max_sweeps=times * options.sweeps) for times in (1, LONGER)
            )
            try:
                seconds, run = timed_run(short, model, temperatures, seed=1)
            except UnsupportedModelError as error:
                yield n, kind.name, f"refused: {error}", *(9 * [""])
                continue
            longer = timed_run(long, model, temperatures, seed=2)[1]
            for k in range(len(run.temperatures)):
                yield n, kind.name, *blob_row(run, longer, k, seconds)


def blob_row(run: Equilibrium, longer: Equilibrium, k: int, seconds: float) -> Row:
    """A temperature beside the next one (in the larger error of both) and the longer run."""
    temperature = float(run.temperatures[k])
    free = run.model.clamped < 0
    stated = run.std_error[k, free]
    vouched = equilibrated(run)[k]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            there = run.at([NEARBY * temperature])
        moved = np.abs(there.marginals[0] - run.marginals[k])[free]
        steps = float((moved / np.maximum(stated, there.std_error[0, free])).max())
        nearby = [f"{moved.max():.3f}", f"{steps:.1f}", verdict(steps <= 3 or not vouched)]
    except InvalidInputError:
        nearby = ["refused", "", "yes"]
    missed = np.abs(longer.marginals[k] - run.marginals[k])[free]
    covered = float(np.mean(missed <= 3 * stated))
    return (
        f"{temperature:.3g}", f"{seconds:.0f}", f"{stated.max():.4f}", *nearby,
        f"{missed.max():.3f}", f"{covered:.3f}",
        "yes" if vouched else "not equilibrated", verdict(covered >= 0.99 or not vouched),
    )  # fmt: skip


def part_blobs(report: Report, options: argparse.Namespace) -> None:
    """Overlapping classes."""
    report.say("## Five overlapping Gaussian classes in ten dimensions, 10-NN, ten labels each")
    report.table(
        f"max_sweeps = {options.sweeps}; the longer run has {LONGER} times as many",
        (
            "points", "engine", "T", "CPU s", "largest stated error",
            f"largest step to {NEARBY} T", "in stated errors", "within three",
            "largest step to the longer run", "share within three stated errors", "equilibrated",
            "99 % covered or marked",
        ),
        blob_rows(options),
    )  # fmt: skip


# -- answers -----------------------------------------------------------------------------------


def calls_of(
    X: np.ndarray, labels: np.ndarray, energy: str, engine: Any, seed: int
) -> tuple[float, np.ndarray]:
    """CPU seconds of a fit, and the class of every point."""
    model = PottsClassifier(engine=engine, energy=energy, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = cpu_seconds(lambda: model.fit(X, labels))
        return seconds, np.asarray(model.names_)


def answer_rows(options: argparse.Namespace) -> Iterable[Row]:
    """One row per set, energy and seed."""
    for name in ANSWER_SETS:
        try:
            given = few_labels_sets.load(name, SET_OPTIONS)
        except few_labels_sets.NotAtHandError as error:
            yield name, f"left out: {error}", *(5 * [""])
            continue
        labels = given.drawn("10", 0)
        for energy in ANSWER_ENERGIES:
            patient = Tempering(tol=1e-4, max_seconds=options.seconds)
            _, settled = calls_of(given.X, labels, energy, patient, seed=1000)
            for seed in range(options.seeds):
                seconds, calls = calls_of(given.X, labels, energy, "tempering", seed)
                share = float(np.mean(calls == settled))
                met = seconds <= ANSWER_SECONDS and share >= ANSWER_SHARE
                yield (
                    name,
                    len(labels),
                    energy,
                    seed,
                    f"{seconds:.1f}",
                    f"{share:.4f}",
                    verdict(met),
                )


def part_answers(report: Report, options: argparse.Namespace) -> None:
    """Settled calls."""
    report.say("## Default runs, ten labels a class")
    report.table(
        f"engine='tempering'; calls beside those of tol = 1e-4, {options.seconds:g} s; wanted: "
        f"{ANSWER_SECONDS:g} CPU s and {ANSWER_SHARE}",
        ("set", "points", "energy", "seed", "CPU s", "share of equal calls", "met"),
        answer_rows(options),
    )


# -- toy, digits1 ------------------------------------------------------------------------------


def toy_rows(options: argparse.Namespace) -> Iterable[Row]:
    """One row per engine and seed."""
    toy = two_bands()
    model = MinCut()(toy.graph(), toy.labels, 2)
    exact = JunctionTree().run(model, TOY_TEMPERATURES).marginals
    for kind in ENGINES:
        for seed in range(options.seeds):
            engine = kind(tol=NEVER, max_seconds=TOY_SECONDS)
            seconds, run = timed_run(engine, model, TOY_TEMPERATURES, seed)
            errors = np.abs(run.marginals - exact).max(axis=(1, 2))
            at = f"{TOY_TEMPERATURES[errors.argmax()]:g}"
            worst, met = errors.max(), verdict(errors.max() <= TOY_ERROR)
            yield kind.name, seed, f"{seconds:.1f}", f"{worst:.4f}", at, met


def part_toy(report: Report, options: argparse.Namespace) -> None:
    """Toy set 1."""
    report.say(f"## Toy set 1, T = 0.3 ... 2.0, {TOY_SECONDS:g} s")
    report.table(
        f"Largest error of a marginal, wanted: {TOY_ERROR:g}",
        ("engine", "seed", "CPU s", "worst error", "at T", "met"),
        toy_rows(options),
    )


def digits_rows(options: argparse.Namespace) -> Iterable[Row]:
    """One row per engine and temperature."""
    given = few_labels_sets.load("digits", SET_OPTIONS)
    model = MinCut()(given.graph.homogeneous(), given.drawn("1", 0), given.n_classes)
    for kind in ENGINES:
        engine = kind(tol=NEVER, max_seconds=DIGITS_SECONDS)
        seconds, run = timed_run(engine, model, DIGITS_TEMPERATURES, seed=0)
        vouched = equilibrated(run)
        for t, error, sure in zip(run.temperatures, run.std_error, vouched, strict=True):
            met = verdict(error.max() <= DIGITS_ERROR)
            yield kind.name, f"{seconds:.0f}", f"{t:.2f}", f"{error.max():.4f}", verdict(sure), met


def part_digits1(report: Report, options: argparse.Namespace) -> None:
    """Ten classes melting."""
    report.say("## Digits, one label a class, minimum cut with homogeneous couplings of mean 1")
    report.table(
        f"Largest standard error after {DIGITS_SECONDS:g} s, wanted: {DIGITS_ERROR:g}",
        ("engine", "CPU s", "T", "largest standard error", "equilibrated", "met"),
        digits_rows(options),
    )


# -- the run -----------------------------------------------------------------------------------

PARTS = {
    "oracles": part_oracles,
    "blobs": part_blobs,
    "answers": part_answers,
    "toy": part_toy,
    "digits1": part_digits1,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=tuple(PARTS), action="append", help="default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sweeps", type=int, default=400, help="of oracles and blobs")
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="of the patient run in answers"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    report = Report()
    compile_kernels()
    for part in options.part or PARTS:
        PARTS[part](report, options)
        (options.out / "sampling.md").write_text("\n".join(report.text))


if __name__ == "__main__":
    main()
