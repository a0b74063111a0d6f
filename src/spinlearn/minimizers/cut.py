"""Minimum cut: the exact ground state for two states, with both extreme ones (Blum & Chawla 2001).

E(s) of two states with J (2 V(0,1) - V(0,0) - V(1,1)) >= 0 is the weight of a cut between a source
(state 0) and a sink (state 1), clamped nodes folded into terminal capacities; by the theorem of
Ford and Fulkerson the maximum flow is a lower bound that the minimum cut attains.
"""

from __future__ import annotations

import numpy as np

from spinlearn.core.model import PottsModel
from spinlearn.errors import UnsupportedModelError
from spinlearn.kernels.max_flow import SINK, SOURCE, UNDECIDED
from spinlearn.minimizers.binary_moves import BinaryMoves, choices, residual_components
from spinlearn.minimizers.minimum import MinimumCut
from spinlearn.minimizers.support import cut_reason


def minimum_cut(model: PottsModel) -> MinimumCut:
    """The labelling of least energy of a two-state model, with both extreme minimum cuts.

    Nodes that no clamp and no field reaches are undecided and take state 0.

    Parameters
    ----------
    model : PottsModel
        Two states, couplings >= 0; fields and clamps.

    Returns
    -------
    MinimumCut
        Exact.

    Raises
    ------
    UnsupportedModelError
        If the energy is no cut.

    References
    ----------
    A. Blum and S. Chawla, Learning from labeled and unlabeled data using graph mincuts, ICML 2001.

    Examples
    --------
    >>> from spinlearn import Graph
    >>> from spinlearn.energies import MinCut
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1.0, 0.5, 1.0])
    >>> from spinlearn.minimizers import minimum_cut
    >>> minimum_cut(MinCut()(chain, [0, -1, -1, 1], n_states=2)).labels.tolist()
    [0, 0, 1, 1]
    """
    reason = cut_reason(model)
    if reason is not None:
        raise UnsupportedModelError(reason)
    zero, one = choices(model, 0), choices(model, 1)
    moves = BinaryMoves(model)
    cut = moves.cut(zero, one)
    fewest_zeros, fewest_ones = one.copy(), zero.copy()
    undecided = np.zeros(model.n_nodes, dtype=np.bool_)
    n_blocks = n_parts = 0
    if cut is not None:
        fewest_zeros[cut.members[cut.side == SOURCE]] = 0
        fewest_ones[cut.members[cut.side == SINK]] = 1
        between = np.flatnonzero(cut.side == UNDECIDED)
        undecided[cut.members[between]] = True
        n_blocks, n_parts = residual_components(cut, between)
    energy = bound = float(model.energy(fewest_ones))
    if cut is not None:
        bound = min(energy, moves.energy(zero) - cut.gain)
    return MinimumCut(
        labels=fewest_ones,
        energy=energy,
        exact=True,
        method="min_cut",
        lower_bound=bound,
        undecided=undecided,
        fewest_zeros=fewest_zeros,
        fewest_ones=fewest_ones,
        n_blocks=n_blocks,
        n_parts=n_parts,
    )
