"""Annealing of any energy, class-level terms included, by clusters where they are valid.

Several walkers cool geometrically from the mean-field bound of the ordering temperature, above
which nothing is ordered, to a sixtieth of it; the best labelling of each is kept, and then taken
down to the nearest labelling that no single node can improve. Where the class term depends on
class sizes only, walkers move by Swendsen-Wang clusters and exchanges of two classes
(`spinlearn.kernels.class_clusters`), else by heat bath and corrected Wolff flips
(`spinlearn.kernels.classes`). Kirkpatrick, Gelatt & Vecchi, Science 220, 671 (1983).
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.temperature_grid import temperature_grid
from spinlearn.core.arrays import BoolArray, StateArray
from spinlearn.core.class_layout import ClusterLayout, cluster_reason
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.seeds import seed_sequence
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.minimum import Minimum
from spinlearn.minimizers.node_descent import NodeDescent

N_SWEEPS, N_RUNS = 300, 16
COOLING = 60.0  # highest over lowest temperature
PERMUTATIONS = 5  # tries after every cluster sweep
FLIPS = 2  # of Wolff clusters after every heat-bath sweep


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
    if n_sweeps < 1 or n_runs < 1:
        raise InvalidInputError(f"n_sweeps={n_sweeps} and n_runs={n_runs} must be at least 1")
    best, sweeps = annealed(model, n_sweeps, n_runs, seed_sequence(seed))
    energies = np.atleast_1d(model.energy(best))
    lowest = int(np.argmin(energies))
    return Minimum(
        labels=best[lowest],
        energy=float(energies[lowest]),
        exact=len(model.free_nodes) == 0,
        method="class_annealing",
        undecided=unreached_parts(model),
        sweeps=n_runs * n_sweeps + sweeps,
    )


def annealed(
    model: PottsModel, n_sweeps: int, n_runs: int, seed: np.random.SeedSequence
) -> tuple[StateArray, int]:
    """The best labelling of every run after descent, (R, n), and the sweeps of the descent."""
    walkers = _Walkers(model, n_runs, seed)
    top = float(temperature_grid(model)[-1])
    if len(model.free_nodes):
        for temperature in np.geomspace(top, top / COOLING, n_sweeps):
            walkers.sweep(1 / temperature)
    return walkers.best, walkers.nodes.descend(walkers.best)


class _Walkers:
    """Labellings (R, n) that are cooled together, and the best that each has met."""

    def __init__(self, model: PottsModel, n_runs: int, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels.rng import make_stream

        self.clusters = ClusterLayout(model) if cluster_reason(model) is None else None
        generator = np.random.default_rng(seed)
        states = generator.integers(0, model.n_states, (n_runs, model.n_nodes), dtype=np.int8)
        held = model.clamped != FREE
        states[:, held] = model.clamped[held]
        self.states: StateArray = states
        self.nodes = NodeDescent(model, make_stream(seed))
        self.best = self.states.copy()
        self.best_energies = self.nodes.energies(self.states)

    def sweep(self, beta: float) -> None:
        """Sweep all walkers and keep what is better than before."""
        if self.clusters is None:
            self.nodes.sweep(self.states, beta, FLIPS)
        else:
            self._sweep_clusters(self.clusters, beta)
        energies = self.nodes.energies(self.states)
        better = energies < self.best_energies
        self.best[better] = self.states[better]
        self.best_energies[better] = energies[better]

    def _sweep_clusters(self, a: ClusterLayout, beta: float) -> None:
        from spinlearn.kernels.class_clusters import sweep_class_clusters

        free = np.ascontiguousarray(self.states[:, a.nodes])
        betas = np.array([beta])
        count = len(free)
        sweep_class_clusters(
            free, np.arange(count), np.zeros(count, dtype=np.int32), betas, a.thresholds(betas),
            a.edge_u, a.edge_v, a.fields, a.field_nodes, a.term, a.held_volumes, a.volumes,
            a.parent, a.field_row, a.field_sums, a.cluster_size, a.cost, a.single,
            self.nodes.stream, 1, PERMUTATIONS, np.ones(count, dtype=np.int64), np.full(count, -1),
            *a.unmeasured,
        )  # fmt: skip
        self.states[:, a.nodes] = free


def unreached_parts(model: PottsModel) -> BoolArray:
    """Nodes in parts of the graph without clamp or field: no label tells their classes apart."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = model.graph
    shape = (graph.n_nodes, graph.n_nodes)
    ones = np.ones(len(graph.neighbors))
    _, part = connected_components(csr_array((ones, graph.neighbors, graph.indptr), shape=shape))
    anchored = (model.clamped != FREE) | (np.ptp(model.fields, axis=1) > 0)
    return np.asarray(~np.isin(part, part[anchored]))
