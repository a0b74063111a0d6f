"""Exact averages by variable elimination on a triangulation (junction tree), all T in one call.

`exact_plan` states the price before it is paid, `elimination_solver` runs the kernels; this file
assembles the result:

    ln Z = -E_min/T + sum over roots of log_count
    <E>  = E_min + sum over roots of mean excess,    C = sum over roots of variance / T^2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
from spinlearn.engines.elimination_solver import Averages, EliminationSolver
from spinlearn.engines.exact_plan import GIB, Budget, Plan
from spinlearn.engines.limits import heat_capacity, inverse_temperatures, log_partition
from spinlearn.engines.time_limit import TimeLimit
from spinlearn.errors import InvalidInputError, StoppedError, UnsupportedModelError


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

    def plan(self, model: PottsModel, n_temperatures: int = 1) -> Plan:
        """Width, memory and cost of the exact answer, found without computing it.

        Parameters
        ----------
        model : PottsModel
            The model to be treated.
        n_temperatures : int, default 1
            Number of temperatures.

        Returns
        -------
        Plan
            With the attributes ``width``, ``operations`` and others.

        Raises
        ------
        UnsupportedModelError
            If the budget does not suffice.
        """
        return self._plan(FreePart.of(model), n_temperatures, TimeLimit(self.max_seconds))

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the model is too wide for this engine's budget, or None.

        Parameters
        ----------
        model : PottsModel
            The model to be treated.

        Returns
        -------
        str or None
        """
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
        """Exact averages at all temperatures.

        Parameters
        ----------
        model : PottsModel
            What to average over; n nodes, m edges, q states.
        temperatures : array-like of float
            Where, >= 0, in the unit of the couplings; 0 and infinity are allowed.
        seed : ignored
            There for the interface of engines.
        callback : callable, optional
            Called with a progress report now and then; a true answer stops the run.

        Returns
        -------
        Equilibrium
        """
        return self._solve(model, temperature_array(temperatures), callback)[0]

    def pair_marginals(
        self, model: PottsModel, temperatures: npt.ArrayLike, edge_ids: npt.ArrayLike
    ) -> FloatArray:
        """Joint probabilities p_uv(s_u, s_v; T) of the ends of edges.

        Parameters
        ----------
        model : PottsModel
            The model.
        temperatures : array-like of float
            In the unit of the couplings.
        edge_ids : array-like of int
            Rows of ``model.graph.edges``.

        Returns
        -------
        float array (T, ids, q, q)
        """
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
        """Independent labellings from the exact law at one temperature.

        Parameters
        ----------
        model : PottsModel
            The model.
        temperature : float
            In the unit of the couplings.
        n_samples : int
            How many labellings, S.
        seed : int, SeedSequence or None
            Of random numbers.

        Returns
        -------
        int8 array (S, n)
        """
        limit = TimeLimit(self.max_seconds)
        free = FreePart.of(model)
        plan = self._plan(free, 1, limit)
        betas = inverse_temperatures(temperature_array([temperature]), model)
        solver = EliminationSolver(free, plan.tree, 1)
        if self.max_seconds is not None:
            with limit.left_out():
                solver.compile()
        states = np.tile(model.clamped, (n_samples, 1))
        states[:, free.nodes] = solver.labellings(
            betas,
            n_samples,
            np.random.default_rng(seed_sequence(seed)),
            partial(_report, None, limit, 0.0, 1.0),
        )
        return states

    def _plan(self, free: FreePart, n_temperatures: int, limit: TimeLimit) -> Plan:
        budget = Budget(self.max_memory_gb, self.max_operations)
        return budget.plan(free, n_temperatures, limit)

    def _solve(
        self,
        model: PottsModel,
        temperatures: FloatArray,
        callback: Callback | None,
        pair_edges: npt.NDArray[np.integer] | None = None,
    ) -> tuple[Equilibrium, FloatArray]:
        limit = TimeLimit(self.max_seconds)
        free = FreePart.of(model)
        plan = self._plan(free, len(temperatures), limit)
        block = plan.block(len(temperatures), self.max_memory_gb * GIB)
        betas = inverse_temperatures(temperatures, model)
        solver = EliminationSolver(free, plan.tree, block)
        if self.max_seconds is not None:
            with limit.left_out():
                solver.compile()
        parts: list[Averages] = []
        for begin in range(0, len(betas), block):
            done, share = begin / len(betas), min(block, len(betas) - begin) / len(betas)
            watch = partial(_report, callback, limit, done, share)
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
                "predicted_seconds": plan.seconds(len(temperatures), block),
                "seconds": limit.elapsed,
            },
            evaluate=partial(self.run, model),
        )
        pairs = np.empty((0, 0, model.n_states, model.n_states))
        if pair_edges is not None:
            pairs = _full_pairs(free, marginals, free_averages.pairs, pair_edges)
        return equilibrium, pairs


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
    if callback is None:
        return False
    return bool(callback(Progress(phase="exact", fraction=so_far)))


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
