"""Nodes whose state neither label nor field decides: all their states tie in every minimum."""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.grains import reached
from spinlearn.core.arrays import BoolArray
from spinlearn.core.model import FREE, PottsModel


def unreachable(model: PottsModel) -> BoolArray:
    """Nodes whose part of the graph has no clamp, no field and no preferred state, (n,).

    Parts are joined by couplings other than zero, under a class-level term by any edge. All states
    of a part tie if the pair cost treats them alike, as Potts does, or if one state throughout
    costs least, whichever it is. Where the pair cost prefers a state, only nodes without neighbours
    are left.
    """
    decided = (model.clamped != FREE) | (np.ptp(model.fields, axis=1) > 0)
    if model.class_penalty is not None:
        return ~reached(model.graph, decided)
    links = model.couplings != 0
    cost = model.pair_cost
    agree, differ = np.diag(cost), cost[~np.eye(len(cost), dtype=np.bool_)]
    attractive = np.all(differ >= agree[0]) and np.all(model.couplings >= 0)
    if np.ptp(agree) > 0 or not (np.ptp(differ) == 0 or attractive):
        decided[model.graph.edges[links].ravel()] = True
    return ~reached(model.graph, decided, links)
