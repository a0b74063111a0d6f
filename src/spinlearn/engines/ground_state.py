"""A labelling of least energy where a minimum cut gives it: two states, no negative coupling."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import PottsModel

RESOLUTION = 1 << 20  # integer capacities: couplings in units of the largest capacity over this


def ground_state(model: PottsModel) -> StateArray | None:
    """States of least energy (to 1e-6 of the largest coupling), or None if no cut gives them."""
    potts = np.array_equal(model.pair_cost, 1.0 - np.eye(model.n_states))
    if model.n_states != 2 or not potts or np.any(model.couplings < 0):
        return None
    if model.class_penalty is not None:
        return None
    free = FreePart.of(model)
    states = np.where(model.clamped >= 0, model.clamped, 0).astype(np.int8)
    if len(free.nodes):
        states[free.nodes] = _cut(free)
    return states


def _cut(free: FreePart) -> StateArray:
    """Sides of a minimum cut: 0 with the source, 1 with the sink."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n = len(free.nodes)
    difference = free.fields[:, 1] - free.fields[:, 0]  # > 0 prefers state 0
    largest = max(np.max(free.couplings, initial=0.0), np.max(np.abs(difference), initial=0.0))
    if largest == 0:
        return np.zeros(n, dtype=np.int8)
    scale = RESOLUTION / largest
    source, sink = n, n + 1
    u, v = free.edges.T
    to_zero = np.flatnonzero(difference > 0)
    to_one = np.flatnonzero(difference < 0)
    rows = np.concatenate([u, v, np.full(len(to_zero), source), to_one])
    columns = np.concatenate([v, u, to_zero, np.full(len(to_one), sink)])
    capacities = np.concatenate(
        [free.couplings, free.couplings, difference[to_zero], -difference[to_one]]
    )
    network = csr_array(
        (np.rint(capacities * scale).astype(np.int32), (rows, columns)), shape=(n + 2, n + 2)
    )
    flow = maximum_flow(network.tocsr(), source, sink).flow
    residual = csr_array(network - flow)
    residual.data = (residual.data > 0).astype(np.int32)
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    sides = np.ones(n + 2, dtype=np.int8)
    sides[reached] = 0
    return sides[:n]
