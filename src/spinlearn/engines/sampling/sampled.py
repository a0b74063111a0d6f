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

from spinlearn.engines.limits import log_partition
from spinlearn.engines.sampling.density import (
    Density,
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
from spinlearn.engines.sampling.ground_state import ground_law
from spinlearn.engines.sampling.sums import LevelAverages, Sums, reweighted
from spinlearn.errors import ConvergenceWarning, UnreachedTemperatureError
from spinlearn.minimizers.minimum import Minimum
from spinlearn.model.arrays import BoolArray, FloatArray, StateArray
from spinlearn.model.equilibrium import Equilibrium, Kind
from spinlearn.model.potts import PottsModel

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
    levels: LevelAverages | None
    rows: FloatArray  # inverse temperatures of the rows of `levels`
    unsettled: BoolArray  # levels that have not reached equilibrium, (K,)
    minimum: Minimum | None  # the least energy known
    minima: StateArray | None  # all labellings of that energy that walkers have found
    diagnostics: dict[str, Any]

    def equilibrium(self, temperatures: FloatArray, callback: object = None) -> Equilibrium:
        """Averages at these temperatures, with a warning where they are not good enough.

        They take no time worth telling a callback about.
        """
        self._refuse_unreached(temperatures)
        reweighing = None
        if self.eta is not None:
            density = Density.of(self.histogram, self.betas, self.eta)
            reweighing = density, density.thermal(temperatures, self.model)
        values, trusted = self._averages(temperatures, reweighing)
        marginals, errors, agreement, agreement_errors = values
        mean, capacity, log_z, log_z_error, states = self._thermal(temperatures, reweighing)
        if self.minimum is not None and self._zero_is_minimum:
            mean = np.where(temperatures == 0, self.minimum.energy, mean)
        worst = np.maximum(
            errors.max(axis=(1, 2), initial=0.0), agreement_errors.max(axis=1, initial=0.0)
        )
        equilibrated = trusted & ~self._touches_unsettled(temperatures)
        if self._zero_is_minimum:
            equilibrated = np.where(temperatures == 0, trusted, equilibrated)
        converged = equilibrated & (worst <= (np.inf if self.tol is None else self.tol))
        self._warn(temperatures, worst, equilibrated, converged)
        return Equilibrium(
            model=self.model,
            temperatures=temperatures,
            marginals=marginals,
            edge_agreement=agreement,
            mean_energy=mean,
            heat_capacity=capacity,
            log_partition=log_z,
            log_partition_std_error=log_z_error,
            std_error=errors,
            agreement_std_error=agreement_errors,
            converged=converged,
            equilibrated=equilibrated,
            engine=self.engine,
            kind=Kind.SAMPLED,
            diagnostics={**self.diagnostics, **states},
            evaluate=partial(Measured.equilibrium, self) if self.joined else None,
            reweights=self.eta is not None,
            can_continue=True,
        )

    def _warn(
        self,
        temperatures: FloatArray,
        worst: FloatArray,
        equilibrated: BoolArray,
        converged: BoolArray,
    ) -> None:
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

    # -- which temperatures samples reach ------------------------------------------------------

    def _refuse_unreached(self, temperatures: FloatArray) -> None:
        """Refuse temperatures whose energies no sample has."""
        wrong = [t for t, beta in zip(temperatures, _inverse(temperatures), strict=True)
                 if not self._is_reached(float(beta))]  # fmt: skip
        if not wrong:
            return
        known = _inverse(self.rows)[::-1]
        near = known[np.argsort(np.abs(known - wrong[0]))[:2]]
        raise UnreachedTemperatureError(
            f"T = {wrong[0]:g} was not sampled, and energies at the nearest temperatures that were "
            f"({_listed(np.sort(near))}) do not overlap with those there: ask for it among the "
            "temperatures of the run"
        )

    def _is_reached(self, beta: float) -> bool:
        if self._row(beta) is not None or beta > self.betas[-1]:
            return True  # colder than all levels counts as the coldest, and is not trusted
        if not self.joined:
            return False
        if self.eta is None:  # whether the samples of the nearest row reach so far
            k = int(np.argmin(np.abs(self.rows - beta)))
            level = int(np.argmin(np.abs(self.betas - self.rows[k])))
            width = float(np.sqrt(self.energies.variances[level]))
            return abs(float(self.rows[k]) - beta) * width <= REACH
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
        self, temperatures: FloatArray, reweighing: tuple[Density, Thermal] | None
    ) -> tuple[list[FloatArray], BoolArray]:
        """Marginals, their errors, agreements, their errors; and whether to trust them."""
        count, n, q = len(temperatures), self.model.n_nodes, self.model.n_states
        trusted = self._in_range(temperatures)
        if self.sums is not None and reweighing is not None:
            found = reweighted(self.sums, reweighing[0], reweighing[1].probability)
            values = [
                found.marginals, found.std_error, found.edge_agreement, found.agreement_std_error
            ]  # fmt: skip
            trusted &= found.contrast <= contrast_limit(self.sums.n_blocks)
        else:
            m = self.model.graph.n_edges
            values = [np.empty(shape) for shape in ((count, n, q), (count, n, q))]
            values += [np.empty((count, m)), np.empty((count, m))]
        if self.levels is not None:
            levels, limit = self.levels, contrast_limit(len(self.energies.counts))
            parts = (
                (levels.marginals, levels.std_error),
                (levels.edge_agreement, levels.agreement_std_error),
            )
            for t, temperature in enumerate(temperatures):
                low, high, share = self._between(float(temperature))
                if low != high and self.sums is not None:
                    continue  # reweighted above
                for (mean, error), k in zip(parts, (0, 2), strict=True):
                    values[k][t] = (1 - share) * mean[low] + share * mean[high]
                    # Between levels a line is drawn; it may be off by part of the difference.
                    bent = 2 * share * (1 - share) * np.abs(mean[high] - mean[low])
                    values[k + 1][t] = (1 - share) * error[low] + share * error[high] + bent
                trusted[t] &= max(levels.contrast[low], levels.contrast[high]) <= limit
        zero = temperatures == 0
        if self.minimum is not None and self._zero_is_minimum and np.any(zero):
            trusted = np.where(zero, self._zero_by_minimum(self.minimum, zero, *values), trusted)
        return values, trusted

    def _zero_by_minimum(
        self,
        minimum: Minimum,
        rows: BoolArray,
        marginals: FloatArray,
        errors: FloatArray,
        agreement: FloatArray,
        agreement_errors: FloatArray,
    ) -> BoolArray:
        """T = 0 by the law of the labelling of least energy known.

        Where it is not proven to be the least, the error is the difference from other labellings
        of that energy, or from the coldest samples if nobody has looked for such.
        """
        law = ground_law(self.model, minimum.labels)
        if law is None:
            return np.zeros(len(rows), dtype=np.bool_)
        others = [] if self.minima is None else [ground_law(self.model, s) for s in self.minima]
        for k, (mean, error) in enumerate(((marginals, errors), (agreement, agreement_errors))):
            seen = (
                np.mean([other[k] for other in others if other], axis=0) if others else mean[rows]
            )
            error[rows] = 0.0 if minimum.exact else np.abs(seen - law[k])
            mean[rows] = law[k]
        return rows

    def _between(self, temperature: float) -> tuple[int, int, float]:
        """Rows around a temperature and the share of the second; twice the same if it is one."""
        beta = float(_inverse(np.array([temperature]))[0])
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
    def _zero_is_minimum(self) -> bool:
        """Whether T = 0 is answered by the labelling of least energy known.

        So it is where no sample came near, and where energies are real numbers and cannot be
        reweighted: the coldest level is not cold for the smallest of them. Engines of single
        temperatures show what they see.
        """
        if not self.joined or self.minimum is None:
            return False
        alone = self.eta is None and energy_quantum(self.model) == 0
        return alone or not self._reached_ground()

    def _reached_ground(self) -> bool:
        """Whether the lowest energy seen is the least one known, to the rounding of kernels."""
        if self.minimum is None:
            return True
        lowest = float(self.histogram.energy[self.histogram.counts > 0][0])
        lowest /= float(self.histogram.counts[self.histogram.counts > 0][0])
        margin = 1e-6 * float(np.abs(self.model.couplings).sum()) + self.model.energy_resolution
        return lowest <= self.minimum.energy + margin

    def _thermal(
        self, temperatures: FloatArray, reweighing: tuple[Density, Thermal] | None
    ) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None, dict[str, Any]]:
        """Mean energy, heat capacity, ln Z with its error, and the density of states."""
        betas = np.minimum(_inverse(temperatures), self.betas[-1])
        error = None
        if self.joined:
            each = np.hypot(log_z_errors(self.betas, self.energies), self.log_z_first_error)
            error = np.interp(betas, self.betas, each)
        if reweighing is not None:
            density, thermal = reweighing
            # ln Z of the hottest level is known from beta = 0; that fixes the constant.
            hottest = density.log_density - float(self.betas[0]) * density.energies
            offset = self.log_z_first - float(logsumexp(hottest))
            states = {
                "energies": density.energies,
                "log_density_of_states": density.log_density + offset,
            }
            lowest = float(density.energies.min())
            log_z = log_partition(lowest, thermal.log_excess + offset, temperatures)
            return thermal.mean_energy, thermal.heat_capacity, log_z, error, states
        means, variances = self.energies.means, self.energies.variances
        log_z = self.log_z_first + integrated_log_z(self.betas, self.energies)
        capacity = np.where(
            np.isfinite(temperatures) & (temperatures > 0),
            np.interp(betas, self.betas, variances) * betas**2,
            0.0,
        )
        mean = np.interp(betas, self.betas, means)
        whole = np.interp(betas, self.betas, log_z) if self.joined else None
        return mean, capacity, whole, error, {}


def _inverse(values: FloatArray) -> FloatArray:
    """1/T of temperatures, and back; infinite at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(1 / values)


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{v:g}" for v in values)
