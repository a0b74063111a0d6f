"""Approximate averages by generalized belief propagation on loops of the graph.

The law is described by its marginals on overlapping regions (`engines/messages/regions.py`), which
minimise the Kikuchi free energy (Yedidia, Freeman & Weiss 2005)

    -T ln Z = <E> - T S,        S = sum over regions R of c_R S_R

subject to agreeing where they overlap. Edges as regions would give belief propagation; loops carry
the short cycles of pixel grids, neighbour graphs. One cooling pass serves all temperatures, hottest
first, each started from the last. A junction tree of regions is solved exactly; elsewhere the error
is unknown, and largest where the law is one of several valleys that no region sees at once.

There is no formula for the variance of the energy, so the heat capacity d<E>/dT is the difference
quotient of <E> between T and 1.01 T, which costs one more solution a temperature.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.engines.messages.region_solver import Iterated, RegionSolver
from spinlearn.engines.messages.regions import RegionGraph, loop_basis, loop_regions, star_regions
from spinlearn.errors import (
    ConvergenceWarning,
    InvalidInputError,
    StoppedError,
    UnsupportedModelError,
)
from spinlearn.model.arrays import FloatArray, IntArray, temperature_array
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import ConditionedModel, PottsModel, class_term_reason
from spinlearn.model.protocols import Callback, Progress, Seed
from spinlearn.model.settings import Settings

HEAT_STEP = 0.01  # of T, for the difference quotient of <E>
COOLING = 2.0  # temperatures further apart than this factor get others between them
COLDEST = 1e-7  # of the largest energy of a node: where the search for the limit T = 0 ends
SLACK = 1e-3  # relative, by which ln Z may be below what it cannot be: regions agree to tol only
SAME_LAW = 1e-10  # marginals that move by less between T and T/2 have reached their limit


@dataclass(kw_only=True)
class GeneralizedBP(Settings):
    """Approximate averages by messages between regions, for graphs with many short loops.

    Regions are short loops of the graph, pixel squares for instance, and the edges that are in
    none. Better than `BeliefPropagation` on lattices, and slower.

    Parameters
    ----------
    max_loop : int, default 16
        Longest loop, in nodes, that becomes a region. Short ones are preferred, and long ones are
        used only until every cycle of the graph is a sum of loops. 2 leaves edges only, which is
        plain belief propagation.
    max_region_states : int, default 512
        Largest table of a region, q to the number of its nodes. Loops that meet are merged up to
        this size.
    tol : float, default 1e-4
        Regions have to agree on the probabilities of what they share to this accuracy.
    max_iterations : int, default 1000
        Sweeps per temperature, after which it counts as not converged.
    max_operations : float, default 2e9
        Budget of table entries per sweep (about 2 ns each); larger models are refused.

    References
    ----------
    J. S. Yedidia, W. T. Freeman and Y. Weiss, Constructing free-energy approximations and
    generalized belief propagation algorithms, IEEE Trans. Inf. Theory 51, 2282 (2005).

    Examples
    --------
    A square of four pixels is one region, so its averages are exact to the tolerance:

    >>> from spinlearn import Graph, PottsModel
    >>> from spinlearn.engines import Enumeration, GeneralizedBP
    >>> square = PottsModel(Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)]), 2, clamped=[0, -1, -1, -1])
    >>> found = GeneralizedBP().run(square, [1.0]).marginals[0, :, 0]
    >>> exact = Enumeration().run(square, [1.0]).marginals[0, :, 0]
    >>> found.round(3).tolist(), exact.round(3).tolist()
    ([1.0, 0.768, 0.704, 0.768], [1.0, 0.768, 0.704, 0.768])
    """

    max_loop: int = 16
    max_region_states: int = 512
    tol: float = 1e-4
    max_iterations: int = 1000
    max_operations: float = 2e9

    name: ClassVar[str] = "generalized_bp"
    treats_class_terms: ClassVar[bool] = False

    def unsupported(self, model: PottsModel) -> str | None:
        """Why the model is too expensive or of the wrong kind, or None."""
        self._check()
        reason = class_term_reason(model)
        if reason is not None:
            return reason
        q, m = float(model.n_states), model.graph.n_edges
        # Each edge alone is a table of q^2 states with two nodes below it.
        if 3 * m * q**2 > self.max_operations:
            return _too_expensive(3 * m * q**2, self.max_operations)
        return None

    def run(
        self,
        model: PottsModel,
        temperatures: npt.ArrayLike,
        *,
        seed: Seed = None,
        callback: Callback | None = None,
    ) -> Equilibrium:
        """Approximate averages at all temperatures; the seed is not used."""
        started = perf_counter()
        values = temperature_array(temperatures)
        reason = self.unsupported(model)
        if reason is not None:
            raise UnsupportedModelError(reason)
        free = ConditionedModel.of(model)
        loops = loop_basis(len(free.nodes), free.edges, self.max_loop)
        # The largest regions that fit the budget of a sweep: stars, else loops, else edges.
        single = loop_regions(loops, model.n_states, self.max_region_states)
        stars = star_regions(loops, model.n_states, self.max_region_states)
        for chosen in ([*single, *stars], single, []):
            regions = RegionGraph.of(len(free.nodes), free.edges, chosen, model.n_states)
            # Stars if no child is counted more than once, as on grids of any shape.
            regular = bool(np.all(np.abs(regions.counting) <= 1))
            affordable = regions.operations <= self.max_operations
            if affordable and (regular or chosen == single or not chosen):
                break
        if not affordable:
            raise UnsupportedModelError(_too_expensive(regions.operations, self.max_operations))
        cooling = _Cooling(self, free, RegionSolver(free, regions), callback)
        wanted = np.unique(values)[::-1]
        reached = cooling.down(wanted)
        if not reached:
            raise StoppedError("stopped before the first temperature was finished")
        kept = values if len(reached) == len(wanted) else wanted[: len(reached)]
        points = [reached[float(t)] for t in kept]
        marginals = free.full_marginals(np.array([p.marginals for p in points]))
        agreement = free.full_agreement(np.array([p.agreement for p in points]), marginals)
        energies, entropies = np.array([(p.energy, p.entropy) for p in points]).T
        # ln Z = S - <E>/T, with its limit at T = 0.
        ground = np.where(np.abs(energies) <= model.energy_resolution, 0.0, energies)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_z = np.where(ground == 0.0, entropies, -ground / kept + entropies)
        settled = [p.settled for p in points]
        apart = [s.residual for s in settled if s.residual > self.tol]
        if apart:
            warnings.warn(
                f"regions still disagree by {max(apart):.2g} at {len(apart)} of {len(points)} "
                "temperatures: raise max_iterations, or leave these out",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Equilibrium(
            model=model,
            temperatures=kept,
            marginals=marginals,
            edge_agreement=agreement,
            mean_energy=energies,
            heat_capacity=np.array([p.heat_capacity for p in points]),
            log_partition=log_z,
            converged=np.array([s.residual <= self.tol for s in settled]),
            engine=self.name,
            kind=Kind.APPROXIMATE,
            diagnostics={
                "loops": len(loops),
                "largest_loop": max((len(loop) for loop in loops), default=0),
                "regions": len(regions.parents),
                "largest_region": max(len(p) for p in regions.parents) if regions.parents else 0,
                "counting_sum": float(len(regions.parents) + regions.counting.sum()),
                "iterations": [s.sweeps for s in settled],
                "residual": [s.residual for s in settled],
                "double_loop": [s.double_loop for s in settled],
                "entropy": entropies.tolist(),
                "seconds": perf_counter() - started,
            },
            evaluate=partial(self.run, model),
        )

    def _check(self) -> None:
        whole, real = (int, np.integer), (int, float, np.number)
        limits = {
            "max_loop": (whole, 2),
            "max_region_states": (whole, 4),
            "max_iterations": (whole, 1),
            "tol": (real, None),
            "max_operations": (real, None),
        }
        for name, (kind, least) in limits.items():
            value = getattr(self, name)
            fits = isinstance(value, kind) and not isinstance(value, bool)
            if not fits or not (0 < value < np.inf if least is None else value >= least):
                wants = "positive number" if least is None else f"whole number of at least {least}"
                raise InvalidInputError(
                    f"{name}={value!r} is not a setting of {self.name}: give a {wants}"
                )


@dataclass(frozen=True, slots=True)
class _Point:
    """Averages over the free nodes at one temperature."""

    temperature: float
    marginals: FloatArray
    agreement: FloatArray
    energy: float
    entropy: float
    settled: Iterated
    heat_capacity: float = 0.0


class _Cooling:
    """One pass from high to low temperature, with progress reports."""

    def __init__(
        self,
        settings: GeneralizedBP,
        free: ConditionedModel,
        solver: RegionSolver,
        callback: Callback | None,
    ) -> None:
        self.settings, self.solver, self.callback = settings, solver, callback
        # Above the largest energy of a node all laws are nearly uniform.
        strength = np.abs(free.fields).max(axis=1, initial=0.0)
        spread = float(np.ptp(free.model.pair_cost))
        for end in range(2):
            np.add.at(strength, free.edges[:, end], np.abs(free.couplings) * spread)
        self.scale = float(np.max(strength, initial=0.0)) or 1.0
        self.done = 0.0  # share of the temperatures
        # The most probable states of all nodes where it was a little hotter.
        self.likely: IntArray = free.fields.argmin(axis=1).astype(np.int32)

    def down(self, wanted: FloatArray) -> dict[float, _Point]:
        """Points of the descending temperatures, those finished before the callback said stop."""
        points: dict[float, _Point] = {}
        here = 4 * self.scale
        for number, temperature in enumerate(wanted.tolist()):
            try:
                if np.isinf(temperature):
                    point = self._solve(temperature)
                else:
                    point = self._cooled(here, temperature) if temperature else self._limit(here)
            except StoppedError:
                break
            points[temperature] = point
            self.done = (number + 1) / len(wanted)
            if self._stops():
                break
            here = min(here, temperature)
        return points

    def _cooled(self, here: float, temperature: float) -> _Point:
        """The averages at T > 0, cooled from `here`."""
        warmer = temperature * (1 + HEAT_STEP)
        steps = int(np.ceil(np.log(max(here / warmer, 1.0)) / np.log(COOLING)))
        for step in range(1, steps):
            self._solve(here * (warmer / here) ** (step / steps))
        before, point = self._solve(warmer), self._solve(temperature)
        capacity = (before.energy - point.energy) / (warmer - temperature)
        return replace(point, heat_capacity=max(capacity, 0.0))

    def _limit(self, here: float) -> _Point:
        """The averages as T goes to 0: halved until the law stands still."""
        temperature = min(here, self.scale)
        point = self._solve(temperature)
        while temperature >= COLDEST * self.scale:
            temperature /= COOLING
            last, point = point, self._solve(temperature)
            if np.max(np.abs(point.marginals - last.marginals), initial=0) < SAME_LAW:
                break
        return replace(point, temperature=0.0)

    def _solve(self, temperature: float) -> _Point:
        """Settle at a temperature; StoppedError when the callback says stop."""
        settings = self.settings
        beta = 1.0 / temperature if np.isfinite(temperature) else 0.0
        for attempt in range(2):
            settled = self.solver.solve(beta, settings.tol, settings.max_iterations, self._stops)
            point = _Point(temperature, *self.solver.averages(), settled)
            bound = self.solver.log_partition_bound(self.likely)
            if point.entropy - beta * point.energy >= bound - SLACK * (1 + abs(bound)):
                self.likely = point.marginals.argmax(axis=1).astype(np.int32)
                return point
            # Messages can settle where a state has died out; the bare double loop, from scratch.
            if attempt == 0:
                self.solver.restart()
        return replace(point, settled=replace(settled, residual=np.inf))

    def _stops(self) -> bool:
        """Tell how far it is; whether the callback says stop."""
        progress = Progress(phase="messages", fraction=self.done)
        return self.callback is not None and bool(self.callback(progress))


def _too_expensive(operations: float, budget: float) -> str:
    return (
        f"a sweep over all regions needs {operations:.1e} table entries, beyond "
        f"max_operations={budget:g}: use engine='belief_propagation', fewer states, or raise "
        "max_operations"
    )
