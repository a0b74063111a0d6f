"""Exact averages by variable elimination on a triangulation (junction tree), all T in one call.

The kernels (`kernels/elimination.py`) give the recursions; this file plans the elimination, states
its price before paying it, and assembles the result:

    ln Z = -E_min/T + sum over roots of log_count
    <E>  = E_min + sum over roots of mean excess,    C = sum over roots of variance / T^2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, IntArray, StateArray, temperature_array
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.core.seeds import Seed, seed_sequence
from spinlearn.core.settings import Settings
from spinlearn.engines.elimination_order import BucketTree, bucket_tree
from spinlearn.engines.limits import heat_capacity, inverse_temperatures, log_partition
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError

GIB = 2.0**30
BLOCKS = (8, 4, 1)  # temperatures per pass: whole vector registers, few enough to stay in cache
PREFERRED_BYTES = 1.0 * GIB  # beyond this fewer temperatures share a pass
BLOCK_STATES = 20_000_000  # clique states times temperatures between two callbacks


@dataclass(frozen=True, slots=True)
class Plan:
    """What an exact run will need: its width, memory and arithmetic."""

    tree: BucketTree
    width: int
    clique_states: float
    bytes_per_temperature: float
    fixed_bytes: float

    def bytes(self, block: int) -> float:
        """Memory of a pass over `block` temperatures."""
        return self.fixed_bytes + block * self.bytes_per_temperature


@dataclass(kw_only=True)
class JunctionTree(Settings):
    """Exact engine for graphs of small treewidth.

    Parameters
    ----------
    max_memory_gb : float
        Budget. A model whose pass over a single temperature needs more is refused.
    max_operations : float
        Budget of clique states per temperature (about 5 ns each); wider models are refused.
    """

    max_memory_gb: float = 6.0
    max_operations: float = 2e9

    name: ClassVar[str] = "junction_tree"

    def plan(self, model: PottsModel) -> Plan:
        """Width, memory and cost of the exact answer, found without computing it.

        Raises UnsupportedModelError when the budget does not suffice.
        """
        return self._plan(FreePart.of(model))

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the model is too wide for this engine's budget, or None."""
        try:
            self.plan(model)
        except UnsupportedModelError as error:
            return str(error)
        return None

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Exact averages at all temperatures; `seed` is not used."""
        return self._solve(model, temperature_array(temperatures), callback)[0]

    def pair_marginals(
        self, model: PottsModel, temperatures: npt.ArrayLike, edge_ids: npt.ArrayLike
    ) -> FloatArray:
        """p_uv(s_u, s_v; T) of the requested edges (u, v) = graph.edges[id], (T, ids, q, q)."""
        wanted = np.atleast_1d(np.asarray(edge_ids))
        n_edges = model.graph.n_edges
        if wanted.dtype.kind not in "iu" or np.any((wanted < 0) | (wanted >= n_edges)):
            raise InvalidInputError(
                f"edge_ids must be whole numbers from 0 to {n_edges - 1}, the rows of graph.edges"
            )
        return self._solve(model, temperature_array(temperatures), None, wanted)[1]

    def draw(
        self, model: PottsModel, temperature: float, n_samples: int, *, seed: Seed = None
    ) -> StateArray:
        """Independent labellings (S, n) from the exact law at one temperature."""
        free = FreePart.of(model)
        plan = self._plan(free)
        betas = inverse_temperatures(temperature_array([temperature]), model)
        solver = _Solver(free, plan.tree, 1)
        states = np.tile(model.clamped, (n_samples, 1))
        states[:, free.nodes] = solver.labellings(
            betas, n_samples, np.random.default_rng(seed_sequence(seed))
        )
        return states

    def _plan(self, free: FreePart) -> Plan:
        q, n = free.model.n_states, len(free.nodes)
        # q^(width + 1) alone must fit the budget of operations.
        max_width = max(int(np.log(self.max_operations) / np.log(q)) - 1, 1)
        tree = bucket_tree(n, free.edges, q, max_width)
        if tree is None:
            raise UnsupportedModelError(
                f"the exact answer needs elimination width above {max_width} with {q} states, "
                f"beyond max_operations={self.max_operations:g}: use a sampling engine, a sparser "
                "graph (fewer neighbours), or raise max_operations"
            )
        sizes = np.array([float(q) ** len(s) for s in tree.separators])
        stack = _Stack.of(tree, q)
        plan = Plan(
            tree=tree,
            width=tree.width,
            clique_states=tree.cost(q),
            bytes_per_temperature=8.0 * ((q - 1) * sizes.sum() + 3 * stack.size + 2 * n * q),
            fixed_bytes=8.0 * stack.size,
        )
        if plan.clique_states > self.max_operations:
            raise UnsupportedModelError(
                f"the exact answer needs {plan.clique_states:.1e} clique states (width "
                f"{plan.width}, {q} states), beyond max_operations={self.max_operations:g}: use a "
                "sampling engine, a sparser graph, or raise max_operations"
            )
        if plan.bytes(1) > self.max_memory_gb * GIB:
            raise UnsupportedModelError(
                f"the exact answer needs {plan.bytes(1) / GIB:.1f} GB (width {plan.width}, "
                f"{q} states), beyond max_memory_gb={self.max_memory_gb:g}: use a sampling engine, "
                "a sparser graph, or raise max_memory_gb"
            )
        return plan

    def _solve(
        self,
        model: PottsModel,
        temperatures: FloatArray,
        callback: Callback | None,
        pair_edges: npt.NDArray[np.integer] | None = None,
    ) -> tuple[Equilibrium, FloatArray]:
        started = perf_counter()
        free = FreePart.of(model)
        plan = self._plan(free)
        limit = max(min(self.max_memory_gb * GIB, PREFERRED_BYTES), plan.bytes(1))
        fitting = [size for size in BLOCKS if plan.bytes(size) <= limit]
        # The smallest block that takes all temperatures at once, else the largest that fits.
        block = min([s for s in fitting if s >= len(temperatures)], default=fitting[0])
        betas = inverse_temperatures(temperatures, model)
        solver = _Solver(free, plan.tree, block)
        parts: list[_Averages] = []
        for begin in range(0, len(betas), block):
            done, share = begin / len(betas), min(block, len(betas) - begin) / len(betas)
            watch = partial(_report, callback, done, share)
            padded = np.resize(betas[begin : begin + block], block)
            part = solver.averages(padded, watch, pair_edges)
            if part is None:
                break
            parts.append(part)
        if not parts:
            raise StoppedError("stopped before the first temperature was finished")
        n_done = min(len(parts) * block, len(temperatures))
        free_averages = _Averages.joined(parts, n_done)
        marginals = free.full_marginals(free_averages.marginals)
        ground = free.constant + free_averages.ground_energy
        equilibrium = Equilibrium(
            model=model,
            temperatures=temperatures[:n_done],
            marginals=marginals,
            edge_agreement=free.full_agreement(free_averages.agreement, marginals),
            mean_energy=ground + free_averages.mean_excess,
            heat_capacity=heat_capacity(free_averages.variance, temperatures[:n_done]),
            log_partition=log_partition(ground, free_averages.log_count, temperatures[:n_done]),
            converged=np.ones(n_done, dtype=bool),
            engine=self.name,
            kind=Kind.EXACT,
            diagnostics={
                "width": plan.width,
                "clique_states": plan.clique_states,
                "predicted_bytes": plan.bytes(block),
                "temperatures_per_pass": block,
                "ground_energy": ground,
                "seconds": perf_counter() - started,
            },
            evaluate=partial(self.run, model),
        )
        pairs = np.empty((0, 0, model.n_states, model.n_states))
        if pair_edges is not None:
            pairs = _full_pairs(free, marginals, free_averages.pairs, pair_edges)
        return equilibrium, pairs


@dataclass(frozen=True, slots=True)
class _Stack:
    """Where each bucket's message stands, on a stack with two ends.

    Buckets of even depth are stacked from the front and those of odd depth from the back, so that a
    bucket is written while its children, on the other end, are still read.
    """

    at: npt.NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, tree: BucketTree, q: int) -> _Stack:
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
        return cls(at, size)


@dataclass(frozen=True, slots=True)
class _Averages:
    """Averages over the free nodes for a block of temperatures (first axis)."""

    marginals: FloatArray
    agreement: FloatArray
    pairs: FloatArray
    log_count: FloatArray
    mean_excess: FloatArray
    variance: FloatArray
    ground_energy: float

    @classmethod
    def joined(cls, parts: list[_Averages], n_done: int) -> _Averages:
        """The blocks one after another, without what pads the last one."""
        names = ("marginals", "agreement", "pairs", "log_count", "mean_excess", "variance")
        arrays = {
            name: np.concatenate([getattr(p, name) for p in parts])[:n_done] for name in names
        }
        return cls(**arrays, ground_energy=parts[0].ground_energy)


class _Solver:
    """The flat arrays of one elimination, and the two passes over them.

    The large ones are allocated once: fresh pages cost as much as the arithmetic done on them.
    """

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
        self.stack = _Stack.of(tree, self.q)
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

    def averages(
        self,
        betas: FloatArray,
        watch: partial[bool],
        pair_edges: npt.NDArray[np.integer] | None,
    ) -> _Averages | None:
        """Both passes for a block of temperatures; None when the watcher says stop."""
        from spinlearn.kernels import elimination

        n, q, n_t = self.n, self.q, len(betas)
        lanes = (0,) * n_t  # its length is part of the kernels' signature
        steps = self._blocks(n_t)
        if not self._upward(betas, watch):
            return None
        at_roots = self.stack.at[self.roots]
        # Kernel messages of one block are summed over the parts of a disconnected graph.
        log_count, mean_excess, variance = self.messages[at_roots].sum(axis=0)
        ground_energy = float(self.min_energy[at_roots].sum())

        separator = self.messages.reshape(-1, n_t)  # the messages have been used up
        separator[at_roots] = 1.0
        marginals = np.zeros((n, q, n_t))
        agreement = np.zeros((len(self.link_edge), n_t))
        slots = self._pair_slots(pair_edges)
        pairs = np.zeros((int(slots.max(initial=-1)) + 1, q, q, n_t))
        for k, (first, last) in enumerate(reversed(steps)):
            elimination.downward(
                lanes, first, last, q, self.sep_ptr, self.sep, self.child_ptr, self.child,
                self.link_ptr, self.link_digit, slots, self.stack.at,
                self.conditional_at, self.conditional, separator, marginals, agreement, pairs,
            )  # fmt: skip
            if watch(0.6 + 0.4 * (k + 1) / len(steps)):
                return None
        return self._by_temperature(
            marginals, agreement, pairs, slots, log_count, mean_excess, variance, ground_energy
        )

    def _upward(self, betas: FloatArray, watch: partial[bool] | None) -> bool:
        """Eliminate all nodes; False when the watcher says stop."""
        from spinlearn.kernels import elimination

        lanes = (0,) * len(betas)
        steps = self._blocks(len(betas))
        for k, (first, last) in enumerate(steps):
            elimination.upward(
                lanes, first, last, self.q, betas, self.free.model.energy_resolution,
                self.free.model.pair_cost, self.fields, self.sep_ptr, self.sep, self.child_ptr,
                self.child, self.link_ptr, self.link_digit, self.link_coupling,
                self.stack.at, self.conditional_at, self.min_energy, self.messages,
                self.conditional,
            )  # fmt: skip
            if watch is not None and watch(0.6 * (k + 1) / len(steps)):
                return False
        return True

    def labellings(
        self, betas: FloatArray, n_samples: int, generator: np.random.Generator
    ) -> StateArray:
        """States of the free nodes, (S, n_free), drawn bucket by bucket given its separator."""
        self._upward(betas, None)
        q = self.q
        by_bucket = np.empty((self.n, n_samples), dtype=np.int8)
        for b in range(self.n - 1, -1, -1):
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
        marginals: FloatArray,
        agreement: FloatArray,
        pairs: FloatArray,
        slots: IntArray,
        log_count: FloatArray,
        mean_excess: FloatArray,
        variance: FloatArray,
        ground_energy: float,
    ) -> _Averages:
        """Kernel order (buckets, links; T last) to model order (free nodes, edges; T first)."""
        by_node = np.empty((len(log_count), self.n, self.q))
        by_node[:, self.tree.order] = np.moveaxis(marginals, 2, 0)
        by_node /= by_node.sum(axis=2, keepdims=True)  # removes the rounding of long sums
        by_edge = np.empty((len(log_count), len(self.link_edge)))
        by_edge[:, self.link_edge] = np.clip(agreement.T, 0.0, 1.0)
        links = np.flatnonzero(slots >= 0)
        by_pair = np.empty((len(log_count), *pairs.shape[:3]))
        for link in links:
            table = (
                pairs[slots[link]] if self.link_forward[link] else pairs[slots[link]].swapaxes(0, 1)
            )
            by_pair[:, slots[link]] = np.moveaxis(table, 2, 0)
        return _Averages(by_node, by_edge, by_pair, log_count, mean_excess, variance, ground_energy)

    def _pair_slots(self, pair_edges: npt.NDArray[np.integer] | None) -> IntArray:
        """Number of the pair table each link fills, or -1; tables follow the free edges wanted."""
        slots = np.full(len(self.link_edge), -1, dtype=np.int32)
        if pair_edges is not None:
            wanted = np.isin(self.free.edge_ids, pair_edges)
            numbers = np.cumsum(wanted) - 1
            slots = np.where(wanted, numbers, -1)[self.link_edge].astype(np.int32)
        return slots

    def _blocks(self, n_t: int) -> list[tuple[int, int]]:
        """Ranges of buckets of bounded work, so that progress and Ctrl-C come through."""
        if self.n == 0:
            return []
        marks = np.floor(self.work[1:] * n_t / BLOCK_STATES)
        cuts = (np.flatnonzero(np.diff(marks)) + 1).tolist()
        edges = [0, *cuts, self.n]
        return [(a, b) for a, b in pairwise(edges) if b > a]


def _ragged(rows: object) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    lists = list(rows)  # type: ignore[call-overload]
    pointers = np.concatenate([[0], np.cumsum([len(r) for r in lists])]).astype(np.int64)
    return pointers, np.array([x for r in lists for x in r], dtype=np.int64)


def _report(callback: Callback | None, done: float, share: float, fraction: float) -> bool:
    if callback is None:
        return False
    return bool(callback(Progress(phase="exact", fraction=done + share * fraction)))


def _full_pairs(
    free: FreePart,
    marginals: FloatArray,
    free_pairs: FloatArray,
    pair_edges: npt.NDArray[np.integer],
) -> FloatArray:
    """Pair tables of any edges: from the solver between free nodes, else a product of marginals."""
    wanted = free.edge_ids[np.isin(free.edge_ids, pair_edges)]
    slot = {int(e): k for k, e in enumerate(wanted)}
    q = free.model.n_states
    tables = np.empty((len(marginals), len(pair_edges), q, q))
    for k, e in enumerate(pair_edges.tolist()):
        u, v = free.model.graph.edges[e]
        if e in slot:
            tables[:, k] = free_pairs[:, slot[e]]
        else:
            tables[:, k] = marginals[:, u, :, None] * marginals[:, v, None, :]
    return tables
