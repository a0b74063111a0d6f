"""Whether walkers have reached equilibrium: tests that a run makes on itself.

Error bars come of the spread between independent blocks of walkers. They are blind to what all
blocks share: a start that none has forgotten, a valley that none has left. Such things show in

- the *contrast* of blocks that started differently, beyond the spread of blocks that started alike;
- the *drift* of energies from the first to the second half of the measurement;
- the *slope*: d<E>/dbeta = -Var(E), so energies of neighbouring levels must differ by the area
  under their variances. Levels that are frozen differ by less, those on either side of a jump that
  no walker has crossed by more;
- split R-hat of the energies (Gelman et al., BDA3, section 11.4), sqrt((h - 1) / h + b / w) over
  the first and second halves (h entries each) of every block's series: b is the variance of the
  halves' means, w the mean variance within them. One means that blocks and halves agree.

Letters: B blocks, K levels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinlearn.engines.sampling.density import Counts
from spinlearn.model.arrays import BoolArray, FloatArray

FALSE_ALARM = 1e-4  # chance that blocks which have forgotten their start are said not to have
HASTY_ALARM = 1e-2  # the same where an alarm costs little
NOTICED = 0.05  # the same where a start that seems remembered only widens error bars
UNSEEN = 2.0  # samples by which any average may be off: what is rare shows in no spread if it never
# happened, and among a million averages some have missed what they expected half a dozen times
MAX_DRIFT = 6.0  # standard errors
MAX_SLOPE = 5.0  # standard errors, beyond what the curve between two levels can explain
LENGTH = 128  # entries of a series; when full, neighbours are merged
BENT = 2.0  # times the larger variance, or part of the smaller, that a curve between levels takes


def contrast(block_means: FloatArray, starts: npt.NDArray[np.int64], floor: float = 0.0) -> float:
    """How much more blocks (B, ...) of two `starts`, 0 or 1, differ than blocks of one.

    It is the squared difference of the two means over its expectation, both summed over the
    averages: about 1 if the start is forgotten, 0 where there is nothing to compare. `floor` is
    added to the expectation: squared differences that tell nothing.
    """
    found, expected = _squared_difference(block_means, starts)
    top, bottom = float(found.sum()), float(expected.sum()) + floor
    if bottom > 0:
        return top / bottom
    return 0.0 if top == 0 else np.inf


def start_bias(
    block_means: FloatArray, starts: npt.NDArray[np.int64], together: float
) -> FloatArray:
    """Squared error that memory of the start may have left in the mean of all blocks, (...).

    If blocks of one start are right and those of the other are not, the mean is off by half of
    their difference. It counts as far as chance does not explain it: that of all averages taken
    `together` (their contrast), or that of one alone where it is too large for chance to play with.
    """
    found, expected = _squared_difference(block_means, starts)
    noticed, certain = (contrast_limit(len(starts), alarm) for alarm in (NOTICED, FALSE_ALARM))
    left = max(0.0, 1 - noticed / together) if together > 0 else 0.0
    return np.asarray(np.maximum(left * found, found - certain * expected) / 4)


def _squared_difference(
    block_means: FloatArray, starts: npt.NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Of the means of blocks of two starts, and what it would be if starts were forgotten."""
    kinds = [block_means[starts == k] for k in (0, 1)]
    if min(len(part) for part in kinds) < 2:
        nothing = np.zeros(block_means.shape[1:])
        return nothing, nothing
    difference = kinds[0].mean(axis=0) - kinds[1].mean(axis=0)
    return difference**2, sum(part.var(axis=0, ddof=1) / len(part) for part in kinds)


def contrast_limit(n_blocks: int, alarm: float = FALSE_ALARM) -> float:
    """What the contrast of one average over so many blocks exceeds with the chance `alarm`.

    It follows an F law with 1 and n_blocks - 2 degrees of freedom; one of many averages that move
    independently scatters less.
    """
    from scipy.special import fdtri

    return float(fdtri(1, max(n_blocks - 2, 1), 1 - alarm))


def drift(first: FloatArray, second: FloatArray) -> FloatArray:
    """Change of the mean between two halves of a run in standard errors, (K,), from (B, K)."""
    change = second - first
    some = np.isfinite(change)
    count = np.maximum(some.sum(axis=0), 1)
    mean = np.where(some, change, 0.0).sum(axis=0) / count
    spread = np.where(some, change - mean, 0.0)
    variance = np.sum(spread**2, axis=0) / np.maximum(count - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.abs(mean) / np.sqrt(variance / count)
    return np.where((count >= 4) & (variance > 0), score, 0.0)


def slope_breaks(
    betas: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    errors: FloatArray,
    crossed: BoolArray | None = None,
) -> BoolArray:
    """Levels between which <E> does not fall as its fluctuations say, (K,); both ends count.

    `errors` are those of the means; `crossed` are steps between levels, (K - 1,), across which
    walkers have come both ways: a steep fall is real there.
    """
    broken = np.zeros(len(betas), dtype=np.bool_)
    if len(betas) < 2:
        return broken
    step, fall = np.diff(betas), -np.diff(means)
    ends = np.stack([variances[1:], variances[:-1]])
    least, most = step * ends.min(axis=0) / BENT, step * ends.max(axis=0) * BENT
    noise = np.hypot(errors[1:], errors[:-1])
    # A level's own fluctuation is known to a few per cent at best.
    steep = fall - most if crossed is None else np.where(crossed, -np.inf, fall - most)
    off = np.maximum(least - fall, steep) > MAX_SLOPE * noise + 0.1 * np.abs(fall)
    broken[1:] |= off
    broken[:-1] |= off
    return broken


class EnergySeries(Counts):
    """Sums of energies, (entries, B, K), of so many rounds each."""

    saved = ("sums", "counts", "clock")

    def __init__(self, n_blocks: int, n_levels: int) -> None:
        self.sums = np.zeros((LENGTH, n_blocks, n_levels))
        self.counts = np.zeros((LENGTH, n_blocks, n_levels))
        self.clock = np.array([0, 1])  # rounds seen, rounds per entry

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.clock[1] = 1

    def add(
        self,
        energies: FloatArray,
        blocks: npt.NDArray[np.int64],
        levels: npt.NDArray[np.int32],
    ) -> None:
        """Add samples to the current round."""
        entry = self.clock[0] // self.clock[1]
        np.add.at(self.sums[entry], (blocks, levels), energies)
        np.add.at(self.counts[entry], (blocks, levels), 1)

    def end_round(self) -> None:
        """The next samples belong to another round."""
        self.clock[0] += 1
        if self.clock[0] == LENGTH * self.clock[1]:
            for values in (self.sums, self.counts):
                values[: LENGTH // 2] = values[::2] + values[1::2]
                values[LENGTH // 2 :] = 0
            self.clock[1] *= 2

    @property
    def _half(self) -> int:
        """Whole entries in half of the series."""
        return int(self.clock[0] // self.clock[1]) // 2

    def halves(self) -> tuple[FloatArray, FloatArray]:
        """Mean energies of the first and the second half, (blocks, levels), not a number if none.

        A round that is under way is left out.
        """
        half = self._half
        means = []
        for part in (slice(0, half), slice(half, 2 * half)):
            count = self.counts[part].sum(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                means.append(np.where(count > 0, self.sums[part].sum(axis=0) / count, np.nan))
        return means[0], means[1]

    def split_rhat(self) -> FloatArray:
        """R-hat of every level; not a number where there is too little to tell."""
        half, n_levels = self._half, self.sums.shape[2]
        rhat = np.full(n_levels, np.nan)
        if half < 4:
            return rhat
        seen = np.maximum(self.counts, 1)
        series = np.where(self.counts > 0, self.sums / seen, np.nan)
        chains = np.concatenate([series[:half], series[half : 2 * half]], axis=1)  # (h, 2 B, K)
        for level in range(n_levels):
            some = chains[:, :, level]
            some = some[:, np.isfinite(some).all(axis=0)]
            if some.shape[1] < 4:
                continue
            within = float(some.var(axis=0, ddof=1).mean())
            between = float(some.mean(axis=0).var(ddof=1))
            rhat[level] = np.sqrt((half - 1) / half + between / within) if within > 0 else 1.0
        return rhat
