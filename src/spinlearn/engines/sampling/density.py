"""The density of states from the energies of all walkers, for thermal averages of the energy.

Samples of level t have the law exp(-beta_t E) / Z_t, so all samples together have

    W(E) D(E),    W(E) = sum_t exp(eta_t - beta_t E),    eta_t = ln(N_t / N) - ln Z_t

and D(E) is histogram over W (Ferrenberg & Swendsen 1989). Walkers that draw their level from
P(t | E) have the same law with the eta they were given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from spinlearn.files.arrays import Arrays
from spinlearn.model.arrays import BoolArray, FloatArray
from spinlearn.model.potts import PottsModel

MAX_GAP = 6.0  # between energies of neighbouring levels, in standard deviations, to overlap
MAX_APART = 3.0  # standard deviations of both, between their means
FINE_PER_COARSE = 8
BINS_PER_DEVIATION = 3.0
FINE_BYTES = 1e6  # finer bins are used while a block of sums stays about this large
MAX_BINS = 1000
MAX_MULTIPLE = 1e6  # of the smallest coupling; far larger numbers are all whole to the computer
COARSER = 5.0  # times the error of the rule, with half the levels (16 where the curve is smooth)


@dataclass(frozen=True, slots=True)
class EnergyBins:
    """Edges of the coarse bins, ascending; each is cut into equal fine ones."""

    edges: FloatArray

    @classmethod
    def of(
        cls,
        model: PottsModel,
        means: FloatArray,
        deviations: FloatArray,
        lowest: float | None = None,
    ) -> EnergyBins:
        """Bins over all energies of the ladder, at most a third of a standard deviation wide.

        The lowest energy known, if given, has a bin of its own, so that T = 0 can be asked for.
        Small models have so few energies that finer bins cost nothing and remove the bias of
        states that depend on the energy within a bin.
        """
        order = np.argsort(means)
        means, deviations = means[order], deviations[order]
        high = float(means[-1] + 5 * deviations[-1])
        quantum = energy_quantum(model)
        margin = quantum / 2 if quantum > 0 else 10 * model.energy_resolution
        bottom = float(means[0] - 6 * deviations[0]) if lowest is None else lowest
        columns = model.n_nodes * (model.n_states - 1) + model.graph.n_edges
        coarse_bins = BINS_PER_DEVIATION * float(np.sum(np.diff(means) / deviations[1:])) + 20
        finer = np.clip(FINE_BYTES / (coarse_bins * columns), 1.0, 8.0)
        edges = [bottom - margin, bottom + margin]
        while edges[-1] < high:
            width = float(np.interp(edges[-1], means, deviations)) / (BINS_PER_DEVIATION * finer)
            width = max(width, (high - bottom) / MAX_BINS)
            if quantum > 0:
                width = max(1.0, np.rint(width / quantum)) * quantum
            edges.append(edges[-1] + width)
        return cls(np.array(edges))

    @property
    def n_coarse(self) -> int:
        """Number of coarse bins."""
        return len(self.edges) - 1

    def coarse(self, energies: FloatArray) -> npt.NDArray[np.int64]:
        """Coarse bin of every energy; those outside go to the end bins."""
        return np.clip(
            np.searchsorted(self.edges, energies, side="right") - 1, 0, self.n_coarse - 1
        )

    def fine(self, energies: FloatArray) -> npt.NDArray[np.int64]:
        """Fine bin of every energy."""
        coarse = self.coarse(energies)
        low, high = self.edges[coarse], self.edges[coarse + 1]
        width = np.maximum(high - low, np.finfo(np.float64).tiny)  # all energies may be equal
        part = np.clip((energies - low) / width * FINE_PER_COARSE, 0, FINE_PER_COARSE - 1)
        return coarse * FINE_PER_COARSE + part.astype(np.int64)


def energy_quantum(model: PottsModel) -> float:
    """The energy step when all energies are multiples of one, else 0."""
    strengths = np.abs(model.couplings[model.couplings != 0])
    simple = model.is_potts and model.class_penalty is None and not np.any(model.fields != 0)
    if len(strengths) == 0 or not simple:
        return 0.0
    step = float(strengths.min())
    if float(strengths.max()) > MAX_MULTIPLE * step:
        return 0.0
    multiples = strengths / step
    return step if np.allclose(multiples, np.rint(multiples), rtol=0, atol=1e-9) else 0.0


class Counts:
    """What a run adds up in arrays, those in `saved` from round to round."""

    saved: ClassVar[tuple[str, ...]]

    def arrays(self) -> Arrays:
        """The arrays by name, for a checkpoint."""
        return {name: getattr(self, name) for name in self.saved}

    def clear(self) -> None:
        """Forget everything."""
        for values in self.arrays().values():
            values[...] = 0


class Histogram(Counts):
    """Number of samples and sum of their energies, per fine bin."""

    saved = ("counts", "energy")

    def __init__(self, bins: EnergyBins) -> None:
        self.bins = bins
        self.counts, self.energy = np.zeros((2, bins.n_coarse * FINE_PER_COARSE))

    def add(self, energies: FloatArray) -> None:
        """Add one sample per energy."""
        fine = self.bins.fine(energies)
        self.counts += np.bincount(fine, minlength=len(self.counts))
        self.energy += np.bincount(fine, weights=energies, minlength=len(self.counts))


@dataclass
class LevelEnergies(Counts):
    """Moments of the energy in every block of walkers at every level of the ladder, (B, K).

    Squares are of energies less `origin`, (K,), so that small variances survive large energies.
    """

    saved = ("counts", "sums", "squares", "origin")

    counts: FloatArray
    sums: FloatArray
    squares: FloatArray
    origin: FloatArray

    @classmethod
    def empty(cls, n_blocks: int, n_levels: int) -> LevelEnergies:
        """No samples."""
        counts, sums, squares = np.zeros((3, n_blocks, n_levels))
        return cls(counts, sums, squares, np.zeros(n_levels))

    @classmethod
    def of(cls, means: FloatArray, deviations: FloatArray) -> LevelEnergies:
        """As if of one sample with these moments."""
        ones = np.ones((1, len(means)))
        return cls(ones, 0 * ones, deviations[None] ** 2, means.copy())

    def add(
        self,
        energies: FloatArray,
        blocks: npt.NDArray[np.int64],
        levels: npt.NDArray[np.int32],
    ) -> None:
        """Add the energy of every walker at its level."""
        new = levels[self.counts.sum(axis=0)[levels] == 0]
        if len(new):
            first = np.isin(levels, new)
            self.origin[levels[first]] = energies[first]
        excess = energies - self.origin[levels]
        np.add.at(self.counts, (blocks, levels), 1)
        np.add.at(self.sums, (blocks, levels), excess)
        np.add.at(self.squares, (blocks, levels), excess**2)

    @property
    def level_counts(self) -> FloatArray:
        """Samples at every level, (K,)."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def means(self) -> FloatArray:
        """<E> of every level, (K,)."""
        return np.asarray(self.origin + self.sums.sum(axis=0) / np.maximum(self.level_counts, 1))

    @property
    def variances(self) -> FloatArray:
        """Variance of E at every level, (K,)."""
        count = np.maximum(self.level_counts, 1)
        mean = self.sums.sum(axis=0) / count
        return np.asarray(np.maximum(self.squares.sum(axis=0) / count - mean**2, 0.0))

    @property
    def block_means(self) -> FloatArray:
        """<E> of every block and level, (B, K); not a number where a block has not been."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.origin + self.sums / self.counts)

    @property
    def errors(self) -> FloatArray:
        """Standard errors of `means` from the spread of the blocks, (K,)."""
        means = self.block_means
        some = np.isfinite(means)
        count = np.maximum(some.sum(axis=0), 1)
        centre = np.where(some, means, 0.0).sum(axis=0) / count
        squares = np.where(some, (means - centre) ** 2, 0.0).sum(axis=0)
        return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1) / count))

    def block(self, number: int) -> LevelEnergies:
        """Those of one block; where it has not been, those of all."""
        missing = self.counts[number] == 0
        counts, sums, squares = (
            np.where(missing, table.sum(axis=0), table[number])[None]
            for table in (self.counts, self.sums, self.squares)
        )
        return LevelEnergies(counts, sums, squares, self.origin)


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

    def thermal(self, temperatures: FloatArray, model: PottsModel) -> Thermal:
        """At any temperatures; T = 0 counts as so low that exp(-dE/T) vanishes for every step."""
        coldest = (model.energy_scale or 1.0) / 1e9
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


def overlaps(betas: FloatArray, energies: LevelEnergies) -> BoolArray:
    """Whether energies of neighbouring levels overlap, (K - 1,), so that a histogram joins them.

    Those of a level lie within a few standard deviations of their mean.
    """
    widths, means = np.sqrt(energies.variances), energies.means
    near = np.diff(betas) * (widths[1:] + widths[:-1]) < MAX_GAP
    met = np.abs(np.diff(means)) <= MAX_APART * (widths[1:] + widths[:-1])
    return np.asarray(near & met)


def integrated_log_z(betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """ln Z of every level less that of the first, by integrating -<E> over beta."""
    width, means, variances = np.diff(betas), energies.means, energies.variances
    # d<E>/dbeta = -variance: the trapezoid's end correction.
    steps = -0.5 * (means[1:] + means[:-1]) * width - np.diff(variances) * width**2 / 12
    return np.concatenate([[0.0], np.cumsum(steps)])


def log_z_errors(betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """Standard errors of `integrated_log_z`, (K,): of sampling, and of the rule between levels.

    The former is the spread over blocks; the latter what leaving out every other level changes,
    COARSER times less.
    """
    blocks = [energies.block(b) for b in range(len(energies.counts)) if energies.counts[b].any()]
    each = np.array([integrated_log_z(betas, own) for own in blocks])
    sampling = np.zeros(len(betas))
    if len(each) > 1:
        sampling = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    whole = integrated_log_z(betas, energies)
    kept = np.unique(np.append(np.arange(0, len(betas), 2), len(betas) - 1))
    coarse = LevelEnergies.of(energies.means[kept], np.sqrt(energies.variances[kept]))
    missed = np.abs(integrated_log_z(betas[kept], coarse) - whole[kept])
    rule = np.maximum.accumulate(np.interp(betas, betas[kept], missed)) / COARSER
    return np.hypot(sampling, rule)


def exchanged_eta(histogram: Histogram, betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """eta of levels whose numbers of samples are given, from the energies of all of them.

    Stationary point of sum_b h_b ln sum_t N_t exp(f_t - beta_t E_b) - sum_t N_t f_t, which is
    convex in f = -ln Z; f of the first level is zero.
    """
    seen = histogram.counts > 0
    share = histogram.counts[seen] / histogram.counts.sum()
    expected = np.maximum(energies.level_counts / energies.counts.sum(), 1e-300)
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
    """ln Z(beta + step) - ln Z(beta) from energies at both (Bennett's acceptance ratio, 1976)."""
    shift = -step * 0.5 * float(hot.mean() + cold.mean())
    if step * float(hot.std() + cold.std()) >= 4:
        # Too far apart to overlap: integrate -<E>, whose derivative is the variance.
        return shift - step**2 / 12 * float(cold.var() - hot.var())
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
