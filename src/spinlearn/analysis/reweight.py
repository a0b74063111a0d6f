"""Samples of a known weight W(E) to averages at any temperature, with jackknife errors.

    <A>_T = sum_samples A exp(-E/T) / W(E)  /  sum_samples exp(-E/T) / W(E)

Every sample enters the weights with its own energy (fine bins hold count and mean energy); node and
edge sums are kept per coarse bin, narrow enough that within it they do not depend on E. The walkers
are dealt to independent blocks; leaving out one block at a time gives the standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray, StateArray
from spinlearn.core.model import PottsModel

FINE_PER_COARSE = 8
BINS_PER_DEVIATION = 3.0
FINE_BYTES = 1e6  # finer bins are used while a block of sums stays about this large
MAX_BINS = 1000


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
        quantum = _quantum(model)
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


@dataclass(slots=True)
class Sums:
    """What production accumulates, per bin of energy and block of walkers."""

    bins: EnergyBins
    n_blocks: int
    node_sums: npt.NDArray[np.uint32]
    edge_sums: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.int64]
    fine_counts: FloatArray
    fine_energy: FloatArray
    edge_u: npt.NDArray[np.int32]
    edge_v: npt.NDArray[np.int32]
    n_states: int

    @classmethod
    def empty(cls, model: PottsModel, bins: EnergyBins, n_blocks: int) -> Sums:
        """All sums zero."""
        n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
        rows = bins.n_coarse * n_blocks
        fine = bins.n_coarse * FINE_PER_COARSE
        return cls(
            bins=bins,
            n_blocks=n_blocks,
            node_sums=np.zeros((rows, (q - 1) * n), dtype=np.uint32),
            edge_sums=np.zeros((rows, m), dtype=np.uint32),
            counts=np.zeros(rows, dtype=np.int64),
            fine_counts=np.zeros((fine, n_blocks)),
            fine_energy=np.zeros((fine, n_blocks)),
            edge_u=np.ascontiguousarray(model.graph.edges[:, 0]),
            edge_v=np.ascontiguousarray(model.graph.edges[:, 1]),
            n_states=q,
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The sums by name, for a checkpoint."""
        names = ("node_sums", "edge_sums", "counts", "fine_counts", "fine_energy")
        return {name: getattr(self, name) for name in names}

    def add(self, states: StateArray, energies: FloatArray, blocks: npt.NDArray[np.int64]) -> None:
        """Add one sample of every walker."""
        from spinlearn.kernels.ensemble import accumulate

        rows = self.bins.coarse(energies) * self.n_blocks + blocks
        accumulate(
            states,
            rows,
            self.n_states,
            self.edge_u,
            self.edge_v,
            self.node_sums,
            self.edge_sums,
            self.counts,
        )
        fine = self.bins.fine(energies)
        np.add.at(self.fine_counts, (fine, blocks), 1.0)
        np.add.at(self.fine_energy, (fine, blocks), energies)


@dataclass(frozen=True, slots=True)
class Averages:
    """Reweighted averages; axis 0 is the temperature."""

    marginals: FloatArray
    std_error: FloatArray
    edge_agreement: FloatArray
    agreement_std_error: FloatArray
    mean_energy: FloatArray
    heat_capacity: FloatArray
    log_weight: FloatArray
    energies: FloatArray
    log_density: FloatArray
    effective_samples: FloatArray

    def log_weight_at(self, beta: float) -> float:
        """ln sum_samples exp(-beta E) / W(E), up to the constant of `log_weight`."""
        return float(_logsumexp(self.log_density - beta * self.energies))


def log_weight(energies: FloatArray, betas: FloatArray, eta: FloatArray) -> FloatArray:
    """ln W(E) of the ensemble."""
    return _logsumexp(eta - np.multiply.outer(energies, betas))


def reweighted(
    sums: Sums,
    temperatures: FloatArray,
    betas: FloatArray,
    eta: FloatArray,
    model: PottsModel,
) -> Averages:
    """Averages at the given temperatures."""
    n, q, n_blocks, n_coarse = model.n_nodes, model.n_states, sums.n_blocks, sums.bins.n_coarse
    total = sums.fine_counts.sum(axis=1)
    seen = total > 0
    energies = sums.fine_energy.sum(axis=1)[seen] / total[seen]
    log_density = np.log(total[seen]) - log_weight(energies, betas, eta)
    lowest = float(energies.min())
    with np.errstate(divide="ignore"):
        wanted = np.minimum(1 / temperatures, 1e9 / max(model.energy_scale, 1e-300))
    exponents = log_density - np.multiply.outer(wanted, energies - lowest)
    log_total = _logsumexp(exponents)
    probability = np.exp(exponents - log_total[:, None])  # (T, fine bins seen)
    mean = probability @ energies
    variance = np.maximum(probability @ energies**2 - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        capacity = np.where(
            (temperatures == 0) | np.isinf(temperatures), 0.0, variance / temperatures**2
        )
    # Weight of one sample in coarse bin c: P(c | T) over the number of samples there.
    coarse_of_fine = np.flatnonzero(seen) // FINE_PER_COARSE
    in_coarse = np.zeros((len(temperatures), n_coarse))
    np.add.at(in_coarse.T, coarse_of_fine, probability.T)
    counts = sums.counts.reshape(n_coarse, n_blocks)
    per_sample = in_coarse / np.maximum(counts.sum(axis=1), 1)
    used = np.flatnonzero(np.any(in_coarse > 1e-12, axis=0))
    weights = per_sample[:, used]
    block_weight = weights @ counts[used]  # (T, blocks), sums to one

    def averaged(table: npt.NDArray[np.uint32]) -> tuple[FloatArray, FloatArray]:
        """Mean and jackknife error of a table of sums (rows, columns)."""
        columns = table.shape[1]
        cube = table.reshape(n_coarse, n_blocks, columns)
        parts = np.empty((n_blocks, len(temperatures), columns))
        for b in range(n_blocks):
            parts[b] = weights @ cube[used, b].astype(np.float64)
        whole = parts.sum(axis=0)
        left = 1 - block_weight.T[:, :, None]
        without = (whole[None] - parts) / np.where(left > 1e-12, left, 1.0)
        spread = without - without.mean(axis=0)
        return whole, np.sqrt((n_blocks - 1) / n_blocks * np.sum(spread**2, axis=0))

    ones, ones_error = averaged(sums.node_sums)
    marginals = np.empty((len(temperatures), n, q))
    errors = np.empty_like(marginals)
    others = ones.reshape(len(temperatures), q - 1, n).transpose(0, 2, 1)
    marginals[:, :, 1:] = others
    marginals[:, :, 0] = np.clip(1 - others.sum(axis=2), 0.0, 1.0)
    errors[:, :, 1:] = ones_error.reshape(len(temperatures), q - 1, n).transpose(0, 2, 1)
    errors[:, :, 0] = np.sqrt(np.sum(errors[:, :, 1:] ** 2, axis=2))
    agreement, agreement_error = averaged(sums.edge_sums)
    samples = effective_samples(
        marginals, errors, 1 / np.maximum(weights**2 @ counts[used].sum(axis=1), 1e-300)
    )
    errors = _guarded(marginals, errors, samples)
    errors[:, model.clamped >= 0] = 0.0
    agreement_error = _guarded(agreement, agreement_error, samples)
    return Averages(
        marginals=marginals,
        std_error=errors,
        edge_agreement=agreement,
        agreement_std_error=agreement_error,
        mean_energy=mean,
        heat_capacity=capacity,
        log_weight=log_total - wanted * lowest,
        energies=energies,
        log_density=log_density,
        effective_samples=samples,
    )


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


def _guarded(means: FloatArray, errors: FloatArray, samples: FloatArray) -> FloatArray:
    """Standard errors that do not trust a spread that is too small by luck.

    A spread over few blocks can miss a rare state altogether: at least half the error of as many
    independent samples is stated, and a state never seen is not known to be impossible.
    """
    samples = samples.reshape(-1, *[1] * (means.ndim - 1))
    independent = np.sqrt(np.clip(means * (1 - means), 0, None) / samples)
    return np.asarray(np.sqrt(np.maximum(errors, 0.5 * independent) ** 2 + samples**-2.0))


def _quantum(model: PottsModel) -> float:
    """The energy step when all energies are multiples of one, else 0."""
    strengths = np.abs(model.couplings)
    if len(strengths) == 0 or np.any(model.fields != 0) or model.class_penalty is not None:
        return 0.0
    if not np.array_equal(model.pair_cost, 1.0 - np.eye(model.n_states)):
        return 0.0
    step = float(strengths.min())
    multiples = strengths / step
    return step if np.allclose(multiples, np.rint(multiples), rtol=0, atol=1e-9) else 0.0


def _logsumexp(values: FloatArray) -> FloatArray:
    """Over the last axis."""
    top = values.max(axis=-1, keepdims=True)
    return np.asarray((top + np.log(np.exp(values - top).sum(axis=-1, keepdims=True)))[..., 0])
