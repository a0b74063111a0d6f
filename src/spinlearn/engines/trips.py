"""Trips: how often walkers have travelled the whole ladder."""

from __future__ import annotations

import numpy as np

from spinlearn.engines.walker_group import Walkers


class Trips:
    """Counts journeys of walkers from the hottest level to the coldest and back."""

    def __init__(self, groups: list[Walkers], n_levels: int) -> None:
        self.groups, self.last = groups, n_levels - 1
        self.been_cold = [np.zeros(g.n_walkers, dtype=bool) for g in groups]
        self.been_hot = [np.zeros(g.n_walkers, dtype=bool) for g in groups]
        self.count = 0

    def update(self) -> None:
        """Look where the walkers are now."""
        for group, cold, hot in zip(self.groups, self.been_cold, self.been_hot, strict=True):
            at_hot, at_cold = group.levels == 0, group.levels == self.last
            self.count += int(np.sum(cold & at_hot))
            hot |= at_hot
            cold &= ~at_hot
            cold |= at_cold & hot
