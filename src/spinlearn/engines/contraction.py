"""Contraction: nodes that agree almost surely become one, with a bound on what that changes.

Sampling the contracted model is sampling the model given that all edges of a forest F agree. Every
probability changes by at most

    P(some edge of F disagrees) <= sum over F of (1 - C_e),

C_e the true agreement at the temperature in question. Agreements come from a pilot run of the whole
model at all temperatures asked for: half of its ladders, with belief propagation, choose F; the
other half, which do not know of the choice, say what the sum is, with an upper limit at 95 %
confidence. It is reported and added to every error bar.

What there is to gain depends on T: at a fifth of the mean coupling a tenth of the nodes are left,
near the melting of the classes, where the answer mostly rests, nearly all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.grains import connected_parts
from spinlearn.core.arrays import FloatArray, IntArray
from spinlearn.core.equilibrium import Equilibrium
from spinlearn.core.model import FREE, PottsModel
from spinlearn.core.protocols import Callback
from spinlearn.core.stopping import Snapshot, Until, Verdict
from spinlearn.engines.approximation import rough_messages
from spinlearn.engines.ladder_run import LadderRun
from spinlearn.engines.plan import Plan
from spinlearn.engines.sampling_run import DEFAULT_TOL
from spinlearn.errors import ConvergenceWarning, InvalidInputError
from spinlearn.minimizers.coarsening import contracted, numbered
from spinlearn.minimizers.minimum import contraction_reason

PILOT_SWEEPS = 400
PILOT_TIME = 0.3  # of a limit
CONFIDENCE = 0.95
NEVER_SEEN = 3.0  # over the number of samples: upper limit of what none of them showed
CHOSEN = 0.5  # of the budget, by those who choose; half of it again, while the judges say no
MOST_TRIES = 8
TINY = 1e-9  # sparse matrices take zero for no edge


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """Nodes as members of modules, and what it costs to take them as one.

    Attributes
    ----------
    model : PottsModel
        Before.
    small : PottsModel
        After.
    member : int array (n,)
        Module of every node.
    bound : float
        Upper limit of the change of any probability at the temperatures of the pilot.
    hottest : float
        Of these temperatures.
    """

    model: PottsModel
    small: PottsModel
    member: IntArray
    bound: float
    hottest: float

    @classmethod
    def of(
        cls,
        plan: Plan,
        model: PottsModel,
        wanted: FloatArray,
        root: np.random.SeedSequence,
        callback: Callback | None,
        budget: float,
    ) -> Contraction | None:
        """Of the largest forest within the budget; None where there is none."""
        if contraction_reason(model) is not None or len(model.free_nodes) == 0:
            return None
        time = None if plan.max_seconds is None else PILOT_TIME * plan.max_seconds
        limits = replace(plan, tol=TINY, max_seconds=time, max_sweeps=PILOT_SWEEPS, checkpoint=None)
        pilot = LadderRun(limits, model, wanted, root, callback)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = pilot.result()
        if not np.all(np.asarray(found.equilibrated)):
            return None  # what has not been reached cannot be judged
        apart = np.max([row.mean(axis=0) for row in _apart(pilot, judges=False)], axis=0)
        expected = rough_messages(model, wanted)  # tells apart what samples have not seen
        if expected is not None:
            apart = np.maximum(apart, (1 - expected.edge_agreement).max(axis=0))
        forest, lengths = _forest(model, apart)
        samples = np.asarray(found.diagnostics["effective_samples"]) / 2
        judged = np.stack([row[:, forest] for row in _apart(pilot, judges=True)])
        within, share = np.cumsum(lengths), CHOSEN
        for _ in range(MOST_TRIES):
            count = int(np.searchsorted(within, share * budget))
            bound = _upper_limit(judged[:, :, :count].sum(axis=2), samples)
            if count == 0 or bound <= budget:
                break
            share /= 2
        if count == 0 or bound > budget:
            return None
        member = numbered(connected_parts(model.n_nodes, model.graph.edges[forest[:count]]))
        return cls(model, contracted(model, member), member, bound, float(wanted.max()))

    def rest_of(self, plan: Plan, until: Until | None) -> Plan:
        """A plan for the small model: what is left of tolerance and time."""
        time = None if plan.max_seconds is None else (1 - PILOT_TIME) * plan.max_seconds
        tol = _tolerance(plan, until)
        return replace(plan, max_seconds=time, tol=None if tol is None else tol - self.bound)

    def expanded(self, found: Equilibrium) -> Equilibrium:
        """Averages of the model from those of the small one, errors with the bound."""
        marginals = found.marginals[:, self.member]
        ends = self.member[self.model.graph.edges]
        inner = ends[:, 0] == ends[:, 1]
        edges = _edge_numbers(self.small.graph.edges, self.small.n_nodes, ends[~inner])
        agreement = np.ones((len(found.temperatures), len(ends)))
        agreement[:, ~inner] = found.edge_agreement[:, edges]
        free = self.model.clamped == FREE
        errors, agreement_errors = np.zeros_like(marginals), np.zeros_like(agreement)
        if found.std_error is not None and found.agreement_std_error is not None:
            errors[:, free] = found.std_error[:, self.member[free]] + self.bound
            agreement_errors[:, ~inner] = found.agreement_std_error[:, edges]
        loose = free[self.model.graph.edges].any(axis=1)
        agreement_errors[:, loose] += self.bound
        log_error = found.log_partition_std_error
        if log_error is not None:
            log_error = log_error - np.log1p(-self.bound)
        said = {"nodes": self.small.n_nodes, "of": self.model.n_nodes, "bound": self.bound}
        evaluate = None if found.evaluate is None else self._evaluating(found.evaluate)
        return replace(
            found,
            model=self.model,
            marginals=marginals,
            edge_agreement=agreement,
            std_error=errors,
            agreement_std_error=agreement_errors,
            log_partition_std_error=log_error,
            evaluate=evaluate,
            diagnostics={**found.diagnostics, "contraction": said},
        )

    def _evaluating(self, evaluate: Callable[..., Equilibrium]) -> Callable[..., Equilibrium]:
        def at(temperatures: FloatArray, callback: Callback | None = None) -> Equilibrium:
            if np.max(temperatures) > self.hottest:
                raise InvalidInputError(
                    f"T = {np.max(temperatures):g} lies above T = {self.hottest:g}, up to which "
                    "nodes were contracted: ask for it in a new run"
                )
            return self.expanded(evaluate(temperatures, callback=callback))

        return at

    def asking(self, until: Until) -> Until:
        """Who knows when the model's answer is settled, asked of averages of the small one."""
        return _Expanding(self, until)


def _tolerance(plan: Plan, until: Until | None) -> float | None:
    """Of averages; None where a settled answer is asked for."""
    return DEFAULT_TOL if plan.tol is None and until is None else plan.tol


def checked_budget(budget: float, plan: Plan, until: Until | None) -> float:
    """Refuse a budget that is none, or leaves too little of a tolerance."""
    tol = _tolerance(plan, until)
    most = 0.5 if tol is None else tol / 2
    if not (isinstance(budget, (int, float, np.number)) and 0 < budget <= most):
        raise InvalidInputError(
            f"contract={budget!r} is out of range: give a probability above 0 and at most "
            f"{most:g}" + ("" if tol is None else ", half of the tolerance")
        )
    return float(budget)


class _Expanding:
    """`Until` of the whole model."""

    def __init__(self, contraction: Contraction, until: Until) -> None:
        self._contraction, self._until = contraction, until

    def __call__(self, snapshot: Snapshot, look: int) -> Verdict:
        return self._until(_ExpandedSnapshot(self._contraction, snapshot), look)

    def rests_on(self, snapshot: Snapshot) -> FloatArray:
        return self._until.rests_on(_ExpandedSnapshot(self._contraction, snapshot))


class _ExpandedSnapshot:
    def __init__(self, contraction: Contraction, snapshot: Snapshot) -> None:
        self._contraction, self._snapshot = contraction, snapshot
        self.n_ladders = snapshot.n_ladders

    def equilibrium(self) -> Equilibrium:
        return self._contraction.expanded(self._snapshot.equilibrium())

    def moved(self, weights: FloatArray, temperature: float | None = None) -> Equilibrium:
        return self._contraction.expanded(self._snapshot.moved(weights, temperature))


def _apart(pilot: LadderRun, *, judges: bool) -> Iterator[FloatArray]:
    """1 - C by ladder and edge, row by row, of the half of the ladders that choose or that judge.

    Two in a row start differently, so both halves have both kinds. Edges between two labels, which
    never change, are infinitely far apart.
    """
    model, sums = pilot.model, pilot.tallies.levels
    assert sums is not None
    half = (np.arange(pilot.n_blocks) // 2 % 2 == 1) == judges
    held = np.all(model.clamped[model.graph.edges] != FREE, axis=1)
    for row in range(sums.n_rows):
        _, nodes, edges = sums.block_means(row)
        marginals = sums.free.full_marginals(nodes[half])
        yield np.where(held, np.inf, 1 - sums.free.full_agreement(edges[half], marginals))


def _forest(model: PottsModel, apart: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """The forest of least sum: its edges by 1 - C, and these."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    loose = np.flatnonzero(np.isfinite(apart))
    u, v = model.graph.edges[loose].T
    n = model.n_nodes
    tree = minimum_spanning_tree(coo_matrix((apart[loose] + TINY, (u, v)), shape=(n, n))).tocoo()
    ends = np.sort(np.stack([tree.row, tree.col], axis=1), axis=1)
    edges = _edge_numbers(model.graph.edges, n, ends)
    order = np.argsort(tree.data, kind="stable")
    return edges[order], np.asarray(tree.data[order])


def _edge_numbers(edges: IntArray, n_nodes: int, ends: IntArray) -> npt.NDArray[np.intp]:
    """Which edges have these ends."""
    keys = np.sort(edges, axis=1).astype(np.int64) @ [n_nodes, 1]
    asked = np.sort(ends, axis=1).astype(np.int64) @ [n_nodes, 1]
    order = np.argsort(keys)
    return np.asarray(order[np.searchsorted(keys, asked, sorter=order)])


def _upper_limit(sums: FloatArray, samples: FloatArray) -> float:
    """Of the sum of 1 - C over all rows: by ladders (rows, B), and what none of them showed."""
    from scipy.special import stdtrit

    count = sums.shape[1]
    quantile = float(stdtrit(count - 1, CONFIDENCE))
    limits = sums.mean(axis=1) + quantile * sums.std(axis=1, ddof=1) / np.sqrt(count)
    return float((limits + NEVER_SEEN / samples).max())
