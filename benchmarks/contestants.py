"""Contestants of the speed comparison: the peers beside our walkers, each a cost per node update.

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
from spinlearn.engines.sampling.walkers import ClusterWalkers, FreeWalkers, Walkers
from spinlearn.kernels.levels import draw_levels, exchange_levels

LOCAL_LEVELS = 64  # of a ladder for walkers with local moves, 64 or 256 of them
CLUSTER_LEVELS = 16  # of a ladder with one walker moved by clusters per level
WARM_UP = 60  # sweeps
READS = 5  # of the energies, to spread the walkers over the levels
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


def canonical(
    kind: type[Walkers], model: PottsModel, temperature: float, sweeps: int
) -> Contestant:
    """Metropolis sweeps of our walkers, all at one temperature."""
    group = kind(model, np.random.SeedSequence(1))
    group.use_ladder(np.array([1 / temperature]))
    group.sweep(WARM_UP)
    return Contestant(lambda: group.sweep(sweeps), sweeps * model.n_nodes * group.n_walkers)


def engine_steps(
    kind: type[Walkers],
    model: PottsModel,
    temperatures: tuple[float, float],
    sweeps: int,
    *,
    drawn: bool,
) -> Contestant:
    """What an engine runs over a ladder: sweeps, energies, moves of walkers between the levels.

    Levels are drawn (multicanonical) or exchanged (tempering); walkers moved by clusters stay at
    theirs and exchange components in both engines. Region moves are left out, they are no updates
    of single nodes.
    """
    n_levels = CLUSTER_LEVELS if kind is ClusterWalkers else LOCAL_LEVELS
    any_number = issubclass(kind, FreeWalkers)
    group = kind(model, np.random.SeedSequence(1), n_levels if any_number else None)
    betas = np.linspace(1 / max(temperatures), 1 / min(temperatures), n_levels)
    group.use_ladder(betas)
    group.levels[:] = np.arange(group.n_walkers) * n_levels // group.n_walkers
    group.apply_levels()
    group.sweep(WARM_UP)
    steps = max(1, sweeps // group.sweeps_per_step)
    eta, occupancy, met = _eta(group, betas), np.zeros(n_levels), np.zeros((n_levels, 2))

    def step() -> None:
        group.sweep(group.sweeps_per_step)
        if kind is ClusterWalkers:
            group.exchange_components(0)
            return
        if drawn:
            draw_levels(group.energies(), betas, eta, group.levels, occupancy, group.stream)
        else:
            exchange_levels(group.energies(), betas, group.levels, met, group.stream)
        group.apply_levels()

    def run() -> None:
        for _ in range(steps):
            step()

    return Contestant(run, steps * group.sweeps_per_step * model.n_nodes * group.n_walkers)


def _eta(group: Walkers, betas: np.ndarray) -> np.ndarray:
    """-ln Z of the levels up to a constant: the integral of the mean energy, roughly."""
    total = np.zeros(len(betas))
    for _ in range(READS):
        group.sweep(2)
        total += np.bincount(group.levels, group.energies(), minlength=len(betas))
    mean = total / np.bincount(group.levels, minlength=len(betas)) / READS
    return np.concatenate([[0.0], np.cumsum(np.diff(betas) * (mean[1:] + mean[:-1]) / 2)])


def clusters(model: PottsModel, temperature: float, n_walkers: int, sweeps: int) -> Contestant:
    """Swendsen-Wang sweeps of a few walkers, one after the other."""
    group = ClusterWalkers(model, np.random.SeedSequence(1), n_walkers)
    group.use_ladder(np.array([1 / temperature]))
    group.sweep(WARM_UP)
    return Contestant(lambda: group.sweep(sweeps), sweeps * model.n_nodes * n_walkers)
