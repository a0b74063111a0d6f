"""Exact averages by variable elimination on a triangulation (junction tree), all T in one call.

`elimination` states the price before it is paid and runs the kernels; here the result is put
together:

    ln Z = -E_min/T + sum over roots of log_count
    <E>  = E_min + sum over roots of mean excess,    C = sum over roots of variance / T^2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.exact.elimination import (
    GIB,
    Averages,
    EliminationCost,
    EliminationSolver,
    affordable_cost,
)
from spinlearn.engines.limits import TimeLimit, heat_capacity, inverse_temperatures, log_partition
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError
from spinlearn.model.arrays import FloatArray, StateArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import ConditionedModel, PottsModel, class_term_reason
from spinlearn.model.protocols import Callback, Progress, Seed, seed_sequence
from spinlearn.model.settings import Settings


@dataclass(kw_only=True)
class JunctionTree(Settings):
    """Exact averages for graphs of small treewidth: chains, trees, strips, sparse neighbour graphs.

    Nodes are eliminated one by one; the cost is exponential in the width of the graph, and is
    predicted before any work is done. All temperatures are treated in one call, T = 0 and infinity
    included.

    Parameters
    ----------
    max_memory_gb : float, default 6
        Budget, in GiB. A model whose pass over a single temperature needs more is refused.
    max_operations : float, default 2e9
        Budget of clique states per temperature (4 to 30 ns each); wider models are refused.
    max_seconds : float or None, default None
        Limit of a run, of a draw, and of a later request for other temperatures. What is predicted
        to take longer is refused before any work, and what takes longer all the same ends with the
        same error. Results do not depend on it. Compiling, once on a machine, is not counted.

    References
    ----------
    S. L. Lauritzen and D. J. Spiegelhalter, Local computations with probabilities on graphical
    structures, J. R. Statist. Soc. B 50, 157 (1988).

    Examples
    --------
    A chain of 50 points with one end held in state 0: the other end has forgotten it.

    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import JunctionTree
    >>> chain = Graph(50, [(i, i + 1) for i in range(49)])
    >>> model = PottsModel(chain, 2, clamped=[0] + 49 * [-1])
    >>> found = JunctionTree().run(model, [0.0, 0.5, 1.0])
    >>> found.marginals[:, -1, 0].round(4).tolist()
    [1.0, 0.5, 0.5]
    """

    max_memory_gb: float = 6.0
    max_operations: float = 2e9
    max_seconds: float | None = None

    name: ClassVar[str] = "junction_tree"
    treats_class_terms: ClassVar[bool] = False

    def plan(self, model: PottsModel, n_temperatures: int = 1) -> EliminationCost:
        """Width, memory, cost of a `model` at `n_temperatures`, or UnsupportedModelError."""
        return self._planned(model, n_temperatures, TimeLimit(self.max_seconds))[1]

    def _planned(
        self, model: PottsModel, n_temperatures: int, limit: TimeLimit
    ) -> tuple[ConditionedModel, EliminationCost]:
        reason = class_term_reason(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        free = ConditionedModel.of(model)
        budget = self.max_memory_gb, self.max_operations
        return free, affordable_cost(free, n_temperatures, *budget, limit)

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
        """Exact averages at all temperatures; the seed is not used."""
        return self._solve(model, temperature_array(temperatures), callback)[0]

    def pair_marginals(
        self, model: PottsModel, temperatures: npt.ArrayLike, edge_ids: npt.ArrayLike
    ) -> FloatArray:
        """Joint laws p_uv(s_u, s_v; T) of a model at temperatures, (T, ids, q, q).

        `edge_ids` are rows of ``model.graph.edges``.
        """
        wanted = np.atleast_1d(np.asarray(edge_ids))
        n_edges = model.graph.n_edges
        if wanted.dtype.kind not in "iu" or np.any((wanted < 0) | (wanted >= n_edges)):
            raise InvalidInputError(
                f"edge_ids must be whole numbers from 0 to {n_edges - 1}, the rows of graph.edges"
            )
        run, free, free_pairs = self._solve(model, temperature_array(temperatures), None, wanted)
        # Pairs of free nodes come from the solver, others are independent.
        slot = {int(e): k for k, e in enumerate(free.edge_ids[np.isin(free.edge_ids, wanted)])}
        q = model.n_states
        tables = np.empty((len(run.temperatures), len(wanted), q, q))
        for k, e in enumerate(wanted.tolist()):
            u, v = model.graph.edges[e]
            if e in slot:
                tables[:, k] = free_pairs[:, slot[e]]
            else:
                tables[:, k] = run.marginals[:, u, :, None] * run.marginals[:, v, None, :]
        return tables

    def draw(
        self, model: PottsModel, temperature: float, n_samples: int, *, seed: Seed = None
    ) -> StateArray:
        """`n_samples` labellings by the exact law of a model at one temperature, int8 (S, n)."""
        limit = TimeLimit(self.max_seconds)
        free, plan = self._planned(model, 1, limit)
        betas = inverse_temperatures(temperature_array([temperature]), model)
        solver = EliminationSolver(free, plan, 1)
        if self.max_seconds is not None:
            with limit.left_out():
                solver.compile()
        states = np.tile(model.clamped, (n_samples, 1))
        generator = np.random.default_rng(seed_sequence(seed))
        watch = partial(_report, None, limit, 0.0, 1.0)
        states[:, free.nodes] = solver.labellings(betas, n_samples, generator, watch)
        return states

    def _solve(
        self,
        model: PottsModel,
        temperatures: FloatArray,
        callback: Callback | None,
        pair_edges: npt.NDArray[np.integer] | None = None,
    ) -> tuple[Equilibrium, ConditionedModel, FloatArray]:
        """The averages; and pair tables of those of the edges whose ends are free."""
        limit = TimeLimit(self.max_seconds)
        free, plan = self._planned(model, len(temperatures), limit)
        block = plan.block(len(temperatures), self.max_memory_gb * GIB)
        betas = inverse_temperatures(temperatures, model)
        solver = EliminationSolver(free, plan, block, pair_edges)
        if self.max_seconds is not None:
            with limit.left_out():
                solver.compile()
        parts: list[Averages] = []
        for begin in range(0, len(betas), block):
            done, share = begin / len(betas), min(block, len(betas) - begin) / len(betas)
            watch = partial(_report, callback, limit, done, share)
            padded = np.resize(betas[begin : begin + block], block)
            part = solver.averages(padded, watch)
            if part is None:
                break
            parts.append(part)
        if not parts:
            raise StoppedError("stopped before the first temperature was finished")
        n_done = min(len(parts) * block, len(temperatures))
        # The blocks one after another, without what pads the last one.
        by_kind = zip(*(part[:-1] for part in parts), strict=True)
        arrays = [np.concatenate(blocks)[:n_done] for blocks in by_kind]
        averages = Averages._make([*arrays, parts[0].ground_energy])
        marginals = free.full_marginals(averages.marginals)
        ground = free.constant + averages.ground_energy
        equilibrium = Equilibrium(
            model=model,
            temperatures=temperatures[:n_done],
            marginals=marginals,
            edge_agreement=free.full_agreement(averages.agreement, marginals),
            mean_energy=ground + averages.mean_excess,
            heat_capacity=heat_capacity(averages.variance, temperatures[:n_done]),
            log_partition=log_partition(ground, averages.log_count, temperatures[:n_done]),
            converged=np.ones(n_done, dtype=bool),
            engine=self.name,
            kind=Kind.EXACT,
            diagnostics={
                "width": plan.width,
                "clique_states": plan.clique_states,
                "predicted_bytes": plan.bytes(block),
                "temperatures_per_pass": block,
                "ground_energy": ground,
                "predicted_seconds": plan.seconds(len(temperatures), block),
                "seconds": limit.elapsed,
            },
            evaluate=partial(self.run, model),
        )
        return equilibrium, free, averages.pairs


def _report(
    callback: Callback | None, limit: TimeLimit, done: float, share: float, fraction: float
) -> bool:
    """Whether the caller wants to stop; UnsupportedModelError when the time is over."""
    so_far = done + share * fraction
    if so_far < 1.0 and limit.passed():
        raise UnsupportedModelError(
            f"the exact answer was {so_far:.0%} ready after {limit.elapsed:.3g} s, beyond "
            f"max_seconds={limit.seconds:g}: use a sampling engine, fewer temperatures, or raise "
            "max_seconds"
        )
    return callback is not None and bool(callback(Progress(phase="exact", fraction=so_far)))
