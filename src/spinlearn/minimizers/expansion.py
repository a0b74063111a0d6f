"""alpha-expansion: every node keeps its state or takes alpha, all at once, by one minimum cut.

For alpha = 0, 1, ... in turn, until q moves in a row gain nothing. Every move is the best of
exponentially many, and the energy never rises. For the Potts cost the result is at most twice the
least energy (all terms >= 0), for a metric V at most 2 max V / min_{a != b} V times.
Boykov, Veksler & Zabih, "Fast approximate energy minimization via graph cuts", ICCV (1999), IEEE
PAMI 23, 1222 (2001). Clamped nodes and nodes already at alpha are not part of a move's network.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import StateArray
from spinlearn.core.model import PottsModel
from spinlearn.errors import UnsupportedModelError
from spinlearn.kernels.max_flow import SINK
from spinlearn.minimizers.binary_moves import BinaryMoves, choices
from spinlearn.minimizers.bound import isolation_bound
from spinlearn.minimizers.minimum import Minimum
from spinlearn.minimizers.start import checked_start
from spinlearn.minimizers.support import expansion_reason
from spinlearn.minimizers.ties import unreached


def alpha_expansion(
    model: PottsModel,
    *,
    start: npt.ArrayLike | None = None,
    max_moves: int | None = None,
    bound: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Minimum:
    """A labelling that no expansion of any state improves.

    Parameters
    ----------
    model : PottsModel
        Couplings >= 0, and a pair cost that is a metric.
    start : array-like of int, shape (n,), optional
        First labelling; default: all free nodes in the one state that costs least.
    max_moves : int, optional
        Stop after so many cuts; default: when none gains any more.
    bound : bool, default False
        Also compute a lower bound, by q more cuts; the result is `exact` if it attains it.
    stop : callable, optional
        Asked before every cut; once it says true, the best labelling so far is returned, without a
        bound unless that was ready.

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
    >>> from spinlearn.minimizers import alpha_expansion
    >>> best = alpha_expansion(MinCut()(chain, [0, -1, 1, 2], n_states=3), bound=True)
    >>> best.labels.tolist(), best.energy, best.exact
    ([0, 0, 1, 2], 1.5, True)
    """
    reason = expansion_reason(model)
    if reason is not None:
        raise UnsupportedModelError(reason)
    work = BinaryMoves(model)
    states = checked_start(model, start, work)
    energy = work.energy(states)
    q = model.n_states
    count, idle, alpha = 0, 0, 0
    while idle < q and (max_moves is None or count < max_moves):
        if stop is not None and stop():
            break
        moved = _expanded(work, states, choices(model, alpha))
        count += 1
        idle += 1
        lower = energy if moved is None else work.energy(moved)
        if moved is not None and lower < energy - model.energy_resolution:
            states, energy, idle = moved, lower, 1  # a second move of this alpha gains nothing
        alpha = (alpha + 1) % q
    undecided = unreached(model)
    states[undecided] = 0  # the lowest state, whatever the start was
    energy = float(model.energy(states))
    lowest = isolation_bound(model, stop=stop) if bound else None
    return Minimum(
        labels=states,
        energy=energy,
        exact=lowest is not None and energy <= lowest + model.energy_resolution,
        method="expansion",
        lower_bound=lowest,
        undecided=undecided,
        sweeps=count,
    )


def _expanded(work: BinaryMoves, states: StateArray, alpha: StateArray) -> StateArray | None:
    """The best expansion, ties kept as they are; None if it changes nothing."""
    cut = work.cut(states, alpha)
    if cut is None:
        return None
    grown = cut.members[cut.side == SINK]
    if len(grown) == 0:
        return None
    moved = states.copy()
    moved[grown] = alpha[grown]
    return np.asarray(moved)
