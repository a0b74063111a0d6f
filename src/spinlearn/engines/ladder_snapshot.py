"""LadderSnapshot: the averages of a run of ladders so far, moved by what single ladders say."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.free_part import FreePart
from spinlearn.errors import ConvergenceWarning

if TYPE_CHECKING:
    from spinlearn.engines.ladder_run import LadderRun


class LadderSnapshot:
    """See `spinlearn.core.stopping.Snapshot`."""

    def __init__(self, run: LadderRun) -> None:
        self._run = run
        self.n_ladders = run.n_blocks

    def equilibrium(self) -> Equilibrium:
        """Averages over all ladders, with their errors."""
        return self._whole

    @cached_property
    def _whole(self) -> Equilibrium:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said of the result, if at all
            found = self._run.equilibrium()
        return replace(found, evaluate=None, reweights=False)

    def moved(self, ladder: int, temperature: float | None = None) -> Equilibrium:
        """The averages, moved by the deviation of one ladder."""
        sums = self._run.tallies.levels
        assert sums is not None
        whole = self._whole
        if temperature is not None:
            whole = whole.take(np.flatnonzero(whole.temperatures == temperature)[:1])
        free: FreePart = sums.free
        marginals, agreement = whole.marginals.copy(), whole.edge_agreement.copy()
        for t, at in enumerate(whole.temperatures):
            beta = self._run.requested[-1] if at == 0 else 1 / at
            row = int(np.argmin(np.abs(self._run.requested - beta)))
            blocks, nodes, edges = sums.block_means(row)
            place = np.flatnonzero(blocks == ladder)
            if len(place) == 0 or whole.std_error is None or not np.any(whole.std_error[t]):
                continue  # nothing to say, or nothing to doubt
            scale = 1 / np.sqrt(len(blocks) - 1)
            off = free.full_marginals(nodes[None, place[0]] - nodes.mean(axis=0)[None])[0]
            off[self._run.model.clamped >= 0] = 0.0
            marginals[t] = np.clip(marginals[t] + scale * off, 0.0, 1.0)
            moved = scale * (edges[place[0]] - edges.mean(axis=0))
            agreement[t, free.edge_ids] = np.clip(agreement[t, free.edge_ids] + moved, 0.0, 1.0)
        return replace(whole, marginals=marginals, edge_agreement=agreement)
