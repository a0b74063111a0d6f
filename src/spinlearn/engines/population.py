"""A population of walkers that cools as a whole, resampled so that its law stays right.

From beta = 0, where labellings are drawn exactly, beta grows in steps. At a step every walker gets
the weight exp(-(beta' - beta) E), the population is resampled by these weights (systematic
resampling), and swept at beta'. While the sweeps of a step make walkers forget their energies,
weights are of no use and may be left out: the population equilibrates by itself, and families live
on until valleys divide them. At every beta the population follows the Boltzmann law, up to
1/population, however the energy landscape divides it between valleys; the mean weights multiply up
to Z. Hukushima & Iba (2003), Machta, Phys. Rev. E 82, 026704 (2010).

Walkers that descend from one walker at beta = 0 are a family. Families are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import PottsModel
from spinlearn.engines.walker_group import Walkers
from spinlearn.engines.walkers import walkers_for

MAX_RATIO = 1.2  # of neighbouring temperatures, where the energy hardly fluctuates


class Snapshot(NamedTuple):
    """A population at one temperature, from which another can go on."""

    beta: float
    log_z: float
    remembers: bool
    families: npt.NDArray[np.int64]
    states: StateArray


class Population:
    """Groups of walkers at one temperature.

    Parameters
    ----------
    model : PottsModel
    seed : SeedSequence
        Children are taken from it.
    n_groups : int
        Groups of walkers, each of the size that its kind comes in.
    n_sweeps : int
        Sweeps at every step.
    step, memory, n_jobs
        As in `PopulationAnnealing`.
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
        self._each(lambda group: group.sweep(n_sweeps))

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

    def _each(self, work: Callable[[Walkers], None]) -> None:
        if self.n_jobs == 1 or len(self.groups) == 1:
            for group in self.groups:
                work(group)
        else:
            from joblib import Parallel, delayed

            threads = Parallel(n_jobs=self.n_jobs, require="sharedmem")
            threads(delayed(work)(group) for group in self.groups)


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
