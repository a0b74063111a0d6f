"""MessageBlock: the messages into some of the nodes of a model, the others being elsewhere.

A block holds the slots of its own nodes (see `layout`): the messages into them. What they send to
nodes of other blocks is written to further rows, is handed over after a sweep, and becomes those
blocks' incoming messages. The fixed points are those of one block that holds everything; only the
order of updates differs. Class sizes are summed over blocks between sweeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.messages import potts as potts_messages
from spinlearn.engines.messages.layout import ClassTerm, MessageLayout, lanes_for
from spinlearn.engines.messages.potts import PottsMessages
from spinlearn.model.arrays import FloatArray

Ids = npt.NDArray[np.int64]
BLOCK = 1 << 18  # edges that are treated at a time


class Swept(NamedTuple):
    """What a block tells after a sweep: how far messages moved, what is pending, class sizes."""

    moved: float
    excess: float
    pending: float
    volumes: FloatArray


class MessageBlock:
    """The messages of the block of that number, as they are passed on.

    `nodes` are global numbers, ascending, with `fields` (n, q) and `sizes` a_i of the class term.
    `own` and `other` are the ends of every edge, `own` in the block, `block` is that of the other
    end; edges within are listed from either end. `couplings` are the energy of an unlike pair over
    that of a like one.
    """

    def __init__(
        self,
        number: int,
        *,
        nodes: Ids,
        fields: FloatArray,
        sizes: FloatArray,
        own: Ids,
        other: Ids,
        block: Ids,
        couplings: FloatArray,
        term: ClassTerm,
    ) -> None:
        (n, q), slots = fields.shape, len(own)
        order = np.lexsort((other, own))
        receivers, other, block = np.searchsorted(nodes, own[order]), other[order], block[order]
        inner, outer = np.flatnonzero(block == number), np.flatnonzero(block != number)
        neighbors = np.full(slots, n, dtype=np.int32)  # n: somewhere else
        neighbors[inner] = np.searchsorted(nodes, other[inner])
        # The opposite slot of (i, j) is (j, i): the same pairs sorted the other way round.
        reverse = np.empty(slots, dtype=np.int32)
        reverse[inner[np.lexsort((receivers[inner], neighbors[inner]))]] = inner
        reverse[outer] = slots + np.arange(len(outer))
        padded: FloatArray = np.full((n, lanes_for(q)), np.inf)
        padded[:, :q] = fields
        counts = np.bincount(receivers, minlength=n)
        every = np.arange(slots, dtype=np.int32)
        couplings = couplings[order]
        self.layout = MessageLayout(
            n_states=q,
            indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            neighbors=neighbors,
            reverse=reverse,
            at_u=every,
            at_v=every,
            couplings=couplings,
            factor=1.0,
            strength=np.bincount(receivers, np.abs(couplings), n).astype(np.float64),
            fields=padded,
            term=term,
            sizes=sizes,
            n_rows=slots + len(outer),
        )
        packed = self.layout.n_rows * self.layout.lanes > potts_messages.LARGE
        self.messages = PottsMessages(self.layout, packed)
        self.nodes, self.receivers = nodes, receivers
        # By the other block: rows that go there and rows that come from there, in the order of the
        # pair (sender, receiver), on which both agree.
        here, there = nodes[receivers[outer]], other[outer]
        self.leaving: dict[int, Ids] = {}
        self.arriving: dict[int, Ids] = {}
        for b in np.unique(block[outer]).tolist():
            rows = np.flatnonzero(block[outer] == b)
            self.leaving[b] = slots + rows[np.lexsort((there[rows], here[rows]))]
            self.arriving[b] = outer[rows[np.lexsort((here[rows], there[rows]))]]
        # Edges are told of by the end with the lower number.
        self.lower = np.flatnonzero(nodes[receivers] < other)
        self.other_ends = other[self.lower]

    @property
    def n_bytes(self) -> int:
        """Memory that the graph and the messages take here."""
        a = self.layout
        held = [a.indptr, a.neighbors, a.reverse, a.at_u, a.couplings, a.stiffness, a.fields]
        held += [a.sizes, *vars(self).values(), *vars(self.messages).values()]
        return sum(v.nbytes for v in held if isinstance(v, np.ndarray))

    def own_volumes(self) -> FloatArray:
        """Class sizes of the block's nodes, (q,)."""
        return np.asarray(self.layout.sizes @ self.messages.beliefs[:, : self.layout.n_states])

    def set_temperature(self, temperature: float) -> None:
        """Go on at this temperature with the messages that there are."""
        self.messages.set_temperature(temperature)
        self.messages.pending[:] = np.inf

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

        `others` (q,) are class sizes of all nodes of other blocks, `arriving` messages (rows, q) by
        the block that they come from; none at first. The rest: see `kernels.messages.sweep_potts`.
        """
        m, q = self.messages, self.layout.n_states
        for b, rows in self.arriving.items():
            if b in arriving:
                change = np.abs(arriving[b] - m.messages[rows, :q]).max(axis=1, initial=0.0)
                np.maximum.at(m.pending, self.receivers[rows], change)
                m.messages[rows, :q] = arriving[b]
        m.volumes[0, :q] = self.own_volumes() + others + self.layout.term.held
        m.sweep(forth, tol, damping, threshold)
        leaving = {b: m.messages[rows, :q] for b, rows in self.leaving.items()}
        moved, excess = m.movement.tolist()
        return Swept(moved, excess, m.most_pending, self.own_volumes()), leaving

    def marginals(self) -> FloatArray:
        """Beliefs of the block's nodes, (n, q), as of the last sweep."""
        return np.array(self.messages.beliefs[:, : self.layout.n_states])

    def agreements(self) -> tuple[Ids, FloatArray]:
        """Edges (m, 2) by global numbers, the lower first, and C_ij of each; from both messages.

        The law of a node without a neighbour, h, is in what it sends there: m = w + (1 - w) h for
        J >= 0, and m = 1 - (1 - w) h for J < 0.
        """
        m, q = self.messages, self.layout.n_states
        agreements = np.empty(len(self.lower))
        for begin in range(0, len(agreements), BLOCK):
            rows = self.lower[begin : begin + BLOCK]
            attractive = m.slope[rows] >= 0
            w = np.where(attractive, m.unlike[rows], -m.slope[rows])
            laws = []
            for slots in (rows, self.layout.reverse[rows]):
                sent = m.messages[slots, :q].astype(np.float64)
                h = np.maximum(np.where(attractive[:, None], sent - w[:, None], 1 - sent), 0.0)
                laws.append(h / h.sum(axis=1, keepdims=True))
            same = np.sum(laws[0] * laws[1], axis=1)
            like, differ = np.where(attractive, 1.0, w), np.where(attractive, w, 1.0)
            agreements[begin : begin + BLOCK] = same * like / (same * like + (1 - same) * differ)
        ends = np.column_stack([self.nodes[self.receivers[self.lower]], self.other_ends])
        return ends, agreements
