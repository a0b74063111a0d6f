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
        Its energy, in the unit of the couplings.
    exact : bool
        Whether no labelling has less energy (to rounding).
    method : str
        Name of the minimiser.
    undecided : bool array (n,)
        Nodes whose state is arbitrary: another minimum, found without further work, gives them
        another state. Nodes that no label and no field reaches are always among them, and take
        state 0 (in annealing: any).
    lower_bound : float or None
        No labelling has less energy than this; None where the method gives no bound.
    sweeps : int
        Moves over the whole graph that were tried: cuts, or sweeps of annealing.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import minimize
    >>> best = minimize(MinCut()(chain, [0, -1, -1, 1], n_states=2))
    >>> best.energy, best.n_undecided, best.method
    (0.5, 0, 'min_cut')
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

    Minimum cuts form a lattice: a node is in class 0 in every minimum cut if it is in class 0 in
    `fewest_zeros`, and in class 1 in every one if it is so in `fewest_ones`. The nodes between fall
    into blocks that keep together in all minimum cuts.

    Attributes
    ----------
    labels : int8 array (n,)
        A labelling of least energy, `fewest_ones`: ties go to the lower state.
    energy : float
        Its energy, in the unit of the couplings.
    exact : bool
        True.
    method : str
        Name of the minimiser.
    undecided : bool array (n,)
        Nodes on which minimum cuts differ.
    lower_bound : float
        The maximum flow, equal to the energy.
    sweeps : int
        Number of cuts made.
    fewest_zeros : int8 array (n,)
        The minimum cut in which class 0 is smallest.
    fewest_ones : int8 array (n,)
        The minimum cut in which class 1 is smallest.
    n_blocks : int
        Groups of undecided nodes that keep together in every minimum cut.
    n_parts : int
        Groups of blocks that choose independently of each other. The number of minimum cuts is at
        least 2 ** n_parts and at most 2 ** n_blocks; to count them exactly is #P-complete.

    References
    ----------
    J.-C. Picard and M. Queyranne, On the structure of all minimum cuts in a network and
    applications, Math. Programming Study 13, 8 (1980).

    Examples
    --------
    A chain with equal weights can be cut at any of its three edges:

    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> from spinlearn.minimizers import minimum_cut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
    >>> cut = minimum_cut(MinCut()(chain, [0, -1, -1, 1], n_states=2))
    >>> cut.fewest_zeros.tolist(), cut.fewest_ones.tolist(), cut.n_blocks
    ([0, 1, 1, 1], [0, 0, 0, 1], 2)
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
