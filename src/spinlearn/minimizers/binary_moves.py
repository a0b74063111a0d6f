"""BinaryMoves: minimum cuts in which every node of a model chooses between two states of its own.

The arrays that all moves share are made once; a move builds the network of the nodes that have a
choice, and nothing else. See `kernels.cut_moves` for the network, `kernels.max_flow` for the cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray, StateArray
from spinlearn.core.model import PottsModel
from spinlearn.kernels.cut_moves import (
    breadth_first,
    build_network,
    labelling_energy,
    renumber,
)
from spinlearn.kernels.max_flow import max_flow

# Of the strongest pair term: residual capacities below are rounding errors of sums of flows. Ties
# between sums of real weights would be missed without this.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The minimum cut of a move, over the nodes that had a choice.

    Attributes
    ----------
    members : int32 array (k,)
        Their numbers in the model.
    side : int8 array (k,)
        SOURCE: zero in every minimum cut, SINK: one in every minimum cut, UNDECIDED: either.
    gain : float
        Energy of all members at zero minus the least energy, by the maximum flow: an upper bound of
        what any choice gains.
    arc_ptr, heads, residual : arrays of the residual network, in local numbers
    tolerance : float
        Residual capacities up to this are zero.
    """

    members: IntArray
    side: StateArray
    gain: float
    arc_ptr: IntArray
    heads: IntArray
    residual: FloatArray
    tolerance: float


class BinaryMoves:
    """Work space for the moves of one model, its nodes in breadth-first order."""

    def __init__(self, model: PottsModel) -> None:
        graph = model.graph
        n, m = graph.n_nodes, graph.n_edges
        self._flags = np.empty(n, dtype=np.bool_)
        self._node_work = np.empty((7, n), dtype=np.int32)
        self._arc_work = np.empty((3, 2 * m), dtype=np.int32)
        self._network_ptr: IntArray = np.empty(n + 1, dtype=np.int32)
        self._capacity: FloatArray = np.empty(2 * m)
        self._terminal: FloatArray = np.empty(n)
        self._side: StateArray = np.empty(n, dtype=np.int8)
        self._order: IntArray = np.empty(n, dtype=np.int32)
        breadth_first(graph.indptr, graph.neighbors, self._flags, self._order)
        arc_ptr, heads = np.empty(n + 1, dtype=np.int32), np.empty(2 * m, dtype=np.int32)
        reverse, couplings = np.empty(2 * m, dtype=np.int32), np.empty(2 * m)
        renumber(
            self._order, graph.indptr, graph.neighbors, graph.edge_ids, model.couplings,
            self._node_work[0], np.empty(m, dtype=np.int32), arc_ptr, heads, reverse, couplings,
        )  # fmt: skip
        self._arcs = arc_ptr, heads, reverse
        self._terms = couplings, model.pair_cost, model.fields[self._order]
        pair_scale = np.abs(model.couplings).max(initial=0.0) * np.abs(model.pair_cost).max()
        self._tolerance = ROUNDING * float(pair_scale)

    def energy(self, states: StateArray) -> float:
        """E(s) of a labelling that respects the clamps."""
        arc_ptr, heads, _ = self._arcs
        return float(labelling_energy(arc_ptr, heads, *self._terms, states[self._order]))

    def cut(self, zero: StateArray, one: StateArray) -> Cut | None:
        """The best choice between zero[i] and one[i] of all nodes; None if none has a choice.

        Arrays of the answer are views into the work space: the next cut overwrites them.

        Parameters
        ----------
        zero, one : int8 arrays (n,)
            The two states of every node; equal where it has no choice.
        """
        local, members, parent, stamp, distance, queue, orphans = self._node_work
        place, heads, reverse = self._arc_work
        k, all_zero = build_network(
            *self._arcs, *self._terms, zero[self._order], one[self._order], local, members, place,
            self._network_ptr, heads, reverse, self._capacity, self._terminal,
        )  # fmt: skip
        if k == 0:
            return None
        flow = max_flow(
            self._network_ptr, heads, reverse, self._capacity, self._terminal[:k], self._tolerance,
            self._side, parent, stamp, distance, queue, self._flags, orphans,
        )  # fmt: skip
        n_arcs = int(self._network_ptr[k])
        return Cut(
            self._order[members[:k]],
            self._side[:k],
            float(all_zero - flow),
            self._network_ptr[: k + 1],
            heads[:n_arcs],
            self._capacity[:n_arcs],
            self._tolerance,
        )


def choices(model: PottsModel, state: int) -> StateArray:
    """`state` for every free node, its clamp for every other."""
    return np.where(model.clamped >= 0, model.clamped, state).astype(np.int8)


def residual_components(cut: Cut, undecided: npt.NDArray[np.intp]) -> tuple[int, int]:
    """Strong and weak components of the residual network among nodes between the extreme cuts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if len(undecided) == 0:
        return 0, 0
    k = len(cut.members)
    left = (cut.residual > cut.tolerance).astype(np.int8)
    network = csr_array((left, cut.heads, cut.arc_ptr), shape=(k, k))[undecided][:, undecided]
    network.eliminate_zeros()
    strong = connected_components(network, directed=True, connection="strong")[0]
    weak = connected_components(network, directed=False)[0]
    return int(strong), int(weak)
