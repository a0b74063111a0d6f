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

Marginals and pair agreement say nothing of how far points are bound together across the graph;
whole labellings do: any joint average is a mean over them (`draw_labellings`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.exact.junction_tree import JunctionTree
from spinlearn.engines.limits import log_partition
from spinlearn.engines.sampling.sums import effective_samples, guarded_errors
from spinlearn.engines.sampling.walkers import Walkers, walkers_for
from spinlearn.errors import InvalidInputError
from spinlearn.files.arrays import Arrays
from spinlearn.kernels.levels import accumulate
from spinlearn.minimizers import minimize
from spinlearn.model.arrays import BoolArray, FloatArray, IndexArray, StateArray, temperature_array
from spinlearn.model.parallel import in_threads
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Seed, seed_sequence

MAX_RATIO = 1.2  # of neighbouring temperatures, where the energy hardly fluctuates
BLOCKS = 32  # of families
LEAST_ERROR = 0.7  # of that of as many independent samples as families, for copies part again
READ_SWEEPS = 2  # times the cooling sweeps, between two readings of a population
EXACT_OPERATIONS = 3e7  # clique states per temperature (seconds) up to which drawing is exact

Row = dict[str, Any]  # averages at one temperature by name, see `empty_row`


class Snapshot(NamedTuple):
    """A population at one temperature, from which another can go on."""

    beta: float
    log_z: float
    remembers: bool
    families: IndexArray
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
        self.families: IndexArray = np.arange(self.n_walkers)
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
        in_threads([partial(group.sweep, n_sweeps) for group in self.groups], self.n_jobs)

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

    def arrays(self) -> Arrays:
        """Everything that moves, beside a snapshot, for a checkpoint."""
        streams = np.stack([group.stream for group in self.groups])
        return {"streams": streams, "counts": np.array([self.steps, self.resampled])}

    def restore(self, snapshot: Snapshot, arrays: Arrays, generator: dict[str, Any]) -> None:
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
    everyone = np.ones(population.n_walkers, dtype=bool)
    row, energies = _averages(model, population, everyone, n_reads, apart)
    row["mean_energy"] = float(energies.mean())
    finite = np.isfinite(temperature)
    row["heat_capacity"] = float(energies.var()) / temperature**2 if finite else 0.0
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
    minimum = minimize(model, seed=seed)
    if minimum.energy < lowest - margin:
        lowest = minimum.energy
        # A single labelling: nothing is known of others of the same energy.
        marginals, (u, v) = np.eye(model.n_states)[minimum.labels], model.graph.edges.T
        row = {
            "marginals": marginals,
            "std_error": np.where(model.clamped[:, None] >= 0, 0.0, np.full(marginals.shape, 0.5)),
            "edge_agreement": (minimum.labels[u] == minimum.labels[v]).astype(np.float64),
            "agreement_std_error": np.full(len(u), 0.5),
            "blocks": 1.0,
            "samples": 1.0,
        }
    else:
        row, _ = _averages(model, population, energies <= lowest + margin)
    row["mean_energy"], row["heat_capacity"] = lowest, 0.0
    row["log_partition"] = float(log_partition(lowest, np.array([np.nan]), np.zeros(1))[0])
    return row


def _averages(
    model: PottsModel, population: Population, counted: BoolArray, n_reads: int = 1, apart: int = 0
) -> tuple[Row, FloatArray]:
    """Means of the walkers that are `counted`, with jackknife errors over blocks of families.

    Beside them the energies of all walkers, of all readings.
    """
    n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
    rows = np.where(counted, population.families * BLOCKS // population.n_walkers, -1)
    node_sums = np.zeros((BLOCKS, (q - 1) * n), dtype=np.uint32)
    edge_sums = np.zeros((BLOCKS, m), dtype=np.uint32)
    walkers = np.zeros(BLOCKS, dtype=np.int64)
    ends = [np.ascontiguousarray(end) for end in model.graph.edges.T]
    energies = []
    for read in range(n_reads):
        if read:
            population.sweep(apart)
        energies.append(population.energies())
        accumulate(population.states(), rows, q, *ends, node_sums, edge_sums, walkers)
    counts, nodes, edges = (a.astype(np.float64) for a in (walkers, node_sums, edge_sums))
    others, others_error = _jackknife(nodes, counts)
    marginals, errors = np.empty((n, q)), np.empty((n, q))
    marginals[:, 1:] = others.reshape(q - 1, n).T
    marginals[:, 0] = np.clip(1 - marginals[:, 1:].sum(axis=1), 0.0, 1.0)
    errors[:, 1:] = others_error.reshape(q - 1, n).T
    zero_counts = counts[:, None] - nodes.reshape(BLOCKS, q - 1, n).sum(axis=1)
    errors[:, 0] = _jackknife(zero_counts, counts)[1]
    agreement, agreement_error = _jackknife(edges, counts)
    samples = effective_samples(marginals[None], errors[None], counts.sum(keepdims=True))
    # One family is one sample, however many copies of it there are: the fewest it can be.
    blocks = 1 / float(np.sum((counts / counts.sum()) ** 2))
    samples = np.minimum(samples, max(population.n_walkers / BLOCKS, 1.0) * blocks)
    errors, agreement_error = (
        guarded_errors(mean[None], error[None], samples, LEAST_ERROR)[0]
        for mean, error in ((marginals, errors), (agreement, agreement_error))
    )
    errors[model.clamped >= 0] = 0.0
    row = {
        "marginals": marginals,
        "std_error": errors,
        "edge_agreement": agreement,
        "agreement_std_error": agreement_error,
        "blocks": blocks,
        "samples": float(samples[0]),
    }
    return row, np.concatenate(energies)


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


# -- whole labellings ---------------------------------------------------------------------------


def draw_labellings(
    model: PottsModel,
    temperatures: npt.ArrayLike,
    n_samples: int = 256,
    *,
    seed: Seed = None,
    n_groups: int = 2,
) -> list[StateArray]:
    """Whole labellings from the Boltzmann law: exact where the graph is narrow, else sampled.

    Parameters
    ----------
    model : PottsModel
        What to draw from; n nodes.
    temperatures : array-like of float
        In the unit of the couplings; > 0 where the graph is too wide for the exact answer.
    n_samples : int, default 256
        Least number of labellings at each temperature, S.
    seed : int, SeedSequence or None
        Of random numbers; the same seed gives the same labellings.
    n_groups : int, default 2
        Independent populations where they are sampled.

    Returns
    -------
    list of int8 arrays (S, n)
        One for every temperature.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import draw_labellings
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> cold, hot = draw_labellings(model, [0.0, 1.0], 1000, seed=0)
    >>> cold.shape, int(cold.max())  # at T = 0 all follow the label
    ((1000, 3), 0)
    >>> bool(abs(hot[:, 2].mean() - 0.393) < 0.05)  # exact: 0.393 in state 1
    True
    """
    wanted = temperature_array(temperatures)
    if n_samples < 1:
        raise InvalidInputError(f"n_samples={n_samples}: at least one labelling is needed")
    exact = JunctionTree(max_operations=EXACT_OPERATIONS, max_memory_gb=2.0)
    if exact.unsupported(model) is None:
        children = seed_sequence(seed).spawn(len(wanted))
        return [
            exact.draw(model, float(t), n_samples, seed=child)
            for t, child in zip(wanted, children, strict=True)
        ]
    if np.any(wanted == 0):
        raise InvalidInputError(
            "labellings at T = 0 are not sampled, only drawn exactly, and this graph is too wide: "
            "ask for a positive temperature"
        )
    cooled = cooled_labellings(model, wanted, n_samples=n_samples, n_groups=n_groups, seed=seed)
    by_temperature = dict(cooled)
    return [by_temperature[float(t)] for t in wanted]


def cooled_labellings(
    model: PottsModel,
    temperatures: FloatArray,
    *,
    n_samples: int,
    n_groups: int = 4,
    seed: Seed = None,
) -> Iterator[tuple[float, StateArray]]:
    """Labellings (at least n_samples, n) at each positive temperature, from hot to cold.

    Those of `n_groups` independent populations are stacked in equal parts, and show by their spread
    how far a population is large enough.
    """
    sweeps = walkers_for(model).cooling_sweeps
    children = seed_sequence(seed).spawn(n_groups)
    populations = [Population(model, child, n_sweeps=sweeps) for child in children]
    reads = max(-(-n_samples // sum(p.n_walkers for p in populations)), 1)
    for temperature in np.unique(temperatures)[::-1].tolist():
        parts = []
        for population in populations:
            while population.beta < 1 / temperature:
                population.advance(1 / temperature)
            for _ in range(reads):
                population.sweep(READ_SWEEPS * sweeps)
                parts.append(population.states())
        yield temperature, np.concatenate(parts)
