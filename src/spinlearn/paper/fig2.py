"""Figure 2: errors against temperature on the toy set of figure 1, exact beside sampled.

Exact, with labels (SS) and without (US), by the junction tree; multicanonical (MC) by independent
runs, pooled in `curves` and compared there with the exact answer. The same cells serve claims (f),
samplers that stay at one temperature, and (g), message passing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.analysis.phases import GRAIN, GRAIN_POINTS, WHOLE, Phase, phases
from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import ENGINES, JunctionTree, Multicanonical
from spinlearn.paper.comparison import (
    cell_seed,
    chosen_rows,
    paper_profile,
    run_quietly,
    wrong_points,
)
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
                "max_sweeps": scale.chain_sweeps,
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
    # Messages between loops take many seconds where it is cold: the smallest scale leaves that out.
    hot = SAMPLED_TEMPERATURES[-(len(SAMPLED_TEMPERATURES) // scale.stride**2) :]
    for engine in MESSAGE_ENGINES:
        cells.append({"kind": "messages", "engine": engine, "temperatures": hot.tolist()})
    return [Task(NAME, cell) for cell in cells]


def compute(settings: Settings) -> Cell:
    """One curve."""
    toy = two_bands()
    kind, temperatures = settings["kind"], np.array(settings["temperatures"])
    labelled = settings.get("labels", True)
    model = MinCut()(toy.graph(), toy.labels if labelled else np.full(toy.n_points, -1), 2)
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
    exact = JunctionTree().run(model, run.temperatures)
    difference = np.abs(run.marginals - exact.marginals)
    result = {
        **_curve(run, True),
        "worst_difference": difference.max(axis=(1, 2)).tolist(),
        "mean_difference": difference.mean(axis=(1, 2)).tolist(),
        "exact_errors": _curve(exact, True)["errors"],
        "converged": run.converged.tolist(),
    }
    if kind == "multicanonical":
        assert run.std_error is not None
        assert run.agreement_std_error is not None
        result |= {
            "marginals": _rounded(run.marginals[:, :, 0]),
            "std_error": _rounded(run.std_error[:, :, 0]),
            "agreement": _rounded(run.edge_agreement),
            "agreement_std_error": _rounded(run.agreement_std_error),
            "exact_marginals": _rounded(exact.marginals[:, :, 0]),
        }
    return result


def draw(cells: list[Cell], out: Path) -> list[Path]:
    """Errors against T, with phases and error bars."""
    from spinlearn.paper.drawing import temperature_curves, write_csv
    from spinlearn.paper.fig2_curves import SampledCounts, summary

    curves, counts = summary(cells), SampledCounts.of(cells)
    files = temperature_curves(curves, counts, out / "figure2")
    rows: list[list[Any]] = []
    for name in ("exact SS", "exact US"):
        exact = zip(curves[name]["temperatures"], curves[name]["errors"], strict=True)
        rows += [[name, t, e, e, e] for t, e in exact]
    columns = (counts.temperatures, counts.errors, counts.low, counts.high)
    rows += [["MC", *map(float, row)] for row in zip(*columns, strict=True)]
    header = ["curve", "T", "misclassified", "low", "high"]
    return [*files, write_csv(out / "figure2.csv", header, rows)]


def _engine(settings: Settings) -> Any:
    kind = settings["kind"]
    if kind == "multicanonical":
        return Multicanonical(tol=settings["tol"], max_sweeps=settings["max_sweeps"])
    if kind == "trap":
        # tol out of reach: the sweeps decide, and every temperature gets the same number.
        engine: Any = ENGINES[settings["engine"]]
        return engine(tol=1e-9, max_sweeps=settings["max_sweeps"])
    return ENGINES[settings["engine"]]()


def _curve(run: Equilibrium, labelled: bool) -> dict[str, Any]:
    toy = two_bands()
    found = paper_profile(run, 2 if labelled else 0)
    errors = wrong_points(found, toy.truth, [0, 1] if labelled else []).sum(axis=1)
    return {
        "temperatures": found.temperatures.tolist(),
        "errors": errors.tolist(),
        "argmax_errors": np.sum(np.argmax(run.marginals, axis=2) != toy.truth, axis=1).tolist(),
        **{rule: float(found.temperatures[k]) for rule, k in chosen_rows(found, run).items()},
    }


def _phase_intervals(run: Equilibrium, labelled: bool) -> list[dict[str, Any]]:
    """Phases by the largest outcome of the decision, with the thresholds of `analysis.phases`.

    Without labels outcomes are grains, and this is the usual definition. With labels the spins of a
    class are aligned by its labels, so what overtakes the system, or dissolves, is a class.
    """
    found = paper_profile(run, 2 if labelled else 0)
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


def _rounded(values: FloatArray) -> list[list[float]]:
    return [[round(v, DIGITS) for v in row] for row in values.tolist()]
