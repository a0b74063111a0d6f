"""Nodes whose state no label and no field decides: all their states tie in every minimum."""

from __future__ import annotations

import numpy as np

from spinlearn.core.arrays import BoolArray
from spinlearn.core.model import FREE, PottsModel


def unreached(model: PottsModel) -> BoolArray:
    """Nodes in parts of the graph without a clamp, in which fields prefer no state, (n,).

    Parts are joined by couplings other than zero. There the energy does not change when two states
    change places on the whole part, if the pair cost treats all states alike, as Potts does.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph, n = model.graph, model.n_nodes
    joined = graph.edges[model.couplings != 0]
    links = csr_array((np.ones(len(joined), np.int8), (joined[:, 0], joined[:, 1])), shape=(n, n))
    _, part = connected_components(links, directed=False)
    told = (model.clamped != FREE) | (np.ptp(model.fields, axis=1) > 0)
    return np.asarray(~np.isin(part, part[told]), dtype=np.bool_)
