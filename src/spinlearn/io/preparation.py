"""Preparation: what is done to features before distances are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spinlearn.core.arrays import FloatArray
from spinlearn.errors import InvalidInputError

SCALES = ("none", "standard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What is done to the features, in this order."""

    clip: tuple[float, float] | None = None  # values beyond are set to these bounds
    log2: bool = False  # take the logarithm; all values must be positive by then
    top_variance: int | None = None  # keep this many features, those of largest variance
    # "none", or "standard": mean 0 and deviation 1 of every feature, so that units do not matter.
    scale: str = "none"

    def apply(self, points: FloatArray, names: Sequence[str]) -> tuple[FloatArray, list[str]]:
        """The prepared points and the names of the features that are left."""
        if self.scale not in SCALES:
            raise InvalidInputError(f"scale {self.scale!r} is unknown: use none or standard")
        kept = list(names)
        if self.clip is not None:
            low, high = self.clip
            if not low < high:
                raise InvalidInputError(f"clip {low:g},{high:g} is not a range: give LOW,HIGH")
            points = np.clip(points, low, high)
        if self.log2:
            if points.size and points.min() <= 0:
                raise InvalidInputError(
                    f"log2 of {points.min():g} does not exist: clip to positive values first, for "
                    "example --clip 1,1e9"
                )
            points = np.log2(points)
        with np.errstate(over="ignore", invalid="ignore"):
            bad = np.flatnonzero(~np.isfinite(points.std(axis=0)))
        if len(bad):  # distances overflow where variances do
            which = repr(kept[bad[0]]) if kept else f"number {bad[0] + 1}"
            raise InvalidInputError(
                f"the feature {which} holds values up to {np.abs(points[:, bad[0]]).max():.3g}, "
                "whose variance overflows: divide it by a power of ten, or bound it with --clip"
            )
        if self.top_variance is not None:
            if self.top_variance < 1:
                raise InvalidInputError("top-variance must be at least 1")
            best = np.sort(np.argsort(-points.var(axis=0), kind="stable")[: self.top_variance])
            points, kept = points[:, best], [kept[k] for k in best]
        if self.scale == "standard":
            spread = points.std(axis=0)
            points = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return points, kept
