"""Exact elimination: what it costs, known before it is paid, and the two passes over its arrays.

The kernels (`kernels/elimination.py`) give the recursions, a `BucketTree` the order. One pass over
a block of B temperatures takes at most

    (25 + 4.5 B) ns * clique_states + 3 us * buckets,

and memory touched for the first time 3 ns a byte: measured on one core of a cloud machine for q = 2
to 100 on lattices 2 to 16 wide, complete graphs and stars. Typical passes take half of that: of
eight temperatures at once 4 ns each per state, of a single one 20.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.exact.order import BucketTree, bucket_tree
from spinlearn.engines.limits import TimeLimit
from spinlearn.errors import StoppedError, UnsupportedModelError
from spinlearn.model.arrays import FloatArray, IntArray, StateArray
from spinlearn.model.potts import ConditionedModel

GIB = 2.0**30
BLOCKS = (8, 4, 1)  # temperatures per pass: whole vector registers, few enough to stay in cache
PREFERRED_BYTES = 1.0 * GIB  # beyond this fewer temperatures share a pass
STATE_SECONDS, LANE_SECONDS = 25e-9, 4.5e-9  # of a clique state, and of each temperature in it
BUCKET_SECONDS = 3e-6
FRESH_BYTE_SECONDS = 3e-9
PLANNING_SHARE = 0.25  # of the time limit, the most that the search for an order may take
BLOCK_STATES = 20_000_000  # clique states times temperatures between two callbacks
EVERY_STATE = np.iinfo(np.int64).max

Watch = Callable[[float], bool]  # told the share done; true stops


@dataclass(frozen=True, slots=True)
class EliminationCost:
    """What an exact run will need: its width, memory and arithmetic."""

    tree: BucketTree
    width: int
    clique_states: float
    bytes_per_temperature: float
    fixed_bytes: float

    @classmethod
    def of(cls, tree: BucketTree, q: int) -> EliminationCost:
        """The cost of eliminating the nodes of q states in this order."""
        sizes = np.array([float(q) ** len(s) for s in tree.separators])
        stack_size = _message_stack(tree, q)[1]
        messages = (q - 1) * sizes.sum() + 3 * stack_size + 2 * len(tree.separators) * q
        return cls(tree, tree.width, tree.cost(q), 8.0 * messages, 8.0 * stack_size)

    def bytes(self, block: int) -> float:
        """Memory of a pass over `block` temperatures."""
        return self.fixed_bytes + block * self.bytes_per_temperature

    def block(self, n_temperatures: int, max_bytes: float) -> int:
        """Temperatures per pass: the fewest that take all at once, else the most that fit."""
        limit = max(min(max_bytes, PREFERRED_BYTES), self.bytes(1))
        fitting = [size for size in BLOCKS if self.bytes(size) <= limit]
        return min([s for s in fitting if s >= n_temperatures], default=fitting[0])

    def seconds(self, n_temperatures: int, block: int) -> float:
        """Time of all passes, rather too long than too short, without the search for the order."""
        states = self.clique_states * _state_seconds(block)
        one_pass = states + len(self.tree.order) * BUCKET_SECONDS
        return ceil(n_temperatures / block) * one_pass + self.bytes(block) * FRESH_BYTE_SECONDS


def affordable_cost(
    free: ConditionedModel,
    n_temperatures: int,
    max_memory_gb: float,
    max_operations: float,
    limit: TimeLimit,
) -> EliminationCost:
    """The cheapest elimination that was found, within the budget and the time that is left.

    The model remembers its order. UnsupportedModelError where none is cheap enough.
    """
    q = free.model.n_states
    # So many clique states take all the time however many temperatures share a pass.
    quickest = min(ceil(n_temperatures / block) * _state_seconds(block) for block in BLOCKS)
    affordable = limit.seconds / max(quickest, STATE_SECONDS)
    # q^(width + 1) alone must fit the budget of operations.
    max_width = max(int(np.log(min(max_operations, affordable)) / np.log(q)) - 1, 1)
    cost = free.model.remembered(
        (EliminationCost, max_width, limit.seconds), partial(_cheapest, free, max_width, limit)
    )
    if cost is None and max_operations > affordable:
        predicted = quickest * float(q) ** (max_width + 2)
        needed = f"more than {predicted:.2g} s at {n_temperatures} temperatures (width above "
        raise _refusal(f"{needed}{max_width}, {q} states)", "max_seconds", limit.seconds)
    if cost is None:
        needed = f"elimination width above {max_width} with {q} states"
        raise _refusal(needed, "max_operations", max_operations)
    shape = f"width {cost.width}, {q} states"
    if cost.clique_states > max_operations:
        needed = f"{cost.clique_states:.1e} clique states ({shape})"
        raise _refusal(needed, "max_operations", max_operations)
    max_bytes = max_memory_gb * GIB
    if cost.bytes(1) > max_bytes:
        raise _refusal(f"{cost.bytes(1) / GIB:.1f} GB ({shape})", "max_memory_gb", max_memory_gb)
    predicted = limit.elapsed + cost.seconds(n_temperatures, cost.block(n_temperatures, max_bytes))
    if predicted > limit.seconds:
        raise _refusal(
            f"a predicted {predicted:.2g} s at {n_temperatures} temperatures "
            f"({cost.clique_states:.1e} clique states, {shape})",
            "max_seconds",
            limit.seconds,
        )
    return cost


def _cheapest(free: ConditionedModel, max_width: int, limit: TimeLimit) -> EliminationCost | None:
    """The cost of the best order within the share of the time that is for its search."""
    q = free.model.n_states
    try:
        tree = bucket_tree(
            len(free.nodes), free.edges, q, max_width, lambda: limit.passed(PLANNING_SHARE)
        )
    except StoppedError:
        raise UnsupportedModelError(
            f"no elimination order was found within {PLANNING_SHARE * limit.seconds:.3g} s, "
            f"the share of max_seconds={limit.seconds:g} that the search for one may take: use "
            "a sampling engine, a sparser graph, or raise max_seconds"
        ) from None
    return None if tree is None else EliminationCost.of(tree, q)


def _refusal(needed: str, budget: str, most: float) -> UnsupportedModelError:
    fewer = "fewer temperatures, " if budget == "max_seconds" else ""
    return UnsupportedModelError(
        f"the exact answer needs {needed}, beyond {budget}={most:g}: use a sampling engine, a "
        f"sparser graph (fewer neighbours), {fewer}or raise {budget}"
    )


def _state_seconds(block: int) -> float:
    return STATE_SECONDS + LANE_SECONDS * block


def _message_stack(tree: BucketTree, q: int) -> tuple[npt.NDArray[np.int64], int]:
    """Where each bucket's message stands on a stack with two ends, and the size of the stack.

    Buckets of even depth are stacked from the front and those of odd depth from the back, so that a
    bucket is written while its children, on the other end, are still read.
    """
    n = len(tree.separators)
    odd = np.zeros(n, dtype=bool)
    freed = np.zeros(n, dtype=np.int64)  # by consuming the children
    for b in range(n - 1, -1, -1):
        if tree.separators[b]:
            odd[b] = not odd[tree.separators[b][0]]
    at = np.zeros(n, dtype=np.int64)
    heights = [0, 0]
    size = 0
    for b, separator in enumerate(tree.separators):
        length = q ** len(separator)
        side = int(odd[b])
        at[b] = heights[side] if not side else -heights[side] - length
        heights[side] += length
        size = max(size, sum(heights))
        heights[1 - side] -= int(freed[b])
        if separator:
            freed[separator[0]] += length
    at[odd] += size
    return at, size


class Averages(NamedTuple):
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
        by_kind = zip(*(part[:-1] for part in parts), strict=True)
        arrays = [np.concatenate(blocks)[:n_done] for blocks in by_kind]
        return cls._make([*arrays, parts[0].ground_energy])


class _Tables(NamedTuple):
    """What the downward pass sums up: buckets and links in kernel order, temperatures last."""

    marginals: FloatArray
    agreement: FloatArray
    pairs: FloatArray


class EliminationSolver:
    """The large arrays are allocated once: fresh pages cost as much as the arithmetic on them."""

    def __init__(self, free: ConditionedModel, tree: BucketTree, n_temperatures: int) -> None:
        from spinlearn.kernels.elimination import Buckets

        self.free, self.tree, self.q = free, tree, free.model.n_states
        self.resolution = free.model.energy_resolution
        self.n = n = len(tree.order)
        bucket_of = np.empty(n, dtype=np.int64)
        bucket_of[tree.order] = np.arange(n)
        children: list[list[int]] = [[] for _ in range(n)]
        for b, separator in enumerate(tree.separators):
            if separator:
                children[separator[0]].append(b)
        self.roots = [b for b, separator in enumerate(tree.separators) if not separator]
        at, stack_size = _message_stack(tree, self.q)
        sizes = np.array([self.q ** len(s) for s in tree.separators], dtype=np.int64)
        conditional_at = np.concatenate([[0], np.cumsum((self.q - 1) * sizes)])
        self.work = np.concatenate([[0.0], np.cumsum(sizes * float(self.q))])
        # Every edge belongs to the bucket of its end that is eliminated first.
        ends = np.sort(bucket_of[free.edges], axis=1).reshape(-1, 2)
        self.link_edge = np.lexsort((ends[:, 1], ends[:, 0]))
        owners, others = ends[self.link_edge].T
        digits = [tree.separators[b].index(o) for b, o in zip(owners, others, strict=True)]
        # Is the first end of the edge (u, v) the one eliminated first?
        self.link_forward = bucket_of[free.edges[self.link_edge, 0]] == owners
        self.buckets = Buckets(
            self.q,
            free.model.pair_cost,
            np.ascontiguousarray(free.fields[tree.order]),
            *_ragged(tree.separators),
            *_ragged(children),
            link_ptr=np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))]),
            link_digit=np.array(digits, dtype=np.int64),
            link_coupling=np.ascontiguousarray(free.couplings[self.link_edge]),
            at=at,
            conditional_at=conditional_at,
        )
        self.conditional = np.empty((int(conditional_at[-1]), n_temperatures))
        self.messages = np.empty((stack_size, 3, n_temperatures))
        self.min_energy = np.empty(stack_size)

    def compile(self) -> None:
        """Compile the kernels for this number of temperatures, or load them, without any work."""
        from spinlearn.kernels.elimination import Step

        n_t, nothing = self.messages.shape[2], Step(0, 0, 0, 0)
        self._eliminate(np.zeros(n_t), nothing)
        slots = self._pair_slots(None)
        self._spread(self.messages.reshape(-1, n_t), slots, self._tables(n_t, slots), nothing)

    def averages(
        self, betas: FloatArray, watch: Watch, pair_edges: npt.NDArray[np.integer] | None
    ) -> Averages | None:
        """Both passes for a block of temperatures; None when the watcher says stop."""
        n_t = len(betas)
        steps = self._steps(n_t)
        if not self._upward(betas, watch):
            return None
        at_roots = self.buckets.at[self.roots]
        # Kernel messages of one block are summed over the parts of a disconnected graph.
        thermal = self.messages[at_roots].sum(axis=0)
        ground_energy = float(self.min_energy[at_roots].sum())

        separator = self.messages.reshape(-1, n_t)  # the messages have been used up
        separator[at_roots] = 1.0
        slots = self._pair_slots(pair_edges)
        tables = self._tables(n_t, slots)
        for k, step in enumerate(reversed(steps)):
            self._spread(separator, slots, tables, step)
            if watch(0.6 + 0.4 * (k + 1) / len(steps)):
                return None
        by_node_and_edge = self._by_temperature(tables, slots)
        return Averages._make([*by_node_and_edge, *thermal, ground_energy])

    def _upward(self, betas: FloatArray, watch: Watch) -> bool:
        """Eliminate all nodes; False when the watcher says stop."""
        steps = self._steps(len(betas))
        for k, step in enumerate(steps):
            self._eliminate(betas, step)
            if watch(0.6 * (k + 1) / len(steps)):
                return False
        return True

    def _eliminate(self, betas: FloatArray, step: Sequence[int]) -> None:
        from spinlearn.kernels.elimination import upward

        lanes = (0,) * len(betas)  # its length is part of the kernels' signature
        upward(lanes, step, betas, self.resolution, self.buckets, self.min_energy, self.messages,
               self.conditional)  # fmt: skip

    def _spread(
        self, separator: FloatArray, slots: IntArray, tables: _Tables, step: Sequence[int]
    ) -> None:
        from spinlearn.kernels.elimination import downward

        lanes = (0,) * separator.shape[1]
        downward(lanes, step, self.buckets, slots, self.conditional, separator, *tables)

    def labellings(
        self, betas: FloatArray, n_samples: int, generator: np.random.Generator, watch: Watch
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
            first = self.buckets.conditional_at[b] + index * (q - 1)
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

    def _tables(self, n_t: int, slots: IntArray) -> _Tables:
        n_pairs, q = int(slots.max(initial=-1)) + 1, self.q
        shapes = ((self.n, q, n_t), (len(slots), n_t), (n_pairs, q, q, n_t))
        return _Tables(*(np.zeros(shape) for shape in shapes))

    def _by_temperature(self, tables: _Tables, slots: IntArray) -> _Tables:
        """Kernel order (buckets, links; T last) to model order (free nodes, edges; T first)."""
        n_t = tables.agreement.shape[1]
        by_node = np.empty((n_t, self.n, self.q))
        by_node[:, self.tree.order] = np.moveaxis(tables.marginals, 2, 0)
        by_node /= by_node.sum(axis=2, keepdims=True)  # removes the rounding of long sums
        by_edge = np.empty((n_t, len(self.link_edge)))
        by_edge[:, self.link_edge] = np.clip(tables.agreement.T, 0.0, 1.0)
        by_pair = np.empty((n_t, *tables.pairs.shape[:3]))
        for link in np.flatnonzero(slots >= 0):
            table = tables.pairs[slots[link]]
            if not self.link_forward[link]:
                table = table.swapaxes(0, 1)
            by_pair[:, slots[link]] = np.moveaxis(table, 2, 0)
        return _Tables(by_node, by_edge, by_pair)

    def _pair_slots(self, pair_edges: npt.NDArray[np.integer] | None) -> IntArray:
        """Number of the pair table each link fills, or -1; tables follow the free edges wanted."""
        wanted = np.isin(self.free.edge_ids, [] if pair_edges is None else pair_edges)
        numbers = np.cumsum(wanted) - 1
        return np.where(wanted, numbers, -1)[self.link_edge].astype(np.int32)

    def _steps(self, n_t: int) -> list[Sequence[int]]:
        """Kernel calls of bounded work, so that progress, limits and Ctrl-C come through.

        Runs of whole buckets; those that are too large by themselves in parts.
        """
        from spinlearn.kernels.elimination import Step

        if self.n == 0:
            return []
        q = self.q
        states = np.diff(self.work)  # of a clique
        large = states * n_t > BLOCK_STATES
        marks = np.floor(self.work[1:] * n_t / BLOCK_STATES)
        cuts = np.flatnonzero(np.diff(marks) + large[1:] + large[:-1]) + 1
        steps: list[Sequence[int]] = []
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


def _ragged(rows: Iterable[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    lists = list(rows)
    pointers = np.concatenate([[0], np.cumsum([len(r) for r in lists])]).astype(np.int64)
    return pointers, np.array([x for r in lists for x in r], dtype=np.int64)
