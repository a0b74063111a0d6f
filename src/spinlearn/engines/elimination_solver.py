"""EliminationSolver: the flat arrays of one elimination, and the two passes over them.

The kernels (`kernels/elimination.py`) give the recursions, a `BucketTree` the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray, StateArray
from spinlearn.core.free_part import FreePart
from spinlearn.engines.elimination_order import BucketTree
from spinlearn.engines.message_stack import MessageStack

BLOCK_STATES = 20_000_000  # clique states times temperatures between two callbacks
EVERY_STATE = np.iinfo(np.int64).max


class Step(NamedTuple):
    """One kernel call: buckets first..last-1, of each the separator states begin..end-1."""

    first: int
    last: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Averages:
    """Averages over the free nodes for a block of temperatures (first axis)."""

    marginals: FloatArray
    agreement: FloatArray
    pairs: FloatArray
    log_count: FloatArray
    mean_excess: FloatArray
    variance: FloatArray
    ground_energy: float

    @classmethod
    def joined(cls, parts: list[Averages], n_done: int) -> Averages:
        """The blocks one after another, without what pads the last one."""
        names = ("marginals", "agreement", "pairs", "log_count", "mean_excess", "variance")
        arrays = {
            name: np.concatenate([getattr(p, name) for p in parts])[:n_done] for name in names
        }
        return cls(**arrays, ground_energy=parts[0].ground_energy)


class EliminationSolver:
    """The large arrays are allocated once: fresh pages cost as much as the arithmetic on them."""

    def __init__(self, free: FreePart, tree: BucketTree, n_temperatures: int) -> None:
        model = free.model
        self.free, self.tree, self.q = free, tree, model.n_states
        self.n = n = len(tree.order)
        bucket_of = np.empty(n, dtype=np.int64)
        bucket_of[tree.order] = np.arange(n)
        self.fields = np.ascontiguousarray(free.fields[tree.order])
        self.sep_ptr, self.sep = _ragged(tree.separators)
        children: list[list[int]] = [[] for _ in range(n)]
        for b, separator in enumerate(tree.separators):
            if separator:
                children[separator[0]].append(b)
        self.child_ptr, self.child = _ragged(children)
        self.roots = [b for b, separator in enumerate(tree.separators) if not separator]
        self.stack = MessageStack.of(tree, self.q)
        sizes = np.array([self.q ** len(s) for s in tree.separators], dtype=np.int64)
        self.conditional_at = np.concatenate([[0], np.cumsum((self.q - 1) * sizes)])
        self.work = np.concatenate([[0.0], np.cumsum(sizes * float(self.q))])
        # Every edge belongs to the bucket of its end that is eliminated first.
        ends = np.sort(bucket_of[free.edges], axis=1).reshape(-1, 2)
        self.link_edge = np.lexsort((ends[:, 1], ends[:, 0]))
        owners, others = ends[self.link_edge].T
        self.link_ptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))])
        self.link_digit = np.array(
            [tree.separators[b].index(o) for b, o in zip(owners, others, strict=True)],
            dtype=np.int64,
        )
        self.link_coupling = np.ascontiguousarray(free.couplings[self.link_edge])
        # Is the first end of the edge (u, v) the one eliminated first?
        self.link_forward = bucket_of[free.edges[self.link_edge, 0]] == owners
        self.conditional = np.empty((int(self.conditional_at[-1]), n_temperatures))
        self.messages = np.empty((self.stack.size, 3, n_temperatures))
        self.min_energy = np.empty(self.stack.size)

    def compile(self) -> None:
        """Compile the kernels for this number of temperatures, or load them, without any work."""
        n_t = self.messages.shape[2]
        nothing = Step(0, 0, 0, 0)
        self._eliminate(np.zeros(n_t), nothing)
        tables = _Tables.zeros(self, n_t, self._pair_slots(None))
        self._spread(self.messages.reshape(-1, n_t), tables, nothing)

    def averages(
        self,
        betas: FloatArray,
        watch: partial[bool],
        pair_edges: npt.NDArray[np.integer] | None,
    ) -> Averages | None:
        """Both passes for a block of temperatures; None when the watcher says stop."""
        n_t = len(betas)
        steps = self._steps(n_t)
        if not self._upward(betas, watch):
            return None
        at_roots = self.stack.at[self.roots]
        # Kernel messages of one block are summed over the parts of a disconnected graph.
        log_count, mean_excess, variance = self.messages[at_roots].sum(axis=0)
        ground_energy = float(self.min_energy[at_roots].sum())

        separator = self.messages.reshape(-1, n_t)  # the messages have been used up
        separator[at_roots] = 1.0
        tables = _Tables.zeros(self, n_t, self._pair_slots(pair_edges))
        for k, step in enumerate(reversed(steps)):
            self._spread(separator, tables, step)
            if watch(0.6 + 0.4 * (k + 1) / len(steps)):
                return None
        return self._by_temperature(tables, log_count, mean_excess, variance, ground_energy)

    def _upward(self, betas: FloatArray, watch: partial[bool]) -> bool:
        """Eliminate all nodes; False when the watcher says stop."""
        steps = self._steps(len(betas))
        for k, step in enumerate(steps):
            self._eliminate(betas, step)
            if watch(0.6 * (k + 1) / len(steps)):
                return False
        return True

    def _eliminate(self, betas: FloatArray, step: Step) -> None:
        from spinlearn.kernels import elimination

        lanes = (0,) * len(betas)  # its length is part of the kernels' signature
        elimination.upward(
            lanes, *step, self.q, betas, self.free.model.energy_resolution,
            self.free.model.pair_cost, self.fields, self.sep_ptr, self.sep, self.child_ptr,
            self.child, self.link_ptr, self.link_digit, self.link_coupling,
            self.stack.at, self.conditional_at, self.min_energy, self.messages,
            self.conditional,
        )  # fmt: skip

    def _spread(self, separator: FloatArray, tables: _Tables, step: Step) -> None:
        from spinlearn.kernels import elimination

        lanes = (0,) * separator.shape[1]
        elimination.downward(
            lanes, *step, self.q, self.sep_ptr, self.sep, self.child_ptr, self.child,
            self.link_ptr, self.link_digit, tables.slots, self.stack.at, self.conditional_at,
            self.conditional, separator, tables.marginals, tables.agreement, tables.pairs,
        )  # fmt: skip

    def labellings(
        self,
        betas: FloatArray,
        n_samples: int,
        generator: np.random.Generator,
        watch: partial[bool],
    ) -> StateArray:
        """States of the free nodes, (S, n_free), drawn bucket by bucket given its separator."""
        self._upward(betas, watch)
        q = self.q
        by_bucket = np.empty((self.n, n_samples), dtype=np.int8)
        for b in range(self.n - 1, -1, -1):
            watch(1.0 - 0.4 * b / self.n)
            index = np.zeros(n_samples, dtype=np.int64)
            for other in self.tree.separators[b][::-1]:
                index = index * q + by_bucket[other]
            first = self.conditional_at[b] + index * (q - 1)
            uniform = generator.random(n_samples)
            below = np.zeros(n_samples)
            state = np.zeros(n_samples, dtype=np.int8)
            for x in range(q - 1):
                below += self.conditional[first + x, 0]
                state += uniform >= below
            by_bucket[b] = state
        drawn = np.empty((n_samples, self.n), dtype=np.int8)
        drawn[:, self.tree.order] = by_bucket.T
        return drawn

    def _by_temperature(
        self,
        tables: _Tables,
        log_count: FloatArray,
        mean_excess: FloatArray,
        variance: FloatArray,
        ground_energy: float,
    ) -> Averages:
        """Kernel order (buckets, links; T last) to model order (free nodes, edges; T first)."""
        by_node = np.empty((len(log_count), self.n, self.q))
        by_node[:, self.tree.order] = np.moveaxis(tables.marginals, 2, 0)
        by_node /= by_node.sum(axis=2, keepdims=True)  # removes the rounding of long sums
        by_edge = np.empty((len(log_count), len(self.link_edge)))
        by_edge[:, self.link_edge] = np.clip(tables.agreement.T, 0.0, 1.0)
        by_pair = np.empty((len(log_count), *tables.pairs.shape[:3]))
        for link in np.flatnonzero(tables.slots >= 0):
            slot = tables.slots[link]
            table = tables.pairs[slot]
            if not self.link_forward[link]:
                table = table.swapaxes(0, 1)
            by_pair[:, slot] = np.moveaxis(table, 2, 0)
        return Averages(by_node, by_edge, by_pair, log_count, mean_excess, variance, ground_energy)

    def _pair_slots(self, pair_edges: npt.NDArray[np.integer] | None) -> IntArray:
        """Number of the pair table each link fills, or -1; tables follow the free edges wanted."""
        slots = np.full(len(self.link_edge), -1, dtype=np.int32)
        if pair_edges is not None:
            wanted = np.isin(self.free.edge_ids, pair_edges)
            numbers = np.cumsum(wanted) - 1
            slots = np.where(wanted, numbers, -1)[self.link_edge].astype(np.int32)
        return slots

    def _steps(self, n_t: int) -> list[Step]:
        """Kernel calls of bounded work, so that progress, limits and Ctrl-C come through.

        Runs of whole buckets; those that are too large by themselves in parts.
        """
        if self.n == 0:
            return []
        q = self.q
        states = np.diff(self.work)  # of a clique
        large = states * n_t > BLOCK_STATES
        marks = np.floor(self.work[1:] * n_t / BLOCK_STATES)
        cuts = np.flatnonzero(np.diff(marks) + large[1:] + large[:-1]) + 1
        steps = []
        for first, last in pairwise([0, *cuts.tolist(), self.n]):
            whole = int(states[first]) // q
            length = whole
            while length > 1 and length * q * n_t > BLOCK_STATES and last - first == 1:
                length //= q  # a power of q: whole tiles of the kernels
            if length == whole:
                steps.append(Step(first, last, 0, EVERY_STATE))
            else:
                steps += [Step(first, last, a, a + length) for a in range(0, whole, length)]
        return steps


@dataclass(frozen=True, slots=True)
class _Tables:
    """What the downward pass sums up: buckets and links in kernel order, temperatures last."""

    slots: IntArray
    marginals: FloatArray
    agreement: FloatArray
    pairs: FloatArray

    @classmethod
    def zeros(cls, solver: EliminationSolver, n_t: int, slots: IntArray) -> _Tables:
        n, q = solver.n, solver.q
        n_pairs = int(slots.max(initial=-1)) + 1
        return cls(
            slots,
            np.zeros((n, q, n_t)),
            np.zeros((len(slots), n_t)),
            np.zeros((n_pairs, q, q, n_t)),
        )


def _ragged(rows: object) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    lists = list(rows)  # type: ignore[call-overload]
    pointers = np.concatenate([[0], np.cumsum([len(r) for r in lists])]).astype(np.int64)
    return pointers, np.array([x for r in lists for x in r], dtype=np.int64)
