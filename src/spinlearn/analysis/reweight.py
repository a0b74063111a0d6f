"""Averages per energy to averages at any temperature, with jackknife errors.

    <A>_T = sum_E A(E) P(E | T),    P(E | T) from the density of states

Node and edge sums are kept per coarse bin of energy, narrow enough that within it they do not
depend on E. The walkers are dealt to independent blocks; leaving out one block at a time gives the
standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spinlearn.analysis.density import FINE_PER_COARSE, Counts, Density, EnergyBins
from spinlearn.analysis.equilibration import UNSEEN, contrast
from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import PottsModel

LEAST_WEIGHT = 0.1  # of an equal share, below which a block says nothing of a temperature


class Sums(Counts):
    """What production accumulates, per bin of energy and block of walkers."""

    saved = ("node_sums", "edge_sums", "counts")

    def __init__(self, model: PottsModel, bins: EnergyBins, n_blocks: int) -> None:
        n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
        rows = bins.n_coarse * n_blocks
        self.model, self.bins, self.n_blocks = model, bins, n_blocks
        self.node_sums = np.zeros((rows, (q - 1) * n), dtype=np.uint32)
        self.edge_sums = np.zeros((rows, m), dtype=np.uint32)
        self.counts = np.zeros(rows, dtype=np.int64)
        self._ends = [np.ascontiguousarray(end) for end in model.graph.edges.T]

    def add(self, states: StateArray, energies: FloatArray, blocks: npt.NDArray[np.int64]) -> None:
        """Add one sample of every walker."""
        from spinlearn.kernels.measure import accumulate

        rows = self.bins.coarse(energies) * self.n_blocks + blocks
        sums = (self.node_sums, self.edge_sums, self.counts)
        accumulate(states, rows, self.model.n_states, *self._ends, *sums)


@dataclass(frozen=True, slots=True)
class Averages:
    """Reweighted averages; axis 0 is the temperature."""

    marginals: FloatArray
    std_error: FloatArray
    edge_agreement: FloatArray
    agreement_std_error: FloatArray
    effective_samples: FloatArray
    contrast: FloatArray  # of blocks that started differently, see `analysis.equilibration`


def reweighted(sums: Sums, density: Density, probability: FloatArray) -> Averages:
    """Averages at temperatures given by the probability of the energies of `density`, (T, B)."""
    model = sums.model
    n, q, n_blocks, n_coarse = model.n_nodes, model.n_states, sums.n_blocks, sums.bins.n_coarse
    n_temperatures = len(probability)
    # Weight of one sample in coarse bin c: P(c | T) over the number of samples there.
    coarse_of_fine = density.fine_bins // FINE_PER_COARSE
    in_coarse = np.zeros((n_temperatures, n_coarse))
    np.add.at(in_coarse.T, coarse_of_fine, probability.T)
    counts = sums.counts.reshape(n_coarse, n_blocks)
    per_sample = in_coarse / np.maximum(counts.sum(axis=1), 1)
    used = np.flatnonzero(np.any(in_coarse > 1e-12, axis=0))
    weights = per_sample[:, used]
    block_weight = weights @ counts[used]  # (T, blocks), sums to one

    def averaged(table: npt.NDArray[np.uint32]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and jackknife error of a table of sums (rows, columns), and its blocks' parts."""
        columns = table.shape[1]
        cube = table.reshape(n_coarse, n_blocks, columns)
        parts = np.empty((n_blocks, n_temperatures, columns))
        for b in range(n_blocks):
            parts[b] = weights @ cube[used, b].astype(np.float64)
        whole = parts.sum(axis=0)
        left = 1 - block_weight.T[:, :, None]
        without = (whole[None] - parts) / np.where(left > 1e-12, left, 1.0)
        spread = without - without.mean(axis=0)
        return whole, np.sqrt((n_blocks - 1) / n_blocks * np.sum(spread**2, axis=0)), parts

    ones, ones_error, ones_parts = averaged(sums.node_sums)
    marginals = np.empty((n_temperatures, n, q))
    errors = np.empty_like(marginals)
    others = ones.reshape(n_temperatures, q - 1, n).transpose(0, 2, 1)
    marginals[:, :, 1:] = others
    marginals[:, :, 0] = np.clip(1 - others.sum(axis=2), 0.0, 1.0)
    errors[:, :, 1:] = ones_error.reshape(n_temperatures, q - 1, n).transpose(0, 2, 1)
    errors[:, :, 0] = np.sqrt(np.sum(errors[:, :, 1:] ** 2, axis=2))
    agreement, agreement_error, _ = averaged(sums.edge_sums)
    samples = effective_samples(
        marginals, errors, 1 / np.maximum(weights**2 @ counts[used].sum(axis=1), 1e-300)
    )
    errors = guarded_errors(marginals, errors, samples)
    errors[:, model.clamped >= 0] = 0.0
    agreement_error = guarded_errors(agreement, agreement_error, samples)
    return Averages(
        marginals=marginals,
        std_error=errors,
        edge_agreement=agreement,
        agreement_std_error=agreement_error,
        effective_samples=samples,
        contrast=_contrasts(ones_parts, block_weight, samples),
    )


def _contrasts(parts: FloatArray, block_weight: FloatArray, samples: FloatArray) -> FloatArray:
    """Contrast at every temperature of blocks of even and odd number, which start differently.

    parts : (blocks, T, columns), sums of weights; block_weight : (T, blocks)
    """
    n_blocks = len(parts)
    found = np.zeros(len(block_weight))
    for t, weight in enumerate(block_weight):
        blocks = np.flatnonzero(weight > LEAST_WEIGHT / n_blocks)
        means = parts[blocks, t] / weight[blocks, None]
        found[t] = contrast(means, blocks % 2, floor=means.shape[1] * samples[t] ** -2)
    return found


def effective_samples(
    means: FloatArray, errors: FloatArray, weighted_samples: FloatArray
) -> FloatArray:
    """Independent samples behind each temperature's averages, (T,).

    The number of samples after reweighting, over the factor by which the observed variance exceeds
    that of independent samples (median over the marginals that are neither near 0 nor near 1).
    """
    independent = means * (1 - means) / weighted_samples[:, None, None]
    open_case = (means > 0.05) & (means < 0.95)
    samples = weighted_samples.copy()
    for k in range(len(means)):
        if np.any(open_case[k]):
            excess = errors[k][open_case[k]] ** 2 / independent[k][open_case[k]]
            samples[k] /= max(1.0, float(np.median(excess)))
    return samples


def guarded_errors(
    means: FloatArray, errors: FloatArray, samples: FloatArray, least: float = 1.0
) -> FloatArray:
    """Standard errors that do not trust a spread that is too small by luck.

    Among many averages some have blocks that agree by chance: at least the error of as many
    independent samples, or the part `least` of it, is stated. What is rare shows in no spread if it
    never happened (UNSEEN). No estimate of a probability spreads by more than 0.5.
    """
    samples = samples.reshape(-1, *[1] * (means.ndim - 1))
    independent = np.sqrt(np.clip(means * (1 - means), 0, None) / samples)
    guarded = np.hypot(np.maximum(errors, least * independent), UNSEEN / samples)
    return np.asarray(np.minimum(guarded, 0.5))
