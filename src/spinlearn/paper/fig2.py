"""Figure 2: errors against temperature on the toy set of figure 1, exactly and sampled.

Exact, with labels (SS) and without (US), by the junction tree; multicanonical (MC) by independent
runs: the decision is made from their mean marginals, its error bar is the jackknife over runs, and
the marginals of every run are compared with the exact ones in units of its own standard errors.
The same cells serve claims (f), samplers that stay at one temperature, and (g), message passing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.analysis.phases import GRAIN, GRAIN_POINTS, WHOLE, Phase, phases
from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.core.results import Equilibrium
from spinlearn.datasets import two_bands
from spinlearn.decision import best_temperature, profile
from spinlearn.energies import min_cut
from spinlearn.engines import ENGINES, JunctionTree, Multicanonical
from spinlearn.engines.tempering import Metropolis, SwendsenWang
from spinlearn.paper.comparison import cell_seed, run_quietly, wrong_points
from spinlearn.paper.runner import Cell, Settings, Task
from spinlearn.paper.scale import Scale

NAME = "fig2"
EXACT_TEMPERATURES = np.round(np.linspace(0.0, 2.0, 81), 3)
SAMPLED_TEMPERATURES = np.round(np.linspace(0.3, 2.0, 18), 2)
TRAP_TEMPERATURES = (0.3, 0.5, 0.7, 0.9, 1.1, 1.3)
MESSAGE_ENGINES = ("belief_propagation", "generalized_bp")
DIGITS = 6  # of averages kept in a cell


def tasks(scale: Scale, seed: int) -> list[Task]:
    """Exact curves, independent multicanonical chains, trapped samplers, message passing."""
    grid = EXACT_TEMPERATURES[:: scale.stride]
    cells: list[dict[str, Any]] = [
        {"kind": "exact", "labels": labels, "temperatures": grid.tolist()}
        for labels in (True, False)
    ]
    for chain in range(scale.n_chains):
        cells.append(
            {
                "kind": "multicanonical",
                "temperatures": SAMPLED_TEMPERATURES.tolist(),
                "tol": scale.chain_tol,
                "max_sweeps": scale.max_sweeps,
                "seed": cell_seed(seed, 2, chain),
            }
        )
    for k, engine in enumerate(("metropolis", "swendsen_wang")):
        cells.append(
            {
                "kind": "trap",
                "engine": engine,
                "temperatures": list(TRAP_TEMPERATURES),
                "max_sweeps": scale.trap_sweeps,
                "seed": cell_seed(seed, 3, k),
            }
        )
    for engine in MESSAGE_ENGINES:
        if engine in ENGINES:
            cells.append(
                {"kind": "messages", "engine": engine, "temperatures": list(TRAP_TEMPERATURES)}
            )
    return [Task(NAME, cell) for cell in cells]


def compute(settings: Settings) -> Cell:
    """One curve."""
    toy = two_bands()
    kind, temperatures = settings["kind"], np.array(settings["temperatures"])
    labelled = settings.get("labels", True)
    model = min_cut(toy.graph(), toy.labels if labelled else np.full(toy.n_points, -1), 2)
    if kind == "exact":
        run = JunctionTree().run(model, temperatures)
        grains = [
            {"phase": i.phase.value, "low": i.low, "high": i.high} for i in phases(run).intervals()
        ]
        return {
            **_curve(run, labelled),
            "phases": _phase_intervals(run, labelled),
            "grain_phases": grains,
        }
    run = run_quietly(_engine(settings), model, temperatures, settings.get("seed", 0))
    averages = {}
    if kind == "multicanonical":
        averages = {
            "marginals": np.round(run.marginals[:, :, 0], DIGITS).tolist(),
            "agreement": np.round(run.edge_agreement, DIGITS).tolist(),
        }
    return {
        **_curve(run, True),
        **averages,
        **_against_exact(run, model),
        "worst_std_error": [] if run.std_error is None else run.std_error.max(axis=(1, 2)).tolist(),
        "converged": run.converged.tolist(),
    }


def draw(cells: list[Cell], out: Path) -> list[Path]:
    """Errors against T, with phases and error bars."""
    from spinlearn.paper.drawing import temperature_curves, write_csv

    curves = summary(cells)
    files = temperature_curves(curves, out / "figure2")
    rows = []
    for name in ("exact SS", "exact US", "MC"):
        curve = curves[name]
        spread = curve.get("std_error", np.zeros(len(curve["errors"])))
        rows += [
            [name, t, e, s]
            for t, e, s in zip(curve["temperatures"], curve["errors"], spread, strict=True)
        ]
    path = write_csv(out / "figure2.csv", ["curve", "T", "misclassified", "standard_error"], rows)
    return [*files, path]


def summary(cells: list[Cell]) -> dict[str, Any]:
    """The curves of the figure and the comparisons with the exact answer, by name."""
    found: dict[str, Any] = {"n_points": two_bands().n_points, "traps": {}, "messages": {}}
    chains = []
    for cell in cells:
        settings, result = cell["settings"], cell["result"]
        if settings["kind"] == "exact":
            found["exact SS" if settings["labels"] else "exact US"] = result
        elif settings["kind"] == "multicanonical":
            chains.append(result)
        else:
            group = "traps" if settings["kind"] == "trap" else "messages"
            found[group][settings["engine"]] = result
    errors, std_error = _pooled_errors(chains)
    found["MC"] = {
        "temperatures": chains[0]["temperatures"],
        "errors": errors.tolist(),
        "std_error": std_error.tolist(),
        "exact_errors": chains[0]["exact_errors"],
        "n_chains": len(chains),
        "worst_difference": np.max([c["worst_difference"] for c in chains], axis=0).tolist(),
        "worst_z": np.max([c["worst_z"] for c in chains], axis=0).tolist(),
        "converged": np.all([c["converged"] for c in chains], axis=0).tolist(),
    }
    return found


def _pooled_errors(chains: list[dict[str, Any]]) -> tuple[FloatArray, FloatArray]:
    """Errors of the decision from the mean over chains, and their jackknife standard errors."""
    toy = two_bands()
    model = min_cut(toy.graph(), toy.labels, 2)
    temperatures = np.array(chains[0]["temperatures"])
    marginals = np.array([chain["marginals"] for chain in chains])
    agreement = np.array([chain["agreement"] for chain in chains])
    n_chains = len(chains)

    def errors(kept: list[int]) -> FloatArray:
        first = marginals[kept].mean(axis=0)
        nothing = np.zeros(len(temperatures))
        pooled = Equilibrium(
            model=model,
            temperatures=temperatures,
            marginals=np.stack([first, 1 - first], axis=2),
            edge_agreement=agreement[kept].mean(axis=0),
            mean_energy=nothing,
            heat_capacity=nothing,
            converged=np.ones(len(temperatures), dtype=bool),
            engine="multicanonical",
        )
        return np.array(_curve(pooled, True)["errors"], dtype=float)

    everything = list(range(n_chains))
    if n_chains == 1:
        return errors(everything), np.zeros(len(temperatures))
    left_out = np.array([errors([k for k in everything if k != out]) for out in everything])
    spread = (n_chains - 1) / n_chains * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0)
    return errors(everything), np.sqrt(spread)


def _engine(settings: Settings) -> Any:
    kind = settings["kind"]
    if kind == "multicanonical":
        return Multicanonical(tol=settings["tol"], max_sweeps=settings["max_sweeps"])
    if kind == "trap":
        # tol out of reach: the sweeps decide, and every temperature gets the same number.
        engine = Metropolis if settings["engine"] == "metropolis" else SwendsenWang
        return engine(tol=1e-9, max_sweeps=settings["max_sweeps"])
    return ENGINES[settings["engine"]]()


def _curve(run: Equilibrium, labelled: bool) -> dict[str, Any]:
    toy = two_bands()
    found = profile(run, n_classes=2 if labelled else 0)
    errors = wrong_points(found, toy.truth, [0, 1] if labelled else []).sum(axis=1)
    return {
        "temperatures": found.temperatures.tolist(),
        "errors": errors.tolist(),
        "argmax_errors": np.sum(np.argmax(run.marginals, axis=2) != toy.truth, axis=1).tolist(),
        "auto": best_temperature(found),
        "stability": best_temperature(found, rule="stability"),
    }


def _phase_intervals(run: Equilibrium, labelled: bool) -> list[dict[str, Any]]:
    """Phases by the largest outcome of the decision, with the thresholds of `analysis.phases`.

    Without labels outcomes are grains, and this is the usual definition. With labels the spins of a
    class are aligned by its labels, so what overtakes the system, or dissolves, is a class.
    """
    found = profile(run, n_classes=2 if labelled else 0)
    n = found.outcomes.shape[1]
    intervals: list[dict[str, Any]] = []
    ends = found.boundaries().tolist()
    for k, outcomes in enumerate(found.outcomes):
        decided = outcomes[outcomes >= 0]  # not the confused
        share = np.bincount(decided).max() / n if len(decided) else 0.0
        phase = Phase.SUPERPARAMAGNETIC
        if share >= WHOLE:
            phase = Phase.FERROMAGNETIC
        elif share <= max(GRAIN, GRAIN_POINTS / n):
            phase = Phase.PARAMAGNETIC
        if intervals and intervals[-1]["phase"] == phase.value:
            intervals[-1]["high"] = ends[k + 1]
        else:
            intervals.append({"phase": phase.value, "low": ends[k], "high": ends[k + 1]})
    return intervals


def _against_exact(run: Equilibrium, model: PottsModel) -> dict[str, Any]:
    """Largest difference of a marginal from the exact one, absolute and in standard errors."""
    exact = JunctionTree().run(model, run.temperatures)
    difference = np.abs(run.marginals - exact.marginals)
    result: dict[str, Any] = {
        "worst_difference": difference.max(axis=(1, 2)).tolist(),
        "mean_difference": difference.mean(axis=(1, 2)).tolist(),
        "exact_errors": _curve(exact, True)["errors"],
    }
    if run.std_error is not None:
        z = difference / np.maximum(run.std_error, 1e-4)
        result["worst_z"] = z.max(axis=(1, 2)).tolist()
    return result
