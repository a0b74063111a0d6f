"""MessageBlock: the messages into some of the nodes of a model, the others being elsewhere.

A block holds the slots of its own nodes (see `layout`): the messages into them. What they send to
nodes of other blocks is written to further rows, is handed over after a sweep, and becomes those
blocks' incoming messages. The fixed points are those of one block that holds everything; only the
order of updates differs. Class sizes are summed over blocks between sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.messages.layout import aligned_ones, lanes_for
from spinlearn.messages.potts_messages import LARGE, LARGEST_EXPONENT, TINY

Ids = npt.NDArray[np.int64]
BLOCK = 1 << 18  # edges that are treated at a time


@dataclass(frozen=True, slots=True, eq=False)
class BlockArrays:
    """The part of a model that a block holds.

    Attributes
    ----------
    nodes : int array (n,)
        Global numbers of its nodes, ascending.
    fields : float array (n, q)
    sizes : float array (n,)
        a_i of the class term.
    own, other : int arrays (slots,)
        Global numbers of both ends of every edge at a node of the block, `own` in it; edges within
        the block are listed from either end.
    block : int array (slots,)
        Block of the other end.
    couplings : float array (slots,)
        Energy of an unlike pair over that of a like one.
    """

    nodes: Ids
    fields: FloatArray
    sizes: FloatArray
    own: Ids
    other: Ids
    block: Ids
    couplings: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassTerm:
    """c, t_s of (c/2) sum_s (V_s - t_s)^2, and the sizes V_s that clamped nodes bring."""

    coefficient: float
    targets: FloatArray
    held: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """What a block tells after a sweep: how far messages moved, what is pending, class sizes."""

    moved: float
    excess: float
    pending: float
    volumes: FloatArray


@dataclass(slots=True, eq=False)
class MessageBlock:
    """The messages of one block, as they are passed on.

    Parameters
    ----------
    number : int
        Of the block.
    arrays : BlockArrays
    term : ClassTerm
    """

    number: int
    arrays: BlockArrays
    term: ClassTerm
    temperature: float = field(default=np.inf, init=False)
    _state: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        a = self.arrays
        n, q = a.fields.shape
        order = np.lexsort((a.other, a.own))
        own = np.searchsorted(a.nodes, a.own[order])
        other, block = a.other[order], a.block[order]
        inner = np.flatnonzero(block == self.number)
        slots = len(order)
        neighbors = np.full(slots, n, dtype=np.int32)  # n: somewhere else
        neighbors[inner] = np.searchsorted(a.nodes, other[inner])
        # The opposite slot of (i, j) is (j, i): the same pairs sorted the other way round.
        reverse = np.empty(slots, dtype=np.int32)
        reverse[inner[np.lexsort((own[inner], neighbors[inner]))]] = inner
        outer = np.flatnonzero(block != self.number)
        reverse[outer] = slots + np.arange(len(outer))
        lanes = lanes_for(q)
        large = (slots + len(outer)) * lanes > LARGE
        fields: FloatArray = np.full((n, lanes), np.inf)
        fields[:, :q] = a.fields
        beliefs = np.zeros((n, lanes))
        beliefs[:, :q] = 1 / q
        degrees = np.bincount(own, minlength=n)
        pairs = np.bincount(own, np.abs(a.couplings[order]), minlength=n)
        total = float(np.abs(self.term.targets).max(initial=0.0) + self.term.held.sum())
        self._state = {
            "indptr": np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32),
            "neighbors": neighbors,
            "reverse": reverse,
            "couplings": a.couplings[order],
            "weights": np.broadcast_to(np.ones(1), (slots,)),
            "fields": fields,
            "targets": _padded(self.term.targets, lanes),
            "volumes": np.zeros((1, lanes)),
            "messages": np.ones((slots + len(outer), q), dtype=np.float32)
            if large
            else aligned_ones(slots + len(outer), lanes, np.float64),
            "beliefs": beliefs,
            "work": np.empty((int(degrees.max(initial=0)) + 1, lanes)),
            "pending": np.full(n + 1, np.inf),
            "stiffness": pairs + np.ptp(a.fields, axis=1),
            "class_size": total,
            # By the other block: rows that go there and rows that come from there, in the order of
            # the pair (sender, receiver), on which both agree.
            "leaving": _by_block(block[outer], other[outer], a.nodes[own[outer]], slots),
            "arriving": {
                b: outer[rows]
                for b, rows in _by_block(block[outer], a.nodes[own[outer]], other[outer]).items()
            },
            "receivers": own,
            # Edges are told of by the end with the lower number.
            "lower": np.flatnonzero(a.nodes[own] < other).astype(np.int32),
        }
        told = self._state["lower"]
        self._state["other_ends"] = other[told]
        self.arrays = BlockArrays(
            a.nodes, a.fields, a.sizes, a.own[:0], a.other[:0], a.block[:0], a.couplings[:0]
        )

    @property
    def n_states(self) -> int:
        """q."""
        return int(self.arrays.fields.shape[1])

    @property
    def n_bytes(self) -> int:
        """Memory that the graph and the messages take here."""
        arrays = (v for v in self._state.values() if isinstance(v, np.ndarray))
        kept = (v for v in arrays if 0 not in v.strides)  # ones that take no memory
        return sum(v.nbytes for v in kept) + self.arrays.fields.nbytes + self.arrays.sizes.nbytes

    def own_volumes(self) -> FloatArray:
        """Class sizes of the block's nodes, (q,)."""
        return np.asarray(self.arrays.sizes @ self._state["beliefs"][:, : self.n_states])

    def set_temperature(self, temperature: float, total_size: float) -> None:
        """Go on at this temperature with the messages that there are."""
        s = self._state
        exponent = np.abs(s["couplings"]) / temperature
        w, rest = np.exp(-exponent), -np.expm1(-exponent)
        attractive = s["couplings"] >= 0
        kind = s["messages"].dtype
        s["unlike"] = np.where(attractive, w, 1.0).astype(kind)
        s["slope"] = np.where(attractive, rest, -w).astype(kind)
        classes = abs(self.term.coefficient) * self.arrays.sizes * (total_size + s["class_size"])
        heavy: BoolArray = (s["stiffness"] + classes) / temperature > LARGEST_EXPONENT
        s["heavy"] = heavy
        s["pending"][:] = np.inf
        self.temperature = temperature

    def sweep(
        self,
        forth: bool,
        tol: float,
        damping: float,
        threshold: float,
        others: FloatArray,
        arriving: dict[int, npt.NDArray[Any]],
    ) -> tuple[Swept, dict[int, npt.NDArray[Any]]]:
        """Take in what came from other blocks, pass messages once, hand out what leaves.

        Parameters
        ----------
        forth : bool
            Whether nodes are visited in their order, or backwards.
        tol, damping, threshold
            See `kernels.message_sweeps.sweep_potts`.
        others : float array (q,)
            Class sizes of all nodes of other blocks.
        arriving : dict
            Messages (rows, q) by the block that they come from; none at first.
        """
        from spinlearn.kernels.message_sweeps import sweep_potts

        s, n, q = self._state, len(self.arrays.nodes), self.n_states
        for b, rows in s["arriving"].items():
            if b in arriving:
                change = np.abs(arriving[b] - s["messages"][rows, :q]).max(axis=1, initial=0.0)
                np.maximum.at(s["pending"], s["receivers"][rows], change)
                s["messages"][rows, :q] = arriving[b]
        s["volumes"][0, :q] = self.own_volumes() + others + self.term.held
        nodes = np.arange(n, dtype=np.int32)
        order = nodes if forth else np.ascontiguousarray(nodes[::-1])
        movement = np.zeros(2)
        lanes, columns = ((0,) * s[name].shape[1] for name in ("fields", "messages"))
        sweep_potts(
            lanes, columns, order, max(1 / self.temperature, TINY), tol, s["indptr"],
            s["neighbors"], s["reverse"], s["unlike"], s["slope"], s["weights"], s["heavy"],
            s["fields"], self.term.coefficient, self.arrays.sizes, s["targets"], s["volumes"],
            s["messages"], s["beliefs"], s["work"], damping, s["pending"], threshold, movement,
        )  # fmt: skip
        leaving = {b: s["messages"][rows, :q] for b, rows in s["leaving"].items()}
        pending = float(s["pending"][:n].max(initial=0.0))
        told = Swept(float(movement[0]), float(movement[1]), pending, self.own_volumes())
        return told, leaving

    def marginals(self) -> FloatArray:
        """Beliefs of the block's nodes, (n, q), as of the last sweep."""
        return np.array(self._state["beliefs"][:, : self.n_states])

    def agreements(self) -> tuple[Ids, FloatArray]:
        """Edges (m, 2) by global numbers, the lower first, and C_ij of each; from both messages.

        The law of a node without a neighbour, h, is in what it sends there: m = w + (1 - w) h for
        J >= 0, and m = 1 - (1 - w) h for J < 0.
        """
        s, q = self._state, self.n_states
        found = np.empty(len(s["lower"]))
        for begin in range(0, len(found), BLOCK):
            rows = s["lower"][begin : begin + BLOCK]
            attractive = s["slope"][rows] >= 0
            w = np.where(attractive, s["unlike"][rows], -s["slope"][rows])
            laws = []
            for slots in (rows, s["reverse"][rows]):
                m = s["messages"][slots, :q].astype(np.float64)
                h = np.maximum(np.where(attractive[:, None], m - w[:, None], 1 - m), 0.0)
                laws.append(h / h.sum(axis=1, keepdims=True))
            same = np.sum(laws[0] * laws[1], axis=1)
            like, differ = np.where(attractive, 1.0, w), np.where(attractive, w, 1.0)
            found[begin : begin + BLOCK] = same * like / (same * like + (1 - same) * differ)
        own = self.arrays.nodes[s["receivers"][s["lower"]]]
        return np.column_stack([own, s["other_ends"]]), found


def _padded(values: FloatArray, lanes: int) -> FloatArray:
    whole = np.zeros((1, lanes))
    whole[0, : len(values)] = values
    return whole


def _by_block(block: Ids, receiver: Ids, sender: Ids, first: int = 0) -> dict[int, Ids]:
    """Row numbers, counted from `first`, by block, in the order of (sender, receiver)."""
    rows = {}
    for b in np.unique(block).tolist():
        of = np.flatnonzero(block == b)
        rows[b] = first + of[np.lexsort((receiver[of], sender[of]))]
    return rows
