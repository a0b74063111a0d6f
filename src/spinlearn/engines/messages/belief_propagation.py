"""Belief propagation: an approximation by messages along edges, in time linear in their number.

Exact on trees; on other graphs the fixed points of the messages are the stationary points of the
Bethe free energy (Yedidia, Freeman & Weiss 2005), and describe one valley of the energy each. One
start is cooled from the disordered phase, another is heated from a labelling of least energy; of
the fixed points found at a temperature the one with the largest Bethe ln Z is kept. Temperatures
lie on a fixed ladder that the model determines, and those asked for branch off it, so that the
answer at one temperature does not depend on which others were asked for. Beyond HUGE_MESSAGES there
is one start, cooled through the temperatures asked for themselves (`cooled_averages`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines import checkpoint
from spinlearn.engines.messages.cooling import cooled_averages
from spinlearn.engines.messages.propagation import SCHEDULES
from spinlearn.engines.messages.run import MessageRun
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    UnsupportedModelError,
)
from spinlearn.minimizers import MINIMIZERS
from spinlearn.model.arrays import BoolArray, FloatArray, integer_array, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import PottsModel
from spinlearn.model.protocols import Callback, Seed, seed_sequence
from spinlearn.model.settings import Settings

HUGE_MESSAGES = 500_000  # beyond which one cooled start is followed and nothing kept on the way


@dataclass(kw_only=True)
class BeliefPropagation(Settings):
    """Approximate averages by messages along the edges, for graphs of any width and size.

    Exact on trees. Elsewhere errors are of unknown size, but thousands of points take about a
    second. Class sizes enter as a field that follows the messages. Two starts are compared, one
    cooled and one heated, and the solution with the larger ln Z is kept.

    Parameters
    ----------
    n_starts : int or None, default None
        1 cools from the disordered phase only; 2 also heats up from a labelling of least energy
        (`spinlearn.minimize`); more heat up from further labellings of low energy. None is 2, and 1
        beyond some half a million messages, where the second may double the time.
    minimizer : str, default "auto"
        How the labelling of least energy is found, see `spinlearn.minimize`.
    tol : float, default 1e-8
        Messages are settled when no entry changes by more than this part of itself in a sweep.
    max_sweeps : int, default 400
        At one temperature.
    schedule : {"residual", "sequential"}, default "residual"
        Whether a sweep visits first the nodes whose messages have changed most, or all in order.
    checkpoint, checkpoint_seconds
        See `Tempering`.

    References
    ----------
    J. S. Yedidia, W. T. Freeman and Y. Weiss, Constructing free-energy approximations and
    generalized belief propagation algorithms, IEEE Trans. Inf. Theory 51, 2282 (2005).

    Examples
    --------
    A chain is a tree, so its averages are exact:

    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import BeliefPropagation
    >>> model = PottsModel(Graph(3, [(0, 1), (1, 2)]), 2, clamped=[0, -1, -1])
    >>> found = BeliefPropagation().run(model, [1.0])
    >>> found.kind.value, found.marginals[0, :, 0].round(4).tolist()
    ('approximate', [1.0, 0.7311, 0.6068])
    """

    n_starts: int | None = None
    minimizer: str = "auto"
    tol: float = 1e-8
    max_sweeps: int = 400
    schedule: str = "residual"
    checkpoint: Any = None
    checkpoint_seconds: float = 30.0

    name: ClassVar[str] = "belief_propagation"

    def unsupported(self, model: PottsModel) -> str | None:
        """Why a term in whole classes cannot be a field, or None."""
        penalty = model.class_penalty
        if penalty is None or penalty.kind == "quadratic":
            return None
        return (
            f"the model has a class-level term ({penalty.kind}) that is not quadratic in class "
            "sizes, which messages cannot carry: use engine='multicanonical' or "
            "'population_annealing', or energy='modularity' or 'balanced_cut'"
        )

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Averages of the best solution at every temperature.

        The seed decides how symmetries are broken, and where further starts begin; None is 0.
        """
        wanted = temperature_array(temperatures)
        self._check(model)
        root = seed_sequence(0 if seed is None else seed)
        again = partial(replace(self, checkpoint=None).run, model, seed=root)
        large = 2 * model.graph.n_edges > HUGE_MESSAGES
        if large and self.n_starts in (None, 1) and wanted.min() > 0:
            checkpoint.refuse_existing(self.checkpoint, f"{self.name} of so large a model")
            found = cooled_averages(self, model, wanted, root, callback)
            _warn_unsettled(found.converged, found.diagnostics["residual"])
            order = [float(t) for t in wanted if t in found.temperatures]
            return replace(found.at(order), evaluate=again)
        run = MessageRun(self, model, wanted, root, callback)
        rows = run.rows()
        temperatures = [t for t in wanted.tolist() if t in rows]
        points = [rows[t] for t in temperatures]
        readings, ends = [p.reading for p in points], [p.settled for p in points]
        settled, residuals = np.array([end.settled for end in ends]), [e.residual for e in ends]
        log_partitions = [run.fixed_points(t) for t in temperatures]
        _warn_unsettled(settled, residuals)
        return Equilibrium(
            model=model,
            temperatures=np.array(temperatures),
            marginals=np.array([p.marginals for p in points]),
            edge_agreement=np.array([p.agreement for p in points]),
            mean_energy=np.array([reading.energy for reading in readings]),
            heat_capacity=np.array([p.heat_capacity for p in points]),
            log_partition=np.array([p.log_partition for p in points]),
            converged=settled,
            engine=self.name,
            kind=Kind.APPROXIMATE,
            diagnostics={
                "start": ["heated" if p.start else "cooled" for p in points],
                "residual": residuals,
                "sweeps": [end.sweeps for end in ends],
                "damped": [end.damped for end in ends],
                "fixed_points": list(map(len, log_partitions)),
                "fixed_points_log_partition": log_partitions,
                "broken_symmetry": [reading.broken for reading in readings],
                "cut_short": run.cut_short,
                "all_sweeps": run.sweeps,
                "seconds": run.seconds,
            },
            evaluate=again,
        )

    def pair_marginals(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        edge_ids: npt.ArrayLike,
        *,
        seed: Seed = None,
    ) -> FloatArray:
        """Joint probabilities p_uv(s_u, s_v; T) of the ends of edges.

        Parameters
        ----------
        model, temperatures, seed
            As for `run`.
        edge_ids : array-like of int
            Rows of ``model.graph.edges``.

        Returns
        -------
        float array (T, ids, q, q)
        """
        wanted = temperature_array(temperatures)
        self._check(model)
        ids = np.atleast_1d(integer_array(edge_ids, "edge_ids"))
        n_edges = model.graph.n_edges
        if len(ids) and (ids.min() < 0 or ids.max() >= n_edges):
            raise InvalidInputError(
                f"edge_ids name edge {ids.min() if ids.min() < 0 else ids.max()}, but the graph "
                f"has edges 0 to {n_edges - 1}"
            )
        root = seed_sequence(0 if seed is None else seed)
        rows = MessageRun(self, model, wanted, root, None, ids).rows()
        return np.stack([np.asarray(rows[t].pairs) for t in wanted.tolist()])

    def _check(self, model: PottsModel) -> None:
        for name in ("n_starts", "max_sweeps"):
            value = getattr(self, name)
            if value is None and name == "n_starts":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise InvalidInputError(
                    f"{name}={value!r} is out of range: give a whole number > 0"
                )
        if self.minimizer != "auto" and self.minimizer not in MINIMIZERS:
            raise InvalidInputError(
                f"minimizer={self.minimizer!r} is unknown: use 'auto' or one of "
                f"{', '.join(map(repr, MINIMIZERS))}"
            )
        if not isinstance(self.tol, (int, float, np.number)) or not 0 < self.tol < 1:
            raise InvalidInputError(f"tol={self.tol!r} is out of range: give a number in (0, 1)")
        if self.schedule not in SCHEDULES:
            raise InvalidInputError(
                f"schedule={self.schedule!r} is unknown: use {' or '.join(map(repr, SCHEDULES))}"
            )
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)


def _warn_unsettled(settled: BoolArray, residuals: Sequence[float]) -> None:
    if np.all(settled):
        return
    worst = max(r for r, still in zip(residuals, settled, strict=True) if not still)
    warnings.warn(
        f"messages did not settle at {int(np.sum(~settled))} of {len(settled)} temperatures "
        f"(they still change by {worst:.2g}): use engine='generalized_bp' or a sampler "
        "such as 'tempering' there, raise max_sweeps, or leave these out",
        ConvergenceWarning,
        stacklevel=3,
    )
