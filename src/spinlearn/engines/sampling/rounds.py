"""Rounds of a run: steps of groups of walkers, here or on Dask workers, and what they add up to.

How walkers move over the levels between sweeps (the `dynamics` of a run):

drawn       each draws its level from P(t | E) = exp(eta_t - beta_t E) / W(E)
exchanged   walkers of neighbouring levels change places (replica exchange)
components  a walker stays at its level; neighbours exchange the components in which they differ
held        every level on its own

On the workers of a cluster rounds give the same numbers as in one process, bit for bit. The model
goes to each worker once. A round carries the states of its walkers out, and their new states and
counts back: when a worker is lost, another does its round again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.sampling.density import Counts, EnergyBins, Histogram, LevelEnergies
from spinlearn.engines.sampling.move_sets import Regions
from spinlearn.engines.sampling.sums import LevelSums, Sums
from spinlearn.engines.sampling.walkers import Walkers
from spinlearn.errors import UnsupportedModelError
from spinlearn.files.arrays import Arrays
from spinlearn.kernels.levels import draw_levels, exchange_levels
from spinlearn.model.arrays import FloatArray, IndexArray
from spinlearn.model.parallel import SentOnce, each
from spinlearn.model.potts import ConditionedModel, PottsModel

BLOCKS = (32, 16, 8)  # independent parts of walkers that share a group; fewer to save memory
MAX_LEVEL_BYTES = 1.5e9
MAX_COLUMNS = 150_000  # sums kept per energy bin and block: marginals and edges

# Energies, levels and blocks of some walkers of a group.
Sample = tuple[FloatArray, npt.NDArray[np.int32], IndexArray]


def columns(model: PottsModel) -> int:
    """Sums kept per energy bin and block, see MAX_COLUMNS."""
    return model.n_nodes * (model.n_states - 1) + model.graph.n_edges


def blocks_by_energy(model: PottsModel, bins: EnergyBins) -> int:
    """Into how many blocks sums by energy can be split; 0 if there is no room for them."""
    row_bytes = 4.0 * bins.n_coarse * columns(model)
    fitting = [b for b in BLOCKS if b * row_bytes <= MAX_LEVEL_BYTES]
    return fitting[0] if fitting and columns(model) <= MAX_COLUMNS else 0


class Tallies:
    """Sums of a run: by energy (`sums`), by level (`levels`), or both, with those of energies."""

    def __init__(
        self,
        model: PottsModel,
        betas: FloatArray,
        requested: FloatArray,
        bins: EnergyBins,
        n_blocks: int,
        *,
        by_energy: bool,
        by_level: bool,
    ) -> None:
        """At levels `betas`, of which those `requested` have a row."""
        self.row_of_level = np.full(len(betas), -1, dtype=np.int64)  # of `levels`; -1 for none
        self.row_of_level[np.searchsorted(betas, requested)] = np.arange(len(requested))
        self.sums = Sums(model, bins, n_blocks) if by_energy else None
        self.levels: LevelSums | None = None
        if by_level:
            refuse_large_sums(model, n_blocks, len(requested))
            self.levels = LevelSums(ConditionedModel.of(model), n_blocks, len(requested))
        self.histogram = Histogram(bins)
        self.energies = LevelEnergies(n_blocks, len(betas))

    def _parts(self) -> dict[str, Counts]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Counts)}

    def add(self, samples: list[Sample]) -> None:
        """Energies of a group."""
        for energies, levels, blocks in samples:
            self.histogram.add(energies)
            self.energies.add(energies, blocks, levels)

    def end_round(self) -> None:
        """Take the averages of a measured round over."""
        self.energies.end_round()
        if self.levels is not None:
            self.levels.end_round()

    def clear(self) -> None:
        """Forget everything."""
        for part in self._parts().values():
            part.clear()

    def arrays(self) -> Arrays:
        """All sums by name, for a checkpoint."""
        parts = self._parts().items()
        return {f"{part}_{k}": v for part, sums in parts for k, v in sums.arrays().items()}


def refuse_large_sums(model: PottsModel, n_blocks: int, n_rows: int) -> None:
    """Refuse, before any work, sums by level that do not fit."""
    free = ConditionedModel.of(model)
    sums = len(free.nodes) * (2 * model.n_states + 1) + 2 * len(free.edges)
    needed = 4.0 * n_rows * sums * (n_blocks + 1)
    if needed > 2 * MAX_LEVEL_BYTES:
        raise UnsupportedModelError(
            f"sums for {n_rows} temperatures, {model.n_nodes} nodes with {model.n_states} "
            f"states and {model.graph.n_edges} edges need {needed / 1e9:.1f} GB: ask for "
            "fewer temperatures or use a sparser graph"
        )


HOT_STRIDE = 4  # steps from one exchange to the next where sweeps alone forget everything:
MELTING = 4  # levels and more before the cold ones


# Occupancy of the levels, exchanges tried and done, and samples of the energy.
RoundResult = tuple[FloatArray, FloatArray, list[Sample]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """Some steps of one group; `blocks` are those of its walkers.

    Groups have blocks of their own, so threads add to different rows of the tallies.
    """

    group: Walkers
    blocks: IndexArray
    measure: bool
    sums: Sums | None
    levels: LevelSums | None
    row_of_level: IndexArray  # of `levels`; -1 for none
    dynamics: str
    betas: FloatArray
    eta: FloatArray  # of levels that are drawn
    steps: int
    tries: int  # of region moves per step
    first_cold: int  # level
    first_step: int  # of the run
    strides: npt.NDArray[np.int64]  # steps from one sweep of a level to the next, (K,)
    repeats: npt.NDArray[np.int64]  # sweeps of a level in the place of one, (K,)

    def __call__(self) -> RoundResult:
        """Sweep, measure and move between levels, `steps` times."""
        group = self.group
        occupancy, met = np.zeros(len(self.betas)), np.zeros((len(self.betas), 2))
        samples = []
        pinned = self.dynamics in ("components", "held")
        for step in range(self.steps):
            if pinned:
                due = (self.first_step + step) % self.strides[group.levels] == 0
                group.active = np.flatnonzero(due)
                group.repeats = self.repeats[group.levels]
            if self.measure and self.levels is not None:
                rows = self.row_of_level[group.levels]
                rows = np.where(rows >= 0, self.blocks * self.levels.n_rows + rows, -1)
                group.sweep_and_measure(rows, self.levels)
            else:
                group.sweep(group.sweeps_per_step)
            if self.measure and (pinned or step == self.steps - 1):
                energies, blocks = group.energies(), self.blocks[group.active]
                if self.sums is not None:
                    self.sums.add(group.active_states(), energies, blocks)
                samples.append((energies, group.levels[group.active], blocks))
            if self.dynamics == "held":
                continue
            if self.dynamics == "components":
                if (self.first_step + step) % HOT_STRIDE:
                    melting = self.first_cold - MELTING
                    group.active = group.active[group.levels[group.active] >= melting]
                group.move_regions(self.tries)
                group.exchange_components(self.first_cold)
                continue
            group.move_regions(self.tries)
            energies = group.energies()
            if self.dynamics == "drawn":
                draw_levels(energies, self.betas, self.eta, group.levels, occupancy, group.stream)
            else:
                exchange_levels(energies, self.betas, group.levels, met, group.stream)
            group.apply_levels()
        return occupancy, met, samples


MAX_SUM_BYTES = 5e7  # by energy, of one group: more would take longer to send than to count


class _Task(NamedTuple):
    """A round without what is large: the group by what a checkpoint holds, sums by their kind.

    Blocks are counted from the group's first.
    """

    round: Round
    kind: type[Walkers]
    n_walkers: int
    regions: Regions
    arrays: Arrays
    n_rows: int | None  # of sums by level; None without them
    bins: EnergyBins | None  # of sums by energy; None without them


class _Done(NamedTuple):
    result: RoundResult
    arrays: Arrays
    exchanged: FloatArray
    levels: Arrays
    sums: Arrays


class DaskRounds:
    """Rounds of one run on the workers of a cluster."""

    def __init__(self, model: PottsModel) -> None:
        self._model, self._sent = model, SentOnce(model)

    @staticmethod
    def worthwhile(tallies: Tallies, n_groups: int) -> bool:
        """Whether what the groups count is small enough to be sent."""
        sent = sum(values.nbytes for values in _counted(tallies.sums).values())
        return sent <= MAX_SUM_BYTES * n_groups

    def run(self, work: list[Round]) -> list[RoundResult]:
        """Do all rounds; groups and tallies are then as if they had been done here."""
        done = each(_do, self._model, [_task(one) for one in work], beside=self._sent)
        return [_take_over(one, its) for one, its in zip(work, done, strict=True)]


def _task(one: Round) -> _Task:
    group, bare = one.group, dict.fromkeys(("group", "sums", "levels"))
    return _Task(
        round=replace(one, **bare, blocks=one.blocks - one.blocks.min()),  # type: ignore[arg-type]
        kind=type(group),
        n_walkers=group.n_walkers,
        regions=group.regions,
        arrays=group.arrays(),
        n_rows=None if one.levels is None else one.levels.n_rows,
        bins=None if one.sums is None else one.sums.bins,
    )


def _do(model: PottsModel, task: _Task) -> _Done:
    """A round on a worker."""
    group = task.kind(model, np.random.SeedSequence(0), task.n_walkers)
    group.use_ladder(task.round.betas)
    group.use_regions(task.regions)
    group.restore(task.arrays)
    levels, n_blocks = None, int(task.round.blocks.max()) + 1
    if task.n_rows is not None:
        levels = LevelSums(ConditionedModel.of(model), n_blocks, task.n_rows)
    sums = None if task.bins is None else Sums(model, task.bins, n_blocks)
    result = replace(task.round, group=group, sums=sums, levels=levels)()
    return _Done(result, group.arrays(), group.exchanged, _counted(levels), _counted(sums))


def _counted(sums: LevelSums | Sums | None) -> Arrays:
    """What was counted in one round."""
    return {} if sums is None else {name: getattr(sums, name) for name in sums.counted}


def _take_over(one: Round, done: _Done) -> RoundResult:
    """What was counted, added to the sums here, in the rows of the group's own blocks."""
    group, first = one.group, int(one.blocks.min())
    mine = slice(first, int(one.blocks.max()) + 1)
    group.restore(done.arrays)
    group.exchanged += done.exchanged
    if one.levels is not None:  # rows: those of a block together
        for name, values in _counted(one.levels).items():
            part = values.reshape(one.levels.n_blocks, one.levels.n_rows, -1)[mine]
            part += done.levels[name].reshape(part.shape)
    if one.sums is not None:  # rows: those of a bin together
        for name, values in _counted(one.sums).items():
            part = values.reshape(one.sums.bins.n_coarse, one.sums.n_blocks, -1)[:, mine]
            part += done.sums[name].reshape(part.shape)
    samples = [(energies, levels, blocks + first) for energies, levels, blocks in done.result[2]]
    return *done.result[:2], samples
