"""The density of states from the energies of all walkers, for thermal averages of the energy.

Samples of level t have the law exp(-beta_t E) / Z_t, so all samples together have

    W(E) D(E),    W(E) = sum_t exp(eta_t - beta_t E),    eta_t = ln(N_t / N) - ln Z_t

and D(E) is histogram over W (Ferrenberg & Swendsen 1989). Walkers that draw their level from
P(t | E) have the same law with the eta they were given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spinlearn.engines.limits import heat_capacity
from spinlearn.files.arrays import Arrays
from spinlearn.model.arrays import BoolArray, FloatArray, IndexArray
from spinlearn.model.potts import PottsModel

LENGTH = 128  # entries of a series of energies
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
        cls, model: PottsModel, means: FloatArray, deviations: FloatArray, lowest: float
    ) -> EnergyBins:
        """Bins over all energies of the ladder, at most a third of a standard deviation wide.

        The `lowest` energy known has a bin of its own, so that T = 0 can be asked for. Small models
        have so few energies that finer bins cost nothing and remove the bias of states that depend
        on the energy within a bin.
        """
        order = np.argsort(means)
        means, deviations = means[order], deviations[order]
        high = float(means[-1] + 5 * deviations[-1])
        quantum = energy_quantum(model)
        margin = quantum / 2 if quantum > 0 else 10 * model.energy_resolution
        columns = model.n_nodes * (model.n_states - 1) + model.graph.n_edges
        coarse_bins = BINS_PER_DEVIATION * float(np.sum(np.diff(means) / deviations[1:])) + 20
        finer = np.clip(FINE_BYTES / (coarse_bins * columns), 1.0, 8.0)
        edges = [lowest - margin, lowest + margin]
        while edges[-1] < high:
            width = float(np.interp(edges[-1], means, deviations)) / (BINS_PER_DEVIATION * finer)
            width = max(width, (high - lowest) / MAX_BINS)
            if quantum > 0:
                width = max(1.0, np.rint(width / quantum)) * quantum
            edges.append(edges[-1] + width)
        return cls(np.array(edges))

    @property
    def n_coarse(self) -> int:
        """Number of coarse bins."""
        return len(self.edges) - 1

    def coarse(self, energies: FloatArray) -> IndexArray:
        """Coarse bin of every energy; those outside go to the end bins."""
        place = np.searchsorted(self.edges, energies, side="right") - 1
        return np.clip(place, 0, self.n_coarse - 1)

    def fine(self, energies: FloatArray) -> IndexArray:
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
    """What a run adds up in arrays: those `counted` in one round, those `saved` from all rounds."""

    saved: ClassVar[tuple[str, ...]]
    counted: ClassVar[tuple[str, ...]]

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


class LevelEnergies(Counts):
    """Energies of every block of walkers at every level of the ladder, in the course of a run.

    `counts` and `sums` are series, (entries, B, K), of so many rounds each; where they are full,
    neighbours are merged. Sums and squares are of energies less `origin`, (K,), so that small
    variances survive large energies.
    """

    saved = ("counts", "sums", "squares", "origin", "visits", "clock")

    def __init__(self, n_blocks: int, n_levels: int) -> None:
        self.counts, self.sums = np.zeros((2, LENGTH, n_blocks, n_levels))
        self.squares = np.zeros((n_blocks, n_levels))
        self.origin, self.visits = np.zeros((2, n_levels))
        self.clock = np.array([0, 1])  # rounds seen, rounds per entry

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.clock[1] = 1

    def add(self, energies: FloatArray, blocks: IndexArray, levels: IndexArray) -> None:
        """Add the energy of every walker at its level to the current round."""
        new = self.visits[levels] == 0
        self.origin[levels[new]] = energies[new]
        excess = energies - self.origin[levels]
        entry = self.clock[0] // self.clock[1]
        np.add.at(self.visits, levels, 1)
        np.add.at(self.counts[entry], (blocks, levels), 1)
        np.add.at(self.sums[entry], (blocks, levels), excess)
        np.add.at(self.squares, (blocks, levels), excess**2)

    def end_round(self) -> None:
        """The next samples belong to another round."""
        self.clock[0] += 1
        if self.clock[0] == LENGTH * self.clock[1]:
            for values in (self.sums, self.counts):
                values[: LENGTH // 2] = values[::2] + values[1::2]
                values[LENGTH // 2 :] = 0
            self.clock[1] *= 2

    def moments(self, block: int | None = None) -> tuple[FloatArray, FloatArray]:
        """<E> and the variance of E at every level, (K,), of all blocks or of one.

        Where that block has not been, of all.
        """
        tables = [self.counts.sum(axis=0), self.sums.sum(axis=0), self.squares]
        count, total, squares = (table.sum(axis=0) for table in tables)
        if block is not None:
            been = tables[0][block] > 0
            count, total, squares = (
                np.where(been, table[block], whole)
                for table, whole in zip(tables, (count, total, squares), strict=True)
            )
        mean = total / np.maximum(count, 1)
        variance = np.maximum(squares / np.maximum(count, 1) - mean**2, 0.0)
        return self.origin + mean, variance

    def block_means(self, entries: slice = slice(None)) -> FloatArray:
        """<E> of every block and level, (B, K); not a number where a block has not been."""
        with np.errstate(invalid="ignore", divide="ignore"):
            part = self.sums[entries].sum(axis=0) / self.counts[entries].sum(axis=0)
        return np.asarray(self.origin + part)

    def errors(self) -> FloatArray:
        """Standard errors of <E> from the spread of the blocks, (K,)."""
        means = self.block_means()
        some = np.isfinite(means)
        count = np.maximum(some.sum(axis=0), 1)
        centre = np.where(some, means, 0.0).sum(axis=0) / count
        squares = np.where(some, (means - centre) ** 2, 0.0).sum(axis=0)
        return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1) / count))

    def halves(self) -> tuple[FloatArray, FloatArray]:
        """`block_means` of the first and the second half of the rounds; the current is left out."""
        half = self._half
        return self.block_means(slice(0, half)), self.block_means(slice(half, 2 * half))

    @property
    def _half(self) -> int:
        return int(self.clock[0] // self.clock[1]) // 2  # whole entries in half of the series

    def split_rhat(self) -> FloatArray:
        """R-hat of every level, (K,); not a number where there is too little to tell.

        It is sqrt((h - 1) / h + b / w) over the first and second halves (h entries each) of every
        block's series: b is the variance of the halves' means, w the mean variance within them
        (Gelman et al., BDA3, section 11.4). One means that blocks and halves agree.
        """
        half = self._half
        rhat = np.full(len(self.origin), np.nan)
        if half < 4:
            return rhat
        series = np.where(self.counts > 0, self.sums / np.maximum(self.counts, 1), np.nan)
        chains = np.concatenate([series[:half], series[half : 2 * half]], axis=1)  # (h, 2 B, K)
        for level in range(len(rhat)):
            some = chains[:, :, level]
            some = some[:, np.isfinite(some).all(axis=0)]
            if some.shape[1] < 4:
                continue
            within = float(some.var(axis=0, ddof=1).mean())
            between = float(some.mean(axis=0).var(ddof=1))
            rhat[level] = np.sqrt((half - 1) / half + between / within) if within > 0 else 1.0
        return rhat


class Thermal(NamedTuple):
    """The density of states, ln D at the energies seen, (B,), up to a constant; and what follows.

    Axis 0 of averages is the temperature.
    """

    energies: FloatArray
    log_density: FloatArray
    fine_bins: IndexArray
    mean_energy: FloatArray
    heat_capacity: FloatArray
    log_excess: FloatArray  # ln sum_E D(E) exp(-beta (E - E_lowest)), up to the same constant
    probability: FloatArray  # of the energies, (T, B)

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        betas: FloatArray,
        eta: FloatArray,
        temperatures: FloatArray,
        model: PottsModel,
    ) -> Thermal:
        """Of samples from the ensemble of weight W, at any temperatures.

        T = 0 counts as so low that exp(-dE/T) vanishes for every step.
        """
        seen = np.flatnonzero(histogram.counts)
        energies = histogram.energy[seen] / histogram.counts[seen]
        log_weight = logsumexp(eta - np.multiply.outer(energies, betas))
        log_density = np.log(histogram.counts[seen]) - log_weight
        coldest = (model.energy_scale or 1.0) / 1e9
        with np.errstate(divide="ignore"):
            wanted = np.minimum(1 / temperatures, 1 / coldest)
        exponents = log_density - np.multiply.outer(wanted, energies - float(energies.min()))
        log_total = logsumexp(exponents)
        probability = np.exp(exponents - log_total[:, None])
        mean = probability @ energies
        capacity = heat_capacity(np.maximum(probability @ energies**2 - mean**2, 0.0), temperatures)
        return cls(energies, log_density, seen, mean, capacity, log_total, probability)


def overlaps(betas: FloatArray, energies: LevelEnergies) -> BoolArray:
    """Whether energies of neighbouring levels overlap, (K - 1,), so that a histogram joins them.

    Those of a level lie within a few standard deviations of their mean.
    """
    means, variances = energies.moments()
    widths = np.sqrt(variances)
    near = np.diff(betas) * (widths[1:] + widths[:-1]) < MAX_GAP
    met = np.abs(np.diff(means)) <= MAX_APART * (widths[1:] + widths[:-1])
    return np.asarray(near & met)


def integrated_log_z(betas: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """ln Z of every level less that of the first, by integrating -<E> over beta."""
    width = np.diff(betas)
    # d<E>/dbeta = -variance: the trapezoid's end correction.
    steps = -0.5 * (means[1:] + means[:-1]) * width - np.diff(variances) * width**2 / 12
    return np.concatenate([[0.0], np.cumsum(steps)])


def log_z_errors(betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """Standard errors of `integrated_log_z`, (K,): of sampling, and of the rule between levels.

    The former is the spread over blocks; the latter what leaving out every other level changes,
    COARSER times less.
    """
    blocks = np.flatnonzero(energies.counts.any(axis=(0, 2))).tolist()
    sampling = np.zeros(len(betas))
    if len(blocks) > 1:
        each = np.array([integrated_log_z(betas, *energies.moments(b)) for b in blocks])
        sampling = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    means, variances = energies.moments()
    whole = integrated_log_z(betas, means, variances)
    kept = np.unique(np.append(np.arange(0, len(betas), 2), len(betas) - 1))
    missed = np.abs(integrated_log_z(betas[kept], means[kept], variances[kept]) - whole[kept])
    rule = np.maximum.accumulate(np.interp(betas, betas[kept], missed)) / COARSER
    return np.hypot(sampling, rule)


def exchanged_eta(histogram: Histogram, betas: FloatArray, energies: LevelEnergies) -> FloatArray:
    """eta of levels whose numbers of samples are given, from the energies of all of them.

    Stationary point of sum_b h_b ln sum_t N_t exp(f_t - beta_t E_b) - sum_t N_t f_t, which is
    convex in f = -ln Z; f of the first level is zero.
    """
    seen = histogram.counts > 0
    share = histogram.counts[seen] / histogram.counts.sum()
    expected = np.maximum(energies.visits / energies.visits.sum(), 1e-300)
    offered = np.log(expected)[:, None] - np.multiply.outer(
        betas, histogram.energy[seen] / histogram.counts[seen]
    )
    f = -integrated_log_z(betas, *energies.moments())

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
