"""Rounds of a run: in this process or on Dask workers, and what they add up to.

Rounds: some steps of groups of walkers, here or on a cluster, and the sums of what they count.

How walkers move over the levels between sweeps (the `dynamics` of a run):

drawn       each draws its level from P(t | E) = exp(eta_t - beta_t E) / W(E)
exchanged   walkers of neighbouring levels change places (replica exchange)
components  a walker stays at its level; neighbours exchange the components in which they differ
held        every level on its own

On the workers of a cluster rounds give the same numbers as in one process, bit for bit. The model
goes to each worker once. A round takes along where its walkers stand, and brings back where they
have gone and what they have counted, so that a worker that is lost takes nothing with it: its round
is done again by another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.sampling.density import Counts, Density, EnergyBins, Histogram, LevelEnergies
from spinlearn.engines.sampling.equilibration import EnergySeries
from spinlearn.engines.sampling.move_sets import Regions
from spinlearn.engines.sampling.sums import LevelSums, Sums, reweighted
from spinlearn.engines.sampling.walkers import Walkers
from spinlearn.errors import UnsupportedModelError
from spinlearn.files.arrays import Arrays
from spinlearn.model.arrays import FloatArray
from spinlearn.model.parallel import SentOnce, each
from spinlearn.model.potts import ConditionedModel, PottsModel

BLOCKS = (32, 16, 8)  # independent parts of walkers that share a group; fewer to save memory
MAX_LEVEL_BYTES = 1.5e9
MAX_COLUMNS = 150_000  # sums kept per energy bin: marginals and edges

# Energies, levels and blocks of some walkers of a group.
Sample = tuple[FloatArray, npt.NDArray[np.int32], npt.NDArray[np.int64]]


def columns(model: PottsModel) -> int:
    """Sums kept per energy bin and block."""
    return model.n_nodes * (model.n_states - 1) + model.graph.n_edges


def blocks_by_energy(model: PottsModel, bins: EnergyBins) -> int:
    """Into how many blocks sums by energy can be split; 0 if there is no room for them."""
    row_bytes = 4.0 * bins.n_coarse * columns(model)
    fitting = [b for b in BLOCKS if b * row_bytes <= MAX_LEVEL_BYTES]
    return fitting[0] if fitting and columns(model) <= MAX_COLUMNS else 0


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """Sums of a run: by energy (`sums`), by level (`levels`), or both, with those of energies."""

    sums: Sums | None
    levels: LevelSums | None
    row_of_level: npt.NDArray[np.int64]  # of `levels`; -1 for levels that were not asked for
    histogram: Histogram
    energies: LevelEnergies
    series: EnergySeries

    @classmethod
    def empty(
        cls,
        model: PottsModel,
        betas: FloatArray,
        requested: FloatArray,
        bins: EnergyBins,
        n_blocks: int,
        *,
        by_energy: bool,
        by_level: bool,
    ) -> Tallies:
        """Nothing counted yet, at levels `betas`, of which those `requested` have a row."""
        row_of_level = np.full(len(betas), -1, dtype=np.int64)
        row_of_level[np.searchsorted(betas, requested)] = np.arange(len(requested))
        if by_level:
            refuse_large_sums(model, n_blocks, len(requested))
        free = ConditionedModel.of(model)
        return cls(
            sums=Sums(model, bins, n_blocks) if by_energy else None,
            levels=LevelSums(free, n_blocks, len(requested)) if by_level else None,
            row_of_level=row_of_level,
            histogram=Histogram(bins),
            energies=LevelEnergies.empty(n_blocks, len(betas)),
            series=EnergySeries(n_blocks, len(betas)),
        )

    def _parts(self) -> dict[str, Counts]:
        names = ("sums", "levels", "histogram", "energies", "series")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def add(self, samples: list[Sample]) -> None:
        """Energies of a group."""
        for energies, levels, blocks in samples:
            self.histogram.add(energies)
            self.energies.add(energies, blocks, levels)
            self.series.add(energies, blocks, levels)

    def end_round(self) -> None:
        """Take the averages of a measured round over."""
        self.series.end_round()
        if self.levels is not None:
            self.levels.end_round()

    def clear(self) -> None:
        """Forget everything."""
        for part in self._parts().values():
            part.clear()

    def worst_error(
        self, model: PottsModel, betas: FloatArray, eta: FloatArray | None, wanted: FloatArray
    ) -> float:
        """Largest standard error of a marginal over the temperatures `wanted`.

        eta : of the ensemble; needed where there are no sums by level
        """
        if self.levels is not None:
            return float(self.levels.worst_errors().max())
        assert self.sums is not None
        assert eta is not None
        density = Density.of(self.histogram, betas, eta)
        thermal = density.thermal(wanted, model)
        return float(reweighted(self.sums, density, thermal.probability).std_error.max(initial=0.0))

    def arrays(self) -> Arrays:
        """All sums by name, for a checkpoint."""
        parts = self._parts().items()
        return {f"{part}_{k}": v for part, sums in parts for k, v in sums.arrays().items()}


def refuse_large_sums(model: PottsModel, n_blocks: int, n_rows: int) -> None:
    """Refuse, before any work, sums by level that do not fit."""
    free = ConditionedModel.of(model)
    needed = LevelSums.bytes_needed(free, n_blocks, n_rows)
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


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """How often every level is swept, (K,) each."""

    strides: npt.NDArray[np.int64]  # steps from one sweep to the next
    repeats: npt.NDArray[np.int64]  # sweeps in the place of one

    @classmethod
    def even(cls, n_levels: int, repeats: int = 1) -> Pace:
        """As many sweeps of every level at every step."""
        ones = np.ones(n_levels, dtype=np.int64)
        return cls(ones, repeats * ones)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """Some steps of one group; `blocks` are those of its walkers.

    Groups have blocks of their own, so threads add to different rows of the tallies.
    """

    group: Walkers
    blocks: npt.NDArray[np.int64]
    measure: bool
    tallies: Tallies
    dynamics: str
    betas: FloatArray
    eta: FloatArray | None  # of levels that are drawn
    steps: int
    tries: int  # of region moves per step
    first_cold: int  # level
    first_step: int  # of the run
    pace: Pace | None  # of the levels; None: one sweep at every step

    def __call__(self) -> RoundResult:
        """Do it."""
        from spinlearn.kernels.levels import draw_levels, exchange_levels

        group = self.group
        occupancy, met = np.zeros(len(self.betas)), np.zeros((len(self.betas), 2))
        samples = []
        pinned = self.dynamics in ("components", "held")
        for step in range(self.steps):
            if self.pace is not None:
                due = (self.first_step + step) % self.pace.strides[group.levels] == 0
                group.active = np.flatnonzero(due)
                group.repeats = self.pace.repeats[group.levels]
            self._sweep()
            last = step == self.steps - 1
            if self.measure and (last or pinned):
                samples.append(self._sample())
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

    def _sweep(self) -> None:
        group, levels = self.group, self.tallies.levels
        if not self.measure or levels is None:
            group.sweep(group.sweeps_per_step)
            return
        rows = self.tallies.row_of_level[group.levels]
        rows = np.where(rows >= 0, self.blocks * levels.n_rows + rows, -1)
        group.sweep_and_measure(rows, levels)

    def _sample(self) -> Sample:
        group, active = self.group, self.group.active
        energies = group.energies()
        if self.tallies.sums is not None:
            self.tallies.sums.add(group.active_states(), energies, self.blocks[active])
        return energies, group.levels[active], self.blocks[active]


MAX_SUM_BYTES = 5e7  # by energy, of one group: more would take longer to send than to count
COUNTED = ("nodes", "undecided", "edges", "counts", "visits")  # of LevelSums in one round


class _Task(NamedTuple):
    """A round without what is large: the group by what a checkpoint holds, tallies by their kind.

    Blocks are counted from the group's first.
    """

    round: Round
    kind: type[Walkers]
    n_walkers: int | None
    betas: FloatArray
    regions: Regions
    arrays: Arrays
    n_blocks: int
    n_rows: int | None  # of sums by level; None without them
    bins: EnergyBins | None  # of sums by energy; None without them
    row_of_level: npt.NDArray[np.int64]


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
        sums = {} if tallies.sums is None else tallies.sums.arrays()
        return sum(values.nbytes for values in sums.values()) <= MAX_SUM_BYTES * n_groups

    def run(self, work: list[Round]) -> list[RoundResult]:
        """Do all rounds; groups and tallies are then as if they had been done here."""
        done = each(_do, self._model, [_task(one) for one in work], beside=self._sent)
        return [_take_over(one, its) for one, its in zip(work, done, strict=True)]


def _task(one: Round) -> _Task:
    group, tallies, bare = one.group, one.tallies, dict.fromkeys(("group", "tallies"))
    blocks = one.blocks - one.blocks.min()
    return _Task(
        round=replace(one, **bare, blocks=blocks),  # type: ignore[arg-type]
        kind=type(group),
        n_walkers=group.n_walkers if group.any_number else None,
        betas=group.betas,
        regions=group.regions,
        arrays=group.arrays(),
        n_blocks=int(blocks.max()) + 1,
        n_rows=None if tallies.levels is None else tallies.levels.n_rows,
        bins=None if tallies.sums is None else tallies.sums.bins,
        row_of_level=tallies.row_of_level,
    )


def _do(model: PottsModel, task: _Task) -> _Done:
    """A round on a worker."""
    group = task.kind(model, np.random.SeedSequence(0), task.n_walkers)
    group.use_ladder(task.betas)
    group.use_regions(task.regions)
    group.restore(task.arrays)
    levels = None
    if task.n_rows is not None:
        levels = LevelSums(ConditionedModel.of(model), task.n_blocks, task.n_rows)
    sums = None if task.bins is None else Sums(model, task.bins, task.n_blocks)
    none: Any = None
    tallies = Tallies(sums, levels, task.row_of_level, none, none, none)
    result = replace(task.round, group=group, tallies=tallies)()
    return _Done(result, group.arrays(), group.exchanged, _counted(levels), _counted(sums))


def _counted(sums: LevelSums | Sums | None) -> Arrays:
    """What was counted in one round."""
    if isinstance(sums, LevelSums):
        return {name: getattr(sums, name) for name in COUNTED}
    return {} if sums is None else sums.arrays()


def _take_over(one: Round, done: _Done) -> RoundResult:
    """What was counted, added to the tallies here, in the rows of the group's own blocks."""
    group, tallies, first = one.group, one.tallies, int(one.blocks.min())
    n_blocks = int(one.blocks.max()) + 1 - first
    group.restore(done.arrays)
    group.exchanged += done.exchanged
    if tallies.levels is not None:
        n_rows = tallies.levels.n_rows
        for name, values in _counted(tallies.levels).items():
            values[first * n_rows : (first + n_blocks) * n_rows] += done.levels[name]
    if tallies.sums is not None:
        n_bins = tallies.sums.bins.n_coarse
        for name, values in _counted(tallies.sums).items():  # rows: bin by bin, all blocks of each
            whole = values.reshape(n_bins, tallies.sums.n_blocks, -1)
            whole[:, first : first + n_blocks] += done.sums[name].reshape(n_bins, n_blocks, -1)
    samples = [(energies, levels, blocks + first) for energies, levels, blocks in done.result[2]]
    return *done.result[:2], samples
