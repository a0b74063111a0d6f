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
from spinlearn.core.arrays import BoolArray, FloatArray, StateArray
from spinlearn.core.class_layout import ClusterLayout, GeneralLayout, cluster_reason
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.seeds import seed_sequence
from spinlearn.errors import InvalidInputError
from spinlearn.minimizers.minimum import Minimum

COOLING = 60.0  # highest over lowest temperature
PERMUTATIONS = 5  # tries after every cluster sweep
FLIPS = 2  # of Wolff clusters after every heat-bath sweep
MAX_DESCENT = 1000  # sweeps; every one lowers the energy, so this only guards against rounding


def class_annealing(
    model: PottsModel, *, n_sweeps: int = 300, n_runs: int = 16, seed: int | None = None
) -> Minimum:
    """The lowest labelling met by several annealing runs.

    Parameters
    ----------
    model : PottsModel
        Any: with or without a class-level term, any pair cost, couplings of either sign.
    n_sweeps : int
        Temperatures of a run, one sweep each.
    n_runs : int
        Runs from random labellings.
    seed : int, optional
    """
    if n_sweeps < 1 or n_runs < 1:
        raise InvalidInputError(
            f"n_sweeps={n_sweeps} and n_runs={n_runs} must be at least 1: that is no run at all"
        )
    walkers = _Walkers(model, n_runs, seed_sequence(seed))
    top = float(temperature_grid(model)[-1])
    if len(model.free_nodes):
        for temperature in np.geomspace(top, top / COOLING, n_sweeps):
            walkers.sweep(1 / temperature)
    best, sweeps = walkers.descended()
    energies = np.atleast_1d(model.energy(best))
    lowest = int(np.argmin(energies))
    return Minimum(
        labels=best[lowest],
        energy=float(energies[lowest]),
        exact=len(model.free_nodes) == 0,
        method="class_annealing",
        undecided=_unreached(model),
        sweeps=n_runs * n_sweeps + sweeps,
    )


class _Walkers:
    """Labellings (R, n) that are cooled together, and the best that each has met."""

    def __init__(self, model: PottsModel, n_runs: int, seed: np.random.SeedSequence) -> None:
        from spinlearn.kernels.rng import make_stream

        self.scale = model.energy_scale
        self.layout = GeneralLayout(model)
        self.clusters = ClusterLayout(model) if cluster_reason(model) is None else None
        generator = np.random.default_rng(seed)
        states = generator.integers(0, model.n_states, (n_runs, model.n_nodes), dtype=np.int8)
        held = model.clamped != FREE
        states[:, held] = model.clamped[held]
        self.states: StateArray = states
        self.stream = make_stream(seed)
        self.best = self.states.copy()
        self.best_energies = self._energies(self.states)

    def sweep(self, beta: float) -> None:
        """Sweep all walkers and keep what is better than before."""
        if self.clusters is None:
            self._sweep_nodes(self.states, beta, FLIPS)
        else:
            self._sweep_clusters(self.clusters, beta)
        energies = self._energies(self.states)
        better = energies < self.best_energies
        self.best[better] = self.states[better]
        self.best_energies[better] = energies[better]

    def descended(self) -> tuple[StateArray, int]:
        """The best labellings after node moves at T = 0, and the sweeps that took."""
        current, energies = self.best.copy(), self.best_energies.copy()
        scale = max(self.scale, 1e-200)
        sweeps = 0
        while sweeps < MAX_DESCENT:
            self._sweep_nodes(current, 1e12 / scale, 0)  # no weight but for the lowest states
            sweeps += 1
            now = self._energies(current)
            better = now < energies - 1e-12 * scale
            self.best[better], energies[better] = current[better], now[better]
            if not np.any(better):
                break
        return self.best, sweeps

    def _energies(self, states: StateArray) -> FloatArray:
        from spinlearn.kernels.classes import energies_of

        a = self.layout
        energies = np.empty(len(states))
        energies_of(
            states, a.indptr, a.neighbors, a.weights, a.cut_weights, a.pair_cost, a.fields, a.term,
            a.volumes, a.cuts, energies,
        )  # fmt: skip
        return energies

    def _sweep_nodes(self, states: StateArray, beta: float, n_flips: int) -> None:
        from spinlearn.kernels.classes import sweep_walkers

        a = self.layout
        sweep_walkers(
            states, np.full(len(states), beta), a.free, a.held, a.indptr, a.neighbors, a.weights,
            a.cut_weights, a.bond_weights, a.pair_cost, a.potts, a.fields, a.term, a.volumes,
            a.cuts, a.tally, a.cost, a.mark, a.queue, self.stream, 1, n_flips,
        )  # fmt: skip

    def _sweep_clusters(self, a: ClusterLayout, beta: float) -> None:
        from spinlearn.kernels.class_clusters import sweep_class_clusters

        free = np.ascontiguousarray(self.states[:, a.nodes])
        betas = np.array([beta])
        sweep_class_clusters(
            free, np.zeros(len(free), dtype=np.int32), betas, a.thresholds(betas), a.edge_u,
            a.edge_v, a.fields, a.field_nodes, a.term, a.held_volumes, a.volumes, a.parent,
            a.field_row, a.field_sums, a.cluster_size, a.cost, a.single, self.stream, 1,
            PERMUTATIONS,
        )  # fmt: skip
        self.states[:, a.nodes] = free


def _unreached(model: PottsModel) -> BoolArray:
    """Nodes in parts of the graph without clamp or field: no label tells their classes apart."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = model.graph
    shape = (graph.n_nodes, graph.n_nodes)
    ones = np.ones(len(graph.neighbors))
    _, part = connected_components(csr_array((ones, graph.neighbors, graph.indptr), shape=shape))
    anchored = (model.clamped != FREE) | (np.ptp(model.fields, axis=1) > 0)
    return np.asarray(~np.isin(part, part[anchored]))
