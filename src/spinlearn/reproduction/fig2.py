"""Figure 2: errors against temperature on the toy set of figure 1, exact beside sampled.

Exact, with labels (SS) and without (US), by the junction tree; multicanonical (MC) by independent
runs, pooled and compared with the exact answer. The same cells serve claims (f),
samplers that stay at one temperature, and (g), message passing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from spinlearn.datasets import two_bands
from spinlearn.energies import MinCut
from spinlearn.engines import ENGINES, JunctionTree, Multicanonical
from spinlearn.model.arrays import FloatArray
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.phases import GRAIN, GRAIN_POINTS, WHOLE, Phase, phases
from spinlearn.reproduction.comparison import (
    cell_seed,
    chosen_rows,
    paper_profile,
    run_quietly,
    wrong_points,
)
from spinlearn.reproduction.drawing import bare, pyplot, save, write_csv
from spinlearn.reproduction.runner import Cell, Scale, Settings

EXACT_TEMPERATURES = np.round(np.linspace(0.0, 2.0, 81), 3)
SAMPLED_TEMPERATURES = np.round(np.linspace(0.3, 2.0, 18), 2)
TRAP_TEMPERATURES = (0.3, 0.5, 0.7, 0.9, 1.1, 1.3)
MESSAGE_ENGINES = ("belief_propagation", "generalized_bp")
DIGITS = 6  # of averages kept in a cell
REACH = 2.0  # standard errors of an error bar
LEAST_STD_ERROR = 1e-4  # below which a standard error, itself estimated, is not relied on
PHASE_COLOURS = {
    "ferromagnetic": "#9DC3E6",
    "super-paramagnetic": "#8FD3B6",
    "paramagnetic": "#F2C6A8",
}


def tasks(scale: Scale, seed: int) -> list[Settings]:
    """Exact curves, independent multicanonical chains, trapped samplers, message passing."""
    grid = EXACT_TEMPERATURES[:: scale.stride]
    cells: list[Settings] = [
        {"kind": "exact", "labels": labels, "temperatures": grid.tolist()}
        for labels in (True, False)
    ]
    cells += [
        {"kind": "multicanonical", "temperatures": SAMPLED_TEMPERATURES.tolist(),
         "tol": scale.chain_tol, "max_sweeps": scale.chain_sweeps,
         "seed": cell_seed(seed, 2, chain)}
        for chain in range(scale.n_chains)
    ]  # fmt: skip
    cells += [
        {"kind": "trap", "engine": engine, "temperatures": list(TRAP_TEMPERATURES),
         "max_sweeps": scale.trap_sweeps, "seed": cell_seed(seed, 3, k)}
        for k, engine in enumerate(("metropolis", "swendsen_wang"))
    ]  # fmt: skip
    # Messages between loops take many seconds where it is cold: the smallest scale leaves that out.
    hot = SAMPLED_TEMPERATURES[-(len(SAMPLED_TEMPERATURES) // scale.stride**2) :]
    for engine in MESSAGE_ENGINES:
        cells.append({"kind": "messages", "engine": engine, "temperatures": hot.tolist()})
    return cells


def compute(settings: Settings) -> Cell:
    toy = two_bands()
    kind, temperatures = settings["kind"], np.array(settings["temperatures"])
    labelled = settings.get("labels", True)
    model = MinCut()(toy.graph(), toy.labels if labelled else np.full(toy.n_points, -1), 2)
    if kind == "exact":
        exact = JunctionTree().run(model, temperatures)
        grains = [
            {"phase": i.phase.value, "low": i.low, "high": i.high}
            for i in phases(exact).intervals()
        ]
        intervals = _phase_intervals(exact, labelled)
        return {**_curve(exact, labelled), "phases": intervals, "grain_phases": grains}
    if kind == "multicanonical":
        limits = {"tol": settings["tol"], "max_sweeps": settings["max_sweeps"]}
    else:
        # tol out of reach: the sweeps decide, and every temperature gets the same number.
        limits = {"tol": 1e-9, "max_sweeps": settings["max_sweeps"]} if kind == "trap" else {}
    engine: Any = ENGINES[settings.get("engine", Multicanonical.name)]
    run: Any = run_quietly(engine(**limits), model, temperatures, settings.get("seed", 0))
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
    curves, counts = summary(cells), SampledCounts(cells)
    files = save(_figure(curves, counts), out / "figure2")
    rows: list[list[Any]] = []
    for name in ("exact SS", "exact US"):
        exact = zip(curves[name]["temperatures"], curves[name]["errors"], strict=True)
        rows += [[name, t, e, e, e] for t, e in exact]
    columns = (counts.temperatures, counts.errors, counts.low, counts.high)
    rows += [["MC", *map(float, row)] for row in zip(*columns, strict=True)]
    header = ["curve", "T", "misclassified", "low", "high"]
    return [*files, write_csv(out / "figure2.csv", header, rows)]


def _figure(curves: dict[str, Any], counts: SampledCounts) -> Any:
    """Errors against T, the phases with and without labels above."""
    plt = pyplot()
    figure, (strip, axis) = plt.subplots(
        2, 1, figsize=(7, 4.8), sharex=True, height_ratios=(1, 7), layout="constrained"
    )
    n_points = curves["n_points"]
    for height, name in enumerate(("exact US", "exact SS")):
        for interval in curves[name]["phases"]:
            low, high = interval["low"], interval["high"]
            colour = PHASE_COLOURS[interval["phase"]]
            strip.barh(height, high - low, left=low, height=0.8, color=colour)
    strip.set_yticks([0, 1], ["US", "SS"], fontsize=8)
    strip.tick_params(length=0)
    strip.set_frame_on(False)
    patches = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in PHASE_COLOURS.values()]
    strip.legend(
        patches, list(PHASE_COLOURS), ncols=3, fontsize=8, frameon=False,
        loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0,
    )  # fmt: skip
    us, ss, mc = curves["exact US"], curves["exact SS"], curves["MC"]
    axis.plot(us["temperatures"], us["errors"], "-", color="#0072B2", label="exact US")
    axis.plot(ss["temperatures"], ss["errors"], "-", color="#000000", label="exact SS")
    bars = [counts.errors - counts.low, counts.high - counts.errors]
    axis.errorbar(
        counts.temperatures, counts.errors, yerr=bars, fmt="o", color="#D55E00", markersize=4,
        capsize=2, label=f"MC, {mc['n_chains']} runs ± 2 s.e. of all averages",
    )  # fmt: skip
    unsure = ~np.array(mc["converged"], dtype=bool)
    if np.any(unsure):
        at = np.array(mc["temperatures"])[unsure]
        axis.plot(at, counts.errors[unsure], "x", color="#000000", label="not converged")
    axis.axvline(
        ss["information"], color="#666666", linestyle=":", label=f"T* = {ss['information']:g}"
    )
    axis.set_xlabel("temperature T, in units of the coupling")
    axis.set_ylabel(f"misclassified points of {n_points}")
    axis.set_xlim(0, max(us["temperatures"]))
    axis.set_ylim(0, n_points)
    axis.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.2))
    bare(axis)
    return figure


def _curve(run: Equilibrium, labelled: bool) -> dict[str, Any]:
    toy = two_bands()
    profile = paper_profile(run, 2 if labelled else 0)
    errors = wrong_points(profile, toy.truth, [0, 1] if labelled else []).sum(axis=1)
    return {
        "temperatures": profile.temperatures.tolist(),
        "errors": errors.tolist(),
        "argmax_errors": np.sum(np.argmax(run.marginals, axis=2) != toy.truth, axis=1).tolist(),
        **{rule: float(profile.temperatures[k]) for rule, k in chosen_rows(profile, run).items()},
    }


def _phase_intervals(run: Equilibrium, labelled: bool) -> list[dict[str, Any]]:
    """Phases by the largest outcome: of grains, or with labels, which align them, of classes."""
    profile = paper_profile(run, 2 if labelled else 0)
    n = profile.outcomes.shape[1]
    intervals: list[dict[str, Any]] = []
    ends = profile.boundaries().tolist()
    for k, outcomes in enumerate(profile.outcomes):
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


class SampledCounts:
    """Figure 2 sampled: counts from the mean over chains, their intervals, the exact counts, (T,).

    A count is a step function of thousands of averages. On a grid many points share a margin by
    symmetry: exactly, all of them cross tau together; sampled, each has its own noise. So `low` and
    `high` are the least and largest counts when all margins, and all agreements, are `REACH`
    standard errors more, or less, decided. `z` is the largest error of a mean marginal in standard
    errors.
    """

    def __init__(self, cells: list[Cell]) -> None:
        toy = two_bands()
        model = MinCut()(toy.graph(), toy.labels, 2)
        chains = _chains(cells)
        temperatures = np.array(chains[0]["temperatures"])

        def mean_and_error(value: str, error: str) -> tuple[FloatArray, FloatArray]:
            squares = np.mean(np.square([c[error] for c in chains]), axis=0)
            return np.mean([c[value] for c in chains], axis=0), np.sqrt(squares / len(chains))

        first, first_error = mean_and_error("marginals", "std_error")
        agreement, agreement_error = mean_and_error("agreement", "agreement_std_error")
        side = np.where(first >= 0.5, 1.0, -1.0)

        def errors(margin_shift: float, agreement_shift: float) -> FloatArray:
            shifted = np.clip(first + margin_shift * side * first_error, 0, 1)
            pooled = Equilibrium(
                model=model,
                temperatures=temperatures,
                marginals=np.stack([shifted, 1 - shifted], axis=2),
                edge_agreement=np.clip(agreement + agreement_shift * agreement_error, 0, 1),
                mean_energy=np.zeros(len(temperatures)),
                heat_capacity=np.zeros(len(temperatures)),
                converged=np.ones(len(temperatures), dtype=bool),
                engine="multicanonical",
                kind=Kind.SAMPLED,
            )
            wrong = wrong_points(paper_profile(pooled, 2), toy.truth, [0, 1])
            return np.asarray(wrong.sum(axis=1), dtype=float)

        shifts = (-REACH, 0.0, REACH)
        shifted = np.array([errors(a, b) for a in shifts for b in shifts])
        difference = np.abs(first - np.array(chains[0]["exact_marginals"]))
        self.temperatures, self.errors = temperatures, errors(0.0, 0.0)
        self.low, self.high = shifted.min(axis=0), shifted.max(axis=0)
        self.exact = np.array(chains[0]["exact_errors"], dtype=float)
        self.z = (difference / np.maximum(first_error, LEAST_STD_ERROR)).max(axis=1)


def summary(cells: list[Cell]) -> dict[str, Any]:
    """The exact curves and the comparisons of samplers with them, by name."""
    curves: dict[str, Any] = {"n_points": two_bands().n_points, "traps": {}, "messages": {}}
    for cell in cells:
        settings, result = cell["settings"], cell["result"]
        if settings["kind"] == "exact":
            curves["exact SS" if settings["labels"] else "exact US"] = result
        elif settings["kind"] in ("trap", "messages"):
            group = "traps" if settings["kind"] == "trap" else "messages"
            curves[group][settings["engine"]] = result
    chains = _chains(cells)
    curves["MC"] = {
        "temperatures": chains[0]["temperatures"],
        "n_chains": len(chains),
        "worst_difference": np.max([c["worst_difference"] for c in chains], axis=0).tolist(),
        "converged": np.all([c["converged"] for c in chains], axis=0).tolist(),
    }
    return curves


def _chains(cells: list[Cell]) -> list[dict[str, Any]]:
    return [c["result"] for c in cells if c["settings"]["kind"] == "multicanonical"]
