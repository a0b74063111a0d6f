"""One labelling, all methods: ours at every temperature, graph cuts, LGC; errors as in the paper.

Counting rule (`answers.scoring`): a point is right when it carries the name of its true class, or
when it is in the new class that stands for a true class that nobody labelled; confused points,
further new classes and wrong names are errors. The rivals know labelled classes only, so they lose
every point of an unlabelled class. Cells of figures 4 and 5 are gathered here by panel (q, M).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.law import usable_rows
from spinlearn.answers.profile import Profile
from spinlearn.answers.profile import profile as read_profile
from spinlearn.answers.rule import Decision, Status, misclassified
from spinlearn.answers.temperature import answer_temperature
from spinlearn.baselines import LocalGlobalConsistency
from spinlearn.energies import MinCut
from spinlearn.errors import ConvergenceWarning
from spinlearn.minimizers import minimize
from spinlearn.model.arrays import FloatArray, IntArray
from spinlearn.model.equilibrium import Equilibrium
from spinlearn.model.graph import Graph
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Engine
from spinlearn.reproduction.runner import Cell

# T* by our rule; by the paper's, as it must have been meant; by the paper's, read strictly.
TEMPERATURE_RULES = ("information", "paper", "paper_strict")
RULES = (*TEMPERATURE_RULES, "best")  # ours at T* by each rule, and at the best T
Panel = tuple[int, int]  # q, M


def compare(
    graph: Graph,
    truth: IntArray,
    labels: IntArray,
    n_classes: int,
    temperatures: FloatArray,
    engine: Engine,
    seed: int,
) -> dict[str, Any]:
    """Errors of ours at every temperature and at T*, of graph cuts and of LGC; a JSON-able cell."""
    model = MinCut()(graph, labels, n_classes)
    cut = cut_labels(model)
    run = run_quietly(engine, model, temperatures, seed)
    if run.temperatures[0] > 0:
        run = with_ground_state(run, cut)
    profile = paper_profile(run, n_classes)
    wrong = wrong_points(profile, truth, list(range(n_classes)))
    errors = wrong.sum(axis=1)
    hidden = truth >= n_classes
    return {
        "labelled": np.flatnonzero(labels >= 0).tolist(),
        "engine": run.engine,
        "temperatures": profile.temperatures.tolist(),
        "errors": errors.tolist(),
        "found": np.sum(~wrong & hidden, axis=1).tolist(),  # points of the unlabelled classes
        "converged": run.converged.tolist(),
        "worst_std_error": 0.0 if run.std_error is None else float(run.std_error.max()),
        "rows": {**chosen_rows(profile, run), "best": int(np.argmin(errors))},
        "cut": int(np.sum(cut != truth)),
        "lgc": int(np.sum(consistency_labels(graph, labels) != truth)),
    }


def unsupervised(
    graph: Graph, truth: IntArray, n_states: int, temperatures: FloatArray, engine: Engine
) -> dict[str, Any]:
    """The same without labels: clusters are new classes, matched one to one with the true ones."""
    model = MinCut()(graph, np.full(graph.n_nodes, -1), n_states)
    run = run_quietly(engine, model, temperatures, 0)
    profile = paper_profile(run, 0)
    errors = wrong_points(profile, truth, []).sum(axis=1)
    row = chosen_rows(profile, run)["information"]
    return {
        "temperatures": profile.temperatures.tolist(),
        "errors": errors.tolist(),
        "best": int(errors.min()),
        "at_best": float(profile.temperatures[int(np.argmin(errors))]),
        "information": int(errors[row]),
    }


def cut_labels(model: PottsModel) -> IntArray:
    """Graph cuts (GC): minimum cut for two classes, alpha-expansion for more."""
    return np.asarray(minimize(model).labels, dtype=np.int32)


def consistency_labels(graph: Graph, labels: IntArray) -> IntArray:
    """Local and global consistency (LGC) with alpha = 0.99; -1 where it is undecided."""
    answer = LocalGlobalConsistency().fit(graph, labels)
    return np.asarray(answer.transduction_, dtype=np.int32)


def paper_profile(run: Equilibrium, n_classes: int) -> Profile:
    """The rule of section 5 as it stands there: every component without a label is a new class."""
    return read_profile(run, n_classes=n_classes, small_groups="new")


def chosen_rows(profile: Profile, run: Equilibrium) -> dict[str, int]:
    """Rows of T* by our rule and by both readings of the paper's."""
    trusted, readings = usable_rows(run), (("auto", False), ("paper", False), ("paper", True))
    chosen = [answer_temperature(profile, r, trusted=trusted, strict=s) for r, s in readings]
    return {rule: profile.nearest_row(t) for rule, t in zip(TEMPERATURE_RULES, chosen, strict=True)}


def wrong_points(profile: Profile, truth: IntArray, labelled: list[int]) -> npt.NDArray[np.bool_]:
    """Which points are misclassified at every temperature, (T, n)."""
    rows = range(len(profile.temperatures))
    return np.array(
        [misclassified(profile.decision(k), truth, labelled_classes=labelled) for k in rows]
    )


def drawn_states(decision: Decision) -> npt.NDArray[np.integer]:
    """Classes as `drawing.pixel_panels` takes them: -2 confused, 2 any new class."""
    confused = decision.status == Status.CONFUSED
    return np.where(confused, -2, np.minimum(decision.outcomes, 2))


def with_ground_state(run: Equilibrium, states: IntArray) -> Equilibrium:
    """The equilibrium with a certain labelling at T = 0 in front.

    Near zero sampling is dear, and the paper's rule needs the ground state as a reference only.
    """
    model = run.model
    certain = np.zeros((1, model.n_nodes, model.n_states))
    certain[0, np.arange(model.n_nodes), states] = 1.0
    u, v = model.graph.edges.T
    agree = (states[u] == states[v]).astype(float)[None]
    energy = model.energy(np.asarray(states, dtype=np.int8))

    def put(first: Any, rest: Any) -> Any:
        return None if rest is None else np.concatenate([first, rest])

    return replace(
        run,
        temperatures=put([0.0], run.temperatures),
        marginals=put(certain, run.marginals),
        edge_agreement=put(agree, run.edge_agreement),
        mean_energy=put([float(np.ravel(energy)[0])], run.mean_energy),
        heat_capacity=put([0.0], run.heat_capacity),
        converged=put([True], run.converged),
        equilibrated=put([True], run.equilibrated),
        log_partition=None,
        std_error=put(np.zeros_like(certain), run.std_error),
        agreement_std_error=put(np.zeros_like(agree), run.agreement_std_error),
        evaluate=None,
    )


def run_quietly(
    engine: Engine, model: PottsModel, temperatures: FloatArray, seed: int
) -> Equilibrium:
    """Run an engine; what did not converge is in the result, not on the screen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return engine.run(model, temperatures, seed=seed)


def cell_seed(seed: int, *key: int) -> int:
    """A seed of its own for every cell, the same whatever runs before it."""
    return int(np.random.SeedSequence([seed, *key]).generate_state(1)[0])


def results_by_panel(cells: list[Cell]) -> dict[Panel, list[dict[str, Any]]]:
    """Results of the labellings, first runs only, by (q, M) in ascending order."""
    panels: dict[Panel, list[dict[str, Any]]] = {}
    for cell in cells:
        settings = cell["settings"]
        if settings["kind"] == "labelling" and settings.get("twin", 0) == 0:
            panels.setdefault((settings["q"], settings["M"]), []).append(cell["result"])
    return dict(sorted(panels.items()))


def errors_by_panel(cells: list[Cell]) -> dict[Panel, dict[str, Any]]:
    """Arrays of errors, one entry per labelling, of every method and rule."""

    def arrays(results: list[dict[str, Any]]) -> dict[str, Any]:
        errors = {name: np.array([r[name] for r in results]) for name in ("cut", "lgc")}
        for rule in RULES:
            errors[rule] = np.array([r["errors"][r["rows"][rule]] for r in results])
        errors["converged"] = np.array([r["converged"][r["rows"]["information"]] for r in results])
        return errors

    return {panel: arrays(results) for panel, results in results_by_panel(cells).items()}


def twin_differences(cells: list[Cell]) -> dict[Panel, list[int]]:
    """|errors of a run - errors of its twin| at T*, by (q, M) of the panels that have twins."""
    runs: dict[tuple[int, int, int], list[int]] = {}
    for cell in cells:
        settings, result = cell["settings"], cell["result"]
        if settings["kind"] == "labelling" and "twin" in settings:
            key = (settings["q"], settings["M"], settings["labelling"])
            runs.setdefault(key, []).append(result["errors"][result["rows"]["information"]])
    differences: dict[Panel, list[int]] = {}
    for (q, m, _), pair in runs.items():
        if len(pair) == 2:
            differences.setdefault((q, m), []).append(abs(pair[0] - pair[1]))
    return differences


def sampling_errors(cells: list[Cell]) -> dict[Panel, float]:
    """Standard error of a count, by (q, M): rms of twins / √2, 0 if exact, nan without twins."""
    twins, errors = twin_differences(cells), {}
    for panel, results in results_by_panel(cells).items():
        exact = all(r["worst_std_error"] == 0 for r in results)
        errors[panel] = 0.0 if exact else np.nan
        if panel in twins:
            errors[panel] = float(np.sqrt(np.mean(np.square(twins[panel])) / 2))
    return errors


def unsupervised_errors(cells: list[Cell]) -> int | None:
    """Errors without labels at the best temperature, if that cell is there."""
    best = [c["result"]["best"] for c in cells if c["settings"]["kind"] == "unsupervised"]
    return int(best[0]) if best else None
