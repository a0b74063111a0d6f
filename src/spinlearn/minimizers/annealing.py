"""Annealing: of pairwise models by single nodes, of any energy by clusters where they are valid.

`annealing`: T falls geometrically, from where the stiffest node moves freely (its cost / ln 2) to
where a weak bond is almost never broken (its cost / ln 100), by single-node Metropolis moves; then
descent to the nearest local minimum. The best labelling is kept.

`class_annealing`: class-level terms included. Several walkers cool geometrically from the
mean-field bound of the ordering temperature, above which nothing is ordered, to a sixtieth of it;
the best labelling of each is taken down to the nearest that no single node can improve. Where the
class term depends on class sizes only, walkers move by Swendsen-Wang clusters and exchanges of two
classes (`kernels.clusters`), else by heat bath and corrected Wolff flips (`kernels.nodes`).

Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983). Axes: n nodes, q states, R runs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.kernels.clusters import redraw_classes
from spinlearn.kernels.nodes import anneal, descend, energies_of, heat_bath, sweep_walkers
from spinlearn.kernels.rng import make_stream
from spinlearn.minimizers.minimum import (
    Minimum,
    choices,
    class_level_reason,
    refuse,
    unreachable,
)
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.kernel_arguments import (
    KernelModel,
    bond_thresholds,
    cluster_model,
    cluster_reason,
    kernel_model,
    random_states,
)
from spinlearn.model.phases import temperature_grid
from spinlearn.model.potts import FREE, PottsModel
from spinlearn.model.protocols import seed_sequence

WEAK = 0.05  # quantile of the couplings that sets the lowest temperature
MAX_DESCENT = 10_000  # sweeps; every one lowers the energy, so this only guards against rounding
N_SWEEPS, N_RUNS = 300, 16
COOLING = 60.0  # highest over lowest temperature
FLIPS = 2  # of Wolff clusters after every heat-bath sweep
MAX_CLASS_DESCENT = 1000  # sweeps, likewise


def annealing(
    model: PottsModel, *, n_sweeps: int = 500, n_runs: int = 4, seed: int | None = None
) -> Minimum:
    """The lowest of several annealing runs: any couplings, pair cost, fields and clamps.

    Parameters
    ----------
    model : PottsModel
        Without a term in whole classes.
    n_sweeps, n_runs : int, default 500, 4
        Temperatures of a run, one sweep each; runs, from random labellings.
    seed : int, optional

    Returns
    -------
    Minimum

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.minimizers import annealing
    >>> ring = PottsModel(Graph(3, [(0, 1), (1, 2), (0, 2)], [-1, -1, -1]), n_states=2)
    >>> annealing(ring, seed=0).energy  # of three points that repel each other two are alike
    -2.0
    """
    refuse(class_level_reason(model), n_sweeps, n_runs)
    free, kernel = model.free_nodes, kernel_model(model)
    temperatures = cooling_schedule(model, n_sweeps)
    labels, energy, sweeps = choices(model, 0), np.inf, 0
    if len(free) == 0:
        n_runs = 0
        energy = float(model.energy(labels))
    for child in seed_sequence(seed).spawn(n_runs):
        states = choices(model, 0)
        states[free] = np.random.default_rng(child).integers(0, model.n_states, len(free))
        best: StateArray = states.copy()
        stream = child.generate_state(1, np.uint64)
        anneal(temperatures, kernel, states, best, stream)
        sweeps += n_sweeps + descend(kernel, model.energy_resolution, MAX_DESCENT, best)
        reached = float(model.energy(best))
        if reached < energy:
            labels, energy = best, reached
    return Minimum(
        labels=labels,
        energy=energy,
        exact=len(free) == 0,
        method="annealing",
        undecided=unreachable(model),
        sweeps=sweeps,
    )


def cooling_schedule(model: PottsModel, n_sweeps: int) -> FloatArray:
    """Temperatures of one annealing run, falling."""
    spans = np.ptp(model.pair_cost, axis=0)
    strengths = np.abs(model.couplings)
    stiffness = np.ptp(model.fields, axis=1)
    for end in model.graph.edges.T:
        stiffness = stiffness + np.bincount(
            end, weights=strengths * spans.max(), minlength=model.n_nodes
        )
    bonds = strengths[strengths > 0]
    levels = np.abs(model.pair_cost[:, :, None] - model.pair_cost[:, None, :])
    hot = float(stiffness[model.clamped == FREE].max(initial=0.0)) / np.log(2)
    if hot == 0:
        return np.ones(n_sweeps)  # all labellings cost the same
    cold = hot
    if len(bonds) and np.any(levels > 0):
        cold = float(np.quantile(bonds, WEAK) * levels[levels > 0].min()) / np.log(100)
    return np.asarray(np.geomspace(hot, min(cold, hot), n_sweeps))


def class_annealing(
    model: PottsModel, *, n_sweeps: int = N_SWEEPS, n_runs: int = N_RUNS, seed: int | None = None
) -> Minimum:
    """The lowest labelling met by several annealing runs, for energies with terms in whole classes.

    Parameters
    ----------
    model : PottsModel
        Any: with or without a term in whole classes, any pair cost, couplings of either sign.
    n_sweeps, n_runs : int, default 300, 16
        Temperatures of a run, one sweep each; runs, from random labellings.
    seed : int, optional

    Returns
    -------
    Minimum

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import NormalizedCut
    >>> from spinlearn.minimizers import class_annealing
    >>> model = NormalizedCut()(Graph(4, [(0, 1), (1, 2), (2, 3)]), [0, -1, -1, 1], n_states=2)
    >>> class_annealing(model, seed=0).labels.tolist()
    [0, 0, 1, 1]
    """
    refuse(None, n_sweeps, n_runs)
    best, sweeps = annealed(model, n_sweeps, n_runs, seed_sequence(seed))
    energies = np.atleast_1d(model.energy(best))
    lowest = int(np.argmin(energies))
    return Minimum(
        labels=best[lowest],
        energy=float(energies[lowest]),
        exact=len(model.free_nodes) == 0,
        method="class_annealing",
        undecided=unreachable(model),
        sweeps=sweeps,
    )


def annealed(
    model: PottsModel, n_sweeps: int, n_runs: int, seed: np.random.SeedSequence
) -> tuple[StateArray, int]:
    """The best labelling of every run after descent, (R, n), and the sweeps of all."""
    by_clusters = cluster_reason(model) is None
    if by_clusters:
        clusters, sizes, free = cluster_model(model)
    states = random_states(model, n_runs, seed)
    kernel, stream = kernel_model(model), make_stream(seed)
    best, best_energies = states.copy(), energies_of(states, kernel)
    top = float(temperature_grid(model)[-1])
    temperatures = np.geomspace(top, top / COOLING, n_sweeps)
    for temperature in temperatures if len(model.free_nodes) else ():
        if by_clusters:
            betas = np.array([1 / temperature])
            moved = np.ascontiguousarray(states[:, free.nodes])
            thresholds = bond_thresholds(betas, free.couplings)[0]
            redraw_classes(moved, betas[0], thresholds, clusters, sizes, stream)
            states[:, free.nodes] = moved
        else:
            sweep_walkers(states, np.full(n_runs, 1 / temperature), kernel, stream, 1, FLIPS)
        energies = energies_of(states, kernel)
        better = energies < best_energies
        best[better], best_energies[better] = states[better], energies[better]
    return best, n_runs * n_sweeps + descend_walkers(best, model, kernel, stream)


def descend_walkers(
    states: StateArray, model: PottsModel, kernel: KernelModel, stream: npt.NDArray[np.uint64]
) -> int:
    """Single nodes by heat bath until no labelling (R, n) gains, in place; the number of sweeps.

    T is so low that only the lowest states have weight; ties are drawn.
    """
    scale = max(model.energy_scale, 1e-200)
    cold = np.full(len(states), 1e12 / scale)
    current, energies = states.copy(), energies_of(states, kernel)
    for sweep in range(MAX_CLASS_DESCENT):
        heat_bath(current, cold, kernel, stream)
        now = energies_of(current, kernel)
        better = now < energies - 1e-12 * scale
        states[better], energies[better] = current[better], now[better]
        if not np.any(better):
            return sweep + 1
    return MAX_CLASS_DESCENT
