"""Rounds of ladders on the workers of a cluster: the same numbers as in one process, bit for bit.

The model goes to each worker once. A round takes along where its walkers stand, and brings back
where they have gone and what they have counted, so that a worker that is lost takes nothing with
it: its round is done again by another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.density import EnergyBins
from spinlearn.analysis.level_sums import LevelSums
from spinlearn.analysis.reweight import Sums
from spinlearn.core.array_file import Arrays
from spinlearn.core.arrays import FloatArray
from spinlearn.core.model import PottsModel
from spinlearn.core.parallel import SentOnce, each
from spinlearn.engines.regions import Regions
from spinlearn.engines.rounds import Round, RoundResult
from spinlearn.engines.tallies import Tallies, empty_level_sums
from spinlearn.engines.walker_group import Walkers

MAX_SUM_BYTES = 5e7  # by energy, of one group: more would take longer to send than to count
COUNTED = ("nodes", "undecided", "edges", "counts", "visits")  # of LevelSums in one round


class _Task(NamedTuple):
    """A round without what is large: the group by what a checkpoint holds, tallies by their kind.

    Blocks are counted from the group's first.
    """

    round: Round
    kind: type[Walkers]
    n_walkers: int | None
    ladder: FloatArray
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
        ladder=group.ladder,
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
    group.use_ladder(task.ladder)
    group.use_regions(task.regions)
    group.restore(task.arrays)
    levels = None if task.n_rows is None else empty_level_sums(model, task.n_blocks, task.n_rows)
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
