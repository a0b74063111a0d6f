"""One labelling, all methods: ours at every temperature, graph cuts, LGC; errors as in the paper.

Counting rule (`answers.scoring`): a point is right when it carries the name of its true class, or
when it is in the new class that stands for a true class that nobody labelled; confused points,
further new classes and wrong names are errors. The rivals know labelled classes only, so they lose
every point of an unlabelled class.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.answers.profile import Profile, profile
from spinlearn.answers.scoring import misclassified
from spinlearn.answers.temperature import answer_temperature
from spinlearn.answers.trust import Trust
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.graph import Graph
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Engine
from spinlearn.energies import MinCut
from spinlearn.errors import ConvergenceWarning
from spinlearn.paper.rivals import consistency_labels, cut_labels

# T* by our rule; by the paper's, as it must have been meant; by the paper's, read strictly.
TEMPERATURE_RULES = ("information", "paper", "paper_strict")


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
    found = paper_profile(run, n_classes)
    wrong = wrong_points(found, truth, list(range(n_classes)))
    errors = wrong.sum(axis=1)
    hidden = truth >= n_classes
    return {
        "labelled": np.flatnonzero(labels >= 0).tolist(),
        "engine": run.engine,
        "temperatures": found.temperatures.tolist(),
        "errors": errors.tolist(),
        "found": np.sum(~wrong & hidden, axis=1).tolist(),  # points of the unlabelled classes
        "converged": run.converged.tolist(),
        "worst_std_error": 0.0 if run.std_error is None else float(run.std_error.max()),
        "rows": {**chosen_rows(found, run), "best": int(np.argmin(errors))},
        "cut": int(np.sum(cut != truth)),
        "lgc": int(np.sum(consistency_labels(graph, labels) != truth)),
    }


def unsupervised(
    graph: Graph, truth: IntArray, n_states: int, temperatures: FloatArray, engine: Engine
) -> dict[str, Any]:
    """The same without labels: clusters are new classes, matched one to one with the true ones."""
    model = MinCut()(graph, np.full(graph.n_nodes, -1), n_states)
    run = run_quietly(engine, model, temperatures, 0)
    found = paper_profile(run, 0)
    errors = wrong_points(found, truth, []).sum(axis=1)
    row = chosen_rows(found, run)["information"]
    return {
        "temperatures": found.temperatures.tolist(),
        "errors": errors.tolist(),
        "best": int(errors.min()),
        "at_best": float(found.temperatures[int(np.argmin(errors))]),
        "information": int(errors[row]),
    }


def paper_profile(run: Equilibrium, n_classes: int) -> Profile:
    """The rule of section 5 as it stands there: every component without a label is a new class."""
    return profile(run, n_classes=n_classes, small_groups="new")


def chosen_rows(found: Profile, run: Equilibrium) -> dict[str, int]:
    """Rows of T* by our rule and by both readings of the paper's."""
    trusted = Trust.of(run).usable
    return {
        rule: found.nearest_row(answer_temperature(found, rule, trusted=trusted))
        for rule in TEMPERATURE_RULES
    }


def wrong_points(found: Profile, truth: IntArray, labelled: list[int]) -> npt.NDArray[np.bool_]:
    """Which points are misclassified at every temperature, (T, n)."""
    rows = range(len(found.temperatures))
    return np.array(
        [misclassified(found.decision(k), truth, labelled_classes=labelled) for k in rows]
    )


def with_ground_state(run: Equilibrium, states: IntArray) -> Equilibrium:
    """The equilibrium with a row T = 0 in front that holds one labelling for certain.

    Sampling engines pay dearly for temperatures near zero; the paper's rule needs the ground state
    only as a reference, which the graph cut gives.
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


def draw_labels(truth: IntArray, n_labels: int, classes: list[int], seed: int) -> IntArray:
    """Labels of points drawn uniformly from the given classes, at least one of each."""
    generator = np.random.default_rng(seed)
    pool = np.flatnonzero(np.isin(truth, classes))
    while True:
        chosen = generator.choice(pool, n_labels, replace=False)
        if len(np.unique(truth[chosen])) == len(classes):
            break
    labels = np.full(len(truth), -1, dtype=np.int32)
    labels[chosen] = truth[chosen]
    return labels
