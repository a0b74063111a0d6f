"""Whether the sums of a checkpoint can be those of a run.

What a run counts it counts several times over, by bin of energy, by block of walkers, by level and
by time. A sum that was changed disagrees with the others.
"""

from __future__ import annotations

import numpy as np

from spinlearn.analysis.density import Histogram, LevelEnergies
from spinlearn.analysis.energy_bins import FINE_PER_COARSE
from spinlearn.analysis.level_sums import LevelSums
from spinlearn.analysis.reweight import Sums
from spinlearn.analysis.series import LENGTH, EnergySeries
from spinlearn.core.array_checks import close, within
from spinlearn.engines.tallies import Tallies

MANY = float(2**53)  # whole numbers beyond are not exact
ROUNDING = 1e-9  # of an energy in a sum of many
SINGLE = 1e-3  # the same of a probability in single precision,
EPSILON = float(np.finfo(np.float32).eps)  # and of every round


def check_tallies(tallies: Tallies, largest: float, rounds: tuple[int, int]) -> None:
    """Refuse sums that contradict each other.

    Parameters
    ----------
    tallies : Tallies
    largest : float
        Upper bound of absolute energies.
    rounds : tuple of int
        Least and most that were measured.
    """
    with np.errstate(all="ignore"):  # sums that overflow are refused below
        _check_clock(tallies.series, rounds)
        _check_energies(tallies.energies, tallies.series, largest)
        _check_histogram(tallies.histogram, tallies.energies, largest)
        if tallies.sums is not None:
            _check_sums(tallies.sums, tallies.histogram, tallies.energies)
        if tallies.levels is not None:
            _check_levels(tallies.levels, rounds[1])


def _check_clock(series: EnergySeries, rounds: tuple[int, int]) -> None:
    """The series is as long as the number of its rounds makes it."""
    seen, per_entry = series.clock.tolist()
    within("series_clock", seen, *rounds)
    expected = 1
    while seen >= LENGTH * expected:
        expected *= 2
    within("series_clock", per_entry, expected, expected)


def _check_energies(energies: LevelEnergies, series: EnergySeries, largest: float) -> None:
    within("energies_counts", energies.counts, 0, MANY)
    within("series_counts", series.counts, 0, MANY)
    close("energies_counts and series_counts", energies.counts, series.counts.sum(axis=0), 0)
    bound = (1 + ROUNDING) * largest
    within("energies_origin", energies.origin, -bound, bound)
    close("series_sums and series_counts", series.sums, 0, bound * series.counts)
    total = energies.origin * energies.counts + energies.sums
    off = ROUNDING * largest * energies.counts
    close("energies_sums and series_sums", total, series.sums.sum(axis=0), off)
    within("energies_squares", energies.squares, 0, np.inf)
    least, tiny = energies.sums**2, np.finfo(np.float64).tiny
    if not np.all(energies.squares * energies.counts >= (1 - ROUNDING) * least - tiny):
        raise ValueError("energies_squares are less than energies_sums need")
    most = energies.counts * (2 * bound) ** 2
    if not np.all(energies.squares <= most):
        raise ValueError("energies_squares are more than energies can give")


def _check_histogram(histogram: Histogram, energies: LevelEnergies, largest: float) -> None:
    within("histogram_counts", histogram.counts, 0, MANY)
    total = energies.counts.sum()
    close("histogram_counts and energies_counts", histogram.counts.sum(), total, 0)
    bound, off = (1 + ROUNDING) * largest, ROUNDING * largest
    close("histogram_energy and histogram_counts", histogram.energy, 0, bound * histogram.counts)
    of_levels = np.sum(energies.origin * energies.counts + energies.sums)
    close("histogram_energy and energies_sums", histogram.energy.sum(), of_levels, off * total)
    filled = np.flatnonzero(histogram.counts)
    means = histogram.energy[filled] / histogram.counts[filled]
    low, high = histogram.bins.fine(means - off), histogram.bins.fine(means + off)
    if not np.all((low <= filled) & (filled <= high)):
        raise ValueError("histogram_energy lies outside its bins")


def _check_sums(sums: Sums, histogram: Histogram, energies: LevelEnergies) -> None:
    within("sums_counts", sums.counts, 0, MANY)
    counts = sums.counts.reshape(-1, sums.n_blocks)
    by_bin = histogram.counts.reshape(-1, FINE_PER_COARSE).sum(axis=1)
    close("sums_counts and histogram_counts", counts.sum(axis=1), by_bin, 0)
    close("sums_counts and energies_counts", counts.sum(axis=0), energies.counts.sum(axis=1), 0)
    for name, values in (("node_sums", sums.node_sums), ("edge_sums", sums.edge_sums)):
        if np.any(values.max(axis=1, initial=0) > sums.counts):
            raise ValueError(f"sums_{name} are more than sums_counts")
    clamped = sums.model.clamped
    for state in range(1, sums.model.n_states):  # those of the first follow
        held = (state - 1) * len(clamped) + np.flatnonzero(clamped == state)
        close("sums_node_sums and the labels", sums.node_sums[:, held], sums.counts[:, None], 0)


def _check_levels(sums: LevelSums, rounds: int) -> None:
    within("levels_rounds", sums.rounds, 0, rounds)
    within("levels_weights", sums.weights, 0, MANY)
    for name, more, fewer in (
        ("levels_weights and levels_samples", sums.weights, sums.samples),
        ("levels_samples and levels_rounds", sums.samples, sums.rounds),
    ):
        if np.any(more < fewer) or np.any((more > 0) != (fewer > 0)):
            raise ValueError(f"{name} disagree with each other")
    for row in range(sums.n_rows):  # one at a time, to save memory
        _check_row(sums, row)


def _check_row(sums: LevelSums, row: int) -> None:
    """Averages of all rounds lie between 0 and 1, those of the states of a node sum to 1."""
    weights = sums.weights[row :: sums.n_rows].astype(np.float64)
    in_states = sums.node_totals[row :: sums.n_rows].sum(axis=2, dtype=np.float64)
    single = SINGLE + 2 * EPSILON * int(sums.rounds.max(initial=0))
    off = single * weights[:, None]
    close("levels_node_totals and levels_weights", in_states, weights[:, None], off)
    for name, whole, squares in (
        ("node", sums.node_totals, sums.node_squares[row]),
        ("edge", sums.edge_totals, sums.edge_squares[row]),
    ):
        totals = whole[row :: sums.n_rows].astype(np.float64)
        half = weights.reshape(-1, *[1] * (totals.ndim - 1)) / 2
        close(f"levels_{name}_totals and levels_weights", totals, half, (1 + 2 * single) * half)
        # Least where all rounds of a block are alike, most where all are 1.
        least = (1 - 3 * single) * np.sum(totals**2 / np.maximum(2 * half, 1), axis=0)
        most = (1 + single) * weights.sum()
        if not np.all((squares >= least) & (squares <= most)):
            raise ValueError(f"levels_{name}_squares and levels_{name}_totals disagree")
