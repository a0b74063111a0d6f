"""The energies of blocks of walkers over time, for split R-hat (Gelman et al., BDA3, section 11.4).

    R-hat = sqrt((h - 1) / h + B / W)

over the first and second halves (h entries each) of every block's series: B is the variance of the
halves' means, W the mean variance within them. One means that blocks and halves agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from spinlearn.core.arrays import FloatArray

LENGTH = 128  # entries; when full, neighbours are merged


class EnergySeries:
    """Sums of energies, (entries, blocks, levels), of so many rounds each."""

    def __init__(self, n_blocks: int, n_levels: int) -> None:
        self.sums = np.zeros((LENGTH, n_blocks, n_levels))
        self.counts = np.zeros((LENGTH, n_blocks, n_levels))
        self.clock = np.array([0, 1])  # rounds seen, rounds per entry

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The series by name, for a checkpoint."""
        return {"sums": self.sums, "counts": self.counts, "clock": self.clock}

    def clear(self) -> None:
        """Forget everything."""
        self.sums[...] = 0
        self.counts[...] = 0
        self.clock[:] = 0, 1

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
        if half < 4:
            return np.full(n_levels, np.nan)
        halves = []
        for part in (slice(0, half), slice(half, 2 * half)):
            seen = np.maximum(self.counts[part], 1)
            halves.append(np.where(self.counts[part] > 0, self.sums[part] / seen, np.nan))
        chains = np.concatenate(halves, axis=1)  # (entries, 2 blocks, levels)
        rhat = np.full(n_levels, np.nan)
        for level in range(n_levels):
            some = chains[:, :, level]
            some = some[:, np.isfinite(some).all(axis=0)]
            if some.shape[1] < 4:
                continue
            within = float(some.var(axis=0, ddof=1).mean())
            between = float(some.mean(axis=0).var(ddof=1))
            rhat[level] = np.sqrt((half - 1) / half + between / within) if within > 0 else 1.0
        return rhat
