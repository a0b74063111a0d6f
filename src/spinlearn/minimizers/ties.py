"""Nodes whose state neither label nor field decides: all their states tie in every minimum."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray
from spinlearn.core.model import FREE, PottsModel


def unreached(model: PottsModel) -> BoolArray:
    """Nodes whose part of the graph has no clamp, no field and no preferred state, (n,).

    Parts are joined by couplings other than zero. All states of a part tie if the pair cost treats
    them alike, as Potts does, or if one state throughout costs least, whichever it is. Where the
    pair cost prefers a state, only nodes without neighbours are left.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph, n = model.graph, model.n_nodes
    joined = graph.edges[model.couplings != 0]
    links = csr_array((np.ones(len(joined), np.int8), (joined[:, 0], joined[:, 1])), shape=(n, n))
    _, part = connected_components(links, directed=False)
    told = (model.clamped != FREE) | (np.ptp(model.fields, axis=1) > 0)
    if not _states_tie(model):
        told[joined.ravel()] = True
    return np.asarray(~np.isin(part, part[told]), dtype=np.bool_)


def _states_tie(model: PottsModel) -> bool:
    """Whether a part without clamps and fields has minima with any state at any of its nodes."""
    cost = model.pair_cost
    agree, differ = np.diag(cost), cost[~np.eye(len(cost), dtype=np.bool_)]
    if np.ptp(agree) > 0:
        return False
    attractive = np.all(differ >= agree[0]) and np.all(model.couplings >= 0)
    return bool(np.ptp(differ) == 0 or attractive)
