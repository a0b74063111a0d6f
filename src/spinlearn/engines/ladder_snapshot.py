"""LadderSnapshot: the averages of a run of ladders so far, moved by what single ladders say."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.free_part import ConditionedModel
from spinlearn.errors import ConvergenceWarning

if TYPE_CHECKING:
    from spinlearn.engines.ladder_run import LadderRun

BlockMeans = tuple[npt.NDArray[np.int64], FloatArray, FloatArray]


class LadderSnapshot:
    """What independent ladders have measured so far, as `spinlearn.core.stopping.Snapshot` asks."""

    def __init__(self, run: LadderRun) -> None:
        self._run = run
        self.n_ladders = run.n_blocks
        self._kept: tuple[int, BlockMeans] | None = None

    def equilibrium(self) -> Equilibrium:
        """Averages over all ladders, with their errors."""
        return self._whole

    @cached_property
    def _whole(self) -> Equilibrium:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said of the result, if at all
            found = self._run.equilibrium()
        return replace(found, evaluate=None, reweights=False)

    def _means_of(self, row: int) -> BlockMeans:
        """Averages of every ladder; those of one row are kept, for the next move."""
        if self._kept is None or self._kept[0] != row:
            assert self._run.tallies.levels is not None
            self._kept = row, self._run.tallies.levels.block_means(row)
        return self._kept[1]

    def moved(self, weights: FloatArray, temperature: float | None = None) -> Equilibrium:
        """The averages, moved by so many times the deviation of every ladder."""
        sums = self._run.tallies.levels
        assert sums is not None
        whole = self._whole
        if temperature is not None:
            whole = whole.take(np.flatnonzero(whole.temperatures == temperature)[:1])
        free: ConditionedModel = sums.free
        marginals, agreement = whole.marginals.copy(), whole.edge_agreement.copy()
        for t, at in enumerate(whole.temperatures):
            beta = self._run.requested[-1] if at == 0 else 1 / at
            row = int(np.argmin(np.abs(self._run.requested - beta)))
            blocks, nodes, edges = self._means_of(row)
            if whole.std_error is None or not np.any(whole.std_error[t]):
                continue  # nothing to doubt
            there = weights[blocks] - weights[blocks].mean()
            off = free.full_marginals(np.tensordot(there, nodes, axes=1)[None])[0]
            off[self._run.model.clamped >= 0] = 0.0
            marginals[t] = np.clip(marginals[t] + off, 0.0, 1.0)
            moved = np.tensordot(there, edges, axes=1)
            agreement[t, free.edge_ids] = np.clip(agreement[t, free.edge_ids] + moved, 0.0, 1.0)
        return replace(whole, marginals=marginals, edge_agreement=agreement)
