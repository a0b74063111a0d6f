"""Whether walkers have reached equilibrium: tests that a run makes on itself.

Error bars come of the spread between independent blocks of walkers. They are blind to what all
blocks share: a start that none has forgotten, a valley that none has left. Such things show in

- the *contrast* of blocks that started differently, beyond the spread of blocks that started alike;
- the *drift* of energies from the first to the second half of the measurement;
- the *slope*: d<E>/dbeta = -Var(E), so energies of neighbouring levels must differ by the area
  under their variances. Levels that are frozen differ by less, those on either side of a jump that
  no walker has crossed by more;
- split R-hat of the energies (`LevelEnergies.split_rhat`).

Letters: B blocks, K levels.
"""

from __future__ import annotations

import numpy as np

from spinlearn.model.arrays import BoolArray, FloatArray, IndexArray

FALSE_ALARM = 1e-4  # chance that blocks which have forgotten their start are said not to have
HASTY_ALARM = 1e-2  # the same where an alarm costs little
NOTICED = 0.05  # the same where a start that seems remembered only widens error bars
UNSEEN = 2.0  # samples by which any average may be off: what is rare shows in no spread if it never
# happened, and among a million averages some have missed what they expected half a dozen times
MAX_DRIFT = 6.0  # standard errors
MAX_SLOPE = 5.0  # standard errors, beyond what the curve between two levels can explain
BENT = 2.0  # times the larger variance, or part of the smaller, that a curve between levels takes


def contrast(block_means: FloatArray, starts: IndexArray, floor: float = 0.0) -> float:
    """How much more blocks (B, ...) of two `starts`, 0 or 1, differ than blocks of one.

    It is the squared difference of the two means over its expectation, both summed over the
    averages: about 1 if the start is forgotten, 0 where there is nothing to compare. `floor` is
    added to the expectation: squared differences that tell nothing.
    """
    squared, expected = _squared_difference(block_means, starts)
    top, bottom = float(squared.sum()), float(expected.sum()) + floor
    if bottom > 0:
        return top / bottom
    return 0.0 if top == 0 else np.inf


def start_bias(block_means: FloatArray, starts: IndexArray, together: float) -> FloatArray:
    """Squared error that memory of the start may have left in the mean of all blocks, (...).

    If blocks of one start are right and those of the other are not, the mean is off by half of
    their difference. It counts as far as chance does not explain it: that of all averages taken
    `together` (their contrast), or that of one alone where it is too large for chance to play with.
    """
    squared, expected = _squared_difference(block_means, starts)
    noticed, certain = (contrast_limit(len(starts), alarm) for alarm in (NOTICED, FALSE_ALARM))
    left = max(0.0, 1 - noticed / together) if together > 0 else 0.0
    return np.asarray(np.maximum(left * squared, squared - certain * expected) / 4)


def _squared_difference(
    block_means: FloatArray, starts: IndexArray
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
