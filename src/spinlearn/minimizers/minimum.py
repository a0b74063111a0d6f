"""Minimum: a labelling of low energy; and which minimiser treats which model, as reasons why not.

For couplings J and costs V(a, b), with all states a, b, c:

    cut, swap   J (2 V(a, b) - V(a, a) - V(b, b)) >= 0            Potts and any semi-metric, J >= 0
    expansion   J (V(a, c) + V(c, b) - V(a, b) - V(c, c)) >= 0    Potts and any metric, J >= 0

(Boykov, Veksler & Zabih, IEEE PAMI 23, 1222 (2001); Kolmogorov & Zabih 2004.) The structure of all
minimum cuts: Picard & Queyranne, Math. Programming Study 13, 8 (1980). Axes: n nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinlearn.errors import InvalidInputError, UnsupportedModelError
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray, frozen, restore
from spinlearn.model.graph import reached
from spinlearn.model.potts import FREE, PottsModel

SLACK = 1e-12  # of the largest cost: rounding errors in a table of real numbers


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
        Nodes to which another minimum, found without further work, gives another state; among them
        always those that no label and no field reaches, which take state 0 (in annealing: any).
    lower_bound : float or None
        No labelling has less energy than this; None where the method gives no bound.
    sweeps : int
        Moves over the whole graph that were tried: cuts, or sweeps of annealing.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel, minimize
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> best = minimize(PottsModel(chain, 2, clamped=[0, -1, -1, 1]))
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

    Minimum cuts form a lattice: a node is in class 0 in every one if it is so in `fewest_zeros`,
    and in class 1 if it is so in `fewest_ones`. The nodes between fall into blocks that keep
    together.

    Attributes
    ----------
    labels, energy, exact, method, undecided, lower_bound, sweeps
        As of `Minimum`; the labels are `fewest_ones`, the bound is the maximum flow.
    fewest_zeros, fewest_ones : int8 arrays (n,)
        The minimum cuts in which class 0, or class 1, is smallest.
    n_blocks, n_parts : int
        Groups of undecided nodes that keep together in every minimum cut, and groups of blocks that
        choose independently of each other. The number of minimum cuts is at least 2 ** n_parts and
        at most 2 ** n_blocks; to count them exactly is #P-complete.

    Examples
    --------
    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.minimizers import minimum_cut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])  # it can be cut at any edge
    >>> cut = minimum_cut(PottsModel(chain, 2, clamped=[0, -1, -1, 1]))
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


def refuse(reason: str | None, n_sweeps: int = 1, n_runs: int = 1) -> None:
    """Refuse a model, if there is a reason, and annealing that does nothing."""
    if reason is not None:
        raise UnsupportedModelError(reason)
    if n_sweeps < 1 or n_runs < 1:
        raise InvalidInputError(f"n_sweeps={n_sweeps} and n_runs={n_runs} must be at least 1")


def class_level_reason(model: PottsModel) -> str | None:
    """Why cuts and single-node kernels do not see the whole energy, or None."""
    if model.class_penalty is None:
        return None
    return (
        "the model has a class-level term, which is not a sum over edges and points: use "
        "method='class_annealing', or 'multilevel' if the term is quadratic"
    )


def contraction_reason(model: PottsModel) -> str | None:
    """Why a model of modules in place of nodes would have another energy, or None."""
    penalty = model.class_penalty
    if penalty is None or penalty.kind == "quadratic":
        return None
    return (
        f"the model has a class-level term of the form {penalty.kind!r}, for which modules cannot "
        "stand for nodes: use method='class_annealing'"
    )


def cut_reason(model: PottsModel) -> str | None:
    """Why no minimum cut gives the ground state, or None."""
    if model.n_states != 2:
        return (
            f"the model has {model.n_states} states, but a cut has two sides: use "
            "method='expansion', or one class against the rest"
        )
    return swap_reason(model, "cut")


def swap_reason(model: PottsModel, move: str = "swap") -> str | None:
    """Why alpha-beta swaps are no cuts, or None."""
    equal = np.diag(model.pair_cost)
    gain = 2 * model.pair_cost - equal[:, None] - equal[None, :]
    return class_level_reason(model) or _pair_reason(model, gain, move)


def expansion_reason(model: PottsModel) -> str | None:
    """Why alpha-expansions are no cuts, or None."""
    cost = model.pair_cost
    # gain[a, b, c] = V(a, c) + V(c, b) - V(a, b) - V(c, c)
    gain = cost[:, None, :] + cost[None, :, :] - cost[:, :, None] - np.diag(cost)[None, None, :]
    return class_level_reason(model) or _pair_reason(model, gain, "expansion")


def _pair_reason(model: PottsModel, gain: FloatArray, move: str) -> str | None:
    """Why J gain < 0 for some edge, so that the move is no cut, or None."""
    slack = SLACK * np.abs(model.pair_cost).max()
    if np.all(np.abs(gain) <= slack):
        return None
    n_negative = int(np.sum(model.couplings < 0))
    if n_negative and np.any(gain > slack):
        return (
            f"{n_negative} couplings are negative, so that neighbours repel and the {move} is no "
            "minimum cut: use method='annealing'"
        )
    if np.any(gain < -slack) and np.any(model.couplings > 0):
        law = "the triangle inequality" if move == "expansion" else "2V(a,b) >= V(a,a) + V(b,b)"
        other = "'swap' or 'annealing'" if move == "expansion" else "'annealing'"
        return f"pair_cost violates {law}, so the {move} is not a minimum cut: use method={other}"
    return None


def choices(model: PottsModel, state: int) -> StateArray:
    """`state` for every free node, its clamp for every other."""
    return np.where(model.clamped >= 0, model.clamped, state).astype(np.int8)


def unreachable(model: PottsModel) -> BoolArray:
    """Nodes whose part of the graph has no clamp, no field and no preferred state, (n,).

    Parts are joined by couplings other than zero, under a class-level term by any edge. All states
    of a part tie if the pair cost treats them alike, or if one state throughout costs least,
    whichever it is. Where it prefers a state, only nodes without neighbours are left.
    """
    decided = (model.clamped != FREE) | (np.ptp(model.fields, axis=1) > 0)
    if model.class_penalty is not None:
        return ~reached(model.graph, decided)
    links, cost = model.couplings != 0, model.pair_cost
    agree, differ = np.diag(cost), cost[~np.eye(len(cost), dtype=np.bool_)]
    attractive = np.all(differ >= agree[0]) and np.all(model.couplings >= 0)
    if np.ptp(agree) > 0 or not (np.ptp(differ) == 0 or attractive):
        decided[model.graph.edges[links].ravel()] = True
    return ~reached(model.graph, decided, links)
