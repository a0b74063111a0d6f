"""alpha-beta swap: all nodes in state alpha or beta choose anew between the two, by a minimum cut.

For all pairs of states in turn, until no pair gains; the energy never rises. Weaker than expansion
for a metric cost, but it needs no triangle inequality: any semi-metric will do.
Boykov, Veksler & Zabih, ICCV (1999), IEEE PAMI 23, 1222 (2001).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import StateArray
from spinlearn.core.model import FREE, PottsModel
from spinlearn.errors import UnsupportedModelError
from spinlearn.kernels.max_flow import SINK
from spinlearn.minimizers.binary_moves import BinaryMoves
from spinlearn.minimizers.minimum import Minimum
from spinlearn.minimizers.start import checked_start
from spinlearn.minimizers.support import swap_reason
from spinlearn.minimizers.ties import unreached


def alpha_beta_swap(
    model: PottsModel,
    *,
    start: npt.ArrayLike | None = None,
    max_moves: int | None = None,
) -> Minimum:
    """A labelling that no exchange between any two states improves.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0, and a pair cost that is a semi-metric: the triangle inequality is not
        needed.
    start : array-like of int, shape (n,), optional
        First labelling; default: all free nodes in the one state that costs least.
    max_moves : int, optional
        Stop after so many cuts; default: when none gains any more.

    Returns
    -------
    Minimum
        The labelling, its energy, and whether it is exact.

    References
    ----------
    Y. Boykov, O. Veksler and R. Zabih, Fast approximate energy minimization via graph cuts, IEEE
    PAMI 23, 1222 (2001).

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import alpha_beta_swap
    >>> alpha_beta_swap(MinCut()(chain, [0, -1, 1, 2], n_states=3)).labels.tolist()
    [0, 0, 1, 2]
    """
    reason = swap_reason(model)
    if reason is not None:
        raise UnsupportedModelError(reason)
    work = BinaryMoves(model)
    states = checked_start(model, start, work)
    energy = work.energy(states)
    pairs = list(combinations(range(model.n_states), 2))
    free = model.clamped == FREE
    count, idle, turn = 0, 0, 0
    while idle < len(pairs) and (max_moves is None or count < max_moves):
        moved = _swapped(work, states, free, *pairs[turn])
        count += 1
        idle += 1
        lower = energy if moved is None else work.energy(moved)
        if moved is not None and lower < energy - model.energy_resolution:
            states, energy, idle = moved, lower, 1  # a second move of this pair gains nothing
        turn = (turn + 1) % len(pairs)
    undecided = unreached(model)
    states[undecided] = 0  # the lowest state, whatever the start was
    return Minimum(
        labels=states,
        energy=float(model.energy(states)),
        exact=False,
        method="swap",
        undecided=undecided,
        sweeps=count,
    )


def _swapped(
    work: BinaryMoves, states: StateArray, free: npt.NDArray[np.bool_], alpha: int, beta: int
) -> StateArray | None:
    """The best exchange of the two states; None if it changes nothing."""
    either = free & ((states == alpha) | (states == beta))
    zero, one = states.copy(), states.copy()
    zero[either], one[either] = alpha, beta
    cut = work.cut(zero, one)
    if cut is None:
        return None
    zero[cut.members[cut.side == SINK]] = beta
    # All ties to alpha: leaving each as it is might cut a block that keeps together.
    return None if np.array_equal(zero, states) else np.asarray(zero)
