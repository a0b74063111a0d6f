"""A population of walkers that cools as a whole, resampled so that its law stays right.

From beta = 0, where labellings are drawn exactly, beta grows in steps. At a step every walker gets
the weight exp(-(beta' - beta) E), the population is resampled by these weights (systematic
resampling), and swept at beta'. While the sweeps of a step make walkers forget their energies,
weights are of no use and may be left out: the population equilibrates by itself, and families live
on until valleys divide them. At every beta the population follows the Boltzmann law, up to
1/population, however the energy landscape divides it between valleys; the mean weights multiply up
to Z. Hukushima & Iba (2003), Machta, Phys. Rev. E 82, 026704 (2010).

Walkers that descend from one walker at beta = 0 are a family. Families are independent, so the
spread over blocks of families is the error bar; where one family has taken over, it says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.limits import log_partition
from spinlearn.engines.sampling.sums import effective_samples, guarded_errors
from spinlearn.engines.sampling.walkers import Walkers, walkers_for
from spinlearn.minimizers import minimize
from spinlearn.model.arrays import FloatArray, StateArray
from spinlearn.model.potts import PottsModel

MAX_RATIO = 1.2  # of neighbouring temperatures, where the energy hardly fluctuates
BLOCKS = 32  # of families
LEAST_ERROR = 0.7  # of that of as many independent samples as families, for copies part again

Row = dict[str, Any]  # averages at one temperature by name, see `empty_row`


class Snapshot(NamedTuple):
    """A population at one temperature, from which another can go on."""

    beta: float
    log_z: float
    remembers: bool
    families: npt.NDArray[np.int64]
    states: StateArray


class Population:
    """`n_groups` groups of walkers at one temperature, swept `n_sweeps` times at every step.

    `step`, `memory` and `n_jobs` are those of `PopulationAnnealing`.
    """

    def __init__(
        self,
        model: PottsModel,
        seed: np.random.SeedSequence,
        *,
        n_sweeps: int,
        n_groups: int = 1,
        step: float = 1.0,
        memory: float = 0.0,
        n_jobs: int = 1,
    ) -> None:
        kind = walkers_for(model)
        draw, *children = seed.spawn(1 + n_groups)
        self.generator = np.random.default_rng(draw)
        self.groups: list[Walkers] = [kind(model, child) for child in children]
        self.n_sweeps, self.n_jobs = n_sweeps, n_jobs
        self._step, self._memory = step, memory
        self.n_walkers = n_groups * kind.default_walkers
        self.families = np.arange(self.n_walkers)
        self.remembers = memory == 0
        self.steps = self.resampled = 0
        self.log_z = len(model.free_nodes) * float(np.log(model.n_states))
        self._use(0.0)

    def advance(self, target: float) -> None:
        """One step towards the inverse temperature `target`."""
        energies = self.energies()
        spread = float(energies.std())
        beta = target if spread == 0 else min(target, self.beta + self._step / spread)
        if self.beta > 0:
            beta = min(beta, self.beta * MAX_RATIO)
        self._weigh(energies, beta - self.beta)
        self._use(beta)
        before = self.energies() if self.remembers else energies
        self.sweep(self.n_sweeps)
        self.steps += 1
        if self._memory > 0:
            self.remembers = _correlation(before, self.energies()) > self._memory

    def sweep(self, n_sweeps: int) -> None:
        """Sweep all walkers at the present temperature."""
        if self.n_jobs == 1 or len(self.groups) == 1:
            for group in self.groups:
                group.sweep(n_sweeps)
        else:
            from joblib import Parallel, delayed

            threads = Parallel(n_jobs=self.n_jobs, require="sharedmem")
            threads(delayed(group.sweep)(n_sweeps) for group in self.groups)

    def states(self) -> StateArray:
        """Labellings of all walkers."""
        return np.concatenate([group.states() for group in self.groups])

    def energies(self) -> FloatArray:
        """E of all walkers."""
        return np.concatenate([group.energies() for group in self.groups])

    def snapshot(self) -> Snapshot:
        """What another population needs to go on from here."""
        return Snapshot(self.beta, self.log_z, self.remembers, self.families, self.states())

    def go_on_from(self, snapshot: Snapshot) -> None:
        """Take the place of another population; random numbers stay one's own."""
        self.log_z, self.remembers = snapshot.log_z, snapshot.remembers
        self.families = snapshot.families
        self._use(snapshot.beta)
        self._put_states(snapshot.states)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that moves, beside a snapshot, for a checkpoint."""
        streams = np.stack([group.stream for group in self.groups])
        return {"streams": streams, "counts": np.array([self.steps, self.resampled])}

    def restore(
        self, snapshot: Snapshot, arrays: dict[str, npt.NDArray[Any]], generator: dict[str, Any]
    ) -> None:
        """Go on exactly where a saved population stood."""
        self.go_on_from(snapshot)
        for group, stream in zip(self.groups, arrays["streams"], strict=True):
            group.stream[...] = stream
        self.steps, self.resampled = arrays["counts"].tolist()
        self.generator.bit_generator.state = generator

    def _use(self, beta: float) -> None:
        self.beta = beta
        for group in self.groups:
            group.use_ladder(np.array([beta]))

    def _put_states(self, states: StateArray) -> None:
        parts = np.split(states, len(self.groups))
        for group, part in zip(self.groups, parts, strict=True):
            group.put_states(part)

    def _weigh(self, energies: FloatArray, step: float) -> None:
        """Count the weights into Z and, if walkers keep their energies, copy by weight."""
        lowest = float(energies.min())
        weights = np.exp(-step * (energies - lowest))
        self.log_z += float(np.log(weights.mean())) - step * lowest
        if not self.remembers:
            return
        self.resampled += 1
        ticks = (np.arange(self.n_walkers) + self.generator.random()) / self.n_walkers
        shares = np.cumsum(weights)
        chosen = np.searchsorted(shares / shares[-1], ticks, side="right")
        chosen = np.minimum(chosen, self.n_walkers - 1)
        self.families = self.families[chosen]
        self._put_states(self.states()[chosen])


class Trail:
    """Snapshots along the way down, evenly thinned to what memory allows."""

    def __init__(self, max_bytes: float) -> None:
        self.snapshots: list[Snapshot] = []
        self._max_bytes, self.stride, self.skipped = max_bytes, 1, 0

    def add(self, population: Population) -> None:
        """Keep a snapshot, or skip it if earlier ones had to be thinned."""
        self.skipped += 1
        if self.skipped < self.stride:
            return
        self.skipped = 0
        self.snapshots.append(population.snapshot())
        used = sum(s.states.nbytes + s.families.nbytes for s in self.snapshots)
        if used > self._max_bytes and len(self.snapshots) > 2:
            self.snapshots = self.snapshots[::2]
            self.stride *= 2

    def before(self, beta: float) -> Snapshot:
        """The last snapshot that is not colder than `beta`."""
        return [s for s in self.snapshots if s.beta <= beta][-1]


def _correlation(before: FloatArray, after: FloatArray) -> float:
    """Of the walkers' energies before and after some sweeps; 0 where all are equal."""
    before, after = before - before.mean(), after - after.mean()
    scale = float(np.sqrt(np.sum(before**2) * np.sum(after**2)))
    return float(np.sum(before * after)) / scale if scale > 0 else 0.0


# -- averages ------------------------------------------------------------------------------------


def empty_row(model: PottsModel) -> Row:
    """The types and shapes of a row; blocks and samples are effective numbers."""
    nodes, edges = np.zeros((model.n_nodes, model.n_states)), np.zeros(model.graph.n_edges)
    names = ("mean_energy", "heat_capacity", "log_partition", "blocks", "samples")
    return {
        "marginals": nodes,
        "std_error": nodes,
        "edge_agreement": edges,
        "agreement_std_error": edges,
        **dict.fromkeys(names, 0.0),
    }


def population_row(
    model: PottsModel, population: Population, temperature: float, n_reads: int, apart: int
) -> Row:
    """Averages over a population that stands at `temperature`, read several times.

    `apart` is the number of sweeps between two readings.
    """
    energies = []
    sums: list[Any] = [0, 0, 0]
    everyone = np.ones(population.n_walkers, dtype=bool)
    for read in range(n_reads):
        if read:
            population.sweep(apart)
        energies.append(population.energies())
        found = _sums(model, population, everyone)
        sums = [a + b for a, b in zip(sums, found, strict=True)]
    values = np.concatenate(energies)
    row = _averages(model, sums, len(values), population.n_walkers)
    row["mean_energy"] = float(values.mean())
    finite = np.isfinite(temperature)
    row["heat_capacity"] = float(values.var()) / temperature**2 if finite else 0.0
    row["log_partition"] = population.log_z
    return row


def ground_row(model: PottsModel, population: Population, seed: int) -> Row:
    """T = 0: the walkers of least energy, or the minimum of the minimiser if that is lower.

    Resampling goes by the weights of valleys at the temperatures where they part, so all walkers
    may end in a valley that is not the deepest.
    """
    energies = population.energies()
    lowest = float(energies.min())
    margin = 1e-9 * max(model.energy_scale, 1e-300)
    found = minimize(model, seed=seed)
    if found.energy < lowest - margin:
        lowest = found.energy
        # A single labelling: nothing is known of others of the same energy.
        marginals, (u, v) = np.eye(model.n_states)[found.labels], model.graph.edges.T
        row = {
            "marginals": marginals,
            "std_error": np.where(model.clamped[:, None] >= 0, 0.0, np.full(marginals.shape, 0.5)),
            "edge_agreement": (found.labels[u] == found.labels[v]).astype(np.float64),
            "agreement_std_error": np.full(len(u), 0.5),
            "blocks": 1.0,
            "samples": 1.0,
        }
    else:
        best = energies <= lowest + margin
        sums = _sums(model, population, best)
        row = _averages(model, sums, int(best.sum()), population.n_walkers)
    row["mean_energy"], row["heat_capacity"] = lowest, 0.0
    row["log_partition"] = float(log_partition(lowest, np.array([np.nan]), np.zeros(1))[0])
    return row


def _sums(
    model: PottsModel, population: Population, counted: npt.NDArray[np.bool_]
) -> list[npt.NDArray[Any]]:
    """Walkers, node states and edge agreements per block of families."""
    from spinlearn.kernels.levels import accumulate

    n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
    blocks = population.families * BLOCKS // population.n_walkers
    rows = np.where(counted, blocks, -1).astype(np.int64)
    nodes = np.zeros((BLOCKS, (q - 1) * n), dtype=np.uint32)
    edges = np.zeros((BLOCKS, m), dtype=np.uint32)
    counts = np.zeros(BLOCKS, dtype=np.int64)
    edge_u, edge_v = (np.ascontiguousarray(end) for end in model.graph.edges.T)
    accumulate(population.states(), rows, q, edge_u, edge_v, nodes, edges, counts)
    return [counts, nodes.astype(np.int64), edges.astype(np.int64)]


def _averages(model: PottsModel, sums: list[Any], n_samples: int, n_walkers: int) -> Row:
    """Means with jackknife errors over the blocks."""
    n, q = model.n_nodes, model.n_states
    counts, nodes, edges = (np.asarray(s, dtype=np.float64) for s in sums)
    others, others_error = _jackknife(nodes, counts)
    marginals, errors = np.empty((n, q)), np.empty((n, q))
    marginals[:, 1:] = others.reshape(q - 1, n).T
    marginals[:, 0] = np.clip(1 - marginals[:, 1:].sum(axis=1), 0.0, 1.0)
    errors[:, 1:] = others_error.reshape(q - 1, n).T
    zero_counts = counts[:, None] - nodes.reshape(BLOCKS, q - 1, n).sum(axis=1)
    errors[:, 0] = _jackknife(zero_counts, counts)[1]
    agreement, agreement_error = _jackknife(edges, counts)
    samples = effective_samples(marginals[None], errors[None], np.array([float(n_samples)]))
    # One family is one sample, however many copies of it there are: the fewest it can be.
    share = counts / counts.sum()
    samples = np.minimum(samples, max(n_walkers / BLOCKS, 1.0) / float(np.sum(share**2)))
    errors, agreement_error = (
        guarded_errors(mean[None], error[None], samples, LEAST_ERROR)[0]
        for mean, error in ((marginals, errors), (agreement, agreement_error))
    )
    errors[model.clamped >= 0] = 0.0
    return {
        "marginals": marginals,
        "std_error": errors,
        "edge_agreement": agreement,
        "agreement_std_error": agreement_error,
        "blocks": 1 / float(np.sum(share**2)),
        "samples": float(samples[0]),
    }


def _jackknife(sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of sums (B, columns) over counts (B,), and its error by leaving out one block each."""
    total, whole = float(counts.sum()), sums.sum(axis=0)
    mean = whole / total
    filled = counts > 0
    blocks = int(filled.sum())
    if blocks < 2:
        return mean, np.full(mean.shape, 0.5)
    without = (whole - sums[filled]) / (total - counts[filled])[:, None]
    spread = without - without.mean(axis=0)
    return mean, np.asarray(np.sqrt((blocks - 1) / blocks * np.sum(spread**2, axis=0)))
