"""Contestants of the speed comparison: the peers and our kernels, each a cost per node update.

A contestant is measured in short rounds that alternate with those of the others; what counts is the
smallest CPU time it ever needed. Peers have a set-up that is not the question, so they are measured
as the difference of a long and a short run, each the smallest so far.

All treat E = sum_e w_e (1 - [s_u = s_v]), the Ising model with J = w / 2 for q = 2.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before the peers are imported
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np

from spinlearn import PottsModel
from spinlearn.engines.walkers import ClusterWalkers, Walkers
from spinlearn.kernels import bits, lockstep
from spinlearn.kernels.ensemble import draw_levels
from spinlearn.kernels.rng import make_stream

HISTOGRAM_EVERY = 8  # visits; energies change little in between
WARM_UP = 60  # sweeps
SHORT = 20  # sweeps of a peer's short run
PEER_UPDATES = 40_000_000  # of a peer's long run, more than of the short one
CLUSTER_UPDATES = 3_000_000  # the same, of a cluster algorithm

Run = Callable[[], Any]


def installed(module: str) -> bool:
    """Whether an optional peer can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would hold it
        return False


def cpu_seconds(run: Run) -> float:
    """CPU time of one call."""
    began = time.process_time()
    run()
    return time.process_time() - began


@dataclass
class Contestant:
    """Nanoseconds per update of `run`, minus those of `without` if that is given."""

    run: Run
    updates: float
    without: Run | None = None
    max_rounds: int = 1_000
    _rounds: int = 0
    _least: float = field(default=np.inf)
    _least_without: float = field(default=np.inf)

    def measure(self) -> None:
        """One round."""
        if self._rounds >= self.max_rounds:
            return
        self._rounds += 1
        if self.without is not None:
            self._least_without = min(self._least_without, cpu_seconds(self.without))
        self._least = min(self._least, cpu_seconds(self.run))

    @property
    def nanoseconds(self) -> float:
        """Per update, from the best rounds so far."""
        overhead = 0.0 if self.without is None else self._least_without
        return (self._least - overhead) / self.updates * 1e9


def compete(contestants: dict[str, Contestant | None], rounds: int) -> dict[str, float | None]:
    """Nanoseconds per update by name, None for what is not installed."""
    present = {name: c for name, c in contestants.items() if c is not None}
    for contestant in present.values():
        if contestant.without is None:
            contestant.run()  # compile
    for _ in range(rounds):
        for contestant in present.values():
            contestant.measure()
    return {name: None if c is None else c.nanoseconds for name, c in contestants.items()}


# -- peers, q = 2 ------------------------------------------------------------------------------


def _long_and_short(
    run: Callable[[int], Any], n: int, updates: int = PEER_UPDATES, max_rounds: int = 1_000
) -> Contestant:
    sweeps = max(updates // n, SHORT)
    return Contestant(
        lambda: run(sweeps + SHORT), sweeps * n, without=lambda: run(SHORT), max_rounds=max_rounds
    )


def dwave(model: PottsModel, temperature: float) -> Contestant | None:
    """Metropolis sweeps of dwave-samplers at one temperature."""
    if not installed("dwave.samplers"):
        return None
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    u, v = model.graph.edges.T
    n = model.n_nodes
    quadratic = (u, v, -model.couplings / 2)
    problem = dimod.BinaryQuadraticModel.from_numpy_vectors(np.zeros(n), quadratic, 0.0, "SPIN")
    sampler = SimulatedAnnealingSampler()

    def run(sweeps: int) -> None:
        sampler.sample(
            problem,
            num_reads=1,
            num_sweeps=sweeps,
            num_sweeps_per_beta=1,
            beta_schedule_type="custom",
            beta_schedule=np.full(sweeps, 1 / temperature),
            seed=1,
        )

    return _long_and_short(run, n)


def openjij(
    model: PottsModel, temperature: float, updater: str = "single spin flip"
) -> Contestant | None:
    """Sweeps of openjij; it builds its graph from a dict at every call, hence few, long rounds."""
    if not installed("openjij"):
        return None
    import openjij as oj

    edges = map(tuple, model.graph.edges.tolist())
    couplings = dict(zip(edges, (-model.couplings / 2).tolist(), strict=True))
    problem = oj.BinaryQuadraticModel({}, couplings, 0.0, "SPIN", sparse=True)
    sampler = oj.SASampler()

    def run(sweeps: int) -> None:
        schedule = [[1 / temperature, sweeps]]
        sampler.sample(problem, num_reads=1, schedule=schedule, updater=updater, seed=1)

    updates = CLUSTER_UPDATES if updater == "swendsen wang" else PEER_UPDATES
    return _long_and_short(run, model.n_nodes, updates, max_rounds=3)


def _peapods_run(side: int, temperature: float, **options: Any) -> Callable[[int], Any]:
    import peapods

    lattice = peapods.Ising((side, side), temperatures=np.array([2 * temperature]))  # J = 1

    def run(sweeps: int) -> None:
        lattice.reset()
        lattice.sample(sweeps, sequential=True, **options)

    return run


def peapods_metropolis(side: int, temperature: float) -> Contestant | None:
    """Metropolis sweeps of peapods on its periodic lattice."""
    if not installed("peapods"):
        return None
    return _long_and_short(_peapods_run(side, temperature), side * side)


def peapods_clusters(side: int, temperature: float) -> Contestant | None:
    """Swendsen-Wang sweeps of peapods: those with a cluster update minus those without."""
    if not installed("peapods"):
        return None
    sweeps = max(CLUSTER_UPDATES // side**2, SHORT)
    plain = _peapods_run(side, temperature)
    clusters = _peapods_run(side, temperature, cluster_update_interval=1, cluster_mode="sw")
    return Contestant(
        lambda: clusters(sweeps), sweeps * side**2, without=lambda: plain(sweeps), max_rounds=1_000
    )


# -- ours --------------------------------------------------------------------------------------


@dataclass
class Spread:
    """Walkers spread over a range of temperatures, and their mean energies there."""

    group: Walkers
    betas: np.ndarray
    mean_energies: np.ndarray

    def log_weights(self, energies: np.ndarray) -> np.ndarray:
        """ln W = -ln D up to a constant: minus the integral of beta(E). Canonical outside."""
        grid = np.maximum.accumulate(self.mean_energies[::-1])
        beta = np.interp(energies, grid, self.betas[::-1])
        steps = np.diff(energies) * (beta[1:] + beta[:-1]) / 2
        return -np.concatenate([[0.0], np.cumsum(steps)])

    def eta(self, betas: np.ndarray) -> np.ndarray:
        """-ln Z up to a constant: the integral of the mean energy."""
        mean = np.interp(betas, self.betas, self.mean_energies)
        return np.concatenate([[0.0], np.cumsum(np.diff(betas) * (mean[1:] + mean[:-1]) / 2)])


def spread_out(kind: Any, model: PottsModel, temperatures: tuple[float, float]) -> Spread:
    """Walkers of a kind, one temperature each between the two given, roughly in equilibrium."""
    group = kind(model, np.random.SeedSequence(1))
    betas = np.linspace(1 / max(temperatures), 1 / min(temperatures), group.n_walkers)
    group.use_ladder(betas)
    group.levels[:] = np.arange(group.n_walkers)
    group.apply_levels()
    group.sweep(WARM_UP)
    reads = []
    for _ in range(5):
        group.sweep(2)
        reads.append(group.energies())
    return Spread(group, betas, np.mean(reads, axis=0))


def canonical(kind: Any, model: PottsModel, temperature: float, sweeps: int) -> Contestant:
    """Metropolis sweeps of our walkers, all at one temperature."""
    group = kind(model, np.random.SeedSequence(1))
    group.use_ladder(np.array([1 / temperature]))
    group.sweep(WARM_UP)
    return Contestant(lambda: group.sweep(sweeps), sweeps * model.n_nodes * group.n_walkers)


def engine_steps(spread: Spread, n_nodes: int, n_levels: int, steps: int) -> Contestant:
    """What the multicanonical engine runs: canonical sweeps, energies, draws of levels.

    Its region moves are left out, they are no updates of single nodes.
    """
    group = spread.group
    betas = np.linspace(spread.betas[0], spread.betas[-1], n_levels)
    eta, occupancy = spread.eta(betas), np.zeros(n_levels)
    last = len(spread.betas) - 1
    group.use_ladder(betas)
    group.levels[:] = np.arange(last + 1) * (n_levels - 1) // last
    group.apply_levels()

    def run() -> None:
        for _ in range(steps):
            group.sweep(group.sweeps_per_step)
            draw_levels(group.energies(), betas, eta, group.levels, occupancy, group.stream)
            group.apply_levels()

    return Contestant(run, steps * group.sweeps_per_step * n_nodes * group.n_walkers)


def bits_table(spread: Spread, model: PottsModel, sweeps: int) -> Contestant:
    """The bit-sliced multicanonical kernel with weights flat over the spread's energies."""
    q, graph = model.n_states, model.graph
    log_weights = spread.log_weights(np.arange(graph.n_edges + 1.0))
    table, shift, centre = bits.acceptance_table(log_weights, int(graph.degrees.max()))
    spins = bits.pack_states(spread.group.states(), q)
    cut = np.rint(spread.group.energies()).astype(np.int64)
    rows = ((cut << shift) + centre).astype(np.int32)
    histogram = np.zeros(len(log_weights), np.int64)
    structure = _structure(model)
    stream = make_stream(np.random.SeedSequence(2))

    def run() -> None:
        bits.bits_multicanonical(
            spins, q, *structure, table, shift, rows, histogram, HISTOGRAM_EVERY, stream, sweeps
        )

    run()
    return Contestant(run, sweeps * model.n_nodes * bits.WALKERS)


def lockstep_table(spread: Spread, model: PottsModel, sweeps: int) -> Contestant:
    """The lockstep multicanonical kernel with weights flat over the spread's energies."""
    indptr, neighbors, free = _structure(model)
    group, couplings = spread.group, model.couplings
    span = 2 * float(couplings.sum())
    terms = lockstep.quantize(couplings[model.graph.edge_ids], indptr, None, span)
    unit = terms[-1]
    bin_shift = int(np.log2(4 / unit))  # bins four mean couplings wide
    n_bins = (int(span / unit) >> bin_shift) + 2
    edges = unit * 2.0**bin_shift * np.arange(n_bins)
    log_weights, slopes, resolution = lockstep.weight_table(spread.log_weights(edges), bin_shift)
    states = group.states()
    u, v = model.graph.edges.T
    energies = ((states[:, u] != states[:, v]) @ np.rint(couplings / unit)).astype(np.int32)
    # The first accepted move of a walker corrects its ln W within the bin.
    current = log_weights[energies >> bin_shift].copy()
    flat_states = np.ascontiguousarray(states.T).ravel()
    histogram = np.zeros(len(slopes), np.int64)
    stream = make_stream(np.random.SeedSequence(2))

    def run() -> None:
        lockstep.lockstep_multicanonical(
            flat_states, group.n_walkers, model.n_states, indptr, neighbors, *terms[:-1], free,
            log_weights, slopes, bin_shift, resolution, energies, current, histogram,
            HISTOGRAM_EVERY, stream, sweeps,
        )  # fmt: skip

    run()
    return Contestant(run, sweeps * model.n_nodes * group.n_walkers)


def _structure(model: PottsModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    graph = model.graph
    return (
        graph.indptr.astype(np.uint32),
        graph.neighbors.astype(np.uint32),
        model.free_nodes.astype(np.uint32),
    )


def clusters(model: PottsModel, temperature: float, n_walkers: int, sweeps: int) -> Contestant:
    """Swendsen-Wang sweeps of a few walkers, one after the other."""
    group = ClusterWalkers(model, np.random.SeedSequence(1), n_walkers)
    group.use_ladder(np.array([1 / temperature]))
    group.sweep(WARM_UP)
    return Contestant(lambda: group.sweep(sweeps), sweeps * model.n_nodes * n_walkers)
