"""Exact averages by variable elimination on a triangulation (junction tree), all T in one call.

The kernels (`kernels/elimination.py`) give the recursions; this file plans the elimination, states
its price before paying it, and assembles the result:

    ln Z = -E_min/T + sum over roots of log_count
    <E>  = E_min + sum over roots of mean excess,    C = sum over roots of variance / T^2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray, temperature_array
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.free_part import FreePart
from spinlearn.core.model import PottsModel
from spinlearn.core.protocols import Callback, Progress
from spinlearn.core.seeds import Seed, seed_sequence
from spinlearn.core.settings import Settings
from spinlearn.engines.elimination_order import BucketTree, bucket_tree
from spinlearn.engines.elimination_solver import Averages, EliminationSolver
from spinlearn.engines.limits import heat_capacity, inverse_temperatures, log_partition
from spinlearn.engines.message_stack import MessageStack
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError

GIB = 2.0**30
BLOCKS = (8, 4, 1)  # temperatures per pass: whole vector registers, few enough to stay in cache
PREFERRED_BYTES = 1.0 * GIB  # beyond this fewer temperatures share a pass


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
        solver = EliminationSolver(free, plan.tree, 1)
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
        stack = MessageStack.of(tree, q)
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
        solver = EliminationSolver(free, plan.tree, block)
        parts: list[Averages] = []
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
        free_averages = Averages.joined(parts, n_done)
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
