"""The density of states from the energies of all walkers, for thermal averages of the energy.

Samples of level t have the law exp(-beta_t E) / Z_t, so all samples together have

    W(E) D(E),    W(E) = sum_t exp(eta_t - beta_t E),    eta_t = ln(N_t / N) - ln Z_t

and D(E) is histogram over W (Ferrenberg & Swendsen 1989). Walkers that draw their level from
P(t | E) have the same law with the eta they were given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.energy_bins import FINE_PER_COARSE, EnergyBins
from spinlearn.core.arrays import FloatArray

MAX_GAP = 6.0  # between energies of neighbouring levels, in standard deviations, to overlap


@dataclass(slots=True)
class Histogram:
    """Number of samples and sum of their energies, per fine bin."""

    bins: EnergyBins
    counts: FloatArray
    energy: FloatArray

    @classmethod
    def empty(cls, bins: EnergyBins) -> Histogram:
        """No samples."""
        n_fine = bins.n_coarse * FINE_PER_COARSE
        return cls(bins, np.zeros(n_fine), np.zeros(n_fine))

    def add(self, energies: FloatArray) -> None:
        """Add one sample per energy."""
        fine = self.bins.fine(energies)
        self.counts += np.bincount(fine, minlength=len(self.counts))
        self.energy += np.bincount(fine, weights=energies, minlength=len(self.counts))

    def clear(self) -> None:
        """Forget everything."""
        self.counts[:] = 0
        self.energy[:] = 0


@dataclass(slots=True)
class LevelEnergies:
    """Moments of the energy at every level of the ladder."""

    counts: FloatArray
    sums: FloatArray
    squares: FloatArray

    @classmethod
    def empty(cls, n_levels: int) -> LevelEnergies:
        """No samples."""
        return cls(*(np.zeros(n_levels) for _ in range(3)))

    def add(self, energies: FloatArray, levels: npt.NDArray[np.int32]) -> None:
        """Add the energy of every walker at its level."""
        n_levels = len(self.counts)
        self.counts += np.bincount(levels, minlength=n_levels)
        self.sums += np.bincount(levels, weights=energies, minlength=n_levels)
        self.squares += np.bincount(levels, weights=energies**2, minlength=n_levels)

    def clear(self) -> None:
        """Forget everything."""
        for values in self.arrays().values():
            values[:] = 0

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The moments by name, for a checkpoint."""
        return {"counts": self.counts, "sums": self.sums, "squares": self.squares}

    @property
    def means(self) -> FloatArray:
        """<E> of every level."""
        return np.asarray(self.sums / np.maximum(self.counts, 1))

    @property
    def variances(self) -> FloatArray:
        """Variance of E at every level."""
        return np.maximum(self.squares / np.maximum(self.counts, 1) - self.means**2, 0.0)


@dataclass(frozen=True, slots=True)
class Thermal:
    """Averages of the energy; axis 0 is the temperature."""

    mean_energy: FloatArray
    heat_capacity: FloatArray
    log_excess: FloatArray  # ln sum_E D(E) exp(-beta (E - E_lowest)), up to a constant
    probability: FloatArray  # of the energies below, (T, B)


@dataclass(frozen=True, slots=True)
class Density:
    """ln D at the energies seen, up to a constant."""

    energies: FloatArray
    log_density: FloatArray
    fine_bins: npt.NDArray[np.intp]

    @classmethod
    def of(cls, histogram: Histogram, betas: FloatArray, eta: FloatArray) -> Density:
        """Of samples from the ensemble of weight W."""
        seen = np.flatnonzero(histogram.counts)
        energies = histogram.energy[seen] / histogram.counts[seen]
        log_weight = logsumexp(eta - np.multiply.outer(energies, betas))
        return cls(energies, np.log(histogram.counts[seen]) - log_weight, seen)

    def thermal(self, temperatures: FloatArray, coldest: float) -> Thermal:
        """At any temperatures; below `coldest` > 0 they count as this one."""
        lowest = float(self.energies.min())
        with np.errstate(divide="ignore"):
            wanted = np.minimum(1 / temperatures, 1 / coldest)
        exponents = self.log_density - np.multiply.outer(wanted, self.energies - lowest)
        log_total = logsumexp(exponents)
        probability = np.exp(exponents - log_total[:, None])
        mean = probability @ self.energies
        variance = np.maximum(probability @ self.energies**2 - mean**2, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            capacity = np.where(
                (temperatures == 0) | np.isinf(temperatures), 0.0, variance / temperatures**2
            )
        return Thermal(mean, capacity, log_total, probability)

    def log_weight_at(self, beta: float) -> float:
        """ln sum_samples exp(-beta E) / W(E), up to the constant of `log_density`."""
        return float(logsumexp(self.log_density - beta * self.energies))


def overlap(betas: FloatArray, energies: LevelEnergies) -> bool:
    """Whether energies of neighbouring levels overlap, so that a histogram joins them."""
    widths = np.sqrt(energies.variances)
    return bool(np.all(np.diff(betas) * (widths[1:] + widths[:-1]) < MAX_GAP))


def integrated_log_z(betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """ln Z of every level less that of the first, by integrating -<E> over beta."""
    width, means, variances = np.diff(betas), energies.means, energies.variances
    # d<E>/dbeta = -variance: the trapezoid's end correction.
    steps = -0.5 * (means[1:] + means[:-1]) * width - np.diff(variances) * width**2 / 12
    return np.concatenate([[0.0], np.cumsum(steps)])


def exchanged_eta(histogram: Histogram, betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """eta of levels whose numbers of samples are given, from the energies of all of them.

    Stationary point of sum_b h_b ln sum_t N_t exp(f_t - beta_t E_b) - sum_t N_t f_t, which is
    convex in f = -ln Z; f of the first level is zero.
    """
    seen = histogram.counts > 0
    share = histogram.counts[seen] / histogram.counts.sum()
    expected = np.maximum(energies.counts / energies.counts.sum(), 1e-300)
    offered = np.log(expected)[:, None] - np.multiply.outer(
        betas, histogram.energy[seen] / histogram.counts[seen]
    )
    f = -integrated_log_z(betas, energies)

    def value(f: FloatArray) -> tuple[float, FloatArray]:
        weight = logsumexp((f[:, None] + offered).T)
        return float(share @ weight - expected @ f), weight

    now, log_weight = value(f)
    for _ in range(100):
        chance = np.exp(f[:, None] + offered - log_weight)  # P(t | b)
        occupied = chance @ share
        slope = occupied - expected
        if len(f) == 1 or np.abs(slope).max() < 1e-10:
            break
        curvature = np.diag(occupied) - (chance * share) @ chance.T
        curvature[np.diag_indices_from(curvature)] += 1e-12
        step = np.zeros(len(f))
        step[1:] = -np.linalg.solve(curvature[1:, 1:], slope[1:])
        size = 1.0
        while True:
            then, weight = value(f + size * step)
            if then <= now + 1e-13 * abs(now) or size < 1e-3:
                break
            size *= 0.5
        f, now, log_weight = f + size * step, then, weight
    return np.asarray(f + np.log(expected))


def free_energy_step(hot: FloatArray, cold: FloatArray, step: float) -> float:
    """ln Z(beta + step) - ln Z(beta) from energies at both."""
    if step * float(hot.std() + cold.std()) < 4:
        return bennett(hot, cold, step)
    # Too far apart to overlap: integrate -<E>, whose derivative is the variance.
    trapezoid = -step * 0.5 * float(hot.mean() + cold.mean())
    return trapezoid - step**2 / 12 * float(cold.var() - hot.var())


def bennett(hot: FloatArray, cold: FloatArray, step: float) -> float:
    """ln Z(beta + step) - ln Z(beta) from energies at both (Bennett's acceptance ratio, 1976)."""
    shift = -step * 0.5 * float(hot.mean() + cold.mean())
    for _ in range(100):
        forward = np.mean(1 / (1 + np.exp(np.clip(step * hot + shift, -700, 700))))
        backward = np.mean(1 / (1 + np.exp(np.clip(-step * cold - shift, -700, 700))))
        change = float(np.log(forward) - np.log(backward))
        shift += change
        if abs(change) < 1e-12:
            break
    return shift


def logsumexp(values: FloatArray) -> FloatArray:
    """Over the last axis."""
    top = values.max(axis=-1, keepdims=True)
    return np.asarray((top + np.log(np.exp(values - top).sum(axis=-1, keepdims=True)))[..., 0])
