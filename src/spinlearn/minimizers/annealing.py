"""Annealing: of pairwise models, and of those with a term in whole classes.

Simulated annealing: the fallback for energies that no cut minimises, the best labelling kept.

Single-node Metropolis moves while T falls geometrically, from where the stiffest node moves freely
(its cost / ln 2) to where a weak bond is almost never broken (its cost / ln 100), then descent to
the nearest local minimum. Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983).

Annealing of any energy, class-level terms included, by clusters where they are valid.

Several walkers cool geometrically from the mean-field bound of the ordering temperature, above
which nothing is ordered, to a sixtieth of it; the best labelling of each is kept, and then taken
down to the nearest labelling that no single node can improve. Where the class term depends on
class sizes only, walkers move by Swendsen-Wang clusters and exchanges of two classes
(`spinlearn.kernels.clusters`), else by heat bath and corrected Wolff flips
(`spinlearn.kernels.nodes`). Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983).
"""

from __future__ import annotations

import numpy as np

from spinlearn.minimizers.minimum import (
    Minimum,
    check_effort,
    choices,
    class_level_reason,
    refuse,
    unreachable,
)
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.kernel_arguments import (
    Group,
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


def annealing(
    model: PottsModel, *, n_sweeps: int = 500, n_runs: int = 4, seed: int | None = None
) -> Minimum:
    """The lowest of several annealing runs: any couplings, pair cost, fields and clamps.

    Parameters
    ----------
    model : PottsModel
        Without a term in whole classes.
    n_sweeps : int, default 500
        Temperatures of a run, one sweep each.
    n_runs : int, default 4
        Runs from random labellings.
    seed : int, optional
        Of random numbers; the same seed gives the same labelling.

    Returns
    -------
    Minimum
        The labelling, its energy, and whether it is exact.

    References
    ----------
    S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, Optimization by simulated annealing, Science 220,
    671 (1983).

    Examples
    --------
    A ring of three points that repel each other cannot have all its wishes: one edge stays unhappy.

    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.minimizers import annealing
    >>> ring = PottsModel(Graph(3, [(0, 1), (1, 2), (0, 2)], [-1, -1, -1]), n_states=2)
    >>> annealing(ring, seed=0).energy
    -2.0
    """
    from spinlearn.kernels.nodes import anneal, descend

    refuse(class_level_reason(model))
    check_effort(n_sweeps, n_runs)
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
        sweeps += n_sweeps
        sweeps += descend(kernel, model.energy_resolution, MAX_DESCENT, best)
        found = float(model.energy(best))
        if found < energy:
            labels, energy = best, found
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


N_SWEEPS, N_RUNS = 300, 16
COOLING = 60.0  # highest over lowest temperature
FLIPS = 2  # of Wolff clusters after every heat-bath sweep
MAX_CLASS_DESCENT = 1000  # sweeps, likewise


def class_annealing(
    model: PottsModel, *, n_sweeps: int = N_SWEEPS, n_runs: int = N_RUNS, seed: int | None = None
) -> Minimum:
    """The lowest labelling met by several annealing runs, for energies with terms in whole classes.

    Parameters
    ----------
    model : PottsModel
        Any: with or without a term in whole classes, any pair cost, couplings of either sign.
    n_sweeps : int, default 300
        Temperatures of a run, one sweep each.
    n_runs : int, default 16
        Runs from random labellings.
    seed : int, optional
        Of random numbers; the same seed gives the same labelling.

    Returns
    -------
    Minimum
        The labelling, its energy, and whether it is exact.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import NormalizedCut
    >>> from spinlearn.minimizers import class_annealing
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> class_annealing(NormalizedCut()(chain, [0, -1, -1, 1], 2), seed=0).labels.tolist()
    [0, 0, 1, 1]
    """
    check_effort(n_sweeps, n_runs)
    best, sweeps = annealed(model, n_sweeps, n_runs, seed_sequence(seed))
    energies = np.atleast_1d(model.energy(best))
    lowest = int(np.argmin(energies))
    return Minimum(
        labels=best[lowest],
        energy=float(energies[lowest]),
        exact=len(model.free_nodes) == 0,
        method="class_annealing",
        undecided=unreachable(model),
        sweeps=n_runs * n_sweeps + sweeps,
    )


def annealed(
    model: PottsModel, n_sweeps: int, n_runs: int, seed: np.random.SeedSequence
) -> tuple[StateArray, int]:
    """The best labelling of every run after descent, (R, n), and the sweeps of the descent."""
    from spinlearn.kernels.clusters import sweep_clusters
    from spinlearn.kernels.rng import make_stream

    by_clusters = cluster_reason(model) is None
    if by_clusters:
        clusters, sizes, free = cluster_model(model)
        nothing = np.zeros((0, 0, model.n_states), dtype=np.float32)
        unmeasured = np.full(n_runs, -1), nothing, nothing[:, :, 0], nothing[:, :, 0]
    states = random_states(model, n_runs, seed)
    nodes = NodeDescent(model, make_stream(seed))
    best, best_energies = states.copy(), nodes.energies(states)
    top = float(temperature_grid(model)[-1])
    temperatures = np.geomspace(top, top / COOLING, n_sweeps)
    for temperature in temperatures if len(model.free_nodes) else ():
        if by_clusters:
            betas = np.array([1 / temperature])
            group = Group(
                states=np.ascontiguousarray(states[:, free.nodes]),
                active=np.arange(n_runs),
                levels=np.zeros(n_runs, dtype=np.int32),
                repeats=np.ones(n_runs, dtype=np.int64),
                betas=betas,
                thresholds=bond_thresholds(betas, free.couplings),
                stream=nodes.stream,
            )
            sweep_clusters(group, clusters, sizes, 1, *unmeasured)
            states[:, free.nodes] = group.states
        else:
            nodes.sweep(states, 1 / temperature, FLIPS)
        energies = nodes.energies(states)
        better = energies < best_energies
        best[better], best_energies[better] = states[better], energies[better]
    return best, nodes.descend(best)


class NodeDescent:
    """Sweeps of single nodes over labellings (R, n) of one model, in the work space of a thread.

    Every energy, by heat bath; at T = 0 at a temperature so low that only the lowest states have
    weight, and ties are drawn.
    """

    def __init__(self, model: PottsModel, stream: np.ndarray) -> None:
        self.scale = max(model.energy_scale, 1e-200)
        self.model = kernel_model(model)
        self.stream = stream

    def energies(self, states: StateArray) -> FloatArray:
        """E of every labelling, (R,)."""
        from spinlearn.kernels.nodes import energies_of

        return np.asarray(energies_of(states, self.model))

    def sweep(self, states: StateArray, beta: float, n_flips: int = 0) -> None:
        """Heat bath of every free node in turn, then flips of Wolff clusters; in place."""
        from spinlearn.kernels.nodes import sweep_walkers

        betas = np.full(len(states), beta)
        sweep_walkers(states, betas, self.model, self.stream, 1, n_flips)

    def descend(self, states: StateArray) -> int:
        """Node moves at T = 0 until no labelling gains, in place; the number of sweeps."""
        current, energies = states.copy(), self.energies(states)
        sweeps = 0
        while sweeps < MAX_CLASS_DESCENT:
            self.sweep(current, 1e12 / self.scale)  # no weight but for the lowest states
            sweeps += 1
            now = self.energies(current)
            better = now < energies - 1e-12 * self.scale
            states[better], energies[better] = current[better], now[better]
            if not np.any(better):
                break
        return sweeps
