"""Sums over samples: by level, or reweighted to any temperature.

Averages at the levels of a temperature ladder, from independent blocks of walkers.

Every round of a block gives one average per measured level (a row). Rounds are added up by block,
with the number of their samples as weight, their squares over all blocks. Two variances of the mean
follow for every entry: `within`, as if all rounds were independent with variances like 1 / weight,
and `between`, from the block means alone. The first has many degrees of freedom but misses slow
motion; the factor by which blocks differ more than their rounds explain, over all entries of a row,
repairs that. The squared standard error lies between the two, nearer to the second the more
unevenly entries move; blocks that differ less than their rounds explain do so by luck, and do not
lower it. Blocks of even and of odd number start differently: what they still differ by, beyond
chance, is added.

Averages per energy to averages at any temperature, with jackknife errors.

    <A>_T = sum_E A(E) P(E | T),    P(E | T) from the density of states

Node and edge sums are kept per coarse bin of energy, narrow enough that within it they do not
depend on E. The walkers are dealt to independent blocks; leaving out one block at a time gives the
standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spinlearn.engines.sampling.density import FINE_PER_COARSE, Counts, EnergyBins, Thermal
from spinlearn.engines.sampling.equilibration import UNSEEN, contrast, start_bias
from spinlearn.kernels.levels import accumulate, accumulate_levels
from spinlearn.model.arrays import FloatArray, IndexArray, StateArray
from spinlearn.model.potts import FREE, ConditionedModel, PottsModel

CORRELATED = 3.0  # samples in a row that count as one

Float32Array = npt.NDArray[np.float32]


class Averages(NamedTuple):
    """Averages over all nodes and edges of the model; axis 0 is the temperature, or the row."""

    marginals: FloatArray
    std_error: FloatArray
    edge_agreement: FloatArray
    agreement_std_error: FloatArray
    effective_samples: FloatArray
    contrast: FloatArray  # of blocks that started differently, see `equilibration`


class RowAverages(NamedTuple):
    """Averages of a row over the free nodes and edges, with what holds for all of them."""

    means: list[FloatArray]  # marginals and agreements,
    variances: list[FloatArray]  # the squares of their standard errors
    spread: float  # how much more blocks differ than their rounds explain, >= 1
    samples: float  # effective number
    contrast: float
    separate: float  # rounds of a block that are as good as independent

    @property
    def worst_error(self) -> float:
        """Largest standard error of a marginal or an agreement."""
        return float(np.sqrt(max(part.max(initial=0.0) for part in self.variances)))


class LevelSums(Counts):
    """Sums of the current round, (blocks * rows, ...), and of the rounds before it."""

    saved = (
        "node_totals", "edge_totals", "node_squares", "edge_squares", "rounds", "weights", "samples"
    )  # fmt: skip
    counted = ("nodes", "undecided", "edges", "counts", "visits")

    def __init__(self, free: ConditionedModel, n_blocks: int, n_rows: int) -> None:
        n, q, m = len(free.nodes), free.model.n_states, len(free.edges)
        self.free, self.n_blocks, self.n_rows = free, n_blocks, n_rows
        self._edge_u = np.ascontiguousarray(free.edges[:, 0])
        self._edge_v = np.ascontiguousarray(free.edges[:, 1])
        places = n_blocks * n_rows
        self.nodes = np.zeros((places, n, q), dtype=np.float32)
        self.undecided = np.zeros((places, n), dtype=np.float32)  # clusters free to take any state
        self.edges = np.zeros((places, m), dtype=np.float32)
        self.counts = np.zeros(places, dtype=np.int64)
        self.visits = np.zeros(places, dtype=np.int64)  # samples in a row of one step count once
        self.node_totals = np.zeros((places, n, q), dtype=np.float32)
        self.edge_totals = np.zeros((places, m), dtype=np.float32)
        self.node_squares = np.zeros((n_rows, n, q))  # of the rounds' means, times their weights
        self.edge_squares = np.zeros((n_rows, m))
        self.rounds = np.zeros(places, dtype=np.int64)
        self.weights = np.zeros(places, dtype=np.int64)  # counts of all rounds
        self.samples = np.zeros(places, dtype=np.int64)

    def add(self, states: StateArray, rows: IndexArray) -> None:
        """Add labellings of all nodes, (R, n), to rows (block * n_rows + row; < 0 for none)."""
        free_states = np.ascontiguousarray(states[:, self.free.nodes])
        accumulate_levels(free_states, rows, self._edge_u, self._edge_v, self.nodes, self.edges)
        self.count(rows)

    def count(self, rows: IndexArray, samples: int | IndexArray = 1) -> None:
        """So many more samples in each of the rows (< 0 for none)."""
        some = rows >= 0
        np.add.at(self.counts, rows[some], np.broadcast_to(samples, rows.shape)[some])
        np.add.at(self.visits, rows[some], 1)

    def end_round(self) -> None:
        """Take the averages of the round over, and begin the next."""
        q = np.float32(self.nodes.shape[2])
        for place in np.flatnonzero(self.counts):
            row = place % self.n_rows
            self.nodes[place] += self.undecided[place, :, None] / q
            for means, (totals, squares) in zip(
                (self.nodes, self.edges), self._tables, strict=True
            ):
                totals[place] += means[place]
                squares[row] += means[place].astype(np.float64) ** 2 / self.counts[place]
            self.rounds[place] += 1
            self.weights[place] += self.counts[place]
            self.samples[place] += self.visits[place]
        for name in self.counted:
            getattr(self, name)[...] = 0

    @property
    def _tables(self) -> tuple[tuple[Float32Array, FloatArray], ...]:
        nodes, edges = (self.node_totals, self.node_squares), (self.edge_totals, self.edge_squares)
        return nodes, edges

    def blocks(self, row: int) -> tuple[IndexArray, FloatArray, list[FloatArray]]:
        """Blocks that have been at a row, their weights, marginals (B, n, q), agreements (B, m)."""
        at = slice(row, None, self.n_rows)
        seen = np.flatnonzero(self.weights[at])
        if len(seen) < 2:
            raise ValueError("a level was never visited by two blocks")
        weight = self.weights[at][seen].astype(np.float64)
        parts = [totals[at][seen].astype(np.float64) for totals, _ in self._tables]
        return seen, weight, [p / weight.reshape(-1, *[1] * (p.ndim - 1)) for p in parts]

    def rows(self) -> Iterator[RowAverages]:
        """Means, errors and quality of every row."""
        for row in range(self.n_rows):
            at = slice(row, None, self.n_rows)
            seen, weight, parts = self.blocks(row)
            share, starts = weight / weight.sum(), seen % 2  # those alike started alike
            n_rounds = int(self.rounds[at].sum())
            means, within, between = [], [], []  # variances of the mean: from rounds, from blocks
            for part, (_, squares) in zip(parts, self._tables, strict=True):
                mean = np.tensordot(share, part, axes=1)
                variance = np.maximum(squares[row] / weight.sum() - mean**2, 0.0)
                deviations = np.tensordot(share**2, (part - mean) ** 2, axes=1)
                means.append(mean)
                within.append(variance / max(n_rounds - 1, 1))
                between.append(np.asarray(deviations * len(seen) / (len(seen) - 1)))
            top, bottom = float(between[0].sum()), float(within[0].sum())
            spread = max(1.0, top / bottom) if bottom > 0 else 1.0
            samples = max(float(self.samples[at].sum()) / (CORRELATED * spread), 1.0)
            # A difference below what as many independent samples can see counts for nothing.
            apart = contrast(parts[0], starts, floor=means[0].size * samples**-2)
            variances = []
            for part, expected, seen_apart in zip(parts, within, between, strict=True):
                expected *= spread
                own = _own_share(expected, seen_apart, len(seen))
                variance = (1 - own) * expected + own * np.maximum(seen_apart, expected)
                bias = start_bias(part, starts, apart)
                variances.append(np.asarray(variance + bias + (UNSEEN / samples) ** 2))
            separate = float(self.rounds[at].mean()) / spread
            yield RowAverages(means, variances, spread, samples, apart, separate)

    def averages(self) -> tuple[Averages, FloatArray]:
        """Of all rows; and how much more blocks of each differ than their rounds explain, >= 1."""
        free, model = self.free, self.free.model
        rows = list(self.rows())
        marginals, agreement = (np.stack([row.means[k] for row in rows]) for k in (0, 1))
        errors = [np.sqrt(np.stack([row.variances[k] for row in rows])) for k in (0, 1)]
        marginals /= marginals.sum(axis=2, keepdims=True)  # one, but for rounding
        all_marginals = free.full_marginals(marginals)
        all_errors = free.full_marginals(errors[0])
        all_errors[:, model.clamped != FREE] = 0.0
        agreement_errors = np.zeros((len(rows), model.graph.n_edges))
        agreement_errors[:, free.edge_ids] = errors[1]
        u, v = model.graph.edges.T
        for one, other in ((u, v), (v, u)):  # at a clamped end: those of the other end's marginal
            border = np.flatnonzero((model.clamped[one] == FREE) & (model.clamped[other] != FREE))
            of_end = all_errors[:, one[border], model.clamped[other[border]]]
            agreement_errors[:, border] = of_end
        averages = Averages(
            marginals=all_marginals,
            std_error=all_errors,
            edge_agreement=free.full_agreement(agreement, all_marginals),
            agreement_std_error=agreement_errors,
            effective_samples=np.array([row.samples for row in rows]),
            contrast=np.array([row.contrast for row in rows]),
        )
        return averages, np.array([row.spread for row in rows])


def _own_share(expected: FloatArray, between: FloatArray, n_blocks: int) -> float:
    """How far the spread of blocks is believed entry by entry, 0.5 to 1.

    Relative to what is expected of all entries together it scatters by chance, a chi-square law of
    n_blocks - 1 degrees of freedom; the rest is that some entries move more slowly than others.
    """
    noise = 2 / (n_blocks - 1)
    weight = float(np.sum(expected**2))
    if weight == 0:
        return 0.5
    # Entries count by the squares of their variances, so that the largest errors decide.
    first = float(np.sum(expected * between)) / weight
    second = float(np.sum(between**2)) / weight
    uneven = max(second / (1 + noise) / first**2 - 1, 0.0) if first > 0 else 0.0
    return max(0.5, uneven / (uneven + noise * (1 + uneven)))


LEAST_WEIGHT = 0.1  # of an equal share, below which a block says nothing of a temperature


class Sums(Counts):
    """What production accumulates, per bin of energy and block of walkers."""

    saved = counted = ("node_sums", "edge_sums", "counts")

    def __init__(self, model: PottsModel, bins: EnergyBins, n_blocks: int) -> None:
        n, q, m = model.n_nodes, model.n_states, model.graph.n_edges
        rows = bins.n_coarse * n_blocks
        self.model, self.bins, self.n_blocks = model, bins, n_blocks
        self.node_sums = np.zeros((rows, (q - 1) * n), dtype=np.uint32)
        self.edge_sums = np.zeros((rows, m), dtype=np.uint32)
        self.counts = np.zeros(rows, dtype=np.int64)
        self._ends = [np.ascontiguousarray(end) for end in model.graph.edges.T]

    def add(self, states: StateArray, energies: FloatArray, blocks: IndexArray) -> None:
        """Add one sample of every walker."""
        rows = self.bins.coarse(energies) * self.n_blocks + blocks
        sums = (self.node_sums, self.edge_sums, self.counts)
        accumulate(states, rows, self.model.n_states, *self._ends, *sums)


def reweighted(sums: Sums, thermal: Thermal) -> Averages:
    """Averages at the temperatures of `thermal`."""
    model = sums.model
    n, q, n_blocks, n_coarse = model.n_nodes, model.n_states, sums.n_blocks, sums.bins.n_coarse
    n_temperatures = len(thermal.probability)
    # Weight of one sample in coarse bin c: P(c | T) over the number of samples there.
    in_coarse = np.zeros((n_temperatures, n_coarse))
    np.add.at(in_coarse.T, thermal.fine_bins // FINE_PER_COARSE, thermal.probability.T)
    counts = sums.counts.reshape(n_coarse, n_blocks)
    per_sample = in_coarse / np.maximum(counts.sum(axis=1), 1)
    used = np.flatnonzero(np.any(in_coarse > 1e-12, axis=0))
    weights = per_sample[:, used]
    block_weight = weights @ counts[used]  # (T, blocks), sums to one

    def averaged(table: npt.NDArray[np.uint32]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and jackknife error of a table of sums (rows, columns), and its blocks' parts."""
        cube = table.reshape(n_coarse, n_blocks, -1)
        parts = np.stack([weights @ cube[used, b].astype(np.float64) for b in range(n_blocks)])
        whole = parts.sum(axis=0)
        left = 1 - block_weight.T[:, :, None]
        without = (whole[None] - parts) / np.where(left > 1e-12, left, 1.0)
        spread = without - without.mean(axis=0)
        return whole, np.sqrt((n_blocks - 1) / n_blocks * np.sum(spread**2, axis=0)), parts

    ones, ones_error, ones_parts = averaged(sums.node_sums)
    marginals = np.empty((n_temperatures, n, q))
    errors = np.empty_like(marginals)
    marginals[:, :, 1:] = ones.reshape(n_temperatures, q - 1, n).transpose(0, 2, 1)
    marginals[:, :, 0] = np.clip(1 - marginals[:, :, 1:].sum(axis=2), 0.0, 1.0)
    errors[:, :, 1:] = ones_error.reshape(n_temperatures, q - 1, n).transpose(0, 2, 1)
    errors[:, :, 0] = np.sqrt(np.sum(errors[:, :, 1:] ** 2, axis=2))
    agreement, agreement_error, _ = averaged(sums.edge_sums)
    samples = effective_samples(
        marginals, errors, 1 / np.maximum(weights**2 @ counts[used].sum(axis=1), 1e-300)
    )
    errors = guarded_errors(marginals, errors, samples)
    errors[:, model.clamped >= 0] = 0.0
    contrasts = np.zeros(n_temperatures)
    for t, weight in enumerate(block_weight):
        blocks = np.flatnonzero(weight > LEAST_WEIGHT / n_blocks)
        means = ones_parts[blocks, t] / weight[blocks, None]
        contrasts[t] = contrast(means, blocks % 2, floor=means.shape[1] * samples[t] ** -2)
    return Averages(
        marginals=marginals,
        std_error=errors,
        edge_agreement=agreement,
        agreement_std_error=guarded_errors(agreement, agreement_error, samples),
        effective_samples=samples,
        contrast=contrasts,
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
