"""Minimum: a labelling of low energy, with what is known about how low.

Axes: n nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.core.arrays import BoolArray, StateArray, frozen, restore


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Minimum:
    """What a minimiser found.

    Attributes
    ----------
    labels : int8 array (n,)
        A labelling that respects all clamps.
    energy : float
        E(labels), by `PottsModel.energy`.
    exact : bool
        Whether no labelling has less energy (to `PottsModel.energy_resolution`).
    method : str
        Name of the minimiser.
    lower_bound : float or None
        No labelling has less energy than this; None where the method gives no bound.
    sweeps : int
        Moves over the whole graph that were tried: cuts, or sweeps of annealing.
    undecided : bool array (n,)
        Nodes whose state is arbitrary: another minimum, found without further work, gives them
        another state. Nodes that no label and no field reaches are always among them, and take
        state 0 (in annealing: any).
    """

    labels: StateArray
    energy: float
    exact: bool
    method: str
    undecided: BoolArray
    lower_bound: float | None = None
    sweeps: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", frozen(self.labels, np.int8))
        object.__setattr__(self, "undecided", frozen(self.undecided, np.bool_))

    @property
    def n_undecided(self) -> int:
        """Number of nodes whose state is arbitrary."""
        return int(np.sum(self.undecided))

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MinimumCut(Minimum):
    """A minimum cut and the two extreme ones, between which all others lie.

    Minimum cuts form a lattice (Picard & Queyranne 1980): a node is in class 0 in every minimum cut
    if it is in class 0 in `fewest_zeros`, and in class 1 in every one if it is so in `fewest_ones`.
    The nodes between fall into blocks that keep together in all minimum cuts.

    Attributes
    ----------
    fewest_zeros, fewest_ones : int8 arrays (n,)
        The minimum cuts in which class 0, or class 1, is smallest. `labels` is `fewest_ones`: ties
        go to the lower state.
    n_blocks : int
        Groups of undecided nodes that keep together in every minimum cut.
    n_parts : int
        Groups of blocks that choose independently of each other. The number of minimum cuts is at
        least 2 ** n_parts and at most 2 ** n_blocks; counting them exactly is #P-complete.
    """

    fewest_zeros: StateArray
    fewest_ones: StateArray
    n_blocks: int
    n_parts: int

    def __post_init__(self) -> None:
        Minimum.__post_init__(self)  # slots: super() would look for a class that was replaced
        object.__setattr__(self, "fewest_zeros", frozen(self.fewest_zeros, np.int8))
        object.__setattr__(self, "fewest_ones", frozen(self.fewest_ones, np.int8))

    @property
    def unique(self) -> bool:
        """Whether this is the only minimum cut."""
        return self.n_blocks == 0

    def __setstate__(self, state: Sequence[Any]) -> None:
        restore(self, state)
