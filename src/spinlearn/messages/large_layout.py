"""LargeLayout: where the messages of a model with very many edges lie.

What `MessageLayout` knows, without a copy of the model: clamped nodes are left out by number, and
what belongs to an edge is looked up in the model itself. Nodes are in an order that keeps
neighbours close (`spinlearn.analysis.node_order`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.node_order import near_order
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.model import FREE, PottsModel

BLOCK = 1 << 20  # nodes or edges that are treated at a time

Singles = npt.NDArray[np.float32]


class LargeLayout:
    """Places of nodes and messages.

    Attributes
    ----------
    order : int array (n,)
        Free nodes in the order of sweeps.
    place : int array (N,)
        Number of a node in that order, -1 if it is clamped.
    indptr, senders, reverse : int arrays (n + 1,), (slots,), (slots,)
        Slots of the messages into every node, the node each comes from, the opposite slot.
    at_u, at_v : int arrays (m,)
        Slots of an edge (u, v) at its ends, -1 if one of them is clamped.
    strength : float array (n,)
        Summed |couplings| to other free nodes.
    sizes : float array (n,)
        a_i of the class term, zero without one.
    held, targets : float arrays (q,)
        Sizes of the clamped nodes, and t_s.
    coefficient : float
        c of the class term.
    """

    def __init__(self, model: PottsModel) -> None:
        from spinlearn.kernels.large_layout import count_slots, fill_slots, pair_slots

        self.model, graph = model, model.graph
        free = model.clamped == FREE
        self.order: IntArray = near_order(graph.indptr, graph.neighbors, ~free)
        n, m = len(self.order), graph.n_edges
        self.place: IntArray = np.full(model.n_nodes, -1, dtype=np.int32)
        self.place[self.order] = np.arange(n, dtype=np.int32)
        self.indptr: IntArray = np.empty(n + 1, dtype=np.int32)
        self.strength: FloatArray = np.empty(n)
        rows = (graph.indptr, graph.neighbors, graph.edge_ids, self.order, self.place)
        count_slots(*rows, model.couplings, self.indptr, self.strength)
        slots = int(self.indptr[-1])
        self.senders: IntArray = np.empty(slots, dtype=np.int32)
        self.at_u: IntArray = np.empty(m, dtype=np.int32)
        self.at_v: IntArray = np.empty(m, dtype=np.int32)
        fill_slots(*rows, self.indptr[:-1].copy(), self.senders, self.at_u, self.at_v)
        self.reverse: IntArray = np.empty(slots, dtype=np.int32)
        pair_slots(self.at_u, self.at_v, self.reverse)
        penalty, q = model.class_penalty, model.n_states
        self.coefficient = 0.0 if penalty is None else float(penalty.coefficient)
        self.sizes: FloatArray = np.zeros(n) if penalty is None else penalty.sizes[self.order]
        self.targets: FloatArray = np.zeros(q) if penalty is None else np.array(penalty.targets)
        self.held: FloatArray = np.zeros(q)
        if penalty is not None:
            clamped = np.flatnonzero(~free)
            np.add.at(self.held, model.clamped[clamped], penalty.sizes[clamped])

    @property
    def n_nodes(self) -> int:
        """Number of free nodes."""
        return len(self.order)

    @property
    def n_slots(self) -> int:
        """Number of messages."""
        return len(self.reverse)

    @property
    def largest_degree(self) -> int:
        """Most neighbours of a node."""
        return int(np.diff(self.indptr).max(initial=0))

    def fields(self, lanes: int) -> Singles:
        """Fields in the order of sweeps (n, lanes), with those of clamped neighbours in them.

        Lanes that are no states have an infinite field.
        """
        model, q = self.model, self.model.n_states
        fields = np.full((self.n_nodes, lanes), np.inf, dtype=np.float32)
        for rows in blocks(self.n_nodes):
            fields[rows, :q] = model.fields[self.order[rows]]
        graph = model.graph
        for node in np.flatnonzero(model.clamped != FREE).tolist():
            near = slice(graph.indptr[node], graph.indptr[node + 1])
            place = self.place[graph.neighbors[near]]
            strength = model.couplings[graph.edge_ids[near]]
            cost = strength[:, None] * model.pair_cost[model.clamped[node]]
            fields[place[place >= 0], :q] += cost[place >= 0]
        return fields

    def constant(self) -> float:
        """Energy of the clamped nodes among themselves."""
        model = self.model
        held = np.flatnonzero(model.clamped != FREE)
        total = float(np.sum(model.fields[held, model.clamped[held]]))
        for rows in blocks(model.graph.n_edges):
            one, other = model.clamped[model.graph.edges[rows]].T
            both = (one != FREE) & (other != FREE)
            cost = model.pair_cost[one[both], other[both]]
            total += float(np.sum(model.couplings[rows][both] * cost))
        return total


def blocks(n_rows: int) -> list[slice]:
    """Ranges of rows to be treated one after the other."""
    return [slice(k, min(k + BLOCK, n_rows)) for k in range(0, n_rows, BLOCK)]
