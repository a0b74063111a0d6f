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
from spinlearn.model.arrays import FloatArray, StateArray
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
    stack_at: npt.NDArray[np.int64]  # where each bucket's message stands on the stack, (n,)
    stack_size: int
    bytes_per_temperature: float
    fixed_bytes: float

    @classmethod
    def of(cls, tree: BucketTree, q: int) -> EliminationCost:
        """The cost of eliminating the nodes of q states in this order.

        Messages stand on a stack with two ends: those of buckets of even depth are stacked from the
        front and those of odd depth from the back, so that a bucket is written while its children,
        on the other end, are still read.
        """
        n = len(tree.separators)
        odd = np.zeros(n, dtype=bool)
        for b in range(n - 1, -1, -1):
            if tree.separators[b]:
                odd[b] = not odd[tree.separators[b][0]]
        at, freed = np.zeros(n, dtype=np.int64), [0] * n  # freed by consuming the children
        heights, size = [0, 0], 0
        for b, separator in enumerate(tree.separators):
            length, side = q ** len(separator), int(odd[b])
            at[b] = heights[side] if not side else -heights[side] - length
            heights[side] += length
            size = max(size, sum(heights))
            heights[1 - side] -= freed[b]
            if separator:
                freed[separator[0]] += length
        at[odd] += size
        messages = (q - 1) * sum(float(q) ** len(s) for s in tree.separators) + 3 * size + 2 * n * q
        return cls(tree, tree.width, tree.cost(q), at, size, 8.0 * messages, 8.0 * size)

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
    """The cheapest elimination found; UnsupportedModelError where it exceeds budget or time."""
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


class Averages(NamedTuple):
    """Averages over the free nodes for a block of temperatures (first axis)."""

    marginals: FloatArray
    agreement: FloatArray
    pairs: FloatArray
    log_count: FloatArray
    mean_excess: FloatArray
    variance: FloatArray
    ground_energy: float


class EliminationSolver:
    """Both passes; large arrays are allocated once, fresh pages cost as much as the arithmetic."""

    def __init__(
        self,
        free: ConditionedModel,
        cost: EliminationCost,
        n_temperatures: int,
        pair_edges: npt.NDArray[np.integer] | None = None,
    ) -> None:
        from spinlearn.kernels.elimination import Buckets

        tree = cost.tree
        self.tree, self.q = tree, free.model.n_states
        self.resolution = free.model.energy_resolution
        self.n = n = len(tree.order)
        bucket_of = np.empty(n, dtype=np.int64)
        bucket_of[tree.order] = np.arange(n)
        children: list[list[int]] = [[] for _ in range(n)]
        for b, separator in enumerate(tree.separators):
            if separator:
                children[separator[0]].append(b)
        roots = [b for b, separator in enumerate(tree.separators) if not separator]
        self.at_roots = cost.stack_at[roots]
        sizes = np.array([self.q ** len(s) for s in tree.separators], dtype=np.int64)
        conditional_at = np.concatenate([[0], np.cumsum((self.q - 1) * sizes)])
        # Every edge belongs to the bucket of its end that is eliminated first.
        ends = np.sort(bucket_of[free.edges], axis=1).reshape(-1, 2)
        self.link_edge = np.lexsort((ends[:, 1], ends[:, 0]))
        owners, others = ends[self.link_edge].T
        digits = [tree.separators[b].index(o) for b, o in zip(owners, others, strict=True)]
        # Is the first end of the edge (u, v) the one eliminated first?
        self.link_forward = bucket_of[free.edges[self.link_edge, 0]] == owners
        # Number of the pair table each link fills, or -1; tables follow the free edges wanted.
        wanted = np.isin(free.edge_ids, [] if pair_edges is None else pair_edges)
        numbers = np.where(wanted, np.cumsum(wanted) - 1, -1)
        self.pair_slots = numbers[self.link_edge].astype(np.int32)
        self.buckets = Buckets(
            self.q,
            free.model.pair_cost,
            np.ascontiguousarray(free.fields[tree.order]),
            *_ragged(tree.separators),
            *_ragged(children),
            link_ptr=np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))]),
            link_digit=np.array(digits, dtype=np.int64),
            link_coupling=np.ascontiguousarray(free.couplings[self.link_edge]),
            at=cost.stack_at,
            conditional_at=conditional_at,
        )
        self.lanes = (0,) * n_temperatures  # its length is part of the kernels' signature
        self.steps = self._steps(sizes)
        self.conditional = np.empty((int(conditional_at[-1]), n_temperatures))
        self.messages = np.empty((cost.stack_size, 3, n_temperatures))
        self.min_energy = np.empty(cost.stack_size)

    def compile(self) -> None:
        """Compile the kernels for this number of temperatures, or load them, without any work."""
        from spinlearn.kernels.elimination import Step

        steps, self.steps = self.steps, [Step(0, 0, 0, 0)]
        self._upward(np.zeros(len(self.lanes)), lambda _: False)
        self._downward(lambda _: False)
        self.steps = steps

    def averages(self, betas: FloatArray, watch: Watch) -> Averages | None:
        """Both passes for a block of temperatures; None when the watcher says stop."""
        if not self._upward(betas, watch):
            return None
        # Kernel messages of one block are summed over the parts of a disconnected graph.
        thermal = self.messages[self.at_roots].sum(axis=0)
        ground_energy = float(self.min_energy[self.at_roots].sum())
        tables = self._downward(watch)
        if tables is None:
            return None
        # Kernel order (buckets, links; T last) to model order (free nodes, edges; T first).
        marginals, agreement, pairs = tables
        n_t = len(betas)
        by_node = np.empty((n_t, self.n, self.q))
        by_node[:, self.tree.order] = np.moveaxis(marginals, 2, 0)
        by_node /= by_node.sum(axis=2, keepdims=True)  # removes the rounding of long sums
        by_edge = np.empty((n_t, len(self.link_edge)))
        by_edge[:, self.link_edge] = np.clip(agreement.T, 0.0, 1.0)
        by_pair = np.empty((n_t, *pairs.shape[:3]))
        for link in np.flatnonzero(self.pair_slots >= 0):
            table = pairs[self.pair_slots[link]]
            if not self.link_forward[link]:
                table = table.swapaxes(0, 1)
            by_pair[:, self.pair_slots[link]] = np.moveaxis(table, 2, 0)
        return Averages._make([by_node, by_edge, by_pair, *thermal, ground_energy])

    def _upward(self, betas: FloatArray, watch: Watch) -> bool:
        """Eliminate all nodes; False when the watcher says stop."""
        from spinlearn.kernels.elimination import upward

        for k, step in enumerate(self.steps):
            upward(
                self.lanes, step, betas, self.resolution, self.buckets, self.min_energy,
                self.messages, self.conditional,
            )  # fmt: skip
            if watch(0.6 * (k + 1) / len(self.steps)):
                return False
        return True

    def _downward(self, watch: Watch) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Probabilities of nodes, edges and pairs in kernel order, temperatures last, or None."""
        from spinlearn.kernels.elimination import downward

        n_t, q, slots = len(self.lanes), self.q, self.pair_slots
        separator = self.messages.reshape(-1, n_t)  # the messages have been used up
        separator[self.at_roots] = 1.0
        n_pairs = int(slots.max(initial=-1)) + 1
        tables = (
            np.zeros((self.n, q, n_t)), np.zeros((len(slots), n_t)), np.zeros((n_pairs, q, q, n_t))
        )  # fmt: skip
        for k, step in enumerate(reversed(self.steps)):
            downward(self.lanes, step, self.buckets, slots, self.conditional, separator, *tables)
            if watch(0.6 + 0.4 * (k + 1) / len(self.steps)):
                return None
        return tables

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
            below, state = np.zeros(n_samples), np.zeros(n_samples, dtype=np.int8)
            for x in range(q - 1):
                below += self.conditional[first + x, 0]
                state += uniform >= below
            by_bucket[b] = state
        drawn = np.empty((n_samples, self.n), dtype=np.int8)
        drawn[:, self.tree.order] = by_bucket.T
        return drawn

    def _steps(self, sizes: npt.NDArray[np.int64]) -> list[Sequence[int]]:
        """Kernel calls of bounded work, so that limits and Ctrl-C come through."""
        from spinlearn.kernels.elimination import Step

        if self.n == 0:
            return []
        q, n_t = self.q, len(self.lanes)
        states = sizes * float(q)  # of a clique
        large = states * n_t > BLOCK_STATES
        marks = np.floor(np.cumsum(states) * n_t / BLOCK_STATES)
        cuts = np.flatnonzero(np.diff(marks) + large[1:] + large[:-1]) + 1
        steps: list[Sequence[int]] = []
        for first, last in pairwise([0, *cuts.tolist(), self.n]):
            length = whole = int(sizes[first])
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
