"""What a sampling run measured, made into an Equilibrium at the temperatures asked for.

Where energies of neighbouring levels overlap, samples are reweighted to any temperature between
them. Elsewhere only what was sampled is told, and temperatures so near to one that was sampled that
its energies are typical there too; others are refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spinlearn.engines.limits import log_partition
from spinlearn.engines.sampling.density import (
    Histogram,
    LevelEnergies,
    Thermal,
    energy_quantum,
    integrated_log_z,
    log_z_errors,
    logsumexp,
    overlaps,
)
from spinlearn.engines.sampling.equilibration import contrast_limit
from spinlearn.engines.sampling.sums import Averages, Sums, reweighted
from spinlearn.errors import ConvergenceWarning, UnreachedTemperatureError
from spinlearn.minimizers.minimum import Minimum
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import FREE, PottsModel

SAME = 1e-9  # relative difference of inverse temperatures that count as one
REACH = 1.0  # standard deviations of the energy that samples of one temperature reach to another


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measured:
    """Sums of a run: by energy (`sums`), by level (`levels`), or both."""

    model: PottsModel
    engine: str
    tol: float | None  # None: nothing is asked of single averages
    betas: FloatArray  # of all levels
    eta: FloatArray | None  # of the ensemble; None where levels were sampled one by one
    joined: bool  # whether levels are one ensemble, be it for ln Z alone
    log_z_first: float
    log_z_first_error: float
    histogram: Histogram
    energies: LevelEnergies
    sums: Sums | None
    levels: Averages | None
    rows: FloatArray  # inverse temperatures of the rows of `levels`
    unsettled: BoolArray  # levels that have not reached equilibrium, (K,)
    minimum: Minimum | None  # the least energy known
    minima: StateArray  # all labellings of that energy that walkers have found, if looked for
    diagnostics: dict[str, Any]

    def equilibrium(self, temperatures: FloatArray, callback: object = None) -> Equilibrium:
        """Averages at these temperatures, with a warning where they are not good enough.

        They take no time worth telling a callback about.
        """
        self._refuse_unreached(temperatures)
        states = None
        if self.eta is not None:
            states = Thermal.of(self.histogram, self.betas, self.eta, temperatures, self.model)
        values, trusted = self._averages(temperatures, states)
        marginals, errors, agreement, agreement_errors = values
        thermal = self._thermal(temperatures, states)
        equilibrated = trusted & ~self._touches_unsettled(temperatures)
        if self._minimum_at_zero is not None:
            zero, least = temperatures == 0, self._minimum_at_zero.energy
            thermal["mean_energy"] = np.where(zero, least, thermal["mean_energy"])
            equilibrated = np.where(zero, trusted, equilibrated)
        worst = np.maximum(
            errors.max(axis=(1, 2), initial=0.0), agreement_errors.max(axis=1, initial=0.0)
        )
        converged = equilibrated & (worst <= (np.inf if self.tol is None else self.tol))
        apart = np.unique(temperatures[~equilibrated])
        if len(apart):
            warnings.warn(
                f"not equilibrated at T = {_listed(apart)}: walkers remember where they started, "
                "or have not crossed from one state of the system to another; their averages and "
                "errors mean little there: raise max_sweeps or max_seconds, or ask for higher "
                "temperatures",
                ConvergenceWarning,
                stacklevel=5,
            )
        imprecise = equilibrated & ~converged
        if np.any(imprecise):
            warnings.warn(
                f"not converged to tol={self.tol:g} at T = "
                f"{_listed(np.unique(temperatures[imprecise]))} (standard error up to "
                f"{worst[imprecise].max():.2g}): raise max_seconds or max_sweeps, raise tol, or "
                "ask for higher temperatures",
                ConvergenceWarning,
                stacklevel=5,
            )
        return Equilibrium(
            model=self.model,
            temperatures=temperatures,
            marginals=marginals,
            edge_agreement=agreement,
            std_error=errors,
            agreement_std_error=agreement_errors,
            converged=converged,
            equilibrated=equilibrated,
            engine=self.engine,
            kind=Kind.SAMPLED,
            evaluate=partial(Measured.equilibrium, self) if self.joined else None,
            reweights=self.eta is not None,
            can_continue=True,
            **thermal,
        )

    # -- which temperatures samples reach ------------------------------------------------------

    def _refuse_unreached(self, temperatures: FloatArray) -> None:
        """Refuse temperatures whose energies no sample has."""
        unreached = [t for t in temperatures if not self._is_reached(float(_inverse(t)))]
        if not unreached:
            return
        known = _inverse(self.rows)[::-1]
        near = known[np.argsort(np.abs(known - unreached[0]))[:2]]
        raise UnreachedTemperatureError(
            f"T = {unreached[0]:g} was not sampled, and energies at the nearest temperatures that "
            f"were ({_listed(np.sort(near))}) do not overlap with those there: ask for it among "
            "the temperatures of the run"
        )

    def _is_reached(self, beta: float) -> bool:
        if self._row(beta) is not None or beta > self.betas[-1]:
            return True  # colder than all levels counts as the coldest, and is not trusted
        if not self.joined:
            return False
        if self.eta is None:  # whether the samples of the nearest row reach so far
            nearest = float(self.rows[np.argmin(np.abs(self.rows - beta))])
            variances = self.energies.moments()[1]
            width = float(np.sqrt(variances[np.argmin(np.abs(self.betas - nearest))]))
            return abs(nearest - beta) * width <= REACH
        if beta < self.betas[0] * (1 - SAME):
            return False
        k = int(np.searchsorted(self.betas, beta))  # whether the levels around overlap
        joints = overlaps(self.betas, self.energies)
        return bool(np.all(joints[max(k - 2, 0) : k + 1]))

    def _row(self, beta: float) -> int | None:
        """The row that was sampled at this very temperature."""
        k = int(np.argmin(np.abs(self.rows - beta)))
        return k if abs(self.rows[k] - beta) <= SAME * min(beta, 1e300) else None

    def _touches_unsettled(self, temperatures: FloatArray) -> BoolArray:
        """Whether the level of a temperature, or one of those around it, is unsettled."""
        betas, marked = _inverse(temperatures), self.unsettled
        high = np.minimum(np.searchsorted(self.betas, betas * (1 - SAME)), len(self.betas) - 1)
        between = self.betas[high] > betas * (1 + SAME)
        return np.asarray(marked[high] | (between & marked[np.maximum(high - 1, 0)]))

    # -- averages ------------------------------------------------------------------------------

    def _averages(
        self, temperatures: FloatArray, states: Thermal | None
    ) -> tuple[list[FloatArray], BoolArray]:
        """Marginals, their errors, agreements, their errors; and whether to trust them."""
        trusted = self._in_range(temperatures)
        if self.sums is not None and states is not None:
            at_any = reweighted(self.sums, states)
            values = [*at_any[:4]]
            trusted &= at_any.contrast <= contrast_limit(self.sums.n_blocks)
        else:
            assert self.levels is not None
            values = [np.empty((len(temperatures), *v.shape[1:])) for v in self.levels[:4]]
        if self.levels is not None:
            levels, limit = self.levels, contrast_limit(len(self.energies.squares))
            for t, temperature in enumerate(temperatures):
                low, high, share = self._between(float(_inverse(temperature)))
                if low != high and self.sums is not None:
                    continue  # reweighted above
                for k in (0, 2):
                    mean, error = levels[k], levels[k + 1]
                    values[k][t] = (1 - share) * mean[low] + share * mean[high]
                    # Between levels a line is drawn; it may be off by part of the difference.
                    bent = 2 * share * (1 - share) * np.abs(mean[high] - mean[low])
                    values[k + 1][t] = (1 - share) * error[low] + share * error[high] + bent
                trusted[t] &= max(levels.contrast[low], levels.contrast[high]) <= limit
        zero, minimum = temperatures == 0, self._minimum_at_zero
        if minimum is not None and np.any(zero):
            # By the law of the labelling of least energy known. Where it is not proven to be the
            # least, the error is the difference from other labellings of that energy, or from the
            # coldest samples if nobody has looked for such.
            law = ground_law(self.model, minimum.labels)
            others = [ground_law(self.model, labels) for labels in self.minima]
            for k, known in enumerate(law or ()):
                mean, error = values[2 * k], values[2 * k + 1]
                seen = np.mean([o[k] for o in others if o], axis=0) if others else mean[zero]
                error[zero] = 0.0 if minimum.exact else np.abs(seen - known)
                mean[zero] = known
            trusted = np.where(zero, law is not None, trusted)
        return values, trusted

    def _between(self, beta: float) -> tuple[int, int, float]:
        """Rows around a temperature and the share of the second; twice the same if it is one."""
        row = self._row(beta)
        last = len(self.rows) - 1
        if row is not None:
            return row, row, 0.0
        if last == 0 or beta > self.rows[-1]:
            return (last, last, 0.0) if self.sums is None else (0, last, 1.0)
        if beta < self.rows[0]:
            return (0, 0, 0.0) if self.sums is None else (0, last, 0.0)
        high = int(np.searchsorted(self.rows, beta))
        share = (beta - self.rows[high - 1]) / (self.rows[high] - self.rows[high - 1])
        return high - 1, high, float(share)

    def _in_range(self, temperatures: FloatArray) -> BoolArray:
        """Whether samples near the temperature exist; at T = 0, whether the ground was reached."""
        betas = _inverse(temperatures)
        inside = (betas >= self.betas[0] * (1 - SAME)) & (betas <= self.betas[-1] * (1 + SAME))
        if self.sums is None and self.minimum is None:
            return np.asarray(inside)
        return np.asarray(inside | ((betas > self.betas[-1]) & self._reached_ground()))

    @property
    def _minimum_at_zero(self) -> Minimum | None:
        """The labelling of least energy known, where it is the answer at T = 0.

        So it is where no sample came near, and where energies are real numbers and cannot be
        reweighted: the coldest level is not cold for the smallest of them. Engines of single
        temperatures show what they see.
        """
        alone = self.eta is None and energy_quantum(self.model) == 0
        answers = self.joined and (alone or not self._reached_ground())
        return self.minimum if answers else None

    def _reached_ground(self) -> bool:
        """Whether the lowest energy seen is the least one known, to the rounding of kernels."""
        if self.minimum is None:
            return True
        first = np.flatnonzero(self.histogram.counts)[0]
        lowest = float(self.histogram.energy[first] / self.histogram.counts[first])
        margin = 1e-6 * float(np.abs(self.model.couplings).sum()) + self.model.energy_resolution
        return lowest <= self.minimum.energy + margin

    def _thermal(self, temperatures: FloatArray, states: Thermal | None) -> dict[str, Any]:
        """Mean energy, heat capacity, ln Z with its error, and diagnostics."""
        betas = np.minimum(_inverse(temperatures), self.betas[-1])
        log_z = log_z_error = None
        if self.joined:
            of_levels = np.hypot(log_z_errors(self.betas, self.energies), self.log_z_first_error)
            log_z_error = np.interp(betas, self.betas, of_levels)
        diagnostics = self.diagnostics
        if states is not None:
            # ln Z of the hottest level is known from beta = 0; that fixes the constant.
            hottest = states.log_density - float(self.betas[0]) * states.energies
            offset = self.log_z_first - float(logsumexp(hottest))
            lowest = float(states.energies.min())
            log_z = log_partition(lowest, states.log_excess + offset, temperatures)
            mean, capacity = states.mean_energy, states.heat_capacity
            diagnostics = diagnostics | {
                "energies": states.energies,
                "log_density_of_states": states.log_density + offset,
            }
        else:
            means, variances = self.energies.moments()
            mean = np.interp(betas, self.betas, means)
            capacity = np.interp(betas, self.betas, variances) * betas**2 * (temperatures > 0)
            if self.joined:
                at_levels = self.log_z_first + integrated_log_z(self.betas, means, variances)
                log_z = np.interp(betas, self.betas, at_levels)
        return {
            "mean_energy": mean,
            "heat_capacity": capacity,
            "log_partition": log_z,
            "log_partition_std_error": log_z_error,
            "diagnostics": diagnostics,
        }


def _inverse(values: npt.ArrayLike) -> FloatArray:
    """1/T of temperatures, and back; infinite at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(1 / np.asarray(values, dtype=np.float64))


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{v:g}" for v in values)


def ground_law(model: PottsModel, states: StateArray) -> tuple[FloatArray, FloatArray] | None:
    """Marginals (n, q) and edge agreements (m,) at T = 0 if `states` are the ground state.

    Points that agree in it along couplings above `energy_resolution` keep together. Such a group is
    uniform over the states that cost it no more than its own while all others stay; a group that
    nothing holds is so over all. Other ground states, in which several groups differ at once at no
    cost, are not seen: they are rare where couplings are real numbers. None for pair costs other
    than Potts', and for class-level terms that are not quadratic.
    """
    n, q = model.n_nodes, model.n_states
    penalty = model.class_penalty
    if not model.is_potts or (penalty is not None and penalty.kind != "quadratic"):
        return None
    strong = model.couplings > model.energy_resolution
    u, v = model.graph.edges.T.astype(np.intp)
    inside = strong & (states[u] == states[v])
    links = coo_array((np.ones(inside.sum()), (u[inside], v[inside])), shape=(n, n))
    n_groups, group = connected_components(links, directed=False)
    cost = np.zeros((n_groups, q))  # less that of the links inside, which is the same for all
    np.add.at(cost, group, model.fields)
    across = strong & (group[u] != group[v])
    for near, far in ((u[across], v[across]), (v[across], u[across])):
        np.add.at(cost, group[near], model.couplings[across][:, None])
        np.subtract.at(cost, (group[near], states[far]), model.couplings[across])
    if penalty is not None:
        own = np.zeros(n_groups, dtype=np.intp)
        own[group] = states
        size = np.bincount(group, weights=penalty.sizes, minlength=n_groups)
        volumes = np.bincount(states, weights=penalty.sizes, minlength=q)
        others = np.tile(volumes - penalty.targets, (n_groups, 1))
        others[np.arange(n_groups), own] -= size
        # f(V + z) - f(V) of the class that takes the group in
        cost += penalty.coefficient * size[:, None] * (others + 0.5 * size[:, None])
    held = model.clamped != FREE
    free_to = np.ones((n_groups, q), dtype=np.bool_)
    free_to[group[held]] = False
    free_to[group[held], model.clamped[held]] = True
    least = np.where(free_to, cost, np.inf).min(axis=1, keepdims=True)
    free_to &= cost <= least + model.energy_resolution
    marginals = (free_to / free_to.sum(axis=1, keepdims=True))[group]
    agreement = np.einsum("es,es->e", marginals[u], marginals[v])
    agreement[group[u] == group[v]] = 1.0
    return marginals, agreement
