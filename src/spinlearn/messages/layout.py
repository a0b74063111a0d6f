"""MessageLayout: the free part of a model as message-passing kernels read it.

Nodes are renumbered so that neighbours lie close together (reverse Cuthill-McKee), which keeps the
messages of a sweep in the cache, and makes one sweep forth with one sweep back exact on a tree.
A *slot* is one direction of one edge: slots of node i, indptr[i] to indptr[i + 1], hold the
messages into i; `reverse` is the slot of the opposite direction. Axes: n free nodes, m edges
between them, q states.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.free_part import ConditionedModel
from spinlearn.core.model import FREE, PottsModel

CACHE_LINE = 64  # bytes


class MessageLayout:
    """Arrays of a model without its clamped nodes, which are folded into fields."""

    def __init__(self, model: PottsModel) -> None:
        self.model = model
        self.free = ConditionedModel.of(model)
        n, m = len(self.free.nodes), len(self.free.edges)
        u, v = self.free.edges.T
        ones = np.ones(2 * m)
        links = csr_array((ones, (np.concatenate([u, v]), np.concatenate([v, u]))), shape=(n, n))
        near = reverse_cuthill_mckee(links, symmetric_mode=True) if n else []
        self.order = np.asarray(near, dtype=np.intp)
        place = np.empty(n, dtype=np.intp)
        place[self.order] = np.arange(n)
        self.place = place
        ends = np.concatenate([place[u], place[v]])
        others = np.concatenate([place[v], place[u]])
        sorting = np.lexsort((others, ends))
        slot = np.empty(2 * m, dtype=np.int32)
        slot[sorting] = np.arange(2 * m, dtype=np.int32)
        # The slot of an edge at its end u holds the message from v to u, and the other way round.
        self.at_u, self.at_v = slot[:m], slot[m:]
        self.reverse = np.empty(2 * m, dtype=np.int32)
        self.reverse[self.at_u], self.reverse[self.at_v] = self.at_v, self.at_u
        self.neighbors = others[sorting].astype(np.int32)
        counts = np.bincount(ends, minlength=n)
        self.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self.slot_edges = np.concatenate([np.arange(m), np.arange(m)])[sorting]
        self.couplings: FloatArray = self.free.couplings[self.slot_edges]
        self.fields: FloatArray = np.ascontiguousarray(self.free.fields[self.order])
        self._read_class_term(model)

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

    def _read_class_term(self, model: PottsModel) -> None:
        """c, a_i, t_s of (c/2) sum_s (V_s - t_s)^2, and the sizes that clamped nodes bring."""
        penalty, q = model.class_penalty, model.n_states
        self.coefficient = 0.0
        self.sizes, self.targets, self.held = np.zeros(self.n_nodes), np.zeros(q), np.zeros(q)
        if penalty is None:
            return
        held: BoolArray = model.clamped != FREE
        self.coefficient = float(penalty.coefficient)
        self.sizes = np.ascontiguousarray(penalty.sizes[self.free.nodes][self.order])
        self.targets = np.array(penalty.targets)
        self.held = np.bincount(
            model.clamped[held], weights=penalty.sizes[held], minlength=q
        ).astype(np.float64)

    @cached_property
    def stiffness(self) -> FloatArray:
        """Largest difference in energy that anything can make at a node, (n,)."""
        spread = np.ptp(self.model.pair_cost)
        ends = np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))
        pairs = np.bincount(ends, weights=np.abs(self.couplings) * spread, minlength=self.n_nodes)
        total = float(self.sizes.sum() + self.held.sum() + np.abs(self.targets).max(initial=0.0))
        classes = abs(self.coefficient) * self.sizes * total
        return np.asarray(pairs + np.ptp(self.fields, axis=1) + classes)

    def class_fields(self, beliefs: FloatArray) -> FloatArray:
        """c a_i (V_s - a_i p_i(s) - t_s), the class term as a field on every node, (n, q)."""
        a = self.sizes[:, None]
        gap = a.T @ beliefs + self.held - self.targets
        return np.asarray(self.coefficient * a * (gap - a * beliefs))

    def class_energy(self, beliefs: FloatArray) -> tuple[float, float]:
        """<class term> of independent nodes with these laws (n, q), and its share in fields.

        The variance of a class size adds (c/2) sum_i a_i^2 p_i(s) (1 - p_i(s)) to the square of its
        mean; the derivative by p_i(s) is the field that the kernels use, so that the sum is the
        variational energy. The second number is sum_i sum_s p_i(s) field_i(s).
        """
        if self.coefficient == 0.0:
            return 0.0, 0.0
        c, a = self.coefficient, self.sizes[:, None]
        gap = a.T @ beliefs + self.held - self.targets
        variance = np.sum(a**2 * beliefs * (1 - beliefs))
        energy = 0.5 * c * (np.sum(gap**2) + variance)
        return float(energy), float(np.sum(beliefs * self.class_fields(beliefs)))

    def nodes_back(self, values: FloatArray) -> FloatArray:
        """Rows in the order of sweeps, (n, ...), in the order of `free.nodes`."""
        return np.asarray(values[self.place])


def aligned_ones(rows: int, lanes: int, dtype: Any) -> npt.NDArray[Any]:
    """Ones (rows, lanes) that begin with a line of the cache, so that rows straddle no more lines
    than they must: half the memory traffic of a sweep.
    """
    spare = CACHE_LINE // np.dtype(dtype).itemsize
    whole = np.ones(rows * lanes + spare, dtype=dtype)
    first = -whole.ctypes.data % CACHE_LINE // whole.itemsize
    return whole[first : first + rows * lanes].reshape(rows, lanes)


def lanes_for(n_states: int) -> int:
    """Lanes of a row that holds so many states: the next power of two."""
    return 1 << max(1, int(n_states - 1).bit_length())
