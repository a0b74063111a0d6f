"""Rounds of ladders on the workers of a cluster: the same numbers as in one process, bit for bit.

The model goes to each worker once. A round takes along where its walkers stand, and brings back
where they have gone and what they have counted, so that a worker that is lost takes nothing with
it: its round is done again by another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.level_sums import LevelSums
from spinlearn.analysis.reweight import Sums
from spinlearn.core.arrays import FloatArray
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.model import PottsModel
from spinlearn.core.parallel import SentOnce, each
from spinlearn.engines.regions import Regions
from spinlearn.engines.rounds import Round
from spinlearn.engines.tallies import Sample, Tallies
from spinlearn.engines.walker_group import Walkers

MAX_SUM_BYTES = 5e7  # by energy, of one group: more would take longer to send than to count
COUNTED = ("nodes", "undecided", "edges", "counts", "visits")  # of LevelSums in one round

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Task:
    """A round without what is large: the group by what a checkpoint holds, tallies by their kind.

    `blocks` are counted from the group's first.
    """

    round: Round
    kind: type[Walkers]
    n_walkers: int | None
    ladder: FloatArray
    regions: Regions
    arrays: Arrays
    n_blocks: int
    n_rows: int | None  # of sums by level; None without them
    bins: Any  # of sums by energy; None without them
    row_of_level: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Done:
    result: tuple[FloatArray, FloatArray, list[Sample]]
    arrays: Arrays
    exchanged: FloatArray
    levels: Arrays
    sums: Arrays


class RoundsElsewhere:
    """Rounds of one run.

    Parameters
    ----------
    model : PottsModel
    """

    def __init__(self, model: PottsModel) -> None:
        self._model, self._beside = model, SentOnce(model)

    @staticmethod
    def worthwhile(tallies: Tallies, n_groups: int) -> bool:
        """Whether what the groups count is small enough to be sent."""
        if tallies.sums is None:
            return True
        size = sum(values.nbytes for values in tallies.sums.arrays().values())
        return size <= MAX_SUM_BYTES * n_groups

    def run(self, work: list[Round]) -> list[tuple[FloatArray, FloatArray, list[Sample]]]:
        """Do all rounds; groups and tallies are then as if they had been done here."""
        per_group = [int(one.blocks.max()) - int(one.blocks.min()) + 1 for one in work]
        tasks = [_task(one, n) for one, n in zip(work, per_group, strict=True)]
        found = each(_do, self._model, tasks, beside=self._beside)
        pairs = zip(work, per_group, found, strict=True)
        return [_taken_over(one, n_blocks, done) for one, n_blocks, done in pairs]


def _task(one: Round, n_blocks: int) -> _Task:
    group, tallies = one.group, one.tallies
    bare: Any = None
    return _Task(
        round=replace(one, group=bare, tallies=bare, blocks=one.blocks - one.blocks.min()),
        kind=type(group),
        n_walkers=group.n_walkers if group.any_number else None,
        ladder=group.ladder,
        regions=group.regions,
        arrays=group.arrays(),
        n_blocks=n_blocks,
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
    free = ConditionedModel.of(model)
    levels = None if task.n_rows is None else LevelSums(free, task.n_blocks, task.n_rows)
    sums = None if task.bins is None else Sums.empty(model, task.bins, task.n_blocks)
    none: Any = None
    tallies = Tallies(sums, levels, task.row_of_level, none, none, none)
    result = replace(task.round, group=group, tallies=tallies)()
    return _Done(
        result=result,
        arrays=group.arrays(),
        exchanged=group.exchanged,
        levels={} if levels is None else {name: getattr(levels, name) for name in COUNTED},
        sums={} if sums is None else sums.arrays(),
    )


def _taken_over(
    one: Round, n_blocks: int, done: _Done
) -> tuple[FloatArray, FloatArray, list[Sample]]:
    """What was counted, added to the tallies here, in the rows of the group's own blocks."""
    group, tallies, first = one.group, one.tallies, int(one.blocks.min())
    group.restore(done.arrays)
    group.exchanged += done.exchanged
    if tallies.levels is not None:
        n_rows = tallies.levels.n_rows
        own = slice(first * n_rows, (first + n_blocks) * n_rows)
        for name, values in done.levels.items():
            getattr(tallies.levels, name)[own] += values
    if tallies.sums is not None:
        kept, n_bins = tallies.sums.arrays(), tallies.sums.bins.n_coarse
        for name, values in done.sums.items():  # rows: bin by bin, all blocks of each
            whole = kept[name].reshape(n_bins, tallies.sums.n_blocks, -1)
            whole[:, first : first + n_blocks] += values.reshape(n_bins, n_blocks, -1)
    occupancy, met, samples = done.result
    moved = [(energies, levels, blocks + first) for energies, levels, blocks in samples]
    return occupancy, met, moved
