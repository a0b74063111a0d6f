"""What a sampling run measured, made into an Equilibrium at any temperature."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spinlearn.analysis.density import Density, Histogram, LevelEnergies, integrated_log_z, overlap
from spinlearn.analysis.level_sums import LevelAverages
from spinlearn.analysis.reweight import Sums, reweighted
from spinlearn.core.arrays import BoolArray, FloatArray
from spinlearn.core.equilibrium import Equilibrium, Kind
from spinlearn.core.model import PottsModel
from spinlearn.engines.ground_state import ground_law
from spinlearn.engines.limits import log_partition
from spinlearn.errors import ConvergenceWarning
from spinlearn.minimizers.minimum import Minimum

SAME = 1e-9  # relative difference of inverse temperatures that count as one


def temperature_zero(model: PottsModel) -> float:
    """Temperature that counts as zero: exp(-dE/T) vanishes for every step dE."""
    return (model.energy_scale or 1.0) / 1e9


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Sums of a run: by energy (`sums`), by level (`levels`), or both."""

    model: PottsModel
    engine: str
    tol: float
    betas: FloatArray  # of all levels
    eta: FloatArray | None  # of the ensemble; None where levels were sampled one by one
    log_z_first: float
    histogram: Histogram
    energies: LevelEnergies
    sums: Sums | None
    levels: LevelAverages | None
    rows: FloatArray  # inverse temperatures of the rows of `levels`
    minimum: Minimum | None  # the least energy known, where a cut gives it
    diagnostics: dict[str, Any]

    def equilibrium(self, temperatures: FloatArray, callback: object = None) -> Equilibrium:
        """Averages at these temperatures, with a warning where they are not good enough.

        They take no time worth telling a callback about.
        """
        marginals, errors, agreement, agreement_errors, trusted = self._averages(temperatures)
        mean, capacity, log_z, density = self._thermal(temperatures)
        if self.minimum is not None and self._zero_is_cut:
            mean = np.where(temperatures == 0, self.minimum.energy, mean)
        worst = errors.max(axis=(1, 2), initial=0.0)
        converged = trusted & (worst <= self.tol)
        if not np.all(converged):
            listed = ", ".join(f"{t:g}" for t in np.unique(temperatures[~converged]))
            warnings.warn(
                f"not converged to tol={self.tol:g} at T = {listed} (standard error up to "
                f"{worst[~converged].max():.2g}): raise max_seconds or max_sweeps, raise tol, or "
                "ask for higher temperatures",
                ConvergenceWarning,
                stacklevel=4,
            )
        return Equilibrium(
            model=self.model,
            temperatures=temperatures,
            marginals=marginals,
            edge_agreement=agreement,
            mean_energy=mean,
            heat_capacity=capacity,
            log_partition=log_z,
            std_error=errors,
            agreement_std_error=agreement_errors,
            converged=converged,
            engine=self.engine,
            kind=Kind.SAMPLED,
            diagnostics={**self.diagnostics, **density},
            evaluate=None if self.eta is None else partial(Measured.equilibrium, self),
            reweights=self.eta is not None,
            can_continue=True,
        )

    def _averages(
        self, temperatures: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, BoolArray]:
        """Marginals, their errors, agreements, their errors, and whether to trust them."""
        count, n, q = len(temperatures), self.model.n_nodes, self.model.n_states
        trusted = self._in_range(temperatures)
        if self.sums is not None:
            assert self.eta is not None
            density = Density.of(self.histogram, self.betas, self.eta)
            thermal = density.thermal(temperatures, temperature_zero(self.model))
            found = reweighted(self.sums, density, thermal.probability)
            values = [
                found.marginals, found.std_error, found.edge_agreement, found.agreement_std_error
            ]  # fmt: skip
        else:
            m = self.model.graph.n_edges
            values = [np.empty(shape) for shape in ((count, n, q), (count, n, q))]
            values += [np.empty((count, m)), np.empty((count, m))]
        if self.levels is not None:
            levels = self.levels
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
        beyond = (temperatures == 0) & ~trusted
        if self.minimum is not None and self._zero_is_cut and np.any(beyond):
            trusted |= self._zero_by_cut(self.minimum, beyond, *values)
        return values[0], values[1], values[2], values[3], trusted

    def _zero_by_cut(
        self,
        minimum: Minimum,
        rows: BoolArray,
        marginals: FloatArray,
        errors: FloatArray,
        agreement: FloatArray,
        agreement_errors: FloatArray,
    ) -> BoolArray:
        """T = 0 where no sample came near: the law of the labelling of least energy known.

        Where it is not proven to be the least, the difference from the coldest samples is the
        error.
        """
        law = ground_law(self.model, minimum.labels)
        if law is None:
            return np.zeros(len(rows), dtype=np.bool_)
        for mean, error, exact in (
            (marginals, errors, law[0]),
            (agreement, agreement_errors, law[1]),
        ):
            error[rows] = 0.0 if minimum.exact else np.abs(mean[rows] - exact)
            mean[rows] = exact
        return rows

    def _between(self, temperature: float) -> tuple[int, int, float]:
        """Rows around a temperature and the share of the second; twice the same if it is one."""
        beta = np.inf if temperature == 0 else 1 / temperature
        if beta >= self.rows[-1] * (1 - SAME) or len(self.rows) == 1:
            exact = np.isfinite(beta) and beta <= self.rows[-1] * (1 + SAME)
            last = len(self.rows) - 1
            return (last, last, 0.0) if exact or self.sums is None else (0, last, 1.0)
        high = int(np.searchsorted(self.rows, beta * (1 - SAME)))
        if self.rows[high] <= beta * (1 + SAME) or high == 0:
            return high, high, 0.0
        share = (beta - self.rows[high - 1]) / (self.rows[high] - self.rows[high - 1])
        return high - 1, high, float(share)

    def _in_range(self, temperatures: FloatArray) -> BoolArray:
        """Whether samples near the temperature exist; at T = 0, whether the ground was reached."""
        with np.errstate(divide="ignore"):
            betas = 1 / temperatures
        inside = (betas >= self.betas[0] * (1 - SAME)) & (betas <= self.betas[-1] * (1 + SAME))
        if self.sums is None and self.minimum is None:
            return np.asarray(inside)
        return np.asarray(inside | ((betas > self.betas[-1]) & self._reached_ground()))

    @property
    def _zero_is_cut(self) -> bool:
        """Whether T = 0 is answered by a cut; engines of single temperatures show what they see."""
        return self.eta is not None and not self._reached_ground()

    def _reached_ground(self) -> bool:
        """Whether the lowest energy seen is the least one known, to the rounding of kernels."""
        if self.minimum is None:
            return True
        lowest = float(self.histogram.energy[self.histogram.counts > 0][0])
        lowest /= float(self.histogram.counts[self.histogram.counts > 0][0])
        margin = 1e-6 * float(np.abs(self.model.couplings).sum()) + self.model.energy_resolution
        return lowest <= self.minimum.energy + margin

    def _thermal(
        self, temperatures: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray | None, dict[str, Any]]:
        """Mean energy, heat capacity, ln Z, and the density of states."""
        if self.eta is not None and (self.sums is not None or overlap(self.betas, self.energies)):
            density = Density.of(self.histogram, self.betas, self.eta)
            thermal = density.thermal(temperatures, temperature_zero(self.model))
            # ln Z of the hottest level is known from beta = 0; that fixes the constant.
            offset = self.log_z_first - density.log_weight_at(float(self.betas[0]))
            states = {
                "energies": density.energies,
                "log_density_of_states": density.log_density + offset,
            }
            lowest = float(density.energies.min())
            log_z = log_partition(lowest, thermal.log_excess + offset, temperatures)
            return thermal.mean_energy, thermal.heat_capacity, log_z, states
        with np.errstate(divide="ignore"):
            betas = np.minimum(1 / temperatures, self.betas[-1])
        means, variances = self.energies.means, self.energies.variances
        log_z = self.log_z_first + integrated_log_z(self.betas, self.energies)
        capacity = np.where(
            np.isfinite(temperatures) & (temperatures > 0),
            np.interp(betas, self.betas, variances) * betas**2,
            0.0,
        )
        mean = np.interp(betas, self.betas, means)
        whole = None if self.eta is None else np.interp(betas, self.betas, log_z)
        return mean, capacity, whole, {}
